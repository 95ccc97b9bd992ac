package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kafsck/check"
	"kafsck/finding"
	"kafsck/incident"
)

// findingsCommand opens all findings, or those of one partition.
var findingsCommand = screenCommand{name: "findings", args: "[PARTITION]", help: "all findings, worst first, grouped by code",
	complete: func(w *world, arg string) []string { return w.partitionNames(arg) },
	open: func(ctl *control, arg string) (screen, error) {
		if arg != "" && ctl.world().indexOf(arg) < 0 {
			return nil, fmt.Errorf("there is no partition %s", arg)
		}
		return newFindings(ctl.world(), arg), nil
	}}

// partitionNames completes the name of a partition.
func (w *world) partitionNames(prefix string) []string {
	const most = 50
	var out []string
	for i := range w.refs {
		if strings.HasPrefix(w.refs[i].Name, prefix) {
			if out = append(out, w.refs[i].Name); len(out) == most {
				break
			}
		}
	}
	return out
}

// findingsScreen lists findings: by code first, and below a code each of them.
type findingsScreen struct {
	*table
	w         *world
	partition string       // "": all
	code      finding.Code // "": the groups
	seen      int          // findings of the world that are in rows
	round     int          // of the world
	groups    []*findingGroup
	list      []*foundFinding // of the code
	wanted    *foundFinding   // being judged again, to be opened
}

// findingGroup is all findings of one code.
type findingGroup struct {
	code       finding.Code
	severity   finding.Severity
	n, facts   int
	partitions int
	last       int32 // partition counted last
}

func newFindings(w *world, partition string) *findingsScreen {
	s := &findingsScreen{w: w, partition: partition}
	s.table = newTable([]column{{name: "severity"}, {name: "code", max: 40}, {name: "findings", right: true}, {name: "facts", right: true}, {name: "partitions", right: true}, {name: "what it means", grow: true, min: 20, max: 90}}, groupRows(nil))
	s.fixed = 0
	return s
}

func newFindingList(w *world, partition string, code finding.Code) *findingsScreen {
	s := &findingsScreen{w: w, partition: partition, code: code}
	s.table = newTable([]column{{name: "severity"}, {name: "partition", max: 40}, {name: "broker"}, {name: "facts", right: true}, {name: "offset", right: true}, {name: "position", right: true}, {name: "finding", grow: true, max: 100}, {name: "file", max: 80}}, findingRows{w, nil})
	return s
}

func (s *findingsScreen) crumb() string {
	switch {
	case s.code != "":
		return string(s.code)
	case s.partition != "":
		return "findings of " + s.partition
	}
	return "findings"
}

func (s *findingsScreen) command() string {
	if s.w.src == nil {
		return ""
	}
	var extra []string
	if s.partition != "" {
		extra = append(extra, "--partition", s.partition)
	}
	return s.w.command("check", extra...)
}

func (s *findingsScreen) bindings() []binding {
	return []binding{{keys: []string{"e"}, in: "explain", help: "explain the code", hint: "explain"}}
}

func (s *findingsScreen) start() work { return nil }

// refresh takes the findings that came since the last time.
func (s *findingsScreen) refresh(ctl *control) work {
	if s.round != s.w.round { // everything is judged again
		s.round, s.seen, s.groups, s.list = s.w.round, 0, nil, nil
	}
	fresh := s.w.findings[min(s.seen, len(s.w.findings)):]
	if len(fresh) == 0 {
		return nil
	}
	s.seen = len(s.w.findings)
	for _, f := range fresh {
		if s.partition != "" && s.w.partitionOf(f) != s.partition {
			continue
		}
		if s.code != "" {
			if f.code == s.code {
				s.list = append(s.list, f)
			}
			continue
		}
		s.group(f)
	}
	if s.code != "" {
		return s.setRows(findingRows{s.w, s.list})
	}
	groups := make([]*findingGroup, len(s.groups))
	for i, g := range s.groups { // copies: rows do not change
		own := *g
		groups[i] = &own
	}
	slices.SortStableFunc(groups, func(a, b *findingGroup) int {
		if a.severity != b.severity {
			return int(b.severity) - int(a.severity)
		}
		return strings.Compare(string(a.code), string(b.code))
	})
	return s.setRows(groupRows(groups))
}

func (s *findingsScreen) group(f *foundFinding) {
	i := slices.IndexFunc(s.groups, func(g *findingGroup) bool { return g.code == f.code && g.severity == f.severity })
	if i < 0 {
		i = len(s.groups)
		s.groups = append(s.groups, &findingGroup{code: f.code, severity: f.severity, last: -2})
	}
	g := s.groups[i]
	g.n++
	g.facts += int(f.count)
	if f.part != g.last { // findings come partition by partition
		g.last = f.part
		g.partitions++
	}
}

func (s *findingsScreen) deliver(v any, ctl *control) work {
	if w, ok := s.deliverTable(v); ok {
		return w
	}
	if p, ok := v.(*incident.Partition); ok && s.wanted != nil {
		f := s.wanted
		s.wanted = nil
		s.w.keep(int(f.part), p)
		if full := f.among(p.Findings); full != nil {
			ctl.push(openFinding(s.w, int(f.part), full))
		} else {
			ctl.warn("judged again, %s does not have this finding: have the files changed?", p.Name)
		}
	}
	return nil
}

func (s *findingsScreen) handle(in intent, ctl *control) work {
	r := s.row()
	switch {
	case in == open && r >= 0 && s.code == "":
		ctl.push(newFindingList(s.w, s.partition, s.rows.(groupRows)[r].code))
		return nil
	case in == open && r >= 0:
		f := s.list[r]
		if full := s.w.full(f); full != nil {
			ctl.push(openFinding(s.w, int(f.part), full))
			return nil
		}
		s.wanted = f
		return s.w.judge(int(f.part), nil)
	case in == "explain" && r >= 0:
		code := s.code
		if code == "" {
			code = s.rows.(groupRows)[r].code
		}
		ctl.show(string(code), explain(code))
		return nil
	}
	w, _ := s.handleTable(in, ctl)
	return w
}

// explain is what "kafsck explain" says of a code.
func explain(code finding.Code) []string {
	c, ok := check.Lookup(code)
	if !ok {
		return []string{"kafsck explain " + string(code)}
	}
	return []string{c.Meaning, "", "How it happens: " + c.How, "What Kafka does: " + c.Kafka, "What to do: " + c.Do}
}

func (s *findingsScreen) view(w, h int, st *styles) string {
	if s.rows.Len() == 0 {
		text := "No findings."
		if !s.w.complete {
			text = "No findings so far."
		}
		return st.dim.Render(text)
	}
	room := h
	var detail []string
	if r := s.row(); r >= 0 && (h >= 14 || h-s.len()-1 >= leastText) {
		more := "… enter shows all"
		if s.code != "" {
			detail = s.detail(s.list[r], w, st)
		} else {
			detail, more = meaning(s.rows.(groupRows)[r], w, st), "… e shows all"
		}
		// What the list does not need is the text's.
		most := h - s.len() - 1
		if h >= 14 {
			most = max(most, h/2)
		}
		if len(detail) > most {
			detail = append(detail[:most-1], st.dim.Render(more))
		}
		room -= len(detail)
	}
	text := s.viewTable(w, room, st)
	if len(detail) > 0 {
		text += "\n" + strings.Join(detail, "\n")
	}
	return text
}

// meaning explains the code of a group below the list.
func meaning(g *findingGroup, w int, st *styles) []string {
	lines := []string{st.dim.Render(strings.Repeat("─", w))}
	l := levelOf(g.severity)
	add := func(label, text string) {
		for i, part := range wrap(escape(text), max(w-13, 10)) {
			if i > 0 {
				label = ""
			}
			lines = append(lines, st.dim.Render(fit(label, 12))+" "+part)
		}
	}
	lines = append(lines, st.level(l).Render(cut(l.symbol()+" "+string(g.code)+": "+countOf(int64(g.n), "finding", "findings")+"; enter lists them", w)))
	c, ok := check.Lookup(g.code)
	if !ok {
		return lines
	}
	add("meaning", c.Meaning)
	add("how", c.How)
	add("Kafka", c.Kafka)
	add("to do", c.Do)
	return lines
}

// detail shows a finding in full below the list.
func (s *findingsScreen) detail(found *foundFinding, w int, st *styles) []string {
	lines := []string{st.dim.Render(strings.Repeat("─", w))}
	f := s.w.full(found)
	if f == nil {
		return append(lines, wrap(notKept, w)...)
	}
	for i, text := range wrap(escape(f.Summary), w-2) {
		if i == 0 {
			text = st.level(levelOf(f.Severity)).Render(levelOf(f.Severity).symbol()+" ") + text
		} else {
			text = "  " + text
		}
		lines = append(lines, text)
	}
	add := func(label, text string) {
		if text == "" {
			return
		}
		for i, l := range wrap(escape(text), max(w-10, 10)) {
			if i > 0 {
				label = ""
			}
			lines = append(lines, st.dim.Render(fit(label, 9))+" "+l)
		}
	}
	add("file", f.At.File)
	for _, e := range f.Evidence {
		add("proof", e.Claim)
		if e.Want != "" || e.Got != "" {
			add("expected", e.Want)
			add("found", e.Got)
		}
	}
	add("Kafka", f.Kafka)
	add("next", f.Next)
	return lines
}

type groupRows []*findingGroup

func (r groupRows) Len() int               { return len(r) }
func (r groupRows) Severity(row int) level { return levelOf(r[row].severity) }

func (r groupRows) Cell(row, col int) string {
	g := r[row]
	switch col {
	case 0:
		return g.severity.String()
	case 1:
		return string(g.code)
	case 2:
		return comma(int64(g.n))
	case 3:
		return comma(int64(g.facts))
	case 4:
		return comma(int64(g.partitions))
	}
	if c, ok := check.Lookup(g.code); ok {
		return c.Meaning
	}
	return ""
}

func (r groupRows) Value(row, col int) any {
	g := r[row]
	switch col {
	case 0:
		return int64(g.severity)
	case 2:
		return int64(g.n)
	case 3:
		return int64(g.facts)
	case 4:
		return int64(g.partitions)
	}
	return r.Cell(row, col)
}

// findingRows are the findings of one code. They are read in the background too, so
// they look at nothing of the world that changes.
type findingRows struct {
	w    *world
	list []*foundFinding
}

func (r findingRows) Len() int               { return len(r.list) }
func (r findingRows) Severity(row int) level { return levelOf(r.list[row].severity) }

func (r findingRows) Path(row int) string {
	if f := r.list[row].full; f != nil && f.At.File != "" {
		return r.w.typed(f.At.File)
	}
	return ""
}

func (r findingRows) Cell(row, col int) string {
	f := r.list[row]
	switch col {
	case 0:
		return f.severity.String()
	case 1:
		return r.w.partitionOf(f)
	case 2:
		return f.broker
	case 3:
		return comma(int64(f.count))
	case 4:
		return known(f.from)
	case 5:
		return known(f.position)
	}
	full := f.full
	switch {
	case full == nil && col == 6:
		return notKept
	case full == nil:
		return ""
	case col == 6:
		return strings.TrimPrefix(full.Summary, full.At.Partition+": ")
	}
	return full.At.File
}

// known is a number that -1 stands for "not known" in.
func known(n int64) string {
	if n < 0 {
		return ""
	}
	return itoa(n)
}

func (r findingRows) Value(row, col int) any {
	f := r.list[row]
	switch col {
	case 0:
		return int64(f.severity)
	case 3:
		return int64(f.count)
	case 4:
		return orNil(f.from)
	case 5:
		return orNil(f.position)
	}
	return r.Cell(row, col)
}

// orNil is a number, or nil for an unknown one.
func orNil(n int64) any {
	if n < 0 {
		return nil
	}
	return n
}

// JSON is the finding as check --json gives it, as far as it is kept.
func (r findingRows) JSON(row int) any {
	found := r.list[row]
	out := map[string]any{"type": "finding", "code": found.code, "severity": found.severity.String(), "count": found.count,
		"partition": nil, "topicId": nil, "broker": nil, "file": nil, "position": orNil(found.position), "length": nil, "from": orNil(found.from), "to": nil}
	text := func(key, v string) {
		if v != "" {
			out[key] = v
		}
	}
	text("partition", r.w.partitionOf(found))
	if n, err := strconv.ParseInt(found.broker, 10, 32); err == nil {
		out["broker"] = n
	} else {
		text("broker", found.broker)
	}
	if f := found.full; f != nil {
		text("topicId", f.At.TopicID)
		text("file", f.At.File)
		text("summary", f.Summary)
		text("next", f.Next)
		out["length"], out["to"] = orNil(f.At.Length), orNil(f.At.To)
	}
	return out
}
