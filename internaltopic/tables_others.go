package internaltopic

import "kafsck/internal/schema"

// transactionTypes are the records of __transaction_state: one type. Value version 1 since
// the feature transaction.version is at least 1 (Kafka 4.0).
var transactionTypes = map[int16]*recordType{
	0: {name: "TransactionLog", key: key("TransactionLogKey", fields{{Name: "transactionalId", Type: text}}),
		value: schema.Message{Name: "TransactionLogValue", Max: 1, FlexibleSince: 1, Fields: fields{
			{Name: "producerId", Type: int64s},
			{Name: "previousProducerId", Type: int64s, Since: 1, Tagged: true, Tag: 0, Default: -1},
			{Name: "nextProducerId", Type: int64s, Since: 1, Tagged: true, Tag: 1, Default: -1},
			{Name: "producerEpoch", Type: int16s},
			{Name: "nextProducerEpoch", Type: int16s, Since: 1, Tagged: true, Tag: 3, Default: -1},
			{Name: "transactionTimeoutMs", Type: int32s},
			{Name: "transactionStatus", Type: int8s},
			{Name: "transactionPartitions", Type: nested, Array: true, Nullable: true, Fields: fields{
				{Name: "topic", Type: text},
				{Name: "partitionIds", Type: int32s, Array: true},
			}},
			{Name: "transactionLastUpdateTimestampMs", Type: int64s},
			{Name: "transactionStartTimestampMs", Type: int64s},
			{Name: "clientTransactionVersion", Type: int16s, Since: 1, Tagged: true, Tag: 2},
		}}},
}

const (
	typeShareSnapshot = 0
	typeShareUpdate   = 1
)

var (
	shareKey    = fields{{Name: "groupId", Type: text}, {Name: "topicId", Type: uuids}, {Name: "partition", Type: int32s}}
	stateBatch  = fields{{Name: "firstOffset", Type: int64s}, {Name: "lastOffset", Type: int64s}, {Name: "deliveryState", Type: int8s}, {Name: "deliveryCount", Type: int16s}}
	stateBatchs = schema.Field{Name: "stateBatches", Type: nested, Array: true, Fields: stateBatch}
)

// shareTypes are the records of __share_group_state.
var shareTypes = map[int16]*recordType{
	typeShareSnapshot: {name: "ShareSnapshot", key: key("ShareSnapshotKey", shareKey),
		value: schema.Message{Name: "ShareSnapshotValue", Fields: fields{
			{Name: "snapshotEpoch", Type: int32s},
			{Name: "stateEpoch", Type: int32s},
			{Name: "leaderEpoch", Type: int32s},
			{Name: "startOffset", Type: int64s},
			{Name: "deliveryCompleteCount", Type: int32s, Tagged: true, Tag: 0, Default: -1},
			{Name: "createTimestamp", Type: int64s},
			{Name: "writeTimestamp", Type: int64s},
			stateBatchs,
		}},
		older: []schema.Message{{Name: "ShareSnapshotValue", Fields: fields{
			{Name: "snapshotEpoch", Type: int32s},
			{Name: "stateEpoch", Type: int32s},
			{Name: "leaderEpoch", Type: int32s},
			{Name: "startOffset", Type: int64s},
			stateBatchs,
		}}}},
	typeShareUpdate: {name: "ShareUpdate", key: key("ShareUpdateKey", shareKey),
		value: schema.Message{Name: "ShareUpdateValue", Fields: fields{
			{Name: "snapshotEpoch", Type: int32s},
			{Name: "leaderEpoch", Type: int32s},
			{Name: "startOffset", Type: int64s},
			{Name: "deliveryCompleteCount", Type: int32s, Tagged: true, Tag: 0, Default: -1},
			stateBatchs,
		}}},
}

// The apiKeys of __remote_log_metadata (RemoteLogMetadataSerde).
const (
	apiRemoteSegment         = 0
	apiRemoteSegmentUpdate   = 1
	apiRemotePartitionDelete = 2
	apiRemoteSegmentSnapshot = 3 // in the file remote_log_snapshot only
)

var (
	topicIDPartition    = fields{{Name: "name", Type: text}, {Name: "id", Type: uuids}, {Name: "partition", Type: int32s}}
	remoteLogSegmentID  = fields{{Name: "topicIdPartition", Type: nested, Fields: topicIDPartition}, {Name: "id", Type: uuids}}
	segmentLeaderEpochs = fields{{Name: "leaderEpoch", Type: int32s}, {Name: "offset", Type: int64s}}
	remoteSegmentBody   = fields{
		{Name: "startOffset", Type: int64s},
		{Name: "endOffset", Type: int64s},
		{Name: "brokerId", Type: int32s},
		{Name: "maxTimestampMs", Type: int64s},
		{Name: "eventTimestampMs", Type: int64s},
		{Name: "segmentLeaderEpochs", Type: nested, Array: true, Fields: segmentLeaderEpochs},
		{Name: "segmentSizeInBytes", Type: int32s},
		{Name: "customMetadata", Type: blob, Nullable: true, Null: true},
		{Name: "remoteLogSegmentState", Type: int8s},
		{Name: "txnIndexEmpty", Type: boolean, Tagged: true, Tag: 0},
	}
)

// remoteTypes are the records of __remote_log_metadata, by apiKey; they have no key.
var remoteTypes = map[int16]*recordType{
	apiRemoteSegment: {name: "RemoteLogSegmentMetadata", value: schema.Message{Name: "RemoteLogSegmentMetadataRecord",
		Fields: append(fields{{Name: "remoteLogSegmentId", Type: nested, Fields: remoteLogSegmentID}}, remoteSegmentBody...)}},
	apiRemoteSegmentUpdate: {name: "RemoteLogSegmentMetadataUpdate", value: schema.Message{Name: "RemoteLogSegmentMetadataUpdateRecord", Fields: fields{
		{Name: "remoteLogSegmentId", Type: nested, Fields: remoteLogSegmentID},
		{Name: "brokerId", Type: int32s},
		{Name: "eventTimestampMs", Type: int64s},
		{Name: "customMetadata", Type: blob, Nullable: true, Null: true},
		{Name: "remoteLogSegmentState", Type: int8s},
	}}},
	apiRemotePartitionDelete: {name: "RemotePartitionDeleteMetadata", value: schema.Message{Name: "RemotePartitionDeleteMetadataRecord", Fields: fields{
		{Name: "topicIdPartition", Type: nested, Fields: topicIDPartition},
		{Name: "brokerId", Type: int32s},
		{Name: "eventTimestampMs", Type: int64s},
		{Name: "remotePartitionDeleteState", Type: int8s},
	}}},
	apiRemoteSegmentSnapshot: {name: "RemoteLogSegmentMetadataSnapshot", value: schema.Message{Name: "RemoteLogSegmentMetadataSnapshotRecord",
		Fields: append(fields{{Name: "segmentId", Type: uuids}}, remoteSegmentBody...)}},
}
