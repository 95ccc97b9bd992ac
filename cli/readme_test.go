package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeShowsRealOutput: what README.md prints below a command that needs no more than the
// incident of demo --extract is what the command prints; "…" stands for the rest.
func TestReadmeShowsRealOutput(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if code, _, errs := kafsck("demo", "--extract", "unclean-election"); code != 0 {
		t.Fatal(errs)
	}
	n := 0
	for _, m := range regexp.MustCompile("(?s)```\n\\$ kafsck ([^\n]*)\n(.*?)```").FindAllStringSubmatch(string(readme), -1) {
		args := strings.Fields(m[1])
		if args[len(args)-1] != "unclean-election" {
			continue
		}
		n++
		_, out, _ := kafsck(args...)
		want, whole := m[2], true
		if head, ok := strings.CutSuffix(want, "…\n"); ok {
			want, whole = head, false
		}
		if out != want && (whole || !strings.HasPrefix(out, want)) {
			t.Errorf("kafsck %s prints\n%s\nREADME.md has\n%s", m[1], out, m[2])
		}
	}
	if n < 6 {
		t.Errorf("%d commands of README.md were tried", n)
	}
}
