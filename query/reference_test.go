package query

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kafsck/internal/fixture"
)

var update = flag.Bool("update", false, "write the table of docs/where.md")

const tableBegins = "<!-- made by go test ./query -update -->\n"

// TestReference compares the table of docs/where.md with the code, and compiles every example
// in the document.
func TestReference(t *testing.T) {
	path := filepath.Join(fixture.Root(t), "docs", "where.md")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(b), tableBegins)
	want := before + tableBegins + "\n" + Reference()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		b = []byte(want)
	}
	if !found || string(b) != want {
		t.Error("docs/where.md is not what the code says; go test ./query -update writes it")
	}
	n := 0
	for _, m := range regexp.MustCompile("(?m)^(?:.*--where '([^']*)'.*|\\| `([^`]+)` \\| .*)$").FindAllStringSubmatch(before, -1) {
		text := strings.ReplaceAll(m[1]+m[2], `\|`, `|`)
		if _, err := Compile(text, DumpKinds); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		n++
	}
	if n < 15 {
		t.Errorf("only %d examples were found", n)
	}
}
