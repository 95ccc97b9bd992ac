package cli

import (
	"cmp"
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
// of it. testdata/fixtures/cases.tar.zst has them all, kinds K1 to K13.
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

// beside are codes that a case's recipe brings about beside what it is meant to show. BR-81 puts
// the epochs 7 from 15 and 9 from 100 beside batches of the epochs 0, 2, 3 and 5.
var beside = map[string]string{"BR-81": "epoch-start-wrong"}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestDamagedCases checks every damaged directory: each code and severity that
// was written down for it is raised, the sound ones raise nothing above a note,
// and nothing is worse than the worst that was expected.
func TestDamagedCases(t *testing.T) {
	dir := fixture.Unpack(t, "cases")
	order := []string{"note", "warning", "damage", "loss"}
	for i, c := range damagedCases(t, dir) {
		if testing.Short() && i%10 != 0 {
			continue
		}
		args := []string{"check", "--json", "--level", "records", filepath.Join(dir, c.ID)}
		if c.Leader != "" {
			args = append(args, "--leader", c.Leader)
		}
		// The list that the case's story speaks of: Kafka keeps none in such a form.
		if list := filepath.Join(dir, c.ID, "remote-segments.json"); exists(list) {
			args = append(args, "--remote-segments", "orders-0="+list)
		}
		code, out, errs := kafsck(args...)
		// A file that only root may read is an error to everybody else, and told as both.
		unread := strings.HasPrefix(c.ID, "BR-76") && os.Geteuid() != 0
		if errs != "" && !unread {
			t.Errorf("%s: %s", c.ID, errs)
		}
		got := map[string][]string{}
		worst := "note"
		for _, l := range lines(t, out) {
			switch l["type"] {
			case "finding":
				if why := illSaid(l); why != "" {
					t.Errorf("%s: %s", c.ID, why)
				}
				name, s := l["code"].(string), l["severity"].(string)
				got[name] = append(got[name], s)
				if beside[c.ID] == name {
					continue
				}
				if slices.Index(order, s) > slices.Index(order, worst) {
					worst = s
				}
			case "error":
				if !unread {
					t.Errorf("%s: %v", c.ID, l)
				}
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
		if beside[c.ID] != "" && got[beside[c.ID]] == nil {
			t.Errorf("%s: %s is not raised, though its recipe brings it about", c.ID, beside[c.ID])
		}
		if want := map[bool]int{true: 1}[worst != "note"]; code != want && !(unread && code == want|2) {
			t.Errorf("%s: exit code %d, want %d", c.ID, code, want)
		}
	}
}

// comparisons are codes about replicas that differ: their recordings are
// incidents, and TestRecordedAnswers knows which.
var comparisons = []string{"divergence", "acked-records-only-on", "replica-ahead-of-leader", "unclean-election-estimate", "epoch-skips-committed-range"}

// recordingsOfFiles are recordings that tell no incident: formats, internal topics, crashes.
var recordingsOfFiles = []string{"codecs", "old-formats", "internal-topics", "metadata", "tiered", "hard-crash", "base"}

// stagesOf are the copies in a recording: folders of brokers, or of log directories.
func stagesOf(t *testing.T, name, dir string) []string {
	t.Helper()
	pattern := map[string]string{"metadata": "kafka-*/stage*", "base": "*"}[name]
	stages, err := filepath.Glob(filepath.Join(dir, cmp.Or(pattern, "stage*")))
	if err != nil {
		t.Fatal(err)
	}
	more, _ := filepath.Glob(filepath.Join(dir, "old-*"))
	stages = slices.DeleteFunc(append(stages, more...), func(path string) bool {
		info, err := os.Stat(path)
		return err != nil || !info.IsDir()
	})
	if len(stages) == 0 {
		t.Fatalf("%s has no stages", name)
	}
	return stages
}

// TestRecordingsAreSound: no recording by real brokers holds anything above a
// note at any level, kills and unfinished work included, but for replicas that
// really differ. One broker's data alone end with exit code 0 always. dump
// decodes every file of theirs.
func TestRecordingsAreSound(t *testing.T) {
	for _, name := range slices.Concat(fixture.Names, recordingsOfFiles) {
		if leftToTheFullRun(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := fixture.Unpack(t, name)
			stages := stagesOf(t, name, dir)
			if testing.Short() {
				stages = stages[:1]
			}
			for _, stage := range stages {
				brokers, err := filepath.Glob(filepath.Join(stage, "broker-*"))
				if err != nil {
					t.Fatal(err)
				}
				if code, _, errs := kafsck("dump", "--json", "--records", "--indexes", "--strict", stage); code != 0 || errs != "" {
					t.Errorf("%s: dump ends with exit code %d: %s", stage, code, errs)
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
