// Package incident tells the story over all inputs: for each partition who
// rules, how the replicas differ, which records the ruling log does not have,
// whether they had been committed, and who still holds them.
//
//	logdir.Case --> Open: cluster metadata of every disk, best one chosen
//	            --> Partitions: for each partition, in name order
//	                  replica.Read of every copy (in parallel)
//	                  Ruling      metadata, --leader, or a guess that is called one
//	                  diff.Pair   divergences
//	                  diff.Missing + commitment.Court   losses with their proof
//	                  traces      losses that left no copy
//
// A partition's logs are dropped when its story has been handed over, so memory
// does not grow with the number of partitions.
//
// What it cannot know it says: a ruling leader whose disk is absent makes
// "cannot tell", never "nothing lost". It never writes, and never lets stale
// metadata speak for the present.
package incident
