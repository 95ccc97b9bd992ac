package incident

import (
	"fmt"
	"slices"
	"strings"

	"kafsck/serverlog"
)

// leaderByLogs makes the leader that the brokers' text logs name the ruling one, as a
// guess: no metadata confirm it. Where several led one after the other it depends on when
// the disks were copied: lines later than every file of these brokers do not count, and
// where a copy has changed the files' times nobody is taken, but what the logs say is in
// Ruling.Why, as it is where the leader's log is not among the inputs.
func (j *judgement) leaderByLogs(because string) {
	told := j.toldLeaders()
	if len(told) == 0 {
		return
	}
	r := &j.p.Ruling
	var says []string
	for _, l := range told {
		if l.Leader < 0 {
			says = append(says, fmt.Sprintf("nobody in epoch %d (%s)", l.Epoch, l.Source()))
			continue
		}
		says = append(says, fmt.Sprintf("broker %d in epoch %d (%s)", l.Leader, l.Epoch, l.Source()))
	}
	last := told[len(told)-1]
	if len(told) == 1 {
		for _, c := range j.readableLive() {
			if c.Broker.Known && c.Broker.ID == last.Leader {
				ref := c.Broker
				r.Leader, r.copy, r.Guess = &ref, c, true
				r.Why = fmt.Sprintf("guess (%s): by the brokers' text logs the leader was %s", because, says[0])
				return
			}
		}
	}
	r.Why += "; by the brokers' text logs the leader was " + strings.Join(says, ", then ")
	if len(told) > 1 {
		r.Why += ": which of them when the disks were copied, the files' times do not tell"
	}
}

// toldLeaders are the lines of the brokers' text logs that name who led when the disks were
// copied: one, or, where the time of the copy is not known, all that can be, in order.
func (j *judgement) toldLeaders() []*LogLine {
	copied := j.copiedAt()
	var told []*LogLine
	lines := j.inc.ServerLines(j.g.cluster, j.p.Topic, j.p.Number, j.p.TopicID)
	for i := range lines {
		l := &lines[i]
		if l.Kind != serverlog.LeaderKnown || l.Leader == serverlog.NotSaid || l.Epoch < j.latestEpoch() || l.TimeMs < 0 || copied >= 0 && l.TimeMs > copied {
			continue
		}
		switch n := len(told); {
		case n == 0 || l.Epoch > told[n-1].Epoch && l.Leader != told[n-1].Leader:
			told = append(told, l)
		case l.Epoch > told[n-1].Epoch:
			told[n-1] = l
		}
	}
	if copied >= 0 && len(told) > 1 {
		told = told[len(told)-1:]
	}
	return told
}

// copiedAt is by when the disks of the live replicas were copied, ms, by the newest of
// their files' times; -1 where a copy has changed these.
func (j *judgement) copiedAt() int64 {
	at := int64(-1)
	cl := j.g.cluster
	for _, b := range cl.Brokers {
		d := cl.disks[b]
		if !slices.ContainsFunc(j.readableLive(), func(c *Copy) bool { return c.disk == d }) {
			continue
		}
		if d.newest.IsZero() || timesLost(b, d) != "" {
			return -1
		}
		at = max(at, d.newest.UnixMilli()+copySlack.Milliseconds())
	}
	return at
}
