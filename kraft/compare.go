package kraft

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kafsck/batch"
)

// SnapshotDifference says that a snapshot does not hold what the log tells up to its end.
type SnapshotDifference struct {
	Name      string
	EndOffset int64 // exclusive
	Count     int   // topics, partitions, configurations, brokers and features that differ
	Examples  []string
}

// maxSnapshotExamples bounds SnapshotDifference.Examples.
const maxSnapshotExamples = 4

// CompareSnapshots replays one copy of the metadata log and compares its state with every snapshot
// that ends where the state is certain: those behind the one that the replay begins with.
//
//	snapshot 534 | log 523 … 613              the replay begins at 534
//	                  snapshot 611            compared with the state before offset 611
//
// What a snapshot says of topics, partitions, configurations, brokers and feature levels is compared;
// other records are not. The error is a failed read and says nothing about the bytes.
func CompareSnapshots(in Input) ([]SnapshotDifference, error) {
	l := &Log{StartOffset: -1, EndOffset: -1, RaftEpoch: -1, EndTimeMs: -1, SnapshotEnd: -1, OpenTransaction: -1}
	rd := &reader{
		log: l, replayer: newReplayer(l), decompressor: batch.NewDecompressor(batch.DefaultLimit),
		next: -1, epoch: -1, suspect: -1,
	}
	segments := l.segments(in.Logs)
	if err := rd.verifyAll(l.snapshots(in.Snapshots)); err != nil {
		return nil, err
	}
	var out []SnapshotDifference
	rd.compare = func(f snapshotFile) error {
		state := newReplayer(&Log{})
		sound, err := rd.fill(f, state)
		if err != nil || !sound {
			return err
		}
		d := SnapshotDifference{Name: f.info.Name, EndOffset: f.info.EndOffset}
		rd.replayer.differ(state, func(format string, args ...any) {
			if d.Count++; len(d.Examples) < maxSnapshotExamples {
				d.Examples = append(d.Examples, fmt.Sprintf(format, args...))
			}
		})
		if d.Count > 0 {
			out = append(out, d)
		}
		return nil
	}
	for i := range segments {
		if err := rd.segment(&segments[i], i+1 == len(segments)); err != nil {
			return nil, err
		}
	}
	return out, rd.finish(segments)
}

// fill makes the state of an empty replayer that of a complete snapshot.
func (rd *reader) fill(f snapshotFile, state *replayer) (sound bool, err error) {
	at := origin{f.info.EndOffset - 1, f.info.TimeMs, f.info.Epoch, true}
	sound = true
	err = rd.walkSnapshot(f, func(Damage) { sound = false }, func(v *batch.View, rec batch.Record) {
		if !v.Attributes.Control() && state.record(at, rec.Value) != nil {
			sound = false
		}
	})
	return sound, err
}

// differ tells how the state of a replay and that of a snapshot differ.
func (p *replayer) differ(snapshot *replayer, tell func(format string, args ...any)) {
	s := snapshot.log
	for _, t := range p.sortedTopics() {
		if o := s.Topics[t.ID]; t.RemovedAt < 0 && (o == nil || o.Name != t.Name) {
			tell("topic %q (%s) is in the log and not in the snapshot", t.Name, t.ID)
		}
	}
	for _, t := range snapshot.sortedTopics() {
		if o := p.log.Topics[t.ID]; o == nil || o.RemovedAt >= 0 {
			tell("topic %q (%s) is in the snapshot and not in the log", t.Name, t.ID)
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(s.Partitions), PartitionID.compare) {
		t := p.log.Topics[id.Topic]
		if t == nil || t.RemovedAt >= 0 {
			continue // told with the topic
		}
		in := snapshot.states[id].last()
		mine := p.states[id]
		switch {
		case mine == nil || mine.last() == nil:
			tell("%s-%d is in the snapshot and not in the log", t.Name, id.Partition)
		case mine.doubt == p.doubt && !mine.last().sameState(in):
			tell("%s-%d: %s", t.Name, id.Partition, mine.last().unlike(in))
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(p.states), PartitionID.compare) {
		if t := p.log.Topics[id.Topic]; t != nil && t.RemovedAt < 0 && s.Topics[id.Topic] != nil && snapshot.states[id] == nil {
			tell("%s-%d is in the log and not in the snapshot", t.Name, id.Partition)
		}
	}
	p.differInConfigs(snapshot, tell)
	for _, id := range slices.Sorted(maps.Keys(s.Brokers)) {
		if b := p.log.Brokers[id]; b == nil || !b.Events[len(b.Events)-1].sameState(s.Brokers[id].Events[len(s.Brokers[id].Events)-1]) {
			tell("the registration of broker %d differs", id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(p.log.Brokers)) {
		if e := p.log.Brokers[id].Events; e[len(e)-1].Kind != Unregistered && s.Brokers[id] == nil {
			tell("broker %d is registered by the log and not by the snapshot", id)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.log.Features)) {
		if a, b := level(p.log, name), level(s, name); a != b {
			tell("feature %s has level %d by the log, %d by the snapshot", name, a, b)
		}
	}
}

func (p *replayer) differInConfigs(snapshot *replayer, tell func(format string, args ...any)) {
	keys := maps.Clone(p.log.configs)
	maps.Copy(keys, snapshot.log.configs)
	for _, k := range slices.SortedFunc(maps.Keys(keys), configKey.compare) {
		a, inLog := p.current(k)
		b, inSnapshot := snapshot.current(k)
		if a != b || inLog != inSnapshot {
			tell("configuration %s of %q differs", k.name, k.resourceName)
		}
	}
}

// level is the current level of a feature, 0 without it.
func level(l *Log, name string) int16 {
	c := l.Features[name]
	if len(c) == 0 {
		return 0
	}
	return c[len(c)-1].Level
}

// unlike names the fields in which two states of a partition differ, the log's value first.
func (c *Change) unlike(o *Change) string {
	var out []string
	field := func(name string, a, b any) {
		if x, y := fmt.Sprint(a), fmt.Sprint(b); x != y {
			plain := strings.NewReplacer("[", "", "]", "", " ", ",")
			out = append(out, fmt.Sprintf("%s %s by the log, %s by the snapshot", name, cmp.Or(plain.Replace(x), "none"), cmp.Or(plain.Replace(y), "none")))
		}
	}
	field("leader", c.Leader, o.Leader)
	field("leader epoch", c.LeaderEpoch, o.LeaderEpoch)
	field("partition epoch", c.PartitionEpoch, o.PartitionEpoch)
	field("recovering", c.Recovering, o.Recovering)
	field("replicas", c.Replicas, o.Replicas)
	field("ISR", c.ISR, o.ISR)
	field("ELR", c.ELR, o.ELR)
	field("last known ELR", c.LastKnownELR, o.LastKnownELR)
	field("removing", c.Removing, o.Removing)
	field("adding", c.Adding, o.Adding)
	field("directories", c.Directories, o.Directories)
	return strings.Join(out, "; ")
}

// VerifySnapshot reads a file that is framed like a snapshot, such as bootstrap.checkpoint, and
// returns what is not sound in it. The error is a failed read.
func VerifySnapshot(f File) ([]Damage, error) {
	l := &Log{}
	rd := &reader{log: l, replayer: newReplayer(l), decompressor: batch.NewDecompressor(batch.DefaultLimit)}
	s := snapshotFile{f, &Snapshot{Name: f.Name, TimeMs: -1}, 0}
	if err := rd.verify(s); err != nil {
		return nil, err
	}
	if len(l.Damaged) == 0 {
		sound, err := rd.fill(s, rd.replayer)
		if err != nil {
			return nil, err
		}
		if !sound && len(l.Damaged) == 0 {
			l.damage(Damage{f.Name, -1, -1, "a record in it cannot be read"})
		}
	}
	return l.Damaged, nil
}
