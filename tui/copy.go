package tui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"kafsck/internal/visible"
)

// maxCopy bounds the clipboard: terminals give up on more (xterm, hterm: 100,000
// characters of base64), and a half copied row is worse than none.
const maxCopy = 74_000

// copyFrom puts something of a screen into the clipboard.
func (a *app) copyFrom(e *entry, kind copyKind) {
	c, ok := e.screen.(copier)
	if !ok {
		a.say(levelOK, "this view has nothing to copy")
		return
	}
	text, err := c.copyText(kind)
	if err == nil && text == "" {
		err = errNothingToCopy
	}
	if err != nil {
		a.say(levelWarning, err.Error())
		return
	}
	a.copyOut(text, string(kind))
}

// copyOut hands text to the terminal's clipboard (OSC 52). Whether the terminal takes
// it cannot be known.
func (a *app) copyOut(text, what string) {
	if text == "" {
		a.say(levelWarning, errNothingToCopy.Error())
		return
	}
	if len(text) > maxCopy {
		a.say(levelWarning, fmt.Sprintf("%s is too much for a terminal's clipboard; w saves it", humanBytes(int64(len(text)))))
		return
	}
	a.say(levelOK, fmt.Sprintf("%s sent to the terminal's clipboard (%s)", what, countOf(int64(len(text)), "byte", "bytes")))
	out := a.opt.Out
	if out == nil {
		return
	}
	a.pending = append(a.pending, func() tea.Msg {
		// One write, so that it cannot fall into the middle of a frame. The text is base64.
		_, _ = io.WriteString(out, ansi.SetSystemClipboard(text))
		return nil
	})
}

// shellWords is a path as it can be pasted into a shell.
func shellWords(words ...string) string { return visible.Command(words...) }

// jsonLine is v as one line of JSON; what cannot be marshalled is said instead.
func jsonLine(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return escape(err.Error())
	}
	return string(visibleJSON(data))
}

// visibleJSON writes every character of JSON that cannot be seen, bidi marks among them, as
// \u escape: the value is the same, and where it is pasted nothing hides in it. Outside of
// strings JSON has none of them.
func visibleJSON(data []byte) []byte {
	hidden := func(r rune) bool { return r >= 0x7f && !strconv.IsPrint(r) }
	if bytes.IndexFunc(data, hidden) < 0 {
		return data
	}
	out := make([]byte, 0, len(data)+16)
	for _, r := range string(data) {
		switch {
		case !hidden(r):
			out = utf8.AppendRune(out, r)
		case r < 0x10000:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		}
	}
	return out
}
