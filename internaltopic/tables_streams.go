package internaltopic

import "kafsck/internal/schema"

// The records of streams groups (KIP-1071) in __consumer_offsets.

func init() {
	for t, r := range streamsTypes {
		groupTypes[t] = r
	}
}

var (
	tasks = fields{{Name: "subtopologyId", Type: text}, {Name: "partitions", Type: int32s, Array: true}}
	// assignedTasks: the tag is newer than the rest.
	assignedTasks = fields{
		{Name: "subtopologyId", Type: text},
		{Name: "partitions", Type: int32s, Array: true},
		{Name: "assignmentEpochs", Type: int32s, Array: true, Nullable: true, Tagged: true, Tag: 0},
	}
	keyValue  = fields{{Name: "key", Type: text}, {Name: "value", Type: text}}
	topicInfo = fields{
		{Name: "name", Type: text},
		{Name: "partitions", Type: int32s},
		{Name: "replicationFactor", Type: int16s},
		{Name: "topicConfigs", Type: nested, Array: true, Fields: keyValue},
	}
)

var streamsTypes = map[int16]*recordType{
	typeStreamsGroupMetadata: {name: "StreamsGroupMetadata", key: key("StreamsGroupMetadataKey", groupKey),
		value: schema.Message{Name: "StreamsGroupMetadataValue", Fields: fields{
			{Name: "epoch", Type: int32s},
			{Name: "metadataHash", Type: int64s},
			{Name: "validatedTopologyEpoch", Type: int32s, Tagged: true, Tag: 0, Default: -1},
			{Name: "lastAssignmentConfigs", Type: nested, Array: true, Nullable: true, Tagged: true, Tag: 1, Fields: keyValue},
		}}},
	typeStreamsGroupPartitions: {name: "StreamsGroupPartitionMetadata", key: key("StreamsGroupPartitionMetadataKey", groupKey),
		value: partitionMetadata("StreamsGroupPartitionMetadataValue")},
	typeStreamsGroupMember: {name: "StreamsGroupMemberMetadata", key: key("StreamsGroupMemberMetadataKey", memberKey),
		value: schema.Message{Name: "StreamsGroupMemberMetadataValue", Fields: fields{
			{Name: "instanceId", Type: text, Nullable: true},
			{Name: "rackId", Type: text, Nullable: true},
			{Name: "clientId", Type: text},
			{Name: "clientHost", Type: text},
			{Name: "rebalanceTimeoutMs", Type: int32s},
			{Name: "topologyEpoch", Type: int32s},
			{Name: "processId", Type: text},
			{Name: "userEndpoint", Type: nested, Nullable: true, Fields: fields{
				{Name: "host", Type: text},
				{Name: "port", Type: uint16s},
			}},
			{Name: "clientTags", Type: nested, Array: true, Fields: keyValue},
		}}},
	typeStreamsGroupTargetMetadata: {name: "StreamsGroupTargetAssignmentMetadata", key: key("StreamsGroupTargetAssignmentMetadataKey", groupKey),
		value: targetMetadata("StreamsGroupTargetAssignmentMetadataValue")},
	typeStreamsGroupTargetMember: {name: "StreamsGroupTargetAssignmentMember", key: key("StreamsGroupTargetAssignmentMemberKey", memberKey),
		value: schema.Message{Name: "StreamsGroupTargetAssignmentMemberValue", Fields: fields{
			{Name: "activeTasks", Type: nested, Array: true, Fields: tasks},
			{Name: "standbyTasks", Type: nested, Array: true, Fields: tasks},
			{Name: "warmupTasks", Type: nested, Array: true, Fields: tasks},
		}}},
	typeStreamsGroupCurrent: {name: "StreamsGroupCurrentMemberAssignment", key: key("StreamsGroupCurrentMemberAssignmentKey", memberKey),
		value: schema.Message{Name: "StreamsGroupCurrentMemberAssignmentValue", Fields: fields{
			{Name: "memberEpoch", Type: int32s},
			{Name: "previousMemberEpoch", Type: int32s},
			{Name: "state", Type: int8s},
			{Name: "activeTasks", Type: nested, Array: true, Fields: assignedTasks},
			{Name: "standbyTasks", Type: nested, Array: true, Fields: assignedTasks},
			{Name: "warmupTasks", Type: nested, Array: true, Fields: assignedTasks},
			{Name: "activeTasksPendingRevocation", Type: nested, Array: true, Fields: assignedTasks},
			{Name: "standbyTasksPendingRevocation", Type: nested, Array: true, Fields: assignedTasks},
			{Name: "warmupTasksPendingRevocation", Type: nested, Array: true, Fields: assignedTasks},
		}}},
	typeStreamsGroupTopology: {name: "StreamsGroupTopology", key: key("StreamsGroupTopologyKey", groupKey),
		value: schema.Message{Name: "StreamsGroupTopologyValue", Fields: fields{
			{Name: "epoch", Type: int32s},
			{Name: "subtopologies", Type: nested, Array: true, Fields: fields{
				{Name: "subtopologyId", Type: text},
				{Name: "sourceTopics", Type: text, Array: true},
				{Name: "sourceTopicRegex", Type: text, Array: true},
				{Name: "stateChangelogTopics", Type: nested, Array: true, Fields: topicInfo},
				{Name: "repartitionSinkTopics", Type: text, Array: true},
				{Name: "repartitionSourceTopics", Type: nested, Array: true, Fields: topicInfo},
				{Name: "copartitionGroups", Type: nested, Array: true, Fields: fields{
					{Name: "sourceTopics", Type: int16s, Array: true},
					{Name: "sourceTopicRegex", Type: int16s, Array: true},
					{Name: "repartitionSourceTopics", Type: int16s, Array: true},
				}},
			}},
		}}},
}
