package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/repair"
)

// epochFile shows leader-epoch-checkpoint three times: as it was written, as Kafka holds
// it after loading it, and as kafsck would write it anew. What differs is marked.
type epochFile struct {
	*table
	w      *world
	p      *incident.Partition
	c      *incident.Copy
	part   *logdir.Partition // where c is nil
	index  int               // of world.refs
	told   *toldEpochs
	unread error
}

func newEpochFile(w *world, p *incident.Partition, c *incident.Copy) *epochFile {
	s := &epochFile{w: w, p: p, c: c, index: -1}
	if c != nil && c.Log != nil {
		s.part = c.Log.Partition
	}
	s.table = newTable([]column{
		{name: "epoch", right: true}, {name: "batches", right: true, max: 44}, {name: "written", right: true}, {name: "loaded", right: true}, {name: "regenerated", right: true},
		{name: "source", max: 20}, {name: "what", grow: true, max: 100},
	}, epochRows(nil))
	s.fixed = 1
	return s
}

// toldEpochs is what was found out about the file.
type toldEpochs struct {
	rows   epochRows
	absent bool
	bad    string // why Kafka refuses the file
	plan   *repair.EpochPlan
	why    string // why there is no plan
	lines  []string
}

// epochRow is one leader epoch; -1 where a column has none.
type epochRow struct {
	epoch                      int32
	batches                    string
	written, loaded, regrown   int64
	source                     string
	why                        string
	level                      level
	hasWritten, hasLoad, hasRe bool
}

type epochRows []epochRow

func (s *epochFile) crumb() string { return "leader-epoch-checkpoint" }

func (s *epochFile) command() string {
	dir := ""
	switch {
	case s.c != nil:
		dir = s.c.Dir
	case s.part != nil:
		dir = s.part.Dir
	}
	return shellWords("kafsck", "epochs", s.w.typed(dir))
}

func (s *epochFile) bindings() []binding {
	return []binding{
		{keys: []string{"b"}, in: "bytes", help: "bytes of the file", hint: "bytes"},
		{keys: []string{"P"}, in: "plan", help: "the file that kafsck would write", hint: "what kafsck would write"},
	}
}

func (s *epochFile) start() work {
	if s.p == nil || s.c == nil {
		if s.index < 0 {
			return func(context.Context) any {
				return fmt.Errorf("this partition is not judged: its epochs are not known")
			}
		}
		return s.w.judge(s.index, nil)
	}
	return tellEpochs(s.p, s.c)
}

// tellEpochs is work that compares the file with the batches and plans it anew.
func tellEpochs(p *incident.Partition, c *incident.Copy) work {
	return func(ctx context.Context) any {
		progress(ctx, "comparing epochs", 0, false)
		if c.Err != nil {
			return c.Err
		}
		all := p.Epochs()
		i := slices.IndexFunc(all.Copies, func(e incident.CopyEpochs) bool { return e.Copy == c })
		if i < 0 {
			for _, e := range all.Errors {
				if e.Path == c.Dir {
					return e
				}
			}
			return fmt.Errorf("%s: files that were set aside have no leader-epoch-checkpoint of their own", c.Dir)
		}
		out := &toldEpochs{absent: c.Log.Partition.EpochsFile == nil}
		e := &all.Copies[i]
		if e.Malformed != nil {
			out.bad = e.Malformed.String()
		}
		if repair.Regenerates(c) {
			plan, err := repair.PlanEpochs(ctx, p, c, repair.EpochOptions{})
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				out.why = err.Error()
			} else {
				out.plan = plan
			}
		} else {
			out.why = "no broker uses the file of this directory"
		}
		out.tell(e)
		return out
	}
}

// tell makes the rows.
func (t *toldEpochs) tell(e *incident.CopyEpochs) {
	at := func(n int32) *epochRow {
		for i := range t.rows {
			if t.rows[i].epoch == n {
				return &t.rows[i]
			}
		}
		t.rows = append(t.rows, epochRow{epoch: n})
		return &t.rows[len(t.rows)-1]
	}
	for _, r := range e.Ranges {
		if x := at(r.Epoch); r.InBatches {
			if x.batches != "" {
				x.batches += ", "
			}
			x.batches += span(r.From, r.To)
		}
	}
	for _, w := range e.Written {
		if x := at(w.Epoch); !x.hasWritten {
			x.written, x.hasWritten = w.StartOffset, true
		} else { // twice: on a row of its own
			t.rows = append(t.rows, epochRow{epoch: w.Epoch, written: w.StartOffset, hasWritten: true, level: levelWarning, why: "a second line for this epoch"})
		}
	}
	for _, l := range e.Loaded {
		x := at(l.Epoch)
		x.loaded, x.hasLoad = l.StartOffset, true
	}
	if t.plan != nil {
		for _, n := range t.plan.Entries {
			x := at(n.Epoch)
			x.regrown, x.hasRe = n.StartOffset, true
			x.source = string(n.Source)
			if n.Broker != nil {
				x.source += " " + n.Broker.Name
			}
		}
		for _, c := range t.plan.Changes() {
			if c.Op != ' ' && c.Why != "" {
				x := at(c.Epoch)
				x.why = c.Why
			}
		}
		for _, u := range t.plan.Unknown {
			t.lines = append(t.lines, "not known: "+u)
		}
		t.lines = append(t.lines, t.plan.Notes...)
	}
	for i := range t.rows {
		x := &t.rows[i]
		if x.level != levelNone {
			continue
		}
		x.level = levelOK
		if x.hasWritten != x.hasLoad || x.hasWritten && x.written != x.loaded || t.plan != nil && (x.hasRe != x.hasWritten || x.hasRe && x.regrown != x.written) {
			x.level = levelWarning
		}
	}
	for _, d := range e.Differences {
		l := levelWarning
		if d.Legitimate {
			l = levelNote
		}
		if d.Epoch < 0 {
			t.lines = append(t.lines, d.Reason)
			continue
		}
		x := at(d.Epoch)
		if x.why == "" || !d.Legitimate {
			x.why = d.Reason
		}
		if d.Legitimate && x.level <= levelWarning || x.level < l {
			x.level = l
		}
	}
	slices.SortStableFunc(t.rows, func(a, b epochRow) int {
		return int(a.epoch) - int(b.epoch)
	})
}

func (s *epochFile) deliver(v any, ctl *control) work {
	if w, ok := s.deliverTable(v); ok {
		return w
	}
	switch v := v.(type) {
	case *incident.Partition:
		s.w.keep(s.index, v)
		for _, c := range v.Copies {
			if c.Log != nil && c.Log.Partition == s.part {
				s.p, s.c = v, c
				return tellEpochs(v, c)
			}
		}
		ctl.warn("%s is not a copy of %s any more", s.part.Dir, v.Name)
	case error:
		s.unread = v
	case *toldEpochs:
		s.told, s.unread = v, nil
		return s.setRows(v.rows)
	}
	return nil
}

func (s *epochFile) handle(in intent, ctl *control) work {
	switch in {
	case "bytes":
		if s.part == nil || s.part.EpochsFile == nil {
			ctl.say("there is no such file in this directory")
			return nil
		}
		ctl.push(newTextFile(s.w, s.part.LogDir, s.part.EpochsFile))
		return nil
	case "plan":
		if s.told == nil || s.told.plan == nil {
			ctl.say("there is no plan for this file")
			return nil
		}
		lines := strings.Split(strings.TrimSuffix(string(s.told.plan.Text()), "\n"), "\n")
		lines = append(lines, "", "Nothing is written from here. The command that writes it elsewhere:", shellWords("kafsck", "repair", "epochs", s.w.typed(s.c.Dir), "--out", "DIR"))
		ctl.show("leader-epoch-checkpoint as regenerated", lines)
		return nil
	case open:
		r := s.row()
		if r < 0 || s.c == nil {
			return nil
		}
		x := s.rows.(epochRows)[r]
		for _, g := range lineageOf(logOf(s.p, s.c)) {
			if g.Epoch == x.epoch {
				ctl.push(openOffset(s.w, s.p, s.c, g.From))
				return nil
			}
		}
		ctl.say("no batch of this copy has leader epoch %d", x.epoch)
		return nil
	}
	w, _ := s.handleTable(in, ctl)
	return w
}

func (s *epochFile) view(w, h int, st *styles) string {
	if s.told == nil && s.unread != nil {
		return unreadText(s.unread, w, st)
	}
	if s.told == nil {
		return st.dim.Render("comparing the file with the batches …")
	}
	t := s.told
	text := func(l level, raw string) []string {
		var out []string
		for i, part := range wrap(escape(raw), max(w-2, 1)) {
			mark := "  "
			if i == 0 {
				mark = l.symbol() + " "
			}
			out = append(out, st.level(l).Render(mark+part))
		}
		return out
	}
	lines := []string{st.dim.Render(cut(escape(s.c.Dir+"/leader-epoch-checkpoint  start offset of each epoch: as written, as Kafka loads it, as regenerated"), w))}
	lines = append(lines, unreadLine(s.unread, w, st)...)
	switch {
	case t.absent:
		lines = append(lines, text(levelWarning, "There is no such file.")...)
	case t.bad != "":
		lines = append(lines, text(levelDamage, "Kafka refuses the file: "+t.bad)...)
	case t.plan != nil && !t.plan.Changed:
		lines = append(lines, text(levelOK, "The file says what the batches say: nothing would change.")...)
	case t.plan != nil:
		lines = append(lines, text(levelWarning, "Regenerated, Kafka would hold other epochs than with the file as it is.")...)
	}
	if t.why != "" {
		lines = append(lines, text(levelNote, "not regenerated: "+t.why)...)
	}
	var below []string
	if r := s.row(); r >= 0 {
		if x := s.rows.(epochRows)[r]; x.why != "" {
			below = append(below, text(x.level, fmt.Sprintf("epoch %d: %s", x.epoch, x.why))...)
		}
	}
	for _, l := range t.lines {
		below = append(below, text(levelNote, l)...)
	}
	room := h - len(lines)
	if most := room - 3; len(below) > most {
		below = below[:max(most, 0)]
		if n := len(below); n > 0 {
			below[n-1] = st.dim.Render("… R, or a larger window, shows more")
		}
	}
	table := s.viewTable(w, min(room-len(below), s.len()+1), st)
	lines = append(lines, table)
	return strings.Join(append(lines, below...), "\n")
}

func (r epochRows) Len() int               { return len(r) }
func (r epochRows) Severity(row int) level { return r[row].level }

func (r epochRows) Cell(row, col int) string {
	x := &r[row]
	start := func(has bool, n int64) string {
		if !has {
			return "-"
		}
		return itoa(n)
	}
	switch col {
	case 0:
		return itoa(x.epoch)
	case 1:
		return x.batches
	case 2:
		return start(x.hasWritten, x.written)
	case 3:
		return start(x.hasLoad, x.loaded)
	case 4:
		return start(x.hasRe, x.regrown)
	case 5:
		return x.source
	}
	return x.why
}

func (r epochRows) Value(row, col int) any {
	x := &r[row]
	num := func(has bool, n int64) any {
		if !has {
			return nil
		}
		return n
	}
	switch col {
	case 0:
		return int64(x.epoch)
	case 2:
		return num(x.hasWritten, x.written)
	case 3:
		return num(x.hasLoad, x.loaded)
	case 4:
		return num(x.hasRe, x.regrown)
	}
	return r.Cell(row, col)
}

// Level marks the cells that differ from what was written.
func (r epochRows) Level(row, col int) level {
	x := &r[row]
	switch {
	case col == 3 && (x.hasLoad != x.hasWritten || x.hasLoad && x.loaded != x.written):
		return x.level
	case col == 4 && (x.hasRe != x.hasWritten || x.hasRe && x.regrown != x.written):
		return x.level
	}
	return levelNone
}
