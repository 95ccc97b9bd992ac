// Package check judges facts: which of them are damage, which are what a kill
// normally leaves, and which are no trouble at all.
//
// There is one table of codes ([Codes]): what each means, how it happens, what
// Kafka does, what to do. Every finding of any judging package has an entry in it.
// The rules are grouped by how much they must see:
//
//	scope      facts                               function
//	segment    replica.Log.Anomalies               Log        framing, CRC, tails, offsets, headers, producers, indexes,
//	                                                          snapshots, records, timestamps, the cleaner's way
//	replica    one partition directory             Directory  names, leftovers, partition.metadata, half renamed segments
//	           and the checkpoints' lines on it    Offsets    log start, high watermark, recovery point, cleaner position
//	           epoch.Compare                       Epochs     leader-epoch-checkpoint against the batches
//	log dir    files of a log directory            LogDir     meta.properties, the four checkpoints, foreign directories, quorum-state
//	broker     its log directories                 Broker     one partition on two disks, different clusters
//	case       all inputs                          Case       topic ids, cluster ids
//
// What needs replicas to be compared (divergence and the like), or a prediction of the next
// start (an interrupted swap), is judged in package incident, with codes of the same table.
// docs/rules.md lists each fault of one log with the code and the test that tell of it.
//
// A rule claims one thing and names the Kafka behaviour that it mirrors. Many
// facts of one cause are one finding with a count and the worst examples: a rule
// stays silent where another finding tells the cause, such as an epoch entry above
// a log end that lies below its own high watermark.
//
// This package reads nothing itself and prints nothing; a failed read never
// reaches it.
package check
