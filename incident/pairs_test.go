package incident_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kafsck/commitment"
	"kafsck/diff"
	"kafsck/incident"
	"kafsck/internal/fixture"
)

// pair is one case of the pairs archive: a recorded cluster with one precise
// change and the right answers, reasoned from Kafka's rules.
type pair struct {
	ID          string  `json:"id"`
	Partition   string  `json:"partition"`
	Leader      *int32  `json:"leader"`
	Guess       bool    `json:"guess"`
	Eligible    []int32 `json:"eligible"`
	Divergences *[]struct {
		Kind  oneOf `json:"kind"`
		From  int64 `json:"from"`
		To    int64 `json:"to"`
		Side  *int32
		Sides []struct {
			Broker int32    `json:"broker"`
			From   int64    `json:"from"`
			To     int64    `json:"to"`
			Epochs *[]int32 `json:"epochs"`
		} `json:"sides"`
	} `json:"divergences"`
	Losses *[]struct {
		From      *int64   `json:"from"`
		To        *int64   `json:"to"`
		Records   *int64   `json:"records"`
		Epochs    *[]int32 `json:"epochs"`
		Committed oneOf    `json:"committed"`
		Evidence  []string `json:"evidence"`
		HeldBy    []int32  `json:"heldBy"`
		Cause     oneOf    `json:"cause"`
		Basis     string   `json:"basis"`
		States    []string `json:"states"`
		Optional  bool     `json:"optional"`
	} `json:"losses"`
	MustNot []struct {
		Rule string `json:"rule"`
		Text string `json:"text"`
	} `json:"must_not"`
	Findings []string       `json:"findings"`
	Healthy  bool           `json:"healthy"`
	Exit     map[string]int `json:"exit"`
}

// oneOf is a string or a list of acceptable ones.
type oneOf []string

func (o *oneOf) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*o = oneOf{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(o))
}

// elsewhere are the cases whose finding is not one of the judged partition: a
// damaged metadata log, and a foreign topic of the same name.
var elsewhere = []string{"metadata-damaged-one-copy", "two-incarnations"}

// judgedHere maps the meanings that cases.json names to our codes, as far as
// framing, checksums and offset order go.
var judgedHere = map[string]string{
	"batch-crc-mismatch": "batch-crc-mismatch", "epoch-out-of-line": "epoch-out-of-line", "segment-gap": "segment-gap", "duplicate-offsets": "base-offset-out-of-line",
	"zero-tail": "zero-tail", "topic-id-mismatch": "topic-id-mismatch", "duplicate-partition-dirs": "duplicate-partition-dirs", "metadata-stale": "metadata-stale",
	"leader-not-among-inputs": "leader-not-among-inputs",
}

func TestPairs(t *testing.T) {
	tree := fixture.Tree(t, "pairs")
	var all struct {
		Cases []pair `json:"cases"`
	}
	if err := json.Unmarshal(tree["cases.json"].Data, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Cases) < 61 {
		t.Fatalf("only %d cases", len(all.Cases))
	}
	for _, c := range all.Cases {
		t.Run(c.ID, func(t *testing.T) {
			got := stories(t, incident.Options{}, below(tree, c.ID))
			p := got[c.Partition]
			if c.ID == "two-incarnations" {
				for _, x := range got {
					switch {
					case x.Name == c.Partition && x.Ruling.Leader != nil:
						p = x
					case x.Name == c.Partition && !slices.Contains(codes(x), "topic-id-mismatch"):
						t.Errorf("the other topic of this name is not named: %v", codes(x))
					}
				}
			}
			if p == nil {
				t.Fatalf("%s not found in %v", c.Partition, got)
			}
			for _, line := range comparePair(p, &c) {
				t.Error(line)
			}
			if t.Failed() {
				t.Logf("ruling: %+v\ndivergences:%s\nlosses:%s", p.Ruling, divergenceLines(p), lossLines(p.Losses, true))
			}
		})
	}
}

func comparePair(p *incident.Partition, c *pair) []string {
	var out []string
	bad := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	absent := c.Exit["loss"] == 2
	if l := leaderOf(p); l != deref(c.Leader) {
		bad("leader %s, want %s", l, deref(c.Leader))
	}
	if p.Ruling.Guess != c.Guess {
		bad("guess %v, want %v", p.Ruling.Guess, c.Guess)
	}
	if p.Ruling.Judged == absent {
		bad("judged %v (%s)", p.Ruling.Judged, p.Ruling.Reason)
	}
	if c.Eligible != nil && !slices.Equal(p.Ruling.Eligible, c.Eligible) {
		bad("eligible %v, want %v", p.Ruling.Eligible, c.Eligible)
	}
	if c.Divergences != nil {
		got := slices.Clone(p.Divergences)
		for _, w := range *c.Divergences {
			at := slices.IndexFunc(got, func(d incident.Divergence) bool {
				if !slices.Contains(w.Kind, string(d.Kind)) || d.From != w.From || d.To != w.To {
					return false
				}
				if w.Side != nil && string(d.Kind) == w.Kind[0] && (d.Bad < 0 || []*incident.Copy{d.A, d.B}[d.Bad].Broker.ID != *w.Side) {
					return false
				}
				for _, s := range w.Sides {
					ours := d.Sides[0]
					if d.B.Broker.ID == s.Broker {
						ours = d.Sides[1]
					} else if d.A.Broker.ID != s.Broker {
						return false
					}
					if ours.From != s.From || ours.To != s.To || s.Epochs != nil && !slices.Equal(ours.Epochs, *s.Epochs) {
						return false
					}
				}
				return true
			})
			if at < 0 {
				bad("divergence missed: %v [%d,%d) %+v", w.Kind, w.From, w.To, w.Sides)
				continue
			}
			got = slices.Delete(got, at, at+1)
		}
		for _, d := range got {
			bad("divergence invented: %s [%d,%d)", d.Kind, d.From, d.To)
		}
	}
	if c.Losses != nil {
		got := slices.Clone(p.Losses)
		for _, w := range *c.Losses {
			at := slices.IndexFunc(got, func(l incident.Loss) bool {
				if l.Basis != w.Basis || deref(l.From) != deref(w.From) || w.To != nil && deref(l.To) != deref(w.To) && !(l.Basis == "trace" && l.To == nil) {
					return false
				}
				if w.Records != nil && deref(l.Records) != deref(w.Records) || w.Epochs != nil && !slices.Equal(l.Epochs, *w.Epochs) {
					return false
				}
				if !slices.Contains(w.Committed, string(l.Committed)) || w.Cause != nil && !slices.Contains(w.Cause, l.Cause) {
					return false
				}
				for _, k := range w.Evidence {
					if !slices.ContainsFunc(l.Evidence, func(e commitment.Evidence) bool { return string(e.Kind) == k }) {
						return false
					}
				}
				for _, st := range w.States {
					if !slices.ContainsFunc(l.Copies, func(x incident.CopyRef) bool { return string(x.State) == st }) {
						return false
					}
				}
				held := []int32{}
				for _, b := range l.HeldBy {
					held = append(held, b.ID)
				}
				return slices.Equal(held, w.HeldBy)
			})
			if at < 0 {
				if !w.Optional {
					bad("loss missed: [%s,%s) %s committed %v evidence %v held by %v cause %v", deref(w.From), deref(w.To), w.Basis, w.Committed, w.Evidence, w.HeldBy, w.Cause)
				}
				continue
			}
			got = slices.Delete(got, at, at+1)
		}
		for _, l := range got {
			bad("loss invented: %s", strings.TrimSpace(lossLines([]incident.Loss{l}, true)))
		}
	}
	for _, m := range c.MustNot {
		out = append(out, forbidden(p, m.Rule, m.Text)...)
	}
	for _, code := range c.Findings {
		if ours, judged := judgedHere[code]; judged && !slices.Contains(codes(p), ours) && !slices.Contains(elsewhere, c.ID) {
			bad("finding %s missed among %v", ours, codes(p))
		}
	}
	if c.Healthy {
		for _, d := range p.Divergences {
			if d.Kind != diff.Behind && d.Kind != diff.Compaction {
				bad("healthy, but %s", d.Kind)
			}
		}
	}
	return out
}

// forbidden checks one must_not rule of a case.
func forbidden(p *incident.Partition, rule, text string) []string {
	var out []string
	for _, l := range p.Losses {
		if rule == "loss" && l.Counts() || rule == "committed-yes" && l.Committed == commitment.Yes || rule == "holder" && len(l.HeldBy) > 0 {
			out = append(out, "must not: "+rule+": "+text)
		}
	}
	for _, d := range p.Divergences {
		if rule == string(d.Kind) || rule == "divergence" && d.Kind != diff.Behind {
			out = append(out, "must not: "+rule+": "+text)
		}
	}
	if rule == "all-clear" && p.Ruling.Judged && !slices.ContainsFunc(p.Losses, func(l incident.Loss) bool { return l.Counts() }) {
		out = append(out, "must not: "+rule+": "+text)
	}
	return out
}
