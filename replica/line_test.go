package replica

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"kafsck/internal/fixture"
	"kafsck/internal/logtest"
	"kafsck/internal/rofs"
	"kafsck/logdir"
)

// facts reads a log, with or without the short way for batches in line, and returns all
// that it found, and the blocks.
func facts(t *testing.T, src Source, opt Options, careful bool, doubts []Doubt) (*Log, []Block) {
	t.Helper()
	l := &Log{Source: src, dense: true, opt: opt, careful: careful, doubts: doubts}
	l.readSmallFiles()
	if err := l.pass(context.Background(), opt); err != nil {
		t.Fatal(err)
	}
	if err := l.settleStart(); err != nil {
		t.Fatal(err)
	}
	var blocks []Block
	s := stream{log: l, prevNext: -1, prevEpoch: -1, careful: careful}
	if err := s.run(0, 0, func(b *Block) bool { blocks = append(blocks, *b); return true }); err != nil {
		t.Fatal(err)
	}
	return l, blocks
}

// sameBothWays compares the facts that both ways find.
func sameBothWays(t *testing.T, name string, src Source) {
	t.Helper()
	var doubts []Doubt
	for range 2 {
		opt, doubt := Options{Files: true, Records: true}, doubts
		short, shortBlocks := facts(t, src, opt, false, doubt)
		long, longBlocks := facts(t, src, opt, true, doubt)
		for _, r := range short.ShortRuns {
			doubts = append(doubts, Doubt{From: r.Base, To: r.End, Written: r.Epoch, Epoch: max(r.Before, r.After)})
		}
		long.careful = false
		// A batch that waits for its successor tells of itself after the watchers have: only
		// the order within a kind is the same.
		for _, l := range []*Log{short, long} {
			slices.SortStableFunc(l.Anomalies.Kept, func(a, b Anomaly) int { return strings.Compare(string(a.Kind), string(b.Kind)) })
		}
		if !reflect.DeepEqual(short, long) {
			t.Errorf("%s, doubt %v: facts differ", name, doubt)
			a, b := reflect.ValueOf(short).Elem(), reflect.ValueOf(long).Elem()
			for i := range a.NumField() {
				if x, y := fmt.Sprintf("%+v", a.Field(i)), fmt.Sprintf("%+v", b.Field(i)); x != y {
					t.Errorf("%s:\nshort %.600s\nlong  %.600s", a.Type().Field(i).Name, x, y)
				}
			}
		}
		if !reflect.DeepEqual(shortBlocks, longBlocks) {
			t.Errorf("%s, doubt %v: blocks differ", name, doubt)
		}
		if t.Failed() {
			t.FailNow()
		}
	}
}

// sources are all sources of a tree, by name.
func sources(t *testing.T, tree fstest.MapFS) map[string]Source {
	t.Helper()
	c, err := logdir.DiscoverFS(rofs.FromFS(tree), "case", logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]Source{}
	for p := range c.AllPartitions() {
		list, err := View(p)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range list {
			out[fmt.Sprint(p.Dir, " ", s.State, " ", i)] = s
		}
	}
	return out
}

// stages cuts a recording into folders that are one case each.
func stages(tree fstest.MapFS, depth int) map[string]fstest.MapFS {
	out := map[string]fstest.MapFS{}
	for path, f := range tree {
		parts := bytes.SplitN([]byte(path), []byte("/"), depth+1)
		if len(parts) <= depth {
			continue
		}
		name := string(bytes.Join(parts[:depth], []byte("/")))
		if out[name] == nil {
			out[name] = fstest.MapFS{}
		}
		out[name][string(parts[depth])] = f
	}
	return out
}

// TestLineFindsTheSame: batches in line take a short way through the pass, and all facts
// are those of the long one.
func TestLineFindsTheSame(t *testing.T) {
	n := 0
	for _, name := range append([]string{"cases", "pairs"}, fixture.Names...) {
		for stage, tree := range stages(fixture.Tree(t, name), 1) {
			for s, src := range sources(t, tree) {
				if n++; testing.Short() && n%24 != 0 {
					continue
				}
				sameBothWays(t, name+"/"+stage+"/"+s, src)
			}
		}
	}
	if n < 300 {
		t.Errorf("only %d logs in the fixtures", n)
	}
}

// TestLineFindsTheSameInDamage: the same in random logs with random damage.
func TestLineFindsTheSameInDamage(t *testing.T) {
	logs := 1500
	if testing.Short() {
		logs = 40
	}
	rng := rand.New(rand.NewPCG(11, 12))
	for i := range logs {
		tree := randomTree(rng)
		for s, src := range sources(t, tree) {
			sameBothWays(t, fmt.Sprint("log ", i, " ", s), src)
		}
	}
}

// randomTree is one log of up to three segments: elections, gaps, compacted batches,
// messages, flipped bits, lost and doubled pieces, zeros, a torn end.
func randomTree(rng *rand.Rand) fstest.MapFS {
	tree := fstest.MapFS{"meta.properties": {Data: []byte("version=1\nnode.id=1\n")}}
	offset, epoch := int64(rng.IntN(3)*50), int32(rng.IntN(4)-1)
	entries := ""
	for range 1 + rng.IntN(3) {
		base := offset
		if rng.IntN(8) == 0 {
			base += 3 // the batches begin below the segment
		}
		var log, index, times []byte
		for range rng.IntN(30) {
			switch rng.IntN(25) {
			case 0:
				epoch += int32(rng.IntN(3))
				entries += fmt.Sprintf("%d %d\n", epoch, offset)
			case 1:
				offset += int64(rng.IntN(5))
			case 2:
				log = append(log, logtest.Message{Magic: int8(rng.IntN(2)), Offset: offset, Value: []byte("old")}.Encode()...)
				offset++
				continue
			}
			b := logtest.Batch{BaseOffset: offset, Epoch: epoch, Records: logtest.Values("a", "b", "c")[:1+rng.IntN(3)], Codec: logtest.Codec(rng.IntN(40) % 5)}
			if rng.IntN(12) == 0 {
				b.LastDelta = 5
			}
			for k := range b.Records {
				b.Records[k].Timestamp = logtest.T0 + offset + rng.Int64N(4)
			}
			if rng.IntN(3) == 0 { // entries as a broker writes them, or a little off
				off := func() uint32 { return uint32(max(rng.IntN(20)-18, 0) * (rng.IntN(5) - 2)) }
				latest := b.Records[0].Timestamp
				for _, r := range b.Records {
					latest = max(latest, r.Timestamp)
				}
				last := uint32(b.NextOffset() - 1 - base)
				index = binary.BigEndian.AppendUint32(index, last+off())
				index = binary.BigEndian.AppendUint32(index, uint32(len(log))+off())
				times = binary.BigEndian.AppendUint64(times, uint64(latest)+uint64(off()))
				times = binary.BigEndian.AppendUint32(times, last+off())
			}
			log = append(log, b.Encode()...)
			offset = b.NextOffset()
		}
		for range rng.IntN(4) {
			log = damage(rng, log)
		}
		name := "t-0/" + logtest.LogName(base)
		tree[name] = &fstest.MapFile{Data: log}
		tree[strings.Replace(name, ".log", ".index", 1)] = &fstest.MapFile{Data: index}
		tree[strings.Replace(name, ".log", ".timeindex", 1)] = &fstest.MapFile{Data: times}
	}
	if rng.IntN(2) == 0 {
		tree["t-0/leader-epoch-checkpoint"] = &fstest.MapFile{Data: fmt.Appendf(nil, "0\n%d\n%s", bytes.Count([]byte(entries), []byte("\n")), entries)}
	}
	if rng.IntN(2) == 0 {
		tree[".kafka_cleanshutdown"] = &fstest.MapFile{}
	}
	return tree
}

func damage(rng *rand.Rand, log []byte) []byte {
	if len(log) == 0 {
		return log
	}
	at := rng.IntN(len(log))
	end := min(at+rng.IntN(200), len(log))
	switch rng.IntN(6) {
	case 0:
		return log[:at]
	case 1:
		return append(log, make([]byte, rng.IntN(300))...)
	case 2:
		clear(log[at:end])
		return log
	case 3:
		return append(bytes.Clone(log[:at]), log[end:]...)
	case 4:
		return append(bytes.Clone(log[:end]), log[at:]...)
	}
	log[at] ^= 1 << rng.IntN(8)
	return log
}
