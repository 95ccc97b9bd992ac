package check

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"kafsck/epoch"
	"kafsck/finding"
	"kafsck/internal/wire"
	"kafsck/internaltopic"
	"kafsck/logdir"
)

// RemoteSegment is a segment in the remote tier, as a list of them names it.
type RemoteSegment struct {
	ID       string
	From, To int64 // offsets [From, To)
	Epochs   []internaltopic.EpochStart
	Source   string // where the list says so, for people
}

// RemoteLineage finds remote segments that the leader's lineage does not lead through, so that the
// broker neither serves nor deletes them. epochs is the leader-epoch cache of the log that judges,
// end its log end, -1 where that log is not known to be the leader's. Segments wholly below the
// lineage are what retention is about to delete: nothing is said of them.
//
// RemoteLogManager.isRemoteSegmentWithinLeaderEpochs (4.x), which filters both maps with
// buildFilteredLeaderEpochMap first.
func RemoteLineage(s Subject, where string, epochs epoch.Cache, end int64, list []RemoteSegment) []finding.Finding {
	lineage := make([]internaltopic.EpochStart, len(epochs))
	for i, e := range epochs {
		lineage[i] = internaltopic.EpochStart{Epoch: e.Epoch, Start: e.StartOffset}
	}
	lineage = withData(lineage)
	if len(lineage) == 0 {
		return nil
	}
	type strange struct {
		RemoteSegment
		why string
	}
	var out []strange
	for _, r := range list {
		if r.To <= lineage[0].Start && (len(r.Epochs) == 0 || r.Epochs[len(r.Epochs)-1].Epoch <= lineage[0].Epoch) {
			continue
		}
		if why := outside(r, lineage, end); why != "" {
			out = append(out, strange{r, why})
		}
	}
	if len(out) == 0 {
		return nil
	}
	at := s.At(where)
	at.From, at.To = out[0].From, out[0].To
	f := raise("remote-segment-not-in-lineage", warning, at, fmt.Sprintf("%s outside the leader epochs of this log", count(len(out), "remote segment lies", "remote segments lie")))
	f.Count = len(out)
	for _, x := range out[:min(len(out), maxExamples-1)] {
		f.Evidence = append(f.Evidence, says("segment %s, %s, epochs %s (%s): %s", x.ID, span(x.From, x.To), starts(x.Epochs), x.Source, x.why))
	}
	f.Evidence = append(f.Evidence, says("%s: epochs %s", where, starts(lineage)))
	return []finding.Finding{f}
}

// starts shows epochs with their start offsets.
func starts(list []internaltopic.EpochStart) string {
	if len(list) == 0 {
		return "(none)"
	}
	var out []string
	for i, e := range list {
		if i == 6 && len(list) > 7 {
			out = append(out, fmt.Sprintf("… %d more", len(list)-i))
			break
		}
		out = append(out, fmt.Sprintf("%d from %d", e.Epoch, e.Start))
	}
	return strings.Join(out, ", ")
}

// withData leaves epochs out that hold no record: the next one starts at the same offset
// (RemoteLogManager.buildFilteredLeaderEpochMap).
func withData(list []internaltopic.EpochStart) []internaltopic.EpochStart {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b internaltopic.EpochStart) int { return int(a.Epoch) - int(b.Epoch) })
	var out []internaltopic.EpochStart
	for i, e := range list {
		if i+1 < len(list) && list[i+1].Start == e.Start {
			continue
		}
		out = append(out, e)
	}
	return out
}

// outside says why a remote segment is not within a lineage, "" if it is.
func outside(r RemoteSegment, lineage []internaltopic.EpochStart, end int64) string {
	mine := withData(r.Epochs)
	if len(mine) == 0 {
		return "it names no leader epoch"
	}
	last := mine[len(mine)-1]
	switch {
	case last.Epoch < lineage[0].Epoch:
		return fmt.Sprintf("its last epoch, %d, is older than the first one of the log, %d, and its offsets reach into the log", last.Epoch, lineage[0].Epoch)
	case last.Epoch > lineage[len(lineage)-1].Epoch:
		return fmt.Sprintf("its last epoch, %d, is newer than the last one of the log, %d", last.Epoch, lineage[len(lineage)-1].Epoch)
	}
	of := map[int32]int{}
	for i, e := range lineage {
		of[e.Epoch] = i
	}
	first := true
	for i, e := range mine {
		if e.Epoch < lineage[0].Epoch {
			continue
		}
		k, ok := of[e.Epoch]
		if !ok {
			return fmt.Sprintf("the log has no epoch %d", e.Epoch)
		}
		if first && k > 0 && e.Start < lineage[k].Start {
			return fmt.Sprintf("it has epoch %d from %d on, in the log that epoch starts at %d", e.Epoch, e.Start, lineage[k].Start)
		}
		first = false
		switch {
		case i == len(mine)-1:
			if k+1 < len(lineage) && r.To > lineage[k+1].Start {
				return fmt.Sprintf("it has epoch %d up to offset %d, in the log epoch %d starts at %d", e.Epoch, r.To-1, lineage[k+1].Epoch, lineage[k+1].Start)
			}
		case k+1 >= len(lineage) || lineage[k+1] != mine[i+1]:
			return fmt.Sprintf("behind epoch %d it goes on with epoch %d from %d, the log does not", e.Epoch, mine[i+1].Epoch, mine[i+1].Start)
		}
	}
	if end >= 0 && r.To > end {
		return fmt.Sprintf("it reaches offset %d, the log ends at %d", r.To-1, end)
	}
	return ""
}

// RemoteNotChecked tells that the remote segments of a partition were not looked at.
func RemoteNotChecked(s Subject, where, why string) []finding.Finding {
	return []finding.Finding{raise("remote-segments-not-checked", note, s.At(where), "the partition has segments in the remote tier, and nothing among the inputs lists them: they were not checked", says("%s", why))}
}

// CachedIndex is a file in remote-log-index-cache and what reading it found.
type CachedIndex struct {
	File string // shown path
	Why  string // "" if it is sound
}

// CachedName takes the name of a file of remote-log-index-cache apart; why says what is wrong with
// the name, ok is false for files that Kafka does not use as an index.
//
//	200_Q2FzZXNSZW1vdGVTZWdtMQ.index     start offset, remote segment id, kind
//	….deleted, ….tmp                      on the way out, unfinished
//
// RemoteIndexCache.remoteOffsetIndexFileName and the like.
func CachedName(name string) (base int64, kind logdir.Kind, ok bool, why string) {
	ext := path.Ext(name)
	switch ext {
	case ".index":
		kind = logdir.KindIndex
	case ".timeindex":
		kind = logdir.KindTimeIndex
	case ".txnindex":
		kind = logdir.KindTxnIndex
	default:
		return 0, 0, false, ""
	}
	start, id, found := strings.Cut(strings.TrimSuffix(name, ext), "_")
	base, err := strconv.ParseInt(start, 10, 64)
	if !found || err != nil || base < 0 {
		return 0, kind, true, "its name does not begin with a start offset"
	}
	if _, err := wire.ParseUUID(id); err != nil {
		return base, kind, true, fmt.Sprintf("%q in its name is no id of a remote segment", id)
	}
	return base, kind, true, ""
}

// RemoteIndexCache judges cached indexes of remote segments.
func RemoteIndexCache(d *logdir.LogDir, name string, list []CachedIndex) []finding.Finding {
	bad := slices.DeleteFunc(slices.Clone(list), func(x CachedIndex) bool { return x.Why == "" })
	if len(bad) == 0 {
		return nil
	}
	f := raise("remote-index-cache-corrupt", warning, Subject{Broker: name}.At(bad[0].File), count(len(bad), "cached index of a remote segment is", "cached indexes of remote segments are")+" not sound")
	f.Count = len(bad)
	for _, x := range bad[:min(len(bad), maxExamples)] {
		f.Evidence = append(f.Evidence, says("%s: %s", x.File, x.Why))
	}
	return []finding.Finding{f}
}
