package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kafsck/epoch"
	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/repair"
)

const (
	sharedFixtures = "../../shared/fixtures"
	epochsName     = "leader-epoch-checkpoint"
)

// planned is one regenerated file.
type planned struct {
	dir  *logdir.Partition
	plan *repair.EpochPlan
}

// planAll regenerates the checkpoint of every directory below roots, by host path.
func planAll(t *testing.T, opt repair.EpochOptions, roots ...string) map[string]planned {
	t.Helper()
	c, err := logdir.Discover(roots, logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if len(c.Errors) > 0 {
		t.Fatal(c.Errors)
	}
	out := map[string]planned{}
	for p := range incident.Open(c, incident.Options{}).Partitions(t.Context()) {
		if len(p.Errors) > 0 {
			t.Fatal(p.Errors)
		}
		for _, cp := range p.Copies {
			if !repair.Regenerates(cp) {
				continue
			}
			plan, err := repair.PlanEpochs(t.Context(), p, cp, opt)
			if err != nil {
				t.Fatal(err)
			}
			out[cp.Log.Partition.HostPath] = planned{cp.Log.Partition, plan}
		}
	}
	return out
}

// copyTree copies directories and files, those whose path below from wanted takes.
func copyTree(t *testing.T, from, to string, wanted func(rel string, d fs.DirEntry) bool) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch {
		case rel != "." && !wanted(filepath.ToSlash(rel), d):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		return errors.Join(os.WriteFile(target, b, 0o644), os.Chtimes(target, info.ModTime(), info.ModTime()))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// stage is one moment of a recording.
type stage struct {
	name     string // "recording/stage"
	recorded string // where it lies
	work     string // a copy without the files that no plan looks at
}

// stages copies every stage of every recording to a new directory.
func stages(t *testing.T) []stage {
	t.Helper()
	root, unpacked := t.TempDir(), t.TempDir()
	var out []stage
	add := func(name, recorded string) {
		s := stage{name, recorded, filepath.Join(root, name)}
		copyTree(t, recorded, s.work, func(rel string, _ fs.DirEntry) bool {
			return !slices.Contains([]string{".index", ".timeindex", ".txnindex", ".snapshot"}, filepath.Ext(rel))
		})
		out = append(out, s)
	}
	found, err := filepath.Glob(filepath.Join(sharedFixtures, "*", "*"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no recordings in %s beside the clone (%v)", sharedFixtures, err)
	}
	for _, path := range found {
		name, err := filepath.Rel(sharedFixtures, path)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		base := filepath.Base(path)
		switch {
		case slices.Contains([]string{"dump", "logs", "consumed", "consumer"}, base), strings.HasPrefix(name, "dump-samples"), strings.HasPrefix(name, "metadata"):
		case info.IsDir():
			add(name, path)
		case strings.HasSuffix(base, ".tar.gz"):
			name = strings.TrimSuffix(name, ".tar.gz")
			dir := filepath.Join(unpacked, name)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			abs, err := filepath.Abs(path)
			if err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command("tar", "-xzf", abs, "-C", dir).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			add(name, dir)
		}
	}
	return out
}

// repairCase is one way to lose the epoch files of a log directory, and what
// became of them.
type repairCase struct {
	name   string            // "recording/stage broker way"
	logDir string            // as recorded
	text   map[string][]byte // partition directory → new file, those that differ from the recorded one
	plans  map[string]*repair.EpochPlan
}

// regenerate makes the cases of one stage: every broker's epoch files as they are
// (kept), lost with nothing else at hand (alone), lost beside the other brokers'
// directories (siblings), and full of zeros, which must be no other than lost.
func regenerate(t *testing.T, s stage) (cases []repairCase, replicas int) {
	t.Helper()
	dir := s.work
	kept := planAll(t, repair.EpochOptions{}, dir)
	byBroker := map[string][]string{} // broker's folder → partition directories
	for host := range kept {
		folder := filepath.Dir(host)
		if rel, err := filepath.Rel(dir, folder); err == nil && rel != "." {
			folder = filepath.Join(dir, strings.Split(filepath.ToSlash(rel), "/")[0])
		}
		byBroker[folder] = append(byBroker[folder], host)
	}
	for _, folder := range slices.Sorted(maps.Keys(byBroker)) {
		hosts := byBroker[folder]
		was := map[string][]byte{}
		for _, h := range hosts {
			if b, err := os.ReadFile(filepath.Join(h, epochsName)); err == nil {
				was[h] = b
			}
		}
		forget := func(content []byte) {
			for _, h := range hosts {
				path := filepath.Join(h, epochsName)
				if content == nil {
					os.Remove(path)
				} else if err := os.WriteFile(path, content, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
		forget(nil)
		alone := planAll(t, repair.EpochOptions{}, folder)
		siblings := alone
		if len(byBroker) > 1 {
			siblings = planAll(t, repair.EpochOptions{}, dir)
		}
		forget(make([]byte, 64))
		zeros := planAll(t, repair.EpochOptions{}, folder)
		for _, h := range hosts {
			replicas++
			if d := zeros[h].plan; d.Old.Malformed == nil || !bytes.Equal(d.Text(), alone[h].plan.Text()) {
				t.Errorf("%s: a file of zeros gives %q, a missing one %q", h, d.Text(), alone[h].plan.Text())
			}
		}
		forget(nil)
		for h, b := range was {
			if err := os.WriteFile(filepath.Join(h, epochsName), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		rel, err := filepath.Rel(dir, folder)
		if err != nil {
			t.Fatal(err)
		}
		for way, plans := range map[string]map[string]planned{"kept": kept, "alone": alone, "siblings": siblings} {
			byDir := map[string]*repairCase{}
			for _, h := range hosts {
				inStage, err := filepath.Rel(dir, filepath.Dir(h))
				if err != nil {
					t.Fatal(err)
				}
				logDir := filepath.Join(s.recorded, inStage)
				c := byDir[logDir]
				if c == nil {
					c = &repairCase{name: fmt.Sprintf("%s %s %s", s.name, rel, way), logDir: logDir, text: map[string][]byte{}, plans: map[string]*repair.EpochPlan{}}
					byDir[logDir] = c
				}
				name := filepath.Base(h)
				c.plans[name] = plans[h].plan
				if text := plans[h].plan.Text(); !bytes.Equal(text, was[h]) && (was[h] != nil || len(plans[h].plan.Entries) > 0) {
					c.text[name] = text
				}
				if way == "kept" && plans[h].plan.Changed {
					t.Errorf("%s: a recorded file is called wrong: %q → %q", h, was[h], plans[h].plan.Text())
				}
			}
			for _, logDir := range slices.Sorted(maps.Keys(byDir)) {
				cases = append(cases, *byDir[logDir])
			}
		}
	}
	return cases, replicas
}

// loads is what Kafka holds for each partition of a directory: loaded as after a
// clean stop, as after a kill, and recovered from the first batch on without epoch
// file.
type loads struct{ clean, killed, recovered map[string]entries }

// loadCaches has Kafka load directories; recover tells for which the third answer is
// wanted.
func loadCaches(t *testing.T, dirs []string, recover func(dir string) bool) []loads {
	t.Helper()
	zero := int64(0)
	var requests []any
	for _, dir := range dirs {
		requests = append(requests, loadRequest{Path: dir, Clean: "present", KeepStray: true}, loadRequest{Path: dir, Clean: "absent", KeepStray: true})
		if recover(dir) {
			requests = append(requests, loadRequest{Path: dir, Clean: "absent", KeepStray: true, RecoveryPoint: &zero, Drop: []string{epochsName, "*.snapshot"}})
		}
	}
	// Two JVMs, so that both cores work: one takes the even requests, one the odd.
	parts, answers := make([][]any, 2), make([][]json.RawMessage, 2)
	for i, r := range requests {
		parts[i%2] = append(parts[i%2], r)
	}
	ok := t.Run("in Kafka", func(t *testing.T) {
		for i := range parts {
			t.Run(fmt.Sprint("half ", i), func(t *testing.T) {
				t.Parallel()
				answers[i] = oracle(t, []string{"load", "-"}, parts[i])
			})
		}
	})
	if !ok {
		t.FailNow()
	}
	var flat []map[string]entries
	for i := range requests {
		raw := answers[i%2][i/2]
		var l loaded
		if err := json.Unmarshal(raw, &l); err != nil {
			t.Fatalf("%v: %s", err, raw)
		}
		caches := map[string]entries{}
		for name, p := range l.Partitions {
			if p.Outcome == "ok" {
				caches[name] = p.EpochCache
			}
		}
		flat = append(flat, caches)
	}
	var out []loads
	for _, dir := range dirs {
		l := loads{clean: flat[0], killed: flat[1]}
		flat = flat[2:]
		if recover(dir) {
			l.recovered, flat = flat[0], flat[1:]
		}
		out = append(out, l)
	}
	return out
}

// TestRepairedRecordings: Kafka, with and without the clean marker, holds the
// same epochs with a regenerated file as with the recorded one, for every replica
// at hand. Where it cannot, the difference is listed by name, follows from the
// recording, and was told.
func TestRepairedRecordings(t *testing.T) {
	var cases []repairCase
	replicas := 0
	for _, s := range stages(t) {
		c, n := regenerate(t, s)
		cases = append(cases, c...)
		replicas += n
	}
	same := 0
	cases = slices.DeleteFunc(cases, func(c repairCase) bool {
		if len(c.text) == 0 {
			same++
		}
		return len(c.text) == 0
	})
	// For each log directory: the partitions concerned as recorded, and as many copies
	// of them as some partition has different new files.
	type want struct{ logDir, partition, text string }
	copyOf := map[want]int{} // which copy has that file, from 1
	copies := map[string][]map[string]string{}
	for _, c := range cases {
		for name, text := range c.text {
			w := want{c.logDir, name, string(text)}
			if copyOf[w] > 0 {
				continue
			}
			list := copies[c.logDir]
			i := slices.IndexFunc(list, func(m map[string]string) bool { _, taken := m[name]; return !taken })
			if i < 0 {
				i, list = len(list), append(list, map[string]string{})
				copies[c.logDir] = list
			}
			list[i][name], copyOf[w] = w.text, i+1
		}
	}
	made := t.TempDir()
	var dirs []string
	first := map[string]int{} // log directory → its place in dirs as recorded; its copies follow
	for _, logDir := range slices.Sorted(maps.Keys(copies)) {
		first[logDir] = len(dirs)
		for _, texts := range append([]map[string]string{nil}, copies[logDir]...) {
			dir := filepath.Join(made, fmt.Sprint(len(dirs)), filepath.Base(logDir))
			copyTree(t, logDir, dir, func(rel string, d fs.DirEntry) bool {
				top, _, below := strings.Cut(rel, "/")
				_, concerned := texts[top]
				if texts == nil {
					_, concerned = copies[logDir][0][top]
				}
				return !below && !d.IsDir() || concerned
			})
			for name, text := range texts {
				if err := os.WriteFile(filepath.Join(dir, name, epochsName), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			dirs = append(dirs, dir)
		}
	}
	recorded := map[string]bool{}
	for _, i := range first {
		recorded[dirs[i]] = true
	}
	caches := loadCaches(t, dirs, func(dir string) bool { return recorded[dir] })
	seen := map[string]string{}
	compared := 0
	for _, c := range cases {
		was := caches[first[c.logDir]]
		for name, text := range c.text {
			is := caches[first[c.logDir]+copyOf[want{c.logDir, name, string(text)}]]
			if _, ok := was.clean[name]; !ok {
				continue // Kafka refuses the directory for other reasons
			}
			compared++
			key := c.name + " " + name
			if clean, killed := fmt.Sprint(was.clean[name], " → ", is.clean[name]), fmt.Sprint(was.killed[name], " → ", is.killed[name]); clean != killed {
				t.Errorf("%s: %s when clean, %s when killed", key, clean, killed)
			}
			p := c.plans[name]
			if strings.Contains(c.name, " alone") {
				// What the batches say is what Kafka itself recovers from them.
				want := fmt.Sprint(fromStart(was.recovered[name], p.LogStart))
				if got := fmt.Sprint(ofCache(p.Cache())); got != want {
					t.Errorf("%s: %s, and Kafka recovers %s from the batches", key, got, want)
				}
			}
			if fmt.Sprint(was.clean[name]) == fmt.Sprint(is.clean[name]) {
				continue
			}
			if len(p.Unknown) == 0 {
				t.Errorf("%s: %v → %v, and nothing was said of it", key, was.clean[name], is.clean[name])
			}
			seen[key] = fmt.Sprintf("%v → %v", was.clean[name], is.clean[name])
		}
	}
	if n := checkAgainstTruth(t, cases); n == 0 {
		t.Error("no truth.json tells the epochs of batches")
	}
	for _, key := range slices.Sorted(maps.Keys(seen)) {
		if knownDifferences[key] != seen[key] {
			t.Errorf("%q: %q,", key, seen[key])
		}
	}
	for key := range knownDifferences {
		if seen[key] == "" {
			t.Errorf("%s is listed as different and is not", key)
		}
	}
	t.Logf("%d replicas; %d log directories with byte for byte the recorded files, %d others with %d replicas loaded by Kafka", replicas, same, len(cases), compared)
}

// checkAgainstTruth holds what was regenerated from batches alone against the epochs
// that kafka-dump-log showed when the recording was made.
func checkAgainstTruth(t *testing.T, cases []repairCase) (checked int) {
	t.Helper()
	for _, c := range cases {
		words := strings.Fields(c.name)
		recording, stage, _ := strings.Cut(words[0], "/")
		if words[2] != "alone" {
			continue
		}
		b, err := os.ReadFile(filepath.Join(sharedFixtures, recording, "truth.json"))
		if err != nil {
			t.Fatal(err)
		}
		var truth struct {
			Stages map[string]struct {
				Brokers map[string]struct {
					Partitions map[string]struct {
						BatchEpochRanges []struct{ Epoch, First int64 }
					}
				}
			}
		}
		if json.Unmarshal(b, &truth) != nil {
			continue // another form, without these ranges
		}
		for name, p := range c.plans {
			var headers entries
			for _, r := range truth.Stages[stage].Brokers[words[1]].Partitions[name].BatchEpochRanges {
				if n := len(headers); r.Epoch >= 0 && (n == 0 || r.Epoch > headers[n-1][0]) {
					headers = append(headers, [2]int64{r.Epoch, r.First})
				}
			}
			if headers == nil {
				continue
			}
			checked++
			if got, want := fmt.Sprint(ofCache(p.Cache())), fmt.Sprint(fromStart(headers, p.LogStart)); got != want {
				t.Errorf("%s %s: %s, truth.json says %s", c.name, name, got, want)
			}
		}
	}
	return checked
}

// fromStart is what a recovered cache is in a file: cut at the log start, and epoch
// 0, the lowest there is, from there on.
func fromStart(e entries, start int64) entries {
	var c epoch.Cache
	for _, x := range e {
		c = append(c, epoch.Entry{Epoch: int32(x[0]), StartOffset: x[1]})
	}
	c = c.TruncateFromStart(start)
	if len(c) > 0 && c[0].Epoch == 0 {
		c[0].StartOffset = start
	}
	return ofCache(c)
}

// knownDifferences are the replicas whose headers, and siblings, know less than
// the recorded file. Each follows from truth.json of the recording.
var knownDifferences = map[string]string{
	"base/B1 . alone kv-0":                                               "[[0 0] [1 110] [4 205]] → [[0 0] [1 115] [4 205]]",
	"base/B1 . siblings kv-0":                                            "[[0 0] [1 110] [4 205]] → [[0 0] [1 115] [4 205]]",
	"base/C1 b1 alone kv-0":                                              "[[0 0] [1 110] [4 205]] → [[0 0] [1 115] [4 205]]",
	"base/C1 b2 alone kv-0":                                              "[[0 0] [1 110] [4 205]] → [[0 0] [1 115] [4 205]]",
	"base/C1 b3 alone kv-0":                                              "[[0 0] [1 110] [4 205]] → [[0 0] [1 115] [4 205]]",
	"base/C1t b1 alone kvt-0":                                            "[[1 0] [4 100]] → [[1 13] [4 104]]",
	"base/C1t b2 alone kvt-0":                                            "[[1 0] [4 100]] → [[1 13] [4 104]]",
	"base/C1t b3 alone kvt-0":                                            "[[1 0] [4 100]] → [[1 13] [4 104]]",
	"compaction/stage2-killed broker-1 alone compact-delete-0":           "[[0 38] [2 167]] → [[2 172]]",
	"compaction/stage2-killed broker-1 alone compact-plain-0":            "[[0 0] [3 144]] → [[0 0] [3 145]]",
	"compaction/stage2-killed broker-2 alone compact-delete-0":           "[[0 38] [2 167]] → [[0 38] [2 172]]",
	"compaction/stage2-killed broker-2 alone compact-plain-0":            "[[0 0] [3 144]] → [[0 0] [3 145]]",
	"epoch-history/stage-a broker-1 alone epochs-compact-0":              "[[0 0] [1 24] [4 48] [5 72] [6 96] [9 120] [10 144]] → [[4 61] [9 140] [10 144]]",
	"epoch-history/stage-a broker-2 alone epochs-compact-0":              "[[0 0] [1 24] [4 48] [5 80] [6 96] [9 120] [10 144]] → [[4 61] [9 140] [10 144]]",
	"epoch-history/stage-a broker-2 siblings epochs-compact-0":           "[[0 0] [1 24] [4 48] [5 80] [6 96] [9 120] [10 144]] → [[0 0] [1 24] [4 48] [5 72] [6 96] [9 120] [10 144]]",
	"epoch-history/stage-a broker-3 alone epochs-compact-0":              "[[0 0] [1 24] [4 48] [5 72] [6 96] [9 120] [10 144]] → [[4 61] [9 140] [10 144]]",
	"epoch-history/stage-b broker-1 alone epochs-compact-0":              "[[0 0] [1 24] [4 48] [5 72] [6 96] [9 120] [10 144]] → [[4 61] [9 140] [10 144]]",
	"epoch-history/stage-b broker-2 alone epochs-compact-0":              "[[0 0] [1 24] [4 48] [5 80] [6 96] [9 120] [10 144]] → [[4 61] [9 140] [10 144]]",
	"epoch-history/stage-b broker-2 siblings epochs-compact-0":           "[[0 0] [1 24] [4 48] [5 80] [6 96] [9 120] [10 144]] → [[0 0] [1 24] [4 48] [5 72] [6 96] [9 120] [10 144]]",
	"epoch-history/stage-b broker-3 alone epochs-compact-0":              "[[0 0] [1 24] [4 48] [5 72] [6 96] [9 120] [10 144]] → [[4 61] [9 140] [10 144]]",
	"epoch-history/stage-c broker-1 alone epochs-compact-0":              "[[0 0] [1 24] [4 48] [5 72] [6 96] [9 120] [10 144] [16 168] [17 176] [18 184]] → [[4 61] [17 177] [18 184]]",
	"epoch-history/stage-c broker-2 alone epochs-compact-0":              "[[0 0] [1 24] [4 48] [5 80] [6 96] [9 120] [10 144] [16 168] [17 176]] → [[4 61] [10 157] [16 168] [17 176]]",
	"epoch-history/stage-c broker-2 siblings epochs-compact-0":           "[[0 0] [1 24] [4 48] [5 80] [6 96] [9 120] [10 144] [16 168] [17 176]] → [[0 0] [1 24] [4 48] [5 72] [6 96] [9 120] [10 144] [16 168] [17 176]]",
	"epoch-history/stage-c broker-3 alone epochs-compact-0":              "[[0 0] [1 24] [4 48] [5 72] [6 96] [9 120] [10 144] [16 168] [17 176] [18 184]] → [[4 61] [17 177] [18 184]]",
	"old-formats/stage4-2.4.1-format-2 broker-4 alone life_compact-0":    "[[3 720]] → [[3 900]]",
	"old-formats/stage4-2.4.1-format-2 broker-4 siblings life_compact-0": "[[3 720]] → [[3 900]]",
	"old-formats/stage5-2.8.2 broker-4 alone life_compact-0":             "[[3 720]] → [[3 900]]",
	"old-formats/stage5-2.8.2 broker-4 siblings life_compact-0":          "[[3 720]] → [[3 900]]",
	"tiered/stage1-killed broker-3 alone tier-expire-0":                  "[[0 34] [2 51] [4 90]] → [[4 120]]",
	"tiered/stage1-killed broker-3 alone tier-keep-0":                    "[[0 0] [2 61] [4 105]] → [[4 140]]",
	"tiered/stage1-killed broker-3 siblings tier-expire-0":               "[[0 34] [2 51] [4 90]] → [[4 120]]",
	"tiered/stage1-killed broker-3 siblings tier-keep-0":                 "[[0 0] [2 61] [4 105]] → [[4 140]]",
	"tiered/stage2-clean broker-3 alone tier-expire-0":                   "[[2 65] [4 90] [6 122]] → []",
	"tiered/stage2-clean broker-3 alone tier-keep-0":                     "[[0 0] [2 61] [4 105] [6 145]] → []",
	"tiered/stage2-clean broker-3 siblings tier-expire-0":                "[[2 65] [4 90] [6 122]] → []",
	"tiered/stage2-clean broker-3 siblings tier-keep-0":                  "[[0 0] [2 61] [4 105] [6 145]] → []",
}
