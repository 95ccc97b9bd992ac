package tui

import "slices"

// intent is what a key means. Screens know intents, never keys.
type intent string

// The intents that every screen may get.
const (
	up       intent = "up"
	down     intent = "down"
	left     intent = "left"
	right    intent = "right"
	pageUp   intent = "page-up"
	pageDown intent = "page-down"
	halfUp   intent = "half-up"
	halfDown intent = "half-down"
	top      intent = "top"
	bottom   intent = "bottom"
	open     intent = "open"
	nextPane intent = "next-pane"
	prevPane intent = "previous-pane"
	next     intent = "next"
	previous intent = "previous"
	sortBy   intent = "sort"
	faults   intent = "faults"
	mark     intent = "mark"
	nextMark intent = "next-mark"
)

// The intents that the root keeps.
const (
	goBack      intent = "back"
	goForward   intent = "forward"
	openFilter  intent = "filter"
	openCommand intent = "command"
	openHelp    intent = "help"
	showCommand intent = "show-command"
	openCopy    intent = "copy"
	openSave    intent = "save"
	again       intent = "again"
	stopWork    intent = "stop"
	openFinds   intent = "findings"
	openCase    intent = "case"
	suspend     intent = "suspend"
	quit        intent = "quit"
)

// binding is a line of the key table.
type binding struct {
	keys []string // as bubbletea names them
	in   intent
	help string
	hint string // for the status line, where help is too long for it; "": help to its first comma
	// root: the root acts on it itself.
	root bool
}

// globalKeys hold on every screen. A screen's own bindings may not take one of them: a
// test compares.
var globalKeys = []binding{
	{keys: []string{"up", "k"}, in: up, help: "up"},
	{keys: []string{"down", "j"}, in: down, help: "down"},
	{keys: []string{"left", "h"}, in: left, help: "column to the left"},
	{keys: []string{"right", "l"}, in: right, help: "column to the right"},
	{keys: []string{"pgup", "ctrl+b"}, in: pageUp, help: "one page up"},
	{keys: []string{"pgdown", "ctrl+f"}, in: pageDown, help: "one page down"},
	{keys: []string{"ctrl+u"}, in: halfUp, help: "half a page up"},
	{keys: []string{"ctrl+d"}, in: halfDown, help: "half a page down"},
	{keys: []string{"home", "g"}, in: top, help: "to the first"},
	{keys: []string{"end", "G"}, in: bottom, help: "to the last"},
	{keys: []string{"enter"}, in: open, help: "open what is selected"},
	{keys: []string{"tab"}, in: nextPane, help: "next part of the screen"},
	{keys: []string{"shift+tab"}, in: prevPane, help: "previous part of the screen"},
	{keys: []string{"n"}, in: next, help: "next fault or difference"},
	{keys: []string{"N"}, in: previous, help: "previous fault or difference"},
	{keys: []string{"s"}, in: sortBy, help: "sort by the selected column; again: the other way; again: as read"},
	{keys: []string{"z"}, in: faults, help: "only faults, or all again"},
	{keys: []string{" ", "m"}, in: mark, help: "mark the row, or take the mark away"},
	{keys: []string{"'"}, in: nextMark, help: "to the next marked row"},

	{keys: []string{"/"}, in: openFilter, help: "filter: words, !word to leave out, column>=number, =condition", root: true},
	{keys: []string{":"}, in: openCommand, help: "command line; tab completes", root: true},
	{keys: []string{"?"}, in: openHelp, help: "this help", root: true},
	{keys: []string{"esc", "[", "alt+left"}, in: goBack, help: "back; esc takes a filter away first", root: true},
	{keys: []string{"]", "alt+right"}, in: goForward, help: "forward again", root: true},
	{keys: []string{"O"}, in: openCase, help: "the case: brokers and partitions", root: true},
	{keys: []string{"F"}, in: openFinds, help: "all findings", root: true},
	{keys: []string{"x"}, in: showCommand, help: "the kafsck command for this view", hint: "as a command", root: true},
	{keys: []string{"y"}, in: openCopy, help: "copy: then c cell, r row, p path, j JSON", root: true},
	{keys: []string{"w"}, in: openSave, help: "save the table as NAME.csv or NAME.json", root: true},
	{keys: []string{"R"}, in: again, help: "read this view again", root: true},
	{keys: []string{"ctrl+c"}, in: stopWork, help: "stop what is being read; with nothing running: quit", root: true},
	{keys: []string{"ctrl+z"}, in: suspend, help: "suspend to the shell", root: true},
	{keys: []string{"q"}, in: quit, help: "quit", root: true},
}

// idle says why a key that holds everywhere does nothing on a screen; "" if it does
// something. One without a table has nothing to sort or to mark.
func idle(s screen, in intent) (why string) {
	_, rows := s.(interface {
		handleTable(in intent, ctl *control) (work, bool)
	})
	_, filters := s.(filterable)
	_, saves := s.(saver)
	if t, ok := s.(tableHider); ok && t.tableHidden() && slices.Contains([]intent{sortBy, faults, mark, nextMark, openFilter, openSave}, in) {
		return "of the table, which tab shows"
	}
	switch {
	case in == sortBy && !rows:
		return "this view has no columns to sort by"
	case in == faults && !rows:
		return "this view shows all; n goes to the next fault or difference"
	case (in == mark || in == nextMark) && !rows:
		return "this view has no rows to mark"
	case in == openFilter && !filters:
		return "this view has nothing to filter"
	case in == openSave && !saves:
		return "this view has no table to save"
	}
	return ""
}

// lookUp finds the binding of a key: the screen's own first.
func lookUp(key string, own []binding) (binding, bool) {
	for _, list := range [][]binding{own, globalKeys} {
		for _, b := range list {
			if slices.Contains(b.keys, key) {
				return b, true
			}
		}
	}
	return binding{}, false
}

// keyName is what people call a key.
func keyName(key string) string {
	switch key {
	case " ":
		return "space"
	case "up":
		return "↑"
	case "down":
		return "↓"
	case "left":
		return "←"
	case "right":
		return "→"
	}
	return key
}

// step is how many lines an intent moves in a list of which page lines are visible; ok false:
// it does not move by lines.
func step(in intent, page int) (n int, ok bool) {
	switch in {
	case up:
		return -1, true
	case down:
		return 1, true
	case pageUp:
		return -page, true
	case pageDown:
		return page, true
	case halfUp:
		return -max(page/2, 1), true
	case halfDown:
		return max(page/2, 1), true
	}
	return 0, false
}
