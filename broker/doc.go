// Package broker says what Kafka itself would do with a replica's files and with
// its followers: load them at its start, become leader, truncate, fetch. It is a
// model, written down as functions over facts, and tested against Kafka's own
// code, never against itself.
//
//	files --- Load ----> State --- BecomeLeader ---> State of the leader
//	                       |                            |
//	                       '------- Truncate <----------'   the follower's act
//
// It opens files to read them and changes nothing; every deletion or truncation is
// an Action that it describes. It does not grade what is lost: incident does.
package broker
