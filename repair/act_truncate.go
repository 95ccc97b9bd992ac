package repair

import (
	"fmt"

	"kafsck/diff"
	"kafsck/finding"
	"kafsck/replica"
)

// truncation says where a replica parts from the ones that it must follow.
type truncation struct {
	replica.Span // what goes
	answers      []*found
}

// divergent finds where this replica would have to be cut to follow the others, nil nowhere. It is
// always a choice: what goes may have been acknowledged.
//
// A ruling leader that the metadata, or the user, name is followed. Where nobody rules, two or more
// replicas that agree are followed by the one that does not, but never where committed records are
// on its side alone.
func (w *work) divergent() (*truncation, string, error) {
	if w.copy.State != replica.Live || w.copy.Extra {
		return nil, "", nil
	}
	ruled := w.p.Ruling.Leader != nil && w.p.Ruling.Judged && !w.p.Ruling.Guess
	from, to := int64(-1), int64(-1)
	for i := range w.p.Divergences {
		d := &w.p.Divergences[i]
		mine := 0
		switch {
		case d.A == w.copy:
		case d.B == w.copy:
			mine = 1
		default:
			continue
		}
		if d.Kind != diff.EpochFork || d.EqualFrom != nil || ruled && !(d.Ruled && mine == 1) {
			continue
		}
		side := d.Sides[mine]
		if side.To <= side.From {
			continue
		}
		if from < 0 || d.CommonEnd < from {
			from = d.CommonEnd
		}
		to = max(to, side.To)
	}
	if from < 0 {
		return nil, "", nil
	}
	t := &truncation{Span: replica.Span{From: from, To: to}}
	for _, x := range w.found {
		if x.Code == "divergence" && x.At.Partition == w.p.Name && x.At.From >= from {
			if x.Severity == finding.Loss && !ruled {
				return nil, "", nil
			}
			if x.dir == w.dir || ruled {
				t.answers = append(t.answers, x)
			}
		}
	}
	if ruled {
		return t, fmt.Sprintf("broker %s rules (%s), and this log leaves its line at offset %d: it follows only after it is cut there; export what goes first", w.p.Ruling.Leader.Name, w.p.Ruling.Why, from), nil
	}
	others, err := w.agree(from)
	if err != nil || len(others) < 2 {
		return nil, "", err
	}
	return t, fmt.Sprintf("nobody is known to rule, and brokers %s hold the same batch at offset %d where this log has another; export what goes first", join(others), from), nil
}

// agree names the other live replicas that reach beyond an offset, if all of them have the same batch
// there.
func (w *work) agree(from int64) ([]string, error) {
	var names []string
	var first *replica.Block
	for _, o := range w.others() {
		for b, err := range o.Log.Blocks(from, from+1) {
			if err != nil {
				return nil, err
			}
			if first == nil {
				x := b
				first = &x
			}
			if !b.Same(first) {
				return nil, nil
			}
			names = append(names, o.Broker.Name)
			break
		}
	}
	return names, nil
}
