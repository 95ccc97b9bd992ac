package tui

import (
	"fmt"
	"strings"

	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/replica"
)

// openSegments opens the table of a copy's segments and of the files beside them.
func openSegments(w *world, p *incident.Partition, c *incident.Copy) screen {
	if c.Log == nil || c.Log.Partition == nil {
		text := "This copy could not be read."
		if c.Err != nil {
			text += " " + c.Err.Error()
		}
		return newPage(c.Dir, w.command("ls"), []string{text})
	}
	return newSegments(w, p, c, c.Log.Partition)
}

// segmentsCommand opens the segments of a directory at once, whether or not its partition
// is judged.
var segmentsCommand = screenCommand{name: "segments", args: "[PARTITION [BROKER]]", help: "segments and files of a partition, also before it is judged",
	complete: func(w *world, arg string) []string {
		name, broker, has := strings.Cut(arg, " ")
		if !has {
			return w.partitionNames(arg)
		}
		var out []string
		if i := w.indexOf(name); i >= 0 {
			for _, b := range w.refs[i].Brokers {
				if strings.HasPrefix(b.Name, broker) {
					out = append(out, name+" "+b.Name)
				}
			}
		}
		return out
	},
	open: func(ctl *control, arg string) (screen, error) {
		w := ctl.world()
		name, broker, _ := strings.Cut(arg, " ")
		i, err := ctl.partitionFor(name)
		if err != nil {
			return nil, err
		}
		if p := w.story(i); p != nil {
			for _, c := range p.Copies {
				if (broker == "" || c.Broker.Name == broker) && c.Log != nil {
					return openSegments(w, p, c), nil
				}
			}
		}
		for _, b := range w.src.Incident.Case.Brokers {
			if broker != "" && b.String() != broker {
				continue
			}
			for _, ld := range b.Dirs {
				for _, part := range ld.Partitions {
					if part.Topic == w.refs[i].Topic && part.Partition == w.refs[i].Number {
						return newSegments(w, nil, nil, part), nil
					}
				}
			}
		}
		return nil, fmt.Errorf("there is no directory of %s on broker %s", w.refs[i].Name, broker)
	}}

// segmentsScreen lists the segments of a directory and the files beside them, or with tab
// every file on a row of its own.
type segmentsScreen struct {
	*table
	w        *world
	p        *incident.Partition // nil: not judged
	c        *incident.Copy
	part     *logdir.Partition
	segments *table
	files    *table
	rows     *segmentRows
	// Segments of which a file could not be read, and the first such read.
	unread     int
	unreadSays string
}

func newSegments(w *world, p *incident.Partition, c *incident.Copy, part *logdir.Partition) *segmentsScreen {
	s := &segmentsScreen{w: w, p: p, c: c, part: part}
	levels := map[string]level{}
	says := map[string]string{}
	mine := map[*logdir.Segment]bool{}
	if p != nil {
		for i := range p.Findings {
			f := &p.Findings[i]
			if l := levelOf(f.Severity); f.At.File != "" && l > levels[f.At.File] {
				levels[f.At.File], says[f.At.File] = l, string(f.Code)
			}
		}
		for _, x := range c.Log.Segments {
			mine[x] = true
		}
	}
	s.rows = &segmentRows{w: w}
	inSegment := map[*logdir.File]bool{}
	for _, x := range part.Segments {
		r := segmentRow{seg: x, state: s.stateOf(x, mine[x])}
		for _, f := range filesOf(x) {
			inSegment[f] = true
			if l := levels[f.Path]; l > r.level {
				r.level, r.says = l, says[f.Path]
			}
			if f.Err != nil {
				r.level, r.says = levelUnread, f.Err.Error()
			}
		}
		s.rows.list = append(s.rows.list, r)
	}
	var all []fileRow
	addFile := func(f *logdir.File, around bool) {
		r := fileRow{file: f, level: levels[f.Path], says: says[f.Path], around: around}
		if f.Err != nil {
			r.level, r.says = levelUnread, f.Err.Error()
		} else if r.says == "" {
			r.says = f.Why
		}
		all = append(all, r)
		if !inSegment[f] {
			s.rows.list = append(s.rows.list, segmentRow{file: f, level: r.level, says: r.says, around: around})
		}
	}
	for f := range part.AllFiles() {
		addFile(f, false)
	}
	for f := range part.LogDir.AllFiles() {
		if !f.Mode.IsDir() {
			addFile(f, true)
		}
	}
	s.rows.facts = make([]segmentFacts, len(s.rows.list))
	s.segments = newTable(segmentColumns, s.rows)
	s.segments.fixed = 1
	s.files = newTable(fileColumns, &fileRows{w, all})
	s.files.fixed = 1
	s.table = s.segments
	return s
}

// filesOf are the files of a segment.
func filesOf(x *logdir.Segment) []*logdir.File {
	var out []*logdir.File
	for _, f := range []*logdir.File{x.Log, x.Index, x.TimeIndex, x.TxnIndex, x.Snapshot} {
		if f != nil {
			out = append(out, f)
		}
	}
	return out
}

// stateOf is what a segment is to the broker.
func (s *segmentsScreen) stateOf(x *logdir.Segment, mine bool) string {
	switch {
	case x.Log == nil && x.Index == nil && x.TimeIndex == nil && x.TxnIndex == nil:
		return "snapshot only"
	case x.Log == nil:
		return "no .log"
	case mine:
		return string(s.c.State)
	case s.c == nil && x.Suffix == logdir.NoSuffix:
		return s.part.State.String()
	case x.Suffix == logdir.Deleted:
		return string(replica.Deleted)
	case x.Suffix == logdir.Swap:
		return string(replica.Swap)
	case x.Suffix == logdir.Cleaned:
		return string(replica.Cleaned)
	}
	return "set aside"
}

func (s *segmentsScreen) crumb() string { return s.part.Dir }

func (s *segmentsScreen) command() string {
	if f := s.selectedFile(); f != nil && s.table == s.files {
		return shellWords("kafsck", "dump", s.w.typed(f.Path))
	}
	return shellWords("kafsck", "ls", s.w.typed(s.part.Dir))
}

func (s *segmentsScreen) bindings() []binding {
	return []binding{
		{keys: []string{"c"}, in: "count", help: "count and check all batches of the segment", hint: "count and check"},
		{keys: []string{"E"}, in: "epochs", help: "leader-epoch-checkpoint as written, loaded and regenerated", hint: "epochs"},
	}
}

// start reads what is not in the names and sizes, in the background.
func (s *segmentsScreen) start() work {
	s.unread = 0
	return readFacts(s.rows.list)
}

func (s *segmentsScreen) selectedFile() *logdir.File {
	r := s.row()
	if r < 0 {
		return nil
	}
	if s.table == s.files {
		return s.files.rows.(*fileRows).list[r].file
	}
	x := &s.rows.list[r]
	if x.seg == nil {
		return x.file
	}
	return x.seg.Log
}

func (s *segmentsScreen) deliver(v any, ctl *control) work {
	if w, ok := s.segments.deliverTable(v); ok {
		return w
	}
	if w, ok := s.files.deliverTable(v); ok {
		return w
	}
	switch v := v.(type) {
	case []numberedFacts:
		for _, f := range v {
			s.rows.facts[f.row] = f.segmentFacts
			if f.level == levelUnread {
				if s.unread++; s.unread == 1 {
					s.unreadSays = f.says
				}
			}
		}
		if s.segments.sortCol >= 0 || s.segments.flt != nil {
			return s.segments.arrange()
		}
	case frameCount:
		ctl.say("%s", v.text())
		for i := range s.rows.list {
			if x := s.rows.list[i].seg; x != nil && x.Log == v.file {
				f := &s.rows.facts[i]
				f.batches, f.first, f.last, f.known = v.batches, v.first, v.last, true
			}
		}
	}
	return nil
}

func (s *segmentsScreen) handle(in intent, ctl *control) work {
	r := s.row()
	switch in {
	case nextPane, prevPane:
		if s.table == s.segments {
			s.table = s.files
		} else {
			s.table = s.segments
		}
		return nil
	case "epochs":
		e := newEpochFile(s.w, s.p, s.c)
		e.part, e.index = s.part, s.w.indexOf(s.part.Name())
		ctl.push(e)
		return nil
	case "count":
		if l := s.logAt(r); l != nil && s.table == s.segments {
			return countWork(l, make(chan struct{}))
		}
		ctl.say("there is no .log to count here")
		return nil
	case open:
		if r < 0 {
			return nil
		}
		if s.table == s.segments {
			x := &s.rows.list[r]
			if x.seg != nil && x.seg.Log != nil {
				if l := s.logAt(r); l != nil {
					ctl.push(newBatches(s.w, l, target{}))
				}
				return nil
			}
			if x.seg != nil { // without a .log: the first file that there is
				ctl.push(openFile(s.w, s.p, s.c, s.part, filesOf(x.seg)[0], -1))
				return nil
			}
		}
		ctl.push(openFile(s.w, s.p, s.c, s.part, s.selectedFile(), -1))
		return nil
	}
	w, _ := s.handleTable(in, ctl)
	return w
}

// logAt is the log of the segment on a row: the copy's own, or that of files beside it.
func (s *segmentsScreen) logAt(row int) *logFiles {
	if row < 0 || s.rows.list[row].seg == nil || s.rows.list[row].seg.Log == nil {
		return nil
	}
	return logOfFile(s.p, s.c, s.part, s.rows.list[row].seg.Log)
}

// logOfFile is the log that a .log file is a part of: that of the copy, if it is one of
// its segments.
func logOfFile(p *incident.Partition, c *incident.Copy, part *logdir.Partition, f *logdir.File) *logFiles {
	if p != nil && c != nil {
		if l := logOf(p, c); l != nil {
			for i, x := range l.segs {
				if x.Log == f {
					l.at = i
					return l
				}
			}
		}
	}
	return logAround(part, f)
}

func (s *segmentsScreen) view(w, h int, st *styles) string {
	if len(s.rows.list) == 0 {
		return st.dim.Render("The directory is empty.")
	}
	var lines []string
	if h >= 12 {
		lines = append(lines, st.dim.Render(cut(escape(s.headline()), w)))
	}
	if s.unread > 0 {
		text := fmt.Sprintf("E not read: %s: ", countOf(int64(s.unread), "segment", "segments"))
		lines = append(lines, st.level(levelUnread).Render(cutPath(text, escape(s.unreadSays), w)))
	}
	return strings.Join(append(lines, s.viewTable(w, h-len(lines), st)), "\n")
}

func (s *segmentsScreen) headline() string {
	if s.c == nil {
		return s.part.Dir + "  not judged"
	}
	l := s.c.Log
	text := s.c.Dir + "  " + string(s.c.State) + "  "
	if s.c.Err != nil {
		text += "not read to its end"
	} else if l.LogEndOffset > l.LogStartOffset {
		text += "offsets " + span(l.LogStartOffset, l.LogEndOffset)
	} else {
		text += "no records, log end offset " + itoa(l.LogEndOffset)
	}
	if l.HighWatermark != nil {
		text += "  high watermark " + itoa(*l.HighWatermark)
	}
	if l.RecoveryPoint != nil {
		text += "  recovery point " + itoa(*l.RecoveryPoint)
	}
	return text + "  " + countOf(l.Batches, "batch", "batches")
}

func (s *segmentsScreen) commands() []command {
	var l *logFiles
	if s.c != nil {
		l = logOf(s.p, s.c)
	}
	for i := 0; l == nil && i < len(s.rows.list); i++ {
		l = s.logAt(i)
	}
	if l == nil {
		return nil
	}
	return logCommands(l, func(l *logFiles, t target, ctl *control) work {
		if t.kind == atOffset {
			l = l.to(l.holding(t.n))
		}
		ctl.push(newBatches(s.w, l, t))
		return nil
	})
}
