package commitment

import "fmt"

// Tiered are segments that were copied to the remote tier as a witness: a segment is
// only copied below the last stable offset (RemoteLogManager), so what it holds was
// committed.
type Tiered struct {
	Segments []TieredSegment
}

// TieredSegment is a run of offsets of one leader epoch inside a segment whose copy was
// finished.
type TieredSegment struct {
	From, To int64 // offsets [From, To)
	Epoch    int32
	ID       string // remote segment id
	Source   string
}

// Cuts implements Witness.
func (w *Tiered) Cuts(from, to int64) []int64 {
	var out []int64
	for _, s := range w.Segments {
		out = append(out, inside(s.From, from, to)...)
		out = append(out, inside(s.To, from, to)...)
	}
	return out
}

// Testify implements Witness.
func (w *Tiered) Testify(p *Piece) (Evidence, bool) {
	for _, s := range w.Segments {
		if s.Epoch == p.Epoch && s.From <= p.From && p.To <= s.To {
			return Evidence{Kind: TieredKind, Says: Yes, Source: s.Source,
				Claim: fmt.Sprintf("remote segment %s holds these offsets of epoch %d: only committed records are copied to the remote tier", s.ID, s.Epoch)}, true
		}
	}
	return Evidence{}, false
}
