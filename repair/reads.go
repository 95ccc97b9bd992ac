package repair

import (
	"slices"

	"kafsck/logdir"
)

// segmentSize is a .log by its base offset and its bytes.
type segmentSize struct{ base, size int64 }

// sized remembers how large the segments of a changed log are in the result.
func (s *surgery) sized(results []result) {
	now := segmentsOf(s.dir)
	var out []segmentSize
	for _, r := range results {
		switch {
		case r.drop:
		case r.changed:
			x := segmentSize{base: r.base}
			for _, p := range r.pieces {
				x.size += p.Length
			}
			out = append(out, x)
		default:
			for _, x := range now {
				if x.base == r.base {
					out = append(out, x)
				}
			}
		}
	}
	if s.t.sizes == nil {
		s.t.sizes = map[*logdir.Partition][]segmentSize{}
	}
	s.t.sizes[s.dir] = out
}

// segmentsOf are the segments of a partition directory as they lie there, ascending.
func segmentsOf(p *logdir.Partition) []segmentSize {
	var out []segmentSize
	for _, seg := range p.Segments {
		if f := seg.Log; f != nil && f.Suffix == logdir.NoSuffix {
			out = append(out, segmentSize{f.BaseOffset, max(f.Size, 0)})
		}
	}
	return out
}

// scannedFrom is how many bytes a start without the marker reads of a log: the segment that holds the recovery
// point, or the last one, and all behind it (LogLoader.recoverLog).
func scannedFrom(list []segmentSize, point int64) (bytes int64) {
	for i, x := range list {
		if i+1 == len(list) || list[i+1].base > point {
			bytes += x.size
		}
	}
	return bytes
}

// reads says of each action that lowers a recovery point, or takes the marker of a clean shutdown away,
// how much the next start reads of the logs.
func (b *builder) reads() {
	for i := range b.plan.Actions {
		a := &b.plan.Actions[i]
		t := b.roots[a.Root]
		if t.only != nil || a.Dir == "" || a.Kind == FixLine {
			continue
		}
		at := slices.IndexFunc(t.dir.Partitions, func(p *logdir.Partition) bool { return base(p) == a.Dir })
		if at < 0 {
			continue
		}
		p := t.dir.Partitions[at]
		r := StartReads{}
		if was, ok := t.dir.RecoveryPoints.Line(p); ok {
			r.Was, r.RecoveryPoint = &was, was
		}
		lowered := false
		for _, e := range a.Edits {
			switch {
			case e.Op == Remove && e.File == cleanMarker:
				r.Marker = true
			case e.Op == Line && e.File == recoveryPoints && e.Line.Offset != nil:
				lowered = lowered || r.Was == nil || *e.Line.Offset < *r.Was
				r.RecoveryPoint = *e.Line.Offset
			}
		}
		if !r.Marker && (!lowered || t.dir.CleanShutdown) { // with the marker no recovery point counts
			continue
		}
		now, sized := t.sizes[p]
		if !sized {
			now = segmentsOf(p)
		}
		r.Bytes = scannedFrom(now, r.RecoveryPoint)
		if !t.dir.CleanShutdown {
			var was int64
			if r.Was != nil {
				was = *r.Was
			}
			r.BytesBefore = scannedFrom(segmentsOf(p), was)
		}
		for _, o := range t.dir.Partitions {
			if o == p || o.State != logdir.Live && o.State != logdir.Future {
				continue
			}
			point, _ := t.dir.RecoveryPoints.Line(o)
			r.Others += scannedFrom(segmentsOf(o), point)
		}
		if !t.dir.CleanShutdown {
			r.OthersBefore = r.Others
		}
		a.Reads = &r
	}
}
