package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func buildKafsck(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kafsck")
	cmd := exec.Command("go", "build", "-o", path, ".")
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building kafsck: %v\n%s", err, out)
	}
	return path
}

// runJSON runs kafsck and returns its JSON lines.
func runJSON(t *testing.T, kafsck string, wantCode int, args ...string) []map[string]any {
	t.Helper()
	cmd := exec.Command(kafsck, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if code := cmd.ProcessState.ExitCode(); code != wantCode {
		t.Errorf("kafsck %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), code, wantCode, out, stderr.Bytes())
	}
	var lines []map[string]any
	for line := range bytes.Lines(out) {
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("kafsck %s: %v: %s", strings.Join(args, " "), err, line)
		}
		lines = append(lines, m)
	}
	return lines
}

// recordsOf are the record lines that kafsck prints.
func recordsOf(t *testing.T, kafsck string, args ...string) (out []map[string]any) {
	t.Helper()
	for _, m := range runJSON(t, kafsck, 0, args...) {
		if m["type"] == "record" {
			out = append(out, m)
		}
	}
	return out
}
