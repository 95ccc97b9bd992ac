package conformance

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kafsck/internal/fixture"
)

// damagedFiles is how many random mutations TestKafkaFormatDamaged makes.
const damagedFiles = 200

// TestKafkaFormatDamaged damages files at random and holds kafsck against kafka-dump-log: every
// field that both print is the same, and kafsck prints at least the batches that Kafka does.
func TestKafkaFormatDamaged(t *testing.T) {
	tool := kafkaDumpLog(t)
	seed := rand.Uint64()
	if s := os.Getenv("KAFSCK_SEED"); s != "" {
		if _, err := fmt.Sscan(s, &seed); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("KAFSCK_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	var small []string
	for _, path := range findFiles(t, dumpableName) {
		if info, err := os.Stat(path); err == nil && info.Size() > 0 && info.Size() < 64<<10 {
			small = append(small, path)
		}
	}
	dir := t.TempDir()
	var paths, what []string
	for i := range damagedFiles {
		path := small[random.IntN(len(small))]
		at := filepath.Join(dir, fmt.Sprint(i), filepath.Base(filepath.Dir(path)))
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		// With the files beside it, of which an index needs some.
		base, _, _ := strings.Cut(filepath.Base(path), ".")
		beside, err := filepath.Glob(filepath.Join(filepath.Dir(path), base+"*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range beside {
			b, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			if p == path {
				var how string
				b, how = mutate(random, b)
				what = append(what, path+": "+how)
			}
			if err := os.WriteFile(filepath.Join(at, filepath.Base(p)), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		paths = append(paths, filepath.Join(at, filepath.Base(path)))
	}
	same := 0
	for i, path := range paths {
		if compareDamaged(t, tool, path, what[i]) {
			same++
		}
	}
	t.Logf("%d of %d the same to the last byte, or to where Kafka throws", same, len(paths))
}

// mutate damages bytes the way disks and crashes do.
func mutate(random *rand.Rand, b []byte) ([]byte, string) {
	at := random.IntN(len(b))
	switch random.IntN(5) {
	case 0:
		bit := random.IntN(8)
		b[at] ^= 1 << bit
		return b, fmt.Sprintf("bit %d of byte %d", bit, at)
	case 1:
		return b[:at], fmt.Sprintf("cut at %d", at)
	case 2:
		n := min(1+random.IntN(64), len(b)-at)
		clear(b[at : at+n])
		return b, fmt.Sprintf("%d zeros at %d", n, at)
	case 3:
		n := min(1+random.IntN(16), len(b)-at)
		for i := range n {
			b[at+i] = byte(random.Uint32())
		}
		return b, fmt.Sprintf("%d random bytes at %d", n, at)
	}
	n := 1 + random.IntN(4000)
	return append(b, make([]byte, n)...), fmt.Sprintf("%d zeros more", n)
}

// TestKafkaFormatCases does the same with the damaged directories of the field reports.
func TestKafkaFormatCases(t *testing.T) {
	tool := kafkaDumpLog(t)
	type runKey struct{ dir, options string }
	group := map[runKey][]*storedFile{}
	files, same := 0, 0
	err := filepath.WalkDir(fixture.Unpack(t, "cases"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !dumpableName.MatchString(d.Name()) {
			return err
		}
		if info, err := d.Info(); err != nil || info.Size() > 16<<20 {
			return err
		}
		k := runKey{filepath.Dir(path), strings.Join(decoderFor(path), " ")}
		group[k] = append(group[k], &storedFile{storedRun: storedRun{path: path}})
		files++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for k, list := range group {
		said := runFiles(t, "", strings.Fields(k.options), list)
		for _, f := range list {
			if holdAgainst(t, tool, f.path, f.path, f.out, said) {
				same++
			}
		}
	}
	t.Logf("%d files, %d the same to the last byte, or to where Kafka throws", files, same)
}

// compareDamaged runs both over one damaged file.
func compareDamaged(t *testing.T, tool *dumpTool, path, what string) bool {
	t.Helper()
	set := decoderFor(path)
	// kafsck first: Kafka's tool makes an empty .index where a .timeindex has none.
	out, _, ours, _ := kafkaFormat(t, "", append([]string{"--files", path}, set...)...)
	return holdAgainst(t, tool, path, what, out, ours)
}

// holdAgainst compares kafsck's output with Kafka's, and reports whether all that Kafka printed is
// the beginning of it.
func holdAgainst(t *testing.T, tool *dumpTool, path, what, out, ours string) bool {
	t.Helper()
	want := tool.run(t, append([]string{"--files", path}, decoderFor(path)...)...)
	if out == want.stdout || want.threw != "" && strings.HasPrefix(out, want.stdout) {
		if want.threw != "" && !strings.Contains(ours, path+": ") {
			t.Errorf("%s: Kafka's tool threw %s, kafsck says nothing: %s", what, want.threw, ours)
		}
		return true
	}
	kafka, kafsck := strings.Split(want.stdout, "\n"), strings.Split(out, "\n")
	printed := map[string]bool{}
	for _, line := range kafsck {
		printed[line] = true
	}
	for i, line := range kafka {
		if isBatch(line) && strings.Contains(line, "isvalid: ") && !printed[line] {
			t.Errorf("%s: kafsck lacks a batch that Kafka printed: %s", what, line)
		}
		if want.threw != "" && strings.HasPrefix(line, "| ") && strings.Trim(strings.Join(kafka[i+1:], ""), " ") == "" {
			break // the record that Kafka's tool was printing when it threw: kafsck names it on stderr
		}
		if i < len(kafsck) && !sameFields(line, kafsck[i]) {
			t.Errorf("%s (threw %q): line %d\nKafka:  %s\nkafsck: %s", what, want.threw, i+1, cut(line), cut(kafsck[i]))
			return false
		}
	}
	return false
}

func isBatch(line string) bool {
	return strings.HasPrefix(line, "baseOffset: ") || strings.HasPrefix(line, "offset: ")
}

// sameFields compares two lines as far as both go. What is said of a record that cannot be
// decoded is each tool's own.
func sameFields(kafka, kafsck string) bool {
	k, _, _ := strings.Cut(kafka, ", skipping. ")
	s, _, _ := strings.Cut(kafsck, ", skipping. ")
	n := min(len(k), len(s))
	return k[:n] == s[:n]
}
