package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kafsck/internal/fixture"
)

// oldAnswers is what expected.json says of one partition of a recording without leader epochs.
type oldAnswers struct {
	Leader      *int32           `json:"leader"`
	LeaderGuess bool             `json:"leaderGuess"`
	Eligible    []int32          `json:"eligible"`
	Replicas    []map[string]any `json:"replicas"`
	Divergences []map[string]any `json:"divergences"`
	Losses      []map[string]any `json:"losses"`
	IfElected   map[string]struct {
		Losses []map[string]any `json:"losses"`
	} `json:"ifElected"`
	WithServerLog *struct {
		Leader *int32           `json:"leader"`
		Losses []map[string]any `json:"losses"`
	} `json:"withServerLog"`
	WithAcks *struct {
		Losses []map[string]any `json:"losses"`
	} `json:"withAcks"`
}

// TestAnswersWithoutEpochs: every answer of the recordings in which brokers followed high
// watermarks or ZooKeeper alone, by the program's JSON: who rules, each divergence, each loss with
// its grade and proof, what each replica would lose as a leader; and the same with the brokers'
// text logs, and with the producers' acknowledgements. The files have the times of the recording,
// from truth.json, by which lines of the text logs that are later do not count.
func TestAnswersWithoutEpochs(t *testing.T) {
	for _, name := range []string{"hw-truncation-loss", "hw-truncation-oldformat", "hw-truncation-none", "zk-unclean-election", "kip279-silent-fork"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := fixture.Unpack(t, name)
			var logs []string
			for path, f := range fixture.Tree(t, "server-logs") {
				if strings.HasPrefix(path, name+"/") {
					log := filepath.Join(dir, filepath.Base(path))
					write(t, log, string(f.Data))
					logs = append(logs, "--server-log", log)
				}
			}
			var want struct {
				Stages map[string]struct {
					Partitions map[string]oldAnswers `json:"partitions"`
				} `json:"stages"`
			}
			data, err := os.ReadFile(filepath.Join(dir, "expected.json"))
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			restoreTimes(t, dir)
			if testing.Short() {
				want.Stages = map[string]struct {
					Partitions map[string]oldAnswers `json:"partitions"`
				}{"stage-c": want.Stages["stage-c"]}
			}
			for stage, s := range want.Stages {
				path := filepath.Join(dir, stage)
				plain := append(answers(t, "diff", "--json", path), answers(t, "loss", "--json", path)...)
				plain = append(plain, answers(t, "ls", "--json", path)...)
				logged := answers(t, append([]string{"loss", "--json", path}, logs...)...)
				acked := answers(t, "loss", "--json", "--acks", filepath.Join(dir, "acks.jsonl"), path)
				for part, w := range s.Partitions {
					same := func(what string, got, want []string) {
						t.Helper()
						slices.Sort(got)
						slices.Sort(want)
						if got, want = slices.Compact(got), slices.Compact(want); !slices.Equal(got, want) {
							t.Errorf("%s %s: %s\n got %s\nwant %s", stage, part, what, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
						}
					}
					same("ruling", of(plain, part, "ruling", rulingText), []string{fmt.Sprint(brokerText(w.Leader), " guess ", w.LeaderGuess)})
					same("divergences", of(plain, part, "divergence", divergenceText), texts(w.Divergences, divergenceText))
					same("losses", of(plain, part, "loss", lossText), texts(w.Losses, lossText))
					same("replicas", of(plain, part, "replica", replicaText), texts(w.Replicas, replicaText))
					if w.Leader == nil {
						var candidates []string
						for id, c := range w.IfElected {
							candidates = append(candidates, id+": "+strings.Join(texts(c.Losses, lossText), "; "))
						}
						same("candidates", of(plain, part, "candidate", candidateText), candidates)
					}
					if x := w.WithServerLog; x != nil {
						same("losses with server logs", of(logged, part, "loss", lossText), texts(x.Losses, lossText))
						if x.Leader != nil {
							same("ruling with server logs", of(logged, part, "ruling", rulingText), []string{fmt.Sprint(brokerText(x.Leader), " guess true")})
						}
					}
					if x := w.WithAcks; x != nil {
						got := of(acked, part, "loss", ackedText)
						for _, l := range texts(x.Losses, ackedText) {
							if !slices.Contains(got, l) {
								t.Errorf("%s %s: with acks: no %s among %q", stage, part, l, got)
							}
						}
					}
				}
			}
		})
	}
}

// restoreTimes gives the files of a recording the times at which its brokers wrote them.
func restoreTimes(t *testing.T, dir string) {
	t.Helper()
	type disk struct {
		FileTimes  map[string]int64 `json:"fileTimes"`
		Partitions map[string]struct {
			FileTimes map[string]int64 `json:"fileTimes"`
		} `json:"partitions"`
	}
	var truth struct {
		Stages map[string]struct {
			Brokers map[string]disk `json:"brokers"`
		} `json:"stages"`
	}
	data, err := os.ReadFile(filepath.Join(dir, "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &truth); err != nil {
		t.Fatal(err)
	}
	for stage, s := range truth.Stages {
		for broker, d := range s.Brokers {
			times, oldest := map[string]int64{}, int64(-1)
			take := func(folder string, list map[string]int64) {
				for name, ms := range list {
					times[filepath.Join(dir, stage, broker, folder, name)] = ms
					if oldest < 0 || ms < oldest {
						oldest = ms
					}
				}
			}
			take("", d.FileTimes)
			for name, p := range d.Partitions {
				take(name, p.FileTimes)
			}
			if oldest < 0 {
				continue
			}
			err := filepath.WalkDir(filepath.Join(dir, stage, broker), func(path string, e os.DirEntry, err error) error {
				if err != nil || e.IsDir() {
					return err
				}
				ms, ok := times[path]
				if !ok {
					ms = oldest
				}
				return os.Chtimes(path, time.UnixMilli(ms), time.UnixMilli(ms))
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// answers runs the program and returns its lines.
func answers(t *testing.T, args ...string) []map[string]any {
	t.Helper()
	code, out, errs := kafsck(args...)
	if code > 1 || errs != "" {
		t.Errorf("%q: exit code %d: %s", args, code, errs)
	}
	return lines(t, out)
}

// of are the lines of a type that are about a partition, as short text.
func of(all []map[string]any, partition, kind string, text func(map[string]any) string) []string {
	var out []string
	for _, l := range all {
		if l["type"] == kind && l["partition"] == partition {
			out = append(out, text(l))
		}
	}
	return out
}

func texts(list []map[string]any, text func(map[string]any) string) []string {
	var out []string
	for _, l := range list {
		out = append(out, text(l))
	}
	return out
}

func brokerText(n *int32) string {
	if n == nil {
		return "<nil>"
	}
	return fmt.Sprint(*n)
}

func rulingText(l map[string]any) string { return fmt.Sprint(l["leader"], " guess ", l["guess"]) }

// divergenceText is divergence with the offset from which both are the same again.
func divergenceText(l map[string]any) string {
	equal := any(nil)
	if strings.HasSuffix(l["kind"].(string), "fork") {
		equal = l["equalFrom"]
	}
	return fmt.Sprint(divergence(l), " equal from ", equal)
}

func replicaText(l map[string]any) string {
	return fmt.Sprint(l["broker"], " ", l["state"], " [", l["logStartOffset"], ",", l["logEndOffset"], ") watermark ", l["highWatermark"])
}

func lossText(l map[string]any) string {
	var kinds []string
	for _, e := range list(l["evidence"]) {
		if m, ok := e.(map[string]any); ok {
			e = m["kind"]
		}
		kinds = append(kinds, fmt.Sprint(e))
	}
	slices.Sort(kinds)
	return fmt.Sprintf("%v [%v,%v) records %v epochs %v committed %v by %v held by %v", l["basis"], l["from"], l["to"], l["records"], list(l["epochs"]), l["committed"], slices.Compact(kinds), list(l["heldBy"]))
}

func ackedText(l map[string]any) string {
	return fmt.Sprintf("%v [%v,%v) committed %v acknowledged %v", l["basis"], l["from"], l["to"], l["committed"], l["acknowledged"])
}

func candidateText(l map[string]any) string {
	var out []string
	for _, x := range list(l["losses"]) {
		out = append(out, lossText(x.(map[string]any)))
	}
	return fmt.Sprint(l["leader"], ": ", strings.Join(out, "; "))
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// TestOldFormatsAreSound: nothing is lost in the log directory that went from broker 0.9.0.1 to
// 2.8.2, and no start takes anything of value away, although the cleaner has left files behind. A
// start ends where the next stage's producers went on: behind the last acknowledged record.
func TestOldFormatsAreSound(t *testing.T) {
	dir := fixture.Unpack(t, "old-formats")
	var truth struct {
		Lineage []struct {
			Stage string           `json:"stage"`
			Acked map[string]int64 `json:"lastOffsetAcked"`
		} `json:"lineage"`
	}
	data, err := os.ReadFile(filepath.Join(dir, "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &truth); err != nil {
		t.Fatal(err)
	}
	release := map[string]string{"stage1-0.9.0.1": "0.10", "stage2-0.10.2.2": "0.10", "stage3-2.4.1-format-0.10.2": "2.4", "stage4-2.4.1-format-2": "2.4", "stage5-2.8.2": "2.8"}
	for i, s := range truth.Lineage {
		if testing.Short() && i > 0 {
			break
		}
		stage := filepath.Join(dir, s.Stage)
		for _, args := range [][]string{{"loss"}, {"diff"}, {}, {"epochs"}} {
			if code, out, errs := kafsck(append(args, stage)...); code != 0 || errs != "" {
				t.Errorf("%s %q: exit code %d: %s\n%s", s.Stage, args, code, errs, out)
			}
		}
		code, out, errs := kafsck("predict", "start", "--json", "--kafka", release[s.Stage], stage)
		if code != 0 || errs != "" {
			t.Errorf("%s: predict start: exit code %d: %s", s.Stage, code, errs)
		}
		n := 0
		for _, l := range lines(t, out) {
			if l["type"] != "predicted-start" {
				continue
			}
			n++
			topic := strings.TrimSuffix(l["partition"].(string), "-0")
			if want := fmt.Sprint(s.Acked[topic] + 1); fmt.Sprint(l["logEndOffset"]) != want || l["outcome"] != "ok" || len(list(l["lost"])) > 0 {
				t.Errorf("%s %s: %v, log end %v, want %s; lost %v", s.Stage, topic, l["outcome"], l["logEndOffset"], want, l["lost"])
			}
		}
		if n != len(s.Acked) {
			t.Errorf("%s: %d partitions, want %d", s.Stage, n, len(s.Acked))
		}
	}
}
