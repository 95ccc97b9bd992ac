package commitment

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// Acked says what the producers' own log knows of a record.
type Acked string

// The answers of an acknowledgement log.
const (
	AckedAll     Acked = "all"    // an acks=all producer was told "ok"
	AckedLeader  Acked = "leader" // an acks=1 producer was told "ok"
	AckedNo      Acked = "no"     // listed nowhere in a complete log, or refused
	AckedUnknown Acked = "unknown"
)

// Ack is one acknowledged record of an acknowledgement log.
type Ack struct {
	Offset int64
	Value  string
	All    bool
}

// AckLog is an acknowledgement log in JSON Lines: one object a record with
// topic, partition, offset, value and acks ("all" or "1"); a record with an
// error instead of an offset was refused and is skipped.
type AckLog struct {
	Name     string
	Complete bool // nothing is missing from it
	acks     map[string][]Ack
	// Skipped counts lines that are no acknowledgement.
	Skipped int
}

// ReadAcks reads an acknowledgement log. The error is a failed read or a line
// that is not JSON, with its number.
func ReadAcks(r io.Reader, name string, complete bool) (*AckLog, error) {
	log := &AckLog{Name: name, Complete: complete, acks: map[string][]Ack{}}
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 64<<10), 64<<20)
	for line := 1; in.Scan(); line++ {
		var x struct {
			Topic     string           `json:"topic"`
			Partition int32            `json:"partition"`
			Value     string           `json:"value"`
			Acks      json.RawMessage  `json:"acks"`
			Offset    *int64           `json:"offset"`
			Error     *json.RawMessage `json:"error"`
		}
		if len(in.Bytes()) == 0 {
			continue
		}
		if err := json.Unmarshal(in.Bytes(), &x); err != nil {
			return nil, fmt.Errorf("%s line %d: %w", name, line, err)
		}
		acks := string(x.Acks)
		if x.Offset == nil || *x.Offset < 0 || x.Error != nil || acks == `"0"` || acks == `0` {
			log.Skipped++
			continue
		}
		key := fmt.Sprintf("%s-%d", x.Topic, x.Partition)
		log.acks[key] = append(log.acks[key], Ack{Offset: *x.Offset, Value: x.Value, All: acks == `"all"` || acks == `"-1"` || acks == `-1`})
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for key := range log.acks {
		slices.SortStableFunc(log.acks[key], func(a, b Ack) int {
			switch {
			case a.Offset < b.Offset:
				return -1
			case a.Offset > b.Offset:
				return 1
			}
			return 0
		})
	}
	return log, nil
}

// Of returns the acknowledgements of a partition, named like "t-0", in [from,
// to), ascending by offset.
func (l *AckLog) Of(partition string, from, to int64) []Ack {
	list := l.acks[partition]
	lo, _ := slices.BinarySearchFunc(list, from, func(a Ack, o int64) int { return cmp.Compare(a.Offset, o) })
	hi, _ := slices.BinarySearchFunc(list, to, func(a Ack, o int64) int { return cmp.Compare(a.Offset, o) })
	return list[lo:hi]
}

// Answer says what the log knows of one record. An offset is acknowledged again
// after a fork, so the value must match too.
func (l *AckLog) Answer(partition string, offset int64, value []byte) Acked {
	answer := AckedUnknown
	if l.Complete {
		answer = AckedNo
	}
	for _, a := range l.Of(partition, offset, offset+1) {
		if a.Value != string(value) {
			continue
		}
		if a.All {
			return AckedAll
		}
		answer = AckedLeader
	}
	return answer
}

// Acks is the acknowledgement log as a witness on the lost records of one
// partition. Known holds the answer for each lost offset run.
type Acks struct {
	Source string
	Runs   []AckRun
}

// AckRun is a run of lost offsets of some copies with one answer.
type AckRun struct {
	From, To int64
	Copy     int // the answer was made from this copy's records
	Answer   Acked
}

// Cuts implements Witness.
func (w *Acks) Cuts(from, to int64) []int64 {
	var out []int64
	for _, r := range w.Runs {
		out = append(out, inside(r.From, from, to)...)
		out = append(out, inside(r.To, from, to)...)
	}
	return out
}

// Of returns the answer for a piece.
func (w *Acks) Of(p *Piece) Acked {
	for _, r := range w.Runs {
		if r.From <= p.From && p.To <= r.To && slices.Contains(p.Copies, r.Copy) {
			return r.Answer
		}
	}
	return AckedUnknown
}

// Testify implements Witness.
func (w *Acks) Testify(p *Piece) (Evidence, bool) {
	switch w.Of(p) {
	case AckedAll:
		return Evidence{Kind: AcksKind, Says: Yes, Source: w.Source, Claim: "an acks=all producer was told ok for these records"}, true
	case AckedNo:
		return Evidence{Kind: AcksKind, Says: No, Source: w.Source, Claim: "the complete acknowledgement log does not list these records"}, true
	}
	return Evidence{}, false
}
