package diff_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/fstest"

	"kafsck/diff"
	"kafsck/internal/logtest"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/replica"
)

// The generator makes replica sets the way a cluster does: one leader an epoch,
// followers that copy its batches and cut what it does not have, elections that
// throw lines away. The comparer beside it knows nothing of blocks or windows: it
// walks offsets and compares epoch and SHA-256 of every record.

type stamped struct {
	logtest.Batch
	raw []byte
}

type model struct {
	batches []stamped
	start   int64 // after retention
	cuts    map[int]bool
}

func (m *model) end() int64 {
	if len(m.batches) == 0 {
		return 0
	}
	return m.batches[len(m.batches)-1].NextOffset()
}

// common returns how many batches two logs share from the start.
func common(a, b *model) int {
	n := 0
	for n < len(a.batches) && n < len(b.batches) && bytes.Equal(a.batches[n].raw, b.batches[n].raw) {
		n++
	}
	return n
}

func randomReplicas(r *rand.Rand) []*model {
	replicas := make([]*model, 2+r.IntN(3))
	for i := range replicas {
		replicas[i] = &model{cuts: map[int]bool{}}
	}
	epoch, clock := int32(0), int64(1_700_000_000_000)
	for range 1 + r.IntN(8) {
		leader := replicas[r.IntN(len(replicas))]
		for range r.IntN(6) {
			b := logtest.Batch{BaseOffset: leader.end(), Epoch: epoch, Codec: logtest.Codec(r.IntN(5))}
			if r.IntN(3) == 0 {
				b.Producer = &logtest.Producer{ID: int64(r.IntN(3)), Sequence: int32(r.IntN(100))}
			}
			for range 1 + r.IntN(20) {
				clock++
				value := make([]byte, r.IntN(40))
				for i := range value {
					value[i] = byte(r.IntN(4))
				}
				b.Records = append(b.Records, logtest.Record{Timestamp: clock, Value: value})
			}
			leader.batches = append(leader.batches, stamped{b, b.Encode()})
		}
		for _, f := range replicas {
			if f == leader || r.IntN(3) == 0 { // down
				continue
			}
			n := common(f, leader)
			upTo := n + r.IntN(len(leader.batches)-n+1) // lag
			f.batches = append(f.batches[:n:n], leader.batches[n:upTo]...)
		}
		epoch += 1 + int32(r.IntN(3))
	}
	for _, m := range replicas {
		for i := range m.batches {
			m.cuts[i] = r.IntN(5) == 0
		}
		m.cuts[0] = true
		if r.IntN(3) == 0 { // retention removes whole segments
			for i := range m.batches {
				if m.cuts[i] && r.IntN(3) == 0 {
					m.start = m.batches[i].BaseOffset
				}
			}
		}
	}
	return replicas
}

// files writes the replicas as broker directories.
func files(replicas []*model) fstest.MapFS {
	out := fstest.MapFS{}
	put := func(name string, data []byte) { out[name] = &fstest.MapFile{Data: data, Mode: 0o644} }
	for i, m := range replicas {
		dir := fmt.Sprintf("broker-%d", i+1)
		put(dir+"/meta.properties", fmt.Appendf(nil, "version=1\nnode.id=%d\ncluster.id=forks\n", i+1))
		var log []byte
		base := int64(0)
		flush := func() {
			put(fmt.Sprintf("%s/t-0/%020d.log", dir, base), log)
			log = nil
		}
		lines, last := "", int32(-1)
		count := 0
		started := false
		for k, b := range m.batches {
			if b.BaseOffset < m.start {
				if b.Epoch != last {
					last = b.Epoch
				}
				continue
			}
			if !started {
				base, started = b.BaseOffset, true
				lines, count, last = fmt.Sprintf("%d %d\n", b.Epoch, b.BaseOffset), 1, b.Epoch
			} else if m.cuts[k] {
				flush()
				base = b.BaseOffset
			}
			if b.Epoch != last {
				lines += fmt.Sprintf("%d %d\n", b.Epoch, b.BaseOffset)
				count++
				last = b.Epoch
			}
			log = append(log, b.raw...)
		}
		flush()
		put(dir+"/t-0/leader-epoch-checkpoint", fmt.Appendf(nil, "0\n%d\n%s", count, lines))
	}
	return out
}

type record struct {
	epoch int32
	hash  [32]byte
}

// byOffset lists what a log holds, from the model alone.
func byOffset(m *model, from int64) map[int64]record {
	out := map[int64]record{}
	for _, b := range m.batches {
		for i, r := range b.Records {
			if o := b.BaseOffset + int64(i); o >= from {
				out[o] = record{b.Epoch, sha256.Sum256(fmt.Appendf(nil, "%d/%q/%q", r.Timestamp, r.Key, r.Value))}
			}
		}
	}
	return out
}

func epochAt(m *model, offset int64) int32 {
	for _, b := range m.batches {
		if b.NextOffset() > offset {
			return b.Epoch
		}
	}
	return -1
}

// bruteForce compares two models offset by offset.
func bruteForce(a, b *model) string {
	low, high := min(a.end(), b.end()), max(a.end(), b.end())
	from := max(a.start, b.start)
	x, y := byOffset(a, 0), byOffset(b, 0)
	fork := int64(-1)
	for o := int64(0); o < low; o++ {
		if x[o] != y[o] {
			fork = o
			break
		}
	}
	if from >= low && fork >= 0 && low < high {
		// No common offset: retention took the place where they part. What is left shows
		// a fork only if the log that goes on higher does so in an older epoch.
		first, second := a, b
		if b.end() < a.end() {
			first, second = b, a
		}
		if epochAt(second, second.start) >= first.batches[len(first.batches)-1].Epoch {
			fork = -1
		}
	}
	switch {
	case fork >= 0:
		return fmt.Sprintf("epoch-fork [%d,%d)", max(fork, from), high)
	case low < high:
		return fmt.Sprintf("behind [%d,%d)", low, high)
	}
	return ""
}

func TestRandomForks(t *testing.T) {
	forks, behind, apart := 0, 0, 0
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 279))
		replicas := randomReplicas(r)
		c, err := logdir.DiscoverFS(rofs.FromFS(files(replicas)), "forks", logdir.Options{})
		if err != nil {
			t.Fatal(err)
		}
		logs := map[int32]*replica.Log{}
		for p := range c.AllPartitions() {
			sources, err := replica.View(p)
			if err != nil {
				t.Fatal(err)
			}
			l, err := replica.Read(context.Background(), sources[0], replica.Options{})
			if err != nil {
				t.Fatal(err)
			}
			logs[p.LogDir.Broker.ID] = l
			if n := len(l.Anomalies.Kept); n > 0 {
				t.Fatalf("seed %d: a sound log has %d anomalies: %+v", seed, n, l.Anomalies.Kept[0])
			}
		}
		for i, a := range replicas {
			for k, b := range replicas[i+1:] {
				x, y := logs[int32(i+1)], logs[int32(i+1+k+1)]
				ds, err := diff.Pair(diff.LogContent{Log: x}, diff.LogContent{Log: y}, diff.Options{Ruler: -1})
				if err != nil {
					t.Fatal(err)
				}
				got := ""
				for _, d := range ds {
					got += fmt.Sprintf("%s [%d,%d)", d.Kind, d.From, d.To)
				}
				want := bruteForce(a, b)
				if got != want {
					t.Fatalf("seed %d, brokers %d [%d,%d) and %d [%d,%d): got %q, want %q", seed, i+1, a.start, a.end(), i+1+k+1, b.start, b.end(), got, want)
				}
				switch {
				case want == "":
				case want[0] == 'e':
					forks++
				default:
					behind++
				}
				if max(a.start, b.start) >= min(a.end(), b.end()) {
					apart++
				}
				checkMissing(t, seed, a, b, x, y)
				checkInside(t, seed, r, a, b, x, y)
			}
		}
	}
	if forks < 100 || behind < 100 || apart < 10 {
		t.Errorf("the generator made %d forks, %d followers behind, %d pairs without common offsets: too few to prove anything", forks, behind, apart)
	}
}

// checkMissing compares what one log lacks of the other with the models.
func checkMissing(t *testing.T, seed uint64, a, b *model, x, y *replica.Log) {
	t.Helper()
	gone, err := diff.Missing(diff.LogContent{Log: x}, diff.LogContent{Log: y}, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	got := map[int64]bool{}
	for _, g := range gone {
		for o := g.From; o < g.To; o++ {
			got[o] = true
		}
	}
	have := byOffset(a, a.start)
	for o, rec := range byOffset(b, max(a.start, b.start)) {
		same := have[o].hash == rec.hash
		if same == got[o] {
			t.Fatalf("seed %d: offset %d: missing %v, want %v", seed, o, got[o], !same)
		}
		delete(got, o)
	}
	if len(got) > 0 {
		t.Fatalf("seed %d: offsets invented: %v", seed, got)
	}
}

// checkInside asks from offsets inside of batches on: what one log lacks, and in which
// parts of a span it holds the same.
func checkInside(t *testing.T, seed uint64, r *rand.Rand, a, b *model, x, y *replica.Log) {
	t.Helper()
	have, held := byOffset(a, a.start), byOffset(b, b.start)
	low := max(a.start, b.start)
	if low >= b.end() {
		return
	}
	for range 2 {
		from := low + r.Int64N(b.end()-low)
		span := replica.Span{From: from, To: from + 1 + r.Int64N(b.end()-from)}
		gone, err := diff.Missing(diff.LogContent{Log: x}, diff.LogContent{Log: y}, from, false)
		if err != nil {
			t.Fatal(err)
		}
		same, err := diff.Held(diff.LogContent{Log: y}, diff.LogContent{Log: x}, []replica.Span{span})
		if err != nil {
			t.Fatal(err)
		}
		for o := from; o < b.end(); o++ {
			equal := have[o].hash == held[o].hash
			if got := slices.ContainsFunc(gone, func(g diff.Gone) bool { return g.From <= o && o < g.To }); got == equal {
				t.Fatalf("seed %d, from %d: offset %d: missing %v, want %v", seed, from, o, got, !equal)
			}
			if got := slices.ContainsFunc(same, func(s replica.Span) bool { return s.From <= o && o < s.To }); o < span.To && got != equal {
				t.Fatalf("seed %d, span %v: offset %d: held %v, want %v", seed, span, o, got, equal)
			}
		}
	}
}
