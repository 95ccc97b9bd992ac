// Package batch turns bytes into Kafka's record batches: the header of magic 2, its
// checksum, the records, their codecs, control records, and the header of the messages
// of magic 0 and 1.
//
//	a .log file is a sequence of
//
//	+-------------------+------------------------------------------------------------+
//	| base offset, int64| 8 bytes                                   │                │
//	| length, int32     | 4 bytes, counts what follows              │ not covered    │
//	| leader epoch,int32| 4 bytes                                   │ by any checksum│
//	| magic, int8       | 2                                         │                │
//	+-------------------+------------------------------------------------------------+
//	| CRC-32C, uint32   | of everything below                                        |
//	+-------------------+------------------------------------------------------------+
//	| attributes        | codec, timestamp type, transactional, control, horizon     |
//	| last offset delta | so the batch covers base … base + delta, with gaps or not  |
//	| timestamps        | base, max                                                  |
//	| producer          | id, epoch, base sequence                                   |
//	| record count      | 0 is legal: emptied by the cleaner                         |
//	+-------------------+------------------------------------------------------------+
//	| records           | one blob, compressed as a whole or not at all              |
//	+-------------------+------------------------------------------------------------+
//
// ParseHeader and LegacyHeader have the positions, Records the bytes of a record, and
// each codec its own diagram.
//
// # Lifetimes
//
// A View borrows its bytes from whoever read them. A Record borrows from the View or,
// if the batch is compressed, from the Decompressor, and is valid until the next step of
// the iteration. Clone to keep.
//
// # Errors
//
// Damage is an *Error that wraps one of the sentinels and says where. No input panics,
// and no length in it is believed before it is compared with the bytes that are there.
//
// This package never opens a file, never knows a file name, never decides how bad damage
// is, and never decompresses without a limit.
//
// Source of truth: org.apache.kafka.common.record.DefaultRecordBatch, DefaultRecord,
// LegacyRecord and org.apache.kafka.common.compress; KIP-98 (magic 2), KIP-32 (magic 1).
package batch
