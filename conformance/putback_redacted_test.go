package conformance

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPutBackRefusesRedacted: what stands in a redacted file is no null that could be produced. Of
// the same records with their keys and values the recipe counts all.
func TestPutBackRefusesRedacted(t *testing.T) {
	kafsck := buildKafsck(t)
	stage := filepath.Join(fixturesDir, "unclean-election", "stage-b")
	for _, c := range []struct {
		flag, want string
		fails      bool
	}{
		{"--redact", "was exported with --redact: without keys and values nothing can be put back", true},
		{"--lost", "100 records to send, left out: {}", false},
	} {
		file := filepath.Join(t.TempDir(), "lost.jsonl")
		if code, text := run(kafsck, "export", "--lost", c.flag, "--out", file, stage); code != 0 {
			t.Fatalf("exit code %d: %s", code, text)
		}
		out, err := exec.Command("java", "-Xmx256M", "-XX:TieredStopAtLevel=1", "-cp", classPath(), "java/PutBack.java", file, "--superseded", "skip", "--dry-run").CombinedOutput()
		if (err != nil) != c.fails || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v: %s", c.flag, err, out)
		}
	}
}
