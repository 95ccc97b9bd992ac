package conformance

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kafsck/checkpoint"
	"kafsck/epoch"
	"kafsck/internal/logtest"
	"kafsck/repair"
)

// madeBatch is one batch of a random log.
type madeBatch struct {
	base, records int64
	epoch         int32
	segment       int64 // base offset
}

// madeLog is a random log with the epoch entries that its broker kept all along.
type madeLog struct {
	batches  []madeBatch
	entries  []epoch.Entry // by the model: never put through package epoch
	history  []epoch.Entry // the same, but never cut at a log start
	stale    bool          // the broker was killed before it wrote the cut file: history is on disk
	segments []int64
	start    int64 // log start offset
	line     bool  // log-start-offset-checkpoint has it
	end      int64
	cleaned  bool // the cleaner removed batches
}

// makeLog plays a life of a partition: elections, some without a write, segments,
// retention, DeleteRecords, truncation, and for some the cleaner.
func makeLog(random *rand.Rand, compacted bool) *madeLog {
	l := &madeLog{segments: []int64{0}}
	e := random.Int32N(3)
	l.elect(e)
	for range 3 + random.IntN(25) {
		switch n := random.IntN(20); {
		case n < 10:
			for range 1 + random.IntN(3) {
				l.append(e, 1+random.Int64N(9))
			}
		case n < 15:
			e += 1 + random.Int32N(3)
			if random.IntN(3) > 0 {
				l.elect(e) // as leader: the entry stands before the first write
			}
			if random.IntN(4) > 0 {
				l.append(e, 1+random.Int64N(9))
			}
		case n < 17:
			if l.end > l.segments[len(l.segments)-1] {
				l.segments = append(l.segments, l.end)
			}
		case n < 18 && !compacted && len(l.segments) > 1: // retention
			l.moveStart(l.segments[1])
			l.line = false
			l.dropSegments()
		case n < 19 && !compacted && l.end > l.start: // DeleteRecords
			to := l.start + 1 + random.Int64N(l.end-l.start)
			if random.IntN(3) == 0 {
				to = l.end
			}
			l.moveStart(to)
			l.line = true
			l.dropSegments()
			l.line = l.start > l.segments[0]
		case n < 20 && len(l.batches) > 1: // truncated as a follower of another line
			cut := l.batches[1+random.IntN(len(l.batches)-1)]
			if cut.base > l.start && cut.base >= l.segments[0] {
				l.truncate(cut.base)
			}
		}
	}
	switch n := random.IntN(12); {
	case compacted || l.end == l.start:
	case n == 0: // all records deleted
		l.moveStart(l.end)
		l.dropSegments()
		l.line = l.start > l.segments[0]
	case n == 1: // and the segments too
		l.moveStart(l.end)
		l.segments, l.batches = []int64{l.end}, nil
		l.line = random.IntN(2) > 0
	}
	l.stale = l.line && random.IntN(2) > 0
	if compacted {
		l.append(e+1, 3)
		l.segments = append(l.segments, l.end)
		l.append(e+1, 3)
	}
	return l
}

func (l *madeLog) last() int32 {
	if n := len(l.entries); n > 0 {
		return l.entries[n-1].Epoch
	}
	return -1
}

func (l *madeLog) elect(e int32) {
	for _, list := range []*[]epoch.Entry{&l.entries, &l.history} {
		for n := len(*list); n > 0 && (*list)[n-1].StartOffset >= l.end; n-- {
			*list = (*list)[:n-1] // an epoch that wrote nothing
		}
		*list = append(*list, epoch.Entry{Epoch: e, StartOffset: l.end})
	}
}

func (l *madeLog) append(e int32, records int64) {
	if l.last() < e {
		l.elect(e)
	}
	l.batches = append(l.batches, madeBatch{l.end, records, e, l.segments[len(l.segments)-1]})
	l.end += records
}

// moveStart raises the log start: the epoch that holds it begins there now.
func (l *madeLog) moveStart(to int64) {
	l.start = to
	for len(l.entries) > 1 && l.entries[1].StartOffset <= to {
		l.entries = l.entries[1:]
	}
	if len(l.entries) > 0 && l.entries[0].StartOffset < to {
		l.entries[0].StartOffset = to
	}
}

// dropSegments deletes those wholly below the log start.
func (l *madeLog) dropSegments() {
	for len(l.segments) > 1 && l.segments[1] <= l.start {
		l.segments = l.segments[1:]
	}
	l.batches = slices.DeleteFunc(l.batches, func(b madeBatch) bool { return b.segment < l.segments[0] })
}

func (l *madeLog) truncate(to int64) {
	l.batches = slices.DeleteFunc(l.batches, func(b madeBatch) bool { return b.base >= to })
	l.entries = slices.DeleteFunc(l.entries, func(e epoch.Entry) bool { return e.StartOffset >= to })
	l.history = slices.DeleteFunc(l.history, func(e epoch.Entry) bool { return e.StartOffset >= to })
	l.segments = slices.DeleteFunc(l.segments, func(s int64) bool { return s > to })
	l.end = to
}

// clean removes batches outside the active segment, as the cleaner does.
func (l *madeLog) clean(random *rand.Rand) *madeLog {
	c := *l
	c.batches = slices.DeleteFunc(slices.Clone(l.batches), func(b madeBatch) bool {
		return b.segment != l.segments[len(l.segments)-1] && random.IntN(3) > 0
	})
	c.cleaned = true
	return &c
}

// disk is the undamaged file.
func (l *madeLog) disk() []epoch.Entry {
	if l.stale {
		return l.history
	}
	return l.entries
}

// model is what a broker holds after a start with the undamaged file: cut at the
// log end, then at the log start if a line has it.
func (l *madeLog) model() epoch.Cache {
	c := slices.DeleteFunc(slices.Clone(l.disk()), func(e epoch.Entry) bool { return e.StartOffset >= l.end })
	for l.line && len(c) > 1 && c[1].StartOffset <= l.start {
		c = c[1:]
	}
	if l.line && len(c) > 0 && c[0].StartOffset < l.start {
		c[0].StartOffset = l.start
	}
	return c
}

// unforgotten is what a broker held before it stopped, where it forgets that at the
// start: the epoch of the last batch, in a log that starts at its end. The batches
// still tell it. Nil elsewhere.
func (l *madeLog) unforgotten() epoch.Cache {
	if !l.line || l.stale || l.start < l.end || len(l.batches) == 0 {
		return nil
	}
	return epoch.Cache{{Epoch: l.batches[len(l.batches)-1].epoch, StartOffset: l.end}}
}

// text writes the log in the language of package logtest.
func (l *madeLog) text(name string, id int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "topic %s-0 id=AAAAAAAAAAAAAAAA%04dAA ; segment %d\n", name, id, l.segments[0])
	for i, s := range l.segments {
		if i > 0 {
			fmt.Fprintf(&b, "segment %d\n", s)
		}
		for _, x := range l.batches {
			if x.segment == s {
				fmt.Fprintf(&b, "batch base=%d records=%d epoch=%d\n", x.base, x.records, x.epoch)
			}
		}
	}
	b.WriteString("epochs")
	for _, e := range l.disk() {
		fmt.Fprintf(&b, " %d:%d", e.Epoch, e.StartOffset)
	}
	fmt.Fprintf(&b, "\nrecovery %d ; hw %d\n", l.end, l.end)
	if l.line {
		fmt.Fprintf(&b, "logstart %d\n", l.start)
	}
	return b.String()
}

// spoil makes the bytes of a damaged epoch file, nil to remove it.
func (l *madeLog) spoil(random *rand.Rand) []byte {
	e := slices.Clone(l.disk())
	if len(l.batches) == 0 && len(e) > 0 && l.end > 0 {
		return checkpoint.FormatEpochs(e) // nothing else could tell
	}
	n := random.IntN(7)
	if l.cleaned || len(l.batches) == 0 {
		n %= 4 // a wrong entry in a stretch without batches could not be told from a right one
	}
	switch n {
	case 0:
		return nil
	case 1:
		return make([]byte, 40)
	case 2:
		return []byte{}
	case 3:
		e = slices.Delete(e, 0, random.IntN(len(e)+1))
	case 4:
		random.Shuffle(len(e), func(i, j int) { e[i], e[j] = e[j], e[i] })
	case 5:
		for i := 1; i < len(e); i++ { // a head moved into a batch is what an unrecorded log start looks like
			e[i].StartOffset += random.Int64N(4)
		}
	case 6:
		at := random.IntN(len(e) + 1)
		e = slices.Insert(e, at, epoch.Entry{Epoch: random.Int32N(30), StartOffset: l.batches[0].base + random.Int64N(l.end+2-l.batches[0].base)})
	}
	return checkpoint.FormatEpochs(e)
}

// withIndexes lays an empty offset index beside each segment, so that a clean start
// recovers none: that would add epochs to a damaged file.
func withIndexes(t *testing.T, dir string) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "*", "*.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range logs {
		if err := os.WriteFile(strings.TrimSuffix(l, ".log")+".index", nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRepairedRandomLogs damages the epoch files of 1,000 random logs in every way,
// regenerates them, some beside a sibling that was cleaned at other times, and has
// Kafka load both: it holds the epochs of the undamaged log for each, and those of
// the model.
func TestRepairedRandomLogs(t *testing.T) {
	const logs, perDir = 1000, 100
	random := rand.New(rand.NewPCG(2024, 4))
	made := map[string]*madeLog{}
	var own, other [logs / perDir]strings.Builder
	for i := range logs {
		name := fmt.Sprintf("r%d", i)
		compacted := i%3 == 0
		l := makeLog(random, compacted)
		sibling := l
		if compacted {
			sibling, l = l.clean(random), l.clean(random)
		} else if len(l.batches) > 2 && i%3 == 1 {
			behind := *l // has not fetched everything
			behind.entries, behind.history = slices.Clone(l.entries), slices.Clone(l.history)
			behind.batches = slices.Clone(l.batches)
			behind.segments = slices.Clone(l.segments)
			if cut := l.batches[len(l.batches)-1].base; cut > l.start {
				behind.truncate(cut)
			}
			sibling = &behind
		}
		made[name+"-0"] = l
		own[i/perDir].WriteString(l.text(name, i))
		other[i/perDir].WriteString(sibling.text(name, i))
	}
	var dirs []string              // as made, then repaired
	var repaired, spoiled []string // spoiled: of some, without the files that Kafka refuses
	plans, same := map[string]*repair.EpochPlan{}, map[string]bool{}
	for i := range own {
		const broker = "broker %d clusterid=AAAAAAAAAAAAAAAAAAAAAg\n"
		root := logtest.Dir(t, fmt.Sprintf(broker, 1)+own[i].String()+fmt.Sprintf(broker, 2)+other[i].String())
		dir := filepath.Join(root, "broker-1")
		withIndexes(t, dir)
		as := filepath.Join(t.TempDir(), "broker-1")
		copyTree(t, dir, as, everything)
		dirs = append(dirs, as)
		partitions, err := filepath.Glob(filepath.Join(dir, "*-0"))
		if err != nil || len(partitions) != perDir {
			t.Fatal(len(partitions), err)
		}
		for _, p := range partitions {
			path := filepath.Join(p, epochsName)
			if b := made[filepath.Base(p)].spoil(random); b == nil {
				err = os.Remove(path)
			} else {
				err = os.WriteFile(path, b, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if i%3 == 0 {
			as := filepath.Join(t.TempDir(), "broker-1")
			copyTree(t, dir, as, everything)
			spoiled = append(spoiled, as)
		}
		for host, p := range planAll(t, repair.EpochOptions{}, root) {
			if filepath.Dir(host) == dir {
				plans[filepath.Base(host)] = p.plan
				if err := os.WriteFile(filepath.Join(host, epochsName), p.plan.Text(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
		// With the same bytes beside the same log there is nothing left to compare.
		for _, p := range partitions {
			name := filepath.Base(p)
			if bytes.Equal(plans[name].Text(), checkpoint.FormatEpochs(made[name].disk())) {
				same[name] = true
				if i%3 == 0 {
					continue // has to be loaded for the comparison with the damaged file
				}
				if err := os.RemoveAll(p); err != nil {
					t.Fatal(err)
				}
			}
		}
		repaired = append(repaired, dir)
	}
	for name, p := range plans {
		l := made[name]
		held := p.Cache().TruncateFromEnd(l.end)
		if l.line {
			held = held.TruncateFromStart(l.start)
		}
		if slices.Equal(held, l.unforgotten()) {
			continue
		}
		if got, want := fmt.Sprint(ofCache(held)), fmt.Sprint(ofCache(l.model())); got != want {
			t.Errorf("%s: %s, the model says %s\nold file %+v\nnew %v\nrefused %v\nlog %+v", name, got, want, p.Old, p.Entries, p.Refused, l)
		}
	}
	if t.Failed() {
		return
	}
	for _, dir := range spoiled {
		for name, p := range plans {
			if p.Old.Malformed != nil {
				if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	answers := loadCaches(t, slices.Concat(dirs, repaired, spoiled), func(string) bool { return false })
	equal, better, atEnd, verdicts := 0, 0, 0, 0
	for i := range dirs {
		was, is := answers[i], answers[len(dirs)+i]
		for _, name := range slices.Sorted(maps.Keys(was.clean)) {
			want := fmt.Sprint(ofCache(made[name].model()))
			if got := fmt.Sprint(was.clean[name]); got != want {
				t.Errorf("%s: the model says %s, Kafka holds %s", name, want, got)
			}
			if l := made[name]; l.line && l.start == l.end {
				atEnd++
			}
			if more := fmt.Sprint(ofCache(made[name].unforgotten())); !same[name] && want != more && fmt.Sprint(is.clean[name], is.killed[name]) == more+" "+more {
				better++
				continue
			}
			if got, wanted := fmt.Sprint(is.clean[name], is.killed[name]), fmt.Sprint(was.clean[name], was.killed[name]); got != wanted && !same[name] {
				t.Errorf("%s: Kafka holds %s, undamaged %s", name, got, wanted)
				continue
			}
			equal++
		}
	}
	for i := range spoiled {
		was, is := answers[len(dirs)+len(repaired)+i], answers[len(dirs)+3*i]
		for name := range was.clean {
			old, fresh := fmt.Sprint(was.clean[name]), fmt.Sprint(is.clean[name])
			if p := plans[name]; p.Changed != (old != fresh) {
				t.Errorf("%s: changed %t; Kafka holds %s with the old file, %s with the new one", name, p.Changed, old, fresh)
			}
			verdicts++
		}
	}
	if equal+better != logs {
		t.Errorf("%d and %d of %d logs", equal, better, logs)
	}
	t.Logf("%d logs start at their end; for %d the batches tell Kafka an epoch that it forgets by itself; %d verdicts compared", atEnd, better, verdicts)
	t.Logf("%d logs; for %d of them the regenerated file is the undamaged one, byte for byte", equal, len(same))
}
