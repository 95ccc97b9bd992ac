package conformance

import (
	"os"
	"strings"
	"sync"
	"testing"
)

// docsFile is docs/tui.md. Below its heading "Screens" stand the captures, each under
// the question that the screen answers; everything above is written by hand.
type docsFile struct {
	name string
	mu   sync.Mutex
	now  map[string]string // captures, for writing
}

const docsHeading = "## Screens\n"

// section is a screen's part of the document.
func (s *browserScreen) section(capture string) string {
	var keys []string
	for _, k := range s.keys {
		keys = append(keys, "`"+strings.ToLower(k[0])+"`")
		if len(k[0]) == 1 {
			keys[len(keys)-1] = "`" + k[0] + "`"
		}
	}
	way := "opens first"
	if len(keys) > 0 {
		way = "from the case: " + strings.Join(keys, " ")
	}
	return "\n**" + strings.Replace(s.asks, ":", ":**", 1) + " (" + way + "; `" + s.on + "`)\n\n```text\n" + capture + "```\n"
}

// check compares the capture in the document with the screen.
func (d *docsFile) check(t *testing.T, x *terminal, s *browserScreen) {
	t.Helper()
	x.resize(docsSize[0], docsSize[1])
	if *updateScreens {
		c := withoutGaps(x.still())
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.now == nil {
			d.now = map[string]string{}
		}
		d.now[s.name] = s.section(c)
		return
	}
	b, err := os.ReadFile(d.name)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := x.becomes(func(screen string) bool { return strings.Contains(string(b), s.section(withoutGaps(screen))) }); !ok {
		t.Errorf("%s does not show this screen as it is now; conformance/screens.sh writes it anew:\n%s", d.name, s.section(withoutGaps(got)))
	}
}

// withoutGaps leaves out the empty lines of a screen.
func withoutGaps(screen string) string {
	var out strings.Builder
	for line := range strings.Lines(screen + "\n") {
		if strings.TrimSpace(line) != "" {
			out.WriteString(line)
		}
	}
	return out.String()
}

// finish writes the document, or sees that it shows nothing else.
func (d *docsFile) finish(t *testing.T) {
	b, err := os.ReadFile(d.name)
	if err != nil {
		t.Error(err)
		return
	}
	head, tail, ok := strings.Cut(string(b), docsHeading)
	if !ok {
		t.Errorf("%s has no heading %q", d.name, docsHeading)
		return
	}
	shown := 0
	for i := range browserScreens {
		if browserScreens[i].asks != "" {
			shown++
		}
	}
	if !*updateScreens {
		if n := strings.Count(tail, "```text\n"); n != shown {
			t.Errorf("%s shows %d screens, want %d", d.name, n, shown)
		}
		return
	}
	if len(d.now) != shown {
		t.Errorf("only %d of %d screens were captured: %s is left as it was", len(d.now), shown, d.name)
		return
	}
	out := head + docsHeading + "\nMade by `conformance/screens.sh` from the recordings in testdata; empty lines are left out.\n"
	for i := range browserScreens {
		out += d.now[browserScreens[i].name]
	}
	if err := os.WriteFile(d.name, []byte(out), 0o644); err != nil {
		t.Error(err)
	}
}
