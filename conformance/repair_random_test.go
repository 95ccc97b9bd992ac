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
			l.moveStart(l.start + 1 + random.Int64N(l.end-l.start))
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
	for n := len(l.entries); n > 0 && l.entries[n-1].StartOffset >= l.end; n-- {
		l.entries = l.entries[:n-1] // an epoch that wrote nothing
	}
	l.entries = append(l.entries, epoch.Entry{Epoch: e, StartOffset: l.end})
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

// model is what a broker holds after a start.
func (l *madeLog) model() epoch.Cache {
	return slices.DeleteFunc(slices.Clone(l.entries), func(e epoch.Entry) bool { return e.StartOffset >= l.end })
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
	for _, e := range l.entries {
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
	e := slices.Clone(l.entries)
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
		e = slices.Insert(e, at, epoch.Entry{Epoch: random.Int32N(30), StartOffset: random.Int64N(l.end + 2)})
	}
	return checkpoint.FormatEpochs(e)
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
			behind.entries = slices.Clone(l.entries)
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
	var dirs []string // as made, then repaired
	var repaired []string
	plans, same := map[string]*repair.EpochPlan{}, map[string]bool{}
	for i := range own {
		const broker = "broker %d clusterid=AAAAAAAAAAAAAAAAAAAAAg\n"
		root := logtest.Dir(t, fmt.Sprintf(broker, 1)+own[i].String()+fmt.Sprintf(broker, 2)+other[i].String())
		dir := filepath.Join(root, "broker-1")
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
			if bytes.Equal(plans[name].Text(), checkpoint.FormatEpochs(made[name].entries)) {
				same[name] = true
				if err := os.RemoveAll(p); err != nil {
					t.Fatal(err)
				}
			}
		}
		repaired = append(repaired, dir)
	}
	for name, p := range plans {
		l := made[name]
		if got, want := fmt.Sprint(ofCache(p.Cache().TruncateFromEnd(l.end))), fmt.Sprint(ofCache(l.model())); got != want {
			t.Errorf("%s: %s, the model says %s\nold file %+v\nnew %v\nrefused %v\nlog %+v", name, got, want, p.Old, p.Entries, p.Refused, l)
		}
	}
	if t.Failed() {
		return
	}
	answers := loadCaches(t, append(dirs, repaired...), func(string) bool { return false })
	equal := 0
	for i := range dirs {
		was, is := answers[i], answers[len(dirs)+i]
		for _, name := range slices.Sorted(maps.Keys(was.clean)) {
			want := fmt.Sprint(ofCache(made[name].model()))
			if got := fmt.Sprint(was.clean[name]); got != want {
				t.Errorf("%s: the model says %s, Kafka holds %s", name, want, got)
			}
			if got, wanted := fmt.Sprint(is.clean[name], is.killed[name]), fmt.Sprint(was.clean[name], was.killed[name]); got != wanted && !same[name] {
				t.Errorf("%s: Kafka holds %s, undamaged %s", name, got, wanted)
				continue
			}
			equal++
		}
	}
	if equal != logs {
		t.Errorf("%d of %d logs", equal, logs)
	}
	t.Logf("%d logs; for %d of them the regenerated file is the undamaged one, byte for byte", equal, len(same))
}
