package check_test

import (
	"bytes"
	"flag"
	"fmt"
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

var update = flag.Bool("update", false, "write docs/findings.md from the table of codes")

func TestTable(t *testing.T) {
	kebab := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	seen := map[finding.Code]bool{}
	for _, c := range check.Codes() {
		if !kebab.MatchString(string(c.Code)) || seen[c.Code] {
			t.Errorf("%q is no code, or there twice", c.Code)
		}
		seen[c.Code] = true
		if len(c.Severities) == 0 || !slices.IsSorted(c.Severities) {
			t.Errorf("%s: severities %v", c.Code, c.Severities)
		}
		if (c.When != "") != (len(c.Severities) > 1) {
			t.Errorf("%s: what decides between %v? %q", c.Code, c.Severities, c.When)
		}
		for name, s := range map[string]string{"meaning": c.Meaning, "how": c.How, "Kafka": c.Kafka, "do": c.Do, "scope": string(c.Scope) + "."} {
			if len(s) < 5 || !strings.HasSuffix(s, ".") && !strings.HasSuffix(s, ")") || strings.ContainsAny(s, "|\n\t") || strings.Contains(s, "  ") {
				t.Errorf("%s: %s reads %q", c.Code, name, s)
			}
		}
		if got, ok := check.Lookup(c.Code); !ok || got.Meaning != c.Meaning {
			t.Errorf("%s is not found", c.Code)
		}
	}
}

// TestAdviceNamesThePlan: where a plan has an action the advice says so, and never to delete by hand.
func TestAdviceNamesThePlan(t *testing.T) {
	byHand := regexp.MustCompile(`(?i)(delete|remove) (the|\.[a-z]+|it) (file|and|in the copy)`)
	for _, c := range check.Codes() {
		if c.Plan > finding.Note && (!strings.Contains(c.Do, "kafsck repair plan") || byHand.MatchString(c.Do)) {
			t.Errorf("%s: do %q", c.Code, c.Do)
		}
		if c.Plan > c.Severities[len(c.Severities)-1] {
			t.Errorf("%s: planned from %s on, which it never has", c.Code, c.Plan)
		}
	}
	bad := finding.Finding{Code: "batch-crc-mismatch", Severity: finding.Damage}
	if !check.Planned(&bad) {
		t.Error("damage in a log is not planned")
	}
	if bad.Severity = finding.Warning; check.Planned(&bad) {
		t.Error("files that were set aside are planned")
	}
	meta := finding.Finding{Code: "epoch-file-malformed", Severity: finding.Damage, At: finding.Location{File: "broker-1/__cluster_metadata-0/leader-epoch-checkpoint"}}
	if check.Planned(&meta) {
		t.Error("the metadata log is planned")
	}
}

func TestNear(t *testing.T) {
	for word, want := range map[string]finding.Code{
		"torn-tial": "torn-tail", "TORN_TAIL": "torn-tail", "crc": "batch-crc-mismatch", "epoch-file-malformd": "epoch-file-malformed",
		"index missing": "index-missing", "segment-hole": "segment-gap",
	} {
		if near := check.Near(word); !slices.Contains(near, want) {
			t.Errorf("near %q: %v, want %s among them", word, near, want)
		}
	}
	if near := check.Near("xyzzyplugh"); len(near) > 0 {
		t.Errorf("near nonsense: %v", near)
	}
}

// TestDocument compares docs/findings.md with the table that it is made from; run
// with -update to write it.
func TestDocument(t *testing.T) {
	path := filepath.Join(fixture.Root(t), "docs", "findings.md")
	want := document()
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
		t.Errorf("docs/findings.md is not what the table says; go test ./check -update writes it\n%s", cmp.Diff(string(got), string(want)))
	}
}

func document() []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, `# Findings

A finding is one judged fact about the inputs. Severities: `+"`note`"+` (explained, harmless) < `+"`warning`"+` (worth a look) < `+"`damage`"+` (bytes or metadata are wrong; clients may get
wrong answers, or a broker will not start) < `+"`loss`"+` (records are gone, or the next start drops them). `+"`--fail-on`"+` (default `+"`warning`"+`) decides from which severity on a
finding sets exit bit 1. Files that were set aside (`+"`.deleted`, `-stray`"+`, …) never raise more than a warning for their bytes: no broker reads them again.

What Kafka does is what version 4.3.1 does, unless another is named. "The copy that will be started": kafsck changes nothing, and neither should you on the only copy.

This file is made from the table in package check (`+"`go test ./check -update`"+`); `+"`kafsck explain CODE`"+` prints one entry.`)
	scope := check.Scope("")
	codes := slices.Clone(check.Codes())
	order := []check.Scope{check.ScopeSegment, check.ScopeReplica, check.ScopeLogDir, check.ScopeBroker, check.ScopeCase}
	slices.SortStableFunc(codes, func(a, b check.Code) int { return slices.Index(order, a.Scope) - slices.Index(order, b.Scope) })
	heads := map[check.Scope]string{
		check.ScopeSegment: "A segment and the files beside it", check.ScopeReplica: "A partition directory", check.ScopeLogDir: "A log directory",
		check.ScopeBroker: "A broker", check.ScopeCase: "Several brokers, and the inputs as a whole",
	}
	for _, c := range codes {
		if c.Scope != scope {
			scope = c.Scope
			fmt.Fprintf(&b, "\n## %s\n", heads[scope])
		}
		var names []string
		for _, s := range c.Severities {
			names = append(names, s.String())
		}
		severity := strings.Join(names, " or ")
		if c.When != "" {
			severity += ": " + c.When
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n* Severity: %s.\n* How it happens: %s\n* What Kafka does: %s\n* What to do: %s\n", c.Code, c.Meaning, strings.TrimSuffix(severity, "."), c.How, c.Kafka, c.Do)
	}
	return b.Bytes()
}
