package broker

import (
	"cmp"
	"slices"

	"kafsck/logdir"
)

// settle is UnifiedLog's constructor, and the high watermark that the replica gets from its
// checkpoint (Partition.createLog).
func (l *loader) settle(logStart, end, recoveryPoint int64) error {
	out := l.out
	out.LogStartOffset, out.LogEndOffset = logStart, end
	out.RecoveryPoint = max(recoveryPoint, logStart, l.segments[0].base)
	first, err := l.unstable(logStart, end) // looked up once without a high watermark
	if err != nil {
		return err
	}
	out.readsUnstable = first != nil
	id, err := l.topicID()
	if err != nil {
		return err
	}
	hw := l.in.HighWatermark
	if hw < logStart {
		hw = logStart
	} else if hw >= end {
		hw = end
	}
	out.HighWatermark, out.LastStableOffset = hw, hw
	l.producers.onHighWatermark(hw)
	if first, err = l.unstable(logStart, end); err != nil {
		return err
	}
	if first != nil && *first < hw {
		out.LastStableOffset = *first
	}
	switch {
	case l.p.State == logdir.Delete:
		out.Outcome = DirAsDeletion
	case l.p.State == logdir.Stray:
		out.Outcome = BecomesStray
	case !id && !l.in.KeepStray && l.in.Version.Before(3, 8) && !l.in.Version.Before(3, 7):
		return throw(unchecked, "RuntimeException", topicName, "is missing: 3.7 does not start without a topic id")
	case !id && !l.in.KeepStray && !l.in.Version.Before(3, 8):
		out.Outcome = BecomesStray
		l.act(Action{Action: ActRenameStray, File: "", Why: topicName + " is missing, so that the broker does not know whose the directory is: it is renamed to -stray and never served."})
	}
	return nil
}

// unstable is maybeIncrementFirstUnstableOffset: since 4.0 the base offset of the batch in which the
// oldest open transaction begins, otherwise the transaction's own.
func (l *loader) unstable(logStart, end int64) (*int64, error) {
	first, some := l.producers.firstUnstable()
	if !some {
		return nil, nil
	}
	want := max(first, logStart)
	i := len(l.segments)
	for i > 0 && l.segments[i-1].base > want {
		i--
	}
	if want > end || i == 0 || want == end {
		return &want, nil
	}
	for _, s := range l.segments[i-1:] {
		at, err := l.translate(s, want)
		if err != nil {
			return nil, err
		}
		if at.ok {
			if !l.in.Version.Before(4, 0) {
				want = at.offset
			}
			return &want, nil
		}
	}
	return &end, nil
}

// put is LogSegments.add.
func (l *loader) put(s *modelSegment) {
	i, there := slices.BinarySearchFunc(l.segments, s.base, func(x *modelSegment, base int64) int { return cmp.Compare(x.base, base) })
	if there {
		l.segments[i] = s
		return
	}
	l.segments = slices.Insert(l.segments, i, s)
}

// floor is floorSegment: the last segment that does not begin above an offset.
func (l *loader) floor(offset int64) *modelSegment {
	for i := len(l.segments) - 1; i >= 0; i-- {
		if l.segments[i].base <= offset {
			return l.segments[i]
		}
	}
	return nil
}

// from is LogSegments.values: the segments that begin below to, from the one that holds from on.
func (l *loader) from(from, to int64) []*modelSegment {
	i, j := 0, len(l.segments)
	for k, s := range l.segments {
		if s.base <= from {
			i = k
		}
	}
	for j > i && l.segments[j-1].base >= to {
		j--
	}
	return l.segments[i:j]
}

// closeSegments is LogSegments.close and clear: indexes that were opened are cut to their entries.
func (l *loader) closeSegments() {
	for _, s := range l.segments {
		if s.index != nil {
			s.index.f.resize(s.index.entries * offsetEntrySize)
		}
		if s.times != nil {
			s.times.f.resize(s.times.entries * timeEntrySize)
		}
	}
	l.segments = nil
}
