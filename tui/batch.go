package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"kafsck/batch"
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
	first, last := f.offsets()
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
		{keys: []string{"<"}, in: "previous-batch", help: "batch before"},
		{keys: []string{"b"}, in: "batches", help: "the list of batches around this one"},
		{keys: []string{"+"}, in: "expand", help: "show the fields of the record, or hide them"},
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
		s.reading = false
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
	case d.selected >= 0:
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

// lines is the number of lines of the tree.
func (s *batchScreen) lines() int {
	n := len(s.fixed)
	if s.data != nil {
		n += len(s.data.records)
	}
	for i := range s.opened {
		n += len(s.opened[i].fields)
	}
	return n
}

// line tells what stands on a line of the tree: a field, or a record (then field is -1 of
// it). Record is -1 for the fields of the frame.
func (s *batchScreen) line(i int) (record, at int) {
	if i < len(s.fixed) {
		return -1, i
	}
	i -= len(s.fixed)
	for k := range s.opened {
		o := &s.opened[k]
		switch {
		case i <= o.record:
			return i, -1
		case i <= o.record+len(o.fields):
			return o.record, i - o.record - 1
		}
		i -= len(o.fields)
	}
	return i, -1
}

// lineOf is the line of a record.
func (s *batchScreen) lineOf(record int) int {
	n := len(s.fixed) + record
	for k := range s.opened {
		if s.opened[k].record < record {
			n += len(s.opened[k].fields)
		}
	}
	return n
}

// openedAt is the entry of a record whose fields are shown, nil if they are not.
func (s *batchScreen) openedAt(record int) *openRecord {
	for k := range s.opened {
		if s.opened[k].record == record {
			return &s.opened[k]
		}
	}
	return nil
}

// field is what stands on a line.
func (s *batchScreen) field(i int) field {
	record, at := s.line(i)
	switch {
	case record < 0:
		return s.fixed[at]
	case at >= 0:
		return s.openedAt(record).fields[at]
	}
	return s.recordLine(record)
}

// recordLine is a record on one line.
func (s *batchScreen) recordLine(i int) field {
	d := s.data
	from, to := d.recordRange(i)
	in, shift := d.recordSpace()
	f := field{name: "record", from: from + shift, to: to + shift, in: in, jump: -1}
	r, ok := d.record(i)
	if !ok {
		f.value, f.level = "malformed", levelDamage
		return f
	}
	f.name = "record " + itoa(r.Offset)
	if d.frame.head.Attributes.Control() {
		f.value = controlLine(&r)
	} else {
		f.value = preview(r.Key) + " → " + preview(r.Value)
	}
	return f
}

// expand shows the fields of a record.
func (s *batchScreen) expand(record int, peek bool) {
	if o := s.openedAt(record); o != nil {
		o.peek = o.peek && peek
		return
	}
	i, _ := slices.BinarySearchFunc(s.opened, record, func(o openRecord, r int) int { return o.record - r })
	s.opened = slices.Insert(s.opened, i, openRecord{record, s.data.fieldsOf(record), peek})
}

// collapse hides the fields of a record.
func (s *batchScreen) collapse(record int) {
	s.opened = slices.DeleteFunc(s.opened, func(o openRecord) bool { return o.record == record })
}

// selectLine moves the cursor in the tree and lights its bytes.
func (s *batchScreen) selectLine(i int) {
	s.cursor = max(min(i, s.lines()-1), 0)
	s.keepInSight()
	if s.lines() == 0 {
		return
	}
	f := s.field(s.cursor)
	if f.in == nowhere {
		s.hex.lit = [2]int64{0, 0}
		return
	}
	s.showSpace(f.in)
	s.hex.light(f.from, f.to)
}

func (s *batchScreen) keepInSight() {
	h := max(s.height, 1)
	s.top = min(s.top, s.cursor)
	if s.cursor >= s.top+h {
		s.top = s.cursor - h + 1
	}
	s.top = max(min(s.top, s.lines()-h), 0)
}

// follow selects the field that holds the byte under the cursor.
func (s *batchScreen) follow() {
	d, pos := s.data, s.hex.cursor
	_, shift := d.recordSpace()
	if len(d.records) > 0 && (s.in == inRecords || !d.compressed && pos >= shift) {
		if r := d.recordAt(pos - shift); r >= 0 {
			if o := s.openedAt(r); o == nil {
				s.opened = slices.DeleteFunc(s.opened, func(o openRecord) bool { return o.peek })
				s.expand(r, true)
			}
			at := s.lineOf(r)
			for i, f := range s.openedAt(r).fields {
				if pos >= f.from && pos < f.to {
					at += i + 1
					break
				}
			}
			s.lightLine(at)
			return
		}
	}
	best := -1
	for i, f := range s.fixed {
		if f.in == s.in && pos >= f.from && pos < f.to && (best < 0 || f.to-f.from < s.fixed[best].to-s.fixed[best].from) {
			best = i
		}
	}
	if best >= 0 {
		s.lightLine(best)
	}
}

// lightLine selects a line without moving the cursor in the bytes.
func (s *batchScreen) lightLine(i int) {
	s.cursor = i
	s.keepInSight()
	f := s.field(i)
	s.hex.lit = [2]int64{f.from, f.to}
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
		case f.name == "records" && len(s.data.records) > 0:
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
	case s.data.frame.isMessage():
		ctl.say("keys and values of message formats 0 and 1 (before Kafka 0.11) are shown as bytes only")
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

// The width that the tree needs beside the bytes.
const treeWidth = 34

func (s *batchScreen) view(w, h int, st *styles) string {
	if s.data == nil && s.unread != nil {
		return unreadText(s.unread, w, st)
	}
	if s.data == nil {
		return st.dim.Render("reading …")
	}
	d, full := s.data, h
	head := s.headline()
	if l := d.frame.level(d.log.gaps); l.fault() {
		head = st.level(l).Render(cut(l.symbol()+" "+escape(head), w))
	} else {
		head = st.strong.Render(cut(escape(head), w))
	}
	lines := []string{head}
	if s.finding != nil && h >= 12 {
		l := levelOf(s.finding.Severity)
		text := wrap(escape(s.finding.Summary), max(w-2, 1))
		for i, t := range text[:min(len(text), 2)] {
			mark := "  "
			if i == 0 {
				mark = l.symbol() + " "
			}
			if i == 1 && len(text) > 2 {
				t = cut(t, w-3) + " …"
			}
			lines = append(lines, st.level(l).Render(mark+t))
		}
	}
	below := s.told(w, h-len(lines), st)
	h -= len(lines) + len(below)
	digits := len(itoa(d.frame.end()))
	hexCells := 0
	for _, n := range []int{16, 8} {
		if c := hexWidth(n, digits); w-c-3 >= treeWidth {
			hexCells = c
			break
		}
	}
	s.single = hexCells == 0
	s.height = max(h-1, 0)
	s.keepInSight()
	treeHead, hexHead := "fields", "bytes of the file"
	if s.in == inRecords {
		hexHead = "decompressed records"
	}
	if s.single {
		if s.inHex {
			lines = append(lines, s.paneHead(hexHead+" (tab: fields)", w, true, st))
			lines = append(lines, s.hex.view(w, s.height, true, st)...)
		} else {
			lines = append(lines, s.paneHead(treeHead+" (tab: bytes)", w, true, st))
			lines = append(lines, s.tree(w, s.height, st)...)
		}
		for len(lines) < full-len(below) {
			lines = append(lines, "")
		}
		return strings.Join(append(lines, below...), "\n")
	}
	treeCells := w - hexCells - 3
	tree := append([]string{s.paneHead(treeHead, treeCells, !s.inHex, st)}, s.tree(treeCells, s.height, st)...)
	hex := append([]string{s.paneHead(hexHead, hexCells, s.inHex, st)}, s.hex.view(hexCells, s.height, s.inHex, st)...)
	bar := st.dim.Render(" │ ")
	for i := range h {
		l, r := "", ""
		if i < len(tree) {
			l = tree[i]
		}
		if i < len(hex) {
			r = hex[i]
		}
		lines = append(lines, fit(l, treeCells)+bar+r)
	}
	return strings.Join(append(lines, below...), "\n")
}

// told is the selected field with its whole value, which the tree may have cut.
func (s *batchScreen) told(w, h int, st *styles) []string {
	room := 0
	switch {
	case h >= 16:
		room = 3
	case h >= 7:
		room = 1
	}
	if room == 0 || s.lines() == 0 {
		return nil
	}
	f := s.field(s.cursor)
	lines := wrap(escape(f.name+"  "+f.value), w)
	if len(lines) > room {
		lines = lines[:room]
		lines[room-1] = cut(lines[room-1], w-2) + " …"
	}
	for len(lines) < room {
		lines = append(lines, "")
	}
	if room > 1 {
		lines = append([]string{st.dim.Render(strings.Repeat("─", w))}, lines[:room-1]...)
	}
	return lines
}

// paneHead is the title of a pane; that with the keys has a sign.
func (s *batchScreen) paneHead(text string, w int, focus bool, st *styles) string {
	if focus {
		return st.header.Underline(true).Render(cut("▸ "+text, w))
	}
	return st.dim.Render(cut("  "+text, w))
}

// headline says what the frame is.
func (s *batchScreen) headline() string {
	f := &s.data.frame
	at := " at " + itoa(f.pos) + " of " + s.log.file().Name
	if !f.hasOffsets() && f.kind != segment.Embedded {
		return f.says() + ": " + countOf(f.len, "byte", "bytes") + at
	}
	first, last := f.offsets()
	text := "offsets " + span(first, last+1)
	if f.kind == segment.Embedded {
		text = "embedded, no part of this log: " + text
	}
	if f.isMessage() {
		text += fmt.Sprintf("  message format %d", f.legacy.Magic)
	} else {
		text += fmt.Sprintf("  epoch %d  %s", f.head.PartitionLeaderEpoch, countOf(int64(f.head.RecordCount), "record", "records"))
		if c := f.head.Attributes.Codec(); c != batch.None {
			text += "  " + c.String()
		}
	}
	crc := "CRC ok"
	if f.badCRC {
		crc = "CRC BAD"
	}
	text += "  " + crc + "  " + countOf(f.len, "byte", "bytes") + at
	if says := f.says(); says != "" && !f.badCRC {
		text += "  " + says
	}
	return text
}

// tree draws the lines of the tree.
func (s *batchScreen) tree(w, h int, st *styles) []string {
	names := 0
	for i := s.top; i < min(s.top+h, s.lines()); i++ {
		f := s.field(i)
		names = max(names, 2*f.depth+2+width(f.name))
	}
	names = min(names, w*3/5)
	var out []string
	for i := s.top; i < min(s.top+h, s.lines()); i++ {
		f := s.field(i)
		record, at := s.line(i)
		sign := " "
		if i == s.cursor {
			sign = "›"
		}
		fold := " "
		if record >= 0 && at < 0 {
			fold = "+"
			if s.openedAt(record) != nil {
				fold = "-"
			}
		}
		if f.level.fault() {
			fold = f.level.symbol()
		}
		name := fit(sign+fold+strings.Repeat("  ", f.depth)+escape(f.name), names)
		value := cut(escape(f.value), max(w-names-1, 0))
		switch {
		case i == s.cursor:
			out = append(out, levelStyle(st, max(f.level, levelNone), true).Render(fit(name+" "+value, w)))
		case f.level.fault() || f.level == levelNote:
			out = append(out, st.level(f.level).Render(name+" "+value))
		default:
			out = append(out, st.dim.Render(name)+" "+value)
		}
	}
	return out
}

// position says which bytes are lit.
func (s *batchScreen) position() string {
	if s.data == nil {
		return ""
	}
	lit := s.hex.lit
	if s.inHex {
		return "byte " + itoa(s.hex.src.base()+s.hex.cursor)
	}
	if lit[1] <= lit[0] {
		return ""
	}
	base := s.hex.src.base()
	what := "bytes "
	if lit[1]-lit[0] == 1 {
		what = "byte "
	}
	return what + span(base+lit[0], base+lit[1])
}

// copyText copies the value, or the bytes as hex.
func (s *batchScreen) copyText(kind copyKind) (string, error) {
	if s.data == nil || s.lines() == 0 {
		return "", errNothingToCopy
	}
	f := s.field(s.cursor)
	switch kind {
	case copyPath:
		return shellWords(s.w.typed(s.data.file)), nil
	case copyJSON:
		return jsonLine(frameJSON(&s.data.frame, s.data.file)), nil
	case copyRow:
		return escape(f.name) + "\t" + escape(f.value), nil
	}
	if s.inHex {
		const most = 32 << 10
		from, to := s.hex.lit[0], min(s.hex.lit[1], s.hex.src.size())
		if to-from > most {
			return "", fmt.Errorf("%s are too many to copy", countOf(to-from, "byte", "bytes"))
		}
		b, ok := s.hex.src.bytes(from, to)
		if !ok || to <= from {
			return "", errNothingToCopy
		}
		return fmt.Sprintf("%x", b), nil
	}
	return escape(f.value), nil
}
