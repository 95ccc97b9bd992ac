package incident_test

import (
	"testing"
	"testing/fstest"

	"kafsck/diff"
	"kafsck/incident"
	"kafsck/internal/fixture"
)

// TestOverlappingSegments: base/R3, three equal replicas with segments 0, 100 and 200. On one of
// them the batches of offsets 80–99 stand at the beginning of the second segment as well, which
// is named 80 then: the same records, stored twice. That is damage of this broker. The others
// miss nothing, and nothing is lost, whoever leads.
func TestOverlappingSegments(t *testing.T) {
	base := below(fixture.Tree(t, "base"), "R3")
	for _, broker := range []string{"b1", "b2", "b3"} {
		tree := fstest.MapFS{}
		for name, f := range base {
			tree[name] = f
		}
		const first, second, renamed = "/orders-0/00000000000000000000.log", "/orders-0/00000000000000000100.log", "/orders-0/00000000000000000080.log"
		whole := string(tree[broker+first].Data)
		again := whole[len(cutAt(t, whole, 80)):]
		f := tree[broker+second]
		tree[broker+renamed] = &fstest.MapFile{Data: append([]byte(again), f.Data...), Mode: f.Mode, ModTime: f.ModTime}
		delete(tree, broker+second)
		for leader := range int32(3) {
			p := stories(t, incident.Options{Leaders: map[string]int32{"orders-0": leader + 1}}, tree)["orders-0"]
			if len(p.Losses) > 0 {
				t.Errorf("twice on %s, %d leads: %s", broker, leader+1, lossLines(p.Losses, true))
			}
			for _, d := range p.Divergences {
				if d.Kind != diff.Damaged || d.From != 80 || d.To != 100 || d.Bad < 0 || []*incident.Copy{d.A, d.B}[d.Bad].Dir != "case/"+broker+"/orders-0" && []*incident.Copy{d.A, d.B}[d.Bad].Dir != broker+"/orders-0" {
					t.Errorf("twice on %s, %d leads: %s", broker, leader+1, divergenceLines(p))
				}
			}
		}
	}
}
