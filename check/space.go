package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kafsck/finding"
	"kafsck/logdir"
	"kafsck/replica"
)

// SpaceSign is what a write leaves that found no space.
type SpaceSign struct {
	Partition string // name
	File      string // shown path
	Kind      string // "torn batch at the log end", …
	At        time.Time
	LogDir    *logdir.LogDir
}

// The kinds of signs. The first two and the third are written by different code at different
// moments, so that one crash alone rarely leaves several of them in several partitions.
const (
	signTorn     = "a torn batch at the log end"
	signSnapshot = "an empty producer snapshot"
	signTmp      = "an unfinished write of a checkpoint"
	signSegment  = "an empty new segment without indexes"
)

// SpaceSigns are the signs in one copy of a partition. Only directories that a broker writes to
// are looked at.
func SpaceSigns(l *replica.Log) []SpaceSign {
	if l.State != replica.Live && l.State != replica.Future {
		return nil
	}
	p := l.Partition
	var out []SpaceSign
	add := func(kind string, f *logdir.File) {
		out = append(out, SpaceSign{Partition: p.Name(), File: f.Path, Kind: kind, At: f.ModTime, LogDir: p.LogDir})
	}
	if n := len(l.Segments); n > 0 {
		for _, a := range l.Anomalies.Kept {
			if a.Kind == replica.TornTail && (a.Segment == n-1 || a.Segment == n-2 && l.Segments[n-1].Log.Size == 0) {
				add(signTorn, l.Segments[a.Segment].Log)
			}
		}
	}
	for i, seg := range p.Segments {
		if seg.Snapshot != nil && seg.Snapshot.Suffix == logdir.NoSuffix && seg.Snapshot.Size == 0 {
			add(signSnapshot, seg.Snapshot)
		}
		if i > 0 && seg.Log != nil && seg.Suffix == logdir.NoSuffix && seg.Log.Size == 0 && seg.Index == nil && seg.TimeIndex == nil {
			add(signSegment, seg.Log)
		}
	}
	for _, f := range p.Unknown {
		if f.Kind == logdir.KindTemporary {
			add(signTmp, f)
		}
	}
	return out
}

// OutOfSpace groups the signs of the log directories of one broker. It takes several partitions of
// one disk, a torn batch among the signs, and another kind of sign: a kill alone leaves torn batches
// too, and an empty segment or an unfinished checkpoint may be of another day.
func OutOfSpace(d *logdir.LogDir, name string, signs []SpaceSign) []finding.Finding {
	partitions, kinds := map[string]bool{}, map[string]int{}
	var first, last time.Time
	for _, x := range signs {
		partitions[x.Partition] = true
		kinds[x.Kind]++
		if first.IsZero() || x.At.Before(first) {
			first = x.At
		}
		if x.At.After(last) {
			last = x.At
		}
	}
	if len(partitions) < 2 || kinds[signTorn] == 0 || len(kinds) < 2 || kinds[signSnapshot]+kinds[signTmp] == 0 {
		return nil
	}
	when := ""
	if !first.IsZero() && last.Sub(first) <= time.Hour {
		when = " at about " + first.UTC().Format("2006-01-02 15:04") + " UTC"
	}
	f := raise("out-of-space-pattern", warning, Subject{Broker: name}.At(d.Path), fmt.Sprintf("%s of one disk show what a write leaves that found no space%s", count(len(partitions), "partition", "partitions"), when))
	f.Count = len(signs)
	for _, kind := range []string{signTorn, signSnapshot, signTmp, signSegment} {
		var files []string
		for _, x := range signs {
			if x.Kind == kind {
				files = append(files, x.File)
			}
		}
		if len(files) == 0 {
			continue
		}
		slices.Sort(files)
		more := ""
		if n := len(files) - maxExamples; n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		f.Evidence = append(f.Evidence, says("%s: %s%s", kind, strings.Join(files[:min(len(files), maxExamples)], ", "), more))
	}
	return []finding.Finding{f}
}
