package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kafsck/internal/fixture"
)

// jsonSections is docs/json.md by the type of line that a section is about.
func jsonSections(t *testing.T) map[string]string {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join(fixture.Root(t), "docs", "json.md"))
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, s := range strings.Split(string(doc), "\n### ")[1:] {
		head, body, _ := strings.Cut(s, "\n")
		for _, m := range regexp.MustCompile("`([a-z-]+)`").FindAllStringSubmatch(head, -1) {
			sections[m[1]] = body
		}
	}
	return sections
}
