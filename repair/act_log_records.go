package repair

import (
	"slices"

	"kafsck/incident"
	"kafsck/replica"
)

// batchPlace is where a batch begins.
type batchPlace struct {
	segment  int
	position int64
}

// places are those of batches of one log.
type places map[batchPlace]bool

func (p places) has(b *replica.Block) bool {
	return len(p) > 0 && p[batchPlace{b.Segment, b.Position}]
}

// illegibles are the batches that pass their CRC and whose records cannot be read: known where the
// records were looked at, nil where there are more of them than are listed.
func illegibles(l *replica.Log) places {
	out := places{}
	for _, a := range l.Anomalies.Kept {
		if a.Kind == replica.RecordInvalid {
			out[batchPlace{a.Segment, a.Position}] = true
		}
	}
	if len(out) < l.Anomalies.Counts[replica.RecordInvalid] {
		return nil
	}
	return out
}

// illegible files a batch that passes its CRC and whose records cannot be read. Nobody can consume it,
// and what it holds was sent so or changed under a new CRC: it stays where it is, unless another
// replica has a readable one in its place, or somebody says so.
func (s *surgery) illegible(b *replica.Block) {
	h := s.open(b.Segment, b.Position)
	h.lost, h.records = true, -1
	h.blocks++
	h.to = max(h.to, b.Next())
	h.unread = append(h.unread, *b)
}

// readable checks a sibling's batches that are to take the place of unreadable ones: each of these must
// have a counterpart with the same offsets and leader epoch, and all of them records that can be
// read. nil: there is nothing to check, or all is as it must be.
type readable struct {
	wanted []replica.Block
	bad    places
	blind  bool // not all of the sibling's records were looked at
	met    int
}

func (h *hole) readable(o *incident.Copy) *readable {
	if len(h.unread) == 0 {
		return nil
	}
	bad := illegibles(o.Log)
	return &readable{wanted: h.unread, bad: bad, blind: bad == nil || o.Log.Anomalies.Counts[replica.DecompressionLimit] > 0}
}

// takes reports whether a batch may be taken.
func (r *readable) takes(b *replica.Block) bool {
	if r == nil {
		return true
	}
	if slices.ContainsFunc(r.wanted, func(w replica.Block) bool { return w.Base == b.Base && w.Last == b.Last && w.Epoch == b.Epoch }) {
		r.met++
	}
	return !r.blind && !r.bad.has(b)
}

// all reports whether each unreadable batch has its counterpart.
func (r *readable) all() bool { return r == nil || r.met == len(r.wanted) }
