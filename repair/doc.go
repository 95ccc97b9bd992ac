// Package repair turns what is known of damaged directories into plans: plain
// values that say what would be written, from which bytes, and why. It writes
// nothing; package repair/apply carries a plan out.
//
// [PlanEpochs] regenerates one leader-epoch-checkpoint. What is known of a log's
// leader epochs, and what each source may add:
//
//	offsets     0        24       48              60          100 = log end offset
//	batches     ~~~~~~~~~|-- 1 ---|~~~~~~~~~~~~~~~|--- 5 -----|      ~ no batch here
//	headers              1 24                     5 60               rule of LogSegment.recover
//	old file    0 0                      5 48                 7 100  fits the gaps; 7 is a leader's empty tail
//	sibling     0 0                   2 40                    6 90   2 40 contradicts a batch, 6 90 too
//
// Headers rule wherever there are batches. The old file, then other replicas, may
// speak only of offsets for which this log has no batch, and only what the
// batches around them allow. Another replica is heard only below the last batch
// that both hold (offset, epoch, CRC): above it the two may have been written
// under different leaders, and an entry of the other line would make Kafka keep
// records that it must truncate, or truncate what it must keep.
//
// No source is copied whole, and nothing is filled in by guessing: what no source
// knows is said in [EpochPlan.Unknown].
//
// Sources: LogSegment.recover, LeaderEpochFileCache (assign, truncateFromStart,
// truncateFromEnd), LogLoader.load, LeaderEpochCheckpointFile.Formatter, all of
// Kafka 4.3.1.
package repair
