package tui

import (
	"context"
	"fmt"
	"strings"
)

// entry is an open screen: where answers are addressed to.
type entry struct {
	id     int
	gen    int // of the works whose answers are still wanted
	screen screen
	ctx    context.Context
	cancel context.CancelFunc
	failed string // the last failed read
}

// control is what a screen may ask of the root.
type control struct {
	app *app
	at  *entry
}

// world is what all screens share: the case and what is known of it so far.
func (c *control) world() *world { return c.app.world }

// push opens a screen on top of this one.
func (c *control) push(s screen) { c.app.push(s) }

// replace opens a screen in the place of this one.
func (c *control) replace(s screen) { c.app.replace(s) }

// back closes nothing: it goes to the screen below, and forward comes back.
func (c *control) back() { c.app.move(-1) }

// run runs further work for this screen beside what runs already.
func (c *control) run(w work) { c.app.launch(c.at, w) }

// restart gives up everything that runs for this screen: it is cancelled and its
// answers are dropped. Return or run the new work afterwards.
func (c *control) restart() { c.app.restart(c.at) }

// say puts a message into the status line, until the next key.
func (c *control) say(format string, args ...any) { c.app.say(levelOK, fmt.Sprintf(format, args...)) }

// warn is say for what did not work.
func (c *control) warn(format string, args ...any) {
	c.app.say(levelWarning, fmt.Sprintf(format, args...))
}

// ask reads a line of text in the status line and hands it to then, unless the user
// gives up.
func (c *control) ask(prompt, text string, then func(answer string, ctl *control) work) {
	c.app.line = newLine(lineAsk, prompt, text)
	c.app.line.then = func(answer string) work { return then(answer, c) }
	c.app.line.at = c.at
}

// show lays text over the screen until a key is pressed. Lines are raw.
func (c *control) show(title string, lines []string) {
	c.app.over = &overlay{title: title, lines: lines, copyText: escape(strings.Join(lines, "\n"))}
}

// changed tells all other screens that what they share has changed.
func (c *control) changed() { c.app.changed(c.at) }
