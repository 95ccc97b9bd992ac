package logdir

import (
	"cmp"
	"slices"
)

func (k Kind) ofSegment() bool { return (&Segment{}).slot(k) != nil }

// slot is the place of a file within a segment, nil for other files.
func (s *Segment) slot(k Kind) **File {
	switch k {
	case KindLog:
		return &s.Log
	case KindIndex:
		return &s.Index
	case KindTimeIndex:
		return &s.TimeIndex
	case KindTxnIndex:
		return &s.TxnIndex
	case KindProducerSnapshot:
		return &s.Snapshot
	}
	return nil
}

type segmentKey struct {
	base   int64
	suffix Suffix
}

// renamedFrom is the suffix that a file had before its .log got the suffix of the key: renames go
// log first, so the files of a segment whose .log was just renamed still have the old one
// (LogSegment.changeFileSuffixes; kafka-format §15, 7.2).
//
// Renaming to .deleted is left out on purpose: there D20.index beside D20.log.deleted is a file
// that the next start finds without its .log and deletes, and must stay visible as an orphan.
var renamedFrom = map[Suffix]Suffix{Swap: Cleaned, NoSuffix: Swap}

// groupSegments puts the files of each base offset together and leaves out unknown ones. Names are unique within a directory and each
// kind has one spelling per base offset and suffix, so no slot is asked for twice.
func groupSegments(files []*File) []*Segment {
	byKey := make(map[segmentKey]*Segment)
	get := func(k segmentKey) *Segment {
		s := byKey[k]
		if s == nil {
			s = &Segment{BaseOffset: k.base, Suffix: k.suffix}
			byKey[k] = s
		}
		return s
	}
	for _, f := range files {
		if f.Why == "" && f.Kind.ofSegment() {
			*get(segmentKey{f.BaseOffset, f.Suffix}).slot(f.Kind) = f
		}
	}
	// Segments without a .log whose files are late in a rename join the .log that went ahead. A
	// .log moves by one step at a time, so nothing is joined twice; a slot that is taken stays so.
	segments := make([]*Segment, 0, len(byKey))
	for k, s := range byKey {
		if s.Log == nil {
			continue
		}
		segments = append(segments, s)
		from, ok := renamedFrom[k.suffix]
		if !ok {
			continue
		}
		late := byKey[segmentKey{k.base, from}]
		if late == nil || late.Log != nil {
			continue
		}
		for _, kind := range []Kind{KindIndex, KindTimeIndex, KindTxnIndex, KindProducerSnapshot} {
			to, f := s.slot(kind), late.slot(kind)
			if *to == nil {
				*to, *f = *f, nil
			}
		}
	}
	for _, s := range byKey {
		if s.Log == nil && (s.Index != nil || s.TimeIndex != nil || s.TxnIndex != nil || s.Snapshot != nil) {
			segments = append(segments, s)
		}
	}
	slices.SortFunc(segments, func(a, b *Segment) int {
		return cmp.Or(cmp.Compare(a.BaseOffset, b.BaseOffset), cmp.Compare(a.Suffix, b.Suffix))
	})
	return segments
}
