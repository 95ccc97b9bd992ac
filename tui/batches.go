package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"kafsck/logdir"
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

const noSort = "only a window of a log is in memory, in the order of the log; / and z select from all of it"

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
	if e := whereOf(s.filter()); e != "" {
		words = append(words, "--where", e)
	}
	return shellWords(append(words, s.path())...)
}

func (s *batchesScreen) bindings() []binding {
	return []binding{
		{keys: []string{"r"}, in: "records", help: "records of the batch", hint: "records"},
		{keys: []string{">"}, in: "next-segment", help: "next segment of the log", hint: "next segment"},
		{keys: []string{"<"}, in: "previous-segment", help: "segment before", hint: "previous"},
		{keys: []string{"c"}, in: "count", help: "count and check all batches of the segment", hint: "count and check"},
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
		case in == "records" && f.hasOffsets():
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
		s.unread = nil
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
	s.reading, s.unread = false, nil
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
