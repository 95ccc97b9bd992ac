package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// exported is all that kafsck exports from a broker's folder, by topic.
func exported(t *testing.T, kafsck, folder string) map[string][]liveRecord {
	t.Helper()
	out := map[string][]liveRecord{}
	code, text := run(kafsck, "export", "--out", filepath.Join(t.TempDir(), "export.jsonl"), "--quiet", folder)
	if code > 1 {
		t.Fatalf("kafsck export %s: exit code %d: %s", folder, code, text)
	}
	for _, m := range runJSON(t, kafsck, code, "export", folder) {
		if m["type"] != "record" {
			continue
		}
		name := strings.TrimSuffix(m["partition"].(string), "-0")
		state := m["transactionState"]
		out[name] = append(out[name], liveRecord{offset: int64(m["offset"].(float64)), text: recordText(m), control: m["control"] == true,
			committed: state == "committed" || state == "none", open: state == "open" || state == "hanging"})
	}
	return out
}

// recordText is what a consumer is told of a record.
func recordText(m map[string]any) string {
	kind := strings.ToLower(fmt.Sprint(m["timestampType"]))
	headers, _ := json.Marshal(m["headers"])
	return fmt.Sprintf("%v epoch %v %s %v key %v value %v headers %s", m["offset"], m["leaderEpoch"], kind, m["timestampMs"], m["key"], m["value"], headers)
}

// consumed is what a consumer of an isolation level reads of all topics. A topic of which the plan leaves
// something is read alone: what stops a consumer there need not name it.
func (r *liveRun) consumed(isolation string) (records map[string][]liveRecord, ends map[string][2]int64, failed map[string]string) {
	r.t.Helper()
	var sound []string
	var alone [][]string
	for _, x := range r.topics {
		if r.open[x.Name] {
			alone = append(alone, []string{x.Name})
		} else {
			sound = append(sound, x.Name)
		}
	}
	records, ends, failed = map[string][]liveRecord{}, map[string][2]int64{}, map[string]string{}
	for _, names := range append(alone, sound) {
		if len(names) == 0 {
			continue
		}
		if err := r.consume(isolation, names, records, ends, failed); err != nil {
			if !r.open[names[0]] {
				r.t.Fatalf("read: %v", err)
			}
			failed[names[0]] = err.Error()
		}
	}
	return records, ends, failed
}

// consume has one consumer read some topics.
func (r *liveRun) consume(isolation string, names []string, records map[string][]liveRecord, ends map[string][2]int64, failed map[string]string) error {
	t := r.t
	t.Helper()
	out := filepath.Join(t.TempDir(), "read.jsonl")
	a, err := r.cluster.client.try(map[string]any{"do": "read", "servers": r.cluster.servers(), "isolation": isolation, "topics": names, "out": out})
	if err != nil {
		return err
	}
	var said map[string]struct{ Begin, End int64 }
	if err := errors.Join(json.Unmarshal(a["partitions"], &said), json.Unmarshal(a["failed"], &failed)); err != nil {
		t.Fatal(err)
	}
	for name, e := range said {
		ends[name] = [2]int64{e.Begin, e.End}
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		name := m["topic"].(string)
		records[name] = append(records[name], liveRecord{offset: int64(m["offset"].(float64)), text: recordText(m)})
	}
	return nil
}

// visible are the records of a log that a consumer must see.
func visible(log []liveRecord, isolation string) (out []string) {
	for _, x := range log {
		if isolation == "read_committed" && x.open {
			break // the last stable offset
		}
		if !x.control && (isolation != "read_committed" || x.committed) {
			out = append(out, x.text)
		}
	}
	return out
}

// compareReads holds what consumers read against what lies in the leaders' results.
func (r *liveRun) compareReads() {
	t := r.t
	t.Helper()
	for _, isolation := range []string{"read_uncommitted", "read_committed"} {
		read, ends, failed := r.consumed(isolation)
		for _, x := range r.topics {
			if why, ok := failed[x.Name]; ok {
				r.wrong(x.Name, "%s, %s: %s", isolation, x.Name, why)
				continue
			}
			want, got := visible(r.logs[r.leads[x.Name]][x.Name], isolation), visible(read[x.Name], "")
			r.read += len(got)
			for i := range max(len(want), len(got)) {
				if i >= len(want) || i >= len(got) || want[i] != got[i] {
					r.wrong(x.Name, "%s, %s: record %d differs\nin the log: %.300s\nread:       %.300s\n%d in the log, %d read", isolation, x.Name, i, at(want, i), at(got, i), len(want), len(got))
					break
				}
			}
			if isolation == "read_uncommitted" {
				f := r.at[x.Name][r.leads[x.Name]]
				if e := ends[x.Name]; e != [2]int64{f.start, f.end} {
					t.Errorf("%s: consumers begin and end at %v, predicted %d and %d", x.Name, e, f.start, f.end)
				}
			}
		}
	}
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return "none"
}

// compareEnds holds what repair apply promised against what a start finds. Both speak of the same
// directories.
func (r *liveRun) compareEnds() {
	t := r.t
	t.Helper()
	for _, x := range r.cases {
		if x.mended.done == nil {
			continue
		}
		for _, s := range x.mended.done.Starts {
			for _, p := range s.Partitions {
				name := strings.TrimSuffix(p.Partition, "-0")
				if s.Broker == nil || r.at[name] == nil || !strings.HasSuffix(p.Dir, p.Partition) { // not live
					continue
				}
				if f, ok := r.at[name][int(*s.Broker)]; ok && (f.start != p.LogStartOffset || f.end != p.LogEndOffset) {
					t.Errorf("%s: promised [%d, %d), there is [%d, %d)", p.Dir, p.LogStartOffset, p.LogEndOffset, f.start, f.end)
				}
			}
		}
	}
}
