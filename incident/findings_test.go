package incident_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"kafsck/check"
	"kafsck/finding"
	"kafsck/incident"
	"kafsck/internal/fixture"
	"kafsck/internal/rofs"
	"kafsck/logdir"
)

// checked returns all findings about a tree, by code with their severities.
func checked(t *testing.T, opt incident.Options, tree fstest.MapFS) map[finding.Code][]finding.Finding {
	t.Helper()
	c, err := logdir.DiscoverFS(rofs.FromFS(tree), "case", logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	opt.Files, opt.Tell, opt.Compare, opt.Transactions = true, true, !opt.FilesOnly, !opt.FilesOnly
	inc := incident.Open(c, opt)
	out := map[finding.Code][]finding.Finding{}
	add := func(list []finding.Finding) {
		for _, f := range list {
			out[f.Code] = append(out[f.Code], f)
			entry, ok := check.Lookup(f.Code)
			if !ok || !slices.Contains(entry.Severities, f.Severity) {
				t.Errorf("%s %s is not in the table", f.Severity, f.Code)
			}
			for _, e := range f.Evidence {
				if strings.ContainsAny(e.Claim, "[]") {
					t.Errorf("%s: a list as Go prints it: %s", f.Code, e.Claim)
				}
			}
			if f.Count < 1 || f.Summary == "" || f.Next == "" {
				t.Errorf("%s is incomplete: %+v", f.Code, f)
			}
		}
	}
	add(inc.Findings())
	for p := range inc.Partitions(context.Background()) {
		add(p.Findings)
		for _, e := range p.Errors {
			t.Errorf("%s: %v", p.Name, e)
		}
	}
	add(inc.LaterFindings())
	for _, e := range slices.Concat(c.Errors, inc.Errors) {
		t.Errorf("%v", e)
	}
	return out
}

// change is one alteration of a tree.
type change func(t *testing.T, tree fstest.MapFS)

func gone(names ...string) change {
	return func(t *testing.T, tree fstest.MapFS) {
		for _, n := range names {
			if tree[n] == nil {
				t.Fatalf("there is no %s", n)
			}
			delete(tree, n)
		}
	}
}

func write(name, text string) change {
	return func(t *testing.T, tree fstest.MapFS) { tree[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644} }
}

func replace(name, old, with string) change {
	return func(t *testing.T, tree fstest.MapFS) {
		f := *tree[name]
		f.Data = bytes.Replace(f.Data, []byte(old), []byte(with), 1)
		if bytes.Equal(f.Data, tree[name].Data) {
			t.Fatalf("%s does not hold %q", name, old)
		}
		tree[name] = &f
	}
}

// patch changes the bytes of a file.
func patch(name string, f func(b []byte) []byte) change {
	return func(t *testing.T, tree fstest.MapFS) {
		old := *tree[name]
		old.Data = f(bytes.Clone(old.Data))
		tree[name] = &old
	}
}

func moved(from, to string) change {
	return func(t *testing.T, tree fstest.MapFS) {
		tree[to] = tree[from]
		delete(tree, from)
	}
}

func all(list ...change) change {
	return func(t *testing.T, tree fstest.MapFS) {
		for _, c := range list {
			c(t, tree)
		}
	}
}

const epochFile = "orders-0/leader-epoch-checkpoint"

// Where the batches of segment 100 begin: each has 2,301 bytes.
const batchSize = 2301

// markerSize is the size of a batch with one marker: 61 bytes of header, 17 of the record.
const markerSize = 78

// TestEveryCode raises every code of the table from a recording of a real broker
// with one change, and shows that the recording without it does not raise it.
// Cases that have a change of their own are in the cases archive.
func TestEveryCode(t *testing.T) {
	cases := fixture.Tree(t, "cases")
	healthy := below(cases, "BR-32")
	seg := func(base string, kind string) string { return "orders-0/00000000000000000" + base + "." + kind }
	changes := []struct {
		code finding.Code
		want finding.Severity
		tree fstest.MapFS
		do   change
	}{
		{"log-bytes-unreadable", finding.Damage, healthy, patch(seg("100", "log"), func(b []byte) []byte {
			return append(append(b[:batchSize], bytes.Repeat([]byte{0xaa}, batchSize)...), b[2*batchSize:]...)
		})},
		{"log-bytes-zeroed", finding.Damage, healthy, patch(seg("100", "log"), func(b []byte) []byte {
			return append(append(b[:batchSize], make([]byte, batchSize)...), b[2*batchSize:]...)
		})},
		{"base-offset-out-of-line", finding.Damage, healthy, patch(seg("100", "log"), func(b []byte) []byte { b[batchSize+6] ^= 4; return b })},
		{"epoch-out-of-line", finding.Damage, healthy, patch(seg("100", "log"), func(b []byte) []byte { b[batchSize+15] ^= 64; return b })},
		{"offset-gap", finding.Damage, healthy, patch(seg("100", "log"), func(b []byte) []byte { return append(b[:batchSize:batchSize], b[2*batchSize:]...) })},
		{"segment-overlap", finding.Damage, healthy, write(seg("080", "log"), string(healthy[seg("000", "log")].Data[8*batchSize:]))},
		{"batch-below-segment", finding.Damage, healthy, all(moved(seg("200", "log"), seg("245", "log")), gone(seg("200", "index"), seg("200", "timeindex"), seg("200", "snapshot")))},
		{"index-misaligned", finding.Warning, healthy, patch(seg("100", "index"), func(b []byte) []byte { return append(b, 1) })},
		{"index-full-of-zeros", finding.Damage, healthy, patch(seg("100", "index"), func(b []byte) []byte { return make([]byte, 8<<10) })},
		{"timeindex-empty", finding.Note, healthy, write(seg("100", "timeindex"), "")},
		{"index-points-nowhere", finding.Damage, healthy, patch(seg("100", "index"), func(b []byte) []byte { b[15]++; return b })},
		{"index-out-of-order", finding.Damage, healthy, patch(seg("100", "index"), func(b []byte) []byte { copy(b[16:24], b[0:8]); return b })},
		{"index-wrong-offset", finding.Damage, healthy, patch(seg("100", "index"), func(b []byte) []byte { b[len(b)-5] = 110; return b })},
		{"timeindex-wrong", finding.Warning, healthy, patch(seg("100", "timeindex"), func(b []byte) []byte { b[7]++; return b })},
		{"timeindex-out-of-order", finding.Damage, healthy, patch(seg("100", "timeindex"), func(b []byte) []byte { copy(b[24:36], b[0:12]); return b })},
		{"producer-snapshot-content", finding.Warning, below(cases, "BR-54"), moved("tx-0/00000000000000000185.snapshot", "tx-0/00000000000000000100.snapshot")},
		{"txnindex-mismatch", finding.Damage, below(cases, "BR-54"), write("tx-0/00000000000000000000.txnindex", "")},
		{"hanging-transaction", finding.Damage, below(cases, "BR-54"), patch("tx-0/00000000000000000100.log", func(b []byte) []byte { return b[:len(b)-markerSize] })},
		{"txnindex-malformed", finding.Damage, below(cases, "BR-54"), patch("tx-0/00000000000000000000.txnindex", func(b []byte) []byte { b[0] = 1; return b })},

		{"epoch-file-missing", finding.Warning, healthy, gone(epochFile)},
		{"epoch-file-missing", finding.Warning, healthy, write(epochFile, "")},
		{"epoch-start-wrong", finding.Warning, healthy, replace(epochFile, "3 150", "3 160")},
		{"epoch-start-wrong", finding.Damage, healthy, replace(epochFile, "3 150", "3 140")},
		{"epoch-batches-missing", finding.Warning, healthy, all(patch(seg("000", "log"), func(b []byte) []byte { return b[batchSize:] }), gone(seg("000", "index"), seg("000", "timeindex")))},
		{"epoch-file-of-sibling", finding.Damage, below(cases, "BR-11"), func(t *testing.T, tree fstest.MapFS) { tree["b2/"+epochFile] = tree["b1/"+epochFile] }},
		{"recovery-point-beyond-end", finding.Warning, healthy, replace("recovery-point-offset-checkpoint", "orders 0 300", "orders 0 400")},
		{"bad-segment-name", finding.Damage, healthy, write("orders-0/copy.log", "x")},
		{"bad-segment-name", finding.Damage, healthy, write("orders-0/7.index", "x")},
		{"partition-metadata-missing", finding.Damage, healthy, gone("orders-0/partition.metadata")},
		{"partition-metadata-malformed", finding.Damage, healthy, write("orders-0/partition.metadata", "version: 0\n")},
		{"watermark-file-malformed", finding.Damage, healthy, write("replication-offset-checkpoint", "0\n1\norders 0\n")},
		{"watermark-file-malformed", finding.Warning, healthy, write("replication-offset-checkpoint", "0\n2\norders 0 300\norders 0 300\n")},
		{"log-start-file-malformed", finding.Warning, healthy, write("log-start-offset-checkpoint", "1\n0\n")},
		{"cleaner-file-malformed", finding.Warning, healthy, write("cleaner-offset-checkpoint", "0\nx\n")},
		{"metadata-log-damaged", finding.Damage, below(cases, "BR-79c"), patch("__cluster_metadata-0/00000000000000000568.log", func(b []byte) []byte { b[100] ^= 1; return b })},
		{"meta-properties-malformed", finding.Damage, healthy, replace("meta.properties", "version=1", "version=9")},
	}
	raised := map[finding.Code]bool{}
	for _, c := range changes {
		if before := checked(t, incident.Options{}, c.tree); has(before, c.code, c.want) {
			t.Errorf("%s is raised by the unchanged recording: %v", c.code, before[c.code])
		}
		tree := fstest.MapFS{}
		for n, f := range c.tree {
			tree[n] = f
		}
		c.do(t, tree)
		got := checked(t, incident.Options{}, tree)
		if !has(got, c.code, c.want) {
			t.Errorf("%s %s is not raised: %v", c.want, c.code, got)
		}
		raised[c.code] = true
	}
	// Whole recordings.
	for _, c := range []struct {
		code       finding.Code
		name, part string
		without    string // a folder that is left out
	}{
		{"leader-not-among-inputs", "below-hw-clean", "stage-b", "broker-3/"},
		{"index-stale-entries", "divergence", "stage-b", ""},
		{"epoch-falls-back", "kip279-silent-fork", "stage-d", ""},
	} {
		tree := below(fixture.Tree(t, c.name), c.part)
		for n := range tree {
			if c.without != "" && strings.HasPrefix(n, c.without) {
				delete(tree, n)
			}
		}
		if got := checked(t, incident.Options{}, tree); len(got[c.code]) == 0 {
			t.Errorf("%s %s does not raise %s: %v", c.name, c.part, c.code, got)
		}
		raised[c.code] = true
	}
	for _, c := range readCases(t, cases) {
		for _, e := range c.Expected {
			raised[code(e.Code)] = true
		}
	}
	for _, c := range raisedElsewhere {
		if raised[c] {
			t.Errorf("%s is raised here, and listed as raised elsewhere", c)
		}
		raised[c] = true
	}
	for _, c := range check.Codes() {
		if !raised[c.Code] {
			t.Errorf("no test raises %s", c.Code)
		}
	}
}

// raisedElsewhere are codes that other tests raise: those that need a log that only a
// generator writes (packages replica and check), or a metadata log of a certain age (pairs).
var raisedElsewhere = []finding.Code{"embedded-batch", "index-span-missing", "txnindex-behind", "not-compared", "records-not-decoded", "metadata-stale",
	"batch-header-impossible", "batch-attributes-unknown", "records-missing-in-batches", "timestamp-negative", "sequence-repeat", "transaction-marker-invalid", "producers-not-compared", "message-format-falls-back",
	"directory-id", "node-id-mismatch", "bootstrap-checkpoint-damaged", "metadata-snapshot-missing", "metadata-snapshot-unusable", "metadata-snapshot-conflict", "quorum-leader-conflict",
	"voter-directory-mismatch", "remote-segments-not-checked"} // the last two lines: TestDirectoriesAndNodes, check.TestQuorum

func has(got map[finding.Code][]finding.Finding, c finding.Code, s finding.Severity) bool {
	return slices.ContainsFunc(got[c], func(f finding.Finding) bool { return f.Severity == s })
}

type recordedCase struct {
	ID       string `json:"id"`
	Expected []struct {
		Code     string `json:"code"`
		Severity string `json:"severity"`
	} `json:"expected"`
}

func readCases(t *testing.T, tree fs.FS) []recordedCase {
	t.Helper()
	data, err := fs.ReadFile(tree, "cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Cases []recordedCase `json:"cases"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	return list.Cases
}

// code is the name that a case's meaning has here.
func code(name string) finding.Code {
	return finding.Code(strings.ToLower(strings.ReplaceAll(name, "_", "-")))
}
