package repair

import (
	"cmp"
	"slices"
	"strings"

	"kafsck/broker"
)

// StartCut is what a start takes out of one .log file: its end from a position on, or all of it.
type StartCut struct {
	Act      string // broker.ActTruncate, ActDelete or ActMarkDeleted
	File     string // base name
	Position int64  // byte from which on it goes, 0 for all of it
	Bytes    int64
	From, To int64 // offsets [From, To) of its batches; both 0 where there are none, or nobody can tell
	Why      string
}

// StartCuts are what a start takes out of the .log files of a partition directory. What a complete
// output of the cleaner replaces is none: its records are in there.
func StartCuts(l *broker.Loaded) []StartCut {
	if l == nil {
		return nil
	}
	var out []StartCut
	for i := range l.Actions {
		a := &l.Actions[i]
		switch a.Action {
		case broker.ActTruncate:
		case broker.ActDelete, broker.ActMarkDeleted:
			if !strings.HasSuffix(a.File, ".log") || a.Replaced {
				continue
			}
		default:
			continue
		}
		if a.Bytes > 0 {
			out = append(out, StartCut{a.Action, a.File, a.Position, a.Bytes, a.From, a.ToOffset, a.Why})
		}
	}
	return out
}

// Beyond are the cuts of a start that another start of the same log does not make: what it leaves
// behind a cut goes with both.
//
//	before    0.log  | 0–9 | damaged ~~~~~~~~~|
//	after     0.log  | 0–9 | damaged ~~~~~~~~~|   none beyond
//	after     0.log  |~~~~~~~~~~~~~~~~~~~~~~~~|   beyond: 0–9 go as well
func Beyond(after, before []StartCut) []StartCut {
	before = slices.Clone(before)
	slices.SortFunc(before, func(a, b StartCut) int { return cmp.Compare(a.From, b.From) })
	var out []StartCut
	for _, c := range after {
		if !slices.ContainsFunc(before, func(o StartCut) bool {
			return o.File == c.File && o.Position <= c.Position && o.Position+o.Bytes >= c.Position+c.Bytes
		}) && (c.From >= c.To || !c.within(before)) {
			out = append(out, c)
		}
	}
	return out
}

// within reports whether all offsets of a cut go with the others, which are sorted.
func (c *StartCut) within(before []StartCut) bool {
	at := c.From
	for _, o := range before {
		if o.From <= at && o.To > at {
			at = o.To
		}
	}
	return at >= c.To
}
