package cli

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"kafsck/checkpoint"
	"kafsck/incident"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/report"
)

// dumper decodes files one after the other.
type dumper struct {
	a   *app
	opt *dumpOptions
	out report.Dump
	sum report.DumpSummary

	where *whereFilter // nil: everything is shown
	named bool         // a file had something to show

	changed changed // .log files that changed while they were read

	indexes   bool // an index file or a snapshot was read
	explained bool // it was told what dump decodes
}

// dumpTarget is one file to decode.
type dumpTarget struct {
	file  *logdir.File
	kind  dumpKind
	shown string // path
	owner dumpOwner
	base  int64 // base offset in the file's name, -1 none
}

// ignored tells files that a broker does not read: a write that was not finished.
func (t *dumpTarget) ignored() bool { return t.file.Kind == logdir.KindTemporary }

// dumpOwner is what a file belongs to.
type dumpOwner struct {
	partition string // "t-0", "" none or unknown
	topicID   string
	broker    *incident.BrokerRef
	decoder   dumpKind // what the records of its log are; dumpNothing: what producers sent
}

// stopped tells that nothing more should be read.
func (d *dumper) stopped(ctx context.Context) bool { return ctx.Err() != nil || d.out.Err() != nil }

// args decodes FILEs in their order, then all PATHs in the order of discovery.
func (d *dumper) args(ctx context.Context, args []string) {
	var dirs []string
	for _, arg := range args {
		if d.stopped(ctx) {
			return
		}
		info, err := os.Stat(arg)
		switch {
		case err == nil && info.IsDir():
			dirs = append(dirs, arg)
		default: // what cannot be looked at is told by discovery
			d.fileArg(ctx, arg)
		}
	}
	if len(dirs) == 0 || d.stopped(ctx) {
		return
	}
	c, _ := logdir.Discover(dirs, logdir.Options{BrokerIDs: d.opt.input.brokers}) // the error is in Errors
	defer c.Close()
	d.wholeCase(ctx, c)
}

// fileArg decodes one FILE.
func (d *dumper) fileArg(ctx context.Context, arg string) {
	c, _ := logdir.Discover([]string{arg}, logdir.Options{}) // the error is in Errors
	defer c.Close()
	for _, e := range c.Errors {
		d.failed(arg, e.Err)
	}
	f := onlyFile(c)
	if f == nil {
		return
	}
	t := dumpTarget{file: f, kind: d.opt.as, shown: filepath.ToSlash(arg), base: baseOffsetOf(f)}
	if t.kind == dumpNothing {
		t.kind = kindOfFile(f)
	}
	if t.kind == dumpNothing {
		d.a.complain("%s: dump does not know this kind of file", arg)
		if !d.explained {
			d.explained = true
			d.a.complain("%s", knownFiles())
		}
		d.a.fail(exitIncomplete)
		d.sum.Failed++
		if d.a.json {
			d.out.Failed(t.shown, errUnknownKind)
		}
		return
	}
	t.owner = ownerOf(arg, f, d.opt.input.brokers)
	d.one(ctx, &t)
}

var errUnknownKind = fmt.Errorf("not a kind of file that dump decodes")

func onlyFile(c *logdir.Case) *logdir.File {
	for _, b := range c.Brokers {
		for _, ld := range b.Dirs {
			for _, p := range partitionsOf(ld) {
				for f := range p.AllFiles() {
					return f
				}
			}
		}
	}
	for _, f := range c.Unknown {
		return f
	}
	return nil
}

func partitionsOf(ld *logdir.LogDir) []*logdir.Partition {
	if ld.Metadata == nil {
		return ld.Partitions
	}
	return append([]*logdir.Partition{ld.Metadata}, ld.Partitions...)
}

// ownerOf looks around a FILE for what it belongs to: the directory it lies in, if that
// is a partition's, with the log directory around it; or the meta.properties beside it.
// Trouble there is no trouble with the file.
func ownerOf(arg string, f *logdir.File, ids []logdir.BrokerID) dumpOwner {
	abs, err := filepath.Abs(arg)
	if err != nil {
		return dumpOwner{}
	}
	dir := filepath.Dir(abs)
	if _, err := logdir.ParseDirName(filepath.Base(dir)); err == nil && ofPartition(f.Kind) {
		c, _ := logdir.Discover([]string{dir}, logdir.Options{BrokerIDs: ids})
		defer c.Close()
		for _, b := range c.Brokers {
			for _, ld := range b.Dirs {
				for _, p := range partitionsOf(ld) {
					return ownerOfPartition(p)
				}
			}
		}
		return dumpOwner{}
	}
	if filepath.Base(dir) == remoteIndexCache {
		dir = filepath.Dir(dir)
	}
	fsys, err := rofs.Dir(dir)
	if err != nil {
		return dumpOwner{}
	}
	defer rofs.Close(fsys)
	const enough = 1 << 20
	b, err := rofs.ReadFile(fsys, "meta.properties", enough)
	if err != nil {
		return dumpOwner{}
	}
	if m := checkpoint.ParseMetaProperties(b); m.HasNodeID {
		return dumpOwner{broker: &incident.BrokerRef{ID: m.NodeID, Known: true, Name: strconv.Itoa(int(m.NodeID))}}
	}
	return dumpOwner{}
}

// ofPartition tells files that lie in partition directories: where one lies, looking at
// the directory is not a walk through a disk.
func ofPartition(k logdir.Kind) bool {
	switch k {
	case logdir.KindLog, logdir.KindIndex, logdir.KindTimeIndex, logdir.KindTxnIndex, logdir.KindProducerSnapshot,
		logdir.KindMetadataSnapshot, logdir.KindEpochs, logdir.KindPartitionMetadata, logdir.KindQuorumState:
		return true
	}
	return false
}

func ownerOfPartition(p *logdir.Partition) dumpOwner {
	o := dumpOwner{broker: brokerRef(p.LogDir.Broker), decoder: decoderOf(p.Topic)}
	if p == p.LogDir.Metadata {
		o.decoder = dumpMetadata
	}
	if p.Partition >= 0 {
		o.partition = p.Name()
	}
	if p.HasTopicID {
		o.topicID = p.TopicID.String()
	}
	return o
}

func brokerRef(b *logdir.Broker) *incident.BrokerRef {
	if b == nil {
		return nil
	}
	return &incident.BrokerRef{ID: b.ID, Known: b.IDKnown, Name: b.String()}
}

// wholeCase decodes everything in directories that dump knows.
func (d *dumper) wholeCase(ctx context.Context, c *logdir.Case) {
	d.out.Notes(c.Notes)
	for _, e := range c.Errors {
		d.failed(e.Path, e.Err)
	}
	for _, b := range c.Brokers {
		for _, ld := range b.Dirs {
			if !ld.Partial && !d.opt.selective() { // what lies around a partition was not asked for
				for f := range ld.AllFiles() {
					if f.Kind == logdir.KindRemoteIndexCache {
						d.indexCache(ctx, f, dumpOwner{broker: brokerRef(b)})
						continue
					}
					d.entry(ctx, f, dumpOwner{broker: brokerRef(b)})
				}
			}
			for _, p := range partitionsOf(ld) {
				if d.opt.input.selects(p.Topic, p.Partition) {
					d.partition(ctx, p)
				}
			}
		}
	}
}

// segmentName is what the names of a segment's files have in common.
type segmentName struct {
	base   int64
	suffix logdir.Suffix
}

func (d *dumper) partition(ctx context.Context, p *logdir.Partition) {
	owner := ownerOfPartition(p)
	next := map[segmentName]int64{} // base offset of the next segment of the same suffix
	last := map[logdir.Suffix]int64{}
	for _, s := range p.Segments {
		if s.Log == nil {
			continue
		}
		if before, known := last[s.Suffix]; known {
			next[segmentName{before, s.Suffix}] = s.BaseOffset
		}
		last[s.Suffix] = s.BaseOffset
	}
	skipped := 0
	for f := range p.AllFiles() {
		switch f.Kind {
		case logdir.KindLog, logdir.KindIndex, logdir.KindTimeIndex, logdir.KindTxnIndex:
			end, known := next[segmentName{f.BaseOffset, f.Suffix}]
			if !known {
				end = math.MaxInt64
			}
			if !d.opt.offsets.meets(f.BaseOffset, end-1) {
				if f.Kind == logdir.KindLog {
					skipped++
				}
				continue
			}
		}
		d.entry(ctx, f, owner)
	}
	if skipped > 0 && !d.stopped(ctx) {
		d.out.Note("%s: %d .log files were not read: their names say that they hold none of the offsets asked for", p.Dir, skipped)
	}
}

// entry decodes one file of a directory, if it can be.
func (d *dumper) entry(ctx context.Context, f *logdir.File, owner dumpOwner) {
	kind := kindOfFile(f)
	if d.stopped(ctx) || kind == dumpNothing || kind == dumpOther || !f.Mode.IsRegular() || f.Err != nil {
		return
	}
	switch {
	case kind.isIndex():
		if !d.opt.indexes || !d.opt.hasValues(kind) {
			return
		}
	case d.opt.ranged() && kind != dumpLog:
		return // text has no records, and a snapshot's count from 0
	}
	d.one(ctx, &dumpTarget{file: f, kind: kind, shown: f.Path, owner: owner, base: baseOffsetOf(f)})
}

// remoteIndexCache is the directory of indexes that were fetched from a remote tier.
const remoteIndexCache = "remote-log-index-cache"

// indexCache decodes the indexes in it.
func (d *dumper) indexCache(ctx context.Context, f *logdir.File, owner dumpOwner) {
	if !d.opt.indexes {
		return
	}
	files, err := f.Cached()
	if err != nil {
		d.failed(f.Path, err)
	}
	for _, cached := range files {
		if cached.Err != nil {
			d.failed(cached.Path, cached.Err)
			continue
		}
		d.entry(ctx, cached, owner)
	}
}

// failed tells of a file that could not be read, or not to its end.
func (d *dumper) failed(path string, err error) {
	d.sum.Failed++
	d.a.fail(exitIncomplete)
	d.a.complain("%s: %s", path, err)
	d.out.Failed(path, err)
}
