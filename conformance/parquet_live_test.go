//go:build broker

package conformance

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestParquetForOthers lets pyarrow, of the version that is pinned here, read what export writes:
// the rows are the JSON lines, null and empty told apart.
func TestParquetForOthers(t *testing.T) {
	kafsck, dir := buildKafsck(t), t.TempDir()
	python := filepath.Join(dir, "venv", "bin", "python")
	for _, args := range [][]string{{"python3", "-m", "venv", filepath.Join(dir, "venv")}, {python, "-m", "pip", "install", "-q", "pyarrow==26.0.1"}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	for _, stage := range []string{"codecs/stage2-clean", "old-formats/stage5-2.8.2", "transactions/stage1-killed"} {
		path := filepath.Join("../../shared/fixtures", stage)
		parquet, lines := filepath.Join(dir, filepath.Base(stage)+".parquet"), filepath.Join(dir, filepath.Base(stage)+".jsonl")
		for _, out := range []string{parquet, lines} {
			if said, err := exec.Command(kafsck, "export", "-q", "--out", out, path).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", stage, err, said)
			}
		}
		cmd := exec.Command(python, "live/parquet.py", parquet, lines)
		cmd.Stderr = os.Stderr
		if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), "rows equal") {
			t.Errorf("%s: %v\n%s", stage, err, out)
		}
	}
}
