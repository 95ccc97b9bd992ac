package cli

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"kafsck/internal/logtest"
)

func hostileLog(t *testing.T) string {
	t.Helper()
	name := t.TempDir() + "/00000000000000000000.log"
	b := logtest.Batch{Records: []logtest.Record{{Key: []byte("k\x1b]0;owned\x07"), Value: []byte("\x1b[2J\u202eé\u009b31m")}}}
	if err := os.WriteFile(name, b.Encode(), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestKafkaFormatOnATerminal: records cannot drive it, and stderr says that they are shown in another
// way than kafka-dump-log does; a pipe gets the bytes.
func TestKafkaFormatOnATerminal(t *testing.T) {
	name := hostileLog(t)
	var errs bytes.Buffer
	run := func(out io.Writer) {
		errs.Reset()
		if code := Main([]string{"dump", "--format", "kafka", "--print-data-log", "--files", name}, strings.NewReader(""), out, &errs); code != 0 {
			t.Fatalf("exit code %d: %s", code, errs.String())
		}
	}
	got := string(screen(t, func(terminal *os.File) { run(terminal) }))
	for _, bad := range []string{"\x1b", "\x07", "\u202e", "\u009b"} {
		if strings.Contains(got, bad) {
			t.Errorf("the terminal gets %q: %q", bad, got)
		}
	}
	if !strings.Contains(got, `key: k\x1b]0;owned\x07 payload: \x1b[2J\u202eé\u009b31m`) || !strings.Contains(errs.String(), "on a terminal") {
		t.Errorf("%q, %s", got, errs.String())
	}
	var pipe bytes.Buffer
	if run(&pipe); !strings.Contains(pipe.String(), "key: k\x1b]0;owned\x07 payload: \x1b[2J\u202eé\u009b31m") || errs.Len() > 0 {
		t.Errorf("%q, %s", pipe.String(), errs.String())
	}
}

// TestTerminalText: however the bytes are cut into writes, the text is that of its lines.
func TestTerminalText(t *testing.T) {
	in := "a\x1bé\n\n" + strings.Repeat("é", maxTerminalLine) + "\x00\u202e\nend\x9b"
	want := "a\\x1bé\n\n" + strings.Repeat("é", maxTerminalLine) + "\\x00\\u202e\nend\\x9b"
	for _, size := range []int{1, 2, 3, 1000, len(in)} {
		var out bytes.Buffer
		w := &terminalText{w: &out}
		for b := []byte(in); len(b) > 0; {
			n, err := w.Write(b[:min(size, len(b))])
			if err != nil || n != min(size, len(b)) {
				t.Fatal(n, err)
			}
			b = b[n:]
		}
		if err := w.Flush(); err != nil || out.String() != want || !w.escaped {
			t.Errorf("%d bytes at a time: %v, %d bytes, want %d", size, err, out.Len(), len(want))
		}
	}
}
