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
	// line is the value of log-start-offset-checkpoint, 0 without one or with one that
	// is not believed: the load cuts the cache there.
	line int64
	// bogus says which value of log-start-offset-checkpoint is not believed, and what
	// Kafka does with it; "" where there is none. Everything here is as if its line
	// were gone.
	bogus string

	file     *checkpoint.EpochFile // nil absent
	useFile  bool                  // there is a file that Kafka accepts, and it may be used
	mayUse   bool                  // the file may be used if it can
	lone     []string              // epochs that rest on one batch, said
	fromFile epoch.Cache           // useFile: as Kafka loads it, cut at line (below the end), not at the end
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
		f.believe(v)
	}
	f.useFile = useFile && f.file != nil && f.file.Malformed == nil
	if f.useFile {
		f.fromFile = epoch.Load(f.file.Entries)
		if f.line < f.end {
			f.fromFile = f.fromFile.TruncateFromStart(f.line)
		}
	}
	loneEpochs(p, f)
	return f, f.startInsideBatch()
}

// believe takes the log start from log-start-offset-checkpoint, if it can be one.
func (f *facts) believe(v int64) {
	switch {
	case len(f.log.Segments) == 0 && v >= 0:
		f.end = v // LogLoader makes an empty segment there
	case v < 0:
		f.bogus = fmt.Sprintf("log-start-offset-checkpoint says %d, which no log start can be; Kafka goes by the first segment, offset %d, and so does this file", v, f.start)
		return
	case v > f.end:
		f.bogus = fmt.Sprintf("log-start-offset-checkpoint says %d, but the log ends at offset %d: as it stands, Kafka deletes every segment at the next start, empties the epoch file and begins an empty log at %d, "+
			"whatever the file says; entries and verdict are those for a log start of %d, the first segment. Correct that line before the broker starts", v, f.end, v, f.start)
		return
	}
	f.line, f.start, f.startSaid = v, v, "log-start-offset-checkpoint"
}

// head is where the first entry of a file of this log may be cut: at the log
// start, -1 for nowhere. LogLoader.load cuts at the log end first, so that an entry
// at a log start that is the log end would be lost; one that keeps its true start
// is moved to the log start by the load itself.
func (f *facts) head() int64 {
	if f.start < f.end {
		return f.start
	}
	return -1
}

// endsAtStart reports whether the old file is that of a running broker whose log
// start was moved up to the log end: it has one entry, at that offset, of the epoch
// of the last batch or of a leader elected since. A load drops it, and that is
// normal.
func (f *facts) endsAtStart() bool {
	if f.start != f.end || f.file == nil || f.file.Malformed != nil {
		return false
	}
	c := epoch.Load(f.file.Entries)
	return len(c) == 1 && c[0].StartOffset == f.end && c[0].Epoch >= f.lineage.Rebuild().TruncateFromEnd(f.end).Latest()
}

// logStart looks up the partition's line in log-start-offset-checkpoint, which
// lists a partition only when its log start differs from its first segment, or
// when it is tiered. It belongs to the live directory, not to a future one beside
// it.
func logStart(p *logdir.Partition) (int64, bool) {
	if p.State != logdir.Live && p.State != logdir.Future {
		return 0, false
	}
	return p.LogDir.LogStarts.Line(p)
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
// LogLoader.load cuts at the log end, then at the checkpointed log start, if that is
// one. It does not depend on the clean marker: recovery only adds epochs above the newest.
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
