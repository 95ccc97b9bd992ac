package report

import (
	"cmp"
	"slices"

	"kafsck/commitment"
	"kafsck/incident"
)

type metadataCopyLine struct {
	Type       string     `json:"type"`
	Cluster    *string    `json:"cluster"`
	Broker     brokerID   `json:"broker"`
	Dir        string     `json:"dir"`
	From       *int64     `json:"from"`
	To         *int64     `json:"to"`
	RaftEpoch  *int32     `json:"raftEpoch"`
	EndTime    *string    `json:"endTime"`
	EndTimeMs  *int64     `json:"endTimeMs"`
	Newest     bool       `json:"newest"`
	LagRecords int64      `json:"lagRecords"`
	LagMs      *int64     `json:"lagMs"`
	Adds       int        `json:"adds"`
	ForkAt     *int64     `json:"forkAt"`
	ForkSure   *bool      `json:"forkSure"`
	Damaged    int        `json:"damaged"`
	Gaps       [][2]int64 `json:"gaps"`
}

type metadataHistoryLine struct {
	Type        string     `json:"type"`
	Cluster     *string    `json:"cluster"`
	Copies      int        `json:"copies"`
	From        int64      `json:"from"`
	FromTime    *string    `json:"fromTime"`
	FromTimeMs  *int64     `json:"fromTimeMs"`
	Snapshot    *string    `json:"snapshot"`
	Oldest      int64      `json:"oldest"`
	To          int64      `json:"to"`
	EndTime     *string    `json:"endTime"`
	EndTimeMs   *int64     `json:"endTimeMs"`
	Gaps        [][2]int64 `json:"gaps"`
	Backwards   int        `json:"backwards"`
	BackwardsMs int64      `json:"backwardsMs"`
}

type leadershipLine struct {
	Type           string  `json:"type"`
	Partition      string  `json:"partition"`
	TopicID        *string `json:"topicId"`
	Leader         int32   `json:"leader"`
	LeaderEpoch    int32   `json:"leaderEpoch"`
	PartitionEpoch int32   `json:"partitionEpoch"`
	ISR            []int32 `json:"isr"`
	ELR            []int32 `json:"elr"`
	LastKnownELR   []int32 `json:"lastKnownElr"`
	Replicas       []int32 `json:"replicas"`
	Adding         []int32 `json:"adding"`
	Removing       []int32 `json:"removing"`
	Recovering     bool    `json:"recovering"`
	Unclean        bool    `json:"unclean"`
	PreviousLeader *int32  `json:"previousLeader"`
	LeaderWritten  bool    `json:"leaderWritten"`
	FromSnapshot   bool    `json:"fromSnapshot"`
	Uncertain      bool    `json:"uncertain"`
	TopicDeleted   bool    `json:"topicDeleted"`
	MetadataOffset int64   `json:"metadataOffset"`
	RaftEpoch      int32   `json:"raftEpoch"`
	Time           *string `json:"time"`
	TimeMs         *int64  `json:"timeMs"`
}

type uncleanElectionLine struct {
	Type           string       `json:"type"`
	Partition      string       `json:"partition"`
	TopicID        *string      `json:"topicId"`
	Leader         int32        `json:"leader"`
	LeaderEpoch    int32        `json:"leaderEpoch"`
	PreviousLeader *int32       `json:"previousLeader"`
	SameLeader     bool         `json:"sameLeader"`
	ISRBefore      []int32      `json:"isrBefore"`
	ELRBefore      []int32      `json:"elrBefore"`
	Recovering     bool         `json:"recovering"`
	Enabled        *string      `json:"uncleanLeaderElectionEnable"`
	EnabledSource  *string      `json:"enabledSource"`
	MetadataOffset int64        `json:"metadataOffset"`
	Time           *string      `json:"time"`
	TimeMs         *int64       `json:"timeMs"`
	Lost           string       `json:"lost"`
	Why            string       `json:"why"`
	Losses         []lostByLine `json:"losses"`
	AskFor         []int32      `json:"askFor"`
}

type lostByLine struct {
	From      *int64           `json:"from"`
	To        *int64           `json:"to"`
	Records   *int64           `json:"records"`
	Epochs    []int32          `json:"epochs"`
	Basis     string           `json:"basis"`
	ToExact   bool             `json:"toExact"`
	Committed commitment.Grade `json:"committed"`
	HeldBy    []brokerID       `json:"heldBy"`
}

type metadataEventLine struct {
	Type           string  `json:"type"`
	Event          string  `json:"event"`
	Topic          *string `json:"topic"`
	TopicID        *string `json:"topicId"`
	Broker         *int32  `json:"broker"`
	Resource       *string `json:"resource"`
	Name           *string `json:"name"`
	Value          *string `json:"value"`
	FromSnapshot   bool    `json:"fromSnapshot"`
	MetadataOffset int64   `json:"metadataOffset"`
	To             *int64  `json:"to"`
	Time           *string `json:"time"`
	TimeMs         *int64  `json:"timeMs"`
}

type churnLine struct {
	Type              string  `json:"type"`
	Partition         string  `json:"partition"`
	TopicID           *string `json:"topicId"`
	Elections         int     `json:"elections"`
	LeaderChanges     int     `json:"leaderChanges"`
	UncleanElections  int     `json:"uncleanElections"`
	ISRShrinks        int     `json:"isrShrinks"`
	ISRExpands        int     `json:"isrExpands"`
	Reassigned        int     `json:"reassigned"`
	LeaderlessMs      int64   `json:"leaderlessMs"`
	UnderMinISRMs     *int64  `json:"underMinIsrMs"`
	UnderMinISR       int     `json:"underMinIsr"`
	MinISR            *int    `json:"minIsr"`
	MinISRSource      *string `json:"minIsrSource"`
	RecoveringAtStart bool    `json:"recoveringAtStart"`
	NewerEpochInLogs  *int32  `json:"newerEpochInLogs"`
	Least             bool    `json:"least"`
}

type brokerHistoryLine struct {
	Type                string  `json:"type"`
	Cluster             *string `json:"cluster"`
	Broker              int32   `json:"broker"`
	Registered          int     `json:"registered"`
	Unregistered        int     `json:"unregistered"`
	Fenced              int     `json:"fenced"`
	Unfenced            int     `json:"unfenced"`
	ControlledShutdowns int     `json:"controlledShutdowns"`
	FencedMs            int64   `json:"fencedMs"`
	LeadershipsGained   int     `json:"leadershipsGained"`
	LeadershipsLost     int     `json:"leadershipsLost"`
	UncleanlyElected    int     `json:"uncleanlyElected"`
	LeftISR             int     `json:"leftIsr"`
	JoinedISR           int     `json:"joinedIsr"`
	State               string  `json:"state"`
	BrokerEpoch         *int64  `json:"brokerEpoch"`
}

type timelineLine struct {
	Type           string     `json:"type"`
	Time           *string    `json:"time"`
	TimeMs         *int64     `json:"timeMs"`
	RawTimeMs      *int64     `json:"rawTimeMs"`
	Clock          *string    `json:"clock"`
	ClockOf        *int32     `json:"clockOf"`
	OutOfOrder     bool       `json:"outOfOrder"`
	Kind           string     `json:"kind"`
	Partition      *string    `json:"partition"`
	TopicID        *string    `json:"topicId"`
	Brokers        []brokerID `json:"brokers"`
	MetadataOffset *int64     `json:"metadataOffset"`
	From           *int64     `json:"from"`
	To             *int64     `json:"to"`
	LeaderEpoch    *int32     `json:"leaderEpoch"`
	What           string     `json:"what"`
	Source         string     `json:"source"`
}

// MetadataCopies writes where a history comes from: a line for each copy, and one for
// all together.
func (j *JSON) MetadataCopies(h *incident.History) {
	for i := range h.Copies {
		c := &h.Copies[i]
		l := metadataCopyLine{Type: "metadata-copy", Cluster: text(h.Cluster.ID), Broker: brokerOf(c.Broker), Dir: c.Dir, From: atLeast0(c.Line.From), To: atLeast0(c.Line.To),
			RaftEpoch: atLeast0(c.Log.RaftEpoch), Newest: i == 0, LagRecords: c.LagRecords, LagMs: atLeast0(c.LagMs), Adds: c.Line.Adds, ForkAt: atLeast0(c.Line.ForkAt),
			Damaged: len(c.Log.Damaged) + c.Log.DamagedDropped, Gaps: [][2]int64{}}
		if c.Line.ForkAt >= 0 {
			l.ForkSure = &c.Line.Agreed
		}
		l.EndTime, l.EndTimeMs = timestamp(c.Log.EndTimeMs)
		for _, g := range c.Log.Gaps {
			l.Gaps = append(l.Gaps, [2]int64{g.From, g.To})
		}
		j.Line(l)
	}
	if h.Log == nil {
		return
	}
	r := &h.Reach
	l := metadataHistoryLine{Type: "metadata-history", Cluster: text(h.Cluster.ID), Copies: len(h.Copies), From: r.From, Snapshot: text(r.Snapshot), Oldest: r.Oldest, To: r.To,
		Gaps: [][2]int64{}, Backwards: h.Backwards.Count, BackwardsMs: h.Backwards.ByMs}
	l.FromTime, l.FromTimeMs = timestamp(r.FromMs)
	l.EndTime, l.EndTimeMs = timestamp(r.ToMs)
	for _, g := range h.Log.Gaps {
		l.Gaps = append(l.Gaps, [2]int64{g.From, g.To})
	}
	j.Line(l)
}

// LeadershipChanges writes one line a change of a partition, of all partitions in metadata
// order: the last of a partition is its state.
func (j *JSON) LeadershipChanges(h *incident.History) {
	type place struct {
		offset           int64
		partition, index int
	}
	var order []place
	for k, p := range h.Partitions {
		for i := range p.Changes {
			if ms := p.Changes[i].TimeMs; ms < 0 || h.FromMs <= ms && ms < h.ToMs {
				order = append(order, place{p.Changes[i].Offset, k, i})
			}
		}
	}
	slices.SortFunc(order, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.partition, b.partition), cmp.Compare(a.index, b.index))
	})
	for _, at := range order {
		p := h.Partitions[at.partition]
		c := &p.Changes[at.index]
		l := leadershipLine{Type: "leadership", Partition: p.Name, TopicID: text(p.Topic.ID.String()), Leader: c.Leader, LeaderEpoch: c.LeaderEpoch, PartitionEpoch: c.PartitionEpoch,
			ISR: orEmpty(c.ISR), ELR: orEmpty(c.ELR), LastKnownELR: orEmpty(c.LastKnownELR), Replicas: orEmpty(c.Replicas), Adding: orEmpty(c.Adding), Removing: orEmpty(c.Removing),
			Recovering: c.Recovering, Unclean: c.Unclean, PreviousLeader: atLeast0(c.PrevLeader), LeaderWritten: c.LeaderWritten, FromSnapshot: c.FromSnapshot, Uncertain: c.Uncertain,
			TopicDeleted: p.Topic.RemovedAt >= 0, MetadataOffset: c.Offset, RaftEpoch: c.RaftEpoch}
		l.Time, l.TimeMs = timestamp(c.TimeMs)
		j.Line(l)
	}
}

// MetadataEvents writes what happened beside the partitions, in metadata order.
func (j *JSON) MetadataEvents(h *incident.History) {
	for i := range h.Events {
		e := &h.Events[i]
		l := metadataEventLine{Type: "metadata-event", Event: e.Kind, Topic: text(e.Topic), Broker: atLeast0(e.Broker), Resource: text(e.Resource), Name: text(e.Name), Value: e.Value,
			FromSnapshot: e.FromSnapshot, MetadataOffset: e.Offset}
		if !e.TopicID.IsZero() {
			l.TopicID = text(e.TopicID.String())
		}
		if e.To > 0 {
			l.To = &e.To
		}
		l.Time, l.TimeMs = timestamp(e.TimeMs)
		j.Line(l)
	}
}

// UncleanElections writes the unclean elections of a partition and its totals.
func (j *JSON) UncleanElections(p *incident.PartitionHistory) {
	for i := range p.Unclean {
		u := &p.Unclean[i]
		c := &p.Changes[u.Index]
		l := uncleanElectionLine{Type: "unclean-election", Partition: p.Name, TopicID: text(p.Topic.ID.String()), Leader: c.Leader, LeaderEpoch: c.LeaderEpoch,
			PreviousLeader: atLeast0(c.PrevLeader), SameLeader: u.SameLeader, Recovering: c.Recovering, Enabled: text(u.Enabled), EnabledSource: text(u.EnabledSource),
			MetadataOffset: c.Offset, Lost: string(u.Lost), Why: u.Why, Losses: []lostByLine{}, AskFor: orEmpty(u.AskFor)}
		if u.Before != nil {
			l.ISRBefore, l.ELRBefore = orEmpty(u.Before.ISR), orEmpty(u.Before.ELR)
		}
		l.Time, l.TimeMs = timestamp(c.TimeMs)
		for k := range u.Losses {
			x := &u.Losses[k]
			lost := lostByLine{x.From, x.To, x.Records, orEmpty(x.Epochs), x.Basis, x.ToExact, x.Committed, []brokerID{}}
			for _, b := range x.HeldBy {
				lost.HeldBy = append(lost.HeldBy, brokerOf(b))
			}
			l.Losses = append(l.Losses, lost)
		}
		j.Line(l)
	}
	n := &p.Churn
	l := churnLine{Type: "churn", Partition: p.Name, TopicID: text(p.Topic.ID.String()), Elections: n.Elections, LeaderChanges: n.LeaderChanges, UncleanElections: n.Unclean,
		ISRShrinks: n.Shrinks, ISRExpands: n.Expands, Reassigned: n.Reassigned, LeaderlessMs: n.LeaderlessMs, UnderMinISRMs: n.UnderMinISRMs, UnderMinISR: n.Under,
		MinISRSource: text(n.MinISRSource), RecoveringAtStart: p.RecoveringBefore, NewerEpochInLogs: atLeast0(p.Ahead), Least: n.Gaps}
	if n.MinISR > 0 {
		l.MinISR = &n.MinISR
	}
	j.Line(l)
}

// BrokerHistories writes the totals of each broker.
func (j *JSON) BrokerHistories(h *incident.History) {
	for _, b := range h.Brokers {
		l := brokerHistoryLine{Type: "broker-history", Cluster: text(h.Cluster.ID), Broker: b.ID, Registered: b.Registered, Unregistered: b.Unregistered, Fenced: b.Fenced, Unfenced: b.Unfenced,
			ControlledShutdowns: b.ControlledStops, FencedMs: b.FencedMs, LeadershipsGained: b.LeaderGained, LeadershipsLost: b.LeaderLost, UncleanlyElected: b.UncleanlyElected,
			LeftISR: b.LeftISR, JoinedISR: b.JoinedISR, State: brokerState(b)}
		if b.Known {
			l.BrokerEpoch = &b.Last.BrokerEpoch
		}
		j.Line(l)
	}
}

// Timeline writes the rows of a timeline in their order.
func (j *JSON) Timeline(events []incident.TimelineEvent) {
	for i := range events {
		e := &events[i]
		l := timelineLine{Type: "timeline", RawTimeMs: atLeast0(e.RawMs), Clock: text(string(e.Clock)), ClockOf: atLeast0(e.ClockOf), OutOfOrder: e.Backwards, Kind: e.Kind,
			Partition: text(e.Partition), TopicID: text(e.TopicID), Brokers: []brokerID{}, MetadataOffset: atLeast0(e.MetadataOffset), From: atLeast0(e.From), To: atLeast0(e.To),
			LeaderEpoch: atLeast0(e.Epoch), What: e.Says, Source: e.Source}
		for _, b := range e.Brokers {
			l.Brokers = append(l.Brokers, brokerOf(b))
		}
		l.Time, l.TimeMs = timestamp(e.TimeMs)
		j.Line(l)
	}
}

// TimelineNotes writes what to make of the times.
func (j *JSON) TimelineNotes(notes []string) {
	for _, n := range notes {
		j.Line(noteLine{"note", "timeline", []string{}, n})
	}
}
