package check

import (
	"slices"
	"strings"

	"kafsck/finding"
)

// Scope says how much must be seen to raise a code.
type Scope string

// The scopes, from the narrowest to the widest.
const (
	ScopeSegment Scope = "segment" // one .log or a file beside it
	ScopeReplica Scope = "replica" // one partition directory
	ScopeLogDir  Scope = "log dir" // the files of one log directory
	ScopeBroker  Scope = "broker"  // all log directories of a broker
	ScopeCase    Scope = "case"    // all inputs of one run
)

// Code is what there is to say about one kind of finding, whatever raised it.
// The text is for people; `kafsck explain` and docs/findings.md print it.
type Code struct {
	Code       finding.Code
	Scope      Scope
	Severities []finding.Severity // ascending; what decides is in When
	When       string             // "" with a single severity
	// Normal: as a note it is what any healthy broker leaves behind, so that a verdict
	// over everything need not mention it.
	Normal bool
	// Plan is the severity from which on `kafsck repair plan` has an action for it, where the inputs
	// prove one; Note: it has none, or with --all alone.
	Plan    finding.Severity
	Meaning string // what is the case
	How     string // how that happens
	Kafka   string // what Kafka 4.3.1 does
	Do      string // what to do
}

// Codes returns every code that any part of kafsck raises, sorted by scope, then
// in the order of the table.
func Codes() []Code {
	return slices.Concat(segmentCodes, recordCodes, producerCodes, logCodes, indexCodes, replicaCodes, comparisonCodes, logDirCodes, dirCodes, caseCodes)
}

var byCode = func() map[finding.Code]Code {
	m := map[finding.Code]Code{}
	for _, c := range Codes() {
		m[c.Code] = c
	}
	return m
}()

// Lookup finds the table's entry of a code.
func Lookup(code finding.Code) (Code, bool) {
	c, ok := byCode[code]
	return c, ok
}

// Planned reports whether `kafsck repair plan` may have an action for a finding. The metadata log comes
// from the quorum, never from a repair.
func Planned(f *finding.Finding) bool {
	c, ok := Lookup(f.Code)
	return ok && !strings.Contains("/"+f.At.File, "/__cluster_metadata-0/") && c.Plan > finding.Note && f.Severity >= c.Plan
}

// Near returns the codes that a mistyped one may mean, best first, at most five:
// those that contain it, then those within a few edits, then those that share a
// word with it.
func Near(word string) []finding.Code {
	word = strings.ToLower(strings.NewReplacer("_", "-", " ", "-").Replace(word))
	type near struct {
		code     finding.Code
		distance int
	}
	var list []near
	for _, c := range Codes() {
		name := string(c.Code)
		d := Edits(word, name)
		switch {
		case len(word) >= 3 && strings.Contains(name, word):
			d = 0
		case d > max(2, len(word)/3) && sharesWord(word, name):
			d += 50
		case d > max(2, len(word)/3):
			continue
		}
		list = append(list, near{c.Code, d})
	}
	slices.SortStableFunc(list, func(a, b near) int { return a.distance - b.distance })
	var out []finding.Code
	for _, n := range list[:min(len(list), 5)] {
		out = append(out, n.code)
	}
	return out
}

// sharesWord reports whether two names have a word in common that tells anything.
func sharesWord(a, b string) bool {
	for _, w := range strings.Split(a, "-") {
		if len(w) >= 4 && w != "file" && slices.Contains(strings.Split(b, "-"), w) {
			return true
		}
	}
	return false
}

// Edits is the Levenshtein distance of two words.
func Edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		left := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := left
			if a[i] != b[j] {
				cost++
			}
			left = row[j+1]
			row[j+1] = min(cost, row[j]+1, left+1)
		}
	}
	return row[len(b)]
}

// severities lists them in the table.
func severities(s ...finding.Severity) []finding.Severity { return s }

const (
	note    = finding.Note
	warning = finding.Warning
	damage  = finding.Damage
	loss    = finding.Loss
)
