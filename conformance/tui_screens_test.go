package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var updateScreens = flag.Bool("update-screens", false, "write the layouts in testdata/tui and the captures in ../docs/tui.md anew (screens.sh does)")

// browserScreen is one kind of screen, how it is reached, and what belongs to it.
type browserScreen struct {
	name string
	on   string
	// keys lead there: each with a text that the next screen shows.
	keys [][2]string
	// facts are parts of the screen that the command of x must say too, with --json.
	facts string
	// asks is the question that the screen answers, for docs/tui.md; "" leaves it out there.
	asks string
}

var (
	toPartition = [2]string{"Enter", "log end"}
	toSegments  = [2]string{"c", "every file"}
)

var browserScreens = []browserScreen{
	{"case", "unclean-election/stage-b", nil, `^›L (\S+) .* (\d+) +(\d+) [\d.]+ KiB`,
		"The case: which partitions are hurt, on which brokers, and what is lost in all?"},
	{"partition", "unclean-election/stage-b", [][2]string{toPartition}, `offsets (\d+)–\d+; still on broker (\d+)`,
		"A partition: where do the logs part, what is lost, and who has it still?"},
	{"loss", "unclean-election/stage-b", [][2]string{toPartition, {"L", "still held by"}}, `^›L (\d+)–\d+ +(\d+) (yes)`,
		"Loss: which records are gone, had they been committed, and what proves it?"},
	{"leaders", "unclean-election/stage-b", [][2]string{toPartition, {"C", "followers truncate"}}, `^›L (\d+) .* (\d+) +\d+ +\d+ +\d+ +\d+: to`,
		"Candidate leaders: what does it cost to elect each, and who cuts how much?"},
	{"leader-loss", "unclean-election/stage-b", [][2]string{toPartition, {"C", "followers truncate"}, {"Enter", "If broker 1 leads"}}, `^›! (\d+)–\d+ +(\d+) (yes)`, ""},
	{"starts", "unclean-election/stage-b", [][2]string{toPartition, {"S", "afterwards"}}, `^›L (\d+) +(\S+) live`,
		"Next start: what does each broker do to these files when it is started?"},
	{"history", "unclean-election/stage-b", [][2]string{toPartition, {"H", "what happened"}}, `^›L +(\d+) `,
		"History: who led when, with which ISR, and which change made the loss possible?"},
	{"diff", "unclean-election/stage-b", [][2]string{toPartition, {"d", "difference 1/1"}}, `(epoch-fork): broker (\d+) has offsets (\d+)`,
		"Differences: two replicas in step, with what is not the same."},
	{"diff-records", "unclean-election/stage-b", [][2]string{toPartition, {"d", "difference 1/1"}, {"r", "onlyleader-1"}}, `(epoch-fork): broker (\d+) has offsets (\d+)`, ""},
	{"findings", "divergence/stage-b", [][2]string{{"F", "what it means"}}, `^›L (loss) +(\S+)`,
		"Findings: everything that was found, grouped, worst first."},
	{"findings-of-code", "divergence/stage-b", [][2]string{{"F", "what it means"}, {"Enter", "proof"}}, `^›L (loss) +(\S+) `, ""},
	{"segments", "unclean-election/stage-b", [][2]string{toPartition, toSegments}, `live  offsets (\d+)–\d+  high watermark (\d+) `,
		"Segments: what lies in a replica's directory, and what is wrong with which file?"},
	{"files", "unclean-election/stage-b", [][2]string{toPartition, toSegments, {"Tab", "offset index"}}, "", ""},
	{"batches", "unclean-election/stage-b", [][2]string{toPartition, toSegments, {"Enter", "codec"}}, `^› +(\d+) +(\d+) +(\d+) `,
		"Batches: what is in a segment, from any offset, position or time?"},
	{"batch", "unclean-election/stage-b", [][2]string{toPartition, {"Enter", "valueLength"}}, `^offsets (\d+)–(\d+)  epoch (\d+) `,
		"A batch: which byte is which field?"},
	{"records", "unclean-election/stage-b", [][2]string{toPartition, {"Enter", "valueLength"}, {"r", "no headers"}}, `^› +(\d+) \S+ \S+ +null `,
		"Records: keys, values and headers, JSON and Kafka's own records decoded."},
	{"transactions", "transactions/stage1-killed", [][2]string{{"G", "5/5"}, {"Enter", "log end"}, {"T", "transactional id"}}, `^›[n·] +(aborted|committed) +(\d+) +(\d+) +(\d+) +(\d+) `,
		"Transactions: which were aborted, which hang, and where do read-committed consumers stop?"},
	{"epochs", "divergence/stage-b", [][2]string{toPartition, toSegments, {"E", "as written"}}, `^›. +(\d+) `,
		"A leader-epoch-checkpoint: as written, as Kafka loads it, as the batches say it should be."},
	{"index", "compaction/stage1-clean", [][2]string{toPartition, {"j", "on broker 2:"}, toSegments, {"Tab", "offset index"}, {"Enter", "position"}}, `^› +(\d+) +(\d+)`,
		"An index file: entry by entry; b shows the bytes of any file."},
	{"bytes", "compaction/stage1-clean", [][2]string{toPartition, {"j", "on broker 2:"}, toSegments, {"Tab", "offset index"}, {"Enter", "position"}, {"b", "byte 0 of"}}, "", ""},
	{"metadata", "metadata/kafka-4.3.1/stage2-clean", [][2]string{{"M", "led by another"}}, `^›n (\S+) `,
		"Metadata: what do the controllers know of every partition, also of those not copied here?"},
	{"metadata-history", "metadata/kafka-4.3.1/stage2-clean", [][2]string{{"M", "led by another"}, {"Enter", "what happened"}}, `^› +(\d+) `, ""},
}

// The sizes of the layouts; a window can shrink to 40×10.
var layoutSizes = [][2]int{{120, 40}, {80, 24}, {40, 10}}

// docsSize is that of the captures in docs/tui.md.
var docsSize = [2]int{100, 22}

func (lab *browserLab) testScreens(t *testing.T) {
	docs := &docsFile{name: "../docs/tui.md"}
	t.Cleanup(func() { docs.finish(t) })
	seen := map[string]bool{}
	for i := range browserScreens {
		s := &browserScreens[i]
		if seen[s.name] {
			t.Fatalf("two screens are called %s", s.name)
		}
		seen[s.name] = true
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			lab.testScreen(t, s, docs)
		})
	}
	t.Run("all", func(t *testing.T) {
		// A file of a screen that is gone would never be looked at again.
		files, err := filepath.Glob("testdata/tui/*.txt")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if !seen[strings.TrimSuffix(filepath.Base(f), ".txt")] {
				t.Errorf("%s: there is no such screen any more", f)
			}
		}
	})
}

func (lab *browserLab) testScreen(t *testing.T, s *browserScreen, docs *docsFile) {
	x := lab.open(t, layoutSizes[0][0], layoutSizes[0][1], s.on)
	x.until("a complete overview", func(s string) bool {
		return strings.Contains(s, "kafsck › case") && !strings.Contains(s, "so far") && (strings.Contains(s, " read · ") || strings.Contains(s, " read\n")) && !strings.Contains(s, "…  ")
	})
	for _, k := range s.keys {
		x.press(k[0]).sees(k[1])
	}
	lab.checkLayout(t, x, s)
	if s.asks != "" {
		docs.check(t, x, s)
	}
	// A window in which help and command fit.
	x.resize(200, 130)
	x.checkKeys(x.checkHelp())
	lab.checkTwin(t, x, s)
}

// resize changes the window and waits until it is drawn over its whole height.
func (x *terminal) resize(w, h int) {
	x.t.Helper()
	x.tmux("resize-window", "-x", fmt.Sprint(w), "-y", fmt.Sprint(h))
	x.until(fmt.Sprintf("a frame of %d×%d", w, h), func(s string) bool {
		lines := strings.Split(s, "\n")
		badge := "READ-ONLY"
		if w < 60 {
			badge = " RO"
		}
		// A blank cell stands right of the badge.
		return len(lines) == h && lines[h-1] != "" && strings.HasSuffix(lines[0], badge) && len([]rune(lines[0])) == w-1
	})
}

// facts of a layout are masked: digits count for their width alone.
var digits = regexp.MustCompile(`[0-9]`)

func (lab *browserLab) checkLayout(t *testing.T, x *terminal, s *browserScreen) {
	name := filepath.Join("testdata/tui", s.name+".txt")
	want, err := os.ReadFile(name)
	if err != nil && !*updateScreens {
		t.Fatal(err)
	}
	frames := strings.Split(string(want), "\f\n")
	if len(frames) != len(layoutSizes) && !*updateScreens {
		t.Fatalf("%s has %d frames, want %d", name, len(frames), len(layoutSizes))
	}
	var out []string
	for i, size := range layoutSizes {
		x.resize(size[0], size[1])
		layout := func(screen string) string {
			return fmt.Sprintf("%d×%d\n%s\n", size[0], size[1], digits.ReplaceAllString(screen, "0"))
		}
		if *updateScreens {
			out = append(out, layout(x.still()))
			continue
		}
		if got, ok := x.becomes(func(screen string) bool { return layout(screen) == frames[i] }); !ok {
			t.Errorf("the layout is not that of %s (digits masked; conformance/screens.sh writes it anew):\n%s", name, firstDifference(frames[i], layout(got)))
		}
	}
	if *updateScreens {
		if err := os.WriteFile(name, []byte(strings.Join(out, "\f\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// still is the screen when it has not changed for a while: for writing, where nothing
// says how it ought to be.
func (x *terminal) still() string {
	x.t.Helper()
	last := x.screen()
	for since := time.Now(); time.Since(since) < 500*time.Millisecond; time.Sleep(20 * time.Millisecond) {
		if now := x.screen(); now != last {
			last, since = now, time.Now()
		}
	}
	return last
}

// becomes polls like until, but reports instead of failing.
func (x *terminal) becomes(is func(screen string) bool) (string, bool) {
	x.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		s := x.screen()
		if is(s) {
			return s, true
		}
		if time.Now().After(deadline) {
			return s, false
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func firstDifference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(a), len(b)) {
		var wa, gb string
		if i < len(a) {
			wa = a[i]
		}
		if i < len(b) {
			gb = b[i]
		}
		if wa != gb {
			return fmt.Sprintf("line %d\nwant %s\ngot  %s\n\nwhole screen:\n%s", i, wa, gb, got)
		}
	}
	return "nothing differs"
}

// checkHelp opens the help, and returns the keys that it lists. Every hint
// of the status line must be in it.
func (x *terminal) checkHelp() []string {
	x.t.Helper()
	before := x.screen()
	lines := strings.Split(before, "\n")
	hints, _, _ := strings.Cut(lines[len(lines)-1], "q quit")
	hints = regexp.MustCompile(` +offset \d+$`).ReplaceAllString(hints, "") // the position, where the keys fill the line
	help := x.press("?").sees("Everywhere", ":quit", "Letters")
	if strings.Contains(help, "lines, j k scroll") {
		x.t.Fatalf("the help does not fit:\n%s", help)
	}
	section := ""
	var all []string
	entry := regexp.MustCompile(`^   (\S+(?: \S+)*) {2,}(\S.*)$`)
	for _, line := range strings.Split(help, "\n") {
		switch {
		case strings.HasPrefix(line, " This view"):
			section = "keys"
		case strings.HasPrefix(line, " Everywhere"):
			section = "keys"
		case regexp.MustCompile(`^ \S`).MatchString(line):
			section = ""
		}
		m := entry.FindStringSubmatch(line)
		if m == nil || section == "" {
			continue
		}
		all = append(all, strings.Fields(m[1])...)
	}
	if len(all) < 30 {
		x.t.Fatalf("the help lists %d keys:\n%s", len(all), help)
	}
	for _, hint := range strings.Split(strings.TrimSpace(hints), "  ") {
		key, words, ok := strings.Cut(strings.TrimSpace(hint), " ")
		if !ok {
			continue
		}
		if !contains(all, key) {
			x.t.Errorf("the hint %q %q is not in the help:\n%s", key, words, help)
		}
	}
	x.press("Escape").until("the screen again", func(s string) bool { return s == before })
	return all
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

// checkKeys presses every printable key that the help does not list: each must say that
// it means nothing here. So no binding is missing in the help.
func (x *terminal) checkKeys(listed []string) {
	x.t.Helper()
	for c := '!'; c <= '~'; c++ {
		key := string(c)
		if contains(listed, key) {
			continue
		}
		if key == ";" {
			key = `\;` // a separator of tmux's own
		}
		x.press(key).sees(fmt.Sprintf("no such key here: %c (", c))
	}
}

// checkTwin runs the command that x shows with --json: it must be one that exists, and say
// what the screen says.
func (lab *browserLab) checkTwin(t *testing.T, x *terminal, s *browserScreen) {
	t.Helper()
	screen := x.screen()
	shown := x.press("x").sees("The same on the command line", "y copies it")
	command := x.finds(shown, `^ (kafsck .*\S)\s*$`)[0]
	x.press("Escape").until("the screen again", func(s string) bool { return !strings.Contains(s, "The same on the command line") })

	words := strings.TrimPrefix(command, "kafsck ")
	cmd := exec.Command("sh", "-c", `exec "$0" `+words+` --json`, lab.kafsck)
	cmd.Dir = lab.data
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if code := cmd.ProcessState.ExitCode(); code < 0 || code > 3 {
		t.Fatalf("%s --json: exit code %d\n%s", command, code, stderr.Bytes())
	}
	values := map[string]bool{}
	lines := 0
	for line := range bytes.Lines(out) {
		var v any
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%s --json: %v: %s", command, err, line)
		}
		leaves(v, values)
		lines++
	}
	if lines == 0 {
		t.Fatalf("%s --json says nothing\n%s", command, stderr.Bytes())
	}
	if s.facts == "" {
		return
	}
	for _, fact := range x.finds(screen, s.facts) {
		if !values[fact] {
			t.Errorf("%s --json does not say %q, which the screen shows", command, fact)
		}
	}
}

// leaves collects the values of a JSON document as text; of paths and file names also the
// last element.
func leaves(v any, into map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			leaves(e, into)
		}
	case []any:
		for _, e := range v {
			leaves(e, into)
		}
	case string:
		into[v] = true
		into[v[strings.LastIndexByte(v, '/')+1:]] = true
	default:
		into[fmt.Sprint(v)] = true
	}
}
