package broker

import "kafsck/epoch"

// Cut says what decided where a follower cuts its log.
type Cut string

// The reasons. Where nothing is cut the reason is that of the answer which said so.
const (
	CutByEpoch         Cut = "leader-epoch"        // where leader and follower leave their last common epoch
	CutByHighWatermark Cut = "high-watermark"      // nothing is known of epochs: the own high watermark
	CutByLeaderEnd     Cut = "leader-log-end"      // out of range: the follower ends above the leader's end
	CutByRebuild       Cut = "leader-log-start"    // out of range: the follower ends below the leader's start
	CutNowhere         Cut = "offset-not-in-range" // out of range, and nothing that the follower does helps
)

// Truncation is what a follower does to its log when it meets a leader, before it
// fetches the first record.
type Truncation struct {
	// To is the follower's log end afterwards, exclusive. After a rebuild it is the
	// leader's log start, where the new log begins.
	To  int64
	How Cut
	// Rebuild: the whole log is thrown away (UnifiedLog.truncateFullyAndStartAt). Its
	// files stay as .deleted until file.delete.delay.ms is over.
	Rebuild bool
	// CutTo is the log end when the rebuild began, after what was cut before; else To.
	CutTo int64
	// Stuck: every fetch is answered with OFFSET_OUT_OF_RANGE, for as long as this
	// leader leads. The log stays as it is and nothing is replicated (KAFKA-15608).
	Stuck bool
	// Rounds is how many answers of the leader it took.
	Rounds int
	// Epochs is the follower's cache afterwards.
	Epochs epoch.Cache
}

// Truncate predicts what a follower cuts off when it begins to fetch from a leader
// that has its epoch already (BecomeLeader). It is a function of both epoch caches
// and both log ends alone: Kafka compares no records.
//
//	follower                                    leader
//	   | HighWatermarkEra: cut at own high watermark
//	   |---- KIP101, KIP279: last epoch? --------->|  OffsetsForLeaderEpoch
//	   |<--- (epoch,) end offset of it ------------|
//	   |---- FetchEra: fetch at end, last epoch -->|  Fetch
//	   |<--- diverging epoch and its end offset ---|  cut, ask again
//	   |<--- OFFSET_OUT_OF_RANGE ------------------|  cut at the leader's end, or start anew
//
// Sources: AbstractFetcherThread (getOffsetTruncationState, truncateToHighWatermark,
// fetchOffsetAndApplyTruncateAndBuild), ReplicaManager.initialFetchOffset,
// Partition.readRecords; for KIP-101 ReplicaFetcherThread.maybeTruncate of 1.1.
func Truncate(era Era, leader, follower State) Truncation {
	t := truncating{era: era, leader: leader, f: follower, how: CutByEpoch}
	if follower.Legacy {
		t.f.Epochs = nil
	}
	if leader.Legacy {
		t.leader.Epochs = nil
	}
	t.f.Epochs = t.f.Epochs.TruncateFromEnd(t.f.LogEnd)
	t.run()
	if !t.rebuild {
		t.cutTo = t.f.LogEnd
	}
	return Truncation{To: t.f.LogEnd, How: t.how, Rebuild: t.rebuild, CutTo: t.cutTo, Stuck: t.stuck, Rounds: t.rounds, Epochs: t.f.Epochs}
}

type truncating struct {
	era     Era
	leader  State
	f       State // the follower, as it is by now
	how     Cut
	rounds  int
	rebuild bool
	cutTo   int64
	stuck   bool
}

func (t *truncating) run() {
	watermark := min(t.f.HighWatermark, t.f.LogEnd)
	switch {
	case t.era == HighWatermarkEra || len(t.f.Epochs) == 0:
		t.cut(watermark, CutByHighWatermark)
	case t.era == KIP101:
		// One question; the answer is an offset without its epoch.
		t.rounds++
		if end := t.endBeforeKIP279(t.f.Epochs.Latest()); end < 0 {
			t.cut(watermark, CutByHighWatermark)
		} else {
			t.cut(end, CutByEpoch)
		}
	case t.era == KIP279:
		t.ask(watermark)
	}
	t.fetch()
}

// cut truncates the follower if it ends above an offset.
func (t *truncating) cut(to int64, how Cut) {
	t.how = how
	t.f.LogEnd = min(to, t.f.LogEnd)
	t.f.Epochs = t.f.Epochs.TruncateFromEnd(t.f.LogEnd)
	t.f.HighWatermark = min(t.f.HighWatermark, t.f.LogEnd)
	t.f.LogStart = min(t.f.LogStart, t.f.LogEnd)
}

// endBeforeKIP279 is LeaderEpochFileCache.endOffsetFor of 0.11 to 1.1: it knows
// nothing of epochs before its first one. -1 is undefined.
func (t *truncating) endBeforeKIP279(requested int32) int64 {
	if len(t.leader.Epochs) > 0 && requested < t.leader.Epochs[0].Epoch {
		return -1
	}
	_, end := t.leader.Epochs.EndOffsetFor(requested, t.leader.LogEnd)
	return end
}

// ask is the dialogue of KIP-279: the last epoch again and again, until both know it.
func (t *truncating) ask(watermark int64) {
	for len(t.f.Epochs) > 0 {
		t.rounds++
		e, end := t.leader.Epochs.EndOffsetFor(t.f.Epochs.Latest(), t.leader.LogEnd)
		if end < 0 {
			t.cut(min(watermark, t.f.LogEnd), CutByHighWatermark)
			return
		}
		to, done := t.agree(e, end)
		t.cut(to, CutByEpoch)
		if done {
			return
		}
	}
}

// agree is AbstractFetcherThread.getOffsetTruncationState: where to cut when the
// leader says that its epoch e ends at end, and whether that was the last question.
func (t *truncating) agree(e int32, end int64) (to int64, done bool) {
	mine, myEnd := t.f.Epochs.EndOffsetFor(e, t.f.LogEnd)
	switch {
	case myEnd < 0:
		return min(end, t.f.LogEnd), true
	case mine != e:
		return min(myEnd, t.f.LogEnd), false
	}
	return min(myEnd, end, t.f.LogEnd), true
}

// fetch fetches until the leader accepts the offset. Since 2.8 the fetch carries the
// last epoch of the follower's cache, if it has one; before, and without one, the
// leader looks at the offset alone.
func (t *truncating) fetch() {
	for {
		inRange := t.leader.LogStart <= t.f.LogEnd && t.f.LogEnd <= t.leader.LogEnd
		if t.era == FetchEra && len(t.f.Epochs) > 0 {
			last := t.f.Epochs.Latest()
			t.rounds++
			e, end := t.leader.Epochs.EndOffsetFor(last, t.leader.LogEnd)
			switch {
			case e < 0 || end < 0 || t.f.LogEnd < t.leader.LogStart:
				inRange = false
			case e < last || end < t.f.LogEnd:
				// Every round drops an entry of the cache or lowers the end.
				to, _ := t.agree(e, end)
				t.cut(to, CutByEpoch)
				continue
			}
		}
		if inRange {
			return
		}
		if !t.outOfRange() {
			t.stuck, t.how = true, CutNowhere
			return
		}
	}
}

// outOfRange is what a follower does about OFFSET_OUT_OF_RANGE. It reports whether
// anything changed.
func (t *truncating) outOfRange() bool {
	switch {
	case t.rebuild:
		return false // only a leader whose start lies above its end can say so again
	case t.leader.LogEnd < t.f.LogEnd:
		t.cut(t.leader.LogEnd, CutByLeaderEnd)
		return true
	case t.leader.LogStart > t.f.LogEnd:
		t.how, t.rebuild, t.cutTo = CutByRebuild, true, t.f.LogEnd
		t.f.LogStart, t.f.LogEnd, t.f.HighWatermark, t.f.Epochs = t.leader.LogStart, t.leader.LogStart, t.leader.LogStart, nil
		return true
	}
	return false
}
