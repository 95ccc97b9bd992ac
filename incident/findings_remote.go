package incident

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"

	"github.com/dustin/go-humanize"

	"kafsck/check"
	"kafsck/finding"
	"kafsck/internaltopic"
	"kafsck/logdir"
	"kafsck/segment"
)

// maxCachedIndexes bounds how many files of remote-log-index-cache are read: a broker keeps 1 GiB of
// them by default.
const maxCachedIndexes = 100_000

// remoteIndexCache judges the cached indexes of remote segments of a log directory.
func (inc *Incident) remoteIndexCache(d *logdir.LogDir, name string) []finding.Finding {
	var list []check.CachedIndex
	for f := range d.AllFiles() {
		if f.Kind != logdir.KindRemoteIndexCache || !f.Mode.IsDir() {
			continue
		}
		fsys, dir := f.Source()
		entries, err := fsys.ReadDir(dir)
		if err != nil {
			inc.Errors = append(inc.Errors, logdir.PathError{Path: f.Path, Err: err})
		}
		for _, e := range entries[:min(len(entries), maxCachedIndexes)] {
			base, kind, ok, why := check.CachedName(e.Name())
			if !ok || !e.Type().IsRegular() {
				continue
			}
			x := check.CachedIndex{File: f.Path + "/" + e.Name(), Why: why}
			if why == "" {
				r, err := fsys.Open(dir + "/" + e.Name())
				if err == nil {
					var info fs.FileInfo
					if info, err = r.Stat(); err == nil {
						x.Why, err = cachedIndexFlaw(r, info.Size(), base, kind)
					}
					err = errors.Join(err, r.Close())
				}
				if err != nil {
					inc.Errors = append(inc.Errors, logdir.PathError{Path: x.File, Err: err})
					continue
				}
			}
			list = append(list, x)
		}
	}
	return check.RemoteIndexCache(d, name, list)
}

// cachedIndexFlaw says what is wrong with the bytes of an index, "" if they are sound: lengths, and
// entries that do not ascend or lie below the segment (OffsetIndex.sanityCheck,
// TimeIndex.sanityCheck, TransactionIndex.sanityCheck, which look at the last entry alone). The
// error is a failed read.
func cachedIndexFlaw(r interface {
	ReadAt(p []byte, off int64) (int, error)
}, size, base int64, kind logdir.Kind) (string, error) {
	entry := map[logdir.Kind]int64{logdir.KindIndex: segment.IndexEntrySize, logdir.KindTimeIndex: segment.TimeEntrySize, logdir.KindTxnIndex: segment.TxnEntrySize}[kind]
	if size%entry != 0 {
		return fmt.Sprintf("%s bytes are no whole number of entries of %d bytes", humanize.Comma(size), entry), nil
	}
	switch kind {
	case logdir.KindIndex:
		last := segment.OffsetEntry{Offset: -1, Position: -1}
		for e, err := range segment.ScanIndex(r, size, base) {
			switch {
			case err != nil:
				return "", err
			case e.Relative < 0 || e.RawPosition < 0:
				return fmt.Sprintf("entry %d has a negative offset or position", e.Number), nil
			case e.Number > 0 && (e.Offset <= last.Offset || e.Position <= last.Position):
				return fmt.Sprintf("entry %d (offset %d, position %d) does not ascend from the one before (offset %d, position %d)", e.Number, e.Offset, e.Position, last.Offset, last.Position), nil
			}
			last = e
		}
	case logdir.KindTimeIndex:
		last := segment.TimeEntry{}
		for e, err := range segment.ScanTimeIndex(r, size, base) {
			switch {
			case err != nil:
				return "", err
			case e.Relative < 0:
				return fmt.Sprintf("entry %d has a negative offset", e.Number), nil
			case e.Number > 0 && (e.Timestamp < last.Timestamp || e.Offset < last.Offset):
				return fmt.Sprintf("entry %d (timestamp %d, offset %d) does not ascend from the one before (timestamp %d, offset %d)", e.Number, e.Timestamp, e.Offset, last.Timestamp, last.Offset), nil
			}
			last = e
		}
	case logdir.KindTxnIndex:
		for t, err := range segment.ScanTxnIndex(r, size) {
			switch {
			case err != nil:
				return "", err
			case t.Refused():
				return fmt.Sprintf("entry %d has version %d, which Kafka refuses", t.Number, t.Version), nil
			case t.LastOffset < base || t.FirstOffset > t.LastOffset:
				return fmt.Sprintf("entry %d holds offsets %d to %d, the segment begins at %d", t.Number, t.FirstOffset, t.LastOffset, base), nil
			}
		}
	}
	return "", nil
}

// remoteLineage compares the segments in the remote tier with the leader epochs of the log that
// rules, else with those of every live copy: what fits one of them is in order. Without a list it
// says so where the partition is tiered.
func (j *judgement) remoteLineage() {
	p := j.p
	if j.inc.opt.FilesOnly || strings.HasPrefix(p.Topic, "__") {
		return
	}
	list, listed := j.remoteList()
	var judges []*Copy
	end := int64(-1)
	for _, c := range p.Live() {
		if !c.readable() {
			continue
		}
		if p.Ruling.copy == c && !p.Ruling.Guess {
			judges, end = []*Copy{c}, c.Log.LogEndOffset
			break
		}
		judges = append(judges, c)
	}
	if len(judges) == 0 {
		return
	}
	if !listed {
		if why := j.whyTiered(judges); why != "" {
			p.Findings = append(p.Findings, check.RemoteNotChecked(check.Subject{Partition: p.Name, TopicID: p.TopicID}, judges[0].Dir, why)...)
		}
		return
	}
	var best []finding.Finding
	for i, c := range judges {
		s := check.Subject{Partition: p.Name, TopicID: p.TopicID, Broker: c.Broker.Name}
		where := c.Dir + "/leader-epoch-checkpoint"
		if f := c.Log.Partition.EpochsFile; f != nil {
			where = f.Path
		}
		got := check.RemoteLineage(s, where, c.Log.Loaded, end, list)
		if len(got) == 0 {
			return
		}
		if i == 0 || got[0].Count < best[0].Count {
			best = got
		}
	}
	p.Findings = append(p.Findings, best...)
}

// remoteList is what the inputs say of the partition's remote segments: a list that was given, else
// the complete segments of __remote_log_metadata. listed is false where neither tells anything.
func (j *judgement) remoteList() (list []check.RemoteSegment, listed bool) {
	if given, ok := j.inc.opt.RemoteSegments[j.p.Name]; ok {
		return given, true
	}
	for _, s := range j.inc.RemoteSegments(j.ctx).Of(j.p) {
		listed = true
		if s.Held() {
			at := s.FinishedAt
			list = append(list, check.RemoteSegment{ID: s.ID.String(), From: s.From, To: s.To, Epochs: append([]internaltopic.EpochStart(nil), s.Epochs...),
				Source: fmt.Sprintf("%s, %s-%d offset %d", at.File, remoteLogTopic, at.Partition, at.Offset)})
		}
	}
	return list, listed
}

// whyTiered says how it is known that a partition has segments in the remote tier, "" if it is not
// known: the topic's configuration, else a log start below the first local segment, written by a
// clean stop. A line that merely lags, as after a kill, looks the same.
func (j *judgement) whyTiered(copies []*Copy) string {
	if t, m := j.known.topic, j.p.Cluster.Metadata; t != nil && m != nil {
		if v, source, ok := m.Effective(math.MaxInt64, t.Name, -1, "remote.storage.enable"); ok && v == "true" {
			return "remote.storage.enable=true by the cluster metadata (" + source + ")"
		}
		return ""
	}
	for _, c := range copies {
		d := c.Log.Partition.LogDir
		if v, ok := d.LogStarts.Line(c.Log.Partition); ok && d.CleanShutdown && len(c.Log.Segments) > 0 && v >= 0 && v < c.Log.Segments[0].BaseOffset {
			return fmt.Sprintf("%s: the log starts at %d, its first local segment at %d", d.LogStarts.File.Path, v, c.Log.Segments[0].BaseOffset)
		}
	}
	return ""
}
