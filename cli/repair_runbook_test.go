package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kafsck/internal/fixture"
)

// TestRunbookOutput: what docs/repair.md shows is what repair-apply.txtar proves.
func TestRunbookOutput(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(fixture.Root(t), "docs", "repair.md"))
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("testdata/script/repair-apply.txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, files, _ := strings.Cut(string(script), "\n-- want/check --\n")
	files = "check --\n" + files
	shown := 0
	for section := range strings.SplitSeq(files, "\n-- want/") {
		name, want, _ := strings.Cut(section, " --\n")
		if !strings.Contains(string(doc), "\n"+strings.TrimSuffix(want, "\n")+"\n```") {
			t.Errorf("docs/repair.md does not show what %s proves:\n%s", name, want)
		}
		shown++
	}
	if shown != 6 {
		t.Error(shown, "sections")
	}
}
