package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/replica"
)

// caseCommand opens the overview from anywhere.
var caseCommand = screenCommand{name: "case", help: "the case: brokers and partitions",
	open: func(ctl *control, _ string) (screen, error) {
		// It is always at the bottom; another one would judge everything again.
		ctl.app.at = 0
		ctl.app.refresh(ctl.app.top())
		return nil, nil
	}}

// caseScreen is the overview: partitions × brokers, the worst in each cell.
type caseScreen struct {
	*table
	w *world
}

func newCase(w *world) *caseScreen {
	s := &caseScreen{w: w, table: newTable(caseColumns(nil), &caseRows{})}
	s.fixed = 1
	return s
}

// brokerFrom is the first column of a broker: behind the partition and its worst.
const brokerFrom = 2

// fewBrokers is how many have room for words in their column.
const fewBrokers = 8

func caseColumns(brokers []incident.BrokerRef) []column {
	list := []column{{name: "partition", max: 60}, {name: "worst"}}
	for _, b := range brokers {
		name := b.Name
		if len(brokers) <= fewBrokers && b.Known {
			name = "broker " + name
		}
		list = append(list, column{name: name, max: 16, quiet: true})
	}
	return append(list,
		column{name: "leader"},
		column{name: "lost", right: true},
		column{name: "log end", right: true},
		column{name: "size", right: true},
		column{name: "findings", right: true},
		column{name: "topic id", max: 22},
	)
}

// The columns after those of the brokers.
const (
	caseColLeader = iota
	caseColLost
	caseColEnd
	caseColSize
	caseColFindings
	caseColTopicID
)

// caseRows are the partitions with what is known of each.
type caseRows struct {
	refs    []incident.Ref
	parts   []*summary
	brokers []incident.BrokerRef
}

func (r *caseRows) Len() int { return len(r.refs) }

// Snapshot: summaries are replaced, not changed, so a copy of the list is enough.
func (r *caseRows) Snapshot() rows { return &caseRows{r.refs, slices.Clone(r.parts), r.brokers} }

func (r *caseRows) Severity(row int) level {
	if s := r.parts[row]; s != nil {
		return s.worst
	}
	return levelNone
}

func (r *caseRows) cell(row, col int) *brokerCell {
	s := r.parts[row]
	if s == nil {
		return nil
	}
	for i := range s.cells {
		if s.cells[i].broker == r.brokers[col-brokerFrom].Name {
			return &s.cells[i]
		}
	}
	return nil
}

func (r *caseRows) Cell(row, col int) string {
	ref, s := &r.refs[row], r.parts[row]
	switch {
	case col == 0:
		return ref.Name
	case col == 1 && s == nil:
		return "…"
	case col == 1:
		return s.worst.word()
	}
	if col < brokerFrom+len(r.brokers) {
		b := r.brokers[col-brokerFrom]
		c := r.cell(row, col)
		switch {
		case c == nil && slices.Contains(ref.Brokers, b) && s == nil:
			return "…"
		case c == nil:
			return ""
		}
		text := c.level.symbol()
		if len(r.brokers) <= fewBrokers && c.level > levelOK {
			text += " " + c.level.word()
		}
		if c.state != replica.Live {
			text += " (" + string(c.state) + ")"
		}
		return text
	}
	if s == nil {
		if col-brokerFrom-len(r.brokers) == caseColTopicID {
			return ref.TopicID
		}
		return "…"
	}
	switch col - brokerFrom - len(r.brokers) {
	case caseColLeader:
		switch {
		case s.leader == "":
			return "none"
		case s.guess:
			return s.leader + " (guess)"
		}
		return s.leader
	case caseColLost:
		switch {
		case s.lossRanges == 0:
			return ""
		case s.lost == 0 && s.maybe == 0:
			return "?"
		case s.lost == 0:
			return comma(s.maybe) + "?"
		}
		return comma(s.lost + s.maybe)
	case caseColEnd:
		if s.to < 0 {
			return "?"
		}
		return itoa(s.to)
	case caseColSize:
		return humanBytes(s.bytes)
	case caseColFindings:
		n := s.findings[0] + s.findings[1] + s.findings[2] + s.findings[3]
		if n == 0 {
			return ""
		}
		return comma(int64(n))
	}
	return ref.TopicID
}

// Value sorts: broker cells by how bad they are.
func (r *caseRows) Value(row, col int) any {
	s := r.parts[row]
	switch {
	case col == 0:
		return r.refs[row].Name
	case s == nil:
		return nil
	case col == 1:
		return s.worst
	case col < brokerFrom+len(r.brokers):
		if c := r.cell(row, col); c != nil {
			return c.level
		}
		return nil
	}
	switch col - brokerFrom - len(r.brokers) {
	case caseColLost:
		if s.lossRanges > 0 {
			return s.lost + s.maybe
		}
		return nil
	case caseColEnd:
		if s.to >= 0 {
			return s.to
		}
		return nil
	case caseColSize:
		return s.bytes
	case caseColFindings:
		return int64(s.findings[0] + s.findings[1] + s.findings[2] + s.findings[3])
	case caseColLeader:
		return s.leader
	}
	return r.refs[row].TopicID
}

// Level colours the cells of brokers and the losses.
func (r *caseRows) Level(row, col int) level {
	if col >= brokerFrom && col < brokerFrom+len(r.brokers) {
		if c := r.cell(row, col); c != nil {
			return c.level
		}
		return levelNone
	}
	if s := r.parts[row]; s != nil && col == 1 {
		return s.worst
	}
	if s := r.parts[row]; s != nil && col == brokerFrom+len(r.brokers)+caseColLost && s.lossRanges > 0 {
		return levelLoss
	}
	return levelNone
}

// JSON is the row as an object.
func (r *caseRows) JSON(row int) any {
	ref, s := &r.refs[row], r.parts[row]
	out := map[string]any{"partition": ref.Name, "topicId": nil}
	if ref.TopicID != "" {
		out["topicId"] = ref.TopicID
	}
	if s == nil {
		out["pending"] = true
		return out
	}
	out["worst"], out["judged"], out["bytes"] = s.worst.word(), s.judged, s.bytes
	out["leader"], out["logEndOffset"] = nil, nil
	if s.leader != "" {
		out["leader"] = s.leader
	}
	if s.to >= 0 {
		out["logEndOffset"] = s.to
	}
	out["lost"], out["maybeLost"] = s.lost, s.maybe
	brokers := map[string]string{}
	for _, c := range s.cells {
		brokers[c.broker] = c.level.word()
	}
	out["brokers"] = brokers
	return out
}

// openedCase is the first answer: the inputs are open, nothing is judged.
type openedCase struct {
	src     *Source
	refs    []incident.Ref
	brokers []incident.BrokerRef
}

// judgedChunk is partitions that were judged since the last answer.
type judgedChunk []*judgedSummary

// judgedAll is the end of it, with what could not be read of no partition.
type judgedAll struct{ errors []logdir.PathError }

func (s *caseScreen) crumb() string { return "case" }

func (s *caseScreen) command() string {
	if s.w.src == nil {
		return ""
	}
	return s.w.command("")
}

func (s *caseScreen) bindings() []binding {
	return []binding{{keys: []string{"M"}, in: "metadata", help: "metadata: who led each partition"}}
}

// start opens the inputs; later it only judges again.
func (s *caseScreen) start() work {
	if s.w.src == nil {
		s.w.err = nil
		return openWork(s.w.opt.Open)
	}
	s.w.again()
	s.rows = &caseRows{s.w.refs, s.w.parts, s.w.brokers}
	return judgeWork(s.w.src)
}

func openWork(open func(context.Context) (*Source, error)) work {
	return func(ctx context.Context) any {
		src, err := open(ctx)
		if err != nil {
			return err
		}
		return &openedCase{src, src.Incident.Refs(), src.Incident.Brokers()}
	}
}

// chunkEvery is how often judged partitions are handed over.
const chunkEvery = 50 * time.Millisecond

// judgeWork judges all partitions.
func judgeWork(src *Source) work {
	return stream(func(ctx context.Context, emit func(any) bool) any {
		add := progress(ctx, "judging", src.Bytes, true)
		inc := src.Incident.With(func(o *incident.Options) { o.Progress = add })
		var chunk judgedChunk
		last := time.Now()
		i := 0
		for p := range inc.Partitions(ctx) {
			j := &judgedSummary{index: i, summary: summarize(p), findings: p.Findings, errors: p.Errors, story: p}
			if len(chunk) >= maxRecent { // only the newest stories are kept whole
				chunk[len(chunk)-maxRecent].story = nil
			}
			chunk = append(chunk, j)
			i++
			if time.Since(last) >= chunkEvery {
				if !emit(chunk) {
					return nil
				}
				chunk, last = nil, time.Now()
			}
		}
		if len(chunk) > 0 && !emit(chunk) {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return judgedAll{inc.Errors}
	})
}

func (s *caseScreen) deliver(v any, ctl *control) work {
	if w, ok := s.deliverTable(v); ok {
		return w
	}
	switch v := v.(type) {
	case error:
		if s.w.src == nil {
			s.w.err = v
		} else {
			s.w.stopped = true
		}
		ctl.changed()
	case *openedCase:
		s.w.opened(v)
		s.columns = caseColumns(v.brokers)
		s.widths = make([]int, len(s.columns))
		ctl.run(s.setRows(&caseRows{s.w.refs, s.w.parts, s.w.brokers}))
		ctl.changed()
		return judgeWork(v.src)
	case judgedChunk:
		for _, j := range v {
			s.w.take(j)
		}
		ctl.changed()
		return s.arrange()
	case judgedAll:
		s.w.complete = true
		s.w.failed(v.errors)
		ctl.changed()
		return s.arrange()
	}
	return nil
}

func (s *caseScreen) handle(in intent, ctl *control) work {
	if in == open {
		if r := s.row(); r >= 0 {
			ctl.push(openPartition(s.w, r))
		}
		return nil
	}
	if in == "metadata" {
		if s.w.src != nil {
			ctl.push(newMetadata(s.w))
		}
		return nil
	}
	w, _ := s.handleTable(in, ctl)
	return w
}

func (s *caseScreen) view(w, h int, st *styles) string {
	l, sentence := s.w.verdict()
	var lines []string
	style := st.strong
	if l != levelNone {
		style = st.level(l)
	}
	for _, part := range wrap(escape(sentence), w) {
		lines = append(lines, style.Render(part))
	}
	if most := max(h/3, 1); len(lines) > most {
		lines = lines[:most]
	}
	if s.w.src != nil && h > 6 {
		// Each sum whole, on two lines where they need them.
		sums := s.sums()
		for n := 0; n < 2 && len(sums) > 0; n++ {
			text := sums[0]
			for sums = sums[1:]; len(sums) > 0 && (width(text+" · "+sums[0]) <= w || n == 1); sums = sums[1:] {
				text += " · " + sums[0]
			}
			lines = append(lines, st.dim.Render(cut(text, w)))
		}
	}
	if h >= 12 {
		lines = append(lines, "")
	}
	if s.w.src == nil {
		return strings.Join(lines, "\n")
	}
	return strings.Join(lines, "\n") + "\n" + s.viewTable(w, h-len(lines), st)
}

// copyText gives all directories of a partition as its path.
func (s *caseScreen) copyText(kind copyKind) (string, error) {
	if kind != copyPath || s.row() < 0 {
		return s.table.copyText(kind)
	}
	var dirs []string
	for _, r := range s.chosen() {
		ref := &s.w.refs[r]
		for p := range s.w.src.Incident.Case.AllPartitions() {
			if p.Topic == ref.Topic && p.Partition == ref.Number {
				dirs = append(dirs, s.w.typed(p.Dir))
			}
		}
	}
	return shellWords(dirs...), nil
}

// sums are the totals, the worst first.
func (s *caseScreen) sums() []string {
	t := &s.w.totals
	var parts []string
	for l := levelUnread; l >= levelWarning; l-- {
		if n := t.byWorst[l]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s %s", l.symbol(), comma(int64(n)), l.word()))
		}
	}
	if t.untold > 0 {
		parts = append(parts, comma(int64(t.untold))+" cannot be told")
	}
	return append(parts,
		countOf(int64(len(s.w.brokers)), "broker", "brokers"),
		countOf(int64(len(s.w.refs)), "partition", "partitions"),
		humanBytes(t.bytes)+" read")
}
