package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"kafsck/internal/fixture"
	"kafsck/internal/logtest"
)

// Every field of the lines of txns stands in docs/json.md.
func TestTransactionFieldsAreDocumented(t *testing.T) {
	sections := jsonSections(t)
	const first = "batch pid=1 pepoch=0 txn ; batch pid=2 pepoch=0 txn ; marker commit pid=1 pepoch=0 ts=1700000000000 ; "
	odd := logtest.Dir(t, "broker 1\ntopic a-0 ; segment 0 ; "+first+"marker abort pid=2 pepoch=0 ts=1700009999000 ; batch pid=9 pepoch=0 txn ; damage batch=4 field=crc flip=1 ; batch\n"+
		"topic b-0 ; segment 0 ; batch pid=1 pepoch=0 txn ; marker abort pid=1 pepoch=0 ; batch\n"+
		"broker 2\ntopic a-0 ; segment 0 ; "+first+"batch records=4 ; batch pid=3 pepoch=0 txn ; batch pid=3 pepoch=1 txn\n"+
		"topic b-0 ; segment 0 ; batch pid=1 pepoch=0 txn ; marker commit pid=1 pepoch=0 ; batch\n")
	seen := map[string]bool{}
	for _, path := range []string{odd, filepath.Join(fixture.Unpack(t, "transactions"), "stage1-killed")} {
		_, out, _ := kafsck("txns", "--json", "--all", path)
		for _, l := range lines(t, out) {
			kind := l["type"].(string)
			seen[kind] = true
			var check func(l map[string]any)
			check = func(l map[string]any) {
				for field, v := range l {
					if !strings.Contains(sections[kind], "| `"+field+"` |") && field != "type" && !strings.HasSuffix(field, "Text") {
						t.Errorf("docs/json.md, section %s: no row for `%s` (such as %v)", kind, field, v)
					}
					if m, ok := v.(map[string]any); ok {
						check(m)
					}
					if list, ok := v.([]any); ok {
						for _, x := range list {
							if m, ok := x.(map[string]any); ok {
								check(m)
							}
						}
					}
				}
			}
			check(l)
		}
	}
	for _, kind := range []string{"transaction", "last-stable", "marker-missing", "marker-conflict"} {
		if !seen[kind] {
			t.Errorf("no line of type %s", kind)
		}
	}
}
