package check

import "kafsck/replica"

// recordRules judge what is inside batches whose CRC is right; a pass finds these
// only when it decodes every record.
var recordRules = []rule{
	{replica.RecordInvalid, is("inner-record-invalid", damage), plural("batch has a right CRC, but its records cannot be read", "batches have right CRCs, but their records cannot be read")},
	{replica.CodecUnknown, is("batch-codec-unknown", damage), plural("batch has a compression id that Kafka does not know", "batches have compression ids that Kafka does not know")},
	{replica.LZ4HeaderChecksum, is("lz4-header-checksum-wrong", damage), plural("batch has an LZ4 frame with a wrong header checksum", "batches have LZ4 frames with a wrong header checksum")},
	{replica.LZ4LegacyChecksum, is("lz4-legacy-checksum", note), plural("message has the LZ4 header checksum of old clients", "messages have the LZ4 header checksum of old clients")},
	{replica.MaxTimestampMismatch, is("max-timestamp-mismatch", warning), plural("batch has a largest timestamp that is not that of its records", "batches have largest timestamps that are not those of their records")},
	{replica.DecompressionLimit, is("records-not-decoded", note), plural("batch holds more than kafsck decompresses", "batches hold more than kafsck decompresses")},
}
