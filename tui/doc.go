// Package tui is the terminal browser: an incident that one can walk through, from the
// verdict to the bytes.
//
//	keys ──> key table ──> intents ──┐                      (keys.go)
//	answers of works, size, ticks ───┴─> root ──> screens   (app*.go, screen.go)
//	                                      │ launches works in goroutines (work.go) and
//	                                      │ delivers what they return to {screen, generation};
//	                                      │ what nobody waits for any more is dropped
//	world: the opened case, what is judged so far           (world.go)
//	table: a window over rows, sort, filter, marks          (table*.go)
//
// The first frame is painted before anything is read. No screen ever blocks: whatever
// touches a file is a work. A failed read is delivered as an error and shown as one,
// never as damage and never as nothing.
//
// It is a reader. It shows what the other packages know and the command to type, judges
// nothing that they do not, and writes nothing: saving a table goes through
// Options.Save, which refuses to overwrite and to touch an input.
//
// Foreign text is escaped on its way into a view (escape); what reaches the terminal
// unescaped is our own.
package tui
