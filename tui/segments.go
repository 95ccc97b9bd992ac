package tui

import (
	"fmt"
	"strings"
	"time"

	"kafsck/finding"
	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/replica"
	"kafsck/segment"
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
var segmentsCommand = screenCommand{name: "segments", args: "PARTITION [BROKER]", help: "segments and files of a partition, also before it is judged",
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
		i := w.indexOf(name)
		if i < 0 {
			return nil, fmt.Errorf("there is no partition %s", name)
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
		return nil, fmt.Errorf("there is no directory of %s on broker %s", name, broker)
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
		{keys: []string{"c"}, in: "count", help: "count and check all batches of the segment"},
		{keys: []string{"E"}, in: "epochs", help: "leader-epoch-checkpoint as written, loaded and regenerated"},
	}
}

// start reads what is not in the names and sizes, in the background.
func (s *segmentsScreen) start() work { return readFacts(s.rows.list) }

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
	return strings.Join(append(lines, s.viewTable(w, h-len(lines), st)), "\n")
}

func (s *segmentsScreen) headline() string {
	if s.c == nil {
		return s.part.Dir + "  not judged (tab: every file, or segments)"
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
	text += "  " + countOf(l.Batches, "batch", "batches")
	if s.table == s.segments {
		return text + "  (tab: every file)"
	}
	return text + "  (tab: segments)"
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

// openOffset opens the batch of a copy that holds an offset, with its record selected.
func openOffset(w *world, p *incident.Partition, c *incident.Copy, offset int64) screen {
	l := logOf(p, c)
	if l == nil {
		return openSegments(w, p, c)
	}
	return newBatch(w, l.to(l.holding(offset)), target{atOffset, offset}, nil)
}

// openFinding opens what a finding is about: the byte it points at, else its text.
// part is an index of world.refs, -1 where the finding belongs to none.
func openFinding(w *world, part int, f *finding.Finding) screen {
	var p *incident.Partition
	if part >= 0 {
		p = w.story(part)
	}
	dir, file := w.fileNamed(f.At.File)
	if file == nil {
		return findingPage(w, f)
	}
	var c *incident.Copy
	if p != nil {
		for _, x := range p.Copies {
			if x.Log != nil && x.Log.Partition == dir && (c == nil || x.State == replica.Live) {
				c = x
			}
		}
	}
	switch {
	case dir == nil:
		return openLogDirFile(w, file)
	case file.Kind != logdir.KindLog:
		return openFile(w, p, c, dir, file, f.At.Position)
	}
	l := logOfFile(p, c, dir, file)
	switch {
	case l == nil:
		return findingPage(w, f)
	case f.At.Position >= 0:
		return newBatch(w, l, target{atPosition, f.At.Position}, f)
	case f.At.From >= 0 && l.holding(f.At.From) == l.at:
		return newBatch(w, l, target{atOffset, f.At.From}, f)
	}
	return newBatches(w, l, target{})
}

// findingPage is a finding as text.
func findingPage(w *world, f *finding.Finding) screen {
	lines := []string{f.Severity.String() + " " + string(f.Code), "", f.Summary, ""}
	for _, e := range f.Evidence {
		line := e.Claim
		if e.Want != "" {
			line += ": expected " + e.Want
		}
		if e.Got != "" {
			line += ", found " + e.Got
		}
		lines = append(lines, line)
	}
	for _, t := range []string{f.Kafka, f.Next, f.At.File} {
		if t != "" {
			lines = append(lines, "", t)
		}
	}
	var extra []string
	if f.At.Partition != "" {
		extra = []string{"--partition", f.At.Partition}
	}
	return newPage(string(f.Code), w.command("check", extra...), lines)
}

// fileNamed finds a file by its shown path. The directory is nil for files of a log
// directory itself.
func (w *world) fileNamed(path string) (*logdir.Partition, *logdir.File) {
	if path == "" || w.src == nil {
		return nil, nil
	}
	for _, b := range w.src.Incident.Case.Brokers {
		for _, ld := range b.Dirs {
			parts := ld.Partitions
			if ld.Metadata != nil {
				parts = append(parts[:len(parts):len(parts)], ld.Metadata)
			}
			for _, p := range parts {
				if p.Dir != "." && !strings.HasPrefix(path, p.Dir+"/") && len(parts) > 1 {
					continue
				}
				for f := range p.AllFiles() {
					if f.Path == path {
						return p, f
					}
				}
			}
			for f := range ld.AllFiles() {
				if f.Path == path && !f.Mode.IsDir() {
					return nil, f
				}
			}
		}
	}
	return nil, nil
}

var segmentColumns = []column{
	{name: "segment", max: 34},
	{name: "state"},
	{name: "size", right: true},
	{name: "batches", right: true},
	{name: "first time", min: 24},
	{name: "last time", min: 24},
	{name: "index", right: true},
	{name: "timeindex", right: true},
	{name: "aborted txns", right: true},
	{name: "producers", right: true},
	{name: "modified", min: 19},
	{name: "what", grow: true, max: 60},
}

// segmentRow is a segment, or a file that belongs to none.
type segmentRow struct {
	seg    *logdir.Segment // nil: a file
	file   *logdir.File
	state  string
	level  level
	says   string
	around bool // a file of the log directory
}

// segmentRows are the rows of segmentsScreen. facts come later.
type segmentRows struct {
	w     *world
	list  []segmentRow
	facts []segmentFacts
}

func (r *segmentRows) Len() int               { return len(r.list) }
func (r *segmentRows) Severity(row int) level { return max(r.list[row].level, r.facts[row].level) }

func (r *segmentRows) Snapshot() rows {
	return &segmentRows{r.w, r.list, append([]segmentFacts(nil), r.facts...)}
}

func (r *segmentRows) main(row int) *logdir.File {
	x := &r.list[row]
	if x.seg == nil {
		return x.file
	}
	return filesOf(x.seg)[0]
}

func (r *segmentRows) Path(row int) string { return r.w.typed(r.main(row).Path) }

func (r *segmentRows) Cell(row, col int) string {
	x, f := &r.list[row], &r.facts[row]
	m := r.main(row)
	switch col {
	case 0:
		if x.around {
			return "../" + m.Name
		}
		return m.Name
	case 1:
		if x.seg == nil {
			return "file"
		}
		return x.state
	case 2:
		return humanBytes(m.Size)
	case 10:
		if m.ModTime.IsZero() {
			return ""
		}
		return m.ModTime.UTC().Format("2006-01-02 15:04:05")
	case 11:
		if f.says != "" {
			return f.says
		}
		return x.says
	}
	if x.seg == nil {
		return ""
	}
	number := func(file *logdir.File, head, width int64) string {
		if file == nil {
			return "-"
		}
		return comma(max(file.Size-head, 0) / width)
	}
	switch col {
	case 3:
		if f.batches >= 0 && f.known {
			return comma(f.batches)
		}
		return ""
	case 4:
		return knownTime(f, f.first)
	case 5:
		return knownTime(f, f.last)
	case 6:
		return entriesText(x.seg.Index, f, f.offsets)
	case 7:
		return entriesText(x.seg.TimeIndex, f, f.times)
	case 8:
		return number(x.seg.TxnIndex, 0, segment.TxnEntrySize)
	}
	return number(x.seg.Snapshot, 10, segment.SnapshotEntrySize)
}

// entriesText is the number of entries of an index file.
func entriesText(file *logdir.File, f *segmentFacts, n int64) string {
	switch {
	case file == nil:
		return "-"
	case !f.known:
		return "…"
	case n < 0:
		return "?"
	}
	return comma(n)
}

func knownTime(f *segmentFacts, ms int64) string {
	switch {
	case !f.known:
		return "…"
	case ms < 0:
		return ""
	}
	return timestamp(ms)
}

func (r *segmentRows) Value(row, col int) any {
	x, f := &r.list[row], &r.facts[row]
	m := r.main(row)
	switch col {
	case 2:
		return m.Size
	case 3:
		if !f.known || f.batches < 0 {
			return nil
		}
		return f.batches
	case 4, 5:
		ms := f.first
		if col == 5 {
			ms = f.last
		}
		if !f.known || ms < 0 {
			return nil
		}
		return timeOf(ms)
	case 6:
		return orNil(f.offsets)
	case 7:
		return orNil(f.times)
	case 8, 9:
		if x.seg == nil {
			return nil
		}
		file := x.seg.TxnIndex
		if col == 9 {
			file = x.seg.Snapshot
		}
		if file == nil {
			return nil
		}
		return file.Size
	case 10:
		if m.ModTime.IsZero() {
			return nil
		}
		return m.ModTime
	}
	return r.Cell(row, col)
}

func (r *segmentRows) JSON(row int) any {
	x, f := &r.list[row], &r.facts[row]
	m := r.main(row)
	out := map[string]any{"file": m.Path, "bytes": m.Size}
	if !m.ModTime.IsZero() {
		out["modified"] = m.ModTime.UTC().Format(time.RFC3339)
	}
	if x.seg != nil {
		out["baseOffset"], out["state"] = x.seg.BaseOffset, x.state
		if f.known {
			out["firstTimestampMs"], out["lastTimestampMs"] = orNil(f.first), orNil(f.last)
			out["batches"] = orNil(f.batches)
		}
	}
	return out
}
