package check

import (
	"fmt"

	"kafsck/finding"
	"kafsck/replica"
)

// oldestRemoved: a broker that deletes its oldest segments raises the first entry of
// leader-epoch-checkpoint to the new start at once (UnifiedLog.maybeIncrementLogStartOffset,
// LeaderEpochFileCache.truncateFromStart). An entry below the first segment, with nothing in
// log-start-offset-checkpoint, was left by somebody else. Tiered topics, whose epochs go on
// below the first local segment, have such a line.
func (v *view) oldestRemoved() []finding.Finding {
	l := v.log
	if l.State != replica.Live || len(l.Segments) == 0 || len(l.Checkpoint) == 0 || l.Partition.EpochsFile == nil {
		return nil
	}
	first, entry := l.Segments[0].BaseOffset, l.Checkpoint[0]
	if _, known := l.Partition.LogDir.LogStarts.Line(l.Partition); known || l.Partition.LogDir.LogStarts == nil || entry.StartOffset >= first {
		return nil
	}
	if len(l.Lineage) == 0 || l.Lineage[0].Epoch < entry.Epoch || first < 0 || entry.StartOffset < 0 {
		return nil // the file is another log's, which is told as that
	}
	at := v.s.At(l.Segments[0].Log.Path)
	at.From, at.To = entry.StartOffset, first
	return []finding.Finding{raise("oldest-segment-removed", note, at,
		fmt.Sprintf("the log begins at offset %d; %s were removed, not by the broker, or in the moment of a kill", first, span(entry.StartOffset, first)),
		finding.Evidence{Claim: l.Partition.EpochsFile.Path + ", first entry", Want: fmt.Sprintf("an offset of at least %d: a broker that deletes old segments writes it so", first), Got: fmt.Sprintf("epoch %d from offset %d", entry.Epoch, entry.StartOffset)})}
}
