package repair_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kafsck/internal/fixture"
	"kafsck/repair"
	"kafsck/segment"
)

// truth is one batch of a .log that a broker wrote, by what tells batches apart.
type truth struct {
	offset int64
	epoch  int32
	crc    uint32
	length int64
}

// brokerLog is a .log of a recording.
type brokerLog struct {
	name, partition string
	data            []byte
	batches         []truth
	at              []int64 // positions
	// cleaned: of a recording of compaction. Its copies were cleaned at different times, so that each
	// has holes where another one has batches: a hole and the border of two files look alike.
	cleaned bool
}

var partitionDir = regexp.MustCompile(`^(.+-\d+?)(\.[0-9a-f]{32}-(future|delete|stray))?$`)

func brokerLogs(t testing.TB, recording string) []brokerLog {
	tree := fixture.Tree(t, recording)
	var out []brokerLog
	fs.WalkDir(tree, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(path.Base(p), ".log") || len(tree[p].Data) == 0 {
			return nil
		}
		m := partitionDir.FindStringSubmatch(path.Base(path.Dir(p)))
		if m == nil {
			return nil
		}
		l := brokerLog{name: p, partition: m[1], data: tree[p].Data, cleaned: slices.Contains([]string{"compaction", "cleaner-swap", "epoch-history", "reassigned-dirs", "transactions"}, recording)}
		for f, err := range segment.Scan(bytes.NewReader(l.data), int64(len(l.data)), segment.ScanOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case f.Damage != nil:
			case f.Kind == segment.Batch:
				l.batches = append(l.batches, truth{f.Batch.BaseOffset, f.Batch.PartitionLeaderEpoch, f.Batch.CRC, f.Len})
				l.at = append(l.at, f.Pos)
			case f.Kind == segment.Legacy:
				l.batches = append(l.batches, truth{f.Legacy.Offset, -1, f.Legacy.CRC, f.Len})
				l.at = append(l.at, f.Pos)
			}
		}
		out = append(out, l)
		return nil
	})
	return out
}

// image puts files on a disk: at multiples of block, in extents of at most extent blocks (0: whole),
// in any order, with garbage, zeros or nothing in between. It also returns what must be found: the batches
// that lie in one extent, with the names of the partitions that have such a batch.
func image(logs []brokerLog, seed uint64, block, extent int) (img []byte, must map[truth]map[string]bool) {
	rnd := rand.New(rand.NewPCG(seed, 7))
	must = map[truth]map[string]bool{}
	type part struct {
		l        *brokerLog
		from, to int
	}
	var parts []part
	for i := range logs {
		l := &logs[i]
		for at := 0; at < len(l.data); {
			n := len(l.data) - at
			if extent > 0 {
				n = min(n, block*(1+rnd.IntN(extent)))
			}
			parts = append(parts, part{l, at, at + n})
			at += n
		}
	}
	rnd.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	for _, p := range parts {
		for len(img)%block != 0 {
			img = append(img, 0)
		}
		gap := rnd.IntN(4)
		if logs[0].cleaned && gap > 1 {
			gap = 0
		}
		switch gap {
		case 0:
			img = append(img, make([]byte, block*(1+rnd.IntN(4)))...)
		case 1:
			for range block * (1 + rnd.IntN(3)) {
				img = append(img, byte(rnd.Uint32()))
			}
		}
		for i, b := range p.l.batches {
			if at := int(p.l.at[i]); at >= p.from && at+int(b.length) <= p.to {
				if must[b] == nil {
					must[b] = map[string]bool{}
				}
				must[b][p.l.partition] = true
			}
		}
		img = append(img, p.l.data[p.from:p.to]...)
	}
	return img, must
}

func carveImage(t testing.TB, img []byte, opt repair.CarveOptions) (c *repair.Carving, found map[int64]truth, loose map[truth]bool) {
	t.Helper()
	found, loose = map[int64]truth{}, map[truth]bool{}
	opt.File, opt.Size = "disk.img", int64(len(img))
	opt.Each = func(x *segment.Carved) {
		switch {
		case x.Loose: // its offset is not claimed
			loose[truth{0, 0, x.Header.CRC, x.Len}] = true
		case x.Kind == segment.CarvedBatch && !x.Embedded:
			found[x.Pos] = truth{x.Header.BaseOffset, x.Header.PartitionLeaderEpoch, x.Header.CRC, x.Len}
		case x.Kind == segment.CarvedMessage && !x.Embedded:
			found[x.Pos] = truth{x.Legacy.Offset, -1, x.Legacy.CRC, x.Len}
		}
	}
	var err error
	c, err = repair.Carve(context.Background(), bytes.NewReader(img), opt)
	if err != nil {
		t.Fatal(err)
	}
	return c, found, loose
}

// TestCarveImages puts the logs of recordings by real brokers on disks of several kinds. What a
// disk still holds whole is found, nothing else is, and no log has batches of two partitions.
func TestCarveImages(t *testing.T) {
	names := fixture.Names
	if testing.Short() {
		names = names[:3]
	}
	for _, recording := range append([]string{"internal-topics", "hw-truncation-oldformat"}, names...) {
		for _, kind := range []struct {
			name          string
			block, extent int
		}{{"one behind the other", 1, 0}, {"ext4", 4096, 0}, {"fragments", 4096, 3}, {"scattered", 4096, 1}} {
			t.Run(recording+" "+kind.name, func(t *testing.T) {
				t.Parallel()
				logs := brokerLogs(t, recording)
				img, must := image(logs, uint64(len(recording)), kind.block, kind.extent)
				c, found, loose := carveImage(t, img, repair.CarveOptions{})
				checkCarved(t, c, found, loose, must, logs)
				if kind.extent == 0 && recording != "compaction" && recording != "cleaner-swap" {
					checkWhole(t, c, found, logs)
				}
			})
		}
	}
}

func checkCarved(t *testing.T, c *repair.Carving, found map[int64]truth, loose map[truth]bool, must map[truth]map[string]bool, logs []brokerLog) {
	t.Helper()
	all := map[truth]map[string]bool{} // extents may have come to lie beside each other again
	for _, l := range logs {
		for _, b := range l.batches {
			if all[b] == nil {
				all[b] = map[string]bool{}
			}
			all[b][l.partition] = true
		}
	}
	have := map[truth]bool{}
	for _, b := range found {
		if have[b] = true; all[b] == nil {
			t.Errorf("invented: %+v", b)
		}
	}
	for b := range must {
		if !have[b] && !loose[truth{0, 0, b.crc, b.length}] {
			t.Errorf("not found: %+v", b)
		}
	}
	for i := range c.Logs {
		l := &c.Logs[i]
		var of map[string]bool
		end := int64(-1)
		for _, p := range l.Pieces {
			if p.From < end {
				t.Fatalf("log %d: pieces lap over at %d", l.Number, p.From)
			}
			end = p.To
			for pos := p.Pos; pos < p.Pos+p.Len; {
				b, ok := found[pos]
				if !ok {
					t.Fatalf("log %d: no batch at %d of the piece at %d", l.Number, pos, p.Pos)
				}
				if of == nil {
					of = map[string]bool{}
					for n := range all[b] {
						of[n] = true
					}
				}
				for n := range of {
					if !all[b][n] {
						delete(of, n)
					}
				}
				pos += b.length
			}
		}
		if len(of) == 0 {
			t.Errorf("log %d mixes partitions: %v %v", l.Number, l.Assumed, l.Pieces)
		}
	}
}

// checkWhole: every .log stands in one log of the result, batch for batch.
func checkWhole(t *testing.T, c *repair.Carving, found map[int64]truth, logs []brokerLog) {
	t.Helper()
	in := map[truth][]int{}
	for i := range c.Logs {
		for _, p := range c.Logs[i].Pieces {
			for pos := p.Pos; pos < p.Pos+p.Len; pos += found[pos].length {
				in[found[pos]] = append(in[found[pos]], i)
			}
		}
	}
	for _, l := range logs {
		var of []int
		for k, b := range l.batches {
			if k == 0 {
				of = slices.Clone(in[b])
			}
			of = slices.DeleteFunc(of, func(i int) bool { return !slices.Contains(in[b], i) })
		}
		if len(of) == 0 && len(l.batches) > 0 && c.Lone == 0 {
			t.Errorf("%s is in no one log", l.name)
		}
	}
	t.Log(summaryOf(c))
}

func summaryOf(c *repair.Carving) string {
	var s strings.Builder
	for i := range c.Logs {
		l := &c.Logs[i]
		fmt.Fprintf(&s, "\nlog %d %s [%d, %d) %d batches %d pieces, %v %v", l.Number, l.Partition, l.From, l.To, l.Batches, len(l.Pieces), l.Assumed, l.Doubts)
	}
	return s.String()
}
