package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kafsck/internal/fixture"
)

// linesOf are the lines of one type in JSON Lines.
func linesOf(t *testing.T, kind, out string) (list []map[string]json.RawMessage) {
	t.Helper()
	for line := range strings.Lines(out) {
		var m map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v: %.200s", err, line)
		}
		if string(m["type"]) == `"`+kind+`"` {
			list = append(list, m)
		}
	}
	return list
}

// TestExportRedactedSaysWhatDumpSays: the fields that redacted export and dump share are the same,
// of records in transactions and with headers.
func TestExportRedactedSaysWhatDumpSays(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"transactions/stage1-killed/broker-2/tx-orders-0", "codecs/stage2-clean/broker-1/codec-zstd-0"} {
		name, rest, _ := strings.Cut(dir, "/")
		dir = filepath.Join(fixture.Unpack(t, name), rest)
		code, out, errs := kafsck("export", "--redact", dir)
		if code != 0 {
			t.Fatal(code, errs)
		}
		exported := linesOf(t, "record", out)
		code, dumped, errs := kafsck("dump", "--records", "--json", "--value-format", "redacted", dir)
		if code != 0 {
			t.Fatal(code, errs)
		}
		want := linesOf(t, "record", dumped)
		if len(exported) < 50 || len(exported) != len(want) {
			t.Fatalf("%d records exported, %d dumped", len(exported), len(want))
		}
		for i := range want {
			for _, own := range []string{"transactionState", "codec"} {
				delete(exported[i], own)
			}
			for _, own := range []string{"decoded", "file"} { // the file's path depends on what was given
				delete(want[i], own)
				delete(exported[i], own)
			}
			if d := cmp.Diff(want[i], exported[i]); d != "" {
				t.Fatalf("record %d (-dump +export):\n%s", i, d)
			}
		}
		summary := linesOf(t, "summary", out)
		if len(summary) != 1 || string(summary[0]["redacted"]) != "true" || string(summary[0]["canBePutBack"]) != "false" {
			t.Errorf("summary: %s", summary)
		}
	}
}

// TestExportLostRedacted: the lost records with all that is known of them, but for what is in them.
func TestExportLostRedacted(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(fixture.Unpack(t, "unclean-election"), "stage-b")
	_, out, _ := kafsck("export", "--lost", dir)
	want := linesOf(t, "record", out)
	code, out, errs := kafsck("export", "--lost", "--redact", dir)
	got := linesOf(t, "record", out)
	if code != 0 || len(got) != 100 || len(want) != 100 {
		t.Fatalf("exit code %d, %d and %d records: %s", code, len(got), len(want), errs)
	}
	for i := range want {
		for _, payload := range []string{"key", "value"} {
			if string(want[i][payload]) == "null" {
				continue
			}
			if got[i][payload] != nil || got[i][payload+"Size"] == nil || len(got[i][payload+"Sha256"]) != 66 {
				t.Errorf("record %d: %s", i, got[i])
			}
			delete(want[i], payload)
			delete(got[i], payload+"Size")
			delete(got[i], payload+"Sha256")
		}
		if d := cmp.Diff(want[i], got[i]); d != "" {
			t.Fatalf("record %d (-whole +redacted):\n%s", i, d)
		}
	}
	if !strings.Contains(errs, "Nothing can be\nput back from it") {
		t.Errorf("the report does not say so: %s", errs)
	}
}
