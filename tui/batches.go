package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"kafsck/epoch"
	"kafsck/logdir"
	"kafsck/segment"
)

// batchesScreen lists the batches of a .log, segment by segment. The list is a window:
// a few thousand frames around the cursor are kept and the others are read when one
// comes near them. With a filter, or "only faults", it lists what a scan of the whole
// segment found.
//
//	file   |‥‥‥‥‥‥‥|=== frames ===|‥‥‥‥‥‥‥‥‥‥|      ‥ not in memory; bounds are a few
//	       0   ^      cursor ^          ^    size     boundaries in there to begin at
type batchesScreen struct {
	*table
	w       *world
	log     *logFiles
	first   target // where to begin
	frames  []frame
	head    bool // frames begin at position 0
	tail    bool // they end with the file
	size    int64
	loaded  bool
	unread  error   // why there is nothing to show
	bounds  []int64 // ascending frame boundaries of this segment
	reading bool    // frames before or behind are being read
	owed    int     // rows to move when they are there
	marked  map[place]bool
	found   *foundFrames // what a scan found; nil: all are listed
	counted map[*logdir.File]frameCount
}

// place is a frame of the log.
type place struct {
	segment int
	pos     int64
}

const noSort = "a log is listed in its own order; / and z select from it"

func newBatches(w *world, l *logFiles, t target) *batchesScreen {
	s := &batchesScreen{w: w, log: l, first: t, marked: map[place]bool{}, counted: map[*logdir.File]frameCount{}}
	s.table = newTable(frameColumns, &frameRows{})
	s.still = noSort
	s.col = frameOffset
	return s
}

func (s *batchesScreen) crumb() string { return s.log.file().Name }

func (s *batchesScreen) path() string { return s.w.typed(s.log.file().Path) }

func (s *batchesScreen) command() string {
	words := []string{"kafsck", "dump"}
	if f := s.selected(); f != nil && s.found == nil && !(s.head && s.tail) {
		from, to := s.visible()
		if from < to {
			words = append(words, "--positions", itoa(s.frames[from].pos)+".."+itoa(s.frames[to-1].end()-1))
		}
	}
	return shellWords(append(words, s.path())...)
}

func (s *batchesScreen) bindings() []binding {
	return []binding{
		{keys: []string{"r"}, in: "records", help: "records of the batch"},
		{keys: []string{">"}, in: "next-segment", help: "next segment of the log"},
		{keys: []string{"<"}, in: "previous-segment", help: "segment before"},
		{keys: []string{"c"}, in: "count", help: "count and check all batches of the segment"},
	}
}

// start reads around the place where one is, or is to begin.
func (s *batchesScreen) start() work {
	t := s.first
	if f := s.selected(); f != nil && s.found == nil {
		t = target{atPosition, f.pos}
	}
	s.bounds, s.reading, s.owed = nil, false, 0
	if s.found != nil {
		s.found.stop()
		return s.search(s.found.text, s.found.faults)
	}
	return reach(s.log, t, nil)
}

func (s *batchesScreen) close() {
	if s.found != nil {
		s.found.stop()
	}
}

// selected is the frame under the cursor, nil if there is none.
func (s *batchesScreen) selected() *frame {
	if s.found != nil {
		return s.found.frame(s.row())
	}
	if r := s.row(); r >= 0 && r < len(s.frames) {
		return &s.frames[r]
	}
	return nil
}

func (s *batchesScreen) handle(in intent, ctl *control) work {
	switch in {
	case open, "records":
		f := s.selected()
		switch {
		case f == nil:
			return nil
		case in == "records" && f.hasOffsets() && !f.isMessage():
			ctl.push(newRecords(s.w, s.log, target{atPosition, f.pos}))
		default:
			ctl.push(newBatch(s.w, s.log, target{atPosition, f.pos}, nil))
		}
		return nil
	case "next-segment", "previous-segment":
		i := s.log.at + 1
		if in == "previous-segment" {
			i = s.log.at - 1
		}
		if i < 0 || i >= len(s.log.segs) {
			ctl.say("there is no further segment in this log")
			return nil
		}
		return s.goTo(s.log.to(i), target{}, ctl)
	case faults:
		if s.found != nil && s.found.faults {
			return s.searched(s.filter(), false, ctl)
		}
		return s.searched(s.filter(), true, ctl)
	case "count":
		ctl.say("every batch of the segment is read and its CRC verified")
		return countWork(s.log, make(chan struct{}))
	case mark:
		if f := s.selected(); f != nil {
			at := place{s.log.at, f.pos}
			if s.marked[at] {
				delete(s.marked, at)
			} else {
				s.marked[at] = true
			}
			s.showMarks()
		}
		return s.moveBy(1, ctl)
	case nextMark:
		return s.toNextMark(ctl)
	}
	if n, ok := step(in, max(s.height, 1)); ok {
		return s.moveBy(n, ctl)
	}
	switch in {
	case top, bottom:
		if s.found == nil {
			if in == top && !s.head {
				return s.goTo(s.log, target{}, ctl)
			}
			if in == bottom && !s.tail {
				return s.goTo(s.log, target{atEnd, 0}, ctl)
			}
		}
	case next, previous:
		return s.nextFault(in == next, ctl)
	}
	w, _ := s.handleTable(in, ctl)
	if s.found != nil {
		return both(w, s.found.load(s))
	}
	return both(w, s.more())
}

// both runs two works, one after the other; either may be nil.
func both(a, b work) work {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(ctx context.Context) any {
		return more{a(ctx), b}
	}
}

// moveBy moves the cursor, reading on where the frames end.
func (s *batchesScreen) moveBy(by int, ctl *control) work {
	if s.found != nil {
		s.to(s.cursor + by)
		return s.found.load(s)
	}
	want := s.cursor + by
	n := len(s.frames)
	s.owed = 0
	switch {
	case want < 0 && !s.head:
		s.owed = max(want, -framesKept/2)
	case want >= n && !s.tail:
		s.owed = min(want-n+1, framesKept/2)
	case want >= n && s.tail && by == 1 && s.log.at+1 < len(s.log.segs):
		ctl.say("the end of this segment; > opens the next one")
	}
	s.to(want)
	return s.more()
}

// more reads on where the cursor comes near the end of what is there.
func (s *batchesScreen) more() work {
	if s.reading || !s.loaded || len(s.frames) == 0 || s.found != nil {
		return nil
	}
	near := max(2*s.height, framesBefore)
	switch {
	case !s.tail && s.cursor+near >= len(s.frames):
		s.reading = true
		return forward(s.log, s.frames[len(s.frames)-1])
	case !s.head && s.cursor < near:
		s.reading = true
		return backward(s.log, s.frames[0].pos, s.bounds)
	}
	return nil
}

// goTo gives up what is being read and goes to another place. What is shown stays until
// that is there.
func (s *batchesScreen) goTo(l *logFiles, t target, ctl *control) work {
	if s.found != nil {
		s.leaveFound()
	}
	ctl.restart()
	s.reading, s.owed = false, 0
	var bounds []int64
	if l.at == s.log.at {
		bounds = s.bounds
	}
	return reach(l, t, bounds)
}

func (s *batchesScreen) deliver(v any, ctl *control) work {
	switch v := v.(type) {
	case *reached:
		if v.log.at != s.log.at {
			s.bounds = nil
		}
		s.log = v.log
		s.frames, s.head, s.tail, s.size, s.loaded = v.frames, v.head, v.tail, v.size, true
		s.bounds = mergeBounds(s.bounds, v.bounds)
		s.show()
		s.cursor = max(v.selected, 0)
		s.table.first = max(s.cursor-s.height/3, 0)
		s.to(s.cursor)
		if v.note != "" && v.selected >= 0 {
			ctl.warn("%s", v.note)
		}
		return s.more()
	case *further:
		return s.take(v)
	case *foundSome, foundLoaded, frameCount:
		return s.takeFound(v, ctl)
	case error:
		s.reading, s.unread = false, v
		if s.found != nil {
			s.found.failed(v)
		}
	}
	return nil
}

// take joins frames to those that are there, and drops what is far from the cursor.
func (s *batchesScreen) take(v *further) work {
	s.reading = false
	s.size = v.size
	s.bounds = mergeBounds(s.bounds, v.bounds)
	n := len(s.frames)
	switch {
	case n == 0:
		return nil
	case v.back && v.lost:
		// Some boundary was none. Only the beginning of the file is sure.
		s.bounds = nil
		return reach(s.log.without(), target{atPosition, s.frames[s.cursor].pos}, nil)
	case v.back:
		if len(v.frames) > 0 {
			s.frames[0].follow(v.frames)
		}
		s.frames = slices.Concat(v.frames, s.frames)
		s.head = v.head
		s.cursor += len(v.frames)
		s.table.first += len(v.frames)
		if over := len(s.frames) - framesKept; over > 0 && s.cursor < len(s.frames)-over {
			s.frames = s.frames[:len(s.frames)-over]
			s.tail = false
		}
	default:
		s.frames = append(s.frames[:n:n], v.frames...)
		s.tail = v.tail
		if over := min(len(s.frames)-framesKept, s.table.first-framesBefore); over > 0 {
			s.frames = slices.Clone(s.frames[over:])
			s.head = false
			s.cursor -= over
			s.table.first -= over
		}
	}
	s.show()
	owed := s.owed
	s.owed = 0
	if owed != 0 {
		s.to(s.cursor + owed)
	}
	return s.more()
}

// show gives the table the frames.
func (s *batchesScreen) show() {
	s.rows = &frameRows{s.frames, s.log.gaps, s.log.file().Path, s.path()}
	s.order = nil
	s.showMarks()
}

// showMarks marks the rows of marked frames.
func (s *batchesScreen) showMarks() {
	clear(s.marks)
	if len(s.marked) == 0 {
		return
	}
	if s.found != nil {
		for i := range s.found.hits {
			if s.marked[place{s.log.at, s.found.hits[i].pos}] {
				s.marks[i] = true
			}
		}
		return
	}
	for i := range s.frames {
		if s.marked[place{s.log.at, s.frames[i].pos}] {
			s.marks[i] = true
		}
	}
}

func (s *batchesScreen) toNextMark(ctl *control) work {
	if len(s.marked) == 0 {
		ctl.say("no batch is marked; space marks one")
		return nil
	}
	var list []place
	for p := range s.marked {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b place) int {
		if a.segment != b.segment {
			return a.segment - b.segment
		}
		return int(min(max(a.pos-b.pos, -1), 1))
	})
	here := place{s.log.at, -1}
	if f := s.selected(); f != nil {
		here.pos = f.pos
	}
	for _, p := range list {
		if p.segment > here.segment || p.segment == here.segment && p.pos > here.pos {
			return s.goTo(s.log.to(p.segment), target{atPosition, p.pos}, ctl)
		}
	}
	return s.goTo(s.log.to(list[0].segment), target{atPosition, list[0].pos}, ctl)
}

// mergeBounds joins two ascending lists of boundaries.
func mergeBounds(a, b []int64) []int64 {
	if len(b) == 0 {
		return a
	}
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// without is the log without its index, which is not to be believed.
func (l *logFiles) without() *logFiles {
	other := *l
	other.segs = slices.Clone(l.segs)
	plain := *other.segs[l.at]
	plain.Index, plain.TimeIndex = nil, nil
	other.segs[l.at] = &plain
	return &other
}

func (s *batchesScreen) view(w, h int, st *styles) string {
	if !s.loaded && s.found == nil && s.unread != nil {
		return unreadText(s.unread, w, st)
	}
	if !s.loaded && s.found == nil {
		return st.dim.Render("reading …")
	}
	if s.found == nil && len(s.frames) == 0 {
		return st.dim.Render("The file is empty: no batch was written since this segment was begun.")
	}
	if s.found != nil && len(s.found.hits) == 0 {
		return st.dim.Render(cut(s.found.nothing(), w))
	}
	lines := []string{}
	if head := s.headline(); h >= 12 {
		lines = append(lines, st.dim.Render(cut(escape(head), w)))
	}
	return strings.Join(append(lines, s.viewTable(w, h-len(lines), st)), "\n")
}

// headline says where one is.
func (s *batchesScreen) headline() string {
	text := s.log.file().Path + "  " + humanBytes(s.size)
	if n := len(s.log.segs); n > 1 {
		text += "  segment " + comma(int64(s.log.at+1)) + " of " + comma(int64(n))
	}
	if c, ok := s.counted[s.log.file()]; ok {
		text += "  " + c.text()
	}
	return text
}

// position is how far into the file the cursor is, since rows are not counted.
func (s *batchesScreen) position() string {
	marks := ""
	if n := len(s.marked); n > 0 {
		marks = countOf(int64(n), "mark", "marks") + "  "
	}
	if s.found != nil {
		return marks + s.found.position(s.cursor)
	}
	f := s.selected()
	if f == nil {
		return marks
	}
	done := int64(100)
	if s.size > 0 && !(s.tail && s.cursor == len(s.frames)-1) {
		done = min(f.pos*100/s.size, 99)
	}
	if s.head && s.tail {
		return marks + comma(int64(s.cursor+1)) + "/" + comma(int64(len(s.frames)))
	}
	return marks + itoa(done) + "% of " + humanBytes(s.size)
}

func (s *batchesScreen) copyText(kind copyKind) (string, error) {
	if s.selected() == nil {
		return "", errNothingToCopy
	}
	return s.table.copyText(kind)
}

// save writes all batches of the segment, or all that a scan found: they are read again
// for it.
func (s *batchesScreen) save(format string) (func(io.Writer) error, error) {
	l, path := s.log, s.path()
	var keep func(pos int64) bool
	switch {
	case len(s.marked) > 0:
		marked := map[int64]bool{}
		for p := range s.marked {
			if p.segment == l.at {
				marked[p.pos] = true
			}
		}
		keep = func(pos int64) bool { return marked[pos] }
	case s.found != nil && (!s.found.done || s.found.over):
		return nil, errors.New("the scan is not complete")
	case s.found != nil:
		hits, i := s.found.hits, 0
		keep = func(pos int64) bool {
			for i < len(hits) && hits[i].pos < pos {
				i++
			}
			return i < len(hits) && hits[i].pos == pos
		}
	}
	return func(out io.Writer) error {
		f, err := openWatched(context.Background(), l.file(), nil)
		if err != nil {
			return err
		}
		defer f.close()
		t, err := newTableWriter(out, format, frameColumns)
		if err != nil {
			return err
		}
		one := &frameRows{make([]frame, 1), l.gaps, l.file().Path, path}
		err = newWalk(f).run(0, false, nil, func(fr *frame, _ *segment.Frame) bool {
			if keep == nil || keep(fr.pos) {
				one.list[0] = *fr
				t.write(one, 0)
			}
			return t.err == nil
		})
		return errors.Join(err, t.finish())
	}, nil
}

func (s *batchesScreen) commands() []command {
	list := logCommands(s.log, func(l *logFiles, t target, ctl *control) work { return s.goTo(l, t, ctl) })
	return append(list, command{name: "segment", args: "BASE", help: "to the segment with this base offset",
		complete: func(arg string) []string {
			var out []string
			for _, x := range s.log.segs {
				if t := itoa(x.BaseOffset); strings.HasPrefix(t, arg) && len(out) < 50 {
					out = append(out, t)
				}
			}
			return out
		},
		run: func(arg string, ctl *control) (work, error) {
			for i, x := range s.log.segs {
				if itoa(x.BaseOffset) == arg {
					return s.goTo(s.log.to(i), target{}, ctl), nil
				}
			}
			return nil, fmt.Errorf("there is no segment with base offset %s", arg)
		}})
}

// logCommands are the commands that go to a place in a log.
func logCommands(l *logFiles, goTo func(*logFiles, target, *control) work) []command {
	number := func(kind targetKind, what string) func(string, *control) (work, error) {
		return func(arg string, ctl *control) (work, error) {
			n, err := strconv.ParseInt(strings.ReplaceAll(arg, ",", ""), 10, 64)
			if err != nil || n < 0 {
				return nil, fmt.Errorf("want %s", what)
			}
			return goTo(l, target{kind, n}, ctl), nil
		}
	}
	return []command{
		{name: "goto", args: "OFFSET", help: "to the batch that holds an offset", run: number(atOffset, "an offset")},
		{name: "position", args: "BYTE", help: "to the byte of this segment", run: number(atPosition, "a position in bytes")},
		{name: "epoch", args: "EPOCH", help: "to the first batch of a leader epoch",
			complete: func(arg string) []string {
				var out []string
				for _, r := range lineageOf(l) {
					if t := itoa(r.Epoch); r.Epoch >= 0 && strings.HasPrefix(t, arg) && !slices.Contains(out, t) && len(out) < 50 {
						out = append(out, t)
					}
				}
				return out
			},
			run: func(arg string, ctl *control) (work, error) {
				n, err := strconv.ParseInt(arg, 10, 32)
				if err != nil || n < 0 {
					return nil, fmt.Errorf("want a leader epoch")
				}
				lineage := lineageOf(l)
				if lineage == nil {
					return goTo(l, target{atEpoch, n}, ctl), nil
				}
				var known []string
				for _, r := range lineage {
					if int64(r.Epoch) == n {
						return goTo(l, target{atOffset, r.From}, ctl), nil
					}
					if t := itoa(r.Epoch); len(known) < 20 && !slices.Contains(known, t) {
						known = append(known, t)
					}
				}
				return nil, fmt.Errorf("no batch has leader epoch %d; there are %s", n, strings.Join(known, ", "))
			}},
		{name: "time", args: "TIME", help: "to the first batch of that time or later (RFC 3339, or ms since 1970)",
			run: func(arg string, ctl *control) (work, error) {
				ms, err := parseTime(arg)
				if err != nil {
					return nil, err
				}
				return goTo(l, target{atTime, ms}, ctl), nil
			}},
	}
}

// lineageOf is the epochs of the batches, if the copy was judged.
func lineageOf(l *logFiles) epoch.Lineage {
	if l.copy == nil || l.copy.Err != nil || l.copy.Log == nil {
		return nil
	}
	return l.copy.Log.Lineage
}

// parseTime reads a time as ms since 1970.
func parseTime(s string) (int64, error) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n >= 0 {
		return n, nil
	}
	s = strings.Replace(s, " ", "T", 1)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UnixMilli(), nil
		}
	}
	return 0, fmt.Errorf("%s is no time; want one like 2026-10-29T12:00Z, or milliseconds", s)
}
