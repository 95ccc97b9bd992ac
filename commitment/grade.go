package commitment

import "slices"

// Grade answers "had these records been committed?".
type Grade string

// The grades. No means: provably not committed; an acks=1 producer may still
// have been told "ok".
const (
	Yes     Grade = "yes"
	No      Grade = "no"
	Unknown Grade = "unknown"
)

// Kind names a sort of evidence; the names are part of the JSON contract.
type Kind string

// The kinds of evidence that this package and its callers give.
const (
	HighWatermarkKind   Kind = "high-watermark"
	LogStartKind        Kind = "log-start"
	ISRHistoryKind      Kind = "isr-history"
	CleanElectionKind   Kind = "clean-election"
	UncleanElectionKind Kind = "unclean-election"
	AcksKind            Kind = "acks"
	RecoveryPointKind   Kind = "recovery-point"
	EpochStartKind      Kind = "epoch-start"
	GroupCommitKind     Kind = "group-commit"
	TransactionKind     Kind = "transaction"
	TieredKind          Kind = "tiered"
	ServerLogKind       Kind = "server-log"
)

// Evidence is one witness's word on one piece.
type Evidence struct {
	Kind   Kind
	Says   Grade
	Claim  string // a sentence for people
	Source string // file or metadata offset it comes from
}

// Piece is a stretch of lost records of one leader epoch for which every witness
// has one answer.
type Piece struct {
	From, To     int64 // offsets [From, To)
	Epoch        int32 // -1 none
	MaxTimestamp int64 // ms of the batch, -1 none
	// Copies are the indexes of the copies that hold these very records; Brokers the
	// ids of the brokers they belong to, set aside or not.
	Copies  []int
	Brokers []int32
}

// Witness gives evidence on pieces.
type Witness interface {
	// Cuts returns the offsets strictly inside (from, to) at which this witness may
	// change its answer.
	Cuts(from, to int64) []int64
	// Testify returns evidence on a piece; ok is false when the witness has nothing to
	// say.
	Testify(p *Piece) (e Evidence, ok bool)
}

// Court hears all witnesses.
type Court []Witness

// Hear returns the evidence on a piece, in the order of the witnesses.
func (c Court) Hear(p *Piece) []Evidence {
	var out []Evidence
	for _, w := range c {
		if e, ok := w.Testify(p); ok {
			out = append(out, e)
		}
	}
	return out
}

// Cuts returns all offsets inside (from, to) at which some witness may change
// its answer, ascending and without repeats.
func (c Court) Cuts(from, to int64) []int64 {
	var out []int64
	for _, w := range c {
		out = append(out, w.Cuts(from, to)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Weigh makes a grade of evidence: one "yes" suffices, else one "no", else
// unknown.
func Weigh(evidence []Evidence) Grade {
	grade := Unknown
	for _, e := range evidence {
		switch e.Says {
		case Yes:
			return Yes
		case No:
			grade = No
		}
	}
	return grade
}

func inside(offset, from, to int64) []int64 {
	if from < offset && offset < to {
		return []int64{offset}
	}
	return nil
}
