package tui

import (
	"fmt"
	"slices"
	"strings"
)

// command is what can be typed after ":".
type command struct {
	name string
	args string // as help shows them, such as "OFFSET"
	help string
	// complete gives the possible arguments that begin with arg; may be nil.
	complete func(arg string) []string
	// run does it; an error is shown and the line stays open.
	run func(arg string, ctl *control) (work, error)
}

// globalCommands hold on every screen.
func (a *app) globalCommands() []command {
	simple := func(name, help string, do func()) command {
		return command{name: name, help: help, run: func(string, *control) (work, error) { do(); return nil, nil }}
	}
	list := []command{
		simple("quit", "leave", func() { a.leave() }),
		simple("help", "keys and commands", func() { a.openHelp() }),
		simple("back", "the screen before", func() { a.move(-1) }),
		simple("forward", "the screen after", func() { a.move(1) }),
		{name: "theme", args: "dark|light|plain", help: "colours for a dark or a light background, or none",
			complete: oneOf("dark", "light", "plain"),
			run: func(arg string, _ *control) (work, error) {
				st, ok := stylesOf(arg)
				if !ok {
					return nil, fmt.Errorf("want dark, light or plain")
				}
				a.styles = st
				return nil, nil
			}},
	}
	list = append(list, a.releaseCommand())
	if t, ok := a.top().screen.(sortable); ok {
		list = append(list, command{name: "sort", args: "COLUMN", help: "sort by a column; again: the other way; without one: as read",
			complete: func(arg string) []string { return withPrefix(t.columnNames(), arg) },
			run:      func(arg string, ctl *control) (work, error) { return t.sortByName(arg, ctl) }})
	}
	for _, d := range screenCommands() {
		list = append(list, command{name: d.name, args: d.args, help: d.help, complete: d.completeIn(a.world), run: func(arg string, ctl *control) (work, error) {
			s, err := d.open(ctl, arg)
			if err == nil && s != nil {
				a.push(s)
			}
			return nil, err
		}})
	}
	return list
}

// screenCommand opens a screen from anywhere, such as ":findings".
type screenCommand struct {
	name, args, help string
	complete         func(w *world, arg string) []string // may be nil
	open             func(ctl *control, arg string) (screen, error)
}

func (d screenCommand) completeIn(w *world) func(string) []string {
	if d.complete == nil {
		return nil
	}
	return func(arg string) []string { return d.complete(w, arg) }
}

// oneOf completes to fixed words.
func oneOf(words ...string) func(string) []string {
	return func(arg string) []string { return withPrefix(words, arg) }
}

func withPrefix(words []string, prefix string) []string {
	var out []string
	for _, w := range words {
		if strings.HasPrefix(w, prefix) {
			out = append(out, w)
		}
	}
	return out
}

// commandsOf are the commands that hold on a screen: its own first.
func (a *app) commandsOf(s screen) []command {
	var list []command
	if c, ok := s.(commander); ok {
		list = append(list, c.commands()...)
	}
	return append(list, a.globalCommands()...)
}

// completeCommand completes the command line.
func (a *app) completeCommand(text string) []string {
	name, arg, hasArg := strings.Cut(text, " ")
	var out []string
	for _, c := range a.commandsOf(a.top().screen) {
		switch {
		case !hasArg && strings.HasPrefix(c.name, name):
			if c.args != "" {
				out = append(out, c.name+" ")
			} else {
				out = append(out, c.name)
			}
		case hasArg && c.name == name && c.complete != nil:
			for _, v := range c.complete(strings.TrimLeft(arg, " ")) {
				out = append(out, name+" "+v)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// runCommand runs a command line. An unambiguous beginning of a name will do.
func (a *app) runCommand(text string) error {
	name, arg, _ := strings.Cut(strings.TrimSpace(text), " ")
	if name == "" {
		return nil
	}
	e := a.top()
	list := a.commandsOf(e.screen)
	i := slices.IndexFunc(list, func(c command) bool { return c.name == name })
	if i < 0 {
		var near []string
		for k, c := range list {
			if strings.HasPrefix(c.name, name) {
				i = k
				near = append(near, c.name)
			}
		}
		if len(near) > 1 {
			return fmt.Errorf("%s may be %s", name, strings.Join(near, ", "))
		}
	}
	if i < 0 {
		return fmt.Errorf("there is no command %s here; ? lists them", name)
	}
	w, err := list[i].run(strings.TrimSpace(arg), &control{a, e})
	if err != nil {
		return err
	}
	a.launch(e, w)
	return nil
}
