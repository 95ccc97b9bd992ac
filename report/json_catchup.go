package report

import (
	"math"
	"strings"

	"kafsck/broker"
	"kafsck/commitment"
	"kafsck/incident"
)

type catchupLine struct {
	Type            string                 `json:"type"`
	Partition       string                 `json:"partition"`
	TopicID         *string                `json:"topicId"`
	Broker          brokerID               `json:"broker"`
	Dir             *string                `json:"dir"`
	State           incident.FollowerState `json:"state"`
	Leader          brokerID               `json:"leader"`
	LeaderGuess     bool                   `json:"leaderGuess"`
	LeaderWhy       string                 `json:"leaderWhy"`
	LogEndOffset    *int64                 `json:"logEndOffset"`
	TruncateTo      *int64                 `json:"truncateTo"`
	CutByStart      *offsetRangeLine       `json:"cutByStart"`
	Then            broker.Way             `json:"then"`
	Why             *string                `json:"why"`
	StuckAt         *int64                 `json:"stuckAt"`
	From            int64                  `json:"from"`
	To              int64                  `json:"to"`
	FirstBatch      *int64                 `json:"firstBatch"`
	FirstSegment    int64                  `json:"firstSegment"`
	LogStartOffset  int64                  `json:"logStartOffset"`
	FetchBytes      int64                  `json:"fetchBytes"`
	KeptBytes       int64                  `json:"keptBytes"`
	CutBytes        int64                  `json:"cutBytes"`
	DeletedBytes    int64                  `json:"deletedBytes"`
	DeletedSegments []int64                `json:"deletedSegments"`
	EmptyDeleted    *int64                 `json:"emptyDeleted"`
	WriteRate       float64                `json:"writeRate"`
	Seconds         *float64               `json:"seconds"`
	Never           bool                   `json:"never"`
	Lost            []followerLostPart     `json:"lost"`
}

// followerLostPart is a range of records that a follower throws away and its leader lacks.
type followerLostPart struct {
	From      int64      `json:"from"`
	To        int64      `json:"to"`
	Records   int64      `json:"records"`
	Committed string     `json:"committed"`
	HeldBy    []brokerID `json:"heldBy"`
}

func followerLost(list []incident.GoneRecords) []followerLostPart {
	out := []followerLostPart{}
	for i := range list {
		g := &list[i]
		x := followerLostPart{g.From, g.To, g.Records, string(g.Committed), []brokerID{}}
		for _, b := range g.HeldBy {
			x.HeldBy = append(x.HeldBy, brokerOf(b))
		}
		out = append(out, x)
	}
	return out
}

type catchupSpaceLine struct {
	LogDir string `json:"logDir"`
	Bytes  int64  `json:"bytes"`
	Peak   int64  `json:"peakBytes"`
	After  int64  `json:"afterBytes"`
	Grows  bool   `json:"grows"`
}

type catchupNeedLine struct {
	Side           string   `json:"side"`
	Broker         brokerID `json:"broker"`
	Above          float64  `json:"above"`
	SecondsAtTwice *float64 `json:"secondsAtTwice"`
}

type catchupTotalLine struct {
	Type           string             `json:"type"`
	Broker         brokerID           `json:"broker"`
	Moves          bool               `json:"moves"`
	AtMost         bool               `json:"atMost"`
	Replicas       int                `json:"replicas"`
	InSync         int                `json:"inSync"`
	CatchUp        int                `json:"catchUp"`
	Rebuild        int                `json:"rebuild"`
	Stuck          int                `json:"stuck"`
	Truncated      int                `json:"truncated"`
	NeverCatchUp   int                `json:"neverCatchUp"`
	FetchBytes     int64              `json:"fetchBytes"`
	CutBytes       int64              `json:"cutBytes"`
	DeletedBytes   int64              `json:"deletedBytes"`
	Throttle       *float64           `json:"throttle"`
	LeaderThrottle *float64           `json:"leaderThrottle"`
	MoveThrottle   *float64           `json:"moveThrottle"`
	Rate           *float64           `json:"rate"`
	LeaderRate     *float64           `json:"leaderRate"`
	RateInForce    bool               `json:"rateInForce"`
	LostRecords    map[string]int64   `json:"lostRecords"`
	WriteRate      float64            `json:"writeRate"`
	DeleteDelayMs  int64              `json:"deleteDelayMs"`
	Seconds        *float64           `json:"seconds"`
	Never          bool               `json:"never"`
	Needs          []catchupNeedLine  `json:"needs"`
	Dirs           []catchupSpaceLine `json:"dirs"`
}

type catchupUntoldLine struct {
	Type      string  `json:"type"`
	Partition string  `json:"partition"`
	TopicID   *string `json:"topicId"`
	Why       string  `json:"why"`
}

type throttleCommandLine struct {
	Type    string   `json:"type"`
	Purpose string   `json:"purpose"`
	Layer   string   `json:"layer"`
	Entity  string   `json:"entity"`
	Command []string `json:"command"`
}

type throttleInForceLine struct {
	Type   string `json:"type"`
	Layer  string `json:"layer"`
	Entity string `json:"entity"`
	Name   string `json:"name"`
	Value  string `json:"value"`
}

// Catchups writes a line for each follower's replica, one for each broker, one for
// each partition of which nothing can be told, the throttles that the metadata hold,
// and the commands for one.
func (j *JSON) Catchups(p *incident.CatchupPlan, inForce []incident.ThrottleInForce, v broker.Version) {
	for i := range p.Followers {
		j.Line(catchupOf(&p.Followers[i]))
	}
	for i := range p.Brokers {
		j.Line(catchupTotalOf(p, &p.Brokers[i]))
	}
	for _, u := range p.Untold {
		j.Line(catchupUntoldLine{"not-predicted", u.Partition, text(u.TopicID), u.Why})
	}
	for _, x := range inForce {
		j.Line(throttleInForceLine{"throttle-in-force", x.Layer, x.Entity, x.Name, x.Value})
	}
	for _, c := range ThrottleCommands(p, v) {
		j.Line(throttleCommandLine{"throttle-command", c.Purpose, c.Layer, c.Entity, c.Words})
	}
}

func catchupOf(t *incident.TimedCatchup) catchupLine {
	l := catchupLine{Type: "predicted-catchup", Partition: t.Partition, TopicID: text(t.TopicID), Broker: brokerOf(t.Follower), Dir: text(t.Dir), State: t.State,
		Leader: brokerOf(t.Leader), LeaderGuess: t.Guess, LeaderWhy: t.LeaderWhy, Then: t.Way, Why: text(t.Why), From: t.FetchFrom, To: max(t.FetchTo, t.FetchFrom),
		FirstSegment: t.FirstSegment, LogStartOffset: t.Catchup.LogStart, FetchBytes: t.FetchBytes, KeptBytes: t.KeptBytes, CutBytes: t.CutBytes, DeletedBytes: t.DeletedBytes,
		DeletedSegments: append([]int64{}, t.DeletedSegments...), WriteRate: t.Write}
	if t.State == incident.FollowerLive || t.State == incident.FollowerFuture {
		l.LogEndOffset, l.TruncateTo = &t.LogEnd, &t.TruncateTo
	}
	if t.CutByStart.From < t.CutByStart.To {
		l.CutByStart = &offsetRangeLine{t.CutByStart.From, t.CutByStart.To}
	}
	l.FirstBatch, l.StuckAt, l.EmptyDeleted = orNull(t.FirstBatch), orNull(t.StuckAt), orNull(t.EmptyDeleted)
	l.Seconds, l.Never = secondsOf(t.Seconds)
	l.Lost = followerLost(t.Lost)
	return l
}

func catchupTotalOf(p *incident.CatchupPlan, b *incident.BrokerCatchup) catchupTotalLine {
	l := catchupTotalLine{Type: "predicted-catchup-total", Broker: brokerOf(b.Follower), Moves: b.Moves, AtMost: b.Absent,
		InSync: b.Replicas[broker.InSync], CatchUp: b.Replicas[broker.CatchUp], Rebuild: b.Replicas[broker.Rebuild], Stuck: b.Replicas[broker.Stuck],
		Truncated: b.Truncated, NeverCatchUp: b.Never, FetchBytes: b.FetchBytes, CutBytes: b.CutBytes, DeletedBytes: b.DeletedBytes,
		Throttle: limit(p.Rates.Throttle), LeaderThrottle: limit(p.Rates.LeaderThrottle), MoveThrottle: limit(p.Rates.Move),
		Rate: limit(b.Rate), LeaderRate: limit(b.LeaderRate), RateInForce: b.InForce, LostRecords: map[string]int64{},
		WriteRate: b.Write, DeleteDelayMs: p.Rates.DeleteDelay.Milliseconds(), Needs: []catchupNeedLine{}, Dirs: []catchupSpaceLine{}}
	for _, g := range []commitment.Grade{commitment.Yes, commitment.Unknown, commitment.No} {
		l.LostRecords[string(g)] = b.Lost[g]
	}
	l.Replicas = l.InSync + l.CatchUp + l.Rebuild + l.Stuck
	l.Seconds, l.Never = secondsOf(b.Seconds)
	for _, n := range b.Needs {
		at, _ := secondsOf(n.AtTwice)
		l.Needs = append(l.Needs, catchupNeedLine{n.Side, brokerOf(n.Broker), n.Rate, at})
	}
	for _, d := range b.Dirs {
		l.Dirs = append(l.Dirs, catchupSpaceLine{strings.ToValidUTF8(d.Path, "\uFFFD"), d.Now, d.Peak, d.After, d.Grows})
	}
	return l
}

// secondsOf is null for a time that is not known, and for one that never comes.
func secondsOf(s float64) (*float64, bool) {
	if math.IsNaN(s) || math.IsInf(s, 0) {
		return nil, math.IsInf(s, 1)
	}
	s = math.Round(s*1000) / 1000
	return &s, false
}

// limit is null for a rate that is not given.
func limit(rate float64) *float64 {
	if rate <= 0 {
		return nil
	}
	return &rate
}

// orNull is null for -1.
func orNull(offset int64) *int64 {
	if offset < 0 {
		return nil
	}
	return &offset
}
