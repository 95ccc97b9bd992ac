package conformance

import (
	"fmt"
	"strings"

	"kafsck/batch"
)

// The lines of DumpLogSegments 4.3.1, made from what kafsck decoded. kafsck's
// own printer is not used: this is the second opinion on it as well.

func batchLine(v batch.View, position int64, valid bool) string {
	horizon := "OptionalLong.empty"
	if v.Attributes.DeleteHorizon() {
		horizon = fmt.Sprintf("OptionalLong[%d]", v.BaseTimestamp)
	}
	return fmt.Sprintf("baseOffset: %d lastOffset: %d count: %d baseSequence: %d lastSequence: %d producerId: %d producerEpoch: %d"+
		" partitionLeaderEpoch: %d isTransactional: %t isControl: %t deleteHorizonMs: %s"+
		" position: %d %s: %d size: %d magic: %d compresscodec: %s crc: %d isvalid: %t",
		v.BaseOffset, v.LastOffset(), v.RecordCount, v.BaseSequence, v.LastSequence(), v.ProducerID, v.ProducerEpoch,
		v.PartitionLeaderEpoch, v.Attributes.Transactional(), v.Attributes.Control(), horizon,
		position, v.Attributes.TimestampType(), v.MaxTimestamp, v.Size(), v.Magic, v.Attributes.Codec(), v.CRC, valid)
}

func recordLine(v batch.View, r batch.Record) string {
	keys := make([]string, len(r.Headers))
	for i, h := range r.Headers {
		keys[i] = h.Key
	}
	line := fmt.Sprintf("| offset: %d %s: %d keySize: %d valueSize: %d sequence: %d headerKeys: [%s]",
		r.Offset, v.Attributes.TimestampType(), r.Timestamp, size(r.Key), size(r.Value), r.Sequence, strings.Join(keys, ","))
	if !v.Attributes.Control() {
		return line
	}
	c, err := batch.ParseControl(r.Key, r.Value)
	switch {
	case err != nil:
		return line // Kafka throws after this much.
	case c.Type == batch.ControlAbort || c.Type == batch.ControlCommit:
		return line + fmt.Sprintf(" endTxnMarker: %s coordinatorEpoch: %d", c.Type, c.CoordinatorEpoch)
	case strings.HasPrefix(c.Type.String(), "UNKNOWN"):
		return line + " controlType: " + c.Type.String()
	}
	return line
}

// size is the size as written: -1 for null.
func size(b []byte) int {
	if b == nil {
		return -1
	}
	return len(b)
}
