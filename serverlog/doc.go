// Package serverlog reads the text logs of brokers (server.log, state-change.log,
// controller.log, with the wordings of Kafka 0.10 to 4.x) for the lines that tell
// what happened to a replica's log.
//
// A line is a claim of a broker, with the broker's clock; this package says what
// the line says and judges nothing.
//
//	[2026-11-30 03:25:20,719] INFO [UnifiedLog partition=t-0, dir=/d/1] Truncating to offset 100 (UnifiedLog)
//	 `-- time, no zone          `-- context: who speaks, of what          `-- text        `-- logger
//
// Every layout of log4j that puts time and level before the message is understood,
// and JSON layouts with a "message" field. The time is the first one before the
// message; one that carries its own zone (a container runtime's prefix) wins. A
// time without a zone, Kafka's default, is read in Options.Zone, UTC unless said
// otherwise.
//
// Only the beginning of a message is looked at, so that foreign words inside a line
// (a client id, a topic's name) are never taken for a broker's; and a number at which
// a line was cut is not believed.
package serverlog
