package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kafsck/internal/fixture"
)

// severityOf maps the severities of the cases to ours.
var severityOf = map[string]string{"FATAL": "damage", "ERROR": "damage", "LOSS": "loss", "WARN": "warning", "INFO": "note"}

// damagedCase is a directory with one precise damage and what a check must say
// of it.
type damagedCase struct {
	ID        string `json:"id"`
	Situation string `json:"situation"`
	Leader    string `json:"leader"` // for --leader
	Expected  []struct {
		Code     string `json:"code"`
		Severity string `json:"severity"`
	} `json:"expected"`
}

func damagedCases(t *testing.T, dir string) []damagedCase {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Cases []damagedCase `json:"cases"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	return list.Cases
}

// TestDamagedCases checks every damaged directory: each code and severity that
// was written down for it is raised, the sound ones raise nothing above a note,
// and nothing is worse than the worst that was expected.
func TestDamagedCases(t *testing.T) {
	dir := fixture.Unpack(t, "cases")
	order := []string{"note", "warning", "damage", "loss"}
	for _, c := range damagedCases(t, dir) {
		args := []string{"check", "--json", "--level", "records", filepath.Join(dir, c.ID)}
		if c.Leader != "" {
			args = append(args, "--leader", c.Leader)
		}
		code, out, errs := kafsck(args...)
		if errs != "" {
			t.Errorf("%s: %s", c.ID, errs)
		}
		got := map[string][]string{}
		worst := "note"
		for _, l := range lines(t, out) {
			switch l["type"] {
			case "finding":
				name, s := l["code"].(string), l["severity"].(string)
				got[name] = append(got[name], s)
				if slices.Index(order, s) > slices.Index(order, worst) {
					worst = s
				}
			case "error":
				t.Errorf("%s: %v", c.ID, l)
			}
		}
		limit := "note"
		for _, e := range c.Expected {
			name, s := strings.ToLower(strings.ReplaceAll(e.Code, "_", "-")), severityOf[e.Severity]
			if e.Code == "NONE" {
				continue
			}
			if slices.Index(order, s) > slices.Index(order, limit) {
				limit = s
			}
			if !slices.Contains(got[name], s) {
				t.Errorf("%s (%s): %s %s is not raised, but %v", c.ID, c.Situation, s, name, got)
			}
		}
		if slices.Index(order, worst) > slices.Index(order, limit) {
			t.Errorf("%s (%s): nothing above %s was expected, got %v", c.ID, c.Situation, limit, got)
		}
		if want := map[bool]int{true: 1}[worst != "note"]; code != want {
			t.Errorf("%s: exit code %d, want %d", c.ID, code, want)
		}
	}
}

// comparisons are codes about replicas that differ: their recordings are
// incidents, and TestRecordedAnswers knows which.
var comparisons = []string{"divergence", "acked-records-only-on", "replica-ahead-of-leader", "unclean-election-estimate", "epoch-skips-committed-range"}

// TestRecordingsAreSound: no recording by real brokers holds anything above a
// note at any level, kills and unfinished work included, but for replicas that
// really differ. One broker's data alone end with exit code 0 always.
func TestRecordingsAreSound(t *testing.T) {
	for _, name := range fixture.Names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := fixture.Unpack(t, name)
			stages, err := filepath.Glob(filepath.Join(dir, "stage*"))
			if err != nil || len(stages) == 0 {
				t.Fatal(err, stages)
			}
			if testing.Short() {
				stages = stages[:1]
			}
			for _, stage := range stages {
				brokers, err := filepath.Glob(filepath.Join(stage, "broker-*"))
				if err != nil {
					t.Fatal(err)
				}
				for _, level := range []string{"files", "batches", "records"} {
					code, out, errs := kafsck("check", "--json", "--level", level, stage)
					if errs != "" {
						t.Errorf("%s: %s", stage, errs)
					}
					differ := false
					for _, l := range lines(t, out) {
						switch {
						case l["type"] != "finding" || l["severity"] == "note":
						case level != "files" && slices.Contains(comparisons, l["code"].(string)):
							differ = true
						default:
							t.Errorf("%s at level %s: %v %v: %v", stage, level, l["severity"], l["code"], l["summary"])
						}
					}
					if want := map[bool]int{true: 1}[differ]; code != want {
						t.Errorf("%s at level %s: exit code %d, want %d", stage, level, code, want)
					}
					if level == "batches" {
						continue // the records level looks at the same and more
					}
					for _, b := range brokers {
						if code, out, errs := kafsck("check", "--level", level, b); code != 0 {
							t.Errorf("%s at level %s: exit code %d\n%s%s", b, level, code, out, errs)
						}
					}
				}
			}
		})
	}
}
