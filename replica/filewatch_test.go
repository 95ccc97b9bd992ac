package replica

import (
	"context"
	"fmt"
	"testing"
	"time"

	"kafsck/batch"
	"kafsck/internal/fixture"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/segment"
)

// normal are the kinds that files of healthy brokers show.
var normal = map[AnomalyKind]bool{
	IndexMissing: true, TimeIndexMissing: true, IndexNotTrimmed: true, IndexStale: true,
	Gap: true, SegmentGap: true, BelowSegment: true, // compacted logs and files set aside; not about index files
}

// sourcesOf yields the sources of each directory below the stages of a recording.
func sourcesOf(t *testing.T, name string, f func(where string, src Source)) {
	t.Helper()
	c, err := logdir.DiscoverFS(rofs.FromFS(fixture.Tree(t, name)), "case", logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for p := range c.AllPartitions() {
		sources, err := View(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, src := range sources {
			f(fmt.Sprintf("%s/%s %s", name, p.Dir, src.State), src)
		}
	}
}

// Index, time index, txn index and snapshot of every recorded directory agree with its
// batches, in every stage: killed, copied alive, compacted, truncated, set aside.
func TestFilesOfRecordings(t *testing.T) {
	entries := 0
	for _, name := range fixture.Names {
		sourcesOf(t, name, func(where string, src Source) {
			l, err := Read(context.Background(), src, Options{Files: true})
			if err != nil {
				t.Fatalf("%s: %v", where, err)
			}
			for _, a := range l.Anomalies.Kept {
				closed := l.closedSegment(a.Segment)
				if !normal[a.Kind] || closed && (a.Kind == IndexStale || a.Kind == IndexNotTrimmed) {
					t.Errorf("%s, segment %d: %s: want %s, got %s (%s)", where, l.Segments[a.Segment].BaseOffset, a.Kind, a.Want, a.Got, a.Detail)
				}
			}
			for _, s := range l.Segments {
				if s.Index != nil {
					entries += int(s.Index.Size / segment.IndexEntrySize)
				}
			}
		})
	}
	if entries < 1000 {
		t.Errorf("only %d entries were looked at", entries)
	}
}

// recorder rebuilds the producer state and the txn index of a log by itself and
// compares them with what Kafka wrote, entry by entry and without any tolerance.
type recorder struct {
	t     *testing.T
	where string
	log   *Log
	state *Producers
	seg   int
	snaps []*logdir.File

	txns      map[int][]segment.AbortedTxn // by segment
	producers int                          // entries that were equal
}

func (r *recorder) begin(seg int) error { r.seg = seg; return nil }
func (r *recorder) end(int) error       { return nil }

func (r *recorder) message(_, _ int64, h *batch.LegacyHeader) error {
	r.state.pass(h.Offset, h.Offset, false)
	return nil
}

func (r *recorder) batch(_ int64, h *batch.Header, raw []byte) error {
	for len(r.snaps) > 0 && r.snaps[0].BaseOffset <= h.BaseOffset {
		r.snapshot(r.snaps[0])
		r.snaps = r.snaps[1:]
	}
	r.state.pass(h.BaseOffset, h.LastOffset(), h.RecordCount == h.LastOffsetDelta+1)
	if h.ProducerID < 0 {
		return nil
	}
	p := r.state.producer(h.ProducerID)
	if !h.Attributes.Control() {
		r.state.data(p, h)
		return nil
	}
	c, timestamp, ok := markerOf(h, raw)
	if !ok {
		return nil
	}
	done := r.state.marker(p, h, &c, timestamp)
	if done.aborted && done.first >= 0 {
		r.txns[r.seg] = append(r.txns[r.seg], segment.AbortedTxn{ProducerID: h.ProducerID, FirstOffset: done.first, LastOffset: h.BaseOffset, LastStableOffset: done.lastStable})
	}
	return nil
}

func (r *recorder) snapshot(f *logdir.File) {
	if !r.state.Complete || r.state.First != 0 || r.state.Next != f.BaseOffset {
		return
	}
	var snap *segment.ProducerSnapshot
	if err := withFile(f, func(x rofs.File) (err error) { snap, err = segment.ReadSnapshot(x, f.Size); return err }); err != nil {
		r.t.Fatal(err)
	}
	if snap.Problem != nil {
		r.t.Errorf("%s: %s: %v", r.where, f.Name, snap.Problem)
	}
	left := 0
	for _, p := range r.state.All() { // the records of some clients were a year old when they were written
		if p.open() || f.ModTime.Sub(time.UnixMilli(p.Timestamp)) < 24*time.Hour {
			left++
		}
	}
	if n := len(snap.Producers); n < left || n > len(r.state.All()) {
		r.t.Errorf("%s: %s has %d producers, the log %d of which %d have not expired", r.where, f.Name, n, len(r.state.All()), left)
	}
	for _, e := range snap.Producers {
		p := r.state.Get(e.ProducerID)
		if p == nil || p.ProducerEntry != e {
			r.t.Errorf("%s: %s: got %+v, want %+v", r.where, f.Name, p, e)
		}
		r.producers++
	}
}

// For logs that are whole, Kafka's own entries are what is rebuilt from the batches.
func TestProducerStateEqualsKafka(t *testing.T) {
	producers, aborted := 0, 0
	for _, name := range fixture.Names {
		sourcesOf(t, name, func(where string, src Source) {
			if src.State != Live {
				return
			}
			r := &recorder{t: t, where: where, log: &Log{Source: src}, state: newProducers(), txns: map[int][]segment.AbortedTxn{}}
			for _, s := range src.Partition.Segments {
				if s.Snapshot != nil && s.Suffix == logdir.NoSuffix {
					r.snaps = append(r.snaps, s.Snapshot)
				}
			}
			s := stream{log: r.log, prevNext: -1, prevEpoch: -1, watch: []watcher{r}}
			if err := s.run(0, 0, func(*Block) bool { return true }); err != nil {
				t.Fatal(err)
			}
			for _, f := range r.snaps {
				r.snapshot(f)
			}
			for i, s := range src.Segments {
				if r.state.Complete && r.state.First == 0 {
					aborted += r.txnIndex(i, s)
				}
			}
			producers += r.producers
		})
	}
	t.Logf("%d producers, %d aborted transactions", producers, aborted)
	if producers < 100 || aborted < 10 {
		t.Errorf("only %d producers and %d aborted transactions were compared", producers, aborted)
	}
}

func (r *recorder) txnIndex(i int, s *logdir.Segment) int {
	var stored []segment.AbortedTxn
	if s.TxnIndex != nil {
		err := withFile(s.TxnIndex, func(f rofs.File) error {
			for e, err := range segment.ScanTxnIndex(f, s.TxnIndex.Size) {
				if err != nil {
					return err
				}
				e.Number = 0
				stored = append(stored, e)
			}
			return nil
		})
		if err != nil {
			r.t.Fatal(err)
		}
	}
	if got, want := fmt.Sprint(r.txns[i]), fmt.Sprint(stored); got != want {
		r.t.Errorf("%s: segment %d: txn index\n got %s\nwant %s", r.where, s.BaseOffset, got, want)
	}
	return len(stored)
}
