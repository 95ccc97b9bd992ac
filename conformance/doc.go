// Package conformance holds kafsck against real Kafka: its own kafka-dump-log,
// its own storage code (the load oracle) and, with the build tag "broker",
// brokers that run. Another Kafka decoder, franz-go's kmsg, is the third
// opinion on bytes.
//
// It is a module of its own, so that the product requires none of this. Run
// run.sh, which fetches the jars; without Java or jars the tests fail, they do
// not skip.
//
// Source of truth: org.apache.kafka.tools.DumpLogSegments,
// org.apache.kafka.storage.internals.log.UnifiedLog, both of 4.3.1.
package conformance
