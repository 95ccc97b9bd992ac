package incident

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"kafsck/check"
	"kafsck/finding"
	"kafsck/logdir"
	"kafsck/replica"
	"kafsck/segment"
)

const (
	// maxBeside bounds the passes over a log whose index files fail one after the
	// other in the middle; after that none of them is compared.
	maxBeside = 4
	// maxFragmentErrors bounds the files named that could not be read in one directory.
	maxFragmentErrors = 16
)

// readLog reads a source. A file beside a .log that cannot be read is told of and
// left out: what the log holds does not depend on it. The error is a .log that
// cannot be read, or ctx's.
func (inc *Incident) readLog(ctx context.Context, src replica.Source, progress replica.Progress) (*replica.Log, []logdir.PathError, error) {
	var unread []logdir.PathError
	left := map[*logdir.File]bool{} // not compared
	passes := 0
	for {
		l, err := inc.pass(ctx, src, progress)
		progress = nil // told already
		failed, isRead := errors.AsType[*segment.ReadError](err)
		var f *logdir.File
		if isRead {
			f = beside(src.Partition, failed.Path)
		}
		if f == nil || left[f] {
			if err == nil {
				unread = append(unread, tooLarge(l, inc.opt.Files)...)
				forgetAbsence(l, left)
			}
			return l, unread, err
		}
		left[f] = true
		unread = append(unread, unreadFile(failed))
		passes++
		given := 0
		for other := range filesBeside(src.Partition) {
			switch {
			case left[other]:
			case passes > maxBeside:
				left[other] = true
				given++
			case passes == 1: // files of one kind tend to fail together
				if err := opens(other); err != nil {
					left[other] = true
					unread = append(unread, logdir.PathError{Path: other.Path, Err: err})
				}
			}
		}
		if given > 0 {
			unread = append(unread, logdir.PathError{Path: src.Partition.Dir, Err: fmt.Errorf("%d more files beside the .log files were not read after these failed", given)})
		}
		src = without(src, left)
	}
}

func (inc *Incident) pass(ctx context.Context, src replica.Source, progress replica.Progress) (*replica.Log, error) {
	if inc.opt.FilesOnly {
		return replica.Glance(ctx, src)
	}
	return replica.Read(ctx, src, replica.Options{Progress: progress, NoReadAhead: inc.opt.noReadAhead(), Files: inc.opt.Files, Records: inc.opt.Records, Transactions: inc.opt.Transactions, NowMs: inc.opt.NowMs})
}

// unreadFile tells a failed read under the name of its file.
func unreadFile(failed *segment.ReadError) logdir.PathError {
	plain := *failed
	plain.Path = ""
	if pe, ok := errors.AsType[*fs.PathError](plain.Err); ok {
		plain.Err = pe.Err
	}
	return logdir.PathError{Path: failed.Path, Err: &plain}
}

// failedRead tells a failed read under the name of the file that it knows, else under that of
// the directory.
func failedRead(dir string, err error) logdir.PathError {
	if failed, ok := errors.AsType[*segment.ReadError](err); ok && failed.Path != "" {
		return unreadFile(failed)
	}
	return logdir.PathError{Path: dir, Err: err}
}

// notTold are the failed reads of list, each path once, but for those that the discovery of the
// inputs told of.
func notTold(list, told []logdir.PathError) []logdir.PathError {
	seen := map[string]bool{}
	for _, e := range told {
		seen[e.Path] = true
	}
	var out []logdir.PathError
	for _, e := range list {
		if !seen[e.Path] {
			seen[e.Path] = true
			out = append(out, e)
		}
	}
	return out
}

func opens(f *logdir.File) error {
	r, err := f.Open()
	if err != nil {
		if pe, ok := errors.AsType[*fs.PathError](err); ok {
			return fmt.Errorf("%s: %w", pe.Op, pe.Err)
		}
		return err
	}
	return r.Close()
}

// filesBeside yields the files of a directory's segments that are no .log.
func filesBeside(p *logdir.Partition) func(func(*logdir.File) bool) {
	return func(yield func(*logdir.File) bool) {
		for _, s := range p.Segments {
			for _, f := range []*logdir.File{s.Index, s.TimeIndex, s.TxnIndex, s.Snapshot} {
				if f != nil && !yield(f) {
					return
				}
			}
		}
	}
}

// beside finds the file with a shown path among those that are no .log, nil if
// there is none.
func beside(p *logdir.Partition, path string) *logdir.File {
	for f := range filesBeside(p) {
		if f.Path == path {
			return f
		}
	}
	return nil
}

// without is a source that lacks some of the files beside its .log.
func without(src replica.Source, left map[*logdir.File]bool) replica.Source {
	p := *src.Partition
	p.Segments = make([]*logdir.Segment, 0, len(src.Partition.Segments))
	copies := map[*logdir.Segment]*logdir.Segment{}
	for _, s := range src.Partition.Segments {
		n := *s
		for _, f := range []**logdir.File{&n.Index, &n.TimeIndex, &n.TxnIndex, &n.Snapshot} {
			if *f != nil && left[*f] {
				*f = nil
			}
		}
		if n.Log != nil || n.Index != nil || n.TimeIndex != nil || n.TxnIndex != nil || n.Snapshot != nil {
			p.Segments = append(p.Segments, &n)
		}
		copies[s] = &n
	}
	segs := make([]*logdir.Segment, 0, len(src.Segments))
	for _, s := range src.Segments {
		segs = append(segs, copies[s])
	}
	src.Partition, src.Segments = &p, segs
	return src
}

// tooLarge tells of producer snapshots that nobody reads for their size.
func tooLarge(l *replica.Log, files bool) []logdir.PathError {
	if !files || l.State != replica.Live && l.State != replica.Future {
		return nil
	}
	var out []logdir.PathError
	for _, s := range l.Partition.Segments {
		if f := s.Snapshot; f != nil && f.Size > segment.MaxSnapshot {
			out = append(out, logdir.PathError{Path: f.Path, Err: fmt.Errorf("not read: %d bytes, at most %d are", f.Size, int64(segment.MaxSnapshot))})
		}
	}
	return out
}

// forgetAbsence drops what a pass says of files that it did not get to see: they
// are there, but are no regular files or could not be read.
func forgetAbsence(l *replica.Log, left map[*logdir.File]bool) {
	kinds := map[replica.AnomalyKind]logdir.Kind{
		replica.IndexMissing: logdir.KindIndex, replica.TimeIndexMissing: logdir.KindTimeIndex,
		replica.TxnIndexMismatch: logdir.KindTxnIndex, replica.TxnIndexBehind: logdir.KindTxnIndex,
	}
	type place struct {
		base int64
		kind logdir.Kind
	}
	there := map[place]bool{}
	for f := range l.Partition.AllFiles() {
		if f.Err != nil || left[f] {
			there[place{f.BaseOffset, f.Kind}] = true
		}
	}
	if len(there) == 0 {
		return
	}
	l.Anomalies.Kept = slices.DeleteFunc(l.Anomalies.Kept, func(a replica.Anomaly) bool {
		kind, ok := kinds[a.Kind]
		if !ok || !there[place{l.Segments[a.Segment].BaseOffset, kind}] {
			return false
		}
		l.Anomalies.Counts[a.Kind]--
		return true
	})
}

// dirOf is the directory of a copy.
func (g *group) dirOf(c *Copy) *logdir.Partition {
	for _, m := range g.dirs {
		if m.dir.Dir == c.Dir {
			return m.dir
		}
	}
	return nil
}

// fragmentCodes are the findings that rest on the bytes of one segment and the files
// beside it, so that they hold whatever the rest of the log is. None speaks of
// records that are gone.
var fragmentCodes = map[finding.Code]bool{
	"batch-crc-mismatch": true, "batch-magic-unknown": true, "log-bytes-unreadable": true, "log-bytes-zeroed": true, "embedded-batch": true,
	"duplicate-offsets": true, "batch-below-segment": true,
	"inner-record-invalid": true, "batch-codec-unknown": true, "lz4-header-checksum-wrong": true, "lz4-legacy-checksum": true,
	"max-timestamp-mismatch": true, "records-not-decoded": true,
	"index-misaligned": true, "index-out-of-order": true, "timeindex-out-of-order": true, "index-points-nowhere": true,
	"index-wrong-offset": true, "timeindex-wrong": true, "index-missing": true, "timeindex-missing": true,
	"txnindex-malformed": true, "producer-snapshot-corrupt": true,
}

// judgeFragments checks what can be read of a directory whose log is incomplete. The
// copy itself stays unread: nothing is compared with it.
func (inc *Incident) judgeFragments(ctx context.Context, p *Partition, c *Copy, dir *logdir.Partition) {
	// Of gaps nothing is said: on a compacted topic they are normal.
	s := check.Subject{Partition: p.Name, TopicID: p.TopicID, Broker: c.Broker.Name, Compacted: true}
	if dir.State == logdir.Live || dir.State == logdir.Future {
		p.Findings = append(p.Findings, check.Names(dir, s, kraftBroker(dir.LogDir))...)
	}
	told := map[string]bool{}
	if failed, ok := errors.AsType[*segment.ReadError](c.Err); ok {
		told[failed.Path] = true
	}
	more := 0
	tell := func(e logdir.PathError) {
		switch {
		case told[e.Path]:
		case len(told) >= maxFragmentErrors:
			more++
		default:
			told[e.Path] = true
			p.Errors = append(p.Errors, e)
		}
	}
	queue := fragments(dir)
	for len(queue) > 0 && ctx.Err() == nil {
		segs := queue[0]
		queue = queue[1:]
		part := *dir
		part.Segments = nil
		for _, x := range dir.Segments {
			if x.BaseOffset >= segs[0].BaseOffset && x.BaseOffset <= segs[len(segs)-1].BaseOffset {
				part.Segments = append(part.Segments, x)
			}
		}
		l, unread, err := inc.readLog(ctx, replica.Source{Partition: &part, State: replica.State(dir.State.String()), Segments: segs}, nil)
		for _, e := range unread {
			tell(e)
		}
		if err != nil {
			failed, ok := errors.AsType[*segment.ReadError](err)
			at := -1
			if ok {
				at = slices.IndexFunc(segs, func(x *logdir.Segment) bool { return x.Log.Path == failed.Path })
			}
			if at < 0 {
				continue // interrupted
			}
			tell(unreadFile(failed))
			for _, rest := range [][]*logdir.Segment{segs[at+1:], segs[:at]} {
				if len(rest) > 0 {
					queue = slices.Insert(queue, 0, rest)
				}
			}
			continue
		}
		c.Fragments.Segments += len(l.Segments)
		c.Fragments.Batches += l.Batches
		c.Fragments.Bytes += l.Bytes
		c.Fragments.BytesVerified += l.BytesVerified
		err = explainChecksums(ctx, l)
		l.Release()
		if err != nil {
			continue // its bytes could be read a moment ago; the copy is told as unread already
		}
		for _, f := range check.Log(l, s) {
			if fragmentCodes[f.Code] {
				p.Findings = append(p.Findings, f)
			}
		}
	}
	if more > 0 {
		p.Errors = append(p.Errors, logdir.PathError{Path: c.Dir, Err: fmt.Errorf("%d more files could not be read", more)})
	}
}

// fragments are the runs of plain segments between those that cannot be opened.
func fragments(p *logdir.Partition) [][]*logdir.Segment {
	odd := p.OddLogs()
	var out [][]*logdir.Segment
	last := int64(-1)
	for _, s := range p.Segments {
		if s.Log == nil || s.Suffix != logdir.NoSuffix {
			continue
		}
		apart := slices.ContainsFunc(odd, func(f *logdir.File) bool { return f.BaseOffset > last && f.BaseOffset < s.BaseOffset })
		if n := len(out); n > 0 && !apart {
			out[n-1] = append(out[n-1], s)
		} else {
			out = append(out, []*logdir.Segment{s})
		}
		last = s.BaseOffset
	}
	return out
}
