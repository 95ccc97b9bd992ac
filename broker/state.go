package broker

import "kafsck/epoch"

// State is what a broker holds in memory of one replica: after its start, after it
// became leader, or after it truncated as a follower.
type State struct {
	Broker        int32
	LogStart      int64
	LogEnd        int64 // exclusive
	HighWatermark int64
	Epochs        epoch.Cache
	// Legacy: the log takes messages of format 0 or 1, so that its epochs are not used.
	Legacy bool
}
