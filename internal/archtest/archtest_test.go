package archtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLayout holds this module against the table.
func TestLayout(t *testing.T) {
	tree, err := readTree(absolute(t, "../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range product.check(tree) {
		t.Error(line)
	}
}

// TestViolationsAreFound runs the same check over a small module in which
// every rule is broken. Its want.txt names each violation once.
func TestViolationsAreFound(t *testing.T) {
	tree, err := readTree(absolute(t, "testdata/broken"))
	if err != nil {
		t.Fatal(err)
	}
	broken := rules{
		Layers: [][]string{{"."}, {"top", "neighbour"}, {"middle"}, {"bottom", "writer", "support", "onlytests", "missing"}},
		Imports: map[string][]string{
			".":         {"top"},
			"top":       {"middle", "bottom", "missing"},
			"neighbour": {},
			"middle":    {"bottom"},
			"bottom":    {},
			"writer":    {},
			"support":   {},
			"onlytests": {},
			"missing":   {},
		},
		Remedies:    map[string]string{"support": "it is for tests only"},
		Writers:     []string{"writer"},
		TestSupport: []string{"support"},
		Forbidden:   map[string]string{"testing": "put it in a test file", "unsafe": "do without"},
		Libraries:   map[string][]string{"example.org/allowed": {"top"}},
	}
	want, err := os.ReadFile("testdata/broken/want.txt")
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(broken.check(tree), "\n") + "\n"
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}

// TestTableIsHeldDown proves that a wrong table is noticed too.
func TestTableIsHeldDown(t *testing.T) {
	wrong := rules{
		Layers: [][]string{{"a"}, {"b", "c"}},
		Imports: map[string][]string{
			"a": {"b", "gone"},
			"b": {"a", "c"},
			"c": {},
			"d": {},
		},
	}
	want := []string{
		"table: a → gone: gone has no line of its own",
		"table: b → a does not point down",
		"table: b → c does not point down",
		"table: d is in no layer",
	}
	if got := wrong.checkTable(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}
