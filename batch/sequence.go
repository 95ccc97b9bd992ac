package batch

import "math"

// IncrementSequence is sequence + by as DefaultRecordBatch.incrementSequence computes
// it: after 2147483647 comes 0. Both should be ≥ 0; for others it does what Java does.
func IncrementSequence(sequence, by int32) int32 {
	if sequence > math.MaxInt32-by {
		return by - (math.MaxInt32 - sequence) - 1
	}
	return sequence + by
}

// DecrementSequence is sequence - by as DefaultRecordBatch.decrementSequence computes
// it: before 0 comes 2147483647.
func DecrementSequence(sequence, by int32) int32 {
	if sequence < by {
		return math.MaxInt32 - (by - sequence) + 1
	}
	return sequence - by
}
