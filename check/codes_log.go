package check

// logCodes are about the segments of one log as a whole.
var logCodes = []Code{
	{Code: "interrupted-swap", Plan: warning, Normal: true, Scope: ScopeReplica, Severities: severities(note, warning, loss),
		When:    "loss where the next start takes away originals that reach further than the swap; a warning where a complete swap is left behind a clean shutdown marker",
		Meaning: "The replacement of segments by cleaned or split ones did not end: .cleaned, .swap or .deleted files lie beside the segments.",
		How:     "A kill or a crash while the cleaner, or a start that splits a segment, renamed files: normal. With a clean shutdown marker somebody else renamed or copied them.",
		Kafka:   "Any .cleaned file makes the swap worthless: it and the .swap files at or above it are deleted, the originals stay. Otherwise the .swap files win: every other file whose name lies in their range is deleted, and they get their final names. How far the range goes a start asks the last entry of the .swap's index, so that a .swap cut short is taken for complete.",
		Do:      "kafsck predict start shows every deletion and rename; kafsck repair plan finishes or undoes the replacement, whichever keeps the records. Copy the originals (.log and .log.deleted) before the broker is started."},
	{Code: "oldest-segment-removed", Scope: ScopeReplica, Severities: severities(note), Meaning: "The first segments are gone, and the broker did not delete them: leader-epoch-checkpoint still begins below the log.",
		How:   "Files deleted by hand to free space, a copy that left them out, a kill between the deletion and the write of the checkpoint.",
		Kafka: "Starts at the first segment that is there, as after retention. Consumers below it are reset by auto.offset.reset.",
		Do:    "Nothing, if the records had served their time. Else copy the segments back from another replica before this broker is started."},
	{Code: "message-format-falls-back", Scope: ScopeReplica, Severities: severities(note), Meaning: "Messages of format 0 or 1 stand behind batches or messages of a newer format.",
		How:   "message.format.version (to Kafka 3.x) was lowered, or a follower of an older inter.broker.protocol.version was sent down-converted messages. Kafka 4.x writes format 2 only: newer segments of an old format were put there.",
		Kafka: "Reads both. Messages of format 0 and 1 carry no leader epoch, those of format 0 no timestamp: followers cut at the high watermark again, and lookups by time pass them over.",
		Do:    "Nothing for the data. Where nobody lowered the format look at where the file came from (kafsck dump shows the formats, kafsck diff what the other replicas have)."},
}
