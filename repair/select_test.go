package repair_test

import (
	"fmt"
	"slices"
	"testing"

	"kafsck/repair"
)

// TestDropOvertaken: a confirmed removal of a directory leaves nothing to do inside it, but for what
// another action needs; without the word all stay.
func TestDropOvertaken(t *testing.T) {
	const gone = "t-0.4a2af2f5fd614d04873096ab20509cc6-future"
	for _, c := range []struct {
		name      string
		confirmed bool
		after     []string // of the action on the live directory
		want      string
		promises  int
	}{
		{"not confirmed", false, nil, "[a1 a2 a3 a4 a5]", 2},
		{"confirmed", true, nil, "[a3 a4 a5]", 1},
		{"needed", true, []string{"a1"}, "[a1 a3 a4 a5]", 1},
	} {
		p := &repair.Plan{
			Roots:  make([]repair.Root, 2),
			Inputs: []repair.PlanInput{{File: gone + "/00000000000000000000.log"}, {File: "t-0/00000000000000000000.log"}},
			Actions: []repair.Action{
				{ID: "a1", Edits: []repair.Edit{{Op: repair.Rebuild, File: gone + "/00000000000000000000.index"}}},
				{ID: "a2", Edits: []repair.Edit{{Op: repair.Rename, File: gone + "/x", To: gone + "/y"}}},
				{ID: "a3", After: c.after, Edits: []repair.Edit{{Op: repair.Rebuild, File: "t-0/00000000000000000000.index"}, {Op: repair.Write, File: gone + "/leader-epoch-checkpoint"}}},
				{ID: "a4", Root: 1, Edits: []repair.Edit{{Op: repair.Rebuild, File: gone + "/00000000000000000000.index"}}},
				{ID: "a5", Confirm: true, Confirmed: c.confirmed, Edits: []repair.Edit{{Op: repair.Remove, File: gone}}},
			},
			Promises: []repair.Promise{{Dir: gone}, {Dir: "t-0"}},
		}
		dropped := p.DropOvertaken()
		var left []string
		for _, a := range p.Actions {
			left = append(left, a.ID)
		}
		if fmt.Sprint(left) != c.want || len(p.Promises) != c.promises || len(left)+len(dropped) != 5 {
			t.Errorf("%s: %v is left, want %s; %d promises, want %d; dropped %v", c.name, left, c.want, len(p.Promises), c.promises, dropped)
		}
		if slices.ContainsFunc(dropped, func(o repair.Overtaken) bool { return o.By != "a5" || o.Dir != gone }) {
			t.Errorf("%s: %v", c.name, dropped)
		}
	}
	// A removed file takes nothing along.
	p := &repair.Plan{Inputs: []repair.PlanInput{{File: "t-0/a"}}, Actions: []repair.Action{
		{ID: "a1", Edits: []repair.Edit{{Op: repair.Remove, File: "t-0/a"}}}, {ID: "a2", Edits: []repair.Edit{{Op: repair.Write, File: "t-0/a/b"}}}}}
	if d := p.DropOvertaken(); len(d) != 0 || len(p.Actions) != 2 {
		t.Errorf("dropped %v with a file", d)
	}
}
