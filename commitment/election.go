package commitment

import "fmt"

// CleanSuccession says that after an epoch every election was clean.
type CleanSuccession struct {
	Leader         int32 // the next leader
	Epoch          int32 // its epoch
	Start          int64 // offset where that epoch starts in the ruling log
	MetadataOffset int64
}

// CleanElection is the cluster metadata as a witness against: a leader taken
// from the ISR or the ELR has every committed record, so what it lacks from the
// start of its epoch on had not been committed.
type CleanElection struct {
	Source string
	// After holds, by leader epoch, the clean succession that ended it.
	After map[int32]CleanSuccession
}

// Cuts implements Witness.
func (w *CleanElection) Cuts(from, to int64) []int64 {
	var out []int64
	for _, s := range w.After {
		out = append(out, inside(s.Start, from, to)...)
	}
	return out
}

// Testify implements Witness.
func (w *CleanElection) Testify(p *Piece) (Evidence, bool) {
	s, ok := w.After[p.Epoch]
	if !ok || s.Start > p.From {
		return Evidence{}, false
	}
	return Evidence{Kind: CleanElectionKind, Says: No, Source: fmt.Sprintf("%s, metadata offset %d", w.Source, s.MetadataOffset),
		Claim: fmt.Sprintf("broker %d was elected cleanly for epoch %d, which starts at %d: a leader from the ISR or ELR has every committed record", s.Leader, s.Epoch, s.Start)}, true
}
