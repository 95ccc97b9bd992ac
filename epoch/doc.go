// Package epoch holds the leader-epoch lineage of a log: which offsets were
// written under which leader epoch.
//
// Two sources are kept apart on purpose. A [Lineage] is what the batch headers
// say; the epoch field in a header is not covered by the batch's CRC, so a
// lineage is evidence, not truth. A [Cache] is what Kafka keeps in memory and
// in the file leader-epoch-checkpoint: an ordered list of (epoch, start offset)
// in which an epoch lasts until the next entry starts.
//
//	batches     |--- epoch 0 ---|-- epoch 2 --|- epoch 3 -|
//	offsets     0              100           180         200 = log end offset
//	Lineage     {0 [0,100)}     {2 [100,180)}  {3 [180,200)}
//	Cache       (0,0)           (2,100)        (3,180)
//
// [Compare] tells how the file differs from the batches, and which differences a
// healthy broker leaves behind; [Meet] how far two logs were written under the
// same leaders.
//
// The rules of Cache follow org.apache.kafka.storage.internals.epoch.
// LeaderEpochFileCache as it has been since Kafka 2.7.
//
// Values are plain slices; every method that changes one returns the new value.
// This package never reads a file, and never trusts an epoch because a header
// carries it.
package epoch
