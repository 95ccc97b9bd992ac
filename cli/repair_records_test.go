package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kafsck/internal/fixture"
)

// TestPlanOfRecords: BR-26b has a batch with a right CRC, a count of 10 and 9 records, which shows only
// where records are read. Beside replicas of the same log it is taken from one; alone it is cut
// out where somebody says so; and no plan speaks of it that did not look.
func TestPlanOfRecords(t *testing.T) {
	t.Parallel()
	cases := fixture.Tree(t, "cases")
	put := func(dir, from string) {
		t.Helper()
		for name, f := range cases {
			if rest, ok := strings.CutPrefix(name, from+"/"); ok {
				at := filepath.Join(dir, filepath.FromSlash(rest))
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, f.Data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	work := t.TempDir()
	alone, three, all := filepath.Join(work, "alone"), filepath.Join(work, "three"), filepath.Join(work, "all")
	put(alone, "BR-26b")
	for _, b := range []string{"b1", "b2", "b3"} { // three replicas of the log that BR-26b was made from
		put(filepath.Join(three, b), "BR-25b/"+b)
		put(filepath.Join(all, b), "BR-25b/"+b)
		put(filepath.Join(all, b, "orders-0"), "BR-26b/orders-0")
	}
	put(filepath.Join(three, "b1", "orders-0"), "BR-26b/orders-0")

	run := func(want int, args ...string) string {
		t.Helper()
		code, out, errs := kafsck(args...)
		if code != want {
			t.Fatalf("%v: exit code %d, want %d: %s%s", args, code, want, out, errs)
		}
		return strings.Join(strings.Fields(out), " ")
	}
	says := func(out string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("no %q in: %s", w, out)
			}
		}
	}
	// Without a look inside nothing is claimed of the records.
	says(run(0, "repair", "plan", alone), "NOTHING TO DO", "records inside batches were not decoded (--level records)")
	run(64, "repair", "plan", "--level", "files", alone)

	// Another replica has it.
	plan, out := filepath.Join(work, "plan.json"), filepath.Join(work, "repaired")
	says(run(1, "repair", "plan", "--level", "records", "--out", plan, three), "PLAN 1 action, no record is lost", "take-from-sibling b1/orders-0", "offsets 240–249 (1 batch) from broker 2",
		"have the same offsets and leader epoch, and can be read", "every record decoded except those of batches named above")
	says(run(0, "repair", "apply", plan, "--out", out), "REPAIRED 1 action")
	run(0, "check", "--level", "records", out)
	log := "00000000000000000200.log"
	got, err := os.ReadFile(filepath.Join(out, "b1", "orders-0", log))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(cases["BR-25b/b2/orders-0/"+log].Data) {
		t.Error("the segment is not that of broker 2, byte for byte")
	}

	// Nobody has it: it stays until somebody says so, and what goes is kept.
	out = filepath.Join(work, "cut")
	run(1, "export", "--out", filepath.Join(work, "read.jsonl"), alone)
	plan = filepath.Join(work, "alone.json")
	says(run(1, "repair", "plan", "--level", "records", "--out", plan, alone), "quarantine-segment alone/orders-0 (needs --confirm a1)",
		"1 batch whose records cannot be read, at offsets 240–249, goes to lost+found (2184 bytes)", "kafsck export gives out what can be read of it: do that first")
	run(4, "repair", "apply", plan, "--out", out)
	says(run(0, "repair", "apply", plan, "--out", out, "--confirm", "a1"), "REPAIRED 1 action", "offsets 0–299, nothing truncated")
	kept, err := os.ReadFile(filepath.Join(out, "lost+found", "alone", "orders-0", log+".9204-11388"))
	if err != nil || string(kept) != string(cases["BR-26b/orders-0/"+log].Data[9204:11388]) {
		t.Errorf("the batch is not in lost+found: %v", err)
	}
	// The same batch in every replica is no better one.
	says(run(1, "repair", "plan", "--level", "records", all), "PLAN 3 actions", "All of them (a1–a3) wait for your word")
	// A fault that no change of files mends is told with the reason.
	stamp := filepath.Join(work, "stamp")
	put(stamp, "BR-95a")
	says(run(1, "repair", "plan", "--level", "records", stamp), "NO REPAIR", "max-timestamp-mismatch", "A lookup by time goes by it and passes the batch over, whatever the time index says", "Seek by offset here")
}
