package check_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kafsck/check"
	"kafsck/finding"
	"kafsck/internal/fixture"
)

// fault is something that can be wrong in one log, or that looks wrong and is not.
type fault struct {
	source string // of the description: a section of the format reference, a kind of field report
	what   string
	// codes that tell of it; none: it is normal, and nothing or only what the log shows elsewhere is said.
	codes []finding.Code
	tests string // cases (BR-…), recordings and test functions
}

func codes(list ...finding.Code) []finding.Code { return list }

// faults of one log and of the files beside it, each with what is said of it and what shows that.
var faults = []fault{
	{"§2.2", "bits 7 to 15 of a batch's attributes are set", codes("batch-attributes-unknown"), "TestProducers"},
	{"§2.2, K11", "compression id 5 to 7", codes("batch-codec-unknown"), "BR-86b"},
	{"§2.3", "a timestamp below -1", codes("timestamp-negative"), "TestProducers"},
	{"§2.3, K11", "the delete horizon bit, and a base timestamp that is a horizon", nil, "BR-86c TestProducers"},
	{"§2.3, K13", "the header's largest timestamp is not that of the records", codes("max-timestamp-mismatch"), "BR-95a"},
	{"§2.3, K13", "no timestamps at all (format 0, or -1)", nil, "BR-95b TestProducers"},
	{"§2.4, K11", "messages of format 0 or 1 behind batches of a newer format", codes("message-format-falls-back"), "TestLogs"},
	{"§2.4, K11", "formats that change from old to new midway", nil, "old-formats"},
	{"§2.4", "a length that points past the end, a torn last batch", codes("torn-tail"), "BR-33a BR-33b"},
	{"§2.4, K11", "a magic byte above 2, or negative", codes("batch-magic-unknown"), "BR-86a"},
	{"§2.5", "a record's length, header count or key length that does not fit; bytes left over", codes("inner-record-invalid"), "BR-26a BR-26b"},
	{"§2.5", "offset deltas that do not ascend or lie outside of the batch", codes("inner-record-invalid"), "TestRecordCases"},
	{"§2.6", "more records than offsets, a negative count or lastOffsetDelta", codes("batch-header-impossible"), "TestProducers"},
	{"§2.6", "fewer records than offsets on a topic that the metadata call not compacted", codes("records-missing-in-batches"), "TestProducers"},
	{"§2.6", "an empty batch that the cleaner kept", nil, "compaction TestProducers"},
	{"§2.6, K6", "a gap in a producer's sequence numbers, no offset missing", codes("sequence-gap"), "BR-55b TestProducers"},
	{"§2.6", "sequence numbers that were there before", codes("sequence-repeat"), "TestProducers"},
	{"§2.6, K6", "sequence gaps of a compacted topic; the wrap from 2147483647 to 0; a new producer epoch from 0; any sequence of an unknown producer", nil, "BR-55a TestProducers"},
	{"§2.6", "more producers than are followed at a time", codes("producers-not-compared"), "TestTooManyProducers"},
	{"§2.7", "a control batch of a producer that is no ABORT or COMMIT", codes("transaction-marker-invalid"), "TestProducers"},
	{"§2.7, §15", "a marker with the next producer epoch (transaction protocol 2)", nil, "transactions TestProducers"},
	{"§2.8, K11", "an LZ4 frame with a wrong header checksum in format 2", codes("lz4-header-checksum-wrong"), "BR-85c"},
	{"§2.8, K11", "the historical LZ4 header checksum of format 0", codes("lz4-legacy-checksum"), "BR-85a BR-85b"},
	{"§4.1, §15", "a preallocated .index of a running or killed broker, with stale entries after a truncation", codes("index-not-trimmed", "index-stale-entries"), "BR-34 divergence"},
	{"§4.4, K6", "a producer snapshot of 0 bytes, cut, of another version, with a wrong CRC or count", codes("producer-snapshot-corrupt"), "BR-48a BR-48b BR-48c BR-48d BR-48e"},
	{"§4.4", "a producer snapshot that contradicts the batches", codes("producer-snapshot-content"), "TestEveryCode"},
	{"§4.4, K6", "snapshots at offsets that are no segment's base", codes("producer-snapshot-stray", "producer-snapshot-beyond-end"), "BR-54"},
	{"§4.5", ".index missing", codes("index-missing"), "BR-37a"},
	{"§4.5", ".index whose last entry lies below the base, or whose size is no multiple of 8", codes("index-wrong-offset", "index-misaligned"), "TestEveryCode"},
	{"§4.5", ".timeindex missing, or made anew and empty", codes("timeindex-missing", "timeindex-empty"), "BR-37b TestEveryCode"},
	{"§4.5", ".timeindex whose entries go backwards, contradict the batches, or whose size is no multiple of 12", codes("timeindex-out-of-order", "timeindex-wrong", "index-misaligned"), "TestEveryCode"},
	{"§4.5", ".txnindex with an entry below the base or of an unknown version", codes("txnindex-malformed"), "TestEveryCode"},
	{"§4.5", "an index file without .log", codes("index-orphan"), "BR-37c BR-88c"},
	{"§4.5", "entries of an .index that point into a batch or past the end", codes("index-points-nowhere"), "TestEveryCode"},
	{"§7.2", "offsets that do not fit the 32 bits of the index", codes("segment-offset-overflow"), "BR-57a BR-57b TestOffsetOverflow"},
	{"§7.2, §7.3 M", ".cleaned files, with or without .swap: worthless", codes("interrupted-swap"), "BR-56a BR-56b reassigned-dirs"},
	{"§7.2, §7.3 N, K7", "a complete .swap set, originals there or renamed to .deleted", codes("interrupted-swap"), "BR-56c BR-56d cleaner-swap"},
	{"§7.2, §15.1", "a .swap that is cut short, with its whole index or a matching one", codes("interrupted-swap"), "BR-56f BR-56g"},
	{"§7.2", "a finished swap whose originals wait to be deleted", codes("interrupted-swap"), "BR-56e epoch-history"},
	{"§7.3 E F G", "zeros or a torn batch behind the last one, after a kill", codes("zero-tail", "torn-tail"), "BR-23a BR-33a"},
	{"§7.3 H I", "a batch with a bad CRC", codes("batch-crc-mismatch"), "BR-25a BR-25b"},
	{"§7.3 J", "the checkpointed log start above the log end", codes("log-start-beyond-end"), "BR-46a"},
	{"§7.3 O", "segments that overlap", codes("segment-overlap"), "TestLogs"},
	{"§7.3 P, §15.1", "batches below the base offset of their segment", codes("batch-below-segment"), "TestEveryCode"},
	{"§7.3 Q, §15.1", "offsets that go backwards inside a segment", codes("duplicate-offsets", "base-offset-out-of-line"), "BR-30 TestLogs"},
	{"§7.3 AE, K12", "a segment is missing in the middle", codes("segment-gap"), "BR-88b"},
	{"§7.3", "offsets are missing inside a segment of a topic that is not compacted", codes("offset-gap"), "TestLogs"},
	{"§7.3 S", "the recovery point above the log end", codes("recovery-point-beyond-end"), "TestEveryCode"},
	{"§7.3 AB AC", "a magic byte of 3 or -1 with a right CRC", codes("batch-magic-unknown", "batch-crc-mismatch"), "BR-86a"},
	{"§7.3 AD", "an empty segment behind the last one", nil, "divergence"},
	{"§7.3 AG", "a file that ends like a segment's without a base offset for a name", codes("bad-segment-name"), "TestEveryCode"},
	{"§7.3 U W", "an index of odd length, or with garbage, behind a clean shutdown marker", codes("index-misaligned", "index-points-nowhere"), "TestEveryCode"},
	{"§7.3 Y", "a .txnindex of zeros, of another version, or cut", codes("txnindex-malformed", "txnindex-mismatch"), "TestEveryCode"},
	{"§8.2", "a hole in the offsets of a topic that is not compacted", codes("offset-gap", "segment-gap"), "TestLogs BR-88b"},
	{"§8.2", "gaps, rebuilt batches, empty batches and transactions that cleaning leaves", nil, "BR-88e compaction"},
	{"§8.2", "the log start inside the first segment, or inside a batch", nil, "replica-rebuild"},
	{"§15.1", "zeros behind a clean shutdown marker: the start aborts", codes("zero-tail"), "BR-23b"},
	{"§15.1", "a torn batch behind a clean shutdown marker: the log end falls back", codes("torn-tail"), "TestEveryCode"},
	{"§15.1", "a base offset of which no CRC tells, so that an unclean start aborts", codes("base-offset-out-of-line"), "TestLogs"},
	{"§15.1", "a producer epoch that goes backwards", codes("producer-epoch-regression"), "BR-53b TestProducers"},
	{"§15", "a preallocated .timeindex beside an empty active segment without .index", nil, "hard-crash"},
	{"§15", "a log.preallocate segment of full size after a kill", codes("zero-tail"), "hard-crash"},
	{"§15", "old LZ4 framing, index entries at the first offset, no leader epochs", nil, "hw-truncation-loss"},
	{"K6", "a transaction that never ends", codes("hanging-transaction"), "BR-50a BR-50b TestHangingFindings"},
	{"K6", "an open transaction that somebody will end", nil, "transactions TestHangingByTime"},
	{"K6", "a marker that was removed before its data", codes("txn-data-without-marker"), "BR-51"},
	{"K6", "aborted transactions that the .txnindex does not have, or has otherwise", codes("txnindex-mismatch", "txnindex-behind"), "TestEveryCode"},
	{"K6", "a coordinator epoch that steps back", codes("coordinator-epoch-regression"), "BR-53a TestProducers"},
	{"K7", "the cleaner stands before bytes that it cannot read", codes("cleaner-stuck-before"), "BR-59 TestCleanerStuck"},
	{"K7", "zeros up to the end of a sealed, preallocated segment", codes("zero-tail"), "BR-62"},
	{"K12", "the oldest segment was removed by hand", codes("oldest-segment-removed"), "BR-88a"},
	{"K12", "the newest segment was removed by hand", codes("active-segment-removed"), "BR-88d"},
	{"K13", "a timestamp in the future holds back deletion", codes("future-timestamp"), "BR-93 TestFutureTimestamps"},
}

// TestFaults: every code and test that the table names exists, and docs/rules.md is what the table
// says; run with -update to write it.
func TestFaults(t *testing.T) {
	functions := testFunctions(t)
	cases := map[string]bool{}
	for _, id := range caseIDs(t) {
		cases[id] = true
	}
	for _, f := range slices.Concat(faults, dirFaults) {
		for _, c := range f.codes {
			if _, ok := check.Lookup(c); !ok {
				t.Errorf("%s: there is no code %s", f.what, c)
			}
		}
		if f.tests == "" || f.what == "" || f.source == "" || strings.Contains(f.what, "|") {
			t.Errorf("%+v is incomplete", f)
		}
		for name := range strings.FieldsSeq(f.tests) {
			archive := filepath.Join(fixture.Root(t), "testdata", "fixtures", name+".tar.zst")
			if _, err := os.Stat(archive); err != nil && !functions[name] && !cases[name] {
				t.Errorf("%s: there is no test, case or recording %s", f.what, name)
			}
		}
	}
	compareDocument(t, "rules.md", rulesDocument())
}

func rulesDocument() []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, `# What can be wrong, and what tells of it

Each fault that a log, a file beside it, a directory, a broker or a cluster's metadata can have, with the finding that `+"`kafsck check`"+` makes of it and what shows that it does: a case (BR-…, see [cases.md](cases.md)), a recording
by real brokers, or a test function. "nothing" is said of what looks wrong and is not. What the findings mean is in [findings.md](findings.md).

The first column says where the fault is described: a section of the reference of Kafka's formats, with the letter of the observed start (§7.3), or a kind of field report (K2 to K13).

This file is made from the tables in check/rules_test.go and check/rules_dirs_test.go (`+"`go test ./check -update`"+`), and a test fails where a code, a case or a test that it names is not there.

## One log

| described in | fault | finding | shown by |
|---|---|---|---|`)
	for i, f := range slices.Concat(faults, dirFaults) {
		if i == len(faults) {
			fmt.Fprint(&b, "\n## Directories, brokers, clusters\n\n| described in | fault | finding | shown by |\n|---|---|---|---|\n")
		}
		said := "nothing"
		if len(f.codes) > 0 {
			var names []string
			for _, c := range f.codes {
				names = append(names, fmt.Sprintf("[%s](findings.md#%s)", c, c))
			}
			said = strings.Join(names, ", ")
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", f.source, f.what, said, strings.Join(strings.Fields(f.tests), ", "))
	}
	return b.Bytes()
}

// TestCasesDocument: docs/cases.md lists the cases with what a check must say; TestDamagedCases of
// package cli checks that it does.
func TestCasesDocument(t *testing.T) {
	kinds := map[string]int{}
	var b bytes.Buffer
	fmt.Fprintln(&b, `# Damaged directories, and what a check must say of each

Each case is a directory that Kafka's own code wrote, with one precise damage or oddity (testdata/README.md says how they were made). A check at --level records must raise each finding with
its severity, and nothing worse than the worst of them; `+"`clean`"+` is nothing above a note. The test is TestDamagedCases of package cli.

This file is made from testdata/fixtures/cases.tar.zst (`+"`go test ./check -update`"+`).

| case | what happened | finding | severity |
|---|---|---|---|`)
	severity := map[string]string{"FATAL": "damage", "ERROR": "damage", "LOSS": "loss", "WARN": "warning", "INFO": "note", "CLEAN": "clean"}
	for _, c := range readCases(t) {
		for _, e := range c.Expected {
			code := strings.ToLower(strings.ReplaceAll(e.Code, "_", "-"))
			link := fmt.Sprintf("[%s](findings.md#%s)", code, code)
			if _, ok := check.Lookup(finding.Code(code)); e.Code != "NONE" && !ok {
				t.Errorf("%s: there is no code %s", c.ID, code)
			}
			if e.Code == "NONE" {
				link = "–"
			}
			kinds[severity[e.Severity]]++
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", c.ID, strings.ReplaceAll(c.Situation, "|", "/"), link, severity[e.Severity])
		}
	}
	var sums []string
	for _, s := range []string{"clean", "note", "warning", "damage", "loss"} {
		sums = append(sums, fmt.Sprintf("%d %s", kinds[s], s))
	}
	fmt.Fprintf(&b, "\n%d cases: %s.\n", len(readCases(t)), strings.Join(sums, ", "))
	compareDocument(t, "cases.md", b.Bytes())
}

func compareDocument(t *testing.T, name string, want []byte) {
	t.Helper()
	path := filepath.Join(fixture.Root(t), "docs", name)
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("docs/%s is not what the table says; go test ./check -update writes it\n%s", name, cmp.Diff(string(got), string(want)))
	}
}

type packedCase struct {
	ID        string `json:"id"`
	Situation string `json:"situation"`
	Expected  []struct {
		Code     string `json:"code"`
		Severity string `json:"severity"`
	} `json:"expected"`
}

func readCases(t *testing.T) []packedCase {
	t.Helper()
	var list struct {
		Cases []packedCase `json:"cases"`
	}
	if err := json.Unmarshal(fixture.Tree(t, "cases")["cases.json"].Data, &list); err != nil {
		t.Fatal(err)
	}
	return list.Cases
}

func caseIDs(t *testing.T) (out []string) {
	for _, c := range readCases(t) {
		out = append(out, c.ID)
	}
	return out
}

// testFunctions are the names of all test functions of the module.
func testFunctions(t *testing.T) map[string]bool {
	t.Helper()
	name := regexp.MustCompile(`^Test[A-Z]`)
	out := map[string]bool{}
	for _, dir := range []string{"check", "replica", "incident", "cli", "broker"} {
		files, err := filepath.Glob(filepath.Join(fixture.Root(t), dir, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		slices.Sort(files)
		for _, file := range files {
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && name.MatchString(fn.Name.Name) {
					out[fn.Name.Name] = true
				}
			}
		}
	}
	return out
}
