package epoch

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// kinds writes differences as "kind EPOCH START", with a "!" where one is no
// legitimate one.
func kinds(ds []Difference) []string {
	out := []string{}
	for _, d := range ds {
		s := fmt.Sprintf("%s %d %d", d.Kind, d.Epoch, d.StartOffset)
		if !d.Legitimate {
			s = "! " + s
		}
		out = append(out, s)
	}
	return out
}

// lineage makes ranges out of (epoch, from) and the end.
func lineage(end int64, pairs ...int64) Lineage {
	var l Lineage
	for i := 0; i < len(pairs); i += 2 {
		to := end
		if i+3 < len(pairs) {
			to = pairs[i+3]
		}
		l = append(l, Range{Epoch: int32(pairs[i]), From: pairs[i+1], To: to})
	}
	return l
}

// p1 is the log that field-reports.md makes its K1 cases from: 30 batches of 10
// records, segments at 0, 100 and 200, epochs 0@0, 2@80, 3@150, 5@240, end 300.
func p1(file ...int64) Comparison {
	f := entries(file...)
	return Comparison{
		Batches: lineage(300, 0, 0, 2, 80, 3, 150, 5, 240), File: f, Loaded: Load(f).TruncateFromEnd(300),
		LogEnd: 300, FirstBatch: 0, FirstBatchLast: 9, SegmentStarts: []int64{0, 100, 200}, Live: true,
	}
}

func change(c Comparison, f func(*Comparison)) Comparison {
	f(&c)
	return c
}

func TestCompare(t *testing.T) {
	whole := []int64{0, 0, 2, 80, 3, 150, 5, 240}
	for _, tc := range []struct {
		name string
		in   Comparison
		want []string
	}{
		{"agrees", p1(whole...), nil},

		// K1 of field-reports.md.
		{"BR-01 malformed", change(p1(), func(c *Comparison) { c.FileMalformed = true }), []string{"! file-malformed -1 -1"}},
		{"BR-03 empty tail entry", p1(append(whole, 7, 300)...), []string{"at-log-end 7 300"}},
		{"BR-03 beyond the end", p1(append(whole, 7, 310)...), []string{"! beyond-log-end 7 310"}},
		{"BR-05 epochs fall", p1(5, 100, 4, 120),
			[]string{"! not-monotonic 5 100", "! inside-other-epoch 4 120", "! epoch-missing 0 0", "! epoch-missing 2 80", "! epoch-missing 3 150", "! epoch-missing 5 240"}},
		{"BR-05 equal starts", p1(4, 100, 5, 100),
			[]string{"! not-monotonic 4 100", "! inside-other-epoch 5 100", "! epoch-missing 0 0", "! epoch-missing 2 80", "! epoch-missing 3 150"}},
		{"BR-05 repeated epoch", p1(3, 150, 3, 170), []string{"! not-monotonic 3 170", "! epoch-missing 0 0", "! epoch-missing 2 80", "! epoch-missing 5 240"}},
		{"BR-06 old format", change(p1(12, 250), func(c *Comparison) { c.Batches, c.HasLegacy = lineage(300, -1, 0), true }), []string{"! file-on-old-format 12 250"}},
		{"BR-08 epoch 0 missing", p1(2, 80, 3, 150, 5, 240), []string{"! epoch-missing 0 0"}},
		{"BR-10 file older than the log", p1(0, 0, 2, 80, 3, 150), []string{"! epoch-missing 5 240"}},

		// Kafka holds less than is written (kafka-format.md §5.2, its load table).
		{"load table 1", p1(0, 0, 3, 50, 2, 60, 5, 40), []string{"! not-monotonic 3 50", "! not-monotonic 2 60", "! inside-other-epoch 5 40", "! epoch-missing 2 80", "! epoch-missing 3 150"}},
		{"load table 4", p1(3, 20, 1, 0, 2, 10), []string{"! not-monotonic 3 20", "! inside-other-epoch 1 0", "! inside-other-epoch 2 10", "! epoch-missing 0 0", "! epoch-missing 3 150", "! epoch-missing 5 240"}},

		// §5.9, row by row.
		{"two leaders wrote nothing, Kafka up to 2.0.0", p1(append(slices.Clone(whole), 6, 300, 7, 300)...), []string{"equal-start 6 300", "at-log-end 7 300"}},
		{"middle entry with the start of its successor", p1(0, 0, 1, 80, 2, 80, 3, 150, 5, 240), []string{"equal-start 1 80"}},
		{"first entry moved to the log start", change(p1(0, 61, 2, 80, 3, 150, 5, 240), func(c *Comparison) { c.LogStart = 61 }), []string{"at-log-start 0 61"}},
		{"rebuilt from the leader's log start, inside the first batch", change(p1(0, 5, 2, 80, 3, 150, 5, 240), func(c *Comparison) { c.LogStart = 5 }), []string{"at-log-start 0 5"}},
		{"log start moved, no checkpoint says so yet", p1(0, 61, 2, 80, 3, 150, 5, 240), []string{"inside-first-epoch 0 61"}},
		{"log start moved, the file not written since", change(p1(whole...), func(c *Comparison) { c.LogStart = 61 }), []string{"below-log-start 0 0"}},
		{"all expired, fixtures/tiered", change(p1(whole...), func(c *Comparison) {
			c.LogStart, c.FirstBatch, c.FirstBatchLast, c.Batches = 300, -1, -1, nil
		}), []string{"below-log-start 0 0"}},
		{"expired batches, stale head", change(p1(whole...), func(c *Comparison) {
			c.LogStart, c.FirstBatch, c.FirstBatchLast, c.Batches = 200, 200, 209, lineage(300, 3, 200, 5, 240)
		}), []string{"below-log-start 0 0"}},
		{"compacted away", change(p1(whole...), func(c *Comparison) {
			c.Compacted, c.Batches = true, Lineage{{0, 20, 30}, {3, 170, 240}, {5, 240, 300}}
		}), []string{"compacted-away 0 0", "compacted-away 2 80", "compacted-away 3 150"}},
		{"the first batch of an epoch is damaged", change(p1(whole...), func(c *Comparison) {
			c.Batches = lineage(300, 0, 0, 2, 80, 3, 150, 5, 250)
			c.Batches[2].To = 240
			c.Damaged = []Range{{Epoch: -1, From: 240, To: 250}}
		}), []string{"batches-damaged 5 240"}},
		{"damage that does not explain it", change(p1(whole...), func(c *Comparison) {
			c.Batches = lineage(300, 0, 0, 2, 80, 3, 150, 5, 250)
			c.Batches[2].To = 240
			c.Damaged = []Range{{Epoch: -1, From: 240, To: 245}}
		}), []string{"! batches-missing 5 240"}},
		{"the same holes without compaction", change(p1(whole...), func(c *Comparison) {
			c.Batches = Lineage{{0, 20, 30}, {3, 170, 240}, {5, 240, 300}}
		}), []string{"! batches-missing 0 0", "! batches-missing 2 80", "! batches-missing 3 150"}},
		{"absent", change(p1(), func(c *Comparison) { c.FileAbsent = true }), []string{"! file-absent -1 -1"}},
		{"absent, old format", change(p1(), func(c *Comparison) { c.FileAbsent, c.HasLegacy, c.Batches = true, true, lineage(300, -1, 0) }), []string{"file-absent -1 -1"}},
		{"empty", p1(), []string{"! file-empty -1 -1"}},
		{"empty, queued for deletion", change(p1(), func(c *Comparison) { c.Live = false }), []string{"file-empty -1 -1"}},
		{"empty log", change(p1(), func(c *Comparison) { c.Batches = nil }), nil},
		{"partial rebuild", p1(2, 100, 3, 150, 5, 240), []string{"! wrong-start 2 100", "! epoch-missing 0 0"}},
		{"partial rebuild of the only epoch", change(p1(0, 100), func(c *Comparison) { c.Batches = lineage(300, 0, 0) }), []string{"! wrong-start 0 100"}},
		{"start in the middle of its epoch", p1(0, 0, 2, 80, 3, 160, 5, 240), []string{"! wrong-start 3 160"}},
		{"inside the preceding epoch's batches", p1(0, 0, 2, 70, 3, 150, 5, 240), []string{"! inside-other-epoch 2 70"}},
		{"the new leader's entry in the old leader's file", change(p1(0, 0, 2, 100), func(c *Comparison) { c.Batches, c.LogEnd = lineage(200, 0, 0), 200 }), []string{"! inside-other-epoch 2 100"}},
		{"older epoch at the log end", p1(0, 0, 4, 300), []string{"! inside-other-epoch 4 300", "! epoch-missing 2 80", "! epoch-missing 3 150", "! epoch-missing 5 240"}},
		{"tail cut off, truncation not flushed", change(p1(whole...), func(c *Comparison) { c.Batches, c.LogEnd = lineage(150, 0, 0, 2, 80), 150 }), []string{"! beyond-log-end 3 150", "! beyond-log-end 5 240"}},
		{"old messages, then new ones", change(p1(3, 80), func(c *Comparison) { c.HasLegacy, c.Batches = true, lineage(300, -1, 0, 3, 80) }), nil},
		{"old messages, a leader elected after", change(p1(3, 300), func(c *Comparison) { c.HasLegacy, c.Batches = true, lineage(300, -1, 0) }), []string{"at-log-end 3 300"}},

		// fixtures/kip279-silent-fork, broker 2: epoch 1 after epoch 3.
		{"epochs fall back", change(p1(0, 0, 3, 50, 5, 80), func(c *Comparison) { c.Batches, c.LogEnd = lineage(115, 0, 0, 3, 50, 1, 70, 5, 80), 115 }), []string{"epoch-falls-back 1 70"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.want == nil {
				tc.want = []string{}
			}
			got := Compare(tc.in)
			if d := cmp.Diff(tc.want, kinds(got)); d != "" {
				t.Error(d)
			}
			for _, d := range got {
				if d.Reason == "" || strings.Contains(d.Reason, "%!") {
					t.Errorf("%s: reason %q", d.Kind, d.Reason)
				}
			}
			if agrees := !slices.ContainsFunc(tc.want, func(s string) bool { return strings.HasPrefix(s, "!") }); agrees != Agrees(got) {
				t.Errorf("Agrees is %v", !agrees)
			}
		})
	}
}

// TestCompareIsBounded: a file of a million lines that contradict each other, and
// a log whose epochs alternate with every batch.
func TestCompareIsBounded(t *testing.T) {
	in := Comparison{LogEnd: 1 << 20, Live: true}
	for i := range int64(1 << 20) {
		in.File = append(in.File, Entry{Epoch: int32(i % 7), StartOffset: i})
		in.Batches = append(in.Batches, Range{Epoch: int32(i % 1000), From: i, To: i + 1})
	}
	if got := len(Compare(in)); got != maxDifferences {
		t.Errorf("%d differences, want %d", got, maxDifferences)
	}
}

// TestEntriesInRange: the example of kafka-format.md §5.6, run on
// LeaderEpochFileCache.
func TestEntriesInRange(t *testing.T) {
	c := entries(0, 0, 2, 50, 5, 100)
	if d := cmp.Diff(entries(2, 60), c.EntriesInRange(60, 100)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(entries(0, 0, 2, 50), c.EntriesInRange(-1, 100)); d != "" {
		t.Error(d)
	}
}

// FuzzCompare: whatever stands in the file, Compare ends, is bounded, and finds
// nothing when the file is what recovery makes of the batches.
func FuzzCompare(f *testing.F) {
	f.Add([]byte{0, 0, 2, 80, 3, 150, 5, 240}, []byte{0, 80, 2, 70, 3, 90, 5, 60}, int64(0), int64(300))
	f.Add([]byte{5, 100, 4, 120}, []byte{0, 80, 9, 70}, int64(61), int64(150))
	f.Fuzz(func(t *testing.T, file, batches []byte, logStart, logEnd int64) {
		in := Comparison{LogStart: logStart, LogEnd: logEnd, Live: true}
		for i := 0; i+1 < len(file); i += 2 {
			in.File = append(in.File, Entry{Epoch: int32(file[i]), StartOffset: int64(file[i+1])})
		}
		at := int64(0)
		for i := 0; i+1 < len(batches); i += 2 {
			in.Batches = in.Batches.Add(int32(int8(batches[i])), at, at+1+int64(batches[i+1]))
			at += 1 + int64(batches[i+1])
		}
		in.Loaded = Load(in.File)
		if n := len(Compare(in)); n > maxDifferences {
			t.Errorf("%d differences", n)
		}
		in.File, in.LogStart, in.LogEnd = in.Batches.Rebuild(), 0, at
		if ds := Compare(in); !Agrees(ds) {
			t.Errorf("a rebuilt file differs: %v", kinds(ds))
		}
	})
}
