// Package check judges the facts of one log: which anomalies are damage, which
// are what a kill normally leaves, and which are no trouble at all.
//
// A rule claims one thing and names the Kafka behaviour that it mirrors. Many
// facts of one cause are one finding with a count and the worst examples.
//
//	replica.Anomaly      --> finding.Finding
//	bad-crc                  batch-crc-mismatch       damage
//	junk, zero-hole          log-bytes-unreadable     damage
//	torn-tail, zero-tail     torn-tail, zero-tail     note (warning after a clean stop)
//	base-offset-out-of-line  base-offset-out-of-line  damage
//	epoch-out-of-line        epoch-out-of-line        damage
//	offsets-backwards        duplicate-offsets        damage
//	offset-gap               offset-gap               damage on delete-policy topics
//	segment-gap              segment-gap              damage on delete-policy topics
//	embedded                 embedded-batch           note
//
// This package reads nothing itself and prints nothing; a failed read never
// reaches it.
package check
