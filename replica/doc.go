// Package replica reads one copy of a partition once and states what is in it.
//
// A copy is an ordered list of segment files: the live log of a directory as a
// broker would see it after the first three passes of its load (complete swap
// sets applied, see [View]), or files set aside beside it (.deleted, .swap) or
// in a directory of their own (-future, -delete, -stray).
//
//	directory            sources (View)              Log (Read)
//	t-0/ 0.log      ---> live:    0.log 100.log ---> facts: start, end, lineage,
//	     100.log         deleted: 40.log.deleted     anomalies, fingerprints
//	     40.log.deleted                               Blocks(from, to) on demand
//
// [Read] makes one sequential pass with every CRC verified, in memory that does
// not grow with the log: what it keeps of the content are fingerprints of offset
// windows. [Log.Blocks] reads a part again, starting at the window's position.
//
// A [Block] is copied out of the scan buffer and may be kept. Records borrow
// memory until the next step of their iterator.
//
// This package never judges: a bad CRC, a gap or an epoch that contradicts its
// neighbours is an [Anomaly], a fact with a place. It never writes, and a failed
// read is an error, never an anomaly.
package replica
