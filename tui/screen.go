package tui

import "io"

// screen is one view. All methods but those of the works that it returns are called
// from one goroutine; none may block or read a file.
type screen interface {
	// crumb names the screen in the breadcrumbs; raw text, the root escapes it.
	crumb() string
	// command is the kafsck command for this view, complete and quoted.
	command() string
	// start returns the first work, nil if there is none. Called once, when it opens, and
	// again when the user asks for it to be read again.
	start() work
	// handle takes an intent: a navigation key or one of bindings().
	handle(in intent, ctl *control) work
	// deliver takes the result of a work, an error like any other.
	deliver(v any, ctl *control) work
	// view draws the screen in at most h lines of at most w cells. It changes nothing that
	// can be seen.
	view(w, h int, st *styles) string
	// bindings are the screen's own keys. Help and dispatch are made from the same list.
	bindings() []binding
}

// What a screen may also be. table has most of it, for screens that embed one.
type (
	// filterable takes what is typed after "/", at every key.
	filterable interface {
		filter() string
		setFilter(text string, ctl *control) (work, error)
	}
	// commander has ":" commands of its own, besides the global ones.
	commander interface{ commands() []command }
	// copier gives the text for the clipboard; "" where there is nothing.
	copier interface {
		copyText(what copyKind) (string, error)
	}
	// saver returns a function that writes the table, which runs in the background on what
	// there is now; format is "csv" or "json".
	saver interface {
		save(format string) (func(w io.Writer) error, error)
	}
	// sortable can be sorted by the name of a column.
	sortable interface {
		columnNames() []string
		sortByName(name string, ctl *control) (work, error)
	}
	// opener gives the keys that the status line shows first.
	opener interface{ opens() []keyHint }
	// tableHider has a table that is not always shown.
	tableHider interface{ tableHidden() bool }
	// positioned says where one is, at the right of the status line ("12 of 345").
	positioned interface{ position() string }
	// refresher is told that what all screens share has changed.
	refresher interface{ refresh(ctl *control) work }
	// restarter is told that all its works were given up, and may return one to go on with.
	restarter interface{ restarted() work }
	// closer is told that the screen was closed; its works are cancelled already.
	closer interface{ close() }
)

// copyKind is what is copied.
type copyKind string

const (
	copyCell copyKind = "cell"
	copyRow  copyKind = "row"
	copyPath copyKind = "path"
	copyJSON copyKind = "JSON"
)
