package broker

import "fmt"

// Extent is a segment's .log file as far as catching up needs it: the base offset
// in its name and the bytes of whole batches in it.
type Extent struct{ Base, Bytes int64 }

// Place is a batch: the index of its segment, its byte position there, and its
// first and last offset, both inclusive.
type Place struct {
	Segment    int
	Position   int64
	Base, Last int64
}

// Obstacle is a place in a leader's log that no follower gets past, because it
// refuses what it is sent from there: a batch with a wrong CRC, bytes that are no
// batch. The leader never checks what it sends (KAFKA-4384).
type Obstacle struct {
	Segment  int
	Position int64 // byte position
	Offset   int64 // the first offset concerned
	Why      string
}

// Extents are the segments of a log, ascending, with a way to look into them.
type Extents struct {
	Segments  []Extent
	Obstacles []Obstacle // ascending; of a leader
	// Find returns the first batch that holds an offset at or above the one given;
	// false if there is none. The error is a failed read.
	Find func(offset int64) (Place, bool, error)
}

// bytes is the size of the segments from index i on.
func (e Extents) bytes(i int) int64 {
	var n int64
	for _, s := range e.Segments[min(i, len(e.Segments)):] {
		n += s.Bytes
	}
	return n
}

// Way is how a follower gets to the end of its leader's log.
type Way string

// The ways.
const (
	// InSync: it has everything already.
	InSync Way = "in-sync"
	// CatchUp: it goes on fetching where its log ends, after the truncation.
	CatchUp Way = "catch-up"
	// Rebuild: its log ends below the leader's log start. It drops all segments and
	// begins a new log there.
	Rebuild Way = "rebuild"
	// Stuck: it gets to StuckAt and not further.
	Stuck Way = "stuck"
)

// Catchup is what a follower does to its own log and fetches from its leader,
// as far as offsets and bytes go. Bytes are those of .log files.
type Catchup struct {
	Way Way
	Why string // of Rebuild and Stuck, for people

	// TruncateTo is the follower's log end after the truncation; its old log end when
	// nothing is cut.
	TruncateTo int64
	// FetchFrom is the first offset that it asks for; FetchTo the leader's log end.
	FetchFrom, FetchTo int64
	// FirstBatch is the base offset of the first batch that it gets, -1 none. Below
	// FetchFrom after a rebuild at a log start that lies inside a batch.
	FirstBatch int64
	// FirstSegment is the base offset of its first segment afterwards.
	FirstSegment int64
	// LogStart is its log start offset afterwards.
	LogStart int64
	// FetchBytes is what it fetches: whole batches, as the leader has them.
	FetchBytes int64
	// StuckAt is the offset that a stuck follower does not get past, -1 otherwise.
	StuckAt int64

	// CutBytes are cut off in place and gone at once.
	CutBytes int64
	// DeletedSegments are the base offsets of segments that are renamed .deleted, and
	// DeletedBytes their size: they stay until the file delete delay is over.
	DeletedSegments []int64
	DeletedBytes    int64
	// EmptyDeleted is the base offset of the empty segment that a rebuild leaves behind
	// as .log.deleted where FirstBatch lies below FetchFrom; -1 otherwise.
	EmptyDeleted int64
	// KeptBytes stay.
	KeptBytes int64
}

// ThrownAway is all local bytes that the follower gives up.
func (c *Catchup) ThrownAway() int64 { return c.CutBytes + c.DeletedBytes }

// PlanCatchup says what a follower does whose truncation is t (see Truncate): how it
// cuts its log, and what it then fetches. The error is a failed read of one of the
// logs.
//
//	follower  |--------- kept ---------|~~ cut, deleted ~~|
//	                                   to                 log end
//	leader    |------------------------|======= fetched =======|
//	        log start                  to                   log end
//
// and where the follower ends below the leader's log start:
//
//	follower  |~~~~ all deleted ~~~~|
//	                                to
//	leader                  |---[ batch | ]====================|
//	                           base     log start          log end
//	rebuilt                    |==============================|
//
// Sources: AbstractFetcherThread.fetchOffsetAndTruncate, LocalLog.truncateTo and
// truncateFullyAndStartAt, Partition.appendRecordsToFollowerOrFutureReplica
// (Kafka 4.3.1); the file names and sizes as in the recording replica-rebuild.
func PlanCatchup(leader, follower State, from, own Extents, t Truncation) (Catchup, error) {
	to := min(max(t.CutTo, 0), follower.LogEnd)
	c := Catchup{TruncateTo: to, FirstBatch: -1, EmptyDeleted: -1, StuckAt: -1, FetchTo: leader.LogEnd, LogStart: min(follower.LogStart, to)}
	if err := c.cut(follower, own); err != nil {
		return c, err
	}
	end := c.TruncateTo
	empty := end <= c.LogStart
	if leader.LogStart > end {
		c.rebuild(leader.LogStart, own)
		end, empty = leader.LogStart, true
	}
	c.FetchFrom = end
	if t.Stuck {
		c.Way, c.StuckAt = Stuck, end
		c.Why = fmt.Sprintf("the leader answers every fetch from %d with OFFSET_OUT_OF_RANGE for as long as it leads (KAFKA-15608)", end)
		return c, nil
	}
	first, ok, err := from.Find(end)
	if err != nil {
		return c, err
	}
	if !ok || end >= leader.LogEnd {
		if c.Way == "" {
			c.Way = InSync
		}
		c.LogStart = max(c.LogStart, min(leader.LogStart, end))
		return c, nil
	}
	c.FirstBatch = first.Base
	switch {
	case first.Base >= end:
	case empty && first.Last >= end:
		// The first batch begins below the log start: the new log is dropped once more
		// and begun at the batch, Partition.appendRecordsToFollowerOrFutureReplica.
		if c.Way != Rebuild {
			c.dropAll(own)
		}
		c.FirstSegment, c.EmptyDeleted = first.Base, end
	default:
		c.Way, c.StuckAt = Stuck, end
		c.Why = fmt.Sprintf("its log ends at %d, inside the leader's batch %d–%d: it refuses a batch that begins below its log end (UnexpectedAppendOffsetException), and the partition is marked as failed", end, first.Base, first.Last)
		return c, nil
	}
	c.FetchBytes = max(from.bytes(first.Segment)-first.Position, 0)
	if c.Way == "" {
		c.Way = CatchUp
	}
	c.LogStart = max(c.LogStart, min(leader.LogStart, leader.LogEnd))
	for _, o := range from.Obstacles {
		if o.Segment > first.Segment || o.Segment == first.Segment && o.Position >= first.Position {
			c.Way, c.StuckAt = Stuck, max(o.Offset, end)
			c.Why = fmt.Sprintf("%s in the leader's log: no follower gets past it", o.Why)
			c.FetchBytes -= max(from.bytes(o.Segment)-o.Position, 0)
			break
		}
	}
	return c, nil
}

// cut is LocalLog.truncateTo: segments that begin above the target are renamed
// .deleted; the one that holds it is cut before the batch that holds it, in place.
// A first segment above the target makes it a full truncation.
func (c *Catchup) cut(follower State, own Extents) error {
	c.KeptBytes = own.bytes(0)
	if len(own.Segments) > 0 {
		c.FirstSegment = own.Segments[0].Base
	}
	if c.TruncateTo >= follower.LogEnd {
		return nil
	}
	if len(own.Segments) > 0 && own.Segments[0].Base > c.TruncateTo {
		c.dropAll(own)
		c.FirstSegment = c.TruncateTo
		return nil
	}
	last := 0 // the segment that holds the target
	for i, s := range own.Segments {
		if s.Base > c.TruncateTo {
			c.DeletedSegments = append(c.DeletedSegments, s.Base)
			c.DeletedBytes += s.Bytes
		} else {
			last = i
		}
	}
	first, ok, err := own.Find(c.TruncateTo)
	if err != nil {
		return err
	}
	if ok && first.Segment == last {
		c.CutBytes = own.Segments[last].Bytes - first.Position
	}
	c.KeptBytes -= c.CutBytes + c.DeletedBytes
	return nil
}

// rebuild is LocalLog.truncateFullyAndStartAt at the leader's log start.
func (c *Catchup) rebuild(start int64, own Extents) {
	c.Way = Rebuild
	c.Why = fmt.Sprintf("its log ends at %d, below the leader's log start %d", c.TruncateTo, start)
	c.dropAll(own)
	c.FirstSegment, c.LogStart = start, start
}

// dropAll renames every segment .deleted. What was cut in place before is in none
// of them any more.
func (c *Catchup) dropAll(own Extents) {
	c.DeletedSegments = nil
	for _, s := range own.Segments {
		c.DeletedSegments = append(c.DeletedSegments, s.Base)
	}
	c.DeletedBytes, c.KeptBytes = own.bytes(0)-c.CutBytes, 0
}
