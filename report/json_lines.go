package report

import (
	"slices"
	"strconv"
	"time"

	"kafsck/commitment"
	"kafsck/diff"
	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/replica"
)

// The types below are the lines of docs/json.md, fields in the order in which
// they are written. A pointer is null where the value is not known.

// brokerID is a number where the id is known, else the folder's name.
type brokerID any

func brokerOf(b incident.BrokerRef) brokerID {
	if b.Known {
		return b.ID
	}
	return b.Name
}

type replicaLine struct {
	Type              string   `json:"type"`
	Partition         string   `json:"partition"`
	TopicID           *string  `json:"topicId"`
	Broker            brokerID `json:"broker"`
	Dir               string   `json:"dir"`
	State             string   `json:"state"`
	LogStartOffset    *int64   `json:"logStartOffset"`
	LogStartSource    *string  `json:"logStartSource"`
	LogEndOffset      *int64   `json:"logEndOffset"`
	HighWatermark     *int64   `json:"highWatermark"`
	RecoveryPoint     *int64   `json:"recoveryPoint"`
	Bytes             int64    `json:"bytes"`
	Segments          int      `json:"segments"`
	Batches           *int64   `json:"batches"`
	LatestEpoch       *int32   `json:"latestEpoch"`
	NewestTimestamp   *string  `json:"newestTimestamp"`
	NewestTimestampMs *int64   `json:"newestTimestampMs"`
}

type setAsideLine struct {
	Type      string   `json:"type"`
	Partition string   `json:"partition"`
	TopicID   *string  `json:"topicId"`
	Broker    brokerID `json:"broker"`
	Dir       string   `json:"dir"`
	State     string   `json:"state"`
	Files     int      `json:"files"`
	Bytes     int64    `json:"bytes"`
	From      *int64   `json:"from"`
	To        *int64   `json:"to"`
}

type rulingLine struct {
	Type         string   `json:"type"`
	Partition    string   `json:"partition"`
	TopicID      *string  `json:"topicId"`
	Leader       brokerID `json:"leader"`
	Why          string   `json:"why"`
	Guess        bool     `json:"guess"`
	Judged       bool     `json:"judged"`
	Reason       *string  `json:"reason"`
	Eligible     []int32  `json:"eligible"`
	Policy       string   `json:"policy"`
	PolicySource string   `json:"policySource"`
	TopicDeleted bool     `json:"topicDeleted"`
}

type sideLine struct {
	Broker brokerID `json:"broker"`
	From   int64    `json:"from"`
	To     int64    `json:"to"`
	Epochs []int32  `json:"epochs"`
}

type divergenceLine struct {
	Type        string      `json:"type"`
	Partition   string      `json:"partition"`
	TopicID     *string     `json:"topicId"`
	Kind        diff.Kind   `json:"kind"`
	From        int64       `json:"from"`
	To          int64       `json:"to"`
	CommonEnd   int64       `json:"commonEnd"`
	EqualFrom   *int64      `json:"equalFrom,omitempty"`
	Side        brokerID    `json:"side,omitempty"`
	CopiedLater bool        `json:"copiedLater,omitempty"`
	Sides       [2]sideLine `json:"sides"`
}

type proofLine struct {
	Kind   commitment.Kind  `json:"kind"`
	Says   commitment.Grade `json:"says"`
	Claim  string           `json:"claim"`
	Source string           `json:"source"`
}

type copyLine struct {
	Broker brokerID `json:"broker"`
	State  string   `json:"state"`
	File   string   `json:"file"`
}

type lossLine struct {
	Type             string           `json:"type"`
	Partition        string           `json:"partition"`
	TopicID          *string          `json:"topicId"`
	From             *int64           `json:"from"`
	To               *int64           `json:"to"`
	Records          *int64           `json:"records"`
	Epochs           []int32          `json:"epochs"`
	Basis            string           `json:"basis"`
	ToExact          bool             `json:"toExact"`
	Committed        commitment.Grade `json:"committed"`
	Acknowledged     commitment.Acked `json:"acknowledged"`
	Evidence         []proofLine      `json:"evidence"`
	HeldBy           []brokerID       `json:"heldBy"`
	Copies           []copyLine       `json:"copies"`
	Leader           brokerID         `json:"leader"`
	Cause            string           `json:"cause"`
	FirstTimestamp   *string          `json:"firstTimestamp"`
	FirstTimestampMs *int64           `json:"firstTimestampMs"`
	LastTimestamp    *string          `json:"lastTimestamp"`
	LastTimestampMs  *int64           `json:"lastTimestampMs"`
	Election         *causeLine       `json:"election"`
	Groups           []groupLossLine  `json:"groups"`
	GroupsUnknown    *string          `json:"groupsUnknown"`
	AskFor           []int32          `json:"askFor"`
}

// causeLine is the election that caused a loss.
type causeLine struct {
	Leader         int32   `json:"leader"`
	LeaderEpoch    int32   `json:"leaderEpoch"`
	Unclean        bool    `json:"unclean"`
	MetadataOffset int64   `json:"metadataOffset"`
	FromSnapshot   bool    `json:"fromSnapshot,omitempty"`
	Time           *string `json:"time"`
	TimeMs         *int64  `json:"timeMs"`
}

// groupLossLine is a consumer group that had read into a loss.
type groupLossLine struct {
	Group        string         `json:"group"`
	ReadTo       int64          `json:"readTo"`
	Position     *int64         `json:"position"`
	LeaderEpoch  *int32         `json:"leaderEpoch"`
	CommitTime   *string        `json:"commitTime"`
	CommitTimeMs *int64         `json:"commitTimeMs"`
	Meets        incident.Meets `json:"meets"`
	PartsAt      *int64         `json:"partsAt"`
	Why          string         `json:"why,omitempty"`
}

type candidateLine struct {
	Type      string     `json:"type"`
	Partition string     `json:"partition"`
	TopicID   *string    `json:"topicId"`
	Leader    brokerID   `json:"leader"`
	Eligible  bool       `json:"eligible"`
	Losses    []lossLine `json:"losses"`
}

type errorLine struct {
	Type    string `json:"type"`
	Path    string `json:"path"`
	Message string `json:"message"`
}

// Replicas writes a line for each directory of a partition and one for each set
// of files put aside in it.
func (j *JSON) Replicas(p *incident.Partition) {
	for _, c := range p.Copies {
		if isAside(c.State) {
			j.Line(setAsideOf(p, c))
		} else {
			j.Line(replicaOf(p, c))
		}
	}
}

// isAside tells files set aside inside a directory from directories.
func isAside(s replica.State) bool {
	switch s {
	case replica.Deleted, replica.Swap, replica.Replaced, replica.Cleaned:
		return true
	}
	return false
}

func replicaOf(p *incident.Partition, c *incident.Copy) replicaLine {
	l := replicaLine{Type: "replica", Partition: p.Name, TopicID: text(p.TopicID), Broker: brokerOf(c.Broker), Dir: c.Dir, State: string(c.State)}
	if c.Log == nil {
		return l
	}
	l.Segments, l.Bytes = len(c.Log.Segments), sizeOf(c.Log)
	if c.Err != nil {
		return l
	}
	l.LogStartOffset, l.LogStartSource, l.LogEndOffset = &c.Log.LogStartOffset, text(c.Log.LogStartSource), &c.Log.LogEndOffset
	l.HighWatermark, l.RecoveryPoint = c.Log.HighWatermark, c.Log.RecoveryPoint
	l.Batches = &c.Log.Batches
	l.LatestEpoch = atLeast0(c.Log.LatestEpoch())
	l.NewestTimestamp, l.NewestTimestampMs = timestamp(c.Log.MaxTimestamp)
	return l
}

func setAsideOf(p *incident.Partition, c *incident.Copy) setAsideLine {
	l := setAsideLine{Type: "set-aside", Partition: p.Name, TopicID: text(p.TopicID), Broker: brokerOf(c.Broker), Dir: c.Dir, State: string(c.State),
		Files: len(c.Log.Segments), Bytes: sizeOf(c.Log)}
	if c.Err == nil {
		l.From, l.To = &c.Log.LogStartOffset, &c.Log.LogEndOffset
	}
	return l
}

// sizeOf is the size of the .log files on disk, read or not.
func sizeOf(l *replica.Log) int64 {
	var n int64
	for _, s := range l.Segments {
		n += max(s.Log.Size, 0)
	}
	return n
}

// Ruling writes who rules a partition.
func (j *JSON) Ruling(p *incident.Partition) {
	r := &p.Ruling
	l := rulingLine{Type: "ruling", Partition: p.Name, TopicID: text(p.TopicID), Why: r.Why, Guess: r.Guess, Judged: r.Judged, Reason: text(r.Reason),
		Eligible: orEmpty(r.Eligible), Policy: r.Policy, PolicySource: r.PolicySource, TopicDeleted: r.Removed}
	if r.Leader != nil {
		l.Leader = brokerOf(*r.Leader)
	}
	j.Line(l)
}

// Divergences writes how the live replicas of a partition differ.
func (j *JSON) Divergences(p *incident.Partition) {
	for i := range p.Divergences {
		d := &p.Divergences[i]
		l := divergenceLine{Type: "divergence", Partition: p.Name, TopicID: text(p.TopicID), Kind: d.Kind, From: d.From, To: d.To, CommonEnd: d.CommonEnd,
			EqualFrom: d.EqualFrom, CopiedLater: d.CopiedLater}
		copies, sides := ordered(d)
		for i, c := range copies {
			l.Sides[i] = sideLine{Broker: brokerOf(c.Broker), From: sides[i].From, To: sides[i].To, Epochs: orEmpty(sides[i].Epochs)}
		}
		if d.Bad >= 0 {
			l.Side = brokerOf([2]*incident.Copy{d.A, d.B}[d.Bad].Broker)
		}
		j.Line(l)
	}
}

// ordered returns the sides of a divergence the way they are shown: the ruling
// leader first, else the longer log, then the lower id.
func ordered(d *incident.Divergence) ([2]*incident.Copy, [2]diff.Side) {
	copies, sides := [2]*incident.Copy{d.A, d.B}, d.Sides
	endA, endB := d.A.Log.LogEndOffset, d.B.Log.LogEndOffset
	if d.Ruled {
		return copies, sides
	}
	if endB > endA || endA == endB && less(d.B.Broker, d.A.Broker) {
		copies[0], copies[1] = copies[1], copies[0]
		sides[0], sides[1] = sides[1], sides[0]
	}
	return copies, sides
}

// less orders brokers: known ids first, ascending, then names.
func less(a, b incident.BrokerRef) bool {
	if a.Known != b.Known {
		return a.Known
	}
	if a.Known {
		return a.ID < b.ID
	}
	return a.Name < b.Name
}

// Losses writes the losses of a partition, and where nobody rules those of each
// candidate.
func (j *JSON) Losses(p *incident.Partition) {
	var leader brokerID
	if p.Ruling.Leader != nil {
		leader = brokerOf(*p.Ruling.Leader)
	}
	for i := range p.Losses {
		j.Line(lossOf(p, &p.Losses[i], leader))
	}
	for _, c := range p.Candidates {
		l := candidateLine{Type: "candidate", Partition: p.Name, TopicID: text(p.TopicID), Leader: brokerOf(c.Leader), Eligible: c.Eligible, Losses: []lossLine{}}
		for i := range c.Losses {
			l.Losses = append(l.Losses, lossOf(p, &c.Losses[i], l.Leader))
		}
		j.Line(l)
	}
}

func lossOf(p *incident.Partition, x *incident.Loss, leader brokerID) lossLine {
	l := lossLine{Type: "loss", Partition: p.Name, TopicID: text(p.TopicID), From: x.From, To: x.To, Records: x.Records, Epochs: orEmpty(x.Epochs), Basis: x.Basis,
		ToExact: x.ToExact, Committed: x.Committed, Acknowledged: x.Acknowledged, Evidence: []proofLine{}, HeldBy: []brokerID{}, Copies: []copyLine{}, Leader: leader, Cause: x.Cause}
	for _, e := range x.Evidence {
		l.Evidence = append(l.Evidence, proofLine{e.Kind, e.Says, e.Claim, e.Source})
	}
	for _, b := range x.HeldBy {
		l.HeldBy = append(l.HeldBy, brokerOf(b))
	}
	for _, c := range x.Copies {
		l.Copies = append(l.Copies, copyLine{brokerOf(c.Broker), string(c.State), c.File})
	}
	if e := x.Election; e != nil {
		c := causeLine{Leader: e.Leader, LeaderEpoch: e.Epoch, Unclean: e.Unclean, MetadataOffset: e.Offset, FromSnapshot: e.FromSnapshot}
		c.Time, c.TimeMs = timestamp(e.TimeMs)
		l.Election = &c
	}
	l.AskFor = orEmpty(x.AskFor)
	l.Groups, l.GroupsUnknown = []groupLossLine{}, text(x.GroupsUnknown)
	for _, g := range x.Groups {
		y := groupLossLine{Group: g.Group, ReadTo: g.Read, Position: atLeast0(g.Position), LeaderEpoch: atLeast0(g.LeaderEpoch), Meets: g.Meets, PartsAt: atLeast0(g.GapFrom), Why: g.Why}
		y.CommitTime, y.CommitTimeMs = timestamp(g.CommitMs)
		l.Groups = append(l.Groups, y)
	}
	l.FirstTimestamp, l.FirstTimestampMs = timestamp(x.FirstMs)
	l.LastTimestamp, l.LastTimestampMs = timestamp(x.LastMs)
	return l
}

// Errors writes what could not be read.
func (j *JSON) Errors(list []logdir.PathError) {
	for _, e := range list {
		j.Line(errorLine{"error", e.Path, e.Err.Error()})
	}
}

// text is null for an empty string.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// atLeast0 is null for a negative number, which stands for unknown.
func atLeast0[N int32 | int64](n N) *N {
	if n < 0 {
		return nil
	}
	return &n
}

func orEmpty(list []int32) []int32 {
	if list == nil {
		return []int32{}
	}
	return slices.Clone(list)
}

// timestamp gives milliseconds since 1970 as RFC 3339 and as they are; both null
// when negative. A year that RFC 3339 cannot write leaves the text null.
func timestamp(ms int64) (*string, *int64) {
	if ms < 0 {
		return nil, nil
	}
	t := time.UnixMilli(ms).UTC()
	if t.Year() > 9999 {
		return nil, &ms
	}
	s := t.Format("2006-01-02T15:04:05.000Z")
	return &s, &ms
}

// bigNumber is the first integer that a JSON reader with floating point numbers
// may change.
const bigNumber = 1 << 53

// isBig reports whether a decimal integer needs a text twin.
func isBig(digits []byte) bool {
	n, err := strconv.ParseInt(string(digits), 10, 64)
	return err == nil && (n > bigNumber || n < -bigNumber)
}
