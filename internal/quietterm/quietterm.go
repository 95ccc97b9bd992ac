// Package quietterm keeps libraries from asking the terminal questions before
// main has begun.
//
// bubbletea v1 asks for the background colour in an init function (tea_init.go:
// lipgloss.HasDarkBackground, which writes ESC ] 11 ; ? and ESC [ 6 n and waits up
// to five seconds for an answer), in whatever program it is linked into: each verb
// would write escape sequences and wait. It does not ask a terminal called "dumb".
// So this package's init sets TERM=dumb, for every verb: the browser chooses its
// colours without asking, too, since its first frame must not wait for an answer.
//
// The order: packages without a dependency between them are initialised in the
// order of their import paths, each as soon as all that it imports is initialised
// (the language specification, "Package initialization"). This package imports os
// alone. bubbletea imports os/signal, which imports os, and "kafsck/internal/…" sorts
// before "os/signal"; so this init runs first. That must not rest on an argument:
// a test on a pseudo terminal proves it for the program as it is linked.
package quietterm

import "os"

var (
	term    string
	termSet bool
)

func init() {
	term, termSet = os.LookupEnv("TERM")
	os.Setenv("TERM", "dumb")
}

// Term is the terminal's name as the program was given it, "" if it was not.
func Term() string { return term }

// Restore gives TERM its value back, for a verb that takes over the terminal.
func Restore() {
	if termSet {
		os.Setenv("TERM", term)
	} else {
		os.Unsetenv("TERM")
	}
}
