package broker

import (
	"cmp"
	"fmt"
	"slices"

	"kafsck/segment"
)

// maxSplits bounds how often a load is begun anew after a split. Kafka has no limit, and never ends
// where a split changes nothing.
const maxSplits = 1000

// splitting runs a part of the load, and runs it again after every segment that it finds to be split
// (LogLoader.retryOnOffsetOverflow, KAFKA-6264).
func (l *loader) splitting(part func() error) error {
	for range maxSplits {
		l.overflowed = nil
		err := part()
		if !throws(err, overflow) || l.overflowed == nil {
			return err
		}
		if err := l.split(l.overflowed); err != nil {
			return err
		}
	}
	return throw(unchecked, "endless loop", "", "segments are split again and again: the start does not end")
}

// split is LocalLog.splitOverflowedSegment: batches are copied into new segments, each as long as
// its offsets allow.
func (l *loader) split(s *modelSegment) error {
	yes, err := l.hasOverflow(s)
	if err != nil {
		return err
	}
	if !yes {
		return throw(unchecked, "IllegalArgumentException", s.log.name, "a batch lies out of the segment's range of offsets, and the last batch does not: Split operation is only permitted for segments with overflow")
	}
	l.out.ScanBytes += s.log.size
	var parts []*modelSegment
	for pos := int64(0); pos < s.log.size; {
		part, end, err := l.splitOff(s, pos)
		if err != nil {
			for _, p := range append(parts, part) {
				l.unmake(p)
			}
			return err
		}
		parts = append(parts, part)
		pos = end
	}
	return l.replace(s, parts)
}

// splitOff copies batches from a position on into a new segment with the suffix .cleaned.
func (l *loader) splitOff(s *modelSegment, pos int64) (part *modelSegment, end int64, err error) {
	first, ok, err := l.next(s.log, pos, s.log.size)
	if err != nil {
		return nil, 0, err
	}
	if !ok {
		return nil, 0, throwAt(unchecked, "NoSuchElementException", s.log.name, pos, "the segment to be split ends within a batch")
	}
	base, err := l.baseOffset(&first)
	if err != nil {
		return nil, 0, err
	}
	for _, ext := range []string{".index", ".timeindex", ".txnindex", ".log"} {
		delete(l.dir.files, segmentName(base, ext+".cleaned"))
	}
	f, _, err := l.dir.open(segmentName(base, ".log.cleaned"))
	if err != nil {
		return nil, 0, err
	}
	*f = modelFile{name: f.name, src: s.log.src, off: s.log.off + pos, made: true}
	part = &modelSegment{base: base, suffix: ".cleaned", log: f}
	index, err := l.offsetIndex(part)
	if err != nil {
		return part, 0, err
	}
	index.reset()
	times, err := l.timeIndex(part)
	if err != nil {
		return part, 0, err
	}
	for end = pos; ; {
		w, ok, err := l.next(s.log, end, s.log.size)
		if err != nil {
			return part, 0, err
		}
		if !ok {
			break
		}
		last, err := l.lastOffset(&w)
		if err != nil {
			return part, 0, err
		}
		if !inRange(base, last) {
			break
		}
		if w.magic < 0 || w.magic > 2 {
			return part, 0, throwAt(unchecked, "CorruptRecordException", s.log.name, w.pos, "magic %d", w.magic)
		}
		t, err := l.maxTimestamp(&w)
		if err != nil {
			return part, 0, err
		}
		l.readMax(part, times)
		if t > part.maxTimestamp {
			part.maxTimestamp, part.maxOffset = t, last
		}
		if part.sinceIndex > indexInterval {
			if err := index.append(last, w.pos-pos); err != nil {
				return part, 0, err
			}
			if err := times.maybeAppend(part.maxTimestamp, part.maxOffset, false); err != nil {
				return part, 0, err
			}
			part.sinceIndex = 0
		}
		part.sinceIndex += w.size()
		end = w.end()
	}
	if end == pos {
		return part, 0, throwAt(unchecked, "IllegalStateException", s.log.name, pos, "Failed to append records")
	}
	f.held, f.size = end-pos, end-pos
	if err := times.maybeAppend(part.maxTimestamp, part.maxOffset, true); err != nil {
		return part, 0, err
	}
	index.f.resize(index.entries * offsetEntrySize)
	times.f.resize(times.entries * timeEntrySize)
	l.keep(index)
	return part, end, nil
}

// unmake removes the files of a segment that a failed split made.
func (l *loader) unmake(s *modelSegment) {
	if s == nil {
		return
	}
	for _, ext := range []string{".log", ".index", ".timeindex", ".txnindex"} {
		delete(l.dir.files, s.name(ext))
	}
}

// replace is LocalLog.replaceSegments. A segment that is not loaded yet (pass 4) is not deleted:
// the new ones take their names, and one of them its own.
//
// What is told comes in an order that works: the old segment goes first, then there are the new ones.
func (l *loader) replace(old *modelSegment, parts []*modelSegment) error {
	name := old.log.name // as it is now
	slices.SortStableFunc(parts, func(a, b *modelSegment) int { return cmp.Compare(a.base, b.base) })
	was := slices.ContainsFunc(l.segments, func(x *modelSegment) bool { return x.base == old.base })
	for _, p := range slices.Backward(parts) {
		if err := l.changeSuffix(p, ".swap"); err != nil {
			return err
		}
		l.put(p)
	}
	if was {
		if old.base != parts[0].base {
			l.segments = slices.DeleteFunc(l.segments, func(x *modelSegment) bool { return x.base == old.base })
		}
		if err := l.setAside(old, 0, 0, 0, splitWhy); err != nil {
			return err
		}
	}
	for _, p := range parts {
		final := segmentName(p.base, ".log")
		if f := l.dir.files[final]; f != nil { // renamed over
			gone := Action{Action: ActDelete, File: final, Why: splitWhy}
			if f != old.log {
				gone.Bytes = f.size
				gone.From, gone.ToOffset = l.offsetsBehind(f, 0)
				gone.Why = "a segment that " + name + " was split into takes its name."
			}
			l.act(gone)
		}
		if err := l.changeSuffix(p, ""); err != nil {
			return err
		}
		l.act(Action{Action: ActSplit, File: name, To: final, Why: "its offsets span more than 2147483647: " + itoa(p.log.size) + " bytes go into " + final + "."})
	}
	if was && !slices.ContainsFunc(parts, func(p *modelSegment) bool { return p.base == old.base }) {
		return l.producers.markDeleted(old.base)
	}
	return nil
}

// splitWhy is why a segment goes that was split.
const splitWhy = "its batches are in the segments that it was split into."

func (l *loader) changeSuffix(s *modelSegment, suffix string) error {
	var files []*modelFile
	for _, ext := range []string{".log", ".index", ".timeindex", ".txnindex"} {
		files = append(files, l.dir.files[s.name(ext)])
	}
	s.suffix = suffix
	for i, ext := range []string{".log", ".index", ".timeindex", ".txnindex"} {
		if files[i] == nil {
			continue
		}
		if err := l.dir.rename(files[i], s.name(ext)); err != nil {
			return err
		}
	}
	return nil
}

// tooLarge says that a limit of ours was reached. It says nothing of what Kafka does.
type tooLarge struct {
	file, what string
	pos, size  int64
}

func (e *tooLarge) Error() string {
	if e.what != "" {
		return fmt.Sprintf("%s: %d %s, more than kafsck keeps: what Kafka does is not known", e.file, e.size, e.what)
	}
	return fmt.Sprintf("%s: %d bytes at position %d, more than the %d that kafsck holds: what Kafka does is not known", e.file, e.size, e.pos, segment.MaxRaw)
}
