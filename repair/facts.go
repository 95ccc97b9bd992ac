package repair

import (
	"context"
	"fmt"
	"math"
	"slices"

	"kafsck/checkpoint"
	"kafsck/epoch"
	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/replica"
)

// facts are what one copy says about its own leader epochs.
type facts struct {
	copy    *incident.Copy
	log     *replica.Log
	lineage epoch.Lineage // batches in file order, ascending offsets; suspect epochs corrected
	// start is the log start offset that a broker goes by, startSaid what says so. It
	// may lie below the first segment: then the offsets between are in remote storage,
	// or deleted.
	start     int64
	startSaid string
	end       int64 // log end offset, exclusive
	// line is the value of log-start-offset-checkpoint, 0 without one: the load cuts
	// the cache there.
	line int64

	file     *checkpoint.EpochFile // nil absent
	useFile  bool                  // there is a file that Kafka accepts, and it may be used
	mayUse   bool                  // the file may be used if it can
	lone     []string              // epochs that rest on one batch, said
	fromFile epoch.Cache           // useFile: as Kafka loads it, cut at line, not at the end
}

func newFacts(ctx context.Context, p *incident.Partition, c *incident.Copy, useFile bool) (*facts, error) {
	if c.Err != nil {
		return nil, fmt.Errorf("%s: %w", c.Dir, c.Err)
	}
	l := c.Log
	f := &facts{copy: c, log: l, lineage: l.Lineage, end: l.LogEndOffset, file: l.Partition.Epochs, mayUse: useFile, startSaid: "base offset of the first segment"}
	if f.file == nil && l.Partition.EpochsFile != nil {
		return nil, fmt.Errorf("%s: %w", l.Partition.EpochsFile.Path, l.Partition.EpochsFile.Err)
	}
	if len(l.Segments) > 0 {
		f.start = l.Segments[0].BaseOffset
	}
	if v, ok := logStart(l.Partition); ok {
		f.line, f.start, f.startSaid = v, v, "log-start-offset-checkpoint"
	}
	f.useFile = useFile && f.file != nil && f.file.Malformed == nil
	if f.useFile {
		f.fromFile = epoch.Load(f.file.Entries).TruncateFromStart(f.line)
	}
	if err := settleEdges(ctx, p, f); err != nil {
		return nil, err
	}
	return f, f.startInsideBatch()
}

// logStart looks up the partition's line in log-start-offset-checkpoint, which
// lists a partition only when its log start differs from its first segment, or
// when it is tiered. It belongs to the live directory, not to a future one beside
// it.
func logStart(p *logdir.Partition) (int64, bool) {
	f := p.LogDir.LogStarts
	if f == nil || f.OffsetFile == nil || f.Malformed != nil || p.State != logdir.Live && p.State != logdir.Future {
		return 0, false
	}
	if p.State == logdir.Future {
		for _, o := range p.LogDir.Partitions {
			if o.State == logdir.Live && o.Topic == p.Topic && o.Partition == p.Partition {
				return 0, false
			}
		}
	}
	return f.Lookup(p.Topic, p.Partition)
}

// startInsideBatch recognizes a log start that no checkpoint records yet: the
// file's first entry lies inside a batch of its epoch. Nothing else makes such an
// entry; a partial recovery begins at a batch.
func (f *facts) startInsideBatch() error {
	if len(f.fromFile) == 0 || f.fromFile[0].StartOffset <= f.start {
		return nil
	}
	first := f.fromFile[0]
	if cut := f.lineage.Rebuild().TruncateFromStart(first.StartOffset); len(cut) == 0 || cut[0] != first {
		return nil
	}
	for b, err := range f.log.Blocks(first.StartOffset, first.StartOffset+1) {
		if err != nil {
			return err
		}
		if b.Whole() && b.Base < first.StartOffset && first.StartOffset <= b.Last {
			f.start, f.startSaid = first.StartOffset, "the old file: only a log start lies inside a batch"
		}
	}
	return nil
}

// load is what Kafka holds after loading a file of these entries with this log:
// LogLoader.load cuts at the log end, then at the checkpointed log start. It does
// not depend on the clean marker: recovery only adds epochs above the newest.
func (f *facts) load(entries []epoch.Entry) epoch.Cache {
	return epoch.Load(entries).TruncateFromEnd(f.end).TruncateFromStart(f.line)
}

func (f *facts) oldFile() OldFile {
	p := f.log.Partition
	if f.file == nil {
		name := "leader-epoch-checkpoint"
		if p.Dir != "" && p.Dir != "." {
			name = p.Dir + "/" + name
		}
		return OldFile{Absent: true, Path: name}
	}
	o := OldFile{Path: p.EpochsFile.Path, Written: f.file.Entries, Malformed: f.file.Malformed}
	if o.Malformed == nil {
		o.Loaded = f.load(f.file.Entries)
	}
	return o
}

// contains reports whether the old file has exactly this line.
func (f *facts) contains(e epoch.Entry) bool {
	return f.file != nil && slices.Contains(f.file.Entries, e)
}

// dark is a stretch of offsets [from, to) for which a log has no batch, between
// batches of different epochs or before the first one: where entries of the
// checkpoint may know more than the headers.
type dark struct {
	from, to int64
	below    int32 // highest epoch of the batches before it, -1 without any
	above    int32 // epoch of the first batch behind it, MaxInt32 at the end of the log
}

// darkAt returns the stretch that holds offset s. Where s is covered by batches,
// or where these leave no room for another epoch, ok is false and why says what
// stands there.
func (f *facts) darkAt(s int64) (d dark, ok bool, why string) {
	d = dark{from: math.MinInt64, to: f.end, below: -1, above: math.MaxInt32}
	for _, r := range f.lineage {
		if s >= r.To {
			d.from, d.below = r.To, max(d.below, r.Epoch)
			continue
		}
		if s >= r.From {
			if r.Epoch < 0 {
				return d, false, fmt.Sprintf("the batches at offset %d are of a format without epochs", s)
			}
			return d, false, fmt.Sprintf("the batch at offset %d carries epoch %d", s, r.Epoch)
		}
		d.to, d.above = r.From, r.Epoch
		break
	}
	switch {
	case d.above < 0:
		return d, false, fmt.Sprintf("the batches behind it, from offset %d, are of a format without epochs", d.to)
	case d.above <= d.below:
		return d, false, fmt.Sprintf("the batches before it and behind it carry epochs %d and %d", d.below, d.above)
	}
	return d, true, ""
}

// fits reports whether the batches of this log allow that epoch e.Epoch starts at
// e.StartOffset although no batch says so.
func (f *facts) fits(e epoch.Entry) (ok bool, why string) {
	d, ok, why := f.darkAt(e.StartOffset)
	switch {
	case !ok:
		return false, why
	case e.Epoch <= d.below:
		return false, fmt.Sprintf("the batches before offset %d carry epoch %d already", e.StartOffset, d.below)
	case e.Epoch > d.above:
		return false, fmt.Sprintf("the next batch, at offset %d, carries epoch %d", d.to, d.above)
	}
	return true, ""
}
