package incident_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"kafsck/commitment"
	"kafsck/incident"
	"kafsck/internal/fixture"
)

// TestAcks gives the producers' own acknowledgement log too: losses of which the
// directories keep no trace come to light, as expected.json says.
func TestAcks(t *testing.T) {
	seen := 0
	for _, name := range fixture.Names {
		tree := fixture.Tree(t, name)
		var e struct {
			Stages map[string]struct {
				Partitions map[string]struct {
					WithAcks *struct {
						Losses []struct {
							From         int64  `json:"from"`
							To           int64  `json:"to"`
							Records      int64  `json:"records"`
							Committed    string `json:"committed"`
							Acknowledged string `json:"acknowledged"`
						} `json:"losses"`
					} `json:"withAcks"`
				} `json:"partitions"`
			} `json:"stages"`
		}
		if err := json.Unmarshal(tree["expected.json"].Data, &e); err != nil {
			t.Fatal(err)
		}
		for stage, s := range e.Stages {
			for part, w := range s.Partitions {
				if w.WithAcks == nil {
					continue
				}
				log, err := commitment.ReadAcks(bytes.NewReader(tree["acks.jsonl"].Data), "acks.jsonl", false)
				if err != nil {
					t.Fatal(err)
				}
				p := stories(t, incident.Options{Acks: log}, below(tree, stage))[part]
				var got []string
				for _, l := range p.Losses {
					got = append(got, fmt.Sprintf("[%s,%s) records %s committed %s acknowledged %s", deref(l.From), deref(l.To), deref(l.Records), l.Committed, l.Acknowledged))
				}
				for _, x := range w.WithAcks.Losses {
					seen++
					want := fmt.Sprintf("[%d,%d) records %d committed %s acknowledged %s", x.From, x.To, x.Records, x.Committed, x.Acknowledged)
					if !strings.Contains(strings.Join(got, "\n"), want) {
						t.Errorf("%s %s %s: missed %s among\n%s", name, stage, part, want, strings.Join(got, "\n"))
					}
				}
			}
		}
	}
	if seen < 3 {
		t.Errorf("only %d answers with acknowledgements were compared", seen)
	}
}

// TestLossesAreWhatProducersWereTold compares, for every recording that has an
// acknowledgement log, each copy loss graded yes or no with what the producers
// were told: a record told ok with acks=all is never called uncommitted.
func TestLossesAreWhatProducersWereTold(t *testing.T) {
	compared := 0
	for _, name := range fixture.Names {
		tree := fixture.Tree(t, name)
		if tree["acks.jsonl"] == nil {
			continue
		}
		log, err := commitment.ReadAcks(bytes.NewReader(tree["acks.jsonl"].Data), "acks.jsonl", true)
		if err != nil {
			t.Fatal(err)
		}
		for _, stage := range stages(t, tree) {
			plain := stories(t, incident.Options{}, below(tree, stage))
			for part, p := range stories(t, incident.Options{Acks: log}, below(tree, stage)) {
				for _, l := range p.Losses {
					if l.Basis != "copy" {
						continue
					}
					compared++
					for _, w := range plain[part].Losses {
						if w.From == nil || w.To == nil || *w.From > *l.From || *w.To < *l.To {
							continue
						}
						if l.Acknowledged == commitment.AckedAll && w.Committed == commitment.No {
							t.Errorf("%s %s %s: acknowledged to acks=all, called not committed: %s", name, stage, part, lossLines([]incident.Loss{w}, true))
						}
						if l.Acknowledged == commitment.AckedNo && w.Committed == commitment.Yes {
							t.Errorf("%s %s %s: acknowledged to nobody, called committed: %s", name, stage, part, lossLines([]incident.Loss{w}, true))
						}
					}
				}
			}
		}
	}
	if compared < 10 {
		t.Errorf("only %d losses compared", compared)
	}
}
