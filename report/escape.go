package report

import "kafsck/internal/visible"

// Escape makes text safe for a terminal: see visible.Escape.
func Escape(s string) string { return visible.Escape(s) }

// ShellWord quotes a word for a shell: see visible.Word.
func ShellWord(s string) string { return visible.Word(s) }

// Command joins words to a command line that can be pasted into a shell.
func Command(words ...string) string { return visible.Command(words...) }
