// Package diff compares two copies of a partition and says where and how they
// differ.
//
// It works on [Content]: blocks by offset, epoch and CRC, with fingerprints of
// offset windows in front, so that equal stretches cost nothing. A log is one
// Content; a catalog of fingerprints can be another.
//
//	fingerprints      [= = = ≠ ≠ = = ≠]          windows that may differ
//	blocks                  walk both sides in step   batches that differ
//	records                 only where needed         records that differ
//
// On a topic with the delete policy replicas hold the leader's batches byte for
// byte, so comparison is batch-exact. On a compacted topic every replica cleans
// on its own schedule, so comparison is by record: what counts is the latest
// value of each key.
//
// [Pair] names the divergences of two live replicas. [Missing] lists what one
// copy holds and another does not, block by block, which is what loss is made
// of. This package never calls a replica right: which of two sides rules is told
// to it, and only decides the name of a difference.
package diff
