package replica

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"testing"
	"testing/fstest"

	"kafsck/internal/fixture"
	"kafsck/internal/logtest"
	"kafsck/internal/rofs"
	"kafsck/logdir"
)

// facts reads a log, with or without the short way for batches in line, and returns all
// that it found, and the blocks.
func facts(t *testing.T, src Source, opt Options, careful, first, last bool) (*Log, []Block) {
	t.Helper()
	l := &Log{Source: src, dense: true, opt: opt, careful: careful, firstEpochSuspect: first, lastEpochSuspect: last}
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
	for _, doubt := range [][2]bool{{}, {true, false}, {false, true}} {
		opt := Options{Files: true, Records: true}
		short, shortBlocks := facts(t, src, opt, false, doubt[0], doubt[1])
		long, longBlocks := facts(t, src, opt, true, doubt[0], doubt[1])
		long.careful = false
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
				sameBothWays(t, name+"/"+stage+"/"+s, src)
				n++
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
		logs = 150
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
		var log []byte
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
			log = append(log, b.Encode()...)
			offset = b.NextOffset()
		}
		for range rng.IntN(4) {
			log = damage(rng, log)
		}
		tree["t-0/"+logtest.LogName(base)] = &fstest.MapFile{Data: log}
	}
	if rng.IntN(2) == 0 {
		tree["t-0/leader-epoch-checkpoint"] = &fstest.MapFile{Data: fmt.Appendf(nil, "0\n%d\n%s", bytes.Count([]byte(entries), []byte("\n")), entries)}
	}
	return maps.Clone(tree)
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
