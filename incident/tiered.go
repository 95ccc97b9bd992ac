package incident

import (
	"fmt"
	"slices"

	"kafsck/commitment"
	"kafsck/replica"
)

// remoteTier stands for the remote storage among the holders of records.
var remoteTier = BrokerRef{ID: -900, Name: "remote tier"}

// IsRemoteTier tells the remote storage from brokers.
func (b BrokerRef) IsRemoteTier() bool { return b == remoteTier }

// RemoteState is the state of a copy in the remote tier.
const RemoteState replica.State = "remote"

// tieredRun is a run of offsets of one epoch in a remote segment.
type tieredRun struct {
	commitment.TieredSegment
	held bool
}

// tiered are the runs of this partition's finished remote segments, by epoch.
func (j *judgement) tiered() []tieredRun {
	if j.tieredOnce {
		return j.tieredRuns
	}
	j.tieredOnce = true
	if slices.Contains(internalTopics, j.p.Topic) || j.p.Topic == remoteLogTopic {
		return nil
	}
	for _, s := range j.inc.RemoteSegments(j.ctx).Of(j.p) {
		if !s.Known || !s.Finished {
			continue
		}
		for i, e := range s.Epochs {
			to := s.To
			if i+1 < len(s.Epochs) {
				to = min(to, s.Epochs[i+1].Start)
			}
			from := max(s.From, e.Start)
			if from >= to {
				continue
			}
			at := s.FinishedAt
			j.tieredRuns = append(j.tieredRuns, tieredRun{commitment.TieredSegment{From: from, To: to, Epoch: e.Epoch, ID: s.ID.String(),
				Source: fmt.Sprintf("%s, %s-%d offset %d", at.File, remoteLogTopic, at.Partition, at.Offset)}, s.Held()})
		}
	}
	return j.tieredRuns
}

const remoteLogTopic = "__remote_log_metadata"

// tieredWitness prepares the remote segments as a witness.
func (j *judgement) tieredWitness() commitment.Witness {
	w := &commitment.Tiered{}
	for _, r := range j.tiered() {
		w.Segments = append(w.Segments, r.TieredSegment)
	}
	if len(w.Segments) == 0 {
		return nil
	}
	return w
}

// alsoRemote adds the remote tier to the holders of a loss that it holds whole.
func (j *judgement) alsoRemote(l *Loss, e int32) {
	for _, r := range j.tiered() {
		if r.held && r.Epoch == e && r.From <= *l.From && *l.To <= r.To {
			l.HeldBy = append(slices.Clone(l.HeldBy), remoteTier)
			l.Copies = append(slices.Clone(l.Copies), CopyRef{Broker: remoteTier, State: RemoteState, File: r.ID})
			return
		}
	}
}

// onlyRemote finds records that the remote tier holds in an epoch that the ruling log
// left below them, and no copy among the inputs does: brokers do not serve them any
// more, since their epoch is not in the leader's lineage there.
func (j *judgement) onlyRemote(ruler *Copy) []Loss {
	if j.p.Ruling.Policy == compactPolicy || ruler.Log.LatestEpoch() < 0 {
		return nil
	}
	var out []Loss
	for _, r := range j.tiered() {
		left, ok := j.leavesEpoch(ruler, r.Epoch)
		if !ok {
			continue
		}
		s := replica.Span{From: max(r.From, left, ruler.Log.LogStartOffset), To: r.To}
		if s.From >= s.To {
			continue
		}
		w := &commitment.Tiered{Segments: []commitment.TieredSegment{r.TieredSegment}}
		for _, x := range j.notInCopies(s, []int32{r.Epoch}) {
			proof, _ := w.Testify(&commitment.Piece{From: x.From, To: x.To, Epoch: r.Epoch})
			cause := j.causeOfCut(ruler, x, []int32{r.Epoch})
			l := trace(ptr(x.From), ptr(x.To), commitment.Yes, cause, proof)
			l.Epochs, l.Election = []int32{r.Epoch}, j.electionAfter(r.Epoch, cause)
			if r.held {
				l.HeldBy, l.Copies = []BrokerRef{remoteTier}, []CopyRef{{Broker: remoteTier, State: RemoteState, File: r.ID}}
			}
			out = append(out, l)
		}
	}
	return out
}
