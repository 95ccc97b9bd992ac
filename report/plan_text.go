package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"kafsck/repair"
)

// RepairPlan prints a plan.
type RepairPlan struct {
	Plan  *repair.Plan
	Scope *Scope
	// Out is the file that the plan was written to, "" none.
	Out   string
	Paths *Paths
	// Notes counts findings that are notes, of which only a plan with All has actions.
	Notes int
	All   bool
	Level Level // batches or records
	// Skipped: actions were left out by their names.
	Skipped bool
	Forks   PlanForks
	// Asked are the flags that chose what is planned, to be typed again.
	Asked []string
	// Undecoded: some batches were too large to decode their records.
	Undecoded bool
}

// maxPlanned and maxLeft are how many actions of a sort, and findings that are left, are printed.
const (
	maxPlanned = 20
	maxLeft    = 8
)

// RepairPlan writes the plan as one line.
func (j *JSON) RepairPlan(p *repair.Plan) { j.Line(p) }

// Print writes the verdict, each action, what is left, and the next command.
func (t *RepairPlan) Print(w io.Writer) error {
	p := t.Plan
	out := append(releaseDoubts(p.Kafka, p.KafkaDoubts), t.verdict()...)
	out = append(out, t.actions()...)
	if len(p.Left) > 0 {
		out = append(append(out, "", "Left as it is:"), leftLines(p)...)
	}
	out = append(append(out, ""), t.next()...)
	decoded := "; records inside batches were not decoded (--level records)"
	switch {
	case t.Undecoded:
		decoded = "; records decoded except those of batches that are too large"
	case t.Level == LevelRecords:
		decoded = "; every record decoded"
		unread := func(code string) bool {
			return code == "batch-crc-mismatch" || code == "inner-record-invalid" || code == "lz4-header-checksum-wrong"
		}
		if slices.ContainsFunc(p.Actions, func(a repair.Action) bool { return slices.ContainsFunc(a.Findings, unread) }) ||
			slices.ContainsFunc(p.Left, func(l repair.Left) bool { return unread(l.Code) }) {
			decoded += " except those of batches named above"
		}
	}
	out = append(out, indented("", t.Scope.checked()+decoded)...)
	_, err := io.WriteString(w, strings.Join(out, "\n")+"\n")
	return err
}

// leftLines are the findings that no action of a plan mends, and what to do instead.
func leftLines(p *repair.Plan) (out []string) {
	for i, l := range p.Left {
		if i == maxLeft {
			return append(out, fmt.Sprintf("  … and %d more, all in --json", len(p.Left)-i))
		}
		where := strings.TrimSpace(planRoot(p, l.Root) + " " + cmp.Or(l.File, l.Partition))
		if where != "" {
			where = " (" + Escape(where) + ")"
		}
		out = append(out, indented("  ", l.Code+where+": "+Escape(l.Why)+".")...)
		if l.Next != "" {
			out = append(out, indented("    -> ", Escape(l.Next))...)
		}
	}
	return out
}

func (t *RepairPlan) verdict() []string {
	p := t.Plan
	if len(p.Actions) == 0 {
		head := "nothing here calls for a repair"
		label := "NOTHING TO DO  "
		switch {
		case t.Skipped:
			head = "every action was left out with --skip"
		case len(p.Left) > 0:
			label = "NO REPAIR  "
			head = count(len(p.Left), "finding", "findings") + " that no repair of files mends; what to do instead follows"
		}
		out := indented(label, head)
		if t.Notes > 0 && !t.All {
			out = append(out, indented("  ", fmt.Sprintf("%s of what a broker leaves: its next start mends it, or it does no harm; --all plans that too.", count(t.Notes, "note", "notes")))...)
		}
		return out
	}
	// The same offsets that go from several replicas of a partition are counted once.
	type span struct {
		partition string
		from, to  int64
	}
	seen := map[span]bool{}
	records, known, held := int64(0), true, map[int32]bool{}
	first, unheld := true, false
	for i := range p.Actions {
		for _, l := range p.Actions[i].Loses {
			at := span{p.Actions[i].Partition, l.From, l.To}
			if seen[at] {
				continue
			}
			seen[at] = true
			if l.Records == nil {
				known = false
				records += l.To - l.From
			} else {
				records += *l.Records
			}
			now := map[int32]bool{}
			for _, id := range l.HeldBy {
				if first || held[id] {
					now[id] = true
				}
			}
			held, first = now, false
			unheld = unheld || len(l.HeldBy) == 0
		}
	}
	head := count(len(p.Actions), "action", "actions")
	switch {
	case first && slices.ContainsFunc(p.Actions, func(a repair.Action) bool { return a.Kind == repair.CutTail }):
		head += ", no whole record is lost" // of a torn batch some were lost before
	case first:
		head += ", no record is lost"
	default:
		head += ", " + map[bool]string{true: "", false: "up to "}[known] + count(int(records), "record goes", "records go")
		switch {
		case len(held) > 0:
			head += ", held by " + brokerList(held)
		case unheld:
			head += "; no other copy here holds all of them"
		default:
			head += ", all held by other copies"
		}
	}
	out := indented("PLAN  ", head)
	if list := p.Unconfirmed(); len(list) > 0 {
		word, them, id := "waits", "it is", Escape(list[0].ID)
		if len(list) > 1 {
			word, them, id = "wait", "each is", "ID"
		}
		who := fmt.Sprintf("%d of them (%s)", len(list), actionIDs(list))
		switch {
		case len(p.Actions) == 1:
			who = "It"
		case len(list) == len(p.Actions):
			who = "All of them (" + actionIDs(list) + ")"
		}
		out = append(out, indented("  ", fmt.Sprintf("%s %s for your word: %s done only with --confirm %s at kafsck repair apply, with --only %s here, or with \"confirmed\": true in the plan.",
			who, word, them, id, id))...)
	}
	return out
}

func brokerList(ids map[int32]bool) string {
	var list []string
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		list = append(list, fmt.Sprint(id))
	}
	if len(list) == 1 {
		return "broker " + list[0]
	}
	return "brokers " + strings.Join(list, ", ")
}

// planRoot names a root of a plan, "" for none and for the only one of a partition directory.
func planRoot(p *repair.Plan, i *int) string {
	if i == nil || *i < 0 || *i >= len(p.Roots) || p.Roots[*i].Name == "." {
		return ""
	}
	return p.Roots[*i].Name
}

func (t *RepairPlan) next() []string {
	out := t.forks()
	if len(t.Plan.Actions) == 0 {
		if t.Out != "" {
			out = append(out, "Written: "+Escape(t.Out)+", a plan without actions, and nothing else.")
		}
		return out
	}
	if t.Plan.KafkaWhy != "" {
		out = append(out, indented("", fmt.Sprintf("Promised is a start of Kafka %s: %s (--kafka names another release).", t.Plan.Kafka, Escape(t.Plan.KafkaWhy)))...)
	}
	if t.Out == "" {
		again := []string{"plan", "--out", "plan.json"}
		if t.All {
			again = append(again, "--all")
		}
		if t.Level == LevelRecords {
			again = append(again, "--level", "records")
		}
		again = append(again, t.Asked...)
		return append(out, "Next: "+t.Paths.Again("repair", again...), "      then review plan.json, and: "+t.apply("plan.json"))
	}
	return append(out, "Written: "+Escape(t.Out)+", and nothing else. Review it; it may be edited.", "Next: "+t.apply(t.Out))
}

// apply is the command that carries the plan out. Where every action waits for a word, it gives one.
func (t *RepairPlan) apply(plan string) string {
	words := []string{"kafsck", "repair", "apply", plan, "--out", "repaired"}
	if list := t.Plan.Unconfirmed(); len(list) > 0 && len(list) == len(t.Plan.Actions) {
		words = append(words, "--confirm", list[0].ID)
	}
	return Command(words...)
}
