// Package internaltopic decodes what Kafka's own topics hold: committed offsets and
// group states in __consumer_offsets, transactions in __transaction_state, share
// groups in __share_group_state, tiered segments in __remote_log_metadata.
//
// A record's key says what it is; a key without a value (tombstone) deletes it:
//
//	key   | type, int16    | message in the classic encoding  |
//	value | version, int16 | message, flexible from a version on |
//
//	00 01 | 00 01 "g" | 00 01 "t" | 00 00 00 03      OffsetCommitKey: group, topic, partition
//	00 03 | offset, int64 | leader epoch, int32 | …  OffsetCommitValue version 3
//
// __remote_log_metadata has no keys; its values are framed like metadata records:
//
//	value | frame version, uvarint = 1 | apiKey, uvarint | version, uvarint | message |
//
// All messages are read from tables ([kafsck/internal/schema]), one for each message of
// Kafka 4.3.1 with all its versions since 0.8.2. Tagged fields that a table does not know
// are kept. A key type or version that no table knows, and bytes that do not fit their
// table, are not decoded: [Record.Err] says why, and the raw bytes are there.
//
// A [Record] borrows from the key and value that it was read from. The views
// ([OffsetCommit], [GroupMetadata], [Transaction], …) are copies and may be kept.
//
// This package never opens a file, never knows which record of a key is the newest, and
// never guesses: a value of an unknown version is not read like an older one.
//
// Sources: the schemas in group-coordinator, transaction-coordinator, share-coordinator
// and storage (src/main/resources/**/message), GroupCoordinatorRecordSerde,
// TransactionLog, ShareCoordinatorRecordSerde, RemoteLogMetadataSerde; KIP-848 (consumer
// groups), KIP-932 (share groups), KIP-1071 (streams groups), KIP-405 (tiered storage).
package internaltopic
