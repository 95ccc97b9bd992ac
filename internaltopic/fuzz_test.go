package internaltopic

import (
	"encoding/json"
	"slices"
	"testing"
)

func FuzzDecode(f *testing.F) {
	for _, v := range vectors {
		f.Add(byte(v.topic), unhex(f, v.key), unhex(f, v.value))
	}
	for _, name := range []string{"internal-topics", "transactions", "tiered"} {
		logs(f, name, func(topic Topic, _ string, log []byte, _ string) {
			for _, r := range recordsOf(f, log) {
				f.Add(byte(topic), r.key, r.value)
			}
		})
	}
	f.Fuzz(func(t *testing.T, n byte, key, value []byte) {
		topic := Topic(n%4 + 1)
		beforeKey, beforeValue := slices.Clone(key), slices.Clone(value)
		rec := topic.Decode(key, value)
		if rec.Err == nil && !(rec.KeyDecoded && (rec.Tombstone || rec.Version >= 0)) {
			t.Errorf("error %v, key decoded %t, tombstone %t, version %d", rec.Err, rec.KeyDecoded, rec.Tombstone, rec.Version)
		}
		if rec.KeyDecoded && (rec.Name == "" || rec.Type < 0) {
			t.Errorf("type %d without a name", rec.Type)
		}
		keyJSON, valueJSON := rec.AppendKeyJSON(nil), rec.AppendValueJSON(nil)
		if keyJSON != nil && !json.Valid(keyJSON) || valueJSON != nil && !json.Valid(valueJSON) {
			t.Errorf("not JSON: %s %s", keyJSON, valueJSON)
		}
		if rec.Err == nil && !rec.Tombstone && valueJSON == nil {
			t.Error("a decoded value without JSON")
		}
		views := 0
		count := func(ok bool) {
			if ok {
				views++
			}
		}
		c, ok := rec.OffsetCommit()
		count(ok)
		if ok && c.Deleted != rec.Tombstone {
			t.Errorf("commit %+v", c)
		}
		g, ok := rec.GroupMetadata()
		count(ok)
		for _, m := range g.Members {
			if len(m.Subscription)+len(m.Assignment) > len(value) {
				t.Error("a member larger than its value")
			}
		}
		m, ok := rec.Member()
		count(ok)
		if ok && (m.Part == 0 || m.Kind == "") {
			t.Errorf("member %+v", m)
		}
		_, ok = rec.GroupEpoch()
		count(ok)
		_, ok = rec.Transaction()
		count(ok)
		_, ok = rec.ShareState()
		count(ok)
		e, ok := rec.RemoteEvent()
		count(ok)
		if ok && e.String() == "" {
			t.Error("an event without text")
		}
		if views > 1 || views > 0 && rec.Err != nil {
			t.Errorf("%d views, error %v", views, rec.Err)
		}
		if id := rec.GroupID(); id != "" && len(id) > len(key) {
			t.Errorf("group %q", id)
		}
		if p := PartitionFor(string(key), 50); p < 0 || p > 49 {
			t.Errorf("partition %d", p)
		}
		if !slices.Equal(beforeKey, key) || !slices.Equal(beforeValue, value) {
			t.Error("the input was changed")
		}
	})
}
