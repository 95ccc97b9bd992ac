package apply

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"kafsck/incident"
	"kafsck/internal/fixture"
	"kafsck/logdir"
	"kafsck/repair"
)

// rawBatch is a batch of a .log as brokers wrote it, found by its length field alone.
type rawBatch struct {
	base int64
	file string
	at   int
	raw  []byte
	bad  bool // some of its bytes were damaged
}

// rawLogs are the batches of every .log below a folder, by partition directory. The files must be
// sound.
func rawLogs(t *testing.T, dir string) map[string][]*rawBatch {
	t.Helper()
	out := map[string][]*rawBatch{}
	must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(d.Name(), ".log") || strings.Contains(name, "__cluster_metadata") || strings.Contains(name, "kafka-tiered-storage") || strings.Contains(name, lostFound) {
			return err
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		at := 0
		for _, raw := range split(b) {
			if len(raw) < 12 || len(raw) != 12+int(binary.BigEndian.Uint32(raw[8:])) {
				break
			}
			out[filepath.Dir(name)] = append(out[filepath.Dir(name)], &rawBatch{base: int64(binary.BigEndian.Uint64(raw)), file: name, at: at, raw: raw})
			at += len(raw)
		}
		return nil
	}))
	return out
}

// harm damages log files below a folder at random, and marks the batches that it hits.
func harm(t *testing.T, random *rand.Rand, logs map[string][]*rawBatch, times int) {
	t.Helper()
	byFile := map[string][]*rawBatch{}
	for _, list := range logs {
		for _, b := range list {
			byFile[b.file] = append(byFile[b.file], b)
		}
	}
	names := slices.Sorted(maps.Keys(byFile))
	for range times {
		name := names[random.IntN(len(names))]
		content, err := os.ReadFile(name)
		if os.IsNotExist(err) || len(content) == 0 {
			continue
		}
		must(t, err)
		from, to := random.IntN(len(content)), 0
		switch n := random.IntN(10); {
		case n < 4: // a bit
			to = from + 1
			content[from] ^= 1 << random.IntN(8)
		case n < 7: // a page of zeros
			to = min(len(content), from+1+random.IntN(600))
			clear(content[from:to])
		case n < 8: // other bytes
			to = min(len(content), from+1+random.IntN(100))
			for i := from; i < to; i++ {
				content[i] = byte(random.Uint32())
			}
		case n < 9: // the end is missing
			to = len(content)
			content = content[:from]
		default: // the file is gone
			from, to = 0, len(content)
			must(t, os.Remove(name))
		}
		for _, b := range byFile[name] {
			if b.at < to && b.at+len(b.raw) > from {
				b.bad = true
			}
		}
		if from > 0 || to < len(content) || len(content) > 0 {
			if _, err := os.Stat(name); err == nil {
				must(t, os.WriteFile(name, content, 0o644))
			}
		}
	}
}

// salvaged carries a salvage of a folder out, and returns the plan and the result's folder.
func salvaged(t *testing.T, dir string, opt repair.SalvageOptions) (*repair.Plan, string) {
	t.Helper()
	c, err := logdir.Discover([]string{dir}, logdir.Options{})
	must(t, err)
	defer c.Close()
	inc := incident.Open(c, incident.Options{})
	opt.Kafsck, opt.Now = "test", time.Unix(1700000000, 0)
	if len(inc.Clusters) == 1 {
		opt.Kafka, _ = inc.Clusters[0].ReleaseFor(opt.Kafka, false)
	}
	p, err := repair.Salvage(t.Context(), inc, opt)
	must(t, err)
	if len(p.Actions) == 0 {
		return p, ""
	}
	b, err := p.Encode()
	must(t, err)
	again, err := repair.Decode(b)
	must(t, err)
	out := filepath.Join(t.TempDir(), "OUT")
	_, err = Run(t.Context(), again, Options{Out: out, sys: quick{}})
	must(t, err)
	return p, out
}

// TestSalvageOfRandomDamage damages replicas of recordings at random and salvages them. The original is
// the truth: on the line that was chosen every batch that some copy still holds whole is in the result,
// nothing else is, and what is not is in lost+found. The seed is printed; KAFSCK_SALVAGE_SEED names
// another one, or a random one, as .ci/full does.
func TestSalvageOfRandomDamage(t *testing.T) {
	seed, rounds := uint64(1), 2
	if s := os.Getenv("KAFSCK_SALVAGE_SEED"); s == "random" {
		seed = uint64(time.Now().UnixNano())
	} else if s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		must(t, err)
		seed = n
	}
	if s := os.Getenv("KAFSCK_SALVAGE_ROUNDS"); s != "" {
		n, err := strconv.Atoi(s)
		must(t, err)
		rounds = n
	}
	t.Logf("KAFSCK_SALVAGE_SEED=%d", seed)
	stages := []string{"unclean-election/stage-c", "kip279-silent-fork/stage-c", "divergence/stage-c", "transactions", "epoch-history", "compaction/stage2-killed", "below-hw-clean/stage-c", "replica-rebuild", "hw-truncation-oldformat"}
	if testing.Short() {
		stages = stages[:2]
	}
	if s := os.Getenv("KAFSCK_SALVAGE_STAGES"); s != "" {
		stages = strings.Split(s, ",")
	}
	for _, stage := range stages {
		name, sub, _ := strings.Cut(stage, "/")
		t.Run(stage, func(t *testing.T) {
			t.Parallel()
			original := filepath.Join(fixture.Unpack(t, name), sub)
			stageOf(t, &original)
			random := rand.New(rand.NewPCG(seed, uint64(len(stage))))
			for round := range rounds {
				dir := filepath.Join(t.TempDir(), "copies")
				must(t, os.CopyFS(dir, os.DirFS(original)))
				logs := rawLogs(t, dir)
				if len(logs) == 0 {
					t.Fatal("no logs")
				}
				harm(t, random, logs, 1+random.IntN(12))
				judgeSalvage(t, name, fmt.Sprintf("round %d", round), dir, logs)
			}
		})
	}
}

// stageOf goes down to a stage where a recording has several.
func stageOf(t *testing.T, dir *string) {
	t.Helper()
	entries, err := os.ReadDir(*dir)
	must(t, err)
	var stages []string
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), "stage-") {
			stages = append(stages, e.Name())
		}
	}
	if len(stages) > 0 {
		*dir = filepath.Join(*dir, stages[len(stages)-1])
	}
}

// nothingLost: every whole batch of the inputs is in the result or in lost+found.
func nothingLost(t *testing.T, round string, logs map[string][]*rawBatch, out string) {
	t.Helper()
	result := map[string]bool{}
	for _, list := range rawLogs(t, out) {
		for _, b := range list {
			result[string(b.raw)] = true
		}
	}
	var lost [][]byte
	_ = filepath.WalkDir(filepath.Join(out, lostFound), func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != lostList {
			b, err := os.ReadFile(name)
			must(t, err)
			lost = append(lost, b)
		}
		return nil
	})
	for dir, list := range logs {
		for _, b := range list {
			if !b.bad && !result[string(b.raw)] && !slices.ContainsFunc(lost, func(l []byte) bool { return bytes.Contains(l, b.raw) }) {
				t.Errorf("%s: the batch at offset %d, position %d of %s in %s is neither in the result nor in lost+found", round, b.base, b.at, filepath.Base(b.file), dir)
			}
		}
	}
}

func judgeSalvage(t *testing.T, name, round, dir string, logs map[string][]*rawBatch) {
	t.Helper()
	p, out := salvaged(t, dir, repair.SalvageOptions{})
	if home := os.Getenv("KAFSCK_SALVAGE_KEEP"); home != "" { // a folder for the inputs that failed
		defer func() {
			if at := filepath.Join(home, fmt.Sprint(name, "-", strings.ReplaceAll(round, " ", "-"))); t.Failed() {
				must(t, os.CopyFS(filepath.Join(at, "copies"), os.DirFS(dir)))
				must(t, os.CopyFS(filepath.Join(at, "OUT"), os.DirFS(out)))
			}
		}()
	}
	if out == "" {
		return
	}
	nothingLost(t, round, logs, out)
	for i := range p.Salvaged.Partitions {
		s := &p.Salvaged.Partitions[i]
		if s.Root < 0 {
			continue
		}
		got := map[int64][]byte{}
		for _, b := range rawLogs(t, filepath.Join(out, p.Roots[s.Root].Name, s.Dir)) {
			for _, x := range b {
				got[x.base] = x.raw
			}
		}
		line := filepath.Join(dir, filepath.FromSlash(s.Copies[s.Line].Dir))
		held := map[string]bool{} // batches that some copy still holds whole
		for i := range s.Copies {
			for _, b := range logs[filepath.Join(dir, filepath.FromSlash(s.Copies[i].Dir))] {
				if !b.bad {
					held[string(b.raw)] = true
				}
			}
		}
		// Copies of one line are cleaned at different times.
		compacted := name == "compaction" || strings.Contains(s.Partition, "compact")
		truth := map[int64][]byte{}
		for _, b := range logs[line] {
			if strings.HasSuffix(b.file, ".log") {
				truth[b.base] = b.raw
			}
		}
		for base, raw := range truth {
			if held[string(raw)] && !bytes.Equal(got[base], raw) && base >= s.LogStartOffset && !told(s, base, name == "kip279-silent-fork" || name == "hw-truncation-oldformat") && !(compacted && sameButCleaned(got[base], raw)) {
				t.Errorf("%s %s: the batch at offset %d of the line is still whole somewhere, and not in the result (there: %d bytes)\n%s", round, s.Partition, base, len(got[base]), tellSalvage(s))
			}
		}
		for base, raw := range got {
			if !held[string(raw)] && !sameButEpoch(raw, truth[base]) && !(compacted && unseen(raw, held, dir, s, logs)) {
				t.Errorf("%s, %s: the batch at offset %d was written by no broker", round, s.Partition, base)
			}
			if want, ok := truth[base]; ok && !sameButEpoch(raw, want) && !(compacted && sameButCleaned(raw, want)) && !(base >= s.Copies[s.Line].To && tailTold(s)) {
				t.Errorf("%s, %s: at offset %d there is a batch of another line\n%s", round, s.Partition, base, tellSalvage(s))
			}
		}
	}
}

// sameButEpoch: no checksum covers the leader epoch, bytes 12 to 16 of a header.
func sameButEpoch(a, b []byte) bool {
	return len(a) == len(b) && len(a) > 16 && bytes.Equal(a[:12], b[:12]) && bytes.Equal(a[16:], b[16:])
}

// sameButCleaned: the cleaner takes records out of a batch and keeps its offsets, its leader epoch, and
// its producer with its sequence numbers.
func sameButCleaned(a, b []byte) bool {
	return len(a) >= 61 && len(b) >= 61 && bytes.Equal(a[:8], b[:8]) && bytes.Equal(a[12:17], b[12:17]) && bytes.Equal(a[23:27], b[23:27]) && bytes.Equal(a[43:57], b[43:57])
}

// unseen: the batch has a wrong offset, and no copy holds it whole. In a log with holes an offset that is
// still in order contradicts nothing, and no checksum covers it (bytes 0 to 8 of a header): nobody can tell.
func unseen(raw []byte, held map[string]bool, dir string, s *repair.SalvagedPartition, logs map[string][]*rawBatch) bool {
	for i := range s.Copies {
		for _, b := range logs[filepath.Join(dir, filepath.FromSlash(s.Copies[i].Dir))] {
			if b.bad && !held[string(b.raw)] && len(b.raw) == len(raw) && bytes.Equal(b.raw[8:], raw[8:]) {
				return true
			}
		}
	}
	return false
}

// tailTold: the end of the chosen copy is damaged, and the result says that it is another one's.
func tailTold(s *repair.SalvagedPartition) bool {
	return slices.ContainsFunc(s.Notes, func(n string) bool { return strings.HasPrefix(n, "behind offset ") })
}

// told: the gap list says that a copy has something there that nothing ties to the line. Where two
// lines meet again (KIP-279, and before leader epochs), a batch that both have counts as the other one's once the damage has
// taken what shows that they met.
func told(s *repair.SalvagedPartition, offset int64, met bool) bool {
	return slices.ContainsFunc(s.Gaps, func(g repair.Gap) bool {
		return g.From <= offset && offset < g.To && (g.Why == repair.GapUnproven || met && slices.Contains(g.Has, repair.HasOther))
	})
}

func tellSalvage(s *repair.SalvagedPartition) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %s [%d, %d): %s\n", s.Partition, s.LogStartOffset, s.LogEndOffset, s.Why)
	for _, c := range s.Copies {
		fmt.Fprintf(&b, "  %+v\n", c)
	}
	for _, g := range s.Gaps[:min(len(s.Gaps), 20)] {
		fmt.Fprintf(&b, "  gap %+v\n", g)
	}
	return b.String()
}

// brokenPlan is the plan of a salvage of two damaged replicas.
func brokenPlan(t *testing.T) (dir string, p *repair.Plan) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "copies")
	must(t, os.CopyFS(dir, os.DirFS(filepath.Join(fixture.Unpack(t, "unclean-election"), "stage-c"))))
	logs := rawLogs(t, dir)
	for _, at := range slices.Sorted(maps.Keys(logs)) {
		b := logs[at][0]
		content, err := os.ReadFile(b.file)
		must(t, err)
		content[b.at+70] ^= 1
		must(t, os.WriteFile(b.file, content, 0o644))
		break
	}
	c, err := logdir.Discover([]string{dir}, logdir.Options{})
	must(t, err)
	defer c.Close()
	p, err = repair.Salvage(t.Context(), incident.Open(c, incident.Options{}), repair.SalvageOptions{Kafsck: "test", Now: time.Unix(1700000000, 0)})
	must(t, err)
	return dir, p
}

// TestSalvageStoppedAfterEveryOperation stops a salvage after every operation on the disk: nothing
// that looks done appears, and resuming gives what a run without a stop gives.
func TestSalvageStoppedAfterEveryOperation(t *testing.T) {
	dir, p := brokenPlan(t)
	before := sumTree(t, dir)
	home := t.TempDir()
	counter := &dying{system: quick{}, left: 1 << 30}
	want := filepath.Join(home, "want")
	_, err := Run(t.Context(), p, Options{Out: want, sys: counter})
	must(t, err)
	whole := sumTree(t, want)
	for n := 0; n < counter.n; n += steps() {
		out := filepath.Join(home, fmt.Sprint("out", n))
		_, err := Run(t.Context(), p, Options{Out: out, sys: &dying{system: quick{}, left: n, fail: errKilled}})
		if err == nil {
			t.Fatalf("stopped after %d operations, and no error", n)
		}
		if _, err := os.Stat(out); err == nil && n < counter.n-1 {
			t.Fatalf("stopped after %d operations, and %s is there", n, out)
		}
		if _, err := os.Stat(out); err == nil {
			continue
		}
		_, err = Run(t.Context(), p, Options{Out: out, Resume: true, sys: quick{}})
		must(t, err)
		got := sumTree(t, out)
		for _, name := range []string{reportName, sumsName} { // they name OUT, and what was kept of the run before
			delete(got, name)
			delete(whole, name)
		}
		sameTree(t, out, got, whole)
	}
	sameTree(t, "the input", sumTree(t, dir), before)
	t.Log(counter.n, "operations")
}

// TestSalvageRefusals: a result that is there or would lie in an input, an input that changed or went,
// a plan edited into nonsense, in place.
func TestSalvageRefusals(t *testing.T) {
	dir, p := brokenPlan(t)
	home := t.TempDir()
	refuse := func(what string, p *repair.Plan, opt Options) {
		t.Helper()
		opt.sys = quick{}
		_, err := Run(t.Context(), p, opt)
		if _, ok := err.(*Refused); !ok {
			t.Errorf("%s: %v", what, err)
		}
	}
	must(t, os.Mkdir(filepath.Join(home, "there"), 0o755))
	refuse("exists", p, Options{Out: filepath.Join(home, "there")})
	refuse("inside", p, Options{Out: filepath.Join(dir, "broker-1", "out")})
	refuse("in place", p, Options{InPlace: true})
	edited := func(change func(*repair.Plan)) *repair.Plan {
		b, err := p.Encode()
		must(t, err)
		again, err := repair.Decode(b)
		must(t, err)
		change(again)
		return again
	}
	keep := func(p *repair.Plan) *repair.Edit {
		for i := range p.Actions {
			for k := range p.Actions[i].Edits {
				if e := &p.Actions[i].Edits[k]; e.Op == repair.Keep {
					return e
				}
			}
		}
		t.Fatal("the plan keeps nothing")
		return nil
	}
	fresh := func(p *repair.Plan) *repair.Root {
		i := slices.IndexFunc(p.Roots, func(r repair.Root) bool { return r.New })
		return &p.Roots[i]
	}
	for what, change := range map[string]func(*repair.Plan){
		"kept elsewhere":      func(p *repair.Plan) { keep(p).File = "../x" },
		"kept beyond the end": func(p *repair.Plan) { keep(p).Pieces[0].Length = 1 << 40 },
		"kept without a why":  func(p *repair.Plan) { keep(p).Kept.Why = "" },
		"kept twice":          func(p *repair.Plan) { a := &p.Actions[0]; a.Edits = append(a.Edits, *keep(p)) },
		"kept of the new root": func(p *repair.Plan) {
			keep(p).Pieces[0].Root = slices.IndexFunc(p.Roots, func(r repair.Root) bool { return r.New })
		},
		"a path":      func(p *repair.Plan) { fresh(p).Path = dir },
		"a source":    func(p *repair.Plan) { fresh(p).Source = true },
		"no new root": func(p *repair.Plan) { fresh(p).New = false },
		"an input of it": func(p *repair.Plan) {
			p.Inputs[0].Root = slices.IndexFunc(p.Roots, func(r repair.Root) bool { return r.New })
		},
		"a name of ours": func(p *repair.Plan) { fresh(p).Name = "gaps.json" },
	} {
		refuse(what, edited(change), Options{Out: filepath.Join(home, "edited")})
	}
	name := filepath.Join(dir, "broker-2")
	for at := range rawLogs(t, name) {
		logs, err := filepath.Glob(filepath.Join(at, "*.log"))
		must(t, err)
		appendTo(t, logs[0], "x")
	}
	refuse("changed", p, Options{Out: filepath.Join(home, "changed")})
	must(t, os.RemoveAll(name))
	refuse("gone", p, Options{Out: filepath.Join(home, "gone")})
	entries, err := os.ReadDir(home)
	must(t, err)
	if len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

// TestSalvageOfManyHoles: a log with more damaged places than a repair plans for.
func TestSalvageOfManyHoles(t *testing.T) {
	n := 12_000
	if testing.Short() {
		n = 5_000
	}
	from := filepath.Join(fixture.Unpack(t, "unclean-election"), "stage-a")
	dir := filepath.Join(t.TempDir(), "copies")
	must(t, os.CopyFS(dir, os.DirFS(from)))
	logs := rawLogs(t, dir)
	var small []byte // the smallest batch of data
	for _, list := range logs {
		for _, b := range list {
			if small == nil || len(b.raw) < len(small) {
				small = b.raw
			}
		}
	}
	offsets := int64(binary.BigEndian.Uint32(small[23:])) + 1
	i := 0
	for _, at := range slices.Sorted(maps.Keys(logs)) {
		old, err := filepath.Glob(filepath.Join(at, "0*"))
		must(t, err)
		for _, name := range old {
			must(t, os.Remove(name))
		}
		must(t, os.WriteFile(filepath.Join(at, "leader-epoch-checkpoint"), []byte(fmt.Sprintf("0\n1\n%d 0\n", binary.BigEndian.Uint32(small[12:]))), 0o644))
		var log []byte
		for k := range n {
			b := bytes.Clone(small)
			binary.BigEndian.PutUint64(b, uint64(int64(k)*offsets)) // no checksum covers it
			if k%3 == i%3 || k%30 == 29 {
				b[len(b)-1] ^= 1
			}
			log = append(log, b...)
		}
		must(t, os.WriteFile(filepath.Join(at, fmt.Sprintf("%020d.log", 0)), log, 0o644))
		i++
	}
	p, out := salvaged(t, dir, repair.SalvageOptions{})
	s := &p.Salvaged.Partitions[0]
	gaps, missing := p.Salvaged.Gaps()
	want := n / 30
	if i < 2 || gaps < want || gaps > want+1 || missing < int64(want)*offsets || out == "" {
		t.Errorf("%d copies, %d gaps of %d offsets, want %d:\n%s", i, gaps, missing, want, tellSalvage(s))
	}
	t.Log(len(s.Copies), "copies,", s.Batches, "batches,", gaps, "gaps")
}
