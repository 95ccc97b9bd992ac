package kraft

import "kafsck/internal/schema"

// The apiKeys of metadata records (org.apache.kafka.common.metadata.MetadataRecordType).
const (
	keyRegisterBroker           = 0
	keyUnregisterBroker         = 1
	keyTopic                    = 2
	keyPartition                = 3
	keyConfig                   = 4
	keyPartitionChange          = 5
	keyFenceBroker              = 7
	keyUnfenceBroker            = 8
	keyRemoveTopic              = 9
	keyDelegationToken          = 10
	keyUserScramCredential      = 11
	keyFeatureLevel             = 12
	keyClientQuota              = 14
	keyProducerIDs              = 15
	keyBrokerRegistrationChange = 17
	keyAccessControlEntry       = 18
	keyRemoveAccessControlEntry = 19
	keyNoOp                     = 20
	keyZkMigrationState         = 21
	keyRemoveUserScram          = 22
	keyBeginTransaction         = 23
	keyEndTransaction           = 24
	keyAbortTransaction         = 25
	keyRemoveDelegationToken    = 26
	keyRegisterController       = 27
	keyClearElr                 = 28
)

// recordType is one type of metadata record.
type recordType struct {
	name    string // as kafka-dump-log shows it
	message schema.Message
}

// type of an entity's elements, spelled out where tables would be hard to read
const (
	boolean = schema.Bool
	int8s   = schema.Int8
	int16s  = schema.Int16
	uint16s = schema.Uint16
	int32s  = schema.Int32
	int64s  = schema.Int64
	float   = schema.Float64
	uuids   = schema.UUID
	text    = schema.String
	blob    = schema.Bytes
	nested  = schema.Nested
)

type fields = []schema.Field

var endPoints = fields{
	{Name: "name", Type: text},
	{Name: "host", Type: text},
	{Name: "port", Type: uint16s},
	{Name: "securityProtocol", Type: int16s},
}

var supportedFeatures = fields{
	{Name: "name", Type: text},
	{Name: "minSupportedVersion", Type: int16s},
	{Name: "maxSupportedVersion", Type: int16s},
}

// recordTypes are those of Kafka 4.3.1, all flexible. Fields are in the order of
// Kafka's schemas, which is the order on the wire for those not tagged.
var recordTypes = map[uint32]*recordType{
	keyRegisterBroker: {"REGISTER_BROKER_RECORD", schema.Message{Name: "RegisterBrokerRecord", Max: 4, Fields: fields{
		{Name: "brokerId", Type: int32s},
		{Name: "isMigratingZkBroker", Type: boolean, Since: 2},
		{Name: "incarnationId", Type: uuids},
		{Name: "brokerEpoch", Type: int64s},
		{Name: "endPoints", Type: nested, Array: true, Fields: endPoints},
		{Name: "features", Type: nested, Array: true, Fields: supportedFeatures},
		{Name: "rack", Type: text, Nullable: true},
		{Name: "fenced", Type: boolean},
		{Name: "inControlledShutdown", Type: boolean, Since: 1},
		{Name: "logDirs", Type: uuids, Array: true, Since: 3, Tagged: true, Tag: 0},
		{Name: "cordonedLogDirs", Type: uuids, Array: true, Nullable: true, Since: 4, Tagged: true, Tag: 1, Null: true},
	}}},
	keyUnregisterBroker: {"UNREGISTER_BROKER_RECORD", schema.Message{Name: "UnregisterBrokerRecord", Fields: fields{
		{Name: "brokerId", Type: int32s},
		{Name: "brokerEpoch", Type: int64s},
	}}},
	keyTopic: {"TOPIC_RECORD", schema.Message{Name: "TopicRecord", Fields: fields{
		{Name: "name", Type: text},
		{Name: "topicId", Type: uuids},
	}}},
	keyPartition: {"PARTITION_RECORD", schema.Message{Name: "PartitionRecord", Max: 2, Fields: fields{
		{Name: "partitionId", Type: int32s},
		{Name: "topicId", Type: uuids},
		{Name: "replicas", Type: int32s, Array: true},
		{Name: "isr", Type: int32s, Array: true},
		{Name: "removingReplicas", Type: int32s, Array: true},
		{Name: "addingReplicas", Type: int32s, Array: true},
		{Name: "leader", Type: int32s},
		{Name: "leaderRecoveryState", Type: int8s, Tagged: true, Tag: 0},
		{Name: "leaderEpoch", Type: int32s},
		{Name: "partitionEpoch", Type: int32s},
		{Name: "directories", Type: uuids, Array: true, Since: 1},
		{Name: "eligibleLeaderReplicas", Type: int32s, Array: true, Nullable: true, Since: 2, Tagged: true, Tag: 1, Null: true},
		{Name: "lastKnownElr", Type: int32s, Array: true, Nullable: true, Since: 2, Tagged: true, Tag: 2, Null: true},
	}}},
	keyConfig: {"CONFIG_RECORD", schema.Message{Name: "ConfigRecord", Fields: fields{
		{Name: "resourceType", Type: int8s},
		{Name: "resourceName", Type: text},
		{Name: "name", Type: text},
		{Name: "value", Type: text, Nullable: true},
	}}},
	keyPartitionChange: {"PARTITION_CHANGE_RECORD", schema.Message{Name: "PartitionChangeRecord", Max: 2, Fields: fields{
		{Name: "partitionId", Type: int32s},
		{Name: "topicId", Type: uuids},
		{Name: "isr", Type: int32s, Array: true, Nullable: true, Tagged: true, Tag: 0, Null: true},
		{Name: "leader", Type: int32s, Tagged: true, Tag: 1, Default: leaderUnchanged},
		{Name: "replicas", Type: int32s, Array: true, Nullable: true, Tagged: true, Tag: 2, Null: true},
		{Name: "removingReplicas", Type: int32s, Array: true, Nullable: true, Tagged: true, Tag: 3, Null: true},
		{Name: "addingReplicas", Type: int32s, Array: true, Nullable: true, Tagged: true, Tag: 4, Null: true},
		{Name: "leaderRecoveryState", Type: int8s, Tagged: true, Tag: 5, Default: -1},
		{Name: "directories", Type: uuids, Array: true, Nullable: true, Since: 1, Tagged: true, Tag: 8, Null: true},
		{Name: "eligibleLeaderReplicas", Type: int32s, Array: true, Nullable: true, Since: 2, Tagged: true, Tag: 6, Null: true},
		{Name: "lastKnownElr", Type: int32s, Array: true, Nullable: true, Since: 2, Tagged: true, Tag: 7, Null: true},
	}}},
	keyFenceBroker:   {"FENCE_BROKER_RECORD", schema.Message{Name: "FenceBrokerRecord", Fields: brokerAndEpoch}},
	keyUnfenceBroker: {"UNFENCE_BROKER_RECORD", schema.Message{Name: "UnfenceBrokerRecord", Fields: brokerAndEpoch}},
	keyRemoveTopic: {"REMOVE_TOPIC_RECORD", schema.Message{Name: "RemoveTopicRecord", Fields: fields{
		{Name: "topicId", Type: uuids},
	}}},
	keyDelegationToken: {"DELEGATION_TOKEN_RECORD", schema.Message{Name: "DelegationTokenRecord", Fields: fields{
		{Name: "owner", Type: text},
		{Name: "requester", Type: text},
		{Name: "renewers", Type: text, Array: true},
		{Name: "issueTimestamp", Type: int64s},
		{Name: "maxTimestamp", Type: int64s},
		{Name: "expirationTimestamp", Type: int64s},
		{Name: "tokenId", Type: text, Secret: true},
	}}},
	keyUserScramCredential: {"USER_SCRAM_CREDENTIAL_RECORD", schema.Message{Name: "UserScramCredentialRecord", Fields: fields{
		{Name: "name", Type: text},
		{Name: "mechanism", Type: int8s},
		{Name: "salt", Type: blob, Secret: true},
		{Name: "storedKey", Type: blob, Secret: true},
		{Name: "serverKey", Type: blob, Secret: true},
		{Name: "iterations", Type: int32s},
	}}},
	keyFeatureLevel: {"FEATURE_LEVEL_RECORD", schema.Message{Name: "FeatureLevelRecord", Fields: fields{
		{Name: "name", Type: text},
		{Name: "featureLevel", Type: int16s},
	}}},
	keyClientQuota: {"CLIENT_QUOTA_RECORD", schema.Message{Name: "ClientQuotaRecord", Fields: fields{
		{Name: "entity", Type: nested, Array: true, Fields: fields{
			{Name: "entityType", Type: text},
			{Name: "entityName", Type: text, Nullable: true},
		}},
		{Name: "key", Type: text},
		{Name: "value", Type: float},
		{Name: "remove", Type: boolean},
	}}},
	keyProducerIDs: {"PRODUCER_IDS_RECORD", schema.Message{Name: "ProducerIdsRecord", Fields: fields{
		{Name: "brokerId", Type: int32s},
		{Name: "brokerEpoch", Type: int64s},
		{Name: "nextProducerId", Type: int64s},
	}}},
	keyBrokerRegistrationChange: {"BROKER_REGISTRATION_CHANGE_RECORD", schema.Message{Name: "BrokerRegistrationChangeRecord", Max: 3, Fields: fields{
		{Name: "brokerId", Type: int32s},
		{Name: "brokerEpoch", Type: int64s},
		{Name: "fenced", Type: int8s, Tagged: true, Tag: 0},
		{Name: "inControlledShutdown", Type: int8s, Since: 1, Tagged: true, Tag: 1},
		{Name: "logDirs", Type: uuids, Array: true, Since: 2, Tagged: true, Tag: 2},
		{Name: "cordonedLogDirs", Type: uuids, Array: true, Nullable: true, Since: 3, Tagged: true, Tag: 3, Null: true},
	}}},
	keyAccessControlEntry: {"ACCESS_CONTROL_ENTRY_RECORD", schema.Message{Name: "AccessControlEntryRecord", Fields: fields{
		{Name: "id", Type: uuids},
		{Name: "resourceType", Type: int8s},
		{Name: "resourceName", Type: text},
		{Name: "patternType", Type: int8s},
		{Name: "principal", Type: text},
		{Name: "host", Type: text},
		{Name: "operation", Type: int8s},
		{Name: "permissionType", Type: int8s},
	}}},
	keyRemoveAccessControlEntry: {"REMOVE_ACCESS_CONTROL_ENTRY_RECORD", schema.Message{Name: "RemoveAccessControlEntryRecord", Fields: fields{
		{Name: "id", Type: uuids},
	}}},
	keyNoOp: {"NO_OP_RECORD", schema.Message{Name: "NoOpRecord"}},
	keyZkMigrationState: {"ZK_MIGRATION_STATE_RECORD", schema.Message{Name: "ZkMigrationStateRecord", Fields: fields{
		{Name: "zkMigrationState", Type: int8s},
	}}},
	keyRemoveUserScram: {"REMOVE_USER_SCRAM_CREDENTIAL_RECORD", schema.Message{Name: "RemoveUserScramCredentialRecord", Fields: fields{
		{Name: "name", Type: text},
		{Name: "mechanism", Type: int8s},
	}}},
	keyBeginTransaction: {"BEGIN_TRANSACTION_RECORD", schema.Message{Name: "BeginTransactionRecord", Fields: fields{
		{Name: "name", Type: text, Nullable: true, Tagged: true, Tag: 0, Null: true},
	}}},
	keyEndTransaction: {"END_TRANSACTION_RECORD", schema.Message{Name: "EndTransactionRecord"}},
	keyAbortTransaction: {"ABORT_TRANSACTION_RECORD", schema.Message{Name: "AbortTransactionRecord", Fields: fields{
		{Name: "reason", Type: text, Nullable: true, Tagged: true, Tag: 0, Null: true},
	}}},
	keyRemoveDelegationToken: {"REMOVE_DELEGATION_TOKEN_RECORD", schema.Message{Name: "RemoveDelegationTokenRecord", Fields: fields{
		{Name: "tokenId", Type: text, Secret: true},
	}}},
	keyRegisterController: {"REGISTER_CONTROLLER_RECORD", schema.Message{Name: "RegisterControllerRecord", Fields: fields{
		{Name: "controllerId", Type: int32s},
		{Name: "incarnationId", Type: uuids},
		{Name: "zkMigrationReady", Type: boolean},
		{Name: "endPoints", Type: nested, Array: true, Fields: endPoints},
		{Name: "features", Type: nested, Array: true, Fields: supportedFeatures},
	}}},
	keyClearElr: {"CLEAR_ELR_RECORD", schema.Message{Name: "ClearElrRecord", Fields: fields{
		{Name: "topicName", Type: text},
	}}},
}

var brokerAndEpoch = fields{
	{Name: "id", Type: int32s},
	{Name: "epoch", Type: int64s},
}

// featureRange is the FeatureLevelRecord of 3.0 to 3.2, under the same version 0.
var featureRange = schema.Message{Name: "FeatureLevelRecord", Fields: fields{
	{Name: "name", Type: text},
	{Name: "minFeatureLevel", Type: int16s},
	{Name: "maxFeatureLevel", Type: int16s},
}}
