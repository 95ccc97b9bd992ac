package incident

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"kafsck/check"
	"kafsck/checkpoint"
	"kafsck/epoch"
	"kafsck/kraft"
	"kafsck/logdir"
	"kafsck/replica"
)

// Epochs is the leader epochs of one partition, side by side.
type Epochs struct {
	Copies []CopyEpochs // one a partition directory, in the order of Partition.Copies
	Pairs  []EpochPair  // of the live replicas
	// Elections are the leader epochs that the metadata know, oldest first; nil
	// without metadata of this partition.
	Elections []Election
	// Unwritten are the epochs of Elections with a leader of which no copy holds a
	// batch, as far as that can be told: those above the oldest epoch that a copy
	// still knows, and not such that a checkpoint gives offsets to.
	Unwritten []int32
	Errors    []logdir.PathError
}

// CopyEpochs is the leader epochs of one partition directory.
type CopyEpochs struct {
	Copy      *Copy
	Ranges    []EpochRange
	Written   []epoch.Entry         // leader-epoch-checkpoint as written, nil when absent
	Malformed *checkpoint.Malformed // Kafka refuses the file; Written is the part that parses
	// Loaded is what Kafka holds after loading the file, before any recovery; nil when
	// it refuses the file.
	Loaded  epoch.Cache
	Rebuilt epoch.Cache // from batch headers, cut at the log start
	// Differences of the file from the batches, legitimate ones among them.
	Differences []epoch.Difference
	Agree       bool // all are legitimate
	// Suspects are batches whose leader epoch nothing bears out, the first of them at
	// most 256; SuspectCount counts all.
	Suspects     []SuspectEpoch
	SuspectCount int
}

// SuspectEpoch is a batch at the offsets [From, To) whose leader epoch, which no
// CRC covers, fits neither its neighbours nor any other source.
type SuspectEpoch struct {
	From, To int64
	Written  string // as the header has it
	Taken    string // what it was taken for
}

// EpochRange is the offsets of one epoch in one copy, [From, To).
type EpochRange struct {
	Epoch        int32
	From, To     int64
	InBatches    bool
	InCheckpoint bool
	InMetadata   *bool // nil: the metadata cannot tell
}

// EpochPair is how far two live replicas were written under the same leaders.
type EpochPair struct {
	A, B *Copy
	epoch.Meeting
}

// Election is one leader epoch as the cluster metadata record it.
type Election struct {
	Epoch        int32
	Leader       int32 // -1: nobody
	Offset       int64 // metadata offset
	TimeMs       int64 // the controller's clock
	Unclean      bool  // the leader was in neither ISR nor ELR
	FromSnapshot bool  // it is this old at least
}

// The kinds of difference that need more than one copy to be seen.
const (
	// SiblingFile: the file is another replica's, line for line.
	SiblingFile epoch.DifferenceKind = "sibling-file"
	// LaterStart: compaction hid the beginning of the epoch from a follower.
	LaterStart epoch.DifferenceKind = "later-start"
	// LeaderUnknown: the leader does not know its own epoch.
	LeaderUnknown epoch.DifferenceKind = "leader-epoch-missing"
)

// Epochs tells the leader epochs of a judged partition. A failed read is told in
// Errors, and the copy left out.
func (p *Partition) Epochs() *Epochs {
	out := &Epochs{}
	changes := p.Changes
	for _, c := range p.Copies {
		switch c.State {
		case replica.Live, replica.Future, replica.Stray, replica.Delete:
		default:
			continue // files that were set aside have no file of their own
		}
		if !c.readable() {
			continue // Partition.Errors tells why
		}
		e, err := p.epochsOf(c, changes)
		if err != nil {
			failed := failedRead(c.Dir, err)
			if f := c.Log.Partition.EpochsFile; f != nil && f.Err != nil && failed.Err == f.Err {
				failed.Path = f.Path
			}
			out.Errors = append(out.Errors, failed)
			continue
		}
		out.Copies = append(out.Copies, e)
	}
	for i := range changes {
		if ch := &changes[i]; ch.LeaderWritten {
			out.Elections = append(out.Elections, Election{ch.LeaderEpoch, ch.Leader, ch.Offset, ch.TimeMs, ch.Unclean, ch.FromSnapshot})
		}
	}
	out.compareCopies(p)
	out.leaderKnows(p, changes)
	out.Unwritten = out.unwritten()
	for i := range out.Copies {
		out.Copies[i].Agree = epoch.Agrees(out.Copies[i].Differences)
	}
	return out
}

func (p *Partition) epochsOf(c *Copy, changes []kraft.Change) (CopyEpochs, error) {
	l := c.Log
	out := CopyEpochs{Copy: c, Written: l.Checkpoint, Loaded: l.Loaded, Rebuilt: l.Lineage.Rebuild().TruncateFromEnd(l.LogEndOffset).TruncateFromStart(l.LogStartOffset)}
	in := epoch.Comparison{
		Batches: l.Lineage, HasLegacy: l.HasLegacy, File: l.Checkpoint, FileAbsent: l.Partition.EpochsFile == nil, Loaded: l.Loaded,
		LogStart: l.LogStartOffset, LogEnd: l.LogEndOffset, FirstBatch: -1, FirstBatchLast: -1,
		Compacted: p.Ruling.Policy == compactPolicy || l.Sparse,
		Live:      c.State == replica.Live || c.State == replica.Future,
	}
	switch f, parsed := l.Partition.EpochsFile, l.Partition.Epochs; {
	case f != nil && parsed == nil:
		if f.Err != nil {
			return out, f.Err
		}
		return out, fmt.Errorf("%s was not read", f.Name)
	case parsed != nil && parsed.Malformed != nil:
		out.Malformed, out.Loaded, in.FileMalformed = parsed.Malformed, nil, true
	}
	for _, s := range l.Segments {
		in.SegmentStarts = append(in.SegmentStarts, s.BaseOffset)
	}
	for _, a := range l.Anomalies.Kept {
		switch a.Kind {
		case replica.BadChecksum, check.UnknownMagic, replica.JunkBytes, replica.ZeroHole:
			if a.From >= 0 {
				in.Damaged = append(in.Damaged, epoch.Range{Epoch: -1, From: a.From, To: a.To})
			}
		}
	}
	for b, err := range l.Blocks(math.MinInt64, math.MaxInt64) {
		if err != nil {
			return out, err
		}
		if b.Whole() {
			in.FirstBatch, in.FirstBatchLast = b.Base, b.Last
			break
		}
	}
	out.Differences = epoch.Compare(in)
	if onlyLogs(l.Partition) {
		out.Differences = []epoch.Difference{{Kind: epoch.FileAbsent, Epoch: -1, StartOffset: -1, Legitimate: true, Reason: "only .log files are among the inputs"}}
	}
	if m := out.Malformed; m != nil {
		does := "Kafka takes the whole log directory offline when it starts (up to 3.2.0 it does not start)"
		if m.Unchecked {
			does = "Kafka does not start"
		}
		out.Differences[0].Reason = fmt.Sprintf("%s: %s", m, does)
	}
	out.Ranges = rangesOf(l, changes)
	out.SuspectCount = l.Anomalies.Counts[replica.EpochOutOfLine]
	for _, a := range l.Anomalies.Kept {
		if a.Kind == replica.EpochOutOfLine {
			out.Suspects = append(out.Suspects, SuspectEpoch{a.From, a.To, a.Got, a.Want})
		}
	}
	return out, nil
}

// onlyLogs reports whether nothing but .log files of a partition was given, by
// their own PATHs or as such a folder.
func onlyLogs(p *logdir.Partition) bool {
	if !p.LogDir.Bare || !p.LogDir.Partial {
		return false
	}
	for f := range p.AllFiles() {
		if f.Kind != logdir.KindLog {
			return false
		}
	}
	return true
}

// rangesOf joins the epochs of batches and checkpoint. An epoch that only the
// checkpoint knows lasts up to the next entry, as Kafka has it, and is empty at or
// above the log end. The last epoch in the batches lasts up to the log end.
func rangesOf(l *replica.Log, changes []kraft.Change) []EpochRange {
	out := []EpochRange{}
	inFile, inBatches := map[int32]bool{}, map[int32]bool{}
	for _, e := range l.Checkpoint {
		inFile[e.Epoch] = true
	}
	for i, r := range l.Lineage {
		if i == len(l.Lineage)-1 {
			r.To = max(r.To, l.LogEndOffset)
		}
		if r.Epoch >= 0 {
			inBatches[r.Epoch] = true
			out = append(out, EpochRange{Epoch: r.Epoch, From: r.From, To: r.To, InBatches: true, InCheckpoint: inFile[r.Epoch]})
		}
	}
	seen := map[int32]bool{}
	for i, e := range l.Checkpoint {
		if inBatches[e.Epoch] || seen[e.Epoch] {
			continue
		}
		seen[e.Epoch] = true
		to := l.LogEndOffset
		if i+1 < len(l.Checkpoint) {
			to = min(to, l.Checkpoint[i+1].StartOffset)
		}
		out = append(out, EpochRange{Epoch: e.Epoch, From: e.StartOffset, To: max(to, e.StartOffset), InCheckpoint: true})
	}
	slices.SortStableFunc(out, func(a, b EpochRange) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Epoch, b.Epoch)) })
	for i := range out {
		out[i].InMetadata = inMetadata(out[i].Epoch, changes)
	}
	return out
}

// inMetadata tells whether the controller ever assigned an epoch; nil where what
// is left of the metadata does not reach back far enough. Each epoch is one above
// the one before it, so that those between two known ones existed too.
func inMetadata(e int32, changes []kraft.Change) *bool {
	if len(changes) == 0 {
		return nil
	}
	first, last := &changes[0], &changes[len(changes)-1]
	known := true
	switch {
	case last.Uncertain:
		return nil
	case e > last.LeaderEpoch:
		known = false
	case e < first.LeaderEpoch && first.FromSnapshot:
		return nil
	case e < first.LeaderEpoch:
		known = false
	}
	return &known
}

// compareCopies adds what only the other replicas can tell.
func (e *Epochs) compareCopies(p *Partition) {
	var live []*CopyEpochs
	for i := range e.Copies {
		if c := e.Copies[i].Copy; c.State == replica.Live {
			live = append(live, &e.Copies[i])
		}
	}
	for i, a := range live {
		for _, b := range live[i+1:] {
			e.Pairs = append(e.Pairs, EpochPair{A: a.Copy, B: b.Copy, Meeting: epoch.Meet(a.Copy.Log.Lineage, b.Copy.Log.Lineage)})
		}
	}
	for _, a := range live {
		for _, b := range live {
			if a != b && a.Malformed == nil && contradicts(a.Differences) && epoch.Agrees(b.Differences) && slices.Equal(a.Written, b.Written) {
				a.Differences = append(a.Differences, epoch.Difference{Kind: SiblingFile, Epoch: -1, StartOffset: -1,
					Reason: fmt.Sprintf("the file is the same, line for line, as that of broker %s, whose log it fits: it was copied from there", b.Copy.Broker.Name)})
				break
			}
		}
	}
	if p.Ruling.Policy == compactPolicy {
		laterStarts(live)
	}
}

// contradicts reports whether batches disprove an entry of the file. Replicas in
// sync have equal files, so that an equal one alone says nothing.
func contradicts(ds []epoch.Difference) bool {
	return slices.ContainsFunc(ds, func(d epoch.Difference) bool { return d.Kind == epoch.InsideOtherEpoch })
}

// laterStarts finds epochs of a compacted topic that one replica lets start later
// than another does: it fetched them when their beginning had been cleaned away.
func laterStarts(live []*CopyEpochs) {
	type start struct {
		offset int64
		broker string
	}
	earliest := map[int32]start{}
	for _, c := range live {
		for _, x := range c.Loaded {
			if s, known := earliest[x.Epoch]; !known || x.StartOffset < s.offset {
				earliest[x.Epoch] = start{x.StartOffset, c.Copy.Broker.Name}
			}
		}
	}
	for _, c := range live {
		for _, x := range c.Loaded {
			s := earliest[x.Epoch]
			if s.offset == x.StartOffset || x.StartOffset <= c.Copy.Log.LogStartOffset || len(c.Differences) >= maxDifferences {
				continue
			}
			c.Differences = append(c.Differences, epoch.Difference{Kind: LaterStart, Epoch: x.Epoch, StartOffset: x.StartOffset, Legitimate: true,
				Reason: fmt.Sprintf("epoch %d starts at %d here and at %d on broker %s: this replica fetched it from a leader that compaction had already cleaned", x.Epoch, x.StartOffset, s.offset, s.broker)})
		}
	}
}

// maxDifferences bounds what is added here to what epoch.Compare returns.
const maxDifferences = 1000

// leaderKnows notes where the leader by the metadata does not know its own epoch.
func (e *Epochs) leaderKnows(p *Partition, changes []kraft.Change) {
	if len(changes) == 0 || p.Stale || p.Ruling.copy == nil {
		return
	}
	last := &changes[len(changes)-1]
	for i := range e.Copies {
		c := &e.Copies[i]
		if c.Copy != p.Ruling.copy || !c.Copy.Broker.Known || c.Copy.Broker.ID != last.Leader || c.Malformed != nil || c.Copy.Log.HasLegacy {
			continue
		}
		if slices.ContainsFunc(c.Written, func(x epoch.Entry) bool { return x.Epoch == last.LeaderEpoch }) || c.Copy.Log.Lineage.Has(last.LeaderEpoch) {
			continue
		}
		c.Differences = append(c.Differences, epoch.Difference{Kind: LeaderUnknown, Epoch: last.LeaderEpoch, StartOffset: c.Copy.Log.LogEndOffset, Legitimate: true,
			Want:   fmt.Sprintf("%d %d", last.LeaderEpoch, c.Copy.Log.LogEndOffset),
			Reason: fmt.Sprintf("by the metadata this broker leads in epoch %d, and its file does not know it: the disk was copied before it took over, it was restarted since, or the log moved to another disk, which loses an epoch without batches (KAFKA-15608: followers that ask for it then get OFFSET_OUT_OF_RANGE)", last.LeaderEpoch)})
	}
}

// unwritten finds the elections that left no batch.
func (e *Epochs) unwritten() []int32 {
	known := map[int32]bool{}
	oldest := int32(math.MaxInt32)
	for i := range e.Copies {
		for _, r := range e.Copies[i].Ranges {
			if r.InBatches || r.To > r.From {
				known[r.Epoch] = true
				oldest = min(oldest, r.Epoch)
			}
		}
	}
	var out []int32
	for _, x := range e.Elections {
		if x.Leader >= 0 && !known[x.Epoch] && x.Epoch > oldest && !slices.Contains(out, x.Epoch) {
			out = append(out, x.Epoch)
		}
	}
	return out
}
