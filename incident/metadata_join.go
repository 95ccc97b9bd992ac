package incident

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"kafsck/kraft"
	"kafsck/logdir"
)

// joinedMetadata is one history of all copies of a cluster's metadata log.
type joinedMetadata struct {
	log    *kraft.Log // nil without a copy that says anything
	copies []joinedCopy
	errors []logdir.PathError // failed reads
}

// joinedCopy is a copy with how it stands to those before it.
type joinedCopy struct {
	metadataDir
	line kraft.Line
}

// join makes one history of all copies of the metadata log, with what Kafka has set
// aside; the newest copy is the first, and counts where others contradict it.
func (cl *Cluster) join() joinedMetadata {
	var out joinedMetadata
	copies := slices.Clone(cl.copies)
	slices.SortStableFunc(copies, func(a, b metadataDir) int {
		switch {
		case newer(a.log, b.log):
			return -1
		case newer(b.log, a.log):
			return 1
		}
		return 0
	})
	if len(copies) == 0 {
		return out
	}
	first := copies[0]
	alone := func() {
		out.log = first.log
		out.copies = []joinedCopy{{first, kraft.Line{From: first.log.StartOffset, To: first.log.EndOffset, ForkAt: -1, Against: -1, RaftEpoch: -1, Other: -1, Adds: first.log.Batches}}}
	}
	if len(copies) == 1 && !setAside(first.dir) {
		if first.log.Batches > 0 || first.log.EndOffset > 0 {
			alone()
		}
		return out
	}
	var open metadataFiles
	defer open.close()
	var inputs []kraft.Input
	var read []metadataDir
	for _, c := range copies {
		in, err := open.input(c.dir, true)
		if err != nil {
			out.errors = append(out.errors, failedRead(c.dir.Dir, err))
			continue
		}
		inputs, read = append(inputs, in), append(read, c)
	}
	m, err := kraft.Merge(inputs)
	if err != nil {
		// The newest copy has been read as a whole before.
		out.errors = append(out.errors, logdir.PathError{Path: first.dir.Dir, Err: fmt.Errorf("joining the copies of the metadata log: %w", err)})
		alone()
		return out
	}
	if m.Log.EndOffset < 0 {
		return out
	}
	out.log = m.Log
	for i, c := range read {
		out.copies = append(out.copies, joinedCopy{c, m.Copies[i]})
	}
	return out
}

// joinMetadata lets the cluster's metadata reach as far back as any copy does, and be
// as whole as all of them together. Copies that contradict each other stay apart: the
// newest counts.
func (inc *Incident) joinMetadata(cl *Cluster) {
	newest := cl.newestCopy()
	if newest == nil || !cl.gains(newest) {
		return
	}
	j := cl.joined()
	inc.Errors, cl.joinTold = append(inc.Errors, j.errors...), true
	var told []string
	for i := range j.copies {
		c := &j.copies[i]
		if c.line.ForkAt >= 0 {
			inc.Notes = append(inc.Notes, logdir.Note{Kind: logdir.NoteMetadata, Paths: []string{c.dir.Dir, newest.dir.Dir}, Text: fmt.Sprintf(
				"the copies of the metadata log contradict each other: broker %s's (%q) parts from the others at metadata offset %d; broker %s's (%q), the newest, counts alone; see kafsck history",
				c.broker.Name, c.dir.Dir, c.line.ForkAt, newest.broker.Name, newest.dir.Dir)})
			return
		}
		if c.line.Adds > 0 || c.line.Snapshots > 0 || c.log == newest.log {
			told = append(told, c.from())
		}
	}
	// A copy that ends elsewhere, or in another raft epoch, has the newest's place.
	if l := j.log; l == nil || l.EndOffset != newest.log.EndOffset || l.RaftEpoch != newest.log.RaftEpoch || l.Batches < newest.log.Batches {
		return
	}
	cl.Metadata = j.log
	if len(told) > 1 {
		cl.MetadataFrom = fmt.Sprintf("the metadata log joined from %d copies: %s", len(told), strings.Join(told, ", "))
	}
}

// from says for people whose copy it is, and where it lies.
func (c *metadataDir) from() string {
	return "broker " + c.broker.Name + "'s metadata log (" + c.dir.Dir + ")"
}

// newestCopy is the copy that Cluster.Metadata was taken from.
func (cl *Cluster) newestCopy() *metadataDir {
	for i := range cl.copies {
		if cl.copies[i].log == cl.Metadata {
			return &cl.copies[i]
		}
	}
	return nil
}

// gains reports whether joining the copies could tell more than the newest one does, or
// something else. Most often it could not: the copies are equal, or the newest goes back
// to offset 0; reading them all once more is spared then.
func (cl *Cluster) gains(newest *metadataDir) bool {
	l := newest.log
	damaged := len(l.Damaged) > 0 || len(l.Gaps) > 0
	from := oldestMetadata(newest.dir, false)
	for i := range cl.copies {
		c := &cl.copies[i]
		other := c.log != l
		if other && (damaged || parts(l, c.log)) || from > 0 && oldestMetadata(c.dir, true) < from {
			return true
		}
	}
	return false
}

// parts reports whether a copy cannot be the past of the newest one. A raft epoch has one
// leader, which never writes two batches at one offset: copies are of one line if they
// tell the same elections of the quorum, and the last record of the one is of the epoch
// that the other has there (KafkaRaftClient.validateOffsetAndEpoch).
func parts(newest, l *kraft.Log) bool {
	switch {
	case l.EndOffset <= 0:
		return false
	case l.EndOffset > newest.EndOffset:
		return true
	}
	of := map[int32]*kraft.RaftLeader{}
	epoch := newest.RaftEpoch // where l ends; without an election left before it, at most this one
	elected := false
	for i := range newest.Leaders {
		e := &newest.Leaders[i]
		of[e.RaftEpoch] = e
		if e.Offset < l.EndOffset {
			epoch, elected = e.RaftEpoch, true
		}
	}
	for i := range l.Leaders {
		e := &l.Leaders[i]
		if o := of[e.RaftEpoch]; o != nil && (o.Offset != e.Offset || o.TimeMs != e.TimeMs || o.LeaderID != e.LeaderID) {
			return true
		}
	}
	if elected || l.EndOffset == newest.EndOffset {
		return l.RaftEpoch != epoch
	}
	return l.RaftEpoch > epoch
}

// oldestMetadata is the lowest offset that the names of a copy's segments and snapshots
// tell, with old of those set aside as well.
func oldestMetadata(p *logdir.Partition, old bool) int64 {
	lowest := int64(math.MaxInt64)
	for _, s := range p.Segments {
		if s.Log != nil && (s.Suffix == logdir.NoSuffix || old && s.Suffix == logdir.Deleted) {
			lowest = min(lowest, s.BaseOffset)
		}
	}
	snapshots := p.Snapshots
	if old {
		snapshots = slices.Concat(p.Snapshots, p.DeletedSnapshots)
	}
	for _, f := range snapshots {
		end, _, _ := strings.Cut(path.Base(f.Name), "-")
		if offset, err := strconv.ParseInt(end, 10, 64); err == nil {
			lowest = min(lowest, offset)
		}
	}
	return lowest
}

// setAside reports whether the directory has files that Kafka renamed to .deleted.
func setAside(p *logdir.Partition) bool {
	return len(p.DeletedSnapshots) > 0 || slices.ContainsFunc(p.Segments, func(s *logdir.Segment) bool { return s.Log != nil && s.Suffix == logdir.Deleted })
}
