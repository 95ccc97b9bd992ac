package outfile

import (
	"os"
	"path/filepath"
	"testing"
)

func TestInside(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"in/deep", "in-2"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	if err := os.Symlink("in/deep", "link"); err != nil {
		t.Skip(err)
	}
	for name, want := range map[string]bool{"in/x": true, "in/deep/x": true, "link/x": true, "in": false, "in-2/x": false, "x": false, "in/../x": false} {
		for _, root := range []string{"in", filepath.Join(dir, "in")} {
			if got, err := Inside(name, root); got != want || err != nil {
				t.Errorf("%s in %s: %v, %v", name, root, got, err)
			}
		}
	}
	if got, err := Inside("in/x", "absent"); got || err != nil {
		t.Error(got, err)
	}
	if _, err := Inside("absent/x", "in"); !os.IsNotExist(err) {
		t.Error(err)
	}
}
