package tui

import (
	"context"

	"kafsck/finding"
	"kafsck/segment"
)

// batchScreen is one batch, or bytes that are none: its fields at the left, its bytes at
// the right. What is selected on one side is lit on the other.
type batchScreen struct {
	w       *world
	log     *logFiles
	first   target
	finding *finding.Finding // what it was opened for, or nil
	data    *batchData

	fixed  []field      // of the frame
	opened []openRecord // records whose fields are shown, ascending
	cursor int          // line of the tree
	top    int
	height int

	hex     hexPane
	in      space // of the bytes at the right
	inHex   bool  // the keys go to the bytes
	single  bool  // one side at a time: the window is narrow
	reading bool
	unread  error // why there is nothing to show
	asked   int64 // byte of the file that was asked for, -1 none
}

// openRecord is a record whose fields are shown.
type openRecord struct {
	record int
	fields []field
	peek   bool // only because the cursor in the bytes is in it
}

func newBatch(w *world, l *logFiles, t target, f *finding.Finding) *batchScreen {
	s := &batchScreen{w: w, log: l, first: t, finding: f, asked: -1}
	if t.kind == atPosition && f != nil {
		s.asked = t.n
	}
	return s
}

func (s *batchScreen) crumb() string {
	if s.data == nil {
		return "batch"
	}
	f := &s.data.frame
	if !f.hasOffsets() {
		return f.kind.String() + " at " + itoa(f.pos)
	}
	first, last := s.data.offsets()
	if f.isMessage() && !s.data.compressed {
		return "message " + span(first, last+1)
	}
	return "batch " + span(first, last+1)
}

func (s *batchScreen) command() string {
	path := s.w.typed(s.log.file().Path)
	if s.data == nil {
		return shellWords("kafsck", "dump", "--records", path)
	}
	f := &s.data.frame
	words := []string{"kafsck", "dump"}
	if f.kind == segment.Batch {
		words = append(words, "--records")
	}
	return shellWords(append(words, "--positions", itoa(f.pos)+".."+itoa(f.end()-1), s.w.typed(s.data.file))...)
}

func (s *batchScreen) bindings() []binding {
	return []binding{
		{keys: []string{"r"}, in: "records", help: "records, with their values in full"},
		{keys: []string{">"}, in: "next-batch", help: "next batch"},
		{keys: []string{"<"}, in: "previous-batch", help: "batch before", hint: "previous"},
		{keys: []string{"b"}, in: "batches", help: "the list of batches around this one", hint: "batches"},
		{keys: []string{"+"}, in: "expand", help: "show the fields of the record, or hide them", hint: "fields of the record"},
	}
}

func (s *batchScreen) start() work {
	t := s.first
	if s.data != nil {
		t = target{atPosition, s.data.frame.pos}
	}
	s.reading = true
	return readBatch(s.log, t, nil)
}

func (s *batchScreen) deliver(v any, ctl *control) work {
	switch v := v.(type) {
	case *batchData:
		s.reading, s.unread = false, nil
		s.show(v)
		if v.note != "" {
			ctl.warn("%s", v.note)
		}
		return s.hex.load()
	case hexLoaded:
		v.src.take(v)
		return s.hex.load()
	case noFurther:
		s.reading = false
		ctl.say("%s", string(v))
	case *reached:
		s.reading = false
		if v.note != "" {
			ctl.say("%s", v.note)
			return nil
		}
		s.reading = true
		return readBatch(v.log, target{atPosition, v.frames[v.selected].pos}, v.bounds)
	case error:
		s.reading, s.unread = false, v
		if f, ok := s.hex.src.(*fileBytes); ok {
			f.loading = false
		}
	}
	return nil
}

// show takes a frame in.
func (s *batchScreen) show(d *batchData) {
	s.data, s.log = d, d.log
	s.opened, s.cursor, s.top = nil, 0, 0
	switch f := &d.frame; {
	case f.isMessage():
		s.fixed = legacyFields(d)
	case f.hasOffsets():
		s.fixed = batchFields(d)
	case f.kind == segment.Embedded:
		s.fixed = append([]field{{name: "embedded", value: f.says(), in: nowhere, level: levelWarning, jump: -1}}, batchFields(d)...)
	default:
		s.fixed = otherFields(d)
	}
	s.in = nowhere
	s.showSpace(inFrame)
	switch {
	case d.selected >= 0 && d.selected < d.inTree():
		s.expand(d.selected, false)
		s.selectLine(s.lineOf(d.selected))
	case s.asked >= d.frame.pos && s.asked < d.frame.end():
		s.hex.to(s.asked - d.frame.pos)
		s.follow()
		s.asked = -1
	default:
		s.selectLine(s.firstFault())
	}
}

// firstFault is the line to begin with: what is wrong, else the first.
func (s *batchScreen) firstFault() int {
	for i := range s.fixed {
		if s.fixed[i].level.fault() {
			return i
		}
	}
	return 0
}

// showSpace shows the bytes of a space at the right.
func (s *batchScreen) showSpace(in space) {
	if s.in == in {
		return
	}
	s.in = in
	s.hex.cursor, s.hex.topRow = 0, 0
	d := s.data
	switch {
	case in == inRecords:
		s.hex.src = memoryBytes{d.payload, 0}
	case d.raw != nil:
		s.hex.src = memoryBytes{d.raw, d.frame.pos}
	default:
		file := d.log.file()
		s.hex.src = &fileBytes{open: func(ctx context.Context) (*watchedFile, error) { return openWatched(ctx, file, nil) }, from: d.frame.pos, n: d.frame.len}
	}
}

func (s *batchScreen) handle(in intent, ctl *control) work {
	switch in {
	case "next-batch", "previous-batch":
		if s.data == nil || s.reading {
			return nil
		}
		s.reading, s.asked = true, -1
		by := 1
		if in == "previous-batch" {
			by = -1
		}
		return readBeside(s.log, s.data.frame, by)
	case next, previous:
		if s.data == nil || s.reading {
			return nil
		}
		s.reading, s.asked = true, -1
		return seekFault(s.log, s.data.frame.pos, in == next)
	case "batches":
		t := s.first
		if s.data != nil {
			t = target{atPosition, s.data.frame.pos}
		}
		ctl.push(newBatches(s.w, s.log, t))
		return nil
	case "records":
		return s.openRecords(ctl)
	case nextPane, prevPane:
		if s.data != nil {
			s.inHex = !s.inHex
			if s.inHex {
				s.follow()
			}
		}
		return nil
	}
	if s.data == nil {
		return nil
	}
	if s.inHex {
		if in == open {
			s.inHex = false
			return nil
		}
		if s.hex.handle(in) {
			s.follow()
		}
		return s.hex.load()
	}
	record, at := s.line(s.cursor)
	if n, ok := step(in, max(s.height, 1)); ok {
		s.selectLine(s.cursor + n)
	}
	switch in {
	case top:
		s.selectLine(0)
	case bottom:
		s.selectLine(s.lines() - 1)
	case "expand":
		if record >= 0 {
			if s.openedAt(record) == nil {
				s.expand(record, false)
			} else {
				s.collapse(record)
				s.selectLine(s.lineOf(record))
			}
		}
	case right:
		if record >= 0 && s.openedAt(record) == nil {
			s.expand(record, false)
		} else {
			s.selectLine(s.cursor + 1)
		}
	case left:
		switch {
		case record >= 0 && (at >= 0 || s.openedAt(record) != nil):
			s.collapse(record)
			s.selectLine(s.lineOf(record))
		case record > 0:
			s.selectLine(s.lineOf(record - 1))
		default:
			s.selectLine(s.cursor - 1)
		}
	case open:
		f := s.field(s.cursor)
		switch {
		case f.jump >= 0:
			s.showSpace(inFrame)
			s.hex.to(f.jump)
			s.inHex = true
			s.follow()
		case record >= 0:
			return s.openRecords(ctl)
		case (f.name == "records" || f.name == "value") && record < 0 && s.data.inTree() > 0:
			s.selectLine(s.lineOf(0))
		default:
			s.inHex = true
		}
	}
	return s.hex.load()
}

// openRecords opens the records at the selected one.
func (s *batchScreen) openRecords(ctl *control) work {
	switch {
	case s.data == nil:
		return nil
	case !s.data.frame.hasOffsets() && s.data.frame.kind != segment.Embedded:
		ctl.say("there are no records in these bytes")
		return nil
	}
	record, _ := s.line(s.cursor)
	ctl.push(newRecordsOf(s.w, s.data, max(record, 0)))
	return nil
}

func (s *batchScreen) commands() []command {
	return logCommands(s.log, func(l *logFiles, t target, ctl *control) work {
		ctl.restart()
		s.reading, s.asked = true, -1
		if t.kind == atPosition {
			s.asked = t.n
		}
		return readBatch(l, t, nil)
	})
}
