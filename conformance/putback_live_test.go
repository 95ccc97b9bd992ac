//go:build broker

package conformance

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLivePutBack loses 100 acknowledged records by an unclean election, exports them from the
// old leader's copy, puts them back with a Java producer as docs/export.md says, and reads them:
// by a client, and in a copy of the disks.
func TestLivePutBack(t *testing.T) {
	kafsck := buildKafsck(t)
	libs, err := filepath.Abs("target/lab")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	cmd := exec.Command("python3", "live/putback.py", "../../shared/lab", libs, root, "19640")
	cmd.Stderr = os.Stderr
	in, out := startPiped(t, cmd)
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("live/putback.py: %v", err)
		}
	})
	s := &scenario{t: t, root: root, in: in, out: bufio.NewReader(out)}
	s.wait("stage")

	lost := filepath.Join(root, "lost.jsonl")
	stage := filepath.Join(root, "stage")
	// Markers and the rest come from a copy of the disks; the new log is broker 2's.
	runJSON(t, kafsck, 0, "export", "--lost", "--json", "--topic", "orders", "--against", filepath.Join(stage, "broker-2"), "--out", lost, stage)
	want := recordsOf(t, kafsck, "export", "--lost", "--topic", "orders", stage)
	if len(want) != 100 {
		t.Fatalf("%d lost records", len(want))
	}
	for i, r := range want {
		if r["mark"] != "absent" || r["committed"] != "yes" || r["offset"] != float64(60+i) {
			t.Errorf("%v", r)
		}
	}
	s.goOn("put")

	said, err := os.ReadFile(filepath.Join(root, "putback"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(said), "100 records sent and read back, equal to the byte") || !strings.Contains(string(said), "exit code 0") {
		t.Fatalf("PutBack: %s", said)
	}
	readable := s.records("read")
	for value := range s.records("acked.jsonl") {
		if _, ok := readable[value]; !ok {
			t.Errorf("%s was acknowledged and cannot be read", value)
		}
	}
	if len(readable) != 180 {
		t.Errorf("%d values can be read, want 180", len(readable))
	}
	after := recordsOf(t, kafsck, "export", "--offsets", "80..", "--topic", "orders", filepath.Join(root, "after", "broker-2"))
	if d := cmp.Diff(payloads(want), payloads(after)); d != "" {
		t.Errorf("what was lost and what is there again (-lost +there):\n%s", d)
	}
	// A second run finds them there.
	for _, r := range recordsOf(t, kafsck, "export", "--lost", "--topic", "orders", "--against", filepath.Join(root, "after", "broker-2"), filepath.Join(stage, "broker-1")) {
		if r["mark"] != "duplicate" || r["duplicateBy"] != "content" || r["markOffset"] != r["offset"].(float64)+20 {
			t.Errorf("put back, and marked %v at %v: offset %v", r["mark"], r["markOffset"], r["offset"])
		}
	}
}

// payloads are what a producer can keep of records.
func payloads(list []map[string]any) (out []string) {
	for _, m := range list {
		out = append(out, fmt.Sprint(m["key"], m["value"], m["headers"], m["timestampMs"]))
	}
	return out
}
