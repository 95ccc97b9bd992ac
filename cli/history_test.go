package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"kafsck/internal/fixture"
)

// Every field of the lines of history stands in docs/json.md.
func TestHistoryFieldsAreDocumented(t *testing.T) {
	sections := jsonSections(t)
	seen := map[string]bool{}
	_, out, _ := kafsck("history", "--json", "--all", filepath.Join(fixture.Unpack(t, "unclean-election"), "stage-b"))
	for _, l := range lines(t, out) {
		kind := l["type"].(string)
		seen[kind] = true
		objects := []map[string]any{l}
		if list, ok := l["losses"].([]any); ok {
			for _, x := range list {
				objects = append(objects, x.(map[string]any))
			}
		}
		for _, o := range objects {
			for field, v := range o {
				if field != "type" && !strings.HasSuffix(field, "Text") && !strings.Contains(sections[kind], "| `"+field+"` |") {
					t.Errorf("docs/json.md, section %s: no row for `%s` (such as %v)", kind, field, v)
				}
			}
		}
	}
	for _, kind := range []string{"metadata-copy", "metadata-history", "leadership", "metadata-event", "unclean-election", "churn", "broker-history", "timeline", "note"} {
		if !seen[kind] {
			t.Errorf("no line of type %s", kind)
		}
	}
}
