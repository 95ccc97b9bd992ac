// Package apply carries out plans of package repair: the only writer of log data
// in kafsck.
//
//	plans --Epochs--> refuse?  OUT exists, OUT inside an input, a broker holds the lock
//	                  write    OUT.kafsck-*/t-0/leader-epoch-checkpoint, each file and folder flushed
//	                  refuse?  an input is not what the plan was made from
//	                  appear   OUT/t-0/leader-epoch-checkpoint, by one rename
//	                  verify   read back, byte by byte, and as Kafka would load it
//
// It decides nothing, touches no path that is not in a plan, overwrites nothing and
// never writes below an input. Whatever fails before the rename leaves nothing
// behind.
package apply
