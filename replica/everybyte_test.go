package replica_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/fstest"

	"kafsck/internal/logtest"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/replica"
	"kafsck/segment"
)

// hundred is 100 batches, epochs 4, 5 and 7, and the positions at which they begin.
func hundred() (log []byte, starts []int64) {
	offset := int64(500)
	for i := range 100 {
		epoch := int32(4)
		switch {
		case i >= 70:
			epoch = 7
		case i >= 40:
			epoch = 5
		}
		b := logtest.Batch{BaseOffset: offset, Epoch: epoch, Records: logtest.Values(fmt.Sprint("value ", i))}
		if i%7 == 3 {
			b.Records = logtest.Values("a", "b", "c")
		}
		starts = append(starts, int64(len(log)))
		log = append(log, b.Encode()...)
		offset += int64(len(b.Records))
	}
	return log, append(starts, int64(len(log)))
}

// edge tells the places where a wrong epoch has no neighbour on both sides that says
// otherwise: the first and last batch, and those beside an election.
func edge(i int) bool {
	switch i {
	case 0, 39, 40, 69, 70, 99:
		return true
	}
	return false
}

// TestEveryByte changes each byte of a segment of 100 batches to every other value, one
// at a time. All other batches must be found as they were; and the change must be named
// at its place by the field that it hit:
//
//	baseOffset             base-offset-out-of-line, or the segment no longer begins where its name says
//	batchLength, magic     the frame says which
//	partitionLeaderEpoch   epoch-out-of-line, where both neighbours know better
//	crc and all behind it  bad-crc
//
// What no neighbour can show, by field: the epoch of the first and last batch and beside
// an election (a witness outside of the log is needed: incident asks for one), where 4 5 4 5
// may be a flip in the second or the third batch and either is named; and the base offset
// of the last batch where it grows by more than one bit.
func TestEveryByte(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs beside anything else")
	}
	log, starts := hundred()
	r := rand.New(rand.NewPCG(4, 4))
	damaged := bytes.Clone(log)
	for i := range 100 {
		for at := starts[i]; at < starts[i+1]; at++ {
			field := at - starts[i]
			for _, delta := range deltas(r, field) {
				damaged[at] = log[at] ^ delta
				if problem := othersFound(damaged, log, starts, i, field); problem != "" {
					t.Fatalf("batch %d, byte %d ^ %#x: %s", i, field, delta, problem)
				}
				damaged[at] = log[at]
			}
		}
	}
}

// deltas are what a byte is changed by: every value where no CRC covers it. A CRC sees
// any change of up to 32 bits in a row, so that a few stand for all.
func deltas(r *rand.Rand, field int64) []byte {
	var out []byte
	few := field >= 21
	for d := 1; d < 256; d++ {
		if !few || d&(d-1) == 0 || r.IntN(64) == 0 {
			out = append(out, byte(d))
		}
	}
	return out
}

// othersFound scans a segment of which one byte of batch hit was changed.
func othersFound(damaged, log []byte, starts []int64, hit int, field int64) string {
	next := 0
	for f, err := range segment.Scan(bytes.NewReader(damaged), int64(len(damaged)), segment.ScanOptions{NextOffset: 500}) {
		if err != nil {
			return err.Error()
		}
		if f.Pos != starts[next] || f.End() != starts[next+1] {
			return fmt.Sprintf("a %s frame at %d, %d bytes, want a frame at %d", f.Kind, f.Pos, f.Len, starts[next])
		}
		uncovered := field < 8 || field >= 12 && field < 16
		switch {
		case f.Kind != segment.Batch:
			return fmt.Sprintf("a %s frame at %d", f.Kind, f.Pos)
		case next != hit && (f.Damage != nil || !bytes.Equal(f.Raw, log[f.Pos:f.End()])):
			return fmt.Sprintf("batch %d is not as it was: %v", next, f.Damage)
		case next == hit && uncovered != (f.Damage == nil):
			return fmt.Sprintf("the damage is told as %v", f.Damage)
		}
		next++
	}
	if next != 100 {
		return fmt.Sprintf("%d batches", next)
	}
	return ""
}

// TestEveryByteIsNamed looks at what the whole log says of a change outside the CRC.
func TestEveryByteIsNamed(t *testing.T) {
	log, starts := hundred()
	damaged := bytes.Clone(log)
	for i := range 100 {
		for field := range int64(21) {
			if testing.Short() && i%10 > 1 {
				continue
			}
			at := starts[i] + field
			for bit := range 8 {
				damaged[at] = log[at] ^ 1<<bit
				l := readSegment(t, 500, damaged)
				damaged[at] = log[at]
				kinds := map[replica.AnomalyKind]bool{}
				for _, a := range l.Anomalies.Kept {
					if a.Position == starts[i] {
						kinds[a.Kind] = true
					}
				}
				named := false
				switch {
				case field < 8:
					named = kinds[replica.BaseOutOfLine] || kinds[replica.BelowSegment] || kinds[replica.Gap] || kinds[replica.Backwards]
				case field >= 12 && field < 16:
					named = kinds[replica.EpochOutOfLine] || edge(i) || (i == 41 || i == 38 || i == 71 || i == 68) && len(l.Anomalies.Kept) == 1
				default:
					named = kinds[replica.BadChecksum]
				}
				if !named {
					t.Fatalf("batch %d, byte %d, bit %d: %v", i, field, bit, l.Anomalies.Kept)
				}
				if l.Batches != 100 {
					t.Fatalf("batch %d, byte %d, bit %d: %d batches", i, field, bit, l.Batches)
				}
			}
		}
	}
}

// readSegment reads a live log of one segment.
func readSegment(t *testing.T, base int64, data []byte) *replica.Log {
	t.Helper()
	fsys := fstest.MapFS{"t-0/" + logtest.LogName(base): {Data: data}}
	c, err := logdir.DiscoverFS(rofs.FromFS(fsys), "case", logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for p := range c.AllPartitions() {
		sources, err := replica.View(p)
		if err != nil {
			t.Fatal(err)
		}
		l, err := replica.Read(context.Background(), sources[0], replica.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	t.Fatal("no partition")
	return nil
}
