// Package checkpoint parses the small text files that a broker keeps beside
// its logs, the way Kafka 4.3.1 parses them.
//
//	file                              function                 Kafka class
//	leader-epoch-checkpoint           ParseEpochs              LeaderEpochCheckpointFile, CheckpointFile
//	replication-offset-checkpoint     ParseOffsets             OffsetCheckpointFile, CheckpointFile
//	recovery-point-offset-checkpoint  ParseOffsets
//	log-start-offset-checkpoint       ParseOffsets
//	cleaner-offset-checkpoint         ParseOffsets
//	partition.metadata                ParsePartitionMetadata   PartitionMetadataReadBuffer
//	meta.properties                   ParseMetaProperties      MetaProperties, java.util.Properties
//	quorum-state                      ParseQuorumState         FileQuorumStateStore
//	.kafka_cleanshutdown              ParseCleanShutdown       CleanShutdownFileHandler
//
// The common layout of the checkpoint files (UTF-8, no byte order mark):
//
//	0 NL                           version, only ever 0
//	2 NL                           number of entry lines
//	0 0 NL                         epoch SP startOffset            (leader epochs)
//	orders 3 1200 NL               topic SP partition SP offset    (offsets)
//
// A function of this package never fails: bytes that Kafka refuses are a fact
// about the file, told by its Malformed value, and the entries that can still
// be read are given with it. Malformed is nil exactly when Kafka 4.3.1 would
// accept the bytes. Java's reading of lines, numbers, white space, properties
// and JSON is followed, since a file may be valid for Java where a stricter or
// looser reader says otherwise: "+5" is a number, a lone carriage return ends a
// line, a leading space on an entry line is an error.
//
// Nothing returned borrows the bytes given. This package never repairs what it
// parses, never accepts trailing junk in silence, never opens a file, and never
// says how serious a defect is.
package checkpoint
