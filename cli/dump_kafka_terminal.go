package cli

import (
	"bytes"
	"io"

	"kafsck/internal/visible"
)

// terminalText writes lines of foreign text to a terminal, which must not be driven by what stands
// in them: control characters and invisible ones are escaped.
type terminalText struct {
	w       io.Writer
	line    []byte // the beginning of one whose end was not written yet
	escaped bool   // something was
}

// maxTerminalLine bounds what is kept of a line, in bytes.
const maxTerminalLine = 64 << 10

func (t *terminalText) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			t.line = append(t.line, p...)
			if len(t.line) < maxTerminalLine {
				return n, nil
			}
			whole := visible.WholeRunes(t.line)
			rest := bytes.Clone(t.line[len(whole):])
			err := t.show(whole, "")
			t.line = append(t.line[:0], rest...)
			return n, err
		}
		t.line = append(t.line, p[:end]...)
		p = p[end+1:]
		err := t.show(t.line, "\n")
		t.line = t.line[:0]
		if err != nil {
			return n - len(p), err
		}
	}
	return n, nil
}

func (t *terminalText) show(line []byte, end string) error {
	text := visible.Escape(string(line))
	t.escaped = t.escaped || len(text) != len(line) // an escape is longer
	_, err := io.WriteString(t.w, text+end)
	return err
}

// Flush writes what has no end of line.
func (t *terminalText) Flush() error {
	err := t.show(t.line, "")
	t.line = nil
	return err
}
