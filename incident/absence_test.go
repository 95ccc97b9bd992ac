package incident_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kafsck/commitment"
	"kafsck/diff"
	"kafsck/incident"
	"kafsck/internal/fixture"
	"kafsck/replica"
)

// rank orders grades by how much they claim about a commitment.
var rank = map[commitment.Grade]int{commitment.Unknown: 0, commitment.No: 1, commitment.Yes: 2}

func stages(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "stage*"))
	if err != nil || len(list) == 0 {
		t.Fatalf("no stages in %s: %v", dir, err)
	}
	return list
}

func brokerDirs(t *testing.T, stage string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(stage, "broker-*"))
	if err != nil || len(list) == 0 {
		t.Fatalf("no brokers in %s: %v", stage, err)
	}
	return list
}

// refused reads the values that a producer was told are not written.
func refused(t *testing.T, dir string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	f, err := os.Open(filepath.Join(dir, "acks.jsonl"))
	if os.IsNotExist(err) {
		return out
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	for in.Scan() {
		var x struct {
			Topic, Value string
			Partition    int
			Error        *string
		}
		if err := json.Unmarshal(in.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		if x.Error != nil {
			out[fmt.Sprintf("%s-%d/%s", x.Topic, x.Partition, x.Value)] = true
		}
	}
	return out
}

// checkRefused fails for a loss graded yes that holds a refused record.
func checkRefused(t *testing.T, where string, p *incident.Partition, refused map[string]bool) {
	t.Helper()
	for _, l := range p.Losses {
		if l.Committed != commitment.Yes || l.Basis != "copy" {
			continue
		}
		for _, c := range p.Copies {
			if c.Dir != l.Copies[0].File && !strings.HasPrefix(l.Copies[0].File, c.Dir+"/") || c.State != l.Copies[0].State {
				continue
			}
			for r, err := range diff.Records(c.Content(), []replica.Span{{From: *l.From, To: *l.To}}) {
				if err != nil {
					t.Fatal(err)
				}
				if refused[p.Name+"/"+string(r.Value)] {
					t.Errorf("%s %s: offset %d (%q) was refused, and is called committed", where, p.Name, r.Offset, r.Value)
				}
			}
		}
	}
}

// covered reports whether a loss lies in losses of the full case of the same
// grade. Traces may appear when a holder is taken away, but they claim nothing.
func covered(l *incident.Loss, full []incident.Loss) bool {
	if l.Committed == commitment.Unknown {
		return true
	}
	if l.From == nil || l.To == nil {
		return false
	}
	at := *l.From
	for range full {
		for _, f := range full {
			if f.Committed == l.Committed && f.From != nil && f.To != nil && *f.From <= at && at < *f.To {
				at = *f.To
			}
		}
	}
	return at >= *l.To
}

func TestBrokerTakenAway(t *testing.T) {
	for _, name := range fixture.Names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := fixture.Unpack(t, name)
			no := refused(t, dir)
			e := readExpected(t, dir)
			for _, stage := range stages(t, dir) {
				full := stories(t, incident.Options{}, stage)
				for _, p := range full {
					checkRefused(t, filepath.Base(stage), p, no)
				}
				brokers := brokerDirs(t, stage)
				if len(brokers) == 1 {
					continue
				}
				for _, away := range brokers {
					rest := slices.DeleteFunc(slices.Clone(brokers), func(b string) bool { return b == away })
					where := filepath.Base(stage) + " without " + filepath.Base(away)
					for part, p := range stories(t, incident.Options{}, rest...) {
						f := full[part]
						checkRefused(t, where, p, no)
						if f.Ruling.Leader == nil && p.Ruling.Leader == nil && p.Ruling.Judged {
							for _, c := range p.Candidates {
								for _, fc := range f.Candidates {
									for i := range c.Losses {
										if fc.Leader == c.Leader && !covered(&c.Losses[i], fc.Losses) {
											t.Errorf("%s %s if %s led: invented %s", where, part, c.Leader.Name, lossLines(c.Losses[i:i+1], true))
										}
									}
								}
							}
						}
						leaderGone := f.Ruling.Leader != nil && "broker-"+f.Ruling.Leader.Name == filepath.Base(away)
						switch {
						case leaderGone && !f.Ruling.Guess && !p.Ruling.Guess:
							if p.Ruling.Judged || len(p.Losses) > 0 {
								t.Errorf("%s %s: the ruling leader's disk is missing, and it judges: %+v %s", where, part, p.Ruling, lossLines(p.Losses, true))
							}
						case !leaderGone && f.Ruling.Leader != nil && p.Ruling.Leader != nil && f.Ruling.Leader.Name == p.Ruling.Leader.Name:
							for i := range p.Losses {
								if !covered(&p.Losses[i], f.Losses) {
									t.Errorf("%s %s: invented %s", where, part, lossLines(p.Losses[i:i+1], true))
								}
							}
						case p.Ruling.Leader != nil:
							// Another one rules by guess: what it lacks for certain must be what the
							// recording says that it would lose.
							want := e.Stages[filepath.Base(stage)].Partitions[part].IfElected[p.Ruling.Leader.Name]
							for _, l := range p.Losses {
								if l.Committed == commitment.Yes && !strings.Contains(wantedLosses(want.Losses, false), fmt.Sprintf("[%d,%d)", *l.From, *l.To)) {
									t.Errorf("%s %s: guessed leader %s: invented %s", where, part, p.Ruling.Leader.Name, lossLines([]incident.Loss{l}, true))
								}
							}
						}
						// Divergences of the pairs that are left are those of the full case; where
						// nobody rules any more, pairs are added that were not compared before.
						if !leaderGone && leaderOf(f) == leaderOf(p) && f.Ruling.Leader != nil {
							all := divergenceLines(f)
							for _, line := range strings.Split(strings.TrimSpace(divergenceLines(p)), "\n") {
								if !strings.Contains(all, line) {
									t.Errorf("%s %s: divergence invented: %s", where, part, line)
								}
							}
						}
					}
				}
			}
		})
	}
}

func TestDisksCopiedAtDifferentTimes(t *testing.T) {
	for _, tc := range []struct {
		fixture      string
		early, late  string
		earlyBrokers []string
		lateBrokers  []string
	}{
		{"epoch-history", "stage-a", "stage-c", []string{"broker-2"}, []string{"broker-1", "broker-3", "broker-9"}},
		{"epoch-history", "stage-a", "stage-c", []string{"broker-1"}, []string{"broker-2", "broker-3", "broker-9"}},
		{"epoch-history", "stage-a", "stage-c", []string{"broker-3"}, []string{"broker-1", "broker-2", "broker-9"}},
		{"divergence", "stage-a", "stage-c", []string{"broker-2"}, []string{"broker-1", "broker-3", "broker-9"}},
		{"divergence", "stage-a", "stage-c", []string{"broker-1"}, []string{"broker-2", "broker-3", "broker-9"}},
		{"divergence", "stage-a", "stage-c", []string{"broker-3"}, []string{"broker-1", "broker-2", "broker-9"}},
	} {
		dir := fixture.Unpack(t, tc.fixture)
		var paths []string
		for _, b := range tc.earlyBrokers {
			paths = append(paths, filepath.Join(dir, tc.early, b))
		}
		for _, b := range tc.lateBrokers {
			paths = append(paths, filepath.Join(dir, tc.late, b))
		}
		for part, p := range stories(t, incident.Options{}, paths...) {
			for i, l := range p.Losses {
				if l.Basis == "copy" && l.Counts() {
					t.Errorf("%s: %v of %s, the others of %s: %s: invented %s", tc.fixture, tc.earlyBrokers, tc.early, tc.late, part, lossLines(p.Losses[i:i+1], true))
				}
			}
		}
	}
}

func TestStaleMetadataSaySo(t *testing.T) {
	dir := fixture.Unpack(t, "unclean-election")
	stage := filepath.Join(dir, "stage-b")
	for _, b := range []string{"broker-2", "broker-3"} {
		if err := os.RemoveAll(filepath.Join(stage, b, "__cluster_metadata-0")); err != nil {
			t.Fatal(err)
		}
	}
	p := stories(t, incident.Options{}, stage)["unclean-demo-0"]
	if !p.Stale || !p.Ruling.Guess || leaderOf(p) != "2" {
		t.Fatalf("stale %v, ruling %+v", p.Stale, p.Ruling)
	}
	if !slices.ContainsFunc(codes(p), func(c string) bool { return c == "metadata-stale" }) {
		t.Errorf("nothing says that the metadata are stale: %v", codes(p))
	}
	if len(p.Losses) != 1 || p.Losses[0].Committed != commitment.Yes || *p.Losses[0].From != 100 || *p.Losses[0].To != 200 {
		t.Fatalf("losses %s", lossLines(p.Losses, true))
	}
	for _, ev := range p.Losses[0].Evidence {
		if ev.Kind == commitment.CleanElectionKind {
			t.Error("stale metadata prove a clean election")
		}
	}
	if p.Losses[0].Cause != incident.CauseUnknown {
		t.Errorf("stale metadata give the cause %s", p.Losses[0].Cause)
	}
}

func codes(p *incident.Partition) []string {
	var out []string
	for _, f := range p.Findings {
		out = append(out, string(f.Code))
	}
	return out
}

// TestProofTakenAway removes each kind of proof in turn: the grade falls to what
// the rest proves and never rises.
func TestProofTakenAway(t *testing.T) {
	remove := map[string]func(path string, d fs.DirEntry) bool{
		"watermark files": func(path string, d fs.DirEntry) bool { return d.Name() == "replication-offset-checkpoint" },
		"metadata logs": func(path string, d fs.DirEntry) bool {
			return strings.Contains(path, "__cluster_metadata-0") && !d.IsDir()
		},
		"epoch files":     func(path string, d fs.DirEntry) bool { return d.Name() == "leader-epoch-checkpoint" },
		"log start files": func(path string, d fs.DirEntry) bool { return d.Name() == "log-start-offset-checkpoint" },
	}
	for _, name := range fixture.Names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := fixture.Unpack(t, name)
			no := refused(t, whole)
			for what, gone := range remove {
				dir := fixture.Unpack(t, name)
				err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
					if err == nil && gone(path, d) {
						return os.Remove(path)
					}
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
				for _, stage := range stages(t, dir) {
					full := stories(t, incident.Options{}, filepath.Join(whole, filepath.Base(stage)))
					for part, p := range stories(t, incident.Options{}, stage) {
						f := full[part]
						where := fmt.Sprintf("%s without %s", filepath.Base(stage), what)
						checkRefused(t, where, p, no)
						if f == nil || leaderOf(f) != leaderOf(p) || f.Ruling.Leader == nil {
							continue
						}
						for i, l := range p.Losses {
							if rank[l.Committed] > 0 && !covered(&p.Losses[i], f.Losses) {
								t.Errorf("%s %s: the grade rose: %s\nfull: %s", where, part, lossLines(p.Losses[i:i+1], true), lossLines(f.Losses, true))
							}
						}
					}
				}
			}
		})
	}
}
