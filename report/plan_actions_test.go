package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kafsck/repair"
)

func planText(t *testing.T, p *repair.Plan) string {
	t.Helper()
	var b bytes.Buffer
	x := &RepairPlan{Plan: p, Paths: &Paths{Again: func(verb string, extra ...string) string { return "kafsck " + verb }}, Scope: &Scope{}}
	if err := x.Print(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func rebuilt(n int, ext string) repair.Action {
	dir := fmt.Sprintf("t-%d", n)
	kind := map[string]repair.Kind{".index": repair.RebuildIndex, ".timeindex": repair.RebuildTimeIndex}[ext]
	return repair.Action{ID: fmt.Sprintf("a%d", n), Kind: kind, Dir: dir, Partition: dir, Undo: "the old file is in lost+found", Why: "1 " + ext + " has its preallocated size",
		Does: "1 " + ext + " file built anew from its .log: " + dir + "/0" + ext}
}

// TestPlanBlocks: actions that say the same of different directories are one block, with all ids; what
// waits for a word is told by itself; and no limit hides a kind.
func TestPlanBlocks(t *testing.T) {
	p := &repair.Plan{Roots: []repair.Root{{Name: "broker-1"}}}
	for i := range 18 {
		p.Actions = append(p.Actions, rebuilt(i+1, ".index"))
	}
	p.Actions = append(p.Actions, repair.Action{ID: "a19", Kind: repair.RemoveFile, Dir: "t-3", Does: "x goes", Why: "nobody reads it", Undo: "the file is in lost+found"})
	text := planText(t, p)
	for _, want := range []string{
		"\na1–a18  rebuild-index\n    in    broker-1/t-1, broker-1/t-2, broker-1/t-3, broker-1/t-4, broker-1/t-5, broker-1/t-6 and 12 more\n" +
			"    does  1 .index file built anew from its .log, in each (--json names the files)\n",
		"\na19 remove-file  broker-1/t-3\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "…") {
		t.Errorf("something is hidden:\n%s", text)
	}

	for i := range 200 { // each another text; the last of another kind, and one that waits
		a := rebuilt(20+i, ".index")
		a.Why += fmt.Sprint(i)
		p.Actions = append(p.Actions, a)
	}
	p.Actions = append(p.Actions, rebuilt(220, ".timeindex"), rebuilt(221, ".index"))
	p.Actions[len(p.Actions)-1].Confirm = true
	text = planText(t, p)
	for _, want := range []string{"\na220 rebuild-timeindex  broker-1/t-220\n", "\na221 rebuild-index  broker-1/t-221  (needs --confirm a221)\n", "… and 182 actions more of these kinds, all in --json: 182 rebuild-index", "1 of them (a221) waits for your word"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "\n"); n > 150 {
		t.Errorf("%d lines", n)
	}
}

func TestActionIDs(t *testing.T) {
	for _, x := range []struct {
		ids  []string
		want string
	}{
		{[]string{"a1"}, "a1"},
		{[]string{"a2", "a1"}, "a1 and a2"},
		{[]string{"a1", "a2", "a3", "a7"}, "a1–a3 and a7"},
		{[]string{"mine", "a7"}, "mine and a7"},
		{[]string{"a007", "a7"}, "a007 and a7"},
	} {
		var list []*repair.Action
		for _, id := range x.ids {
			list = append(list, &repair.Action{ID: id})
		}
		if got := actionIDs(list); got != x.want {
			t.Errorf("%v: %s, want %s", x.ids, got, x.want)
		}
	}
	var odd []*repair.Action
	for i := range 100 {
		odd = append(odd, &repair.Action{ID: fmt.Sprint("a", 2*i+1)})
	}
	if got := actionIDs(odd); !strings.HasSuffix(got, "and 88 more") || strings.Count(got, "a") > 20 {
		t.Error(got)
	}
	if !slices.IsSortedFunc(odd, func(a, b *repair.Action) int { return len(a.ID) - len(b.ID) }) {
		t.Error("the list was changed")
	}
}
