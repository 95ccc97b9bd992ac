package incident_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"kafsck/commitment"
	"kafsck/diff"
	"kafsck/incident"
	"kafsck/internal/fixture"
	"kafsck/replica"
)

// rank orders grades by how much they claim about a commitment.
var rank = map[commitment.Grade]int{commitment.Unknown: 0, commitment.No: 1, commitment.Yes: 2}

func stages(t *testing.T, tree fstest.MapFS) []string { return folders(t, tree, "stage") }

func brokerDirs(t *testing.T, stage fstest.MapFS) []string { return folders(t, stage, "broker-") }

// folders are those at the top of a tree whose names begin with prefix.
func folders(t *testing.T, tree fstest.MapFS, prefix string) []string {
	t.Helper()
	seen := map[string]bool{}
	for name := range tree {
		if first, _, inside := strings.Cut(name, "/"); inside && strings.HasPrefix(first, prefix) {
			seen[first] = true
		}
	}
	if len(seen) == 0 {
		t.Fatalf("no %s", prefix)
	}
	return slices.Sorted(maps.Keys(seen))
}

// without is a tree less the files that gone tells.
func without(tree fstest.MapFS, gone func(name string) bool) fstest.MapFS {
	out := maps.Clone(tree)
	maps.DeleteFunc(out, func(name string, _ *fstest.MapFile) bool { return gone(name) })
	return out
}

// refused reads the values that a producer was told are not written.
func refused(t *testing.T, tree fstest.MapFS) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	f := tree["acks.jsonl"]
	if f == nil {
		return out
	}
	in := bufio.NewScanner(bytes.NewReader(f.Data))
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

// recordings are all of them; a few under the race detector (-short), to which one is like another.
func recordings() []string {
	if testing.Short() {
		return []string{"unclean-election", "kip279-silent-fork", "below-hw-clean"}
	}
	return fixture.Names
}

func TestBrokerTakenAway(t *testing.T) {
	for _, name := range recordings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := fixture.Tree(t, name)
			no := refused(t, tree)
			e := readExpected(t, tree)
			for _, stage := range stages(t, tree) {
				all := below(tree, stage)
				full := stories(t, incident.Options{}, all)
				for _, p := range full {
					checkRefused(t, stage, p, no)
				}
				brokers := brokerDirs(t, all)
				if len(brokers) == 1 {
					continue
				}
				for _, away := range brokers {
					rest := without(all, func(name string) bool { return strings.HasPrefix(name, away+"/") })
					where := stage + " without " + away
					for part, p := range stories(t, incident.Options{}, rest) {
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
						leaderGone := f.Ruling.Leader != nil && "broker-"+f.Ruling.Leader.Name == away
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
							want := e.Stages[stage].Partitions[part].IfElected[p.Ruling.Leader.Name]
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
		tree := fixture.Tree(t, tc.fixture)
		mixed := fstest.MapFS{}
		take := func(stage string, brokers []string) {
			for name, f := range below(tree, stage) {
				if first, _, _ := strings.Cut(name, "/"); slices.Contains(brokers, first) {
					mixed[name] = f
				}
			}
		}
		take(tc.early, tc.earlyBrokers)
		take(tc.late, tc.lateBrokers)
		for part, p := range stories(t, incident.Options{}, mixed) {
			for i, l := range p.Losses {
				if l.Basis == "copy" && l.Counts() {
					t.Errorf("%s: %v of %s, the others of %s: %s: invented %s", tc.fixture, tc.earlyBrokers, tc.early, tc.late, part, lossLines(p.Losses[i:i+1], true))
				}
			}
		}
	}
}

func TestStaleMetadataSaySo(t *testing.T) {
	stage := without(below(fixture.Tree(t, "unclean-election"), "stage-b"), func(name string) bool {
		return strings.Contains(name, "__cluster_metadata-0") && !strings.HasPrefix(name, "broker-1/")
	})
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
	remove := map[string]func(name string) bool{
		"watermark files": func(name string) bool { return path.Base(name) == "replication-offset-checkpoint" },
		"metadata logs":   func(name string) bool { return strings.Contains(name, "__cluster_metadata-0") },
		"epoch files":     func(name string) bool { return path.Base(name) == "leader-epoch-checkpoint" },
		"log start files": func(name string) bool { return path.Base(name) == "log-start-offset-checkpoint" },
	}
	for _, name := range recordings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := fixture.Tree(t, name)
			no := refused(t, tree)
			for _, stage := range stages(t, tree) {
				whole := below(tree, stage)
				full := stories(t, incident.Options{}, whole)
				for what, gone := range remove {
					for part, p := range stories(t, incident.Options{}, without(whole, gone)) {
						f := full[part]
						where := fmt.Sprintf("%s without %s", stage, what)
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
