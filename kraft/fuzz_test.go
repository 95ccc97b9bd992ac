package kraft

import (
	"encoding/json"
	"slices"
	"testing"

	"kafsck/internal/fixture"
)

func FuzzRecord(f *testing.F) {
	for _, v := range vectors {
		f.Add(unhex(f, v.hex))
	}
	f.Add([]byte{0, 2, 0})
	f.Add([]byte{1, 99, 0, 0})
	f.Fuzz(func(t *testing.T, value []byte) {
		before := slices.Clone(value)
		rec, err := DecodeRecord(value)
		if err == nil {
			b, err := json.Marshal(rec)
			if err != nil || !json.Valid(b) {
				t.Errorf("%s: %v", b, err)
			}
		}
		// Whatever the record: a log that holds it alone is replayed to its end.
		l := read(t, Input{Logs: []File{file("00000000000000000000.log", logOf(records(value), records(noOp)))}})
		if l.EndOffset != 2 {
			t.Errorf("end %d", l.EndOffset)
		}
		if err == nil && l.Counts[rec.APIKey] == 0 {
			t.Errorf("apiKey %d is not counted", rec.APIKey)
		}
		if !slices.Equal(before, value) {
			t.Error("the input was changed")
		}
	})
}

func FuzzRead(f *testing.F) {
	b, at := story()
	f.Add(b, stateSnapshot, int64(0), int64(6))
	f.Add(b[at[4]:], stateSnapshot, int64(4), int64(5))
	f.Add(logOf(records(begin), records(end, begin), records(abort)), []byte{}, int64(0), int64(1))
	in := node(f, "kafka-4.3.1/stage2-clean/node-2", false)
	f.Add(content(f, in.Logs[0]), content(f, in.Snapshots[0]), int64(413), int64(415))
	fixture.Seeds(f, "checkpoint", func(b []byte) { f.Add([]byte{}, b, int64(0), int64(100)) })
	f.Fuzz(func(t *testing.T, log, snapshot []byte, base, end int64) {
		base, end = base&(1<<40-1), end&(1<<40-1)
		name := digits(base)
		in := withSnapshot(Input{Logs: []File{file(name+".log", log)}}, end, snapshot)
		l := read(t, in)
		if l.StartOffset != base || l.EndOffset < base {
			t.Errorf("log from %d to %d, base %d", l.StartOffset, l.EndOffset, base)
		}
		for id, p := range l.Partitions {
			if len(p.Changes) == 0 || p.ID != id {
				t.Errorf("partition %+v", p)
			}
			last := int64(-1)
			for _, c := range p.Changes {
				if c.Unclean && (c.Uncertain || !c.LeaderWritten || c.Leader < 0) {
					t.Errorf("change %+v", c)
				}
				if c.ISR == nil || c.Replicas == nil || c.ELR == nil || c.LastKnownELR == nil || c.Removing == nil || c.Adding == nil {
					t.Errorf("a list is nil: %+v", c)
				}
				if c.Offset < last {
					t.Errorf("changes go back from %d to %d", last, c.Offset)
				}
				last = c.Offset
			}
		}
		for i, g := range l.Gaps {
			if g.From >= g.To || i > 0 && g.From < l.Gaps[i-1].To {
				t.Errorf("gaps %v", l.Gaps)
			}
		}
	})
}

func digits(n int64) string {
	b := []byte("00000000000000000000")
	for i := len(b) - 1; n > 0; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
	return string(b)
}
