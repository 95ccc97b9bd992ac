package conformance

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"kafsck/repair"
)

// mendable is a folder of log directories to plan for: a case, or a stage of a recording.
type mendable struct {
	name, path string
	now        int64    // shortly after its newest record, ms
	asked      []string // more flags of repair plan
	// kafka is the release that wrote it where that is one from before topic ids, "" else: the newest
	// makes its directories -stray, or refuses its meta.properties.
	kafka string
}

// mended is what became of one: repair apply carried out what needs no word ("proven"), or
// everything ("confirmed").
type mended struct {
	mendable
	way     string
	out     string
	done    *repair.Done // nil: refused, or nothing to do
	verdict string
	wrong   []string
}

// kindCases has a case for every kind of action that some case needs: these run without the
// build tag broker.
var kindCases = map[repair.Kind]string{
	repair.RewriteEpochs:    "BR-01a",
	repair.RebuildIndex:     "BR-34",
	repair.RebuildTimeIndex: "BR-06",
	repair.RebuildTxnIndex:  "BR-50b",
	repair.RebuildSnapshot:  "BR-48a",
	repair.CutTail:          "BR-87",
	repair.Truncate:         "BR-16",
	repair.Quarantine:       "BR-25a",
	repair.TakeRange:        "BR-25b",
	repair.SplitSegment:     "BR-57a",
	repair.FixLine:          "BR-44a",
	repair.RewriteOffsets:   "BR-41a",
	repair.FinishCleaning:   "BR-56c",
	repair.UndoCleaning:     "BR-56a",
	repair.FinishRename:     "BR-70a",
	repair.RemoveFile:       "BR-54",
	repair.MoveAside:        "BR-69a",
}

// TestRepairedStarts plans and applies for the cases, and with the build tag broker for every
// stage of every recording, and has Kafka load what came out, with the clean marker and without:
// it starts, cuts and deletes nothing, and has the offsets and epochs that the plan promised.
func TestRepairedStarts(t *testing.T) {
	kafsck := buildKafsck(t)
	dir := inMemory(t)
	list := mendableCases(t, dir)
	if everyOptionSet {
		list = append(list, mendableStages(t, dir)...)
	} else {
		list = slices.DeleteFunc(list, func(m mendable) bool {
			for _, name := range kindCases {
				if m.name == name {
					return false
				}
			}
			return true
		})
	}
	all := mendAll(t, kafsck, filepath.Join(dir, "mended"), list)
	loadMended(t, all)

	carried := map[repair.Kind]bool{}
	tally := map[string]int{}
	failed := 0
	var table strings.Builder
	for _, m := range all {
		kinds := map[repair.Kind]bool{}
		if m.done != nil {
			for _, a := range m.done.Plan.Actions {
				if slices.Contains(m.done.Carried, a.ID) {
					kinds[a.Kind], carried[a.Kind] = true, true
				}
			}
		}
		if len(m.wrong) > 0 {
			m.verdict = "WRONG"
			failed++
		}
		tally[m.way+": "+m.verdict]++
		fmt.Fprintf(&table, "%-42s %-9s %s %v\n", m.name, m.way, m.verdict, slices.Sorted(keys(kinds)))
		for _, w := range m.wrong {
			fmt.Fprintf(&table, "    %s\n", w)
		}
	}
	if failed > 0 || os.Getenv("KAFSCK_REPAIR_TABLE") != "" {
		t.Logf("what became of each:\n%s", &table)
	}
	if failed > 0 {
		t.Errorf("%d of %d results are not as promised", failed, len(all))
	}
	for kind, name := range kindCases {
		if !carried[kind] {
			t.Errorf("no case had an action %s carried out; %s did once", kind, name)
		}
	}
	t.Log(len(list), "cases and stages:", tally)
}

func keys[K comparable, V any](m map[K]V) func(func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// mendableCases makes the directories with one damage each.
func mendableCases(t *testing.T, dir string) (out []mendable) {
	t.Helper()
	made := filepath.Join(dir, "cases")
	if b, err := exec.Command("python3", "../../shared/cases/make.py", filepath.Join(fixturesDir, "base"), made).CombinedOutput(); err != nil {
		t.Fatalf("make.py: %v\n%s", err, b)
	}
	entries, err := os.ReadDir(made)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, mendable{name: e.Name(), path: filepath.Join(made, e.Name()), now: casesNow})
		}
	}
	return out
}

// mendableStages are the stages of the recordings that have a log directory.
func mendableStages(t *testing.T, dir string) (out []mendable) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(fixturesDir, "*", "*"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no recordings in %s (%v)", fixturesDir, err)
	}
	for _, p := range found {
		abs, err := filepath.Abs(p)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(filepath.Dir(p)) + "/" + filepath.Base(p)
		if strings.HasSuffix(p, ".tar.gz") {
			name = strings.TrimSuffix(name, ".tar.gz")
			at := filepath.Join(dir, "unpacked", name)
			if err := os.MkdirAll(at, 0o755); err != nil {
				t.Fatal(err)
			}
			if b, err := exec.Command("tar", "-xzf", abs, "-C", at).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, b)
			}
			abs = at
		}
		if hasLogDir(abs) {
			out = append(out, mendable{name: name, path: abs, now: recordedNow(abs), kafka: oldRelease(t, p)})
		}
	}
	return out
}

var release = regexp.MustCompile(`\b[0-2]\.[0-9]+\.[0-9]+`)

// oldRelease is the release that recorded a stage, from its name or truth.json, if it is from before 3.0.
func oldRelease(t *testing.T, stage string) string {
	t.Helper()
	if v := release.FindString(filepath.Base(stage)); v != "" {
		return v
	}
	b, err := os.ReadFile(filepath.Join(filepath.Dir(stage), "truth.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	var truth struct{ KafkaVersion string }
	if err == nil {
		err = json.Unmarshal(b, &truth)
	}
	if err != nil {
		t.Fatalf("%s: %v", stage, err)
	}
	return release.FindString(truth.KafkaVersion)
}

func hasLogDir(dir string) bool {
	stop := errors.New("found")
	return errors.Is(filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "meta.properties" {
			return stop
		}
		return err
	}), stop)
}

// mendAll plans and applies for all, a few at a time.
func mendAll(t *testing.T, kafsck, dir string, list []mendable) (out []*mended) {
	t.Helper()
	results := make([][]*mended, len(list))
	var wait sync.WaitGroup
	free := make(chan bool, runtime.GOMAXPROCS(0))
	for i, m := range list {
		wait.Go(func() {
			free <- true
			defer func() { <-free }()
			results[i] = mend(kafsck, filepath.Join(dir, m.name), m)
		})
	}
	wait.Wait()
	return slices.Concat(results...)
}

// mend runs repair plan and repair apply, a second time with everything confirmed where an
// action waits for that.
func mend(kafsck, dir string, m mendable) []*mended {
	proven := &mended{mendable: m, way: "proven"}
	name := filepath.Join(dir, "plan.json")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return proven.broken("%v", err)
	}
	args := []string{"repair", "plan", "--all", "--quiet", m.path, "--out", name}
	args = append(args, m.asked...)
	if m.kafka != "" {
		args = append(args, "--kafka", m.kafka)
	}
	code, text := run(kafsck, args...)
	b, err := os.ReadFile(name)
	if err != nil {
		if code == 2 || code == 4 {
			proven.verdict = "no plan: " + text
			return []*mended{proven}
		}
		return proven.broken("%s: exit code %d: %s", strings.Join(args, " "), code, text)
	}
	plan, err := repair.Decode(b)
	if err != nil {
		return proven.broken("%s: %v", name, err)
	}
	if len(plan.Actions) == 0 {
		proven.verdict = "no action"
		want := 0
		if plan.Findings() > 0 {
			want = 1
		}
		if code&^2 != want {
			return proven.broken("no action, and exit code %d: %s", code, text)
		}
		return []*mended{proven}
	}
	var ask []string
	for _, a := range plan.Actions {
		if a.Confirm {
			ask = append(ask, a.ID)
		}
	}
	proven.apply(kafsck, filepath.Join(dir, "proven"), name, len(ask) < len(plan.Actions), nil)
	if len(ask) == 0 {
		return []*mended{proven}
	}
	confirmed := &mended{mendable: m, way: "confirmed"}
	confirmed.apply(kafsck, filepath.Join(dir, "confirmed"), name, true, ask)
	return []*mended{proven, confirmed}
}

func (m *mended) broken(format string, args ...any) []*mended {
	m.wrong = append(m.wrong, fmt.Sprintf(format, args...))
	return []*mended{m}
}

func run(name string, args ...string) (code int, text string) {
	cmd := exec.Command(name, args...)
	b, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return -1, err.Error()
	}
	return cmd.ProcessState.ExitCode(), strings.TrimSpace(string(b))
}

// apply carries out a plan. work: some action needs no word, or all of them have it.
func (m *mended) apply(kafsck, out, plan string, work bool, confirm []string) {
	args := []string{"repair", "apply", "--quiet", plan, "--out", out}
	for _, id := range confirm {
		args = append(args, "--confirm", id)
	}
	code, text := run(kafsck, args...)
	b, err := os.ReadFile(filepath.Join(out, "repair.json"))
	switch {
	case err != nil && !work && code == 4:
		m.verdict = "waits for a word"
		return
	case err == nil:
		err = json.Unmarshal(b, &m.done)
	}
	if err != nil {
		m.broken("%s: exit code %d: %s (%v)", strings.Join(args, " "), code, text, err)
		return
	}
	if m.out = out; code != 0 && (code != 1 || m.done.Complete()) {
		m.broken("%s: exit code %d: %s", strings.Join(args, " "), code, text)
	}
	m.verdict = "repaired"
}

// loadMended has Kafka start every broker of the results, in one JVM.
func loadMended(t *testing.T, all []*mended) {
	t.Helper()
	var requests []any
	type asked struct {
		m     *mended
		start *repair.DoneStart
		roots []string // in the order of the request
	}
	var of []asked
	for _, m := range all {
		if m.done == nil {
			continue
		}
		for i := range m.done.Starts {
			s := &m.done.Starts[i]
			var roots []string
			for _, r := range m.done.Plan.Roots {
				switch {
				case r.Partition && !r.New:
					m.broken("root %s is a partition directory", r.Path)
				case slices.Contains(s.Roots, r.Name):
					roots = append(roots, filepath.Join(m.out, filepath.FromSlash(r.Name)))
				case r.Broker != nil && s.Broker != nil && *r.Broker == *s.Broker && !r.Source && !r.New:
					roots = append(roots, r.Path) // a disk of it with nothing to mend
				}
			}
			for _, clean := range startModes[1:] {
				requests = append(requests, struct {
					startRequest
					KeepStray bool `json:"keepStray"`
				}{(&startCase{roots: roots, clean: clean, now: m.now}).request(), m.kafka != ""})
				of = append(of, asked{m, s, roots})
			}
		}
	}
	if len(requests) == 0 {
		return
	}
	for i, raw := range oracle(t, []string{"load", "-"}, requests) {
		a := parseAnswer(t, raw)
		q := of[i]
		clean := startModes[1:][i%2]
		for _, w := range compareMended(q.m, q.start, q.roots, &a) {
			q.m.wrong = append(q.m.wrong, fmt.Sprintf("clean marker %s: %s", clean, w))
		}
		if !q.start.OK && q.m.verdict == "repaired" {
			q.m.verdict = "repaired in part, no start, as told"
		}
	}
}

// goesByDesign are the files that a load may delete or build anew: nothing is lost with them.
var goesByDesign = regexp.MustCompile(`\.(index|timeindex|txnindex|snapshot|deleted|cleaned|tmp)$`)

// compareMended says where Kafka's load of a result is not what repair apply told.
func compareMended(m *mended, s *repair.DoneStart, roots []string, a *startAnswer) (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if (a.Outcome == "ok") != s.OK && !(m.kafka != "" && a.AbortedBy == "meta.properties") {
		say("Kafka: %s %s %v; repair apply: ok %v %s", a.Outcome, a.AbortedBy, a.Exception, s.OK, s.Why)
	}
	if !s.OK {
		return wrong
	}
	disk := map[string]string{} // the oracle's name of a partition directory's root → the root
	for i, root := range roots {
		prefix := ""
		if len(roots) > 1 {
			prefix = fmt.Sprintf("d%d/", i+1)
		}
		disk[prefix] = root
	}
	for _, p := range s.Partitions {
		found := false
		for prefix, root := range disk {
			if filepath.Join(root, filepath.Base(p.Dir)) != filepath.Join(m.out, filepath.FromSlash(p.Dir)) {
				continue
			}
			found = true
			k, ok := a.Partitions[prefix+path.Base(p.Dir)]
			switch {
			case !ok || k.Outcome != "ok":
				say("%s: %s %v", p.Dir, cmp.Or(k.Outcome, "not loaded"), k.Exception)
				continue
			case k.LogStartOffset != p.LogStartOffset || k.LogEndOffset != p.LogEndOffset:
				say("%s: Kafka has [%d, %d), promised [%d, %d)", p.Dir, k.LogStartOffset, k.LogEndOffset, p.LogStartOffset, p.LogEndOffset)
			case k.DirNameAfter != path.Base(p.Dir):
				say("%s: Kafka calls it %s", p.Dir, k.DirNameAfter)
			}
			if got, want := fmt.Sprint(k.EpochCache), fmt.Sprint(entries(p.Epochs)); got != want {
				say("%s: Kafka holds the epochs %s, promised %s", p.Dir, got, want)
			}
		}
		if !found {
			say("%s is in none of %v", p.Dir, roots)
		}
	}
	waits := map[string]bool{} // partition directories with an action that is not done
	for _, n := range m.done.NotDone {
		for _, x := range m.done.Plan.Actions {
			if x.ID == n.ID {
				waits[fmt.Sprint(x.Root, x.Dir)] = true
			}
		}
	}
	for _, p := range m.done.Plan.Promises {
		name := m.done.Plan.Roots[p.Root].Name
		if !slices.Contains(s.Roots, name) || waits[fmt.Sprint(p.Root, p.Dir)] {
			continue
		}
		i := slices.IndexFunc(s.Partitions, func(d repair.DonePartition) bool { return d.Dir == path.Join(name, p.Dir) })
		if i < 0 {
			say("%s/%s is promised and not in the result", name, p.Dir)
			continue
		}
		if d := s.Partitions[i]; d.LogStartOffset != p.LogStartOffset || d.LogEndOffset != p.LogEndOffset || fmt.Sprint(d.Epochs) != fmt.Sprint(p.Epochs) {
			say("%s: the plan promises [%d, %d) %v, repair apply found [%d, %d) %v", d.Dir, p.LogStartOffset, p.LogEndOffset, p.Epochs, d.LogStartOffset, d.LogEndOffset, d.Epochs)
		}
	}
	// Where something is left to do the plan says so; everywhere else nothing goes.
	open := map[string]bool{}
	for _, l := range m.done.Plan.Left {
		open[l.Partition] = true
	}
	for _, n := range m.done.NotDone {
		for _, x := range m.done.Plan.Actions {
			if x.ID == n.ID {
				open[x.Partition] = true
			}
		}
	}
	for name, k := range a.Partitions {
		prefix, dir := path.Split(name)
		if open[dir] || k.Outcome != "ok" || regexp.MustCompile(`-(delete|stray)$`).MatchString(dir) {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(disk[prefix], dir))
		if err != nil {
			say("%v", err)
			continue
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil || !info.Mode().IsRegular() || goesByDesign.MatchString(e.Name()) {
				continue
			}
			after, ok := a.FilesAfter[prefix+k.DirNameAfter+"/"+e.Name()]
			switch {
			case !ok:
				say("%s/%s (%d bytes) is gone after the load", name, e.Name(), info.Size())
			case strings.HasSuffix(e.Name(), ".log") && after != info.Size():
				say("%s/%s has %d bytes, %d after the load", name, e.Name(), info.Size(), after)
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}
