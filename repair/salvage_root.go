package repair

import (
	"fmt"

	"kafsck/checkpoint"
	"kafsck/epoch"
)

// newLog is a partition of a new root.
type newLog struct {
	Topic     string
	Partition int32
	TopicID   string // "" unknown: then there is no partition.metadata
	Segments  []newSegment
	Epochs    epoch.Cache // the lines of leader-epoch-checkpoint
	// Start and End are what a start finds; Line is that of log-start-offset-checkpoint, nil none.
	Start, End    int64
	Line          *int64
	HighWatermark *int64 // nil none
	// Snapshots: some batch has a producer id, so that producer snapshots are built as a broker builds
	// them, one behind each segment.
	Snapshots bool
}

// newSegment is a .log of a new root.
type newSegment struct {
	Base    int64
	Pieces  []Piece // none: an empty file
	Size    int64   // of the pieces, bytes
	Markers bool    // it has transaction markers
}

func (l *newLog) dir() string { return fmt.Sprintf("%s-%d", l.Topic, l.Partition) }

// edits are all files of the partition, and its lines in the checkpoints of the log directory, which a
// bare folder of partition directories has not.
func (l *newLog) edits(bare bool) []Edit {
	dir := l.dir()
	name := func(base int64, ext string) string { return fmt.Sprintf("%s/%020d%s", dir, base, ext) }
	var edits []Edit
	snapshot := ""
	for i := range l.Segments {
		s := &l.Segments[i]
		log := name(s.Base, ".log")
		edits = append(edits, Edit{Op: Compose, File: log, Pieces: s.Pieces})
		if len(s.Pieces) == 0 {
			continue // a broker makes the other files of an empty segment when it needs them
		}
		for _, ext := range []string{".index", ".timeindex"} {
			edits = append(edits, Edit{Op: Rebuild, File: name(s.Base, ext), Logs: []string{log}, Interval: indexInterval})
		}
		if s.Markers && l.Snapshots {
			edits = append(edits, Edit{Op: Rebuild, File: name(s.Base, ".txnindex"), Logs: []string{log}, Snapshot: snapshot})
		}
		if l.Snapshots {
			next := l.End
			if i+1 < len(l.Segments) {
				next = l.Segments[i+1].Base
			}
			edits = append(edits, Edit{Op: Rebuild, File: name(next, ".snapshot"), Logs: []string{log}, Snapshot: snapshot})
			snapshot = name(next, ".snapshot")
		}
	}
	text := string(checkpoint.FormatEpochs(l.Epochs))
	edits = append(edits, Edit{Op: Write, File: dir + "/leader-epoch-checkpoint", Text: &text})
	if l.TopicID != "" {
		id := "version: 0\ntopic_id: " + l.TopicID
		edits = append(edits, Edit{Op: Write, File: dir + "/partition.metadata", Text: &id})
	}
	if bare {
		return edits
	}
	set := func(file string, v int64) {
		edits = append(edits, Edit{Op: Line, File: file, Line: &OffsetLine{Topic: l.Topic, Partition: l.Partition, Offset: &v}})
	}
	set(recoveryPoints, l.End)
	if l.HighWatermark != nil {
		set(watermarks, *l.HighWatermark)
	}
	if l.Line != nil {
		set(logStarts, *l.Line)
	}
	return edits
}

// promise is what a start finds.
func (l *newLog) promise(root int) Promise {
	p := Promise{Root: root, Dir: l.dir(), Partition: l.dir(), LogStartOffset: l.Start, LogEndOffset: l.End, Epochs: [][2]int64{}}
	held := l.Epochs.TruncateFromEnd(l.End)
	if l.Line != nil {
		held = held.TruncateFromStart(*l.Line)
	}
	for _, e := range held {
		p.Epochs = append(p.Epochs, [2]int64{int64(e.Epoch), e.StartOffset})
	}
	return p
}

// directoryEdits are the files of a new log directory itself: meta.properties, and the marker of a
// clean shutdown where everything fits the logs.
func directoryEdits(metaVersion int, node int32, cluster string, clean bool) []Edit {
	id := "node.id"
	if metaVersion == 0 {
		id = "broker.id"
	}
	text, empty := fmt.Sprintf("#\n%s=%d\nversion=%d\n", id, node, metaVersion), ""
	if cluster != "" {
		text += "cluster.id=" + cluster + "\n"
	}
	edits := []Edit{{Op: Write, File: "meta.properties", Text: &text}}
	if clean {
		edits = append(edits, Edit{Op: Write, File: cleanMarker, Text: &empty})
	}
	return edits
}
