package tui

import (
	"context"
	"fmt"
	"strings"

	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/segment"
)

// entriesScreen is an index file or a producer snapshot as a table. Enter goes to the
// batch that an entry points at.
type entriesScreen struct {
	*table
	w    *world
	p    *incident.Partition
	c    *incident.Copy
	part *logdir.Partition
	file *logdir.File
	at   int64 // byte to begin at, -1 none

	loaded bool
	unread error
	head   string
	bad    string
}

// maxEntries bounds the entries in memory; what is left out is told.
const maxEntries = 1_000_000

func newEntries(w *world, p *incident.Partition, c *incident.Copy, part *logdir.Partition, f *logdir.File, position int64) *entriesScreen {
	s := &entriesScreen{w: w, p: p, c: c, part: part, file: f, at: position}
	s.table = newTable(entryColumns(f.Kind), &entryRows{kind: f.Kind})
	return s
}

func entryColumns(kind logdir.Kind) []column {
	names := map[logdir.Kind][]string{
		logdir.KindIndex:            {"entry", "offset", "position", "what"},
		logdir.KindTimeIndex:        {"entry", "offset", "time", "what"},
		logdir.KindTxnIndex:         {"entry", "producer", "first", "last", "stable", "what"},
		logdir.KindProducerSnapshot: {"producer", "epoch", "first", "last", "sequence", "time", "coordinator", "open from"},
	}[kind]
	var out []column
	for _, n := range names {
		out = append(out, column{name: n, right: n != "time" && n != "what", grow: n == "what", max: 80})
	}
	return out
}

// entryLine is one entry: its numbers in the order of the columns, -1 none.
type entryLine struct {
	n    [8]int64
	flaw uint8
}

// What is odd about an entry.
const (
	flawOrder uint8 = 1 + iota
	flawZero
	flawNegative
	flawVersion
	flawBeyond
)

var flawText = [...]string{
	"",
	"out of order: not above the entry before it",
	"zero bytes, with others behind them",
	"a value below 0, which no broker writes",
	"a version that Kafka refuses, with all that follows",
	"points beyond the end of the .log",
}

// readEntries is what was read of a file.
type readEntries struct {
	rows *entryRows
	head string
	bad  string
}

func (s *entriesScreen) crumb() string   { return s.file.Name }
func (s *entriesScreen) command() string { return shellWords("kafsck", "dump", s.w.typed(s.file.Path)) }

func (s *entriesScreen) bindings() []binding {
	return []binding{{keys: []string{"b"}, in: "bytes", help: "bytes of the file", hint: "bytes"}}
}

// logBeside is the .log of the same base offset.
func (s *entriesScreen) logBeside() *logdir.File {
	for _, x := range s.part.Segments {
		for _, f := range filesOf(x) {
			if f == s.file {
				return x.Log
			}
		}
	}
	return nil
}

func (s *entriesScreen) start() work {
	file, log := s.file, s.logBeside()
	return func(ctx context.Context) any {
		f, err := openWatched(ctx, file, progress(ctx, "reading", max(file.Size, 1), true))
		if err != nil {
			return err
		}
		defer f.close()
		out := &readEntries{rows: &entryRows{kind: file.Kind}}
		if file.Kind == logdir.KindProducerSnapshot {
			err = out.producers(f, file)
		} else {
			err = out.index(f, file, log)
		}
		if err != nil {
			return f.failed(err)
		}
		return out
	}
}

// index reads an index file.
func (out *readEntries) index(f *watchedFile, file, log *logdir.File) error {
	r := out.rows
	total := int64(0)
	before := [2]int64{-1, -1}
	add := func(l entryLine) bool {
		if total++; len(r.list) < maxEntries {
			r.list = append(r.list, l)
		}
		return total <= maxEntries
	}
	switch file.Kind {
	case logdir.KindIndex:
		shape, err := segment.ShapeOfIndex(f, f.size)
		if err != nil {
			return err
		}
		out.shape(shape, segment.IndexEntrySize)
		for e, err := range segment.ScanIndex(f, f.size, max(file.BaseOffset, 0)) {
			if err != nil {
				return err
			}
			l := entryLine{n: [8]int64{e.Number, e.Offset, e.Position}}
			switch {
			case e.Relative < 0 || e.RawPosition < 0:
				l.flaw = flawNegative
			case e.Relative == 0 && e.RawPosition == 0 && e.Number > 0:
				l.flaw = flawZero
			case e.Offset <= before[0] || e.Position <= before[1] && e.Number > 0:
				l.flaw = flawOrder
			case log != nil && e.Position >= log.Size:
				l.flaw = flawBeyond
			}
			if l.flaw != flawZero {
				before = [2]int64{e.Offset, e.Position}
			}
			if !add(l) {
				break
			}
		}
		total = max(total, shape.Entries)
	case logdir.KindTimeIndex:
		shape, err := segment.ShapeOfTimeIndex(f, f.size)
		if err != nil {
			return err
		}
		out.shape(shape, segment.TimeEntrySize)
		for e, err := range segment.ScanTimeIndex(f, f.size, max(file.BaseOffset, 0)) {
			if err != nil {
				return err
			}
			l := entryLine{n: [8]int64{e.Number, e.Offset, e.Timestamp}}
			switch {
			case e.Timestamp < 0 || e.Relative < 0:
				l.flaw = flawNegative
			case e.Timestamp == 0 && e.Relative == 0 && e.Number > 0:
				l.flaw = flawZero
			case e.Timestamp <= before[0] || e.Offset < before[1]:
				l.flaw = flawOrder
			}
			if l.flaw != flawZero {
				before = [2]int64{e.Timestamp, e.Offset}
			}
			if !add(l) {
				break
			}
		}
		total = max(total, shape.Entries)
	default:
		out.head = countOf(f.size/segment.TxnEntrySize, "entry", "entries")
		if rest := f.size % segment.TxnEntrySize; rest > 0 {
			out.bad = countOf(rest, "byte", "bytes") + " at the end are no whole entry; Kafka ignores them"
		}
		for e, err := range segment.ScanTxnIndex(f, f.size) {
			if err != nil {
				return err
			}
			l := entryLine{n: [8]int64{e.Number, e.ProducerID, e.FirstOffset, e.LastOffset, e.LastStableOffset}}
			if e.Refused() {
				l.flaw = flawVersion
			}
			if !add(l) {
				break
			}
		}
		total = max(total, f.size/segment.TxnEntrySize)
	}
	if total > maxEntries {
		out.bad = strings.TrimPrefix(out.bad+"; only the first "+comma(maxEntries)+" entries of "+comma(total)+" are listed (x prints all)", "; ")
	}
	return nil
}

func (out *readEntries) shape(s segment.IndexShape, width int64) {
	out.head = countOf(s.Entries, "entry", "entries")
	if s.ZeroEntries > 0 {
		out.head += ", and " + countOf(s.ZeroEntries, "unused entry", "unused entries") + " of zero bytes: preallocated"
	}
	if s.Remainder > 0 {
		out.bad = countOf(s.Remainder, "byte", "bytes") + " at the end are no whole entry; Kafka ignores them"
	}
}

// producers reads a .snapshot.
func (out *readEntries) producers(f *watchedFile, file *logdir.File) error {
	snap, err := segment.ReadSnapshot(f, f.size)
	if err != nil {
		return err
	}
	out.head = fmt.Sprintf("version %d, %s", snap.Version, countOf(int64(snap.Count), "producer", "producers"))
	if file.BaseOffset >= 0 {
		out.head += ", as known at offset " + itoa(file.BaseOffset)
	}
	if p := snap.Problem; p != nil {
		out.bad = p.Error()
		if !p.Limit() {
			out.bad += ": Kafka deletes the file, takes an older one, and reads the log from there on"
		}
	}
	for i := range snap.Producers {
		if len(out.rows.list) == maxEntries {
			out.bad = strings.TrimPrefix(out.bad+"; only the first "+comma(maxEntries)+" producers are listed (x prints all)", "; ")
			break
		}
		e := &snap.Producers[i]
		l := entryLine{n: [8]int64{e.ProducerID, int64(e.ProducerEpoch), -1, -1, int64(e.LastSequence), e.Timestamp, int64(e.CoordinatorEpoch), e.CurrentTxnFirstOffset}}
		if e.HasBatch() {
			l.n[2], l.n[3] = e.FirstOffset(), e.LastOffset
		}
		out.rows.list = append(out.rows.list, l)
	}
	return nil
}

func (s *entriesScreen) deliver(v any, ctl *control) work {
	if w, ok := s.deliverTable(v); ok {
		return w
	}
	if err, ok := v.(error); ok {
		s.unread = err
	}
	r, ok := v.(*readEntries)
	if !ok {
		return nil
	}
	s.loaded, s.unread, s.head, s.bad = true, nil, r.head, r.bad
	w := s.setRows(r.rows)
	if width := map[logdir.Kind]int64{logdir.KindIndex: segment.IndexEntrySize, logdir.KindTimeIndex: segment.TimeEntrySize, logdir.KindTxnIndex: segment.TxnEntrySize}[s.file.Kind]; s.at >= 0 && width > 0 {
		s.selectRow(int(min(s.at/width, int64(max(len(r.rows.list)-1, 0)))))
		s.at = -1
	}
	return w
}

func (s *entriesScreen) handle(in intent, ctl *control) work {
	r := s.row()
	switch in {
	case "bytes":
		t := newTextFile(s.w, s.part.LogDir, s.file)
		ctl.push(t)
		return nil
	case open:
		if r < 0 {
			return nil
		}
		log := s.logBeside()
		if log == nil {
			ctl.say("there is no .log beside this file")
			return nil
		}
		l := logOfFile(s.p, s.c, s.part, log)
		if l == nil {
			return nil
		}
		n := s.rows.(*entryRows).list[r].n
		t := target{atOffset, n[1]}
		switch s.file.Kind {
		case logdir.KindIndex:
			t = target{atPosition, max(n[2], 0)}
		case logdir.KindTxnIndex:
			t = target{atOffset, n[2]}
		case logdir.KindProducerSnapshot:
			if t = (target{atOffset, n[3]}); n[3] < 0 {
				if n[7] < 0 {
					ctl.say("the snapshot knows no offset of this producer")
					return nil
				}
				t.n = n[7]
			}
		}
		ctl.push(newBatch(s.w, l, t, nil))
		return nil
	}
	w, _ := s.handleTable(in, ctl)
	return w
}

func (s *entriesScreen) view(w, h int, st *styles) string {
	if !s.loaded && s.unread != nil {
		return unreadText(s.unread, w, st)
	}
	if !s.loaded {
		return st.dim.Render("reading …")
	}
	lines := append([]string{st.dim.Render(cut(escape(s.file.Path+"  "+s.head), w))}, unreadLine(s.unread, w, st)...)
	if s.bad != "" {
		for i, l := range wrap(escape(s.bad), max(w-2, 1)) {
			mark := "  "
			if i == 0 {
				mark = "! "
			}
			lines = append(lines, st.level(levelWarning).Render(mark+l))
		}
	}
	if s.rows.Len() == 0 {
		return strings.Join(append(lines, st.dim.Render("There are no entries.")), "\n")
	}
	return strings.Join(append(lines, s.viewTable(w, h-len(lines), st)), "\n")
}

// entryRows are entries in memory.
type entryRows struct {
	kind logdir.Kind
	list []entryLine
}

func (r *entryRows) Len() int { return len(r.list) }

func (r *entryRows) Severity(row int) level {
	switch r.list[row].flaw {
	case 0:
		return levelNone
	case flawNegative, flawVersion:
		return levelDamage
	}
	return levelWarning
}

func (r *entryRows) isTime(col int) bool {
	return r.kind == logdir.KindTimeIndex && col == 2 || r.kind == logdir.KindProducerSnapshot && col == 5
}

func (r *entryRows) isWhat(col int) bool {
	return r.kind == logdir.KindTxnIndex && col == 5 || (r.kind == logdir.KindIndex || r.kind == logdir.KindTimeIndex) && col == 3
}

func (r *entryRows) Cell(row, col int) string {
	l := &r.list[row]
	switch {
	case r.isWhat(col):
		return flawText[l.flaw]
	case r.isTime(col):
		return timestamp(l.n[col])
	case l.n[col] == -1:
		return "-"
	}
	return itoa(l.n[col])
}

func (r *entryRows) Value(row, col int) any {
	switch {
	case r.isWhat(col):
		return flawText[r.list[row].flaw]
	case r.isTime(col):
		return timeOf(r.list[row].n[col])
	}
	return r.list[row].n[col]
}
