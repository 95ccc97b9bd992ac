package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kafsck/repair"
)

// planned are actions that are told in one block: one, or several of which all is equal but where.
type planned struct {
	list []*repair.Action
	does string // what each does, without names of files where there are several
}

// sort is what no limit hides: a kind, and whether it waits for a word.
func (g *planned) sort() string {
	return fmt.Sprint(g.list[0].Kind, g.list[0].Carried())
}

// blocks puts actions together that say the same of different directories, in the plan's order.
func blocks(p *repair.Plan) []*planned {
	var out []*planned
	at := map[[5]string]*planned{}
	for i := range p.Actions {
		a := &p.Actions[i]
		if a.Confirm { // each is to be weighed by itself
			out = append(out, &planned{[]*repair.Action{a}, a.Does})
			continue
		}
		does := a.Does
		if cut := strings.Index(does, ": "+a.Dir+"/"); a.Dir != "" && cut > 0 {
			does = does[:cut]
		}
		key := [5]string{string(a.Kind), does, a.Why, losesProse(a)}
		for j := range a.Transactions {
			key[3] += a.Transactions[j].Said()
		}
		if a.Committed != nil {
			key[3] += a.Committed.Said()
		}
		if a.Reads != nil {
			key[4] = readsProse(a)
		}
		g := at[key]
		if g == nil {
			g = &planned{does: a.Does}
			at[key] = g
			out = append(out, g)
		} else if does != a.Does {
			g.does = does + ", in each (--json names the files)"
		}
		g.list = append(g.list, a)
	}
	return out
}

// actions are the blocks of the plan's actions. Of many only some are printed, but of each sort at
// least one.
func (t *RepairPlan) actions() []string {
	var out []string
	all := blocks(t.Plan)
	most := maxPlanned
	if len(all) <= maxPlanned+2 {
		most = len(all) // one line more for what is hidden saves nothing
	}
	seen, shown := map[string]bool{}, 0
	var hidden []*repair.Action
	for _, g := range all {
		if shown >= most && seen[g.sort()] {
			hidden = append(hidden, g.list...)
			continue
		}
		seen[g.sort()] = true
		shown++
		out = append(append(out, ""), t.block(g)...)
	}
	if len(hidden) > 0 {
		var kinds []string
		n := map[string]int{}
		for _, a := range hidden {
			if kind := string(a.Kind); n[kind] == 0 {
				kinds = append(kinds, kind)
			}
			n[string(a.Kind)]++
		}
		for i, k := range kinds {
			kinds[i] = comma(n[k]) + " " + k
		}
		out = append(append(out, ""), indented("… and ", count(len(hidden), "action", "actions")+" more of these kinds, all in --json: "+list(kinds))...)
	}
	return out
}

// maxTxnsSaid is how many transactions of an action are printed.
const maxTxnsSaid = 4

// maxDirs is how many directories of a block are named.
const maxDirs = 6

func (t *RepairPlan) block(g *planned) []string {
	a := g.list[0]
	head := fmt.Sprintf("%-3s %s  %s", a.ID, a.Kind, Escape(t.where(a)))
	if !a.Carried() {
		head += "  (needs --confirm " + a.ID + ")"
	}
	if len(g.list) > 1 {
		head = actionIDs(g.list) + "  " + string(a.Kind)
	}
	out := []string{head}
	say := func(label, prose string) {
		out = append(out, indented(fmt.Sprintf("    %-6s", label), Escape(prose))...)
	}
	if len(g.list) > 1 {
		var dirs []string
		for _, x := range g.list {
			if dir := t.where(x); !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
		if n := len(dirs); n > maxDirs+1 {
			dirs = append(dirs[:maxDirs], fmt.Sprintf("%d more", n-maxDirs))
		}
		say("in", list(dirs))
	}
	say("does", g.does)
	say("why", a.Why)
	say("loses", losesProse(a))
	if a.Committed != nil {
		say("hw", a.Committed.Said())
	}
	for i := range a.Transactions {
		if i == maxTxnsSaid && len(a.Transactions) > maxTxnsSaid+1 {
			say("", fmt.Sprintf("… and %d more transactions (--json)", len(a.Transactions)-i))
			break
		}
		say(map[bool]string{true: "txns", false: ""}[i == 0], a.Transactions[i].Said())
	}
	if a.Reads != nil {
		say("start", readsProse(a))
	}
	return out
}

// where names the directory of an action.
func (t *RepairPlan) where(a *repair.Action) string {
	if name := planRoot(t.Plan, &a.Root); name != "" {
		return strings.TrimSuffix(name+"/"+a.Dir, "/")
	}
	return a.Dir
}

// losesProse says which offsets go, and how to go back.
func losesProse(a *repair.Action) string {
	if len(a.Loses) == 0 {
		return "none; " + a.Undo
	}
	var list []string
	for i, l := range a.Loses {
		if i == 3 {
			list = append(list, fmt.Sprintf("%d more ranges", len(a.Loses)-i))
			break
		}
		one := offsets(l.From, l.To)
		if l.Records != nil {
			one += fmt.Sprintf(" (%s)", count(int(*l.Records), "record", "records"))
		}
		if len(l.HeldBy) > 0 {
			held := map[int32]bool{}
			for _, id := range l.HeldBy {
				held[id] = true
			}
			one += " held by " + brokerList(held)
			if l.Note != "" {
				one += " (" + l.Note + ")"
			}
		} else {
			one += " held by no other copy here"
		}
		list = append(list, one)
	}
	return strings.Join(list, "; ") + "; " + a.Undo
}

// readsProse says how much more the next start reads because of an action.
func readsProse(a *repair.Action) string {
	r := a.Reads
	var why []string
	switch {
	case r.Was == nil && r.RecoveryPoint > 0:
		why = append(why, fmt.Sprintf("the recovery point of this log becomes %d (it had none)", r.RecoveryPoint))
	case r.Was != nil && *r.Was != r.RecoveryPoint:
		why = append(why, fmt.Sprintf("the recovery point of this log goes down from %d to %d", *r.Was, r.RecoveryPoint))
	}
	if r.Marker {
		why = append(why, "the marker of a clean shutdown goes")
	}
	before := func(n int64) string {
		if n == 0 {
			return "nothing without this"
		}
		return bytesText(n) + " without this"
	}
	if r.Bytes <= r.BytesBefore && r.Others <= r.OthersBefore {
		return strings.Join(why, ", and ") + "; the next start reads no more for it"
	}
	s := fmt.Sprintf("%s: the next start reads %s of this log (%s)", strings.Join(why, ", and "), bytesText(r.Bytes), before(r.BytesBefore))
	if r.Others != r.OthersBefore {
		s += fmt.Sprintf(", and %s of the other logs beside it (%s)", bytesText(r.Others), before(r.OthersBefore))
	}
	return s
}

// maxIDs is how many runs of ids are printed.
const maxIDs = 12

// actionIDs names actions: "a1–a18", "a1, a3 and a7".
func actionIDs(actions []*repair.Action) string {
	var numbers []int
	for _, a := range actions {
		n, err := strconv.Atoi(strings.TrimPrefix(a.ID, "a"))
		if err != nil || fmt.Sprint("a", n) != a.ID {
			return otherIDs(actions)
		}
		numbers = append(numbers, n)
	}
	slices.SortFunc(numbers, cmp.Compare[int])
	var runs []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		if len(runs) >= maxIDs && j+1 < len(numbers) {
			runs = append(runs, fmt.Sprintf("%d more", len(numbers)-i))
			break
		}
		switch {
		case j == i:
			runs = append(runs, fmt.Sprint("a", numbers[i]))
		case j == i+1:
			runs = append(runs, fmt.Sprint("a", numbers[i]), fmt.Sprint("a", numbers[j]))
		default:
			runs = append(runs, fmt.Sprintf("a%d–a%d", numbers[i], numbers[j]))
		}
		i = j + 1
	}
	return list(runs)
}

// otherIDs are ids that somebody gave by hand.
func otherIDs(all []*repair.Action) string {
	var out []string
	for i, a := range all {
		if i == maxIDs && len(all) > maxIDs+1 {
			out = append(out, fmt.Sprintf("%d more", len(all)-i))
			break
		}
		out = append(out, Escape(a.ID))
	}
	return list(out)
}
