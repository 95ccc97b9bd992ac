// Package kraft replays `__cluster_metadata-0`, the log in which a KRaft cluster
// keeps its metadata, into a history: topics, who led each partition when and with
// which in-sync replicas, configurations, brokers, features.
//
// The log is an ordinary log (package segment); what its batches hold:
//
//	batch    | v2, PartitionLeaderEpoch = raft epoch, each record's time = time of the event
//	control  | LEADER_CHANGE first in each raft epoch; KRAFT_VERSION, KRAFT_VOTERS
//	record   | no key; the value:
//
//	value    | frame version, uvarint = 1 | apiKey, uvarint | version, uvarint | message (package schema)
//	example  | 01                         | 02              | 00              | 04 "foo" <16 bytes> 00   TopicRecord
//
// A snapshot, named <end offset, 20 digits>-<epoch, 10 digits>.checkpoint, holds the
// state just before its end offset:
//
//	batch 0  | control: SNAPSHOT_HEADER, with kraft.version 1 also KRAFT_VERSION, KRAFT_VOTERS
//	…        | records as above; base offsets count from 0 within the file
//	batch n  | control: SNAPSHOT_FOOTER; without it the snapshot is not used
//
// [Read] starts with the snapshot at the log's start, or from nothing if the log
// starts at 0, and applies what follows in offset order. Where a part of the log is
// missing or damaged, the state behind it is marked as uncertain until a later
// snapshot, or a record that states the whole, settles it.
//
// [Merge] does the same for several copies of one log together: an older copy may hold
// what a newer one has replaced by a snapshot, and where copies contradict each other
// the one with precedence counts and the fork is told.
//
// Everything returned is owned by the caller; lists may be shared between the changes
// of a Log and must not be modified.
//
// This package never guesses a record type that it does not know (raw bytes are kept
// and counted), never writes, and never judges: that a leader was not in the in-sync
// replicas is a fact, what it means is told elsewhere. Secrets (SCRAM credentials,
// delegation tokens) are not kept.
//
// Sources: org.apache.kafka.metadata.MetadataRecordSerde, the schemas in
// metadata/src/main/resources/common/metadata, PartitionRegistration.merge,
// TopicsDelta, ClusterDelta, ConfigurationsDelta, MetadataBatchLoader,
// org.apache.kafka.snapshot.Snapshots.
package kraft
