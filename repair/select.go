package repair

import (
	"fmt"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Carried reports whether the action is carried out: it needs no confirmation, or has it.
func (a *Action) Carried() bool { return !a.Confirm || a.Confirmed }

// Carried are the actions that are carried out, in the plan's order.
func (p *Plan) Carried() iter.Seq[*Action] {
	return func(yield func(*Action) bool) {
		for i := range p.Actions {
			if a := &p.Actions[i]; a.Carried() && !yield(a) {
				return
			}
		}
	}
}

// Unconfirmed are the actions that wait for a word.
func (p *Plan) Unconfirmed() []*Action {
	var out []*Action
	for i := range p.Actions {
		if a := &p.Actions[i]; !a.Carried() {
			out = append(out, a)
		}
	}
	return out
}

// On is where a file of the root lies on this machine: files of a partition directory are named
// with the directory, which is the root itself.
func (r *Root) On(file string) string {
	if r.Partition {
		_, rest, _ := strings.Cut(file, "/")
		file = rest
	}
	return filepath.Join(r.Path, filepath.FromSlash(path.Clean(file)))
}

// Unnamed says that a plan has no action of a name.
type Unnamed struct{ Name, Has string }

func (u *Unnamed) Error() string {
	return fmt.Sprintf("%s is neither the id nor the kind of an action of this plan (it has %s)", u.Name, u.Has)
}

// Select keeps the actions that only names, by ID or kind (all when it is empty), without those
// that skip names. What only names is confirmed by that. An action that needs another brings it
// along, or goes with it. A name that is in no action is an error. Promises and findings left
// stay as they were made: each promise names the actions that it rests on.
func (p *Plan) Select(only, skip []string) error {
	named := func(a *Action, names []string) bool {
		return slices.Contains(names, a.ID) || slices.Contains(names, string(a.Kind))
	}
	for _, name := range slices.Concat(only, skip) {
		if !slices.ContainsFunc(p.Actions, func(a Action) bool { return a.ID == name || string(a.Kind) == name }) {
			return &Unnamed{Name: name, Has: p.names()}
		}
	}
	keep := map[string]bool{}
	for i := range p.Actions {
		a := &p.Actions[i]
		keep[a.ID] = len(only) == 0 || named(a, only)
		if a.Confirm && len(only) > 0 && named(a, only) && !named(a, skip) {
			a.Confirmed = true
		}
	}
	for changed := true; changed; { // what is needed comes along
		changed = false
		for i := range p.Actions {
			if a := &p.Actions[i]; keep[a.ID] {
				for _, id := range a.After {
					if !keep[id] {
						keep[id], changed = true, true
					}
				}
			}
		}
	}
	for i := range p.Actions {
		if a := &p.Actions[i]; named(a, skip) {
			keep[a.ID] = false
		}
	}
	for changed := true; changed; { // what needs something that is left out goes
		changed = false
		for i := range p.Actions {
			a := &p.Actions[i]
			if keep[a.ID] && slices.ContainsFunc(a.After, func(id string) bool { return !keep[id] }) {
				keep[a.ID], changed = false, true
			}
		}
	}
	for i := range p.Actions { // an alternative that was not chosen does not hold up the rest
		a := &p.Actions[i]
		if keep[a.ID] && a.Confirmed {
			for _, id := range a.After {
				p.confirm(id)
			}
		}
	}
	p.Actions = slices.DeleteFunc(p.Actions, func(a Action) bool { return !keep[a.ID] })
	return nil
}

// Confirm confirms the actions with these IDs.
func (p *Plan) Confirm(ids ...string) error {
	for _, id := range ids {
		if !p.confirm(id) {
			return &Unnamed{Name: id, Has: p.names()}
		}
	}
	return nil
}

func (p *Plan) confirm(id string) bool {
	for i := range p.Actions {
		if a := &p.Actions[i]; a.ID == id {
			a.Confirmed = a.Confirm
			return true
		}
	}
	return false
}

// Overtaken is an action that has nothing left to work on.
type Overtaken struct {
	ID  string
	By  string // the action that takes the whole directory out
	Dir string
}

// DropOvertaken takes out the actions that work only inside a directory which another one, carried out,
// removes, and what was promised of it. An action that one of the others needs stays.
func (p *Plan) DropOvertaken() (dropped []Overtaken) {
	inputs := map[place]bool{}
	for _, in := range p.Inputs {
		inputs[place{in.Root, in.File}] = true
	}
	for g := range p.Carried() {
		for _, e := range g.Edits {
			if e.Op != Remove || inputs[place{g.Root, e.File}] {
				continue
			}
			inside := func(a *Action) bool {
				return a != g && a.Root == g.Root && len(a.Edits) > 0 && !slices.ContainsFunc(a.Edits, func(x Edit) bool {
					return !below(x.File, e.File) || x.Op == Rename && !below(x.To, e.File)
				})
			}
			over := map[string]bool{}
			for i := range p.Actions {
				over[p.Actions[i].ID] = inside(&p.Actions[i])
			}
			for changed := true; changed; {
				changed = false
				for i := range p.Actions {
					if a := &p.Actions[i]; !over[a.ID] {
						for _, id := range a.After {
							changed = changed || over[id]
							over[id] = false
						}
					}
				}
			}
			for i := range p.Actions {
				if a := &p.Actions[i]; over[a.ID] {
					dropped = append(dropped, Overtaken{ID: a.ID, By: g.ID, Dir: e.File})
				}
			}
			p.Promises = slices.DeleteFunc(p.Promises, func(x Promise) bool { return x.Root == g.Root && (x.Dir == e.File || below(x.Dir, e.File)) })
		}
	}
	over := func(id string) bool {
		return slices.ContainsFunc(dropped, func(d Overtaken) bool { return d.ID == id })
	}
	p.Actions = slices.DeleteFunc(p.Actions, func(a Action) bool { return over(a.ID) })
	for i := range p.Promises {
		p.Promises[i].Actions = slices.DeleteFunc(p.Promises[i].Actions, over)
	}
	return dropped
}

// names lists what can be selected.
func (p *Plan) names() string {
	var out []string
	for i := range p.Actions {
		if a := &p.Actions[i]; len(out) < 12 {
			out = append(out, a.ID+" "+string(a.Kind))
		}
	}
	if len(out) == 0 {
		return "none"
	}
	if n := len(p.Actions) - len(out); n > 0 {
		out = append(out, fmt.Sprintf("%d more", n))
	}
	return strings.Join(out, ", ")
}
