package report

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"kafsck/broker"
	"kafsck/commitment"
	"kafsck/incident"
)

// cacheProse is the epochs after the load.
func cacheProse(ps *incident.PartitionStart) string {
	const most = 4
	var words []string
	for i, e := range ps.Epochs {
		if i == most {
			words = append(words, fmt.Sprintf("and %d more", len(ps.Epochs)-most))
			break
		}
		words = append(words, fmt.Sprintf("%d from %d", e.Epoch, e.StartOffset))
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

// actionProse says what a start does to a file.
func actionProse(ps *incident.PartitionStart, x broker.Action) string {
	file := Escape(x.File)
	s := ""
	switch x.Action {
	case broker.ActTruncate:
		s = fmt.Sprintf("cuts %s at position %d: %s", file, x.Position, count(x.Bytes, "byte goes", "bytes go"))
		if x.From < x.ToOffset {
			s += ", " + offsets(x.From, x.ToOffset)
		}
	case broker.ActDelete:
		switch {
		case x.Bytes == 0 && strings.HasSuffix(x.File, ".log.deleted"):
			return "deletes " + file + ": it is empty (0 bytes)"
		default:
			s = fmt.Sprintf("deletes %s: %s", file, count(x.Bytes, "byte", "bytes"))
			if x.From < x.ToOffset {
				s += ", " + offsets(x.From, x.ToOffset)
			}
		}
	case broker.ActMarkDeleted:
		s = fmt.Sprintf("deletes %s a minute later (renames it to .deleted)", file)
		if x.Bytes > 0 {
			s += ": " + count(x.Bytes, "byte", "bytes")
		}
		if x.From < x.ToOffset {
			s += ", " + offsets(x.From, x.ToOffset)
		}
	case broker.ActRename:
		s = fmt.Sprintf("renames %s to %s", file, Escape(x.To))
	case broker.ActRecover:
		s = "reads every batch of " + file + " and builds its indexes anew"
	case broker.ActCreateTimeIndex:
		s = "makes an empty " + file
	case broker.ActRebuildIndex, broker.ActRebuildTxnIndex:
		s = "builds " + file + " anew"
	case broker.ActWriteSnapshot, broker.ActRewriteEpochs, broker.ActWriteMetadata:
		s = "writes " + file
	case broker.ActDeleteSnapshot:
		s = "deletes " + file
	case broker.ActCreateSegment:
		s = "makes the empty segment " + file
	case broker.ActSplit:
		s = "splits " + file
	case broker.ActRenameStray:
		s = "renames the directory to -stray"
	default:
		s = strings.ReplaceAll(x.Action, "-", " ") + " " + file
	}
	if x.Why != "" {
		s += " (" + Escape(strings.TrimSuffix(x.Why, ".")) + ")"
	}
	for _, g := range ps.Gone {
		if path.Base(g.File) != x.File || x.Action != broker.ActDelete && x.Action != broker.ActMarkDeleted && x.Action != broker.ActTruncate {
			continue
		}
		s += "; " + goneProse(&g)
	}
	return s
}

// goneProse says what is known of records that go away.
func goneProse(g *incident.GoneRecords) string {
	s := fmt.Sprintf("%s of %s ", count(g.Records, "record", "records"), offsets(g.From, g.To))
	switch {
	case !g.Lost:
		return s + "that no other live copy among these inputs holds"
	case len(g.HeldBy) > 0:
		s += "that the leader lacks, still held by " + brokers(g.HeldBy)
	default:
		s += "that no live copy holds"
	}
	switch g.Committed {
	case "yes":
		s += ", committed"
	case "no":
		s += ", never committed"
	default:
		s += ", not known whether committed"
	}
	return s
}

// summed is the rest of a directory's actions in a few words.
func summed(ps *incident.PartitionStart) string {
	var recovered []string // a segment may be read twice
	indexes, replaced := 0, 0
	for _, x := range ps.Actions {
		switch x.Action {
		case broker.ActRecover:
			if !slices.Contains(recovered, x.File) {
				recovered = append(recovered, x.File)
			}
		case broker.ActDelete:
			if x.Replaced && ps.Compacted && strings.HasSuffix(x.File, ".log") {
				replaced++
			}
		case broker.ActRebuildIndex, broker.ActRebuildTxnIndex:
			indexes++
		}
	}
	var words []string
	if replaced > 0 {
		words = append(words, "a finished compaction (.swap) takes the place of "+count(replaced, "segment", "segments"))
	}
	if zerosAlone(ps) {
		words = append(words, zerosProse(&ps.Cut))
	}
	if len(recovered) > 0 {
		words = append(words, fmt.Sprintf("%s read and indexed anew", count(len(recovered), "segment is", "segments are")))
	}
	if indexes > 0 {
		words = append(words, count(indexes, "missing index is built", "missing indexes are built"))
	}
	if n := unfilled(ps); n > 0 {
		words = append(words, count(n, "missing .timeindex is made and stays empty", "missing .timeindex files are made and stay empty"))
	}
	if ps.EpochFileRewritten {
		words = append(words, "leader-epoch-checkpoint is rewritten")
	}
	return strings.Join(words, ", ")
}

// unfilled counts the time indexes that a start makes and leaves empty: those of segments that it does not
// read.
func unfilled(ps *incident.PartitionStart) int {
	read := map[string]bool{}
	for _, x := range ps.Actions {
		if x.Action == broker.ActRecover {
			read[strings.TrimSuffix(x.File, ".log")] = true
		}
	}
	n := 0
	for _, x := range ps.Actions {
		if x.Action == broker.ActCreateTimeIndex && !read[strings.TrimSuffix(x.File, ".timeindex")] {
			n++
		}
	}
	return n
}

// savedProse is what a file to save holds.
func savedProse(f *savedFile) string {
	var words []string
	for _, g := range f.gone {
		words = append(words, offsets(g.From, g.To))
	}
	if len(words) > 4 {
		words = append(words[:3], fmt.Sprintf("%d more ranges", len(words)-3))
	}
	grade := ""
	if slices.ContainsFunc(f.gone, func(g incident.GoneRecords) bool { return g.Committed == "yes" }) {
		grade = ", committed"
	}
	return list(words) + grade
}

// zerosProse is a cut of zeros alone.
func zerosProse(c *incident.CutTotals) string {
	return fmt.Sprintf("%s of zeros at the end of a log %s cut off, without a record in them", count(c.Zeros, "byte", "bytes"), map[bool]string{true: "is", false: "are"}[c.Zeros == 1])
}

// cutProse is what the start takes off logs, in records.
func cutProse(c *incident.CutTotals) string {
	rest := c.Bytes - c.Zeros - c.Torn
	switch {
	case c.Records > 0 && c.Damaged > 0:
		return fmt.Sprintf("%s and %s of damaged bytes go (%s)", count(c.Records, "record", "records"), count(c.Damaged, "offset", "offsets"), count(c.Bytes, "byte", "bytes"))
	case c.Records > 0:
		return fmt.Sprintf("%s (%s)", count(c.Records, "record goes", "records go"), count(c.Bytes, "byte", "bytes"))
	case c.Torn > 0 && rest == 0:
		return fmt.Sprintf("no whole record: %s of a batch that was not written to its end", count(c.Torn, "byte", "bytes"))
	case c.Zeros > 0:
		return fmt.Sprintf("no whole record: %s, %s of them zeros", count(c.Bytes, "byte", "bytes"), comma(c.Zeros))
	}
	return fmt.Sprintf("no whole record: %s of a damaged or torn batch", count(c.Bytes, "byte", "bytes"))
}

// watermarkShort is watermarkProse in few words, for a verdict.
func watermarkShort(ps *incident.PartitionStart) string {
	s := ps.BelowWatermark
	return offsets(s.From, s.To) + map[bool]string{true: " was", false: " were"}[s.To == s.From+1] + " committed"
}

// watermarkProse is what was committed and is missing after a cut.
func watermarkProse(ps *incident.PartitionStart) string {
	s := ps.BelowWatermark
	prose := fmt.Sprintf("%s: committed, as the directory's high watermark %d lies above; missing after the start; ", offsets(s.From, s.To), s.To)
	switch {
	case len(ps.WatermarkHeldBy) > 0:
	case len(ps.WatermarkCutBy) > 0:
		return prose + brokers(ps.WatermarkCutBy) + " " + map[bool]string{true: "does", false: "do"}[len(ps.WatermarkCutBy) == 1] +
			" not have all of them either: the log is damaged there, or its own start cuts it as well. Start none of them before the logs are repaired"
	default:
		return prose + "no other live copy among these inputs reaches over them"
	}
	return prose + brokers(ps.WatermarkHeldBy) + " " + haveOrHas(len(ps.WatermarkHeldBy)) + " offsets up to there"
}

// followsProse is what a replica throws away as a follower, after its start.
func followsProse(f *incident.Follows) string {
	s := fmt.Sprintf("then, as follower of broker %s%s, ", Escape(f.Leader.Name), map[bool]string{true: " (a guess)"}[f.Guess])
	if f.Rebuild {
		s += fmt.Sprintf("throws its log away and begins anew at %d", f.To)
	} else {
		s += fmt.Sprintf("truncates it to %d", f.To)
	}
	return s + ": " + lostProse(f.Lost) + " (" + ranges(f.Lost) + ")"
}

// lostProse counts records by grade: "100 committed records and 3 that may have been committed".
func lostProse(list []incident.GoneRecords) string {
	n := map[commitment.Grade]int64{}
	for _, g := range list {
		n[g.Committed] += g.Records
	}
	return lostCounts(n)
}

func lostCounts(n map[commitment.Grade]int64) string {
	var words []string
	add := func(n int64, one, many string) {
		if n > 0 {
			words = append(words, count(n, one, many))
		}
	}
	add(n[commitment.Yes], "committed record", "committed records")
	if len(words) == 0 {
		add(n[commitment.Unknown], "record that may have been committed", "records that may have been committed")
	} else {
		add(n[commitment.Unknown], "that may have been committed", "that may have been committed")
	}
	if len(words) == 0 {
		add(n[commitment.No], "record that was never committed", "records that were never committed")
	}
	return list(words)
}

// ranges lists the offsets of gone records.
func ranges(all []incident.GoneRecords) string {
	var words []string
	for i, g := range all {
		if n := len(words); i > 0 && all[i-1].To == g.From && n > 0 {
			at := i
			for at > 0 && all[at-1].To == all[at].From {
				at--
			}
			words[n-1] = offsets(all[at].From, g.To)
			continue
		}
		words = append(words, offsets(g.From, g.To))
	}
	if len(words) > 4 {
		words = append(words[:3], fmt.Sprintf("%d more ranges", len(words)-3))
	}
	return list(words)
}

// counting are the records that may have been committed.
func counting(list []incident.GoneRecords) []incident.GoneRecords {
	return slices.DeleteFunc(slices.Clone(list), func(g incident.GoneRecords) bool { return !g.Counts() })
}

// everyDir names the log directories of which none stays in service.
func everyDir(b *incident.BrokerStart) string {
	if len(b.Dirs) == 1 {
		return "its log directory"
	}
	return "each of its log directories"
}

// things names what is to be copied: files, or whole -delete directories.
func things(list []savedFile) (one, many string) {
	for _, f := range list {
		if !strings.HasSuffix(f.shown, "-delete") {
			return "file", "files"
		}
	}
	return "directory", "directories"
}
