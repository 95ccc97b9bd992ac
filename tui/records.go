package tui

import (
	"strings"

	"kafsck/batch"
	"kafsck/segment"
)

// recordsScreen lists the records of one batch, with the selected one in full below.
type recordsScreen struct {
	*table
	w       *world
	log     *logFiles
	want    target
	begin   int // record to begin with
	data    *batchData
	reading bool
	unread  error // why there is nothing to show

	inDetail bool // the keys go to the record below
	detail   detailText
}

// detailText is a record in full, made once.
type detailText struct {
	of      *batchData
	record  int
	w       int
	lines   []detailLine
	most    int // lines of the longest record of the batch that was laid out
	top     int
	visible int
}

var recordColumns = []column{
	{name: "offset", right: true},
	{name: "time", min: 24},
	{name: "key", max: 40},
	{name: "value", grow: true, max: 100},
	{name: "headers", right: true},
	{name: "sequence", right: true},
	{name: "size", right: true},
}

// newRecords opens the records of the batch at a place.
func newRecords(w *world, l *logFiles, t target) *recordsScreen {
	s := &recordsScreen{w: w, log: l, want: t, begin: -1}
	s.table = newTable(recordColumns, &recordRows{})
	s.fixed = 1
	return s
}

// newRecordsOf opens the records of a batch that is in memory.
func newRecordsOf(w *world, d *batchData, record int) *recordsScreen {
	s := newRecords(w, d.log, target{atPosition, d.frame.pos})
	s.begin = record
	s.show(d)
	return s
}

func (s *recordsScreen) crumb() string { return "records" }

func (s *recordsScreen) command() string {
	words := []string{"kafsck", "dump", "--records", "--full"}
	path := s.log.file().Path
	if s.data != nil {
		path = s.data.file
		words = append(words, "--positions", itoa(s.data.frame.pos)+".."+itoa(s.data.frame.end()-1))
		if e := whereOf(s.filter()); e != "" {
			words = append(words, "--where", e)
		} else if r := s.row(); r >= 0 {
			if rec, ok := s.data.record(r); ok && rec.Offset >= 0 {
				words = append(words, "--offsets", itoa(rec.Offset))
			}
		}
	}
	return shellWords(append(words, s.w.typed(path))...)
}

func (s *recordsScreen) bindings() []binding {
	return []binding{
		{keys: []string{">"}, in: "next-batch", help: "records of the next batch", hint: "next batch"},
		{keys: []string{"<"}, in: "previous-batch", help: "records of the batch before", hint: "previous"},
		{keys: []string{"b"}, in: "bytes", help: "fields and bytes of the batch", hint: "fields and bytes"},
	}
}

func (s *recordsScreen) start() work {
	if s.data != nil && s.begin >= 0 {
		return nil // handed over
	}
	t := s.want
	if s.data != nil {
		t = target{atPosition, s.data.frame.pos}
	}
	s.reading = true
	return readBatch(s.log, t, nil)
}

func (s *recordsScreen) show(d *batchData) {
	s.data, s.log = d, d.log
	s.order, s.marks = nil, map[int]bool{}
	s.rows = &recordRows{d, s.w.typed(d.file)}
	s.cursor, s.table.first = 0, 0
	switch {
	case s.begin >= 0:
		s.selectRow(s.begin)
	case d.selected >= 0:
		s.selectRow(d.selected)
	}
}

func (s *recordsScreen) deliver(v any, ctl *control) work {
	if w, ok := s.deliverTable(v); ok {
		return w
	}
	switch v := v.(type) {
	case *batchData:
		s.reading, s.unread = false, nil
		s.begin = -1
		s.show(v)
		if v.note != "" {
			ctl.warn("%s", v.note)
		}
		return s.rearrange()
	case noFurther:
		s.reading = false
		ctl.say("%s", string(v))
	case error:
		s.reading, s.unread = false, v
	}
	return nil
}

func (s *recordsScreen) handle(in intent, ctl *control) work {
	switch in {
	case "next-batch", "previous-batch":
		if s.data == nil || s.reading {
			return nil
		}
		s.reading = true
		if in == "next-batch" {
			return readBeside(s.log, s.data.frame, 1)
		}
		return readBeside(s.log, s.data.frame, -1)
	case "bytes":
		t := s.want
		if s.data != nil {
			t = target{atPosition, s.data.frame.pos}
			if r := s.row(); r >= 0 {
				if rec, ok := s.data.record(r); ok && s.data.frame.kind == segment.Batch && s.log.holding(rec.Offset) == s.log.at && s.data.frame.odd == oddNone {
					t = target{atOffset, rec.Offset}
				}
			}
		}
		ctl.push(newBatch(s.w, s.log, t, nil))
		return nil
	case nextPane, prevPane, open:
		s.inDetail = !s.inDetail
		return nil
	}
	if s.inDetail {
		d := &s.detail
		n, moves := step(in, max(d.visible, 1))
		switch {
		case moves:
			d.top += n
		case in == top:
			d.top = 0
		case in == bottom:
			d.top = len(d.lines)
		default:
			w, _ := s.handleTable(in, ctl)
			return w
		}
		d.top = max(min(d.top, len(d.lines)-d.visible), 0)
		return nil
	}
	w, _ := s.handleTable(in, ctl)
	return w
}

func (s *recordsScreen) commands() []command {
	return logCommands(s.log, func(l *logFiles, t target, ctl *control) work {
		ctl.restart()
		s.reading = true
		return readBatch(l, t, nil)
	})
}

func (s *recordsScreen) view(w, h int, st *styles) string {
	if s.data == nil && s.unread != nil {
		return unreadText(s.unread, w, st)
	}
	if s.data == nil {
		return st.dim.Render("reading …")
	}
	d := s.data
	f := &d.frame
	first, last := d.offsets()
	head := "batch " + span(first, last+1) + "  epoch " + itoa(f.epoch())
	if d.old != nil {
		head = offsetsText(first, last+1) + "  message format " + itoa(int32(f.legacy.Magic))
	}
	head += "  " + d.recordsText() + "  at " + itoa(f.pos) + " of "
	lines := append([]string{st.strong.Render(cutPath(head, escape(d.log.file().Path), w))}, unreadLine(s.unread, w, st)...)
	if f.badCRC {
		lines = append(lines, st.level(levelDamage).Render(cut("D the CRC does not verify: what the records say cannot be believed", w)))
	}
	if d.problem != "" {
		l := levelDamage
		text := "the records end before their number: " + d.problem
		if d.limit {
			l, text = levelNote, d.problem
		}
		lines = append(lines, st.level(l).Render(cut(l.symbol()+" "+escape(text), w)))
	}
	if len(d.records) == 0 {
		if d.problem == "" {
			lines = append(lines, st.dim.Render("No records: the cleaner removed them, and keeps the batch for its producer's sequence."))
		}
		return strings.Join(lines, "\n")
	}
	room := h - len(lines)
	listed := s.share(w, room)
	if s.inDetail && h < 16 {
		listed = 0
	}
	if listed > 0 {
		text := s.viewTable(w, listed, st)
		lines = append(lines, text)
		lines = append(lines, make([]string, max(listed-1-strings.Count(text, "\n"), 0))...)
	}
	rest := room - listed
	if rest > 0 && s.row() >= 0 {
		lines = append(lines, s.viewDetail(w, rest, st)...)
	}
	return strings.Join(lines, "\n")
}

// share is how many of h lines the list gets; the record below it has the others. The
// longest record that was looked at decides, so that the list keeps its place while one
// moves in it.
func (s *recordsScreen) share(w, h int) int {
	need := 0
	if s.row() >= 0 {
		s.layOut(w)
		need = s.detail.most + 1
	}
	return min(s.len()+1, max(h-need, h/3, 3))
}

// layOut makes the lines of the selected record.
func (s *recordsScreen) layOut(w int) {
	d := &s.detail
	r := s.row()
	if d.of == s.data && d.record == r && d.w == w {
		return
	}
	if d.of != s.data || d.record != r {
		d.top = 0
	}
	if d.of != s.data || d.w != w {
		d.most = 0
	}
	d.of, d.record, d.w = s.data, r, w
	d.lines = s.data.tell(r, w)
	d.most = max(d.most, len(d.lines))
}

// viewDetail draws the selected record.
func (s *recordsScreen) viewDetail(w, h int, st *styles) []string {
	s.layOut(w)
	d := &s.detail
	d.visible = max(h-1, 0)
	d.top = max(min(d.top, len(d.lines)-d.visible), 0)
	title := "── record " + s.rows.Cell(s.row(), 0) + " "
	if n := len(d.lines); n > d.visible && n > 0 {
		title += "(lines " + span(int64(d.top+1), int64(min(d.top+d.visible, n)+1)) + " of " + comma(int64(n)) + ") "
	}
	if s.inDetail {
		title = "▸" + strings.TrimPrefix(title, "─")
		title = st.header.Render(cut(title+strings.Repeat("─", max(w-width(title), 0)), w))
	} else {
		title = st.dim.Render(cut(title+"tab ", w) + strings.Repeat("─", max(w-width(title)-4, 0)))
	}
	out := []string{title}
	for _, l := range d.lines[d.top:min(d.top+d.visible, len(d.lines))] {
		text := cut(l.text, w)
		switch l.kind {
		case lineHead:
			text = st.key.Render(text)
		case lineBad:
			text = st.level(levelDamage).Render(text)
		case lineDim:
			text = st.dim.Render(text)
		}
		out = append(out, text)
	}
	return out
}

func (s *recordsScreen) copyText(kind copyKind) (string, error) {
	if s.data == nil {
		return "", errNothingToCopy
	}
	return s.table.copyText(kind)
}

// recordRows are the records of a batch in memory.
type recordRows struct {
	d    *batchData
	path string
}

func (r *recordRows) Len() int {
	if r.d == nil {
		return 0
	}
	return len(r.d.records)
}

func (r *recordRows) Severity(row int) level {
	if _, ok := r.d.record(row); !ok {
		return levelDamage
	}
	return levelNone
}

func (r *recordRows) Path(int) string { return r.path }

func (r *recordRows) Cell(row, col int) string {
	rec, ok := r.d.record(row)
	if !ok {
		if col == 3 {
			return "malformed"
		}
		return ""
	}
	switch col {
	case 0:
		return itoa(rec.Offset)
	case 1:
		return timestamp(rec.Timestamp)
	case 2:
		if r.d.frame.head.Attributes.Control() {
			return "control"
		}
		return preview(rec.Key)
	case 3:
		if r.d.frame.head.Attributes.Control() {
			return controlLine(&rec)
		}
		if text := r.d.decodedLine(&rec); text != "" {
			return text
		}
		return r.d.previewValue(&rec)
	case 4:
		return itoa(len(rec.Headers))
	case 5:
		if rec.Sequence < 0 {
			return "-"
		}
		return itoa(rec.Sequence)
	}
	return itoa(rec.Len)
}

func (r *recordRows) Value(row, col int) any {
	rec, ok := r.d.record(row)
	if !ok {
		return nil
	}
	switch col {
	case 0:
		return rec.Offset
	case 1:
		return timeOf(rec.Timestamp)
	case 4:
		return int64(len(rec.Headers))
	case 5:
		return int64(rec.Sequence)
	case 6:
		return rec.Len
	}
	return r.Cell(row, col)
}

// JSON is the line of dump --records --json.
func (r *recordRows) JSON(row int) any {
	rec, ok := r.d.record(row)
	if !ok {
		return nil
	}
	h := r.d.frame.head
	if r.d.old != nil { // it has none
		h = batch.Header{PartitionLeaderEpoch: -1, ProducerID: -1, ProducerEpoch: -1}
	}
	headers := []any{}
	for _, x := range rec.Headers {
		headers = append(headers, map[string]any{"key": x.Key, "value": orNull(x.Value)})
	}
	out := map[string]any{
		"type": "record", "file": r.d.file, "offset": rec.Offset, "leaderEpoch": h.PartitionLeaderEpoch,
		"timestamp": timeOf(rec.Timestamp).UTC(), "timestampMs": rec.Timestamp, "timestampType": r.d.timestampType(row).String(),
		"key": orNull(rec.Key), "value": orNull(rec.Value), "headers": headers,
		"producerId": h.ProducerID, "producerEpoch": h.ProducerEpoch, "sequence": rec.Sequence,
		"transactional": h.Attributes.Transactional(), "control": h.Attributes.Control(), "batchPosition": r.d.frame.pos,
	}
	if r.d.secret(&rec) {
		sizeAndHash(out, rec.Value)
	}
	if r.d.old != nil {
		out["magic"] = r.d.frame.legacy.Magic
		if old, ok := r.d.oldRecord(row); ok {
			out["magic"] = old.Magic
		}
	}
	if !h.Attributes.Control() {
		if decoded, _ := r.d.topicRecord(&rec); decoded != nil {
			out["decoded"] = decoded
		}
	}
	return out
}

// orNull is bytes, or nil: JSON has null for no bytes and "" for none of them.
func orNull(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}
