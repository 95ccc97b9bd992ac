package report

import (
	"strconv"
	"unicode/utf8"

	"kafsck/incident"
	"kafsck/internaltopic"
)

type offsetsSourceLine struct {
	Type           string   `json:"type"`
	Partition      string   `json:"partition"`
	TopicID        *string  `json:"topicId"`
	Broker         brokerID `json:"broker"`
	Dir            *string  `json:"dir"`
	State          *string  `json:"state"`
	Why            string   `json:"why"`
	LogStartOffset *int64   `json:"logStartOffset"`
	LogEndOffset   *int64   `json:"logEndOffset"`
	Copies         int      `json:"copies"`
	Skipped        int64    `json:"skipped"`
	SkippedAt      *string  `json:"skippedAt"`
}

type undecodedRecordsLine struct {
	Type      string   `json:"type"`
	Reason    string   `json:"reason"`
	Records   int64    `json:"records"`
	Partition string   `json:"partition"`
	Offset    int64    `json:"offset"`
	Broker    brokerID `json:"broker"`
	File      string   `json:"file"`
}

type memberLine struct {
	MemberID   string         `json:"memberId"`
	InstanceID *string        `json:"instanceId"`
	ClientID   string         `json:"clientId"`
	ClientHost string         `json:"clientHost"`
	Leader     bool           `json:"leader"`
	Epoch      *int32         `json:"epoch"`
	Topics     []string       `json:"topics"`
	Regex      *string        `json:"regex"`
	Assigned   []assignedLine `json:"assigned"`
}

type assignedLine struct {
	Topic      *string `json:"topic"`
	TopicID    *string `json:"topicId"`
	Partitions []int32 `json:"partitions"`
}

type groupLine struct {
	Type             string       `json:"type"`
	Group            string       `json:"group"`
	GroupBytes       []byte       `json:"groupBytes,omitempty"`
	Cluster          *string      `json:"cluster"`
	Kind             *string      `json:"kind"`
	State            *string      `json:"state"`
	Epoch            *int32       `json:"epoch"`
	TargetEpoch      *int32       `json:"targetEpoch"`
	ProtocolType     *string      `json:"protocolType"`
	Protocol         *string      `json:"protocol"`
	StateTime        *string      `json:"stateTime"`
	StateTimeMs      *int64       `json:"stateTimeMs"`
	OffsetsPartition string       `json:"offsetsPartition"`
	RecordOffset     *int64       `json:"recordOffset"`
	Positions        int          `json:"positions"`
	Members          []memberLine `json:"members"`
}

type groupOffsetLine struct {
	Type             string   `json:"type"`
	Group            string   `json:"group"`
	GroupBytes       []byte   `json:"groupBytes,omitempty"`
	Cluster          *string  `json:"cluster"`
	Partition        string   `json:"partition"`
	TopicID          *string  `json:"topicId"`
	Offset           *int64   `json:"offset"`
	LeaderEpoch      int32    `json:"leaderEpoch"`
	Metadata         *string  `json:"metadata"`
	Time             *string  `json:"time"`
	TimeMs           *int64   `json:"timeMs"`
	ExpireTime       *string  `json:"expireTime"`
	ExpireTimeMs     *int64   `json:"expireTimeMs"`
	Expired          bool     `json:"expired"`
	Deleted          bool     `json:"deleted"`
	Transactional    bool     `json:"transactional"`
	Pending          bool     `json:"pending"`
	ProducerID       *int64   `json:"producerId"`
	LogStartOffset   *int64   `json:"logStartOffset"`
	LogEndOffset     *int64   `json:"logEndOffset"`
	Lag              *int64   `json:"lag"`
	Finds            string   `json:"finds"`
	From             *int64   `json:"from"`
	To               *int64   `json:"to"`
	EpochRead        *int32   `json:"epochRead"`
	EpochByTime      bool     `json:"epochByTime"`
	Leader           brokerID `json:"leader"`
	Basis            *string  `json:"basis"`
	Why              *string  `json:"why"`
	OffsetsPartition string   `json:"offsetsPartition"`
	RecordOffset     int64    `json:"recordOffset"`
	Broker           brokerID `json:"broker"`
	File             string   `json:"file"`
}

// Groups writes where the answer was read, what could not be decoded, and each group with
// its positions.
func (j *JSON) Groups(t *Groups) {
	for _, p := range t.Groups.Partitions {
		l := offsetsSourceLine{Type: "offsets-source", Partition: p.Name(), TopicID: text(p.TopicID), Why: p.Why, Copies: len(p.Copies)}
		if c := p.From; c != nil {
			state := string(c.State)
			l.Broker, l.Dir, l.State, l.LogStartOffset, l.LogEndOffset = brokerOf(c.Broker), &c.Dir, &state, &c.LogStartOffset, &c.LogEndOffset
			l.Skipped, l.SkippedAt = c.Skipped, text(c.SkippedAt)
		}
		j.Line(l)
	}
	for _, u := range t.Groups.Undecoded {
		j.Line(undecodedRecordsLine{"undecoded-records", u.Reason, u.Count, offsetsPartition(u.First.Partition), u.First.Offset, brokerOf(u.First.Broker), u.First.File})
	}
	for _, v := range t.Views {
		j.group(v)
		for p := range v.Positions() {
			j.Line(positionOf(v, &p))
		}
		for p := range v.Pending() {
			j.Line(positionOf(v, &p))
		}
	}
}

func offsetsPartition(n int32) string {
	return partitionName(internaltopic.ConsumerOffsets.String(), n)
}

func partitionName(topic string, n int32) string { return topic + "-" + strconv.Itoa(int(n)) }

// rawBytes are the bytes of a name that JSON cannot hold as they are.
func rawBytes(s string) []byte {
	if utf8.ValidString(s) {
		return nil
	}
	return []byte(s)
}

func (j *JSON) group(v *incident.GroupView) {
	l := groupLine{Type: "group", Group: v.Group, GroupBytes: rawBytes(v.Group), Cluster: text(v.Cluster.ID), OffsetsPartition: offsetsPartition(v.Partition), Positions: v.Live(), Members: []memberLine{}}
	if s := v.State; s != nil {
		l.Kind, l.State, l.Epoch, l.TargetEpoch = text(string(s.Kind)), text(s.State), atLeast0(s.Epoch), atLeast0(s.TargetEpoch)
		l.ProtocolType, l.Protocol, l.RecordOffset = text(s.ProtocolType), text(s.Protocol), &s.At.Offset
		l.StateTime, l.StateTimeMs = timestamp(s.StateMs)
		for i := range s.Members {
			l.Members = append(l.Members, memberOf(&s.Members[i]))
		}
	}
	j.Line(l)
}

func memberOf(m *incident.GroupMember) memberLine {
	l := memberLine{MemberID: m.ID, InstanceID: text(m.InstanceID), ClientID: m.ClientID, ClientHost: m.ClientHost, Leader: m.Leader, Epoch: atLeast0(m.Epoch),
		Topics: m.Topics, Regex: text(m.Regex), Assigned: []assignedLine{}}
	if l.Topics == nil {
		l.Topics = []string{}
	}
	for _, a := range m.Assigned {
		x := assignedLine{Topic: text(a.Topic), Partitions: orEmpty(a.Partitions)}
		if !a.TopicID.IsZero() {
			x.TopicID = text(a.TopicID.String())
		}
		l.Assigned = append(l.Assigned, x)
	}
	return l
}

func positionOf(v *incident.GroupView, p *incident.GroupPosition) groupOffsetLine {
	m := &p.Meeting
	l := groupOffsetLine{Type: "group-offset", Group: p.Group, GroupBytes: rawBytes(p.Group), Cluster: text(v.Cluster.ID), Partition: partitionName(p.Topic, p.Partition),
		LeaderEpoch: p.LeaderEpoch, Expired: p.Expired, Deleted: p.Deleted, Transactional: p.Transactional, Pending: p.Pending, ProducerID: atLeast0(p.ProducerID),
		Finds: string(m.Kind), OffsetsPartition: offsetsPartition(p.OffsetsPartition), RecordOffset: p.RecordOffset, Broker: brokerOf(p.Broker), File: p.File}
	if !p.TopicID.IsZero() {
		l.TopicID = text(p.TopicID.String())
	}
	if p.Deleted {
		l.Finds = "deleted"
		l.Time, l.TimeMs = timestamp(p.AtMs)
		return l
	}
	l.Offset, l.Metadata = &p.Offset, &p.Metadata
	l.Time, l.TimeMs = timestamp(p.CommitMs)
	l.ExpireTime, l.ExpireTimeMs = timestamp(p.ExpireMs)
	l.LogStartOffset, l.LogEndOffset, l.Lag, l.Basis, l.Why = atLeast0(m.LogStart), atLeast0(m.LogEnd), atLeast0(m.Lag), text(m.Basis), text(m.Why)
	if m.Basis != "" {
		l.Leader = brokerOf(m.Broker)
		l.EpochRead, l.EpochByTime = atLeast0(m.Epoch), m.ByTime
	}
	if m.From >= 0 {
		l.From, l.To = &m.From, &p.Offset
	}
	return l
}
