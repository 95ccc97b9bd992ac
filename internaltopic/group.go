package internaltopic

import (
	"strconv"
	"strings"

	"kafsck/internal/schema"
	"kafsck/internal/wire"
)

// GroupKind says which protocol a group speaks.
type GroupKind string

// The kinds of group, as kafka-groups names them.
const (
	ClassicGroup  GroupKind = "classic"  // JoinGroup and SyncGroup; also groups of commits alone
	ConsumerGroup GroupKind = "consumer" // KIP-848
	ShareGroup    GroupKind = "share"    // KIP-932
	StreamsGroup  GroupKind = "streams"  // KIP-1071
)

// GroupKind is the protocol of the group that a record of __consumer_offsets tells of; ""
// for a committed offset, which groups of all kinds have, and for what is not decoded.
func (rec *Record) GroupKind() GroupKind {
	if rec.Topic != ConsumerOffsets || !rec.KeyDecoded {
		return ""
	}
	switch {
	case rec.Type == typeGroupMetadata:
		return ClassicGroup
	case strings.HasPrefix(rec.Name, "ConsumerGroup"):
		return ConsumerGroup
	case strings.HasPrefix(rec.Name, "ShareGroup"):
		return ShareGroup
	case strings.HasPrefix(rec.Name, "StreamsGroup"):
		return StreamsGroup
	}
	return ""
}

// AssignedPartitions are partitions of a topic; classic groups know its name, the others
// its id.
type AssignedPartitions struct {
	Topic      string // "" unknown
	TopicID    wire.UUID
	Partitions []int32
}

// ClassicMember is a member of a classic group.
type ClassicMember struct {
	MemberID   string
	InstanceID string // group.instance.id, "" none
	ClientID   string
	ClientHost string
	// RebalanceTimeoutMs is -1 in version 0.
	RebalanceTimeoutMs, SessionTimeoutMs int32
	// Subscription and Assignment as written; what is in them is the group's own matter.
	Subscription, Assignment []byte
	// Topics and Assigned are decoded where the protocol type is "consumer".
	Topics   []string
	Assigned []AssignedPartitions
	// ProtocolErr says why Subscription or Assignment are not decoded; nil if they are, or
	// need not be.
	ProtocolErr error
}

// GroupMetadata is the state of a classic group from one record on.
type GroupMetadata struct {
	Group        string
	Version      int16 // of the value, -1 deleted
	Deleted      bool
	ProtocolType string // "consumer", "connect", …; "" a group without members
	Generation   int32
	Protocol     string // the assignor that the members agreed on, "" none
	Leader       string // member id, "" none
	StateMs      int64  // since when the state is as it is; -1 below version 2
	Members      []ClassicMember
}

// GroupMetadata is the record as the state of a classic group; ok is false if it is
// something else, or not decoded.
func (rec *Record) GroupMetadata() (g GroupMetadata, ok bool) {
	if rec.Err != nil || !rec.is(ConsumerOffsets, typeGroupMetadata) {
		return g, false
	}
	g = GroupMetadata{Group: rec.key.Text("group"), Version: rec.Version, Deleted: rec.Tombstone, Generation: -1, StateMs: -1}
	if rec.Tombstone {
		return g, true
	}
	v := &rec.value
	g.ProtocolType, g.Generation, g.Protocol, g.Leader = v.Text("protocolType"), v.Int32("generation"), v.Text("protocol"), v.Text("leader")
	g.StateMs = v.Int("currentStateTimestamp")
	for _, m := range v.Structs("members") {
		member := ClassicMember{MemberID: m.Text("memberId"), InstanceID: m.Text("groupInstanceId"), ClientID: m.Text("clientId"), ClientHost: m.Text("clientHost"),
			RebalanceTimeoutMs: m.Int32("rebalanceTimeout"), SessionTimeoutMs: m.Int32("sessionTimeout"),
			Subscription: append([]byte(nil), m.Bytes("subscription")...), Assignment: append([]byte(nil), m.Bytes("assignment")...)}
		if g.ProtocolType == "consumer" {
			member.decodeProtocol()
		}
		g.Members = append(g.Members, member)
	}
	return g, true
}

// Member is what one record says of a member of a consumer, share or streams group
// (KIP-848 and after). Which fields mean something depends on Part.
type Member struct {
	Group    string
	Kind     GroupKind
	MemberID string
	Part     MemberPart
	Deleted  bool // a tombstone for this part

	// MemberMetadata:
	InstanceID, RackID, ClientID, ClientHost string
	Topics                                   []string // subscribed by name
	Regex                                    string   // subscribed by pattern, "" none
	RebalanceTimeoutMs                       int32    // -1 not written
	Assignor                                 string   // "" the group's
	Classic                                  bool     // speaks the classic protocol in a consumer group

	// MemberCurrent:
	Epoch, PreviousEpoch int32
	State                int8 // 0 stable, 1 unrevoked partitions, 2 unreleased partitions, 127 unknown

	// MemberTarget and MemberCurrent, not of streams groups:
	Assigned, Revoking []AssignedPartitions
}

// MemberPart is the record that a Member comes from.
type MemberPart uint8

// The parts of a member's state, each under a key of its own.
const (
	MemberMetadata MemberPart = iota + 1
	MemberTarget              // what the coordinator wants it to have
	MemberCurrent             // what it has
)

var memberParts = map[int16]MemberPart{
	typeConsumerGroupMember: MemberMetadata, typeShareGroupMember: MemberMetadata, typeStreamsGroupMember: MemberMetadata,
	typeConsumerGroupTargetMember: MemberTarget, typeShareGroupTargetMember: MemberTarget, typeStreamsGroupTargetMember: MemberTarget,
	typeConsumerGroupCurrent: MemberCurrent, typeShareGroupCurrent: MemberCurrent, typeStreamsGroupCurrent: MemberCurrent,
}

// Member is the record as a part of a member's state; ok is false if it is something else,
// or not decoded.
func (rec *Record) Member() (m Member, ok bool) {
	part := memberParts[rec.Type]
	if rec.Err != nil || part == 0 || !rec.is(ConsumerOffsets, rec.Type) {
		return m, false
	}
	m = Member{Group: rec.key.Text("groupId"), Kind: rec.GroupKind(), MemberID: rec.key.Text("memberId"), Part: part, Deleted: rec.Tombstone, Epoch: -1, PreviousEpoch: -1, RebalanceTimeoutMs: -1}
	if rec.Tombstone {
		return m, true
	}
	v := &rec.value
	optional := func(name string) string {
		if !v.Names(name) {
			return ""
		}
		return v.Text(name)
	}
	switch part {
	case MemberMetadata:
		m.InstanceID, m.RackID, m.ClientID, m.ClientHost = optional("instanceId"), optional("rackId"), optional("clientId"), optional("clientHost")
		m.Regex, m.Assignor = optional("subscribedTopicRegex"), optional("serverAssignor")
		if v.Names("subscribedTopicNames") {
			m.Topics = v.Texts("subscribedTopicNames")
		}
		if v.Names("rebalanceTimeoutMs") {
			m.RebalanceTimeoutMs = v.Int32("rebalanceTimeoutMs")
		}
		if v.Names("classicMemberMetadata") {
			_, m.Classic = v.Struct("classicMemberMetadata")
		}
	case MemberTarget:
		if v.Names("topicPartitions") {
			m.Assigned = assigned(v.Structs("topicPartitions"))
		}
	case MemberCurrent:
		m.Epoch, m.PreviousEpoch, m.State = v.Int32("memberEpoch"), v.Int32("previousMemberEpoch"), int8(v.Int("state"))
		if v.Names("assignedPartitions") {
			m.Assigned = assigned(v.Structs("assignedPartitions"))
		}
		if v.Names("partitionsPendingRevocation") {
			m.Revoking = assigned(v.Structs("partitionsPendingRevocation"))
		}
	}
	return m, true
}

func assigned(list []schema.Struct) []AssignedPartitions {
	var out []AssignedPartitions
	for i := range list {
		out = append(out, AssignedPartitions{TopicID: list[i].UUID("topicId"), Partitions: list[i].Int32s("partitions")})
	}
	return out
}

// GroupEpoch is what one record says of a consumer, share or streams group as a whole.
type GroupEpoch struct {
	Group   string
	Kind    GroupKind
	Deleted bool  // a tombstone: the group is gone
	Target  bool  // Epoch is that of the newest target assignment, else that of the group
	Epoch   int32 // -1 deleted
}

// GroupEpoch is the record as the epoch of a group; ok is false if it is something else, or
// not decoded.
func (rec *Record) GroupEpoch() (e GroupEpoch, ok bool) {
	if rec.Err != nil || rec.Topic != ConsumerOffsets {
		return e, false
	}
	field := "epoch"
	switch rec.Type {
	case typeConsumerGroupMetadata, typeShareGroupMetadata, typeStreamsGroupMetadata:
	case typeConsumerGroupTargetMetadata, typeShareGroupTargetMetadata, typeStreamsGroupTargetMetadata:
		field, e.Target = "assignmentEpoch", true
	default:
		return e, false
	}
	e.Group, e.Kind, e.Deleted, e.Epoch = rec.GroupID(), rec.GroupKind(), rec.Tombstone, -1
	if !rec.Tombstone {
		e.Epoch = rec.value.Int32(field)
	}
	return e, true
}

// TypeName names a record type for people: OffsetCommit, or the number where it is unknown.
func TypeName(t Topic, typ int16) string {
	if kind := t.types()[typ]; kind != nil {
		return kind.name
	}
	return "type " + strconv.Itoa(int(typ))
}
