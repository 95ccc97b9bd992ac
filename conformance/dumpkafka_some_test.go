//go:build !broker

package conformance

// everyOptionSet: run TestKafkaFormatLive with all of kafkaOptionSets.
const everyOptionSet = false
