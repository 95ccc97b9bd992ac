package report

import (
	"kafsck/commitment"
	"kafsck/diff"
	"kafsck/incident"
	"kafsck/replica"
)

type predictedLeaderLine struct {
	Type             string           `json:"type"`
	Partition        string           `json:"partition"`
	TopicID          *string          `json:"topicId"`
	Leader           brokerID         `json:"leader"`
	LeaderEpoch      int32            `json:"leaderEpoch"`
	KafkaVersion     string           `json:"kafkaVersion"`
	EpochsFrom       string           `json:"epochsFrom"`
	Recommended      bool             `json:"recommended"`
	Tied             bool             `json:"tied"`
	Eligible         bool             `json:"eligible"`
	Leads            bool             `json:"leads"`
	CanLead          bool             `json:"canLead"`
	RepairFirst      bool             `json:"repairFirst"`
	Reason           *string          `json:"reason"`
	LogStartOffset   int64            `json:"logStartOffset"`
	LogEndOffset     int64            `json:"logEndOffset"`
	HighWatermark    int64            `json:"highWatermark"`
	CutByStart       *offsetRangeLine `json:"cutByStart"`
	CopiedLater      int64            `json:"copiedLater"`
	Lost             int64            `json:"lost"`
	LostCommitted    int64            `json:"lostCommitted"`
	LostUnknown      int64            `json:"lostUnknown"`
	NotCommitted     int64            `json:"notCommitted"`
	FetchBytes       int64            `json:"fetchBytes"`
	Followers        []followerLine   `json:"followers"`
	TransactionsOpen int              `json:"transactionsOpen"`
	Transactions     []brokenTxnLine  `json:"transactions"`
	Groups           []strandedLine   `json:"groups"`
	Losses           []lossLine       `json:"losses"`
	CutShort         []cutShortLine   `json:"cutShort"`
}

// cutShortLine is a replica that ends below its own high watermark.
type cutShortLine struct {
	Broker        brokerID `json:"broker"`
	LogEndOffset  int64    `json:"logEndOffset"`
	HighWatermark int64    `json:"highWatermark"`
}

type offsetRangeLine struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

type followerLine struct {
	Broker             brokerID       `json:"broker"`
	Then               string         `json:"then"`
	Reason             *string        `json:"reason"`
	LogEndOffset       int64          `json:"logEndOffset"`
	HighWatermark      int64          `json:"highWatermark"`
	TruncateTo         *int64         `json:"truncateTo"`
	DecidedBy          *string        `json:"decidedBy"`
	BelowHighWatermark bool           `json:"belowHighWatermark"`
	BatchBase          *int64         `json:"batchBase"`
	ThrownAwayRecords  int64          `json:"thrownAwayRecords"`
	ThrownAwayBytes    int64          `json:"thrownAwayBytes"`
	FetchedAgain       int64          `json:"fetchedAgainRecords"`
	FetchBytes         int64          `json:"fetchBytes"`
	Keeps              []keptLine     `json:"keeps"`
	Otherwise          *otherwiseLine `json:"otherwise"`
}

type keptLine struct {
	From int64     `json:"from"`
	To   int64     `json:"to"`
	Kind diff.Kind `json:"kind"`
}

type otherwiseLine struct {
	EpochsFrom string     `json:"epochsFrom"`
	Then       string     `json:"then"`
	Reason     *string    `json:"reason"`
	TruncateTo *int64     `json:"truncateTo"`
	Keeps      []keptLine `json:"keeps"`
}

type brokenTxnLine struct {
	ProducerID    int64                    `json:"producerId"`
	ProducerEpoch int16                    `json:"producerEpoch"`
	From          int64                    `json:"from"`
	Marker        int64                    `json:"marker"`
	State         replica.TransactionState `json:"state"`
	HeldBy        brokerID                 `json:"heldBy"`
}

type strandedLine struct {
	Group  string  `json:"group"`
	Offset int64   `json:"offset"`
	Meets  string  `json:"meets"`
	Time   *string `json:"time"`
	TimeMs *int64  `json:"timeMs"`
}

type recommendationLine struct {
	Type         string       `json:"type"`
	Partition    string       `json:"partition"`
	TopicID      *string      `json:"topicId"`
	Leader       brokerID     `json:"leader"`
	Verdict      string       `json:"verdict"`
	Why          string       `json:"why"`
	Ties         []brokerID   `json:"ties"`
	Election     *string      `json:"election"`
	Commands     []string     `json:"commands"`
	Absent       []absentLine `json:"absent"`
	CurrentKnown bool         `json:"currentKnown"`
	// UncleanEnabled is unclean.leader.election.enable, UncleanSource where it is set.
	UncleanEnabled bool    `json:"uncleanLeaderElection"`
	UncleanSource  *string `json:"uncleanLeaderElectionSource"`
	EraMatters     bool    `json:"releaseMatters"`
}

type absentLine struct {
	Broker   int32 `json:"broker"`
	Leads    bool  `json:"leads"`
	Eligible bool  `json:"eligible"`
	Unread   bool  `json:"unread"`
	Holds    bool  `json:"mayHold"`
}

const (
	epochsAsTheyAre   = "files"
	epochsRegenerated = "regenerated"
)

// epochSource names the epochs that a prediction was made with, or the other ones.
func epochSource(repaired bool) string {
	if repaired {
		return epochsRegenerated
	}
	return epochsAsTheyAre
}

// Leadership writes what would happen with each replica as leader, the best first, then
// the recommendation.
func (j *JSON) Leadership(p *incident.Partition) {
	l := p.Leadership
	if l == nil {
		return
	}
	for i := range l.Candidates {
		j.Line(predictedLeaderOf(p, l, i))
	}
	r := recommendationLine{Type: "leader-recommendation", Partition: p.Name, TopicID: text(p.TopicID), Verdict: verdictOf(l), Why: reasonOf(l), Ties: []brokerID{},
		Election: text(string(l.Election())), Commands: electionCommands(p), UncleanEnabled: l.Unclean.Enabled, UncleanSource: text(l.Unclean.Source), EraMatters: l.EraMatters, Absent: []absentLine{}, CurrentKnown: l.Known}
	if best := l.Recommended(); best != nil {
		r.Leader = brokerOf(best.Copy.Broker)
		for i := range l.Candidates[1:l.Best] {
			r.Ties = append(r.Ties, brokerOf(l.Candidates[i+1].Copy.Broker))
		}
	}
	for _, a := range l.Absent {
		r.Absent = append(r.Absent, absentLine{a.Broker, a.Leads, a.Eligible, a.Unread, a.Holds || a.LastKnown})
	}
	j.Line(r)
}

func predictedLeaderOf(p *incident.Partition, l *incident.Leadership, i int) predictedLeaderLine {
	c := &l.Candidates[i]
	out := predictedLeaderLine{Type: "predicted-leader", Partition: p.Name, TopicID: text(p.TopicID), Leader: brokerOf(c.Copy.Broker), LeaderEpoch: c.Epoch,
		KafkaVersion: l.Version.String(), EpochsFrom: epochSource(l.Repaired), Recommended: i == 0 && l.Best > 0, Tied: l.Best > 1 && i < l.Best,
		Eligible: c.Eligible, Leads: c.Leads, CanLead: c.CannotLead == "", RepairFirst: c.RepairFirst, CutShort: []cutShortLine{}, Reason: text(c.CannotLead),
		LogStartOffset: c.State.LogStart, LogEndOffset: c.State.LogEnd, HighWatermark: c.State.HighWatermark, CopiedLater: c.CopiedLater,
		Lost: c.LostAll(), LostCommitted: c.Lost[commitment.Yes], LostUnknown: c.Lost[commitment.Unknown], NotCommitted: c.Lost[commitment.No], FetchBytes: c.FetchBytes(),
		Followers: []followerLine{}, TransactionsOpen: c.BrokenCount, Transactions: []brokenTxnLine{}, Groups: []strandedLine{}, Losses: []lossLine{}}
	if c.CutByStart.From < c.CutByStart.To {
		out.CutByStart = &offsetRangeLine{c.CutByStart.From, c.CutByStart.To}
	}
	for k := range c.Followers {
		out.Followers = append(out.Followers, followerOf(l, &c.Followers[k]))
	}
	for _, s := range c.CutShort {
		out.CutShort = append(out.CutShort, cutShortLine{brokerOf(s.Broker), s.LogEnd, s.HighWatermark})
	}
	for _, t := range c.Broken {
		out.Transactions = append(out.Transactions, brokenTxnLine{t.ProducerID, t.ProducerEpoch, t.First, t.Marker, t.State, brokerOf(t.HeldBy)})
	}
	for _, g := range c.Groups {
		line := strandedLine{Group: g.Group, Offset: g.Position, Meets: "gone-records"}
		switch {
		case g.Beyond:
			line.Meets = "out-of-range"
		case g.Guess:
			line.Meets = "unknown"
		}
		line.Time, line.TimeMs = timestamp(g.TimeMs)
		out.Groups = append(out.Groups, line)
	}
	for k := range c.Losses {
		out.Losses = append(out.Losses, lossOf(p, &c.Losses[k], out.Leader))
	}
	return out
}

func followerOf(l *incident.Leadership, f *incident.FollowerFate) followerLine {
	out := followerLine{Broker: brokerOf(f.Copy.Broker), Then: thenOf(f.Offline, f.Rebuild, f.Stuck), Reason: text(f.Offline), LogEndOffset: f.State.LogEnd, HighWatermark: f.State.HighWatermark,
		BelowHighWatermark: f.BelowHighWatermark, BatchBase: atLeast0(f.Base), ThrownAwayRecords: f.ThrownAway, ThrownAwayBytes: f.ThrownAwayBytes, FetchedAgain: f.Again,
		FetchBytes: f.FetchBytes, Keeps: keptOf(f.Kept)}
	if f.Offline == "" {
		out.TruncateTo, out.DecidedBy = &f.To, text(string(f.How))
	}
	if o := f.Otherwise; o != nil {
		other := &otherwiseLine{EpochsFrom: epochSource(!l.Repaired), Then: thenOf(o.Offline, o.Rebuild, o.Stuck), Reason: text(o.Offline), Keeps: keptOf(o.Kept)}
		if o.Offline == "" {
			other.TruncateTo = &o.To
		}
		out.Otherwise = other
	}
	return out
}

// thenOf says in a word how a follower goes on.
func thenOf(offline string, rebuild, stuck bool) string {
	switch {
	case offline != "":
		return "offline"
	case rebuild:
		return "rebuild"
	case stuck:
		return "stuck"
	}
	return "catch-up"
}

func keptOf(list []incident.KeptRange) []keptLine {
	out := []keptLine{}
	for _, k := range list {
		out = append(out, keptLine{k.From, k.To, k.Kind})
	}
	return out
}

// verdictOf grades the recommendation: "safe", "not-proved-safe" (records that may have been
// committed are lost), "unsafe" (committed ones, or a transaction is broken), "open" (an
// absent replica may be better) or "none" (no replica can lead).
func verdictOf(l *incident.Leadership) string {
	best := l.Recommended()
	switch {
	case best == nil:
		return "none"
	case l.Open():
		return "open"
	case best.Lost[commitment.Yes] > 0 || best.BrokenCount > 0 || len(best.CutShort) > 0:
		return "unsafe"
	case best.Lost[commitment.Unknown] > 0:
		return "not-proved-safe"
	}
	return "safe"
}

type leaderPlanLine struct {
	Type       string             `json:"type"`
	Cluster    *string            `json:"clusterId"`
	SetFalse   []string           `json:"setUncleanLeaderElectionFalse"`
	Stop       []int32            `json:"stop"`
	Hold       []int32            `json:"keepStopped"`
	Starts     []planStartLine    `json:"starts"`
	Preferred  []string           `json:"preferred"`
	Conflicts  []planConflictLine `json:"conflicts"`
	Voters     []int32            `json:"voters"`
	HeldVoters []int32            `json:"votersStopped"`
}

type planStartLine struct {
	Broker    int32    `json:"broker"`
	Automatic []string `json:"electedByItself"`
	Unclean   []string `json:"electUncleanly"`
}

type planConflictLine struct {
	Partition     string `json:"partition"`
	Wanted        int32  `json:"wanted"`
	First         int32  `json:"electedFirst"`
	MoreCommitted int64  `json:"moreCommitted"`
	MoreUnknown   int64  `json:"moreUnknown"`
}

// LeaderPlans writes the one order of deeds for all partitions of each cluster.
func (j *JSON) LeaderPlans(plans incident.Plans) {
	for _, p := range plans {
		c := p.Course()
		if !c.Needed() {
			continue
		}
		out := leaderPlanLine{Type: "leader-plan", Cluster: text(p.Cluster.ID), SetFalse: []string{}, Stop: idsOrNone(c.Stop), Hold: idsOrNone(c.Hold), Starts: []planStartLine{},
			Preferred: namesOf(c.Preferred), Conflicts: []planConflictLine{}, Voters: idsOrNone(c.Voters), HeldVoters: idsOrNone(c.HeldVoters)}
		for _, u := range c.Unset {
			out.SetFalse = append(out.SetFalse, u.Topic)
		}
		for _, s := range c.Starts {
			out.Starts = append(out.Starts, planStartLine{s.Broker, namesOf(s.Automatic), namesOf(s.Unclean)})
		}
		for _, x := range c.Conflicts {
			out.Conflicts = append(out.Conflicts, planConflictLine{x.Name, x.Wanted, x.First, x.More.Committed, x.More.Maybe})
		}
		j.Line(out)
	}
}

func namesOf(list []incident.ElectedPartition) []string {
	out := []string{}
	for _, p := range list {
		out = append(out, p.Name)
	}
	return out
}

func idsOrNone(list []int32) []int32 {
	if list == nil {
		return []int32{}
	}
	return list
}
