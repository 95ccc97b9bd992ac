package check

import (
	"fmt"
	"slices"

	"kafsck/finding"
	"kafsck/kraft"
	"kafsck/logdir"
)

// MetadataLog judges what a replay of the metadata log of a directory met in its segments; what is
// wrong with snapshots [MetadataSnapshots] tells.
func MetadataLog(p *logdir.Partition, name string, l *kraft.Log) []finding.Finding {
	list := slices.DeleteFunc(slices.Clone(l.Damaged), func(d kraft.Damage) bool { return isSnapshot(d.File) })
	n := len(list) + l.DamagedDropped
	gaps := missingMetadata(l)
	if len(list) == 0 && len(gaps) == 0 {
		return nil
	}
	severity, at := damage, Subject{Broker: name}.At(p.Dir)
	summary := count(n, "part of the cluster metadata log cannot be read", "parts of the cluster metadata log cannot be read")
	newest := wholeSnapshot(l)
	if len(list) > 0 {
		at.File, at.Position = p.Dir+"/"+list[0].File, list[0].Pos
	} else {
		n = len(gaps)
		summary = fmt.Sprintf("records are missing from the cluster metadata log: %s", span(gaps[0].From, gaps[0].To))
		if n > 1 {
			summary += fmt.Sprintf(" and %d more ranges", n-1)
		}
		if newest != nil && newest.EndOffset >= gaps[n-1].To {
			severity = warning
		}
	}
	if len(gaps) > 0 {
		at.From, at.To = gaps[0].From, gaps[0].To
	}
	f := raise("metadata-log-damaged", severity, at, summary)
	f.Count = n
	for _, d := range list[:min(len(list), maxExamples)] {
		f.Evidence = append(f.Evidence, says("%s/%s position %d: %s", p.Dir, d.File, d.Pos, d.Why))
	}
	for _, g := range gaps[:min(len(gaps), maxExamples)] {
		f.Evidence = append(f.Evidence, says("no batch that can be read has %s, and the log goes on behind them", span(g.From, g.To)))
	}
	switch {
	case len(gaps) == 0:
	case newest != nil && newest.EndOffset >= gaps[len(gaps)-1].To:
		f.Evidence = append(f.Evidence, says("%s is whole and ends at %d: the state behind what is missing is known", newest.Name, newest.EndOffset))
	default:
		f.Evidence = append(f.Evidence, says("no whole snapshot reaches behind %s: what these records told this node does not know", span(gaps[len(gaps)-1].From, gaps[len(gaps)-1].To)))
	}
	if len(list) == 0 {
		f.Kafka = "Not checked when the log is opened: the node replays what is there, and knows what the missing records told (leaders, ISR, topics, configurations) only from a snapshot behind them."
	}
	return []finding.Finding{f}
}

// missingMetadata are the offsets that a replay missed between batches of the log itself: a raft log
// has no gaps. Those before its first segment are retention's, and behind its last batch lies what a
// snapshot that was fetched goes beyond.
func missingMetadata(l *kraft.Log) []kraft.Gap {
	return slices.DeleteFunc(slices.Clone(l.Gaps), func(g kraft.Gap) bool {
		return l.StartOffset < 0 || g.From < l.StartOffset || g.To >= l.EndOffset
	})
}

// wholeSnapshot is the newest snapshot that a start may use, nil without one.
func wholeSnapshot(l *kraft.Log) *kraft.Snapshot {
	var whole *kraft.Snapshot
	for i := range l.Snapshots {
		if x := &l.Snapshots[i]; x.Complete && x.EndOffset >= l.StartOffset && !setAside(x.Name) {
			whole = x
		}
	}
	return whole
}

// MetadataFiles judges the names and the small files in the directory of a metadata log. Whatever
// fails while the log is opened ends the start of the node (KafkaRaftLog.createLog; each seen in a
// start of Kafka 4.3.1), and its log is recovered from the first segment at each start, so that
// index files, producer snapshots and the entries of leader-epoch-checkpoint are made anew.
func MetadataFiles(p *logdir.Partition, name string) []finding.Finding {
	s := Subject{Broker: name}
	out := Names(p, s, false)
	for i := range out {
		f := &out[i]
		switch f.Code {
		case "epoch-file-malformed":
			f.Next = "Delete the file in the copy that will be started: the start reads the metadata log from its first segment and writes the epochs anew."
		case "partition-metadata-malformed":
			f.Next = "Delete the file in the copy that will be started: the start writes it anew."
		case "bad-segment-name":
		default:
			continue
		}
		f.Kafka = "Cannot open the metadata log: the node does not start."
	}
	if p.HasTopicID && p.TopicID != metadataTopicID && p.MetaFile != nil {
		f := raise("topic-id-mismatch", damage, s.At(p.MetaFile.Path), "partition.metadata of the metadata log names another topic's id",
			finding.Evidence{Claim: p.MetaFile.Path, Want: metadataTopicID.String(), Got: p.TopicID.String()})
		f.Kafka = "Cannot open the metadata log (InconsistentTopicIdException): the node does not start."
		f.Next = "Delete the file in the copy that will be started: the start writes it anew. Look at the rest of the directory: the file was copied or edited."
		out = append(out, f)
	}
	return out
}
