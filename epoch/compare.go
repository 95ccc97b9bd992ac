package epoch

import (
	"fmt"
	"slices"
)

// DifferenceKind names one way in which leader-epoch-checkpoint can differ from
// the batches of its log.
type DifferenceKind string

// The kinds of difference. Whether one is legitimate depends on more than its
// kind: see Difference.
const (
	// The file as a whole.
	FileMalformed   DifferenceKind = "file-malformed"     // Kafka refuses it
	FileAbsent      DifferenceKind = "file-absent"        // there is none
	FileEmpty       DifferenceKind = "file-empty"         // it has no entries, and batches carry epochs
	FileOnOldFormat DifferenceKind = "file-on-old-format" // entries for messages that carry no epochs

	// One entry.
	NotMonotonic     DifferenceKind = "not-monotonic"      // Kafka's replay drops it for a neighbour's sake
	EqualStart       DifferenceKind = "equal-start"        // its successor starts at the same offset
	BeyondEnd        DifferenceKind = "beyond-log-end"     // it starts above the log end
	AtEnd            DifferenceKind = "at-log-end"         // it starts at the log end and no batch carries it
	BelowStart       DifferenceKind = "below-log-start"    // it starts below the log start
	AtStart          DifferenceKind = "at-log-start"       // it starts at the log start, inside the epoch's batches
	InsideFirstEpoch DifferenceKind = "inside-first-epoch" // the first entry starts inside the first epoch's batches
	WrongStart       DifferenceKind = "wrong-start"        // it starts above the epoch's first batch
	InsideOtherEpoch DifferenceKind = "inside-other-epoch" // it starts where batches carry another epoch
	CompactedAway    DifferenceKind = "compacted-away"     // compaction removed the batches it speaks of
	BatchesDamaged   DifferenceKind = "batches-damaged"    // the batches it speaks of are there and cannot be believed
	BatchesMissing   DifferenceKind = "batches-missing"    // nothing explains why the batches it speaks of are gone

	// One epoch of the batches.
	EpochMissing   DifferenceKind = "epoch-missing"    // no entry for it
	EpochFallsBack DifferenceKind = "epoch-falls-back" // it is lower than one before it in the log
)

// Difference is one point in which the file and the batches disagree, or in which
// the file and what Kafka makes of it do.
type Difference struct {
	Kind DifferenceKind
	// Epoch and StartOffset are those of the entry, or of the batches where there is
	// no entry; -1 when the file as a whole is meant.
	Epoch       int32
	StartOffset int64
	// Want is the entry that the batches call for, "EPOCH START", "" when none.
	Want string
	// Legitimate: a healthy broker leaves such a difference behind (kafka-format.md
	// §5.9).
	Legitimate bool
	Reason     string // the likely cause and what follows, for people
}

// Comparison is what Compare looks at. Offsets are Kafka log offsets; ends are
// exclusive.
type Comparison struct {
	Batches   Lineage // as the headers say, epochs that are suspect corrected
	HasLegacy bool    // messages of format 0 or 1, which carry no epoch

	File          []Entry // leader-epoch-checkpoint as written
	FileAbsent    bool
	FileMalformed bool  // Kafka refuses the file; File may hold the part that parses
	Loaded        Cache // as Kafka holds it after loading

	LogStart, LogEnd int64
	// FirstBatch and FirstBatchLast are base and last offset of the first batch, -1
	// without one.
	FirstBatch, FirstBatchLast int64
	// SegmentStarts are the base offsets of the segments, ascending; they tell a
	// partial rebuild from a log start that moved. May be nil.
	SegmentStarts []int64
	// Damaged are the offsets whose batches are there but cannot be believed; their epochs are
	// in no range of Batches.
	Damaged []Range

	Compacted bool // the cleaner may have removed batches
	Live      bool // a broker loads this directory as a replica of its own (also -future)
}

// maxDifferences bounds the answer: a file may hold millions of lines.
const maxDifferences = 1000

// Compare tells how leader-epoch-checkpoint differs from the batches of its log,
// with the likely cause of each difference: the table of kafka-format.md §5.9.
// The order is: the file as a whole, its entries as written, then epochs without
// an entry. At most 1,000 differences are returned.
func Compare(in Comparison) []Difference {
	c := comparer{in: in, rebuilt: in.Batches.Rebuild().TruncateFromStart(in.LogStart)}
	if c.wholeFile() {
		return c.out
	}
	c.batches = indexOf(in.Batches)
	kept := c.replay()
	c.head(kept)
	for i := range c.visible {
		c.entry(i)
	}
	c.missing()
	return c.out
}

// Agrees reports whether all differences are legitimate.
func Agrees(ds []Difference) bool {
	for i := range ds {
		if !ds[i].Legitimate {
			return false
		}
	}
	return true
}

type comparer struct {
	in      Comparison
	rebuilt Cache // from batches, cut at the log start
	batches rangeIndex
	// visible is the file after replay, cut at the log start as Kafka cuts it when
	// the log start moves; firstWritten is where its first entry starts in the file.
	visible      Cache
	firstWritten int64
	out          []Difference
}

// bad adds a difference that is a defect.
func (c *comparer) bad(k DifferenceKind, e int32, start int64, want, reason string, args ...any) {
	c.say(k, e, start, want, false, reason, args...)
}

// fine adds a difference that healthy brokers leave behind.
func (c *comparer) fine(k DifferenceKind, e int32, start int64, want, reason string, args ...any) {
	c.say(k, e, start, want, true, reason, args...)
}

func (c *comparer) say(k DifferenceKind, e int32, start int64, want string, legitimate bool, reason string, args ...any) {
	if len(c.out) < maxDifferences {
		c.out = append(c.out, Difference{Kind: k, Epoch: e, StartOffset: start, Want: want, Legitimate: legitimate, Reason: fmt.Sprintf(reason, args...)})
	}
}

// emptyCache says what an empty cache leads to (kafka-format.md §5.7).
const emptyCache = "Kafka starts with an empty cache: as a follower it cuts its log back to the high watermark, as a leader it cannot tell followers where older epochs end"

// wholeFile judges what concerns the file as a whole, and reports whether its
// entries need no closer look.
func (c *comparer) wholeFile() bool {
	in := &c.in
	switch {
	case in.FileMalformed:
		c.bad(FileMalformed, -1, -1, "", "Kafka cannot parse the file: it takes the whole log directory offline, or does not start")
		return true
	case in.FileAbsent && len(c.rebuilt) == 0:
		if in.HasLegacy {
			c.fine(FileAbsent, -1, -1, "", "messages of format 0 and 1 carry no leader epochs, and Kafka keeps no file for them")
		} else {
			c.fine(FileAbsent, -1, -1, "", "there is no file, and no batch that it would speak of")
		}
		return true
	case in.FileAbsent && !in.Live:
		c.fine(FileAbsent, -1, -1, "", "there is no file; no broker loads this directory as a replica")
		return true
	case in.FileAbsent:
		c.bad(FileAbsent, -1, -1, pairs(c.rebuilt), "the file is gone, which is legal to Kafka. %s", emptyCache)
		return true
	case len(in.File) == 0 && len(c.rebuilt) == 0:
		return true
	case len(in.File) == 0 && !in.Live:
		c.fine(FileEmpty, -1, -1, "", "Kafka empties the file of a directory that it is about to delete")
		return true
	case len(in.File) == 0:
		c.bad(FileEmpty, -1, -1, pairs(c.rebuilt), "the file has no entries although batches carry epochs, which is legal to Kafka: it was lost and made anew, or emptied by hand. %s", emptyCache)
		return true
	}
	return false
}

// replay puts the file's lines through assign as Kafka does when it loads them,
// and names every line that does not survive. The result is in file order.
func (c *comparer) replay() Cache {
	in := &c.in
	type line struct {
		entry    Entry
		evicted  *Entry // the line behind it that made Kafka drop this one
		repeated bool   // the line before it has the same epoch and an earlier start
	}
	lines := make([]line, len(in.File))
	var kept []int
	for i := range in.File {
		e := in.File[i]
		lines[i].entry = e
		if n := len(kept); n > 0 && lines[kept[n-1]].entry.Epoch == e.Epoch && e.StartOffset >= lines[kept[n-1]].entry.StartOffset {
			lines[i].repeated = true
			continue
		}
		for n := len(kept); n > 0; n-- {
			last := &lines[kept[n-1]]
			if last.entry.Epoch < e.Epoch && last.entry.StartOffset < e.StartOffset {
				break
			}
			last.evicted = &lines[i].entry
			kept = kept[:n-1]
		}
		kept = append(kept, i)
	}
	for i := range lines {
		l, by := &lines[i].entry, lines[i].evicted
		switch {
		case lines[i].repeated:
			c.bad(NotMonotonic, l.Epoch, l.StartOffset, "", "epoch %d stands in the file twice; Kafka ignores this later start; the file was edited or put together by hand, or damaged", l.Epoch)
		case by == nil:
		case by.StartOffset == l.StartOffset && by.Epoch > l.Epoch && c.confirmed(*by) && !c.batches.has(l.Epoch):
			c.fine(EqualStart, l.Epoch, l.StartOffset, "", "the leader of epoch %d wrote nothing; only Kafka up to 2.0.0 keeps such an entry beside its successor, newer ones drop it when they load the file", l.Epoch)
		default:
			c.bad(NotMonotonic, l.Epoch, l.StartOffset, "", "Kafka drops this entry when it loads the file, because of the line %q behind it: epochs and starts must grow. The file was edited or put together by hand, or damaged", pair(*by))
		}
	}
	out := make(Cache, len(kept))
	for i, k := range kept {
		out[i] = lines[k].entry
	}
	return out
}

// confirmed reports whether batches, or the log end, bear out an entry.
func (c *comparer) confirmed(e Entry) bool {
	if f, ok := c.batches.first[e.Epoch]; ok {
		return f == e.StartOffset
	}
	return e.StartOffset == c.in.LogEnd
}

// head cuts the entries at the log start, and names what differs there only
// because the log start moved.
func (c *comparer) head(kept Cache) {
	in := &c.in
	c.visible = kept.TruncateFromStart(in.LogStart)
	if len(kept) == 0 {
		return
	}
	c.firstWritten = c.visible[0].StartOffset
	below := len(kept) - len(c.visible) // entries cut off altogether
	first := kept[below]
	if first.StartOffset < in.LogStart {
		c.firstWritten = first.StartOffset
		if below > 0 {
			c.fine(BelowStart, kept[0].Epoch, kept[0].StartOffset, "", "this entry and %d more start below the log start %d: the log start moved and the file was not written since, or the older offsets lie in tiered storage", below, in.LogStart)
			return
		}
		c.fine(BelowStart, first.Epoch, first.StartOffset, "", "the log start moved to %d and the file was not written since, or the older offsets lie in tiered storage", in.LogStart)
		return
	}
	if below > 0 { // the last of those below lies exactly at the log start
		c.fine(BelowStart, kept[0].Epoch, kept[0].StartOffset, "", "this entry and those after it, %d in all, lie below the log start %d: the log start moved and the file was not written since, or the older offsets lie in tiered storage", below, in.LogStart)
	}
	if f, ok := c.batches.first[first.Epoch]; ok && first.StartOffset == in.LogStart && f < in.LogStart {
		if f == in.FirstBatch && first.StartOffset <= in.FirstBatchLast {
			c.fine(AtStart, first.Epoch, first.StartOffset, "", "the first batch begins at %d, the log at %d inside it: the replica was rebuilt from the leader's log start, or records were deleted up to there", f, in.LogStart)
		} else {
			c.fine(AtStart, first.Epoch, first.StartOffset, "", "the log start moved to %d, inside this epoch, whose batches in the file begin at %d: deleted records, or retention", in.LogStart, f)
		}
	}
}

// entry judges one entry of the file against the batches.
func (c *comparer) entry(i int) {
	in, e := &c.in, c.visible[i]
	next := in.LogEnd // where the epoch ends by the file
	if i+1 < len(c.visible) {
		next = min(next, c.visible[i+1].StartOffset)
	}
	start := e.StartOffset // as written
	if i == 0 {
		start = c.firstWritten
	}
	first, has := c.startOf(e.Epoch)
	want := ""
	if has {
		want = pair(Entry{Epoch: e.Epoch, StartOffset: first})
	}
	switch {
	case has && first == e.StartOffset:
	case e.StartOffset > in.LogEnd:
		c.bad(BeyondEnd, e.Epoch, start, want, "this copy once reached offset %d, and its log ends at %d: its tail is gone, cut off by a truncation whose new file was not on disk yet, or lost. Kafka drops the entry when it loads the file", e.StartOffset, in.LogEnd)
	case has && first < e.StartOffset:
		c.startsLate(i, start, first, want)
	case has:
		c.startsEarly(e, start, first, want)
	case e.StartOffset == in.LogEnd && start < in.LogStart:
		// All batches of the log have expired or lie in tiered storage; head said so.
	case e.StartOffset == in.LogEnd:
		c.atEnd(i, start)
	default:
		c.withoutBatches(e, start, next)
	}
}

// startOf is where the batches let an epoch start: as recovery would record it,
// else its first batch, which is lower than an epoch before it.
func (c *comparer) startOf(e int32) (int64, bool) {
	if i, ok := search(c.rebuilt, e); ok {
		return c.rebuilt[i].StartOffset, true
	}
	f, ok := c.batches.first[e]
	return f, ok && f >= c.in.LogStart
}

// startsLate judges an entry above the first batch of its epoch.
func (c *comparer) startsLate(i int, start, first int64, want string) {
	in, e := &c.in, c.visible[i]
	if other, at, ok := c.batches.other(e.Epoch, e.StartOffset, e.StartOffset+1); ok {
		c.insideOther(e, start, other, at, want)
		return
	}
	_, atSegment := slices.BinarySearch(in.SegmentStarts, e.StartOffset)
	switch {
	case i == 0 && len(c.rebuilt) > 0 && c.rebuilt[0].Epoch == e.Epoch && !atSegment && e.StartOffset < in.LogEnd:
		c.fine(InsideFirstEpoch, e.Epoch, start, want, "the first epoch begins at %d in the batches: the log start moved to %d, and log-start-offset-checkpoint, written once a minute, does not say so yet", first, e.StartOffset)
	case atSegment:
		c.bad(WrongStart, e.Epoch, start, want, "batches carry epoch %d from offset %d on; %d is where a segment begins: Kafka rebuilt the file from that segment on and did not look at those before it", e.Epoch, first, e.StartOffset)
	default:
		c.bad(WrongStart, e.Epoch, start, want, "batches carry epoch %d from offset %d on: the file was rebuilt from part of the log, or edited", e.Epoch, first)
	}
}

// startsEarly judges an entry below the first batch of its epoch.
func (c *comparer) startsEarly(e Entry, start, first int64, want string) {
	if other, at, ok := c.batches.other(e.Epoch, e.StartOffset, first); ok {
		c.insideOther(e, start, other, at, want)
		return
	}
	if c.damaged(e.StartOffset, first) {
		c.fine(BatchesDamaged, e.Epoch, start, want, "the batches at offsets %s, where this epoch began, are damaged; nothing speaks against the entry", span(e.StartOffset, first))
		return
	}
	if c.in.Compacted {
		c.fine(CompactedAway, e.Epoch, start, want, "compaction removed the first batches of this epoch; the file knows better than the batches")
		return
	}
	c.bad(BatchesMissing, e.Epoch, start, want, "the log has no batch at offsets %s, where this epoch began: they are missing from the log, and the file still knows of them", span(e.StartOffset, first))
}

// atEnd judges an entry at the log end that no batch carries.
func (c *comparer) atEnd(i int, start int64) {
	e := c.visible[i]
	switch newest := c.in.Batches.Latest(); {
	case e.Epoch < newest:
		c.bad(InsideOtherEpoch, e.Epoch, start, "", "batches before offset %d carry epoch %d already, so that no older epoch can begin there: the file was edited or put together by hand", e.StartOffset, newest)
	case i+1 < len(c.visible):
		c.bad(BeyondEnd, e.Epoch, start, "", "its batches are gone: the log ends where this epoch began, and the next entry starts above. Kafka drops the entry when it loads the file")
	default:
		c.fine(AtEnd, e.Epoch, start, "", "this broker was elected leader in epoch %d and has written nothing since: a leader records its epoch at once, and no batch tells of it. Kafka drops the entry when it loads the file", e.Epoch)
	}
}

// withoutBatches judges an entry below the log end that no batch carries; by the
// file the epoch lasts up to next.
func (c *comparer) withoutBatches(e Entry, start, next int64) {
	if other, at, ok := c.batches.other(e.Epoch, e.StartOffset, next); ok {
		c.insideOther(e, start, other, at, "")
		return
	}
	if c.damaged(e.StartOffset, next) {
		c.fine(BatchesDamaged, e.Epoch, start, "", "the batches at offsets %s, which this epoch wrote, are damaged; nothing speaks against the entry", span(e.StartOffset, next))
		return
	}
	if c.in.Compacted {
		c.fine(CompactedAway, e.Epoch, start, "", "compaction removed all batches of this epoch; the file knows better than the batches")
		return
	}
	c.bad(BatchesMissing, e.Epoch, start, "", "the log has no batch at offsets %s, which this epoch wrote: they are missing from the log, and the file still knows of them", span(e.StartOffset, next))
}

// damaged reports whether all offsets [from, to) that have no sound batch are known to
// be damaged.
func (c *comparer) damaged(from, to int64) bool {
	for _, d := range c.in.Damaged {
		if d.From <= from && from < d.To {
			from = d.To
		}
	}
	return from >= to
}

// insideOther is an entry where the batches at offset at carry epoch other.
func (c *comparer) insideOther(e Entry, start int64, other int32, at int64, want string) {
	switch {
	case other >= 0:
		c.bad(InsideOtherEpoch, e.Epoch, start, want, "the batches at offset %d carry epoch %d: the file was taken from another replica, or edited. Truncation by this entry cuts in the wrong place", at, other)
	case c.batches.epochs == 0:
		for _, d := range c.out {
			if d.Kind == FileOnOldFormat {
				return
			}
		}
		c.bad(FileOnOldFormat, e.Epoch, start, "", "no batch in this log carries a leader epoch (message format 0 or 1), yet the entries steer truncation: followers may throw away large ranges. Kafka 2.1.1 to 3.x deletes the file while the topic is configured for such a format; 4.x keeps it")
	default:
		c.bad(InsideOtherEpoch, e.Epoch, start, want, "the messages at offset %d carry no leader epoch (format 0 or 1), so no epoch can begin there: the file was edited or put together by hand", at)
	}
}

// missing names the epochs of the batches that the file, as Kafka loads it, does
// not have.
func (c *comparer) missing() {
	in := &c.in
	var list []int // positions in rebuilt
	older := Agrees(c.out)
	for i, r := range c.rebuilt {
		if _, ok := search(c.visible, r.Epoch); !ok {
			list = append(list, i)
			older = older && r.Epoch > c.visible.Latest()
		}
	}
	cause := "the file was edited, or lost and rebuilt from part of the log"
	switch {
	case older:
		cause = "the file is older than the log: a rewrite failed (disk full), or an old copy was put back"
	case Agrees(c.out) && len(list) == 1 && list[0] == 0 && c.rebuilt[0].Epoch == 0:
		cause = "Kafka 2.1 to 2.6.0 left out epoch 0 when it recovered a log; or the file was edited, or rebuilt from part of the log"
	}
	for _, i := range list {
		r, end := c.rebuilt[i], in.LogEnd
		if i+1 < len(c.rebuilt) {
			end = c.rebuilt[i+1].StartOffset
		}
		c.bad(EpochMissing, r.Epoch, r.StartOffset, pair(r), "offsets %s carry epoch %d, and no entry says so: %s", span(r.StartOffset, end), r.Epoch, cause)
	}
	all, seen := in.Batches.Rebuild(), map[int32]bool{}
	for _, r := range in.Batches {
		if r.Epoch < 0 || r.To <= in.LogStart || seen[r.Epoch] {
			continue
		}
		seen[r.Epoch] = true
		if _, ok := search(all, r.Epoch); ok {
			continue
		}
		if _, ok := search(c.visible, r.Epoch); ok {
			continue
		}
		c.fine(EpochFallsBack, r.Epoch, r.From, "", "the batches at offset %d carry epoch %d although newer ones stand before them: Kafka before 2.0 lets this happen when leaders change fast (KIP-279), and never records it; the log may hold a fork that no truncation saw", r.From, r.Epoch)
	}
}
