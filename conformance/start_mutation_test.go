package conformance

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// recipe is a damaged log directory, or several disks of one broker, written
// down so that it can be made again:
//
//	base unclean-election/stage-b/broker-1     a fixture, copied
//	base reassigned-dirs/stage-a/broker-2/d0 reassigned-dirs/stage-a/broker-2/d1
//	keep 0/t-0                                 the other partition directories are left out
//	truncate 0/t-0/00000000000000000000.log 100
//	flip 0/t-0/00000000000000000000.log 20 4   byte 20 ^= 4
//	zero 0/t-0/00000000000000000000.log 20 40  bytes [20, 40) become 0
//	append 0/t-0/00000000000000000000.log 9 0  nine bytes of 0
//	delete 0/t-0/partition.metadata
//	rename 0/t-0 0/t-0.abc-delete
//	swap 0/t-0/a 0/t-0/b                       contents change places
//	copy 0/t-0 1/t-0                           a directory
//	write 0/log-start-offset-checkpoint "0\n1\nt 0 40\n"
//	clean absent                               the marker; or present, as-is
//
// Paths begin with the number of the disk. An operation on a path that is no
// longer there does nothing.
type recipe []string

func (r recipe) String() string { return strings.Join(r, "\n") }

// clean is what the recipe says about the marker.
func (r recipe) clean() string {
	for _, line := range r {
		if word, rest, _ := strings.Cut(line, " "); word == "clean" {
			return rest
		}
	}
	return "as-is"
}

// make builds the directories below dir and returns the disks.
func (r recipe) make(dir, fixtures string) (roots []string, err error) {
	for _, line := range r {
		words := strings.Fields(line)
		arg := func(i int) string { return filepath.Join(dir, words[i]) }
		number := func(i int) int {
			n, e := strconv.Atoi(words[i])
			err = errors.Join(err, e)
			return n
		}
		edit := func(f func([]byte) []byte) {
			if data, e := os.ReadFile(arg(1)); e == nil {
				err = errors.Join(err, replaceFile(arg(1), f(data)))
			}
		}
		switch words[0] {
		case "base":
			for i, name := range words[1:] {
				root := filepath.Join(dir, strconv.Itoa(i))
				roots = append(roots, root)
				err = errors.Join(err, linkTree(filepath.Join(fixtures, name), root))
			}
		case "keep":
			for _, root := range roots {
				entries, e := os.ReadDir(root)
				err = errors.Join(err, e)
				for _, x := range entries {
					if x.IsDir() && x.Name() != "__cluster_metadata-0" && !slices.Contains(words[1:], filepath.Base(root)+"/"+x.Name()) {
						err = errors.Join(err, os.RemoveAll(filepath.Join(root, x.Name())))
					}
				}
			}
		case "truncate":
			n := number(2)
			edit(func(b []byte) []byte { return b[:min(n, len(b))] })
		case "flip":
			at, mask := number(2), number(3)
			edit(func(b []byte) []byte {
				if at < len(b) {
					b[at] ^= byte(mask)
				}
				return b
			})
		case "zero":
			from, to := number(2), number(3)
			edit(func(b []byte) []byte {
				if to = min(to, len(b)); from < to {
					clear(b[from:to])
				}
				return b
			})
		case "append":
			n, value := number(2), number(3)
			edit(func(b []byte) []byte { return append(b, slices.Repeat([]byte{byte(value)}, n)...) })
		case "delete":
			err = errors.Join(err, os.RemoveAll(arg(1)))
		case "rename":
			if e := os.Rename(arg(1), arg(2)); e != nil && !errors.Is(e, fs.ErrNotExist) && !errors.Is(e, fs.ErrExist) {
				err = errors.Join(err, e)
			}
		case "swap":
			a, e1 := os.ReadFile(arg(1))
			b, e2 := os.ReadFile(arg(2))
			if e1 == nil && e2 == nil {
				err = errors.Join(err, replaceFile(arg(1), b), replaceFile(arg(2), a))
			}
		case "copy":
			if _, e := os.Stat(arg(2)); e != nil {
				if _, e := os.Stat(arg(1)); e == nil {
					err = errors.Join(err, linkTree(arg(1), arg(2)))
				}
			}
		case "write":
			text, e := strconv.Unquote(strings.Join(words[2:], " "))
			err = errors.Join(err, e, replaceFile(arg(1), []byte(text)))
		case "clean":
		default:
			err = errors.Join(err, fmt.Errorf("%q: no such operation", line))
		}
	}
	return roots, err
}

// replaceFile writes a new file in the place of one that may be a link to the
// fixture's. A file of zeros at its end is made sparse.
func replaceFile(path string, data []byte) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	end := len(data)
	for end > 0 && data[end-1] == 0 {
		end--
	}
	if len(data)-end < 1<<16 {
		return os.WriteFile(path, data, 0o644)
	}
	if err := os.WriteFile(path, data[:end], 0o644); err != nil {
		return err
	}
	return os.Truncate(path, int64(len(data)))
}

// linkTree copies a directory by links to its files, which nobody writes to.
func linkTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		if err := os.Link(path, filepath.Join(to, rel)); err == nil || errors.Is(err, fs.ErrExist) {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return replaceFile(filepath.Join(to, rel), data)
	})
}

// startBases are small recordings of every kind.
var startBases = []string{
	"base/B1", "base/B1", "base/T1", "base/P1", "base/P1s", "base/C1/b1", "base/C1t/b1", "base/M1",
	"unclean-election/stage-b/broker-1", "unclean-election/stage-a/broker-3",
	"divergence/stage-a2/broker-1", "divergence/stage-b/broker-1",
	"transactions/stage1-killed/broker-2", "transactions/stage2-clean/broker-2",
	"epoch-history/stage-c/broker-1", "compaction/stage2-killed/broker-3", "compaction/stage1-clean/broker-1",
	"cleaner-swap/stage-b/broker-1",
	"reassigned-dirs/stage-a/broker-2/d0 reassigned-dirs/stage-a/broker-2/d1",
	"reassigned-dirs/stage-b/broker-1/d0 reassigned-dirs/stage-b/broker-1/d1",
	"below-hw-clean/stage-b/broker-1", "unclean-three-replicas/stage-b/broker-1",
	"replica-rebuild/stage-c/broker-3", "kraft39-unclean-election/stage-c/broker-1",
	"kip279-silent-fork/stage-c/broker-1", "zk-unclean-election/stage-c/broker-1", "hw-truncation-loss/stage-b/broker-2",
	"metadata/kafka-4.3.1/stage2-clean/node-1", "internal-topics/stage1-killed/broker-5",
}

// randomRecipe damages a base in one to four ways.
func randomRecipe(random *rand.Rand, fixtures string) (recipe, error) {
	base := startBases[random.IntN(len(startBases))]
	r := recipe{"base " + base}
	var dirs, files []string // files of the kept directories, and those beside them
	sizes := map[string]int64{}
	for i, name := range strings.Fields(base) {
		entries, err := os.ReadDir(filepath.Join(fixtures, name))
		if err != nil {
			return nil, err
		}
		var here []string
		for _, x := range entries {
			path := strconv.Itoa(i) + "/" + x.Name()
			switch {
			case x.IsDir() && x.Name() != "__cluster_metadata-0":
				here = append(here, path)
			case x.IsDir():
				dirs = append(dirs, path)
			default:
				files = append(files, path)
			}
		}
		random.Shuffle(len(here), func(a, b int) { here[a], here[b] = here[b], here[a] })
		dirs = append(dirs, here[:min(len(here), 2)]...)
	}
	r = append(r, "keep "+strings.Join(dirs, " "))
	roots := strings.Fields(base)
	real := func(path string) string {
		disk, rest, _ := strings.Cut(path, "/")
		n, _ := strconv.Atoi(disk)
		return filepath.Join(fixtures, roots[n], rest)
	}
	for _, d := range dirs {
		entries, err := os.ReadDir(real(d))
		if err != nil {
			return nil, err
		}
		for _, x := range entries {
			files = append(files, d+"/"+x.Name())
		}
	}
	for _, f := range files {
		if info, err := os.Stat(real(f)); err == nil {
			sizes[f] = info.Size()
		}
	}
	if len(files) == 0 {
		return append(r, "clean as-is"), nil
	}
	// The checkpoints of the log directory: as they are, missing, or with other numbers.
	for i := range roots {
		for _, name := range []string{"recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "replication-offset-checkpoint"} {
			switch n := random.IntN(12); {
			case n == 0:
				r = append(r, fmt.Sprintf("delete %d/%s", i, name))
			case n <= 2:
				r = append(r, fmt.Sprintf("write %d/%s %q", i, name, randomCheckpoint(random, dirs)))
			}
		}
	}
	for range 1 + random.IntN(3) {
		r = append(r, randomDamage(random, files, dirs, sizes, len(roots)))
	}
	return append(r, "clean "+[]string{"as-is", "present", "absent"}[random.IntN(3)]), nil
}

// randomCheckpoint gives the partitions offsets that may lie anywhere near
// their logs.
func randomCheckpoint(random *rand.Rand, dirs []string) string {
	var lines []string
	for _, d := range dirs {
		name := filepath.Base(d)
		if dot := strings.LastIndexByte(name, '.'); dot > 0 && strings.Contains(name[dot:], "-") {
			name = name[:dot]
		}
		dash := strings.LastIndexByte(name, '-')
		if dash < 0 || random.IntN(5) == 0 {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s %s %d", name[:dash], name[dash+1:], random.Int64N([]int64{5, 130, 320, 2000}[random.IntN(4)])))
	}
	return fmt.Sprintf("0\n%d\n%s", len(lines), strings.Join(append(lines, ""), "\n"))
}

// randomDamage is one operation.
func randomDamage(random *rand.Rand, files, dirs []string, sizes map[string]int64, disks int) string {
	file := files[random.IntN(len(files))]
	if random.IntN(2) == 0 { // rather a .log
		logs := slices.DeleteFunc(slices.Clone(files), func(f string) bool { return !strings.Contains(f, ".log") || sizes[f] == 0 })
		if len(logs) > 0 {
			file = logs[random.IntN(len(logs))]
		}
	}
	size := sizes[file]
	at := func() int64 {
		n := size
		if n > 1<<20 && random.IntN(4) > 0 { // a preallocated index: its entries stand in front
			n = 64
		}
		if n == 0 {
			return 0
		}
		if random.IntN(3) == 0 {
			return random.Int64N(min(n, 70)) // in the first header
		}
		return random.Int64N(n)
	}
	switch n := random.IntN(20); {
	case n < 4:
		return fmt.Sprintf("truncate %s %d", file, at())
	case n < 9:
		return fmt.Sprintf("flip %s %d %d", file, at(), 1<<random.IntN(8))
	case n < 11:
		from := at()
		to := from + 1 + random.Int64N(200)
		if random.IntN(2) == 0 {
			to = size
		}
		return fmt.Sprintf("zero %s %d %d", file, from, to)
	case n < 12:
		return fmt.Sprintf("append %s %d %d", file, 1+random.IntN(120), []int{0, 0, 1, 255}[random.IntN(4)])
	case n < 15:
		return "delete " + file
	case n < 17:
		if len(dirs) > 0 && random.IntN(4) == 0 {
			d := dirs[random.IntN(len(dirs))]
			ending := []string{".0123456789abcdef0123456789abcdef-delete", ".0123456789abcdef0123456789abcdef-stray", ".0123456789abcdef0123456789abcdef-future", "-delete", "-x", "0"}[random.IntN(6)]
			return fmt.Sprintf("rename %s %s%s", d, d, ending)
		}
		return fmt.Sprintf("rename %s %s", file, randomName(random, file))
	case n < 19:
		other := files[random.IntN(len(files))]
		if random.IntN(3) > 0 { // of the same kind
			same := slices.DeleteFunc(slices.Clone(files), func(f string) bool { return filepath.Ext(f) != filepath.Ext(file) })
			other = same[random.IntN(len(same))]
		}
		return fmt.Sprintf("swap %s %s", file, other)
	default:
		if len(dirs) == 0 {
			return "delete " + file
		}
		d := dirs[random.IntN(len(dirs))]
		return fmt.Sprintf("copy %s %d/%s%s", d, random.IntN(disks), filepath.Base(d), []string{"", ".0123456789abcdef0123456789abcdef-future", ".0123456789abcdef0123456789abcdef-stray"}[random.IntN(3)])
	}
}

// randomName is what a file may be called after an accident.
func randomName(random *rand.Rand, file string) string {
	dir, name := filepath.Split(file)
	number, kind, ok := strings.Cut(name, ".")
	if n, err := strconv.ParseInt(number, 10, 64); ok && err == nil && len(number) == 20 {
		switch random.IntN(6) {
		case 0:
			return dir + "x" + name
		case 1:
			return dir + fmt.Sprintf("%020d.%s", max(0, n+random.Int64N(300)-150), kind)
		case 2:
			return dir + fmt.Sprintf("%d.%s", n, kind)
		default:
			return file + []string{".deleted", ".swap", ".cleaned"}[random.IntN(3)]
		}
	}
	return file + []string{".tmp", ".bak", ".deleted"}[random.IntN(3)]
}
