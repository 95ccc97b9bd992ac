package conformance

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// recordedNow is shortly after the newest record of most recordings.
func recordedNow(root string) int64 {
	var newest time.Time
	_ = filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil && info.ModTime().After(newest) {
				newest = info.ModTime()
			}
		}
		return nil
	})
	return newest.UnixMilli()
}

const fixturesDir = "../../shared/fixtures"

// recordedBrokers are the log directories of all recordings, those of one broker together.
func recordedBrokers(t *testing.T) [][]string {
	t.Helper()
	byBroker := map[string][]string{}
	err := filepath.WalkDir(fixturesDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == "meta.properties" {
			dir, err := filepath.Abs(filepath.Dir(path))
			if err != nil {
				return err
			}
			home := dir
			if regexp.MustCompile(`^d[0-9]$`).MatchString(filepath.Base(dir)) {
				home = filepath.Dir(dir)
			}
			byBroker[home] = append(byBroker[home], dir)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var out [][]string
	for _, home := range slices.Sorted(maps.Keys(byBroker)) {
		out = append(out, byBroker[home])
	}
	return out
}

var startModes = []string{"as-is", "present", "absent"}

// sameStart finds the case of another mode that is the same start: as-is is one of them.
func sameStart(cases []startCase, i int) int {
	c := &cases[i]
	if c.clean != "as-is" || c.recipe != nil {
		return i
	}
	want := "absent"
	if slices.ContainsFunc(c.roots, func(root string) bool {
		_, err := os.Stat(filepath.Join(root, ".kafka_cleanshutdown"))
		return err == nil
	}) {
		want = "present"
		if len(c.roots) > 1 {
			return i // some disks may have it
		}
	}
	for k := range cases {
		if cases[k].clean == want && slices.Equal(cases[k].roots, c.roots) {
			return k
		}
	}
	return i
}

// TestStartOfRecordings starts every recorded broker, in three modes.
func TestStartOfRecordings(t *testing.T) {
	var cases []startCase
	for _, roots := range recordedBrokers(t) {
		for _, clean := range startModes {
			cases = append(cases, startCase{name: strings.Join(roots, " "), roots: roots, clean: clean, now: recordedNow(roots[0])})
		}
	}
	judge(t, cases, inKafka(t, cases), tell(t))
}

// TestStartOfDamage starts 1,000 brokers with random damage. The seed is printed;
// KAFSCK_START_SEED repeats one, KAFSCK_START_COUNT makes more or fewer.
func TestStartOfDamage(t *testing.T) {
	seed, count := uint64(time.Now().UnixNano()), 1000
	if s := os.Getenv("KAFSCK_START_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	if s := os.Getenv("KAFSCK_START_COUNT"); s != "" {
		var err error
		if count, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("KAFSCK_START_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var recipes []recipe
	for range count {
		r, err := randomRecipe(random, fixturesDir)
		if err != nil {
			t.Fatal(err)
		}
		recipes = append(recipes, r)
	}
	cases := makeCases(t, recipes)
	judge(t, cases, inKafka(t, cases), tell(t))
}

// TestStartOfKnownDamage starts the brokers of testdata/start_recipes.txt: seeds that once failed.
func TestStartOfKnownDamage(t *testing.T) {
	data, err := os.ReadFile(cmp.Or(os.Getenv("KAFSCK_START_RECIPES"), "testdata/start_recipes.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var recipes []recipe
	for text := range strings.SplitSeq(string(data), "\n\n") {
		lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(text), "\n"), func(l string) bool { return l == "" || strings.HasPrefix(l, "#") })
		if len(lines) > 0 {
			recipes = append(recipes, lines)
		}
	}
	cases := makeCases(t, recipes)
	judge(t, cases, inKafka(t, cases), tell(t))
}

// makeCases makes the directories of recipes.
func makeCases(t *testing.T, recipes []recipe) []startCase {
	t.Helper()
	dir := inMemory(t)
	copies := filepath.Join(dir, "fixtures") // links do not reach from one file system to another
	nows := map[string]int64{}
	var cases []startCase
	for i, r := range recipes {
		for _, base := range strings.Fields(r[0])[1:] {
			if _, ok := nows[base]; !ok {
				if err := linkTree(filepath.Join(fixturesDir, base), filepath.Join(copies, base)); err != nil {
					t.Fatal(err)
				}
				nows[base] = recordedNow(filepath.Join(fixturesDir, base))
			}
		}
		roots, err := r.make(filepath.Join(dir, strconv.Itoa(i)), copies)
		if err != nil {
			t.Fatalf("%v\n%s", err, r)
		}
		cases = append(cases, startCase{name: fmt.Sprintf("recipe %d", i), roots: roots, clean: r.clean(), now: nows[strings.Fields(r[0])[1]], recipe: r})
	}
	return cases
}

// TestStartOfCases starts the directories with one precise damage each, in three modes.
func TestStartOfCases(t *testing.T) {
	dir := filepath.Join(inMemory(t), "cases")
	if out, err := exec.Command("python3", "../../shared/cases/make.py", filepath.Join(fixturesDir, "base"), dir).CombinedOutput(); err != nil {
		t.Fatalf("make.py: %v\n%s", err, out)
	}
	data, err := os.ReadFile(filepath.Join(dir, "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Cases []struct {
			ID, Relation string
			Roots        []string
			Oracle       *bool
		}
	}
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	var cases []startCase
	for _, c := range list.Cases {
		if c.Oracle != nil && !*c.Oracle {
			continue // its file modes mean nothing to root
		}
		groups := [][]string{c.Roots}
		if c.Relation != "disks of one broker" {
			groups = nil
			for _, root := range c.Roots {
				groups = append(groups, []string{root})
			}
		}
		for _, group := range groups {
			var roots []string
			for _, root := range group {
				roots = append(roots, filepath.Join(dir, c.ID, root))
			}
			for _, clean := range startModes {
				cases = append(cases, startCase{name: c.ID + " " + strings.Join(group, " "), roots: roots, clean: clean, now: casesNow})
			}
		}
	}
	judge(t, cases, inKafka(t, cases), tell(t))
}

// casesNow is shortly after the newest record of the cases, in ms.
const casesNow = 1700003600000
