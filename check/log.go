package check

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"kafsck/finding"
	"kafsck/replica"
)

const (
	// maxExamples bounds the examples in the evidence of one finding.
	maxExamples = 4
	// maxPlaces bounds those of a finding about a log: each may be another thing to mend.
	maxPlaces = 16
)

// verdict is what a rule makes of one anomaly. An empty code is no finding.
type verdict struct {
	code     finding.Code
	severity finding.Severity
}

// rule judges the anomalies of one kind.
type rule struct {
	kind    replica.AnomalyKind
	judge   func(*view, replica.Anomaly) verdict
	summary func(n int) string
}

// view is a log with what several rules ask of it.
type view struct {
	log     *replica.Log
	s       Subject
	overlap map[int]bool // segments whose first batch lies below the end of the one before
	torn    bool         // the log ends in a torn batch or in zeros
	lacks   string       // why this copy once held more than it does, "" otherwise
	aside   map[int64]bool
	zeros   *replica.Anomaly // the zero tail of the log, nil without one
	end     int64            // keptEnd
}

// a kind that is always the same.
func is(code finding.Code, severity finding.Severity) func(*view, replica.Anomaly) verdict {
	return func(*view, replica.Anomaly) verdict { return verdict{code, severity} }
}

// marker reports whether a broker would start on this log without looking at it.
func (v *view) marker() bool {
	return v.log.State == replica.Live && v.log.Partition.LogDir.CleanShutdown
}

// last reports whether a segment is the newest one of the log.
func (v *view) last(segment int) bool { return segment == len(v.log.Segments)-1 }

func tornTail(v *view, a replica.Anomaly) verdict {
	if v.marker() || v.lacks != "" {
		return verdict{"torn-tail", warning}
	}
	return verdict{"torn-tail", note}
}

// zeroTail: after a kill zeros are what log.preallocate left, which keeps the size
// of the topic's segment.bytes (people choose it round), or a write whose data were
// still on their way. Behind an end that had been flushed, in a file of no round
// size, they are a write that was lost.
func zeroTail(v *view, a replica.Anomaly) verdict {
	size, flushed := a.Position+a.Length, v.log.RecoveryPoint
	switch {
	case v.cutsOff(a):
		return verdict{"zero-tail", damage}
	case v.marker(), v.lacks != "", v.log.State == replica.Live && !v.last(a.Segment):
		return verdict{"zero-tail", warning}
	case flushed != nil && *flushed >= v.end && size%100 != 0 && size%1024 != 0:
		return verdict{"zero-tail", warning}
	}
	return verdict{"zero-tail", note}
}

// holdsZeros reports whether the zeros of a tail begin inside the batch before them.
func holdsZeros(a, zeros *replica.Anomaly) bool {
	return a.Kind == replica.BadChecksum && a.Segment == zeros.Segment && a.Position+a.Length == zeros.Position
}

// checksum: the batch that the zeros of a tail begin in is no other damage.
func checksum(v *view, a replica.Anomaly) verdict {
	if v.zeros != nil && holdsZeros(&a, v.zeros) {
		return zeroTail(v, *v.zeros)
	}
	return verdict{"batch-crc-mismatch", damage}
}

// zeroHole: zeros up to the end of a sealed segment with no offset missing behind
// them are a preallocated file that was not trimmed.
func zeroHole(v *view, a replica.Anomaly) verdict {
	explained := a.From < 0 || v.s.Compacted || v.log.Sparse // no offset is missing, or the cleaner took it
	if explained && a.Position+a.Length == v.log.Segments[a.Segment].Log.Size && !v.last(a.Segment) {
		if v.cutsOff(a) {
			return verdict{"zero-tail", damage}
		}
		return verdict{"zero-tail", warning}
	}
	return verdict{"log-bytes-zeroed", damage}
}

// belowSegment: the first offset of a compressed message of format 0 or 1 is inside
// it, so that what stands for it is a guess; its last one is not.
func belowSegment(v *view, a replica.Anomaly) verdict {
	if v.log.HasLegacy && a.To > v.log.Segments[a.Segment].BaseOffset {
		return verdict{}
	}
	return verdict{"batch-below-segment", damage}
}

// formatBack: what was set aside may be put together of several logs.
func formatBack(v *view, _ replica.Anomaly) verdict {
	if v.log.State != replica.Live && v.log.State != replica.Future {
		return verdict{}
	}
	return verdict{"message-format-falls-back", note}
}

func backwards(v *view, a replica.Anomaly) verdict {
	if v.overlap[a.Segment] {
		return verdict{"segment-overlap", damage}
	}
	return verdict{"duplicate-offsets", damage}
}

// overflows reports whether an offset does not fit the index of its segment
// (LogSegment.ensureOffsetInRange).
func (v *view) overflows(segment int, offset int64) bool {
	base := v.log.Segments[segment].BaseOffset
	return base >= 0 && offset > base && offset-base > math.MaxInt32
}

// insideGap: offsets that jump out of what the index of the segment can hold are told
// as that, not as missing.
func insideGap(v *view, a replica.Anomaly) verdict {
	d := gap("offset-gap", damage)(v, a)
	if d.code != "" && v.overflows(a.Segment, a.To) && !v.overflows(a.Segment, a.From) {
		return verdict{"segment-offset-overflow", warning}
	}
	return d
}

// overflow finds a newest segment that ends above what its index can hold, whether or not
// its offsets are dense.
func (v *view) overflow() []finding.Finding {
	n := len(v.log.Segments) - 1
	if n < 0 || !v.overflows(n, v.log.LogEndOffset-1) {
		return nil
	}
	s := v.log.Segments[n]
	at := v.s.At(s.Log.Path)
	at.From, at.To = s.BaseOffset+math.MaxInt32+1, v.log.LogEndOffset
	f := raise("segment-offset-overflow", warning, at, summaries["segment-offset-overflow"](1),
		finding.Evidence{Claim: s.Log.Path + ", last offset", Want: fmt.Sprintf("at most %d", s.BaseOffset+math.MaxInt32), Got: fmt.Sprint(v.log.LogEndOffset - 1)})
	return []finding.Finding{f}
}

// gap: the cleaner leaves gaps on compacted topics; elsewhere offsets are dense
// (markers of transactions occupy offsets too). Files set aside are pieces of a
// log and may leave gaps between them.
func gap(code finding.Code, severity finding.Severity) func(*view, replica.Anomaly) verdict {
	return func(v *view, a replica.Anomaly) verdict {
		if v.s.Compacted || v.log.Sparse || v.log.State != replica.Live && v.log.State != replica.Future || v.aside[a.From] {
			return verdict{}
		}
		return verdict{code, severity}
	}
}

var rules = []rule{
	{replica.BadChecksum, checksum, plural("batch has a CRC that does not match its bytes", "batches have CRCs that do not match their bytes")},
	{UnknownMagic, is("batch-magic-unknown", damage), plural("batch has a magic byte that Kafka never wrote", "batches have magic bytes that Kafka never wrote")},
	{replica.JunkBytes, is("log-bytes-unreadable", damage), plural("stretch of bytes is no batch", "stretches of bytes are no batches")},
	{replica.ZeroHole, zeroHole, plural("stretch of zero bytes has batches behind it", "stretches of zero bytes have batches behind them")},
	{replica.ZeroTail, zeroTail, plural("segment ends in zero bytes", "segments end in zero bytes")},
	{replica.TornTail, tornTail, plural("segment ends in a batch that was not written to its end", "segments end in batches that were not written to their end")},
	{replica.BaseOutOfLine, is("base-offset-out-of-line", damage), plural("batch has a base offset that contradicts both neighbours; no CRC covers it", "batches have base offsets that contradict both neighbours; no CRC covers them")},
	{replica.EpochOutOfLine, is("epoch-out-of-line", damage), plural("batch has a leader epoch that no witness supports; no CRC covers it", "batches have leader epochs that no witness supports; no CRC covers them")},
	{replica.Backwards, backwards, plural("batch starts below the end of the one before it", "batches start below the end of those before them")},
	{replica.Gap, insideGap, plural("gap in the offsets of a log that is not compacted", "gaps in the offsets of a log that is not compacted")},
	{replica.SegmentGap, gap("segment-gap", loss), plural("gap between the offsets of two segments of a log that is not compacted", "gaps between the offsets of segments of a log that is not compacted")},
	{replica.BelowSegment, belowSegment, plural("batch lies below the base offset of its segment", "batches lie below the base offsets of their segments")},
	{replica.FormatBack, formatBack, plural("message of an older format stands behind a newer one", "messages of an older format stand behind newer ones")},
	{replica.EmbeddedBatch, is("embedded-batch", note), plural("whole batch lies inside damaged bytes; it is not part of the log", "whole batches lie inside damaged bytes; they are not part of the log")},
}

// UnknownMagic is a batch whose magic byte alone is wrong: a special case of
// replica.BadChecksum that only a look at the bytes tells apart.
const UnknownMagic replica.AnomalyKind = "magic-unknown"

func plural(one, many string) func(int) string {
	return func(n int) string { return count(n, one, many) }
}

// summaries of codes that are not those of the rule: one kind of anomaly may be
// several findings.
var summaries = map[finding.Code]func(int) string{
	"segment-overlap":         plural("batch of a segment lies below the end of the segment before it", "batches of a segment lie below the end of the segment before it"),
	"segment-offset-overflow": plural("segment holds offsets that do not fit its index, 2³¹ or more above its base", "segments hold offsets that do not fit their indexes, 2³¹ or more above their bases"),
	"zero-tail":               plural("segment ends in zero bytes", "segments end in zero bytes"),
}

// Log judges the anomalies of one log. Facts of one cause are one finding.
func Log(l *replica.Log, s Subject) []finding.Finding {
	v := newView(l, s)
	var out []finding.Finding
	lists := [][]rule{rules, headerRules, producerRules, recordRules}
	if l.State == replica.Live || l.State == replica.Future {
		lists = append(lists, indexRules) // nothing reads the indexes of what was set aside
	}
	for _, list := range lists {
		for _, r := range list {
			for _, f := range v.judge(r) {
				out = merge(out, f)
			}
		}
	}
	for _, more := range []func() []finding.Finding{v.overflow, v.future, v.recordsMissing, v.cleanerStuck, v.oldestRemoved} {
		for _, f := range more() {
			out = merge(out, f)
		}
	}
	for i := range out {
		if len(out[i].Places) <= maxPlaces { // the evidence tells of all
			out[i].Places = nil
		}
	}
	return out
}

// merge adds a finding, to one of the same code and severity if there is one: two
// kinds of anomaly may have one cause.
func merge(list []finding.Finding, f finding.Finding) []finding.Finding {
	for i := range list {
		o := &list[i]
		if o.Code != f.Code || o.Severity != f.Severity {
			continue
		}
		for _, e := range f.Evidence {
			if len(o.Evidence) < maxPlaces && !slices.Contains(o.Evidence, e) {
				o.Evidence = append(o.Evidence, e)
			}
		}
		for _, r := range f.Ranges {
			if !slices.Contains(o.Ranges, r) {
				o.Ranges = append(o.Ranges, r)
			}
		}
		o.Places = append(o.Places, f.Places...)
		return list
	}
	return append(list, f)
}

func newView(l *replica.Log, s Subject) *view {
	v := &view{log: l, s: s, overlap: map[int]bool{}, aside: map[int64]bool{}}
	for _, a := range l.Anomalies.Kept {
		switch {
		case a.Kind == replica.Backwards && a.Position == 0 && a.Segment > 0:
			v.overlap[a.Segment] = true
		case a.Kind == replica.TornTail || a.Kind == replica.ZeroTail:
			v.torn = true
			if a.Kind == replica.ZeroTail {
				v.zeros = &a
			}
		}
	}
	v.end = keptEnd(l)
	v.lacks = lacks(l)
	for base := range missing(l) {
		v.aside[base] = true
	}
	return v
}

// keptEnd is the log end that an unclean start keeps where the log ends in zeros: a batch
// in which they begin goes with them.
func keptEnd(l *replica.Log) int64 {
	end, last := l.LogEndOffset, len(l.Segments)-1
	for i := range l.Anomalies.Kept {
		zeros := &l.Anomalies.Kept[i]
		if zeros.Kind != replica.ZeroTail || zeros.Segment != last {
			continue
		}
		for k := range l.Anomalies.Kept {
			if a := &l.Anomalies.Kept[k]; holdsZeros(a, zeros) && a.From >= 0 {
				end = min(end, a.From)
			}
		}
	}
	return end
}

// lacks says why a log once reached further than it does now: its high watermark
// or its recovery point lies above its end, which is what a start keeps.
func lacks(l *replica.Log) string {
	end := keptEnd(l)
	switch {
	case l.State != replica.Live && l.State != replica.Future:
		return ""
	case l.HighWatermark != nil && *l.HighWatermark > end:
		return fmt.Sprintf("the high watermark stored for this copy is %d, its log ends at %d", *l.HighWatermark, end)
	case l.RecoveryPoint != nil && *l.RecoveryPoint > end:
		return fmt.Sprintf("everything below %d had been flushed to this disk, the log ends at %d", *l.RecoveryPoint, end)
	}
	return ""
}

// pastEnd is how far a log reached once, by what lacks looks at.
func pastEnd(l *replica.Log) int64 {
	end := l.LogEndOffset
	for _, o := range []*int64{l.HighWatermark, l.RecoveryPoint} {
		if o != nil {
			end = max(end, *o)
		}
	}
	return end
}

func (v *view) judge(r rule) []finding.Finding {
	total := v.log.Anomalies.Counts[r.kind]
	if total == 0 {
		return nil
	}
	var verdicts []verdict
	groups := map[verdict][]replica.Anomaly{}
	kept := 0
	for _, a := range v.log.Anomalies.Kept {
		if a.Kind != r.kind {
			continue
		}
		kept++
		d := r.judge(v, a)
		if d.code == "" {
			continue
		}
		if s := v.log.State; s != replica.Live && s != replica.Future && d.severity > finding.Warning {
			d.severity = finding.Warning // nothing reads these files again but a person
		}
		if groups[d] == nil {
			verdicts = append(verdicts, d)
		}
		groups[d] = append(groups[d], a)
	}
	var out []finding.Finding
	for i, d := range verdicts {
		n := len(groups[d])
		if i == 0 {
			n += total - kept // those that were counted only: of the first sort
		}
		out = append(out, v.finding(r, d, n, groups[d]))
	}
	return out
}

func (v *view) finding(r rule, d verdict, n int, list []replica.Anomaly) finding.Finding {
	summary := r.summary
	if s := summaries[d.code]; s != nil {
		summary = s
	}
	first := list[0]
	at := v.s.At(v.file(first))
	at.Position, at.Length, at.From, at.To, at.Epoch = first.Position, first.Length, first.From, first.To, first.Epoch
	f := raise(d.code, d.severity, at, summary(n))
	f.Count = n
	// What the next start meets is the first to know; then one that could be explained is the
	// better example.
	cut := v.cutBy()
	slices.SortStableFunc(list, func(a, b replica.Anomaly) int { return v.weight(b, cut) - v.weight(a, cut) })
	for i, a := range list {
		if d.code == "zero-tail" && a.Kind == replica.ZeroHole {
			a.From, a.To = -1, -1 // no offset is missing there
			if i == 0 {
				f.At.From, f.At.To = -1, -1
			}
		}
		if d.severity > note && a.From >= 0 && a.To > a.From {
			f.Ranges = append(f.Ranges, finding.Range{From: a.From, To: a.To})
		}
		f.Places = append(f.Places, finding.Place{File: v.file(a), Position: a.Position, Length: a.Length, From: a.From, To: a.To})
		if i >= maxPlaces {
			continue
		}
		if d.severity > note && n > 1 && cut != nil && samePlace(&a, cut) {
			a.Detail = strings.TrimPrefix(a.Detail+"; the next start reads this segment and cuts the log here", "; ")
		}
		if d.code == "zero-tail" && a.Kind == replica.BadChecksum {
			a.Detail, a.Want, a.Got = "the zeros begin inside this batch", "", ""
		}
		f.Evidence = append(f.Evidence, finding.Evidence{Claim: v.claim(a), Want: a.Want, Got: a.Got})
	}
	if (d.code == "torn-tail" || d.code == "zero-tail") && v.lacks != "" && v.last(first.Segment) {
		f.Evidence = append(f.Evidence, says("%s: records of this copy are gone", v.lacks))
		f.At.From, f.At.To = v.end, pastEnd(v.log)
	}
	v.tailFate(&f, first)
	return f
}

// tornBehindMarker: with a clean shutdown marker LogSegment.readNextOffset looks for the
// log end from the last index entry on, and takes the base offset of the segment where
// that entry points at the torn batch. Fewer bytes than a header, offset to magic, are no
// batch that was ever indexed.
func (v *view) tornBehindMarker(a replica.Anomaly) (kafka, next string) {
	const header = 17
	if a.Length <= header {
		kafka = fmt.Sprintf("With the clean shutdown marker the bytes stay. The log end is right (%d) and no record is lost, but new batches are written behind these bytes, where readers fail.", v.log.LogEndOffset)
	} else {
		base := v.log.Segments[a.Segment].BaseOffset
		kafka = fmt.Sprintf("With the clean shutdown marker the bytes stay, and the log end may fall to %d, the base offset of the segment (where the last entry of its .index points at the torn batch): newer epochs are then cut from leader-epoch-checkpoint, whole records from %d on vanish from view, and new ones take their offsets. Otherwise new batches are written behind the torn bytes, where readers fail.", base, base)
	}
	next = "kafsck repair plan cuts these bytes off; with the marker no start does."
	if v.lacks != "" {
		next += " Records below the high watermark are gone from this copy: a replica that holds them must lead, not this one (kafsck diff)."
	}
	return kafka, next
}

// weight sorts examples: the place at which the next start cuts the log is worth more than one that
// could be explained.
func (v *view) weight(a replica.Anomaly, cut *replica.Anomaly) int {
	switch {
	case cut != nil && samePlace(&a, cut):
		return 2
	case a.Detail != "":
		return 1
	}
	return 0
}

func samePlace(a, b *replica.Anomaly) bool {
	return a.Kind == b.Kind && a.Segment == b.Segment && a.Position == b.Position
}

// cutBy is the damage at which the next start cuts the log, nil without any: without a clean shutdown
// marker it reads each segment from the recovery point on and stops at the first batch that is not
// whole (LogLoader.recoverLog, LogSegment.recover). Where offsets go backwards it may stop elsewhere.
func (v *view) cutBy() *replica.Anomaly {
	dir := v.log.Partition
	if v.log.State != replica.Live || dir == nil || dir.LogDir == nil || v.log.Swapped {
		return nil
	}
	if d := dir.LogDir; d.CleanShutdown || d.Bare || d.Partial || d.Incomplete {
		return nil
	}
	for _, kind := range []replica.AnomalyKind{UnknownMagic, replica.BaseOutOfLine, replica.Backwards, replica.BelowSegment} {
		if v.log.Anomalies.Counts[kind] > 0 {
			return nil
		}
	}
	var first *replica.Anomaly
	point, _ := dir.LogDir.RecoveryPoints.Line(dir)
	for i := range v.log.Anomalies.Kept {
		a := &v.log.Anomalies.Kept[i]
		switch a.Kind {
		case replica.BadChecksum, replica.JunkBytes, replica.ZeroHole:
		default:
			continue
		}
		read := v.last(a.Segment) || v.log.Segments[a.Segment+1].BaseOffset > point
		if read && (first == nil || a.Segment < first.Segment || a.Segment == first.Segment && a.Position < first.Position) {
			first = a
		}
	}
	return first
}

// file is the file that an anomaly is about.
func (v *view) file(a replica.Anomaly) string {
	if a.File != nil {
		return a.File.Path
	}
	return v.log.Segments[a.Segment].Log.Path
}

func (v *view) claim(a replica.Anomaly) string {
	where := v.file(a)
	if a.Position >= 0 && a.Length > 0 {
		where += fmt.Sprintf(" position %d, %s", a.Position, inBytes(a.Length))
	} else if a.Position >= 0 {
		where += fmt.Sprintf(" position %d", a.Position)
	}
	if a.From >= 0 && a.To > a.From {
		where += ", " + span(a.From, a.To)
	}
	if a.Detail != "" {
		where += ": " + a.Detail
	}
	return where
}
