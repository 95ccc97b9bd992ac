package internaltopic

import "kafsck/internal/schema"

// The types of keys in __consumer_offsets (org.apache.kafka.coordinator.group.generated.
// CoordinatorRecordType). 0 is that of 0.8.2, with the body of 1; 4.3.1 no longer knows 9
// and 18.
const (
	typeLegacyOffsetCommit          = 0
	typeOffsetCommit                = 1
	typeGroupMetadata               = 2
	typeConsumerGroupMetadata       = 3
	typeConsumerGroupPartitions     = 4
	typeConsumerGroupMember         = 5
	typeConsumerGroupTargetMetadata = 6
	typeConsumerGroupTargetMember   = 7
	typeConsumerGroupCurrent        = 8
	typeShareGroupPartitions        = 9
	typeShareGroupMember            = 10
	typeShareGroupMetadata          = 11
	typeShareGroupTargetMetadata    = 12
	typeShareGroupTargetMember      = 13
	typeShareGroupCurrent           = 14
	typeShareGroupStatePartitions   = 15
	typeConsumerGroupRegex          = 16
	typeStreamsGroupMetadata        = 17
	typeStreamsGroupPartitions      = 18
	typeStreamsGroupMember          = 19
	typeStreamsGroupTargetMetadata  = 20
	typeStreamsGroupTargetMember    = 21
	typeStreamsGroupCurrent         = 22
	typeStreamsGroupTopology        = 23
)

const (
	boolean = schema.Bool
	int8s   = schema.Int8
	int16s  = schema.Int16
	uint16s = schema.Uint16
	int32s  = schema.Int32
	int64s  = schema.Int64
	uuids   = schema.UUID
	text    = schema.String
	blob    = schema.Bytes
	nested  = schema.Nested
)

type fields = []schema.Field

// recordType is one type of record: what its key and its value hold.
type recordType struct {
	name  string // the value's class without "Value"
	key   schema.Message
	value schema.Message
	// older are layouts of the value that releases wrote under the same version before the
	// type was final; they are tried where the newest does not fit to the last byte.
	older []schema.Message
}

func key(name string, f fields) schema.Message {
	return schema.Message{Name: name, FlexibleSince: schema.Never, Fields: f}
}

var (
	offsetKey       = fields{{Name: "group", Type: text}, {Name: "topic", Type: text}, {Name: "partition", Type: int32s}}
	classicGroupKey = fields{{Name: "group", Type: text}}
	groupKey        = fields{{Name: "groupId", Type: text}}
	memberKey       = fields{{Name: "groupId", Type: text}, {Name: "memberId", Type: text}}
)

// offsetCommitValue: 0 and 1 up to 2.0 (1 with an expiry of its own), 2 of 2.1-IV0, 3 since
// 2.1-IV1, 4 by 4.3.1 with the topic's id, which is missing from transactional commits.
var offsetCommitValue = schema.Message{Name: "OffsetCommitValue", Max: 4, FlexibleSince: 4, Fields: fields{
	{Name: "offset", Type: int64s},
	{Name: "leaderEpoch", Type: int32s, Since: 3, Default: -1},
	{Name: "metadata", Type: text},
	{Name: "commitTimestamp", Type: int64s},
	{Name: "expireTimestamp", Type: int64s, Since: 1, Before: 2, Default: -1},
	{Name: "topicId", Type: uuids, Since: 4, Tagged: true, Tag: 0},
}}

// groupMetadataValue: 0 up to 0.10.0, 1 since 0.10.1, 2 since 2.1, 3 since 2.3.
var groupMetadataValue = schema.Message{Name: "GroupMetadataValue", Max: 4, FlexibleSince: 4, Fields: fields{
	{Name: "protocolType", Type: text},
	{Name: "generation", Type: int32s},
	{Name: "protocol", Type: text, Nullable: true},
	{Name: "leader", Type: text, Nullable: true},
	{Name: "currentStateTimestamp", Type: int64s, Since: 2, Default: -1},
	{Name: "members", Type: nested, Array: true, Fields: fields{
		{Name: "memberId", Type: text},
		{Name: "groupInstanceId", Type: text, Since: 3, Nullable: true, Null: true},
		{Name: "clientId", Type: text},
		{Name: "clientHost", Type: text},
		{Name: "rebalanceTimeout", Type: int32s, Since: 1, Default: -1},
		{Name: "sessionTimeout", Type: int32s},
		{Name: "subscription", Type: blob},
		{Name: "assignment", Type: blob},
	}},
}}

// groupTypes are the records of __consumer_offsets.
var groupTypes = map[int16]*recordType{
	typeLegacyOffsetCommit: {name: "LegacyOffsetCommit", key: key("LegacyOffsetCommitKey", offsetKey), value: offsetCommitValue},
	typeOffsetCommit:       {name: "OffsetCommit", key: key("OffsetCommitKey", offsetKey), value: offsetCommitValue},
	typeGroupMetadata:      {name: "GroupMetadata", key: key("GroupMetadataKey", classicGroupKey), value: groupMetadataValue},
	typeConsumerGroupMetadata: {name: "ConsumerGroupMetadata", key: key("ConsumerGroupMetadataKey", groupKey),
		value: schema.Message{Name: "ConsumerGroupMetadataValue", Fields: fields{
			{Name: "epoch", Type: int32s},
			{Name: "metadataHash", Type: int64s, Tagged: true, Tag: 0},
		}}},
	typeConsumerGroupPartitions: {name: "ConsumerGroupPartitionMetadata", key: key("ConsumerGroupPartitionMetadataKey", groupKey),
		value: partitionMetadata("ConsumerGroupPartitionMetadataValue")},
	typeConsumerGroupMember: {name: "ConsumerGroupMemberMetadata", key: key("ConsumerGroupMemberMetadataKey", memberKey),
		value: schema.Message{Name: "ConsumerGroupMemberMetadataValue", Fields: fields{
			{Name: "instanceId", Type: text, Nullable: true},
			{Name: "rackId", Type: text, Nullable: true},
			{Name: "clientId", Type: text},
			{Name: "clientHost", Type: text},
			{Name: "subscribedTopicNames", Type: text, Array: true},
			{Name: "subscribedTopicRegex", Type: text, Nullable: true},
			{Name: "rebalanceTimeoutMs", Type: int32s},
			{Name: "serverAssignor", Type: text, Nullable: true},
			// Null is not the default, and so is written.
			{Name: "classicMemberMetadata", Type: nested, Nullable: true, Tagged: true, Tag: 0, Fields: fields{
				{Name: "sessionTimeoutMs", Type: int32s},
				{Name: "supportedProtocols", Type: nested, Array: true, Fields: fields{
					{Name: "name", Type: text},
					{Name: "metadata", Type: blob},
				}},
			}},
		}}},
	typeConsumerGroupTargetMetadata: {name: "ConsumerGroupTargetAssignmentMetadata", key: key("ConsumerGroupTargetAssignmentMetadataKey", groupKey),
		value: targetMetadata("ConsumerGroupTargetAssignmentMetadataValue")},
	typeConsumerGroupTargetMember: {name: "ConsumerGroupTargetAssignmentMember", key: key("ConsumerGroupTargetAssignmentMemberKey", memberKey),
		value: schema.Message{Name: "ConsumerGroupTargetAssignmentMemberValue", Fields: fields{
			{Name: "topicPartitions", Type: nested, Array: true, Fields: topicPartitions},
		}}},
	typeConsumerGroupCurrent: {name: "ConsumerGroupCurrentMemberAssignment", key: key("ConsumerGroupCurrentMemberAssignmentKey", memberKey),
		value: schema.Message{Name: "ConsumerGroupCurrentMemberAssignmentValue", Fields: fields{
			{Name: "memberEpoch", Type: int32s},
			{Name: "previousMemberEpoch", Type: int32s},
			{Name: "state", Type: int8s},
			{Name: "assignedPartitions", Type: nested, Array: true, Fields: assignedPartitions},
			{Name: "partitionsPendingRevocation", Type: nested, Array: true, Fields: assignedPartitions},
		}}},
	typeConsumerGroupRegex: {name: "ConsumerGroupRegularExpression",
		key: key("ConsumerGroupRegularExpressionKey", fields{{Name: "groupId", Type: text}, {Name: "regularExpression", Type: text}}),
		value: schema.Message{Name: "ConsumerGroupRegularExpressionValue", Fields: fields{
			{Name: "topics", Type: text, Array: true},
			{Name: "version", Type: int64s},
			{Name: "timestamp", Type: int64s},
		}}},

	typeShareGroupPartitions: {name: "ShareGroupPartitionMetadata", key: key("ShareGroupPartitionMetadataKey", groupKey),
		value: partitionMetadata("ShareGroupPartitionMetadataValue")},
	typeShareGroupMember: {name: "ShareGroupMemberMetadata", key: key("ShareGroupMemberMetadataKey", memberKey),
		value: schema.Message{Name: "ShareGroupMemberMetadataValue", Fields: fields{
			{Name: "rackId", Type: text, Nullable: true},
			{Name: "clientId", Type: text},
			{Name: "clientHost", Type: text},
			{Name: "subscribedTopicNames", Type: text, Array: true},
		}}},
	typeShareGroupMetadata: {name: "ShareGroupMetadata", key: key("ShareGroupMetadataKey", groupKey),
		value: schema.Message{Name: "ShareGroupMetadataValue", Fields: fields{
			{Name: "epoch", Type: int32s},
			{Name: "metadataHash", Type: int64s},
		}},
		older: []schema.Message{{Name: "ShareGroupMetadataValue", Fields: fields{{Name: "epoch", Type: int32s}}}}},
	typeShareGroupTargetMetadata: {name: "ShareGroupTargetAssignmentMetadata", key: key("ShareGroupTargetAssignmentMetadataKey", groupKey),
		value: targetMetadata("ShareGroupTargetAssignmentMetadataValue")},
	typeShareGroupTargetMember: {name: "ShareGroupTargetAssignmentMember", key: key("ShareGroupTargetAssignmentMemberKey", memberKey),
		value: schema.Message{Name: "ShareGroupTargetAssignmentMemberValue", Fields: fields{
			{Name: "topicPartitions", Type: nested, Array: true, Fields: topicPartitions},
		}}},
	typeShareGroupCurrent: {name: "ShareGroupCurrentMemberAssignment", key: key("ShareGroupCurrentMemberAssignmentKey", memberKey),
		value: schema.Message{Name: "ShareGroupCurrentMemberAssignmentValue", Fields: fields{
			{Name: "memberEpoch", Type: int32s},
			{Name: "previousMemberEpoch", Type: int32s},
			{Name: "state", Type: int8s},
			{Name: "assignedPartitions", Type: nested, Array: true, Fields: topicPartitions},
		}}},
	typeShareGroupStatePartitions: {name: "ShareGroupStatePartitionMetadata", key: key("ShareGroupStatePartitionMetadataKey", groupKey),
		value: schema.Message{Name: "ShareGroupStatePartitionMetadataValue", Fields: fields{
			{Name: "initializingTopics", Type: nested, Array: true, Fields: namedPartitions},
			{Name: "initializedTopics", Type: nested, Array: true, Fields: namedPartitions},
			{Name: "deletingTopics", Type: nested, Array: true, Fields: namedTopics},
		}},
		older: []schema.Message{{Name: "ShareGroupStatePartitionMetadataValue", Fields: fields{
			{Name: "initializedTopics", Type: nested, Array: true, Fields: namedPartitions},
			{Name: "deletingTopics", Type: nested, Array: true, Fields: namedTopics},
		}}}},
}

var (
	topicPartitions = fields{{Name: "topicId", Type: uuids}, {Name: "partitions", Type: int32s, Array: true}}
	// assignedPartitions: the tag is newer than the rest.
	assignedPartitions = fields{
		{Name: "topicId", Type: uuids},
		{Name: "partitions", Type: int32s, Array: true},
		{Name: "assignmentEpochs", Type: int32s, Array: true, Nullable: true, Tagged: true, Tag: 0},
	}
	namedPartitions = fields{{Name: "topicId", Type: uuids}, {Name: "topicName", Type: text}, {Name: "partitions", Type: int32s, Array: true}}
	namedTopics     = fields{{Name: "topicId", Type: uuids}, {Name: "topicName", Type: text}}
)

func partitionMetadata(name string) schema.Message {
	return schema.Message{Name: name, Fields: fields{
		{Name: "topics", Type: nested, Array: true, Fields: fields{
			{Name: "topicId", Type: uuids},
			{Name: "topicName", Type: text},
			{Name: "numPartitions", Type: int32s},
			{Name: "partitionMetadata", Type: nested, Array: true, Fields: fields{
				{Name: "partition", Type: int32s},
				{Name: "racks", Type: text, Array: true},
			}},
		}},
	}}
}

func targetMetadata(name string) schema.Message {
	return schema.Message{Name: name, Fields: fields{
		{Name: "assignmentEpoch", Type: int32s},
		{Name: "assignmentTimestamp", Type: int64s, Tagged: true, Tag: 0},
	}}
}
