package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kafsck/incident"
)

// openPartition opens the screen of a partition (an index of world.refs).
func openPartition(w *world, index int) screen { return newPartition(w, index) }

// partitionScreenCommand opens a partition by name.
var partitionScreenCommand = partitionCommand("partition", "the replicas of a partition side by side", openPartition)

// partitionScreen shows the replicas of a partition: above as bars on one axis of
// offsets, below as a table. The selected replica is the same in both.
type partitionScreen struct {
	about
	*table
	chart   scale // what is seen; room is set by the view
	whole   scale // all offsets
	lanes   []lane
	stops   []stop // all marks, by offset
	cursor  int64  // offset
	inTable bool   // the table has the focus
	placed  bool   // cursor and scale stand somewhere
}

// stop is a mark that n and N go to.
type stop struct {
	lane int
	barMark
}

func newPartition(w *world, index int) *partitionScreen {
	s := &partitionScreen{about: about{w: w, index: index}, table: newTable(copyColumns, copyRows{})}
	s.fixed = 1
	s.chart.room = 60
	return s
}

func (s *partitionScreen) crumb() string   { return s.name() }
func (s *partitionScreen) command() string { return s.twin("") }

func (s *partitionScreen) bindings() []binding {
	return []binding{
		{keys: []string{"+", "="}, in: "zoom-in", help: "zoom in, around the cursor"},
		{keys: []string{"-"}, in: "zoom-out", help: "zoom out"},
		{keys: []string{"0"}, in: "zoom-all", help: "all offsets", hint: "all"},
		{keys: []string{"d"}, in: "diff", help: "differences: two replicas in step", hint: "diff"},
		{keys: []string{"L"}, in: "loss", help: "loss and its evidence", hint: "loss"},
		{keys: []string{"C"}, in: "leaders", help: "candidate leaders", hint: "leaders"},
		{keys: []string{"S"}, in: "starts", help: "next start of its brokers", hint: "next start"},
		{keys: []string{"H"}, in: "history", help: "history: leaders and ISR"},
		{keys: []string{"T"}, in: "txns", help: "transactions"},
		{keys: []string{"i"}, in: "findings-here", help: "findings of this partition", hint: "findings"},
		{keys: []string{"c"}, in: "segments", help: "segments of this replica", hint: "segments"},
	}
}

func (s *partitionScreen) start() work {
	w := s.begin()
	if s.p != nil {
		return s.ready()
	}
	return w
}

// ready takes the story over.
func (s *partitionScreen) ready() work {
	s.lanes = lanesOf(s.p)
	s.whole = scale{low: 0, high: 1}
	first := true
	for i := range s.lanes {
		l := &s.lanes[i]
		if l.empty != "" && l.from >= l.to {
			continue
		}
		if first {
			s.whole.low, s.whole.high, first = l.from, l.to, false
		}
		s.whole.low, s.whole.high = min(s.whole.low, l.from), max(s.whole.high, l.to)
		for _, m := range l.marks { // a watermark may lie beyond the end
			s.whole.low, s.whole.high = min(s.whole.low, m.at), max(s.whole.high, m.at)
		}
	}
	s.whole.high = max(s.whole.high, s.whole.low+1)
	s.stops = s.stops[:0]
	for i := range s.lanes {
		for _, m := range s.lanes[i].marks {
			s.stops = append(s.stops, stop{i, m})
		}
	}
	slices.SortStableFunc(s.stops, func(a, b stop) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.lane, b.lane)) })
	w := s.setRows(newCopyRows(s.w, s.p, slices.Clone(s.lanes)))
	if !s.placed {
		s.placed = true
		s.chart.low, s.chart.high = s.whole.low, s.whole.high
		s.toWorst()
	}
	return w
}

// toWorst puts the cursor where one looks first: the first lost record, on a copy that
// holds it; else the worst mark; else the log end of who rules.
func (s *partitionScreen) toWorst() {
	best := -1
	for i := range s.stops {
		if best < 0 || s.stops[i].level > s.stops[best].level {
			best = i
		}
	}
	if best >= 0 && s.stops[best].level >= levelWarning {
		s.goTo(s.stops[best].at, s.stops[best].lane)
		return
	}
	for i, c := range s.p.Copies {
		if s.p.Ruling.Leader == nil || c.Broker == *s.p.Ruling.Leader {
			s.goTo(max(s.lanes[i].to-1, s.lanes[i].from), i)
			return
		}
	}
	s.cursor = s.whole.low
}

// goTo moves the cursor, and the scale where needed; lane -1 stays.
func (s *partitionScreen) goTo(offset int64, lane int) {
	s.cursor = min(max(offset, s.whole.low), s.whole.high)
	s.chart = s.chart.showing(s.cursor, s.whole)
	if lane >= 0 {
		s.selectRow(lane)
	}
}

func (s *partitionScreen) deliver(v any, ctl *control) work {
	if w, ok := s.deliverTable(v); ok {
		return w
	}
	if s.take(v) {
		return s.ready()
	}
	return nil
}

func (s *partitionScreen) handle(in intent, ctl *control) work {
	if s.p == nil {
		return nil
	}
	switch in {
	case "diff":
		ctl.push(newDiff(s.w, s.index, -1, -1))
		return nil
	case "loss":
		ctl.push(newLoss(s.w, s.index))
		return nil
	case "leaders":
		ctl.push(newLeaders(s.w, s.index))
		return nil
	case "starts":
		ctl.push(newStarts(s.w, s.name()))
		return nil
	case "history":
		ctl.push(newHistory(s.w, s.index))
		return nil
	case "txns":
		ctl.push(newTxns(s.w, s.index, s.copy()))
		return nil
	case "findings-here":
		ctl.push(newFindings(s.w, s.name()))
		return nil
	case nextPane, prevPane:
		s.inTable = !s.inTable
		return nil
	case "zoom-in", "zoom-out":
		s.chart = s.chart.zoom(s.cursor, in == "zoom-in", s.whole)
		return nil
	case "zoom-all":
		s.chart.low, s.chart.high = s.whole.low, s.whole.high
		return nil
	case "segments":
		s.openCopy(ctl)
		return nil
	case open:
		if s.inTable {
			s.openCopy(ctl)
			return nil
		}
		s.openCursor(ctl)
		return nil
	}
	if s.inTable {
		w, _ := s.handleTable(in, ctl)
		return w
	}
	return s.move(in, ctl)
}

// move moves in the bars.
func (s *partitionScreen) move(in intent, ctl *control) work {
	step := s.chart.step()
	switch in {
	case left:
		s.goTo(s.cursor-step, -1)
	case right:
		s.goTo(s.cursor+step, -1)
	case pageUp, halfUp:
		s.goTo(s.cursor-(s.chart.high-s.chart.low)/2, -1)
	case pageDown, halfDown:
		s.goTo(s.cursor+(s.chart.high-s.chart.low)/2, -1)
	case top:
		s.goTo(s.whole.low, -1)
	case bottom:
		s.goTo(s.whole.high, -1)
	case next, previous:
		s.toStop(in == next, ctl)
	default:
		w, _ := s.handleTable(in, ctl)
		return w
	}
	return nil
}

// toStop goes to the next mark of any replica; of the marks at one offset that of the
// selected replica, else the worst.
func (s *partitionScreen) toStop(forward bool, ctl *control) {
	best := -1
	for i := range s.stops {
		at := s.stops[i].at
		if forward && at <= s.cursor || !forward && at >= s.cursor {
			continue
		}
		switch {
		case best < 0, forward && at < s.stops[best].at, !forward && at > s.stops[best].at:
			best = i
		case at == s.stops[best].at && (s.stops[i].level > s.stops[best].level || s.stops[i].level == s.stops[best].level && s.stops[i].lane == s.row()):
			best = i
		}
	}
	if best < 0 {
		ctl.say("no further mark in this direction")
		return
	}
	s.goTo(s.stops[best].at, s.stops[best].lane)
}

// copy is the selected replica, nil without one.
func (s *partitionScreen) copy() *incident.Copy {
	if r := s.row(); s.p != nil && r >= 0 && r < len(s.p.Copies) {
		return s.p.Copies[r]
	}
	return nil
}

func (s *partitionScreen) openCopy(ctl *control) {
	c := s.copy()
	switch {
	case c == nil:
		ctl.say("no replica is selected")
	case c.Log != nil && c.Log.Partition != nil: // with an error, its files can be seen all the same
		ctl.push(openSegments(s.w, s.p, c))
	case c.Err != nil:
		ctl.warn("this copy could not be read: %v", c.Err)
	default:
		ctl.warn("this copy was not read")
	}
}

// openCursor opens the offset under the cursor in the selected replica.
func (s *partitionScreen) openCursor(ctl *control) {
	c := s.copy()
	if c == nil || c.Err != nil || c.Log == nil {
		s.openCopy(ctl)
		return
	}
	at := s.cursor
	if at >= c.Log.LogEndOffset && c.Log.LogEndOffset > c.Log.LogStartOffset {
		at = c.Log.LogEndOffset - 1
	}
	if at < s.cursor {
		ctl.say("the log of broker %s ends at offset %d: this is its last record", c.Broker.Name, at)
	}
	s.openIn(c, at, ctl)
}

func (s *partitionScreen) commands() []command {
	return []command{
		{name: "goto", args: "OFFSET", help: "put the cursor on an offset", run: func(arg string, _ *control) (work, error) {
			n, err := strconv.ParseInt(strings.ReplaceAll(arg, ",", ""), 10, 64)
			if err != nil {
				return nil, fmt.Errorf("%q is no offset", arg)
			}
			if n < s.whole.low || n > s.whole.high {
				return nil, fmt.Errorf("the logs hold offsets %s", span(s.whole.low, s.whole.high))
			}
			s.goTo(n, -1)
			return nil, nil
		}},
		{name: "epoch", args: "EPOCH", help: "to the first offset of a leader epoch", run: func(arg string, _ *control) (work, error) {
			n, err := strconv.ParseInt(arg, 10, 32)
			if err != nil {
				return nil, fmt.Errorf("%q is no leader epoch", arg)
			}
			for _, i := range s.fromSelected() {
				for _, r := range s.lanes[i].ranges {
					if r.Epoch == int32(n) {
						s.goTo(r.From, i)
						return nil, nil
					}
				}
			}
			return nil, fmt.Errorf("no batch carries epoch %d", n)
		}},
	}
}

// fromSelected are the indexes of all lanes, the selected one first.
func (s *partitionScreen) fromSelected() []int {
	var out []int
	if r := s.row(); r >= 0 {
		out = append(out, r)
	}
	for i := range s.lanes {
		if len(out) == 0 || i != out[0] {
			out = append(out, i)
		}
	}
	return out
}

// position says where the cursor is.
func (s *partitionScreen) position() string {
	if s.p == nil || s.inTable {
		return s.table.position()
	}
	return "offset " + itoa(s.cursor)
}
