package replica

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"kafsck/batch"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/segment"
)

// State says what a set of files is to the broker that owns them.
type State string

// The states a Source can have. The first four are those of the directory, the
// others of files inside a directory.
const (
	Live     State = "live"
	Future   State = "future"
	Delete   State = "delete"
	Stray    State = "stray"
	Deleted  State = "deleted"  // *.log.deleted: removed from the log, waiting for the file delete delay
	Swap     State = "swap"     // *.log.swap of an unfinished swap: dropped at the next start
	Replaced State = "replaced" // originals that a complete swap set replaces at the next start
	Cleaned  State = "cleaned"  // *.log.cleaned: unfinished output of the cleaner
)

// Source is one set of segment files that together form a log.
type Source struct {
	Partition *logdir.Partition
	State     State
	Segments  []*logdir.Segment // Log is not nil; ascending base offset
	Swapped   bool              // a complete swap set was applied to get here
}

// View sorts the segments of a directory into the log that a broker would load
// and the files set aside, by passes 1 to 3 of LogLoader.load:
//
//  1. any .cleaned file makes the swap files at or above the lowest cleaned base
//     offset worthless, and is itself worthless;
//  2. the remaining .log.swap files are complete: every other file whose name
//     lies in [lowest swap base, highest swap next offset) is dropped, the latter as
//     a start finds it (see probedEnd);
//  3. they become the live segments, in place of any of the same name.
//
// The first source is the directory's own log, even when it has no segment. An
// error means that a swap file could not be read.
func View(p *logdir.Partition) ([]Source, error) {
	own := Source{Partition: p, State: dirState(p.State)}
	lowestCleaned := int64(math.MaxInt64)
	for _, s := range p.Segments {
		for _, f := range []*logdir.File{s.Log, s.Index, s.TimeIndex, s.TxnIndex} {
			if f != nil && logdir.SuffixOf(f.Name) == logdir.Cleaned {
				lowestCleaned = min(lowestCleaned, s.BaseOffset)
			}
		}
	}

	aside := map[State][]*logdir.Segment{}
	var plain, swaps []*logdir.Segment
	for _, s := range p.Segments {
		switch {
		case s.Log == nil:
		case s.Suffix == logdir.Deleted:
			aside[Deleted] = append(aside[Deleted], s)
		case s.Suffix == logdir.Cleaned:
			aside[Cleaned] = append(aside[Cleaned], s)
		case s.Suffix == logdir.Swap && s.BaseOffset >= lowestCleaned:
			aside[Swap] = append(aside[Swap], s)
		case s.Suffix == logdir.Swap:
			swaps = append(swaps, s)
		default:
			plain = append(plain, s)
		}
	}

	if len(swaps) > 0 {
		from, to := int64(math.MaxInt64), int64(math.MinInt64)
		bases := map[int64]bool{}
		for _, s := range swaps {
			next, err := probedEnd(s)
			if err != nil {
				return nil, err
			}
			from, to = min(from, s.BaseOffset), max(to, next)
			bases[s.BaseOffset] = true
		}
		for _, s := range plain {
			if s.BaseOffset >= from && s.BaseOffset < to || bases[s.BaseOffset] {
				aside[Replaced] = append(aside[Replaced], s)
			} else {
				own.Segments = append(own.Segments, s)
			}
		}
		own.Segments = append(own.Segments, swaps...)
		own.Swapped = true
	} else {
		own.Segments = plain
	}
	sortSegments(own.Segments)

	sources := []Source{own}
	for _, state := range []State{Deleted, Replaced, Swap, Cleaned} {
		chains, err := chain(aside[state])
		if err != nil {
			return nil, err
		}
		for _, segs := range chains {
			sources = append(sources, Source{Partition: p, State: state, Segments: segs})
		}
	}
	return sources, nil
}

// chain sorts segments that were set aside into logs whose segments do not
// overlap: the cleaner leaves several generations of the same offsets behind.
func chain(segs []*logdir.Segment) ([][]*logdir.Segment, error) {
	sortSegments(segs)
	var chains [][]*logdir.Segment
	var ends []int64
next:
	for _, s := range segs {
		end := s.BaseOffset
		if len(segs) > 1 {
			next, err := nextOffset(s)
			if err != nil {
				return nil, err
			}
			end = next
		}
		for i := range chains {
			if ends[i] <= s.BaseOffset {
				chains[i] = append(chains[i], s)
				ends[i] = end
				continue next
			}
		}
		chains, ends = append(chains, []*logdir.Segment{s}), append(ends, end)
	}
	return chains, nil
}

func dirState(s logdir.DirState) State {
	switch s {
	case logdir.Live:
		return Live
	case logdir.Future:
		return Future
	case logdir.Delete:
		return Delete
	case logdir.Stray:
		return Stray
	}
	panic(fmt.Sprintf("replica: unknown directory state %d", s))
}

func sortSegments(segs []*logdir.Segment) {
	slices.SortStableFunc(segs, func(a, b *logdir.Segment) int {
		switch {
		case a.BaseOffset < b.BaseOffset:
			return -1
		case a.BaseOffset > b.BaseOffset:
			return 1
		}
		return 0
	})
}

// probedEnd returns the offset behind the last batch of a .swap segment as a start finds it: it asks
// the last entry of the index where to begin, and takes the base offset where there is no batch
// from that entry's offset on, as in a .log that was cut short (LogSegment.readNextOffset).
func probedEnd(s *logdir.Segment) (int64, error) {
	at, offset := int64(0), s.BaseOffset
	if s.Index != nil && s.Index.Size >= segment.IndexEntrySize {
		err := withFile(s.Index, func(r rofs.File) error {
			size := s.Index.Size / segment.IndexEntrySize * segment.IndexEntrySize
			var b [segment.IndexEntrySize]byte
			if _, err := r.ReadAt(b[:], size-segment.IndexEntrySize); err != nil {
				return &segment.ReadError{Path: s.Index.Path, Op: "read", Pos: size - segment.IndexEntrySize, Len: segment.IndexEntrySize, Err: err}
			}
			offset += int64(int32(binary.BigEndian.Uint32(b[:])))
			at = int64(int32(binary.BigEndian.Uint32(b[4:])))
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	if at < 0 || at >= s.Log.Size {
		return s.BaseOffset, nil
	}
	end, err := endFrom(s, at)
	if err == nil && end <= offset {
		end = s.BaseOffset
	}
	return end, err
}

// nextOffset returns the offset behind the last batch of a segment, its base
// offset when it has none.
func nextOffset(s *logdir.Segment) (int64, error) { return endFrom(s, 0) }

// endFrom is nextOffset of the batches from a position on.
func endFrom(s *logdir.Segment, position int64) (int64, error) {
	f, err := s.Log.Open()
	if err != nil {
		return 0, &segment.ReadError{Path: s.Log.Path, Op: "open", Err: err}
	}
	defer f.Close()
	next := s.BaseOffset
	for frame, err := range segment.Scan(f, s.Log.Size, segment.ScanOptions{From: position, NextOffset: -1}) {
		if err != nil {
			return 0, withPath(err, s.Log.Path)
		}
		switch frame.Kind {
		case segment.Batch:
			if frame.Damage == nil {
				next = max(next, frame.Batch.NextOffset())
			}
		case segment.Legacy:
			if frame.Damage == nil && frame.Legacy.Offset < math.MaxInt64 {
				next = max(next, frame.Legacy.Offset+1)
			}
		}
	}
	return next, nil
}

// codecOf is the codec of a legacy message: bit 0 to 2 of its attributes.
func codecOf(h batch.LegacyHeader) batch.Codec { return batch.Codec(h.Attributes & 0x07) }
