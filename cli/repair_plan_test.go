package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kafsck/internal/fixture"
	"kafsck/repair"
)

// offered are the kinds of actions that answer what cases.json offers; cases without a word have a
// plan without an action. A "?" marks an action that waits for a word.
var offered = map[string]string{
	"BR-01a": "rewrite-epochs", "BR-01b": "rewrite-epochs", "BR-01c": "rewrite-epochs", "BR-01d": "rewrite-epochs",
	"BR-05a": "rewrite-epochs", "BR-05b": "rewrite-epochs", "BR-05c": "rewrite-epochs", "BR-06": "rewrite-epochs", "BR-08": "rewrite-epochs",
	"BR-10": "rewrite-epochs remove-file",
	// Cut where its followers cut it anyway, once somebody says so; export comes first.
	"BR-16": "truncate?", "BR-20": "truncate?",
	"BR-23a": "cut-tail", "BR-23b": "cut-tail",
	"BR-25a": "quarantine-segment? quarantine-segment? quarantine-segment?", "BR-25b": "take-from-sibling", "BR-28": "quarantine-segment?", "BR-30": "quarantine-segment?",
	"BR-33a": "cut-tail", "BR-33b": "cut-tail", "BR-34": "rebuild-index rebuild-timeindex", "BR-36": "rebuild-timeindex",
	"BR-37b": "remove-file", "BR-37c": "rebuild-timeindex", "BR-39": "remove-file",
	"BR-41a": "rewrite-checkpoint", "BR-41b": "rewrite-checkpoint", "BR-41c": "rewrite-checkpoint", "BR-41d": "rewrite-checkpoint",
	"BR-43": "fix-checkpoint-line", "BR-44a": "fix-checkpoint-line", "BR-44b": "fix-checkpoint-line", "BR-44c": "fix-checkpoint-line",
	"BR-46a": "fix-checkpoint-line", "BR-46b": "fix-checkpoint-line", "BR-47a": "fix-checkpoint-line", "BR-47c": "fix-checkpoint-line",
	"BR-48a": "rebuild-snapshot", "BR-48b": "rebuild-snapshot", "BR-48c": "rebuild-snapshot", "BR-48d": "rebuild-snapshot", "BR-48e": "rebuild-snapshot",
	"BR-51": "take-from-sibling", "BR-54": "remove-file",
	"BR-56a": "undo-cleaning", "BR-56b": "undo-cleaning", "BR-56c": "finish-cleaning", "BR-56d": "finish-cleaning", "BR-56e": "finish-cleaning",
	"BR-56f": "undo-cleaning", "BR-56g": "undo-cleaning",
	"BR-57a": "split-segment", "BR-57b": "split-segment", "BR-59": "take-from-sibling", "BR-62": "cut-tail",
	"BR-64a": "write-partition-metadata?", "BR-67b": "move-aside?", "BR-90": "fix-checkpoint-line",
	"BR-66a": "move-aside? move-aside?", "BR-67a": "move-aside?", "BR-67c": "move-aside?",
	"BR-69a": "move-aside", "BR-69b": "move-aside", "BR-69c": "move-aside", "BR-69d": "move-aside",
	"BR-70a": "finish-rename", "BR-70b": "finish-rename", "BR-83": "remove-file",
	"BR-86a": "quarantine-segment?", "BR-87": "cut-tail cut-tail cut-tail remove-file", "BR-91": "rebuild-index rebuild-timeindex",
}

// planBeside are further actions, for what a case's recipe brings about beside its damage.
var planBeside = map[string][]string{
	"BR-06": {"rebuild-timeindex"}, "BR-26a": {"rebuild-timeindex"}, "BR-50b": {"rebuild-txnindex"}, "BR-47a": {"fix-checkpoint-line"}, "BR-47c": {"fix-checkpoint-line"},
	"BR-56c": {"remove-file"}, "BR-56d": {"remove-file"}, "BR-56e": {"remove-file"}, "BR-66b": {"move-aside?"}, "BR-81": {"rewrite-epochs"}, "BR-88b": {"remove-file"},
}

// TestPlannedCases plans every damaged directory: the actions are those that were written down for it,
// and each plan is read back as it was made.
func TestPlannedCases(t *testing.T) {
	t.Parallel()
	dir := fixture.Unpack(t, "cases")
	cases := damagedCases(t, dir)
	if testing.Short() {
		cases = sampled(cases, 7)
	}
	for _, c := range cases {
		if strings.HasPrefix(c.ID, "BR-76") {
			continue
		}
		args := []string{"repair", "plan", "--json", "--all", filepath.Join(dir, c.ID)}
		if c.Leader != "" {
			args = append(args, "--leader", c.Leader)
		}
		code, out, errs := kafsck(args...)
		if errs != "" {
			t.Errorf("%s: %s", c.ID, errs)
		}
		var p *repair.Plan
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, `{"type":"repair-plan"`) {
				var err error
				if p, err = repair.Decode([]byte(line)); err != nil {
					t.Errorf("%s: %v", c.ID, err)
				}
			}
		}
		if p == nil {
			t.Errorf("%s: no plan", c.ID)
			continue
		}
		want := strings.Fields(offered[c.ID])
		var extra []string
		for i := range p.Actions {
			a := &p.Actions[i]
			kind := string(a.Kind)
			if a.Confirm {
				kind += "?"
			}
			if at := slices.Index(want, kind); at >= 0 {
				want = slices.Delete(want, at, at+1)
			} else if !slices.Contains(planBeside[c.ID], kind) {
				extra = append(extra, kind)
			}
			if len(a.Findings) == 0 || a.Undo == "" {
				t.Errorf("%s: %s answers no finding, or has no way back", c.ID, a.ID)
			}
		}
		if len(want) > 0 || len(extra) > 0 {
			t.Errorf("%s (%s): not planned: %v; planned without being offered: %v", c.ID, c.Situation, want, extra)
		}
		if (code == 1) != (len(p.Actions) > 0 || len(p.Left) > 0) {
			t.Errorf("%s: exit code %d with %d actions and %d findings left", c.ID, code, len(p.Actions), len(p.Left))
		}
		for _, l := range p.Left {
			if l.Why == "" || l.Next == "" {
				t.Errorf("%s: %s is left without a reason or a way on: %+v", c.ID, l.Code, l)
			}
		}
		raw, _ := json.Marshal(p)
		for _, never := range []string{`"file":"quorum-state"`, `quorum-state","text"`} {
			if strings.Contains(string(raw), never) {
				t.Errorf("%s: an action on quorum-state", c.ID)
			}
		}
	}
}

// TestPlanReads: what a plan says of the bytes that the next start reads is what predict start says of the
// result.
func TestPlanReads(t *testing.T) {
	t.Parallel()
	dir := fixture.Unpack(t, "cases")
	work := t.TempDir()
	plan, out := filepath.Join(work, "plan.json"), filepath.Join(work, "out")
	if code, _, errs := kafsck("repair", "plan", filepath.Join(dir, "BR-25b"), "--out", plan); code != 1 {
		t.Fatal(errs)
	}
	if code, _, errs := kafsck("repair", "apply", plan, "--out", out); code != 0 {
		t.Fatal(errs)
	}
	b, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	p, err := repair.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	_, text, errs := kafsck("predict", "start", "--json", out)
	if errs != "" {
		t.Fatal(errs)
	}
	read := int64(0)
	for line := range strings.Lines(text) {
		var l struct {
			Type      string
			ScanBytes int64
		}
		if json.Unmarshal([]byte(line), &l) == nil && l.Type == "predicted-start" {
			read += l.ScanBytes
		}
	}
	if r := p.Actions[0].Reads; len(p.Actions) != 1 || r == nil || r.Bytes+r.Others != read || read == 0 {
		t.Errorf("planned %+v, predicted %d bytes", r, read)
	}
}

// TestPlanHealthy: sound recordings call for no repair.
func TestPlanHealthy(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"base", "compaction", "transactions", "tiered", "internal-topics"} {
		dir := fixture.Unpack(t, name)
		stages, err := filepath.Glob(filepath.Join(dir, "*", "broker-*"))
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, b := range stages {
			stage := filepath.Dir(b)
			if seen[stage] {
				continue
			}
			seen[stage] = true
			if code, out, errs := kafsck("repair", "plan", stage); code != 0 || errs != "" {
				t.Errorf("%s: exit code %d\n%s%s", stage, code, out, errs)
			}
		}
	}
}
