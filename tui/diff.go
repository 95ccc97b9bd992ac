package tui

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"kafsck/incident"
)

// diffCommand opens two replicas in step: ":diff 1 2".
var diffCommand = screenCommand{name: "diff", args: "[BROKER BROKER | PARTITION]", help: "two replicas of a partition in step",
	complete: func(w *world, arg string) []string { return w.partitionNames(arg) },
	open: func(ctl *control, arg string) (screen, error) {
		name := arg
		words := strings.Fields(arg)
		if len(words) == 2 {
			name = ""
		}
		i, err := ctl.partitionFor(name)
		if err != nil {
			return nil, err
		}
		s := newDiff(ctl.world(), i, -1, -1)
		if len(words) == 2 {
			s.brokers = [2]string{words[0], words[1]}
		}
		return s, nil
	}}

// diffScreen shows two replicas in step: batches or records by offset, the left one's in
// the left column. Only windows of both logs are read, and stretches without a difference
// are left out, but for some rows around each difference.
type diffScreen struct {
	about
	pair    [2]int    // indexes of p.Copies, -1 not chosen yet
	brokers [2]string // as asked for by name
	src     *diffSource
	window  []diffRow
	cursor  int // in window
	first   int
	height  int
	side    int // that enter opens
	atStart bool
	atEnd   bool
	loading bool
	gen     int
	told    error  // a failed read of the window
	none    string // why there is nothing to compare
}

const (
	diffAhead  = 200  // rows read at once
	diffWindow = 4000 // rows kept
)

func newDiff(w *world, index, left, right int) *diffScreen {
	s := &diffScreen{about: about{w: w, index: index}, pair: [2]int{left, right}, height: 10}
	return s
}

func (s *diffScreen) crumb() string {
	if s.p == nil || s.pair[0] < 0 || s.pair[1] < 0 {
		return "diff"
	}
	return fmt.Sprintf("diff %s %s", s.p.Copies[s.pair[0]].Broker.Name, s.p.Copies[s.pair[1]].Broker.Name)
}

func (s *diffScreen) command() string { return s.twin("diff") }

func (s *diffScreen) bindings() []binding {
	return []binding{
		{keys: []string{"r"}, in: "records", help: "records, or batches again"},
		{keys: []string{"p"}, in: "next-pair", help: "pair: the next two replicas", hint: "next pair"},
		{keys: []string{"+", "="}, in: "more-context", help: "more equal rows around a difference", hint: "more context"},
		{keys: []string{"-"}, in: "less-context", help: "fewer equal rows around a difference", hint: "less"},
	}
}

func (s *diffScreen) start() work {
	s.src, s.window, s.told = nil, nil, nil
	w := s.begin()
	if s.p != nil {
		return s.compare()
	}
	return w
}

func (s *diffScreen) deliver(v any, ctl *control) work {
	switch v := v.(type) {
	case *incident.Partition:
		s.take(v)
		return s.compare()
	case compared:
		if v.gen != s.gen {
			return nil
		}
		s.src = v.src
		to := s.src.from
		if len(s.src.hunks) == 0 {
			s.src.context = -1
		}
		if len(s.src.hunks) > 0 {
			h := s.worstHunk()
			to = s.src.hunks[h].from
		}
		return s.load(to)
	case diffPart:
		if v.gen != s.gen {
			return nil
		}
		s.loading = false
		if v.err != nil {
			s.told = v.err
			return func(context.Context) any { return v.err } // the root shows it
		}
		s.join(v)
		return s.extend()
	}
	return nil
}

func (s *diffScreen) worstHunk() int {
	worst := 0
	for i := range s.src.hunks {
		if s.src.hunks[i].level > s.src.hunks[worst].level {
			worst = i
		}
	}
	return worst
}

func (s *diffScreen) handle(in intent, ctl *control) work {
	if s.p == nil {
		return nil
	}
	if in == "next-pair" {
		return s.nextPair(ctl)
	}
	if s.src == nil {
		return nil
	}
	page := max(s.height-1, 1)
	switch in {
	case up:
		s.to(s.cursor - 1)
	case down:
		s.to(s.cursor + 1)
	case pageUp:
		s.to(s.cursor - page)
	case pageDown:
		s.to(s.cursor + page)
	case halfUp:
		s.to(s.cursor - page/2)
	case halfDown:
		s.to(s.cursor + page/2)
	case left:
		s.side = 0
	case right:
		s.side = 1
	case nextPane, prevPane:
		s.side = 1 - s.side
	case top:
		return s.load(s.src.from)
	case bottom:
		return s.load(max(s.src.to-1, s.src.from))
	case next, previous:
		return s.jump(in == next, ctl)
	case "more-context", "less-context":
		return s.changeContext(in == "more-context", ctl)
	case "records":
		s.src.records = !s.src.records
		return s.load(s.here())
	case open:
		s.openRow(ctl)
	}
	return s.extend()
}

// here is the offset under the cursor.
func (s *diffScreen) here() int64 {
	if s.cursor < len(s.window) {
		return s.window[s.cursor].at
	}
	return s.src.from
}

// jump goes to the next or the previous difference.
func (s *diffScreen) jump(forward bool, ctl *control) work {
	at, h := s.here(), -1
	inside := -1
	if s.cursor < len(s.window) {
		inside = s.window[s.cursor].hunk
	}
	for i := range s.src.hunks {
		x := &s.src.hunks[i]
		switch {
		case forward && x.from > at && i != inside:
			if h < 0 {
				h = i
			}
		case !forward && (x.from < at):
			h = i
		}
	}
	if h < 0 {
		ctl.say("no further difference in this direction")
		return nil
	}
	ctl.say("difference %d of %d", h+1, len(s.src.hunks))
	for i := range s.window {
		if r := &s.window[i]; r.hunk == h && (i == 0 || s.window[i-1].hunk != h) && (i > 0 || s.atStart) {
			s.to(i)
			return s.extend()
		}
	}
	return s.load(s.src.hunks[h].from)
}

var contextSizes = []int{0, 1, 3, 10, 50, -1}

func (s *diffScreen) changeContext(more bool, ctl *control) work {
	i := max(slices.Index(contextSizes, s.src.context), 0)
	if more {
		i = min(i+1, len(contextSizes)-1)
	} else {
		i = max(i-1, 0)
	}
	s.src.context = contextSizes[i]
	if s.src.context < 0 {
		ctl.say("context: everything")
	} else {
		ctl.say("context: %d equal rows around a difference", s.src.context)
	}
	return s.load(s.here())
}

// nextPair goes through all pairs of copies that could be read.
func (s *diffScreen) nextPair(ctl *control) work {
	var usable []int
	for i, c := range s.p.Copies {
		if c.Err == nil && c.Log != nil {
			usable = append(usable, i)
		}
	}
	var pairs [][2]int
	for i := range usable {
		for k := i + 1; k < len(usable); k++ {
			pairs = append(pairs, [2]int{usable[i], usable[k]})
		}
	}
	if len(pairs) < 2 {
		ctl.say("there is no other pair")
		return nil
	}
	at := slices.IndexFunc(pairs, func(x [2]int) bool {
		return x == s.pair || x == [2]int{s.pair[1], s.pair[0]}
	})
	s.pair, s.brokers = pairs[(at+1)%len(pairs)], [2]string{}
	ctl.restart()
	return s.compare()
}

// openRow opens the row's batch or record on the chosen side, else on the other.
func (s *diffScreen) openRow(ctl *control) {
	if s.cursor >= len(s.window) {
		return
	}
	r := &s.window[s.cursor]
	if r.fold() {
		ctl.say("nothing differs here; + shows more of it")
		return
	}
	side := s.side
	if !r.side[side].ok {
		side = 1 - side
	}
	s.openIn(s.p.Copies[s.pair[side]], r.side[side].base, ctl)
}

func (s *diffScreen) commands() []command {
	return []command{{name: "goto", args: "OFFSET", help: "to an offset", run: func(arg string, _ *control) (work, error) {
		n, err := strconv.ParseInt(strings.ReplaceAll(arg, ",", ""), 10, 64)
		if err != nil || s.src == nil {
			return nil, fmt.Errorf("%q is no offset", arg)
		}
		if n < s.src.from || n >= s.src.to {
			return nil, fmt.Errorf("the two logs hold offsets %s", span(s.src.from, s.src.to))
		}
		return s.load(n), nil
	}}}
}

func (s *diffScreen) position() string {
	if s.src == nil || len(s.window) == 0 {
		return ""
	}
	n := len(s.src.hunks)
	text := fmt.Sprintf("at %d of %d–%d", s.here(), s.src.from, s.src.to-1)
	if n > 0 {
		if h := s.window[s.cursor].hunk; h >= 0 {
			return fmt.Sprintf("difference %d/%d  %s", h+1, n, text)
		}
		return fmt.Sprintf("%s  %s", countOf(int64(n), "difference", "differences"), text)
	}
	return text
}

// copyText gives the selected row; its JSON is what both sides have.
func (s *diffScreen) copyText(kind copyKind) (string, error) {
	if s.cursor >= len(s.window) {
		return "", errNothingToCopy
	}
	r := &s.window[s.cursor]
	switch kind {
	case copyPath:
		return shellWords(s.w.typed(s.p.Copies[s.pair[s.side]].Dir)), nil
	case copyJSON:
		out := map[string]any{"partition": s.p.Name, "offset": r.at}
		for i, x := range r.side {
			if x.ok {
				out["broker "+s.p.Copies[s.pair[i]].Broker.Name] = map[string]any{"from": x.base, "to": x.last + 1, "leaderEpoch": x.epoch, "crc": fmt.Sprintf("0x%08x", x.sum), "records": x.records}
			}
		}
		return jsonLine(out), nil
	case copyCell:
		return escape(itemText(&r.side[s.side], s.src.records)), nil
	}
	return escape(itemText(&r.side[0], s.src.records) + "\t" + itemText(&r.side[1], s.src.records)), nil
}

// save writes the differences of the pair.
func (s *diffScreen) save(format string) (func(io.Writer) error, error) {
	if s.src == nil {
		return nil, fmt.Errorf("the replicas are not compared yet")
	}
	hunks := slices.Clone(s.src.hunks)
	return func(w io.Writer) error { return writeTable(w, format, hunkColumns, hunkRows(hunks), nil) }, nil
}

var hunkColumns = []column{{name: "kind"}, {name: "from", right: true}, {name: "to", right: true}, {name: "what"}}

type hunkRows []diffHunk

func (r hunkRows) Len() int               { return len(r) }
func (r hunkRows) Severity(row int) level { return r[row].level }

func (r hunkRows) Cell(row, col int) string {
	switch h := &r[row]; col {
	case 0:
		return string(h.kind)
	case 1:
		return itoa(h.from)
	case 2:
		return itoa(h.to)
	default:
		return h.text
	}
}
