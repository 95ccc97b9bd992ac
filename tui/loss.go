package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kafsck/commitment"
	"kafsck/incident"
)

var lossCommand = partitionCommand("loss", "what is lost, with its evidence", func(w *world, i int) screen { return newLoss(w, i) })

// lossScreen lists what is lost, and below the evidence of the selected range. Where
// nobody rules it lists what each candidate would lose.
type lossScreen struct {
	about
	split
	// of names the candidate whose losses are shown, nil: those of the partition.
	of *incident.Candidacy
}

var lossColumns = []column{
	{name: "offsets", max: 30}, {name: "records", right: true}, {name: "committed"}, {name: "held by", max: 20}, {name: "epochs", max: 16},
	{name: "cause", max: 24}, {name: "acknowledged"}, {name: "if leads"}, {name: "written", max: 24},
}

func newLoss(w *world, index int) *lossScreen {
	s := &lossScreen{about: about{w: w, index: index}, split: split{table: newTable(lossColumns, lossRows{})}}
	s.fixed = 1
	return s
}

// newLossOf shows what a candidate leader would lose.
func newLossOf(w *world, index int, p *incident.Partition, c *incident.Candidacy) *lossScreen {
	s := newLoss(w, index)
	s.p, s.of, s.begun = p, c, true
	return s
}

func (s *lossScreen) crumb() string {
	if s.of != nil {
		return "lost if broker " + s.of.Copy.Broker.Name + " leads"
	}
	return "loss"
}

func (s *lossScreen) command() string {
	if s.of != nil {
		return s.twin("predict", "leader")
	}
	return s.twin("loss")
}

func (s *lossScreen) bindings() []binding {
	return []binding{
		{keys: []string{"C"}, in: "leaders", help: "candidate leaders", hint: "leaders"},
		{keys: []string{"d"}, in: "diff", help: "differences: two replicas in step", hint: "diff"},
		{keys: []string{"H"}, in: "history", help: "history: leaders and ISR"},
	}
}

func (s *lossScreen) start() work {
	if s.of != nil {
		return s.setRows(lossRowsOf(s.p, s.of))
	}
	w := s.begin()
	if s.p != nil {
		return s.setRows(lossRowsOf(s.p, nil))
	}
	return w
}

func (s *lossScreen) deliver(v any, ctl *control) work {
	if w, ok := s.deliverTable(v); ok {
		return w
	}
	if s.take(v) {
		return s.setRows(lossRowsOf(s.p, nil))
	}
	return nil
}

func (s *lossScreen) handle(in intent, ctl *control) work {
	switch in {
	case open:
		s.openLost(ctl)
		return nil
	case "leaders":
		ctl.push(newLeaders(s.w, s.index))
		return nil
	case "diff":
		ctl.push(newDiff(s.w, s.index, -1, -1))
		return nil
	case "history":
		ctl.push(newHistory(s.w, s.index))
		return nil
	}
	w, _ := s.handleSplit(in, ctl)
	return w
}

// openLost jumps to the first lost record on a copy that holds it.
func (s *lossScreen) openLost(ctl *control) {
	r := s.row()
	if r < 0 {
		return
	}
	l := s.rows.(lossRows).list[r].loss
	if l.From == nil {
		ctl.warn("its offsets are not recorded: there is nothing to jump to")
		return
	}
	for i := range l.Copies {
		if c := copyOf(s.p, &l.Copies[i]); c != nil {
			s.openIn(c, *l.From, ctl)
			return
		}
	}
	switch {
	case len(l.Copies) > 0:
		ctl.warn("its holder cannot be opened here: %s", escape(l.Copies[0].File))
	case len(l.AskFor) > 0:
		ctl.warn("no copy here holds it; the disk of broker %s, not among the inputs, may", idsText(l.AskFor))
	default:
		ctl.warn("no copy among these inputs holds it")
	}
}

func (s *lossScreen) view(w, h int, st *styles) string {
	if s.p == nil {
		return s.waiting(st)
	}
	l, text := s.about.verdict()
	if s.of != nil {
		l, text = levelLoss, fmt.Sprintf("If broker %s leads, in epoch %d: %s.", s.of.Copy.Broker.Name, s.of.Epoch, candidateLoses(s.of.Losses))
		if s.of.LostAll() == 0 {
			l = levelOK
		}
	}
	var head []string
	for _, part := range wrapTo(escape(text), w, max(h/3, 1)) {
		head = append(head, st.level(l).Render(part))
	}
	head = append(head, s.unread(w, st)...)
	if s.rows.Len() == 0 {
		return strings.Join(append(head, "", st.dim.Render("No record is missing from the log of who rules.")), "\n")
	}
	var d prose
	if r := s.row(); r >= 0 {
		d = lossDetails(s.w, s.p, s.rows.(lossRows).list[r].loss)
	}
	return s.viewSplit(head, d, w, h, st)
}

// listedLoss is a loss, and the candidate under whom it would be one.
type listedLoss struct {
	loss  *incident.Loss
	leads string // "" the ruling leader
}

// lossRows are losses; it changes by being replaced.
type lossRows struct {
	p    *incident.Partition
	list []listedLoss
}

func lossRowsOf(p *incident.Partition, of *incident.Candidacy) lossRows {
	r := lossRows{p: p}
	switch {
	case of != nil:
		for i := range of.Losses {
			r.list = append(r.list, listedLoss{&of.Losses[i], of.Copy.Broker.Name})
		}
		return r
	case len(p.Losses) == 0:
		for i := range p.Candidates {
			c := &p.Candidates[i]
			for k := range c.Losses {
				r.list = append(r.list, listedLoss{&c.Losses[k], c.Leader.Name})
			}
		}
		return r
	}
	for i := range p.Losses {
		r.list = append(r.list, listedLoss{loss: &p.Losses[i]})
	}
	return r
}

func (r lossRows) Len() int { return len(r.list) }

func (r lossRows) Severity(row int) level {
	switch x := r.list[row]; {
	case x.loss.Committed == commitment.No:
		return levelNote
	case x.loss.Committed == commitment.Yes && x.leads == "":
		return levelLoss
	}
	return levelWarning
}

func (r lossRows) Cell(row, col int) string {
	x := r.list[row]
	l := x.loss
	switch col {
	case 0:
		return lossRange(l)
	case 1:
		if l.Records == nil {
			return "?"
		}
		return comma(*l.Records)
	case 2:
		return string(l.Committed)
	case 3:
		if len(l.HeldBy) == 0 {
			return "nobody here"
		}
		return brokerNames(l.HeldBy)
	case 4:
		var words []string
		for _, e := range l.Epochs {
			words = append(words, itoa(e))
		}
		return strings.Join(words, " ")
	case 5:
		return l.Cause
	case 6:
		return string(l.Acknowledged)
	case 7:
		return x.leads
	}
	return clock(l.FirstMs)
}

func (r lossRows) Value(row, col int) any {
	l := r.list[row].loss
	switch {
	case col == 0 && l.From != nil:
		return *l.From
	case col == 1 && l.Records != nil:
		return *l.Records
	case col <= 1:
		return nil
	case col == 8:
		return orNil(l.FirstMs)
	}
	return r.Cell(row, col)
}

// JSON is the row as the loss line of --json, without the words of the evidence.
func (r lossRows) JSON(row int) any {
	x := r.list[row]
	l := x.loss
	held := []any{}
	for _, b := range l.HeldBy {
		held = append(held, brokerJSON(b))
	}
	kinds := []any{}
	for _, e := range l.Evidence {
		kinds = append(kinds, map[string]any{"kind": e.Kind, "says": e.Says, "claim": e.Claim, "source": e.Source})
	}
	out := map[string]any{"type": "loss", "partition": r.p.Name, "topicId": nil, "from": l.From, "to": l.To, "records": l.Records, "epochs": l.Epochs, "basis": l.Basis,
		"toExact": l.ToExact, "committed": l.Committed, "acknowledged": l.Acknowledged, "evidence": kinds, "heldBy": held, "cause": l.Cause}
	if r.p.TopicID != "" {
		out["topicId"] = r.p.TopicID
	}
	if x.leads != "" {
		out["ifLeads"] = x.leads
	}
	return out
}

// lossDetails tells one loss: the grade with all proofs, for and against, who holds it,
// and which groups had read it.
func lossDetails(w *world, p *incident.Partition, l *incident.Loss) (d prose) {
	switch l.Committed {
	case commitment.Yes:
		d.at(levelLoss, "committed", "yes: a producer with acks=all may have been told that these records are safe")
	case commitment.No:
		d.at(levelNote, "committed", "no: these records were never committed; a producer with acks=1 may have been told ok")
	default:
		d.at(levelWarning, "committed", "unknown: nothing proves that these records were replicated, and nothing that they were not")
	}
	proofs := slices.Clone(l.Evidence)
	rank := map[commitment.Grade]int{commitment.Yes: 0, commitment.No: 1, commitment.Unknown: 2}
	slices.SortStableFunc(proofs, func(a, b commitment.Evidence) int { return cmp.Compare(rank[a.Says], rank[b.Says]) })
	for _, e := range proofs {
		text := fmt.Sprintf("%s: %s", e.Says, e.Claim)
		if e.Source != "" {
			text += "; see " + e.Source
		}
		d.add(string(e.Kind), "%s", text)
	}
	if l.Acknowledged != "" && l.Acknowledged != commitment.AckedUnknown {
		d.add("acknowledged", "%s", string(l.Acknowledged))
	}
	for i := range l.Copies {
		c := &l.Copies[i]
		d.add(first(i == 0, "still held by"), "broker %s (%s): %s", c.Broker.Name, c.State, c.File)
	}
	switch {
	case len(l.Copies) == 0 && len(l.AskFor) > 0:
		d.at(levelWarning, "still held by", "no copy here; broker %s, not among the inputs, may hold these records: copy that disk before it is started", idsText(l.AskFor))
	case len(l.Copies) == 0:
		d.add("still held by", "no copy among these inputs")
	case l.Counts():
		d.add("", "Keep them stopped: a broker that starts as a follower cuts its log, and these records are gone.")
	}
	if l.Basis == "trace" {
		d.add("basis", "a trace: the records themselves are in no copy")
	}
	cause := l.Cause
	if e := l.Election; e != nil {
		kind := "clean election"
		if e.Unclean {
			kind = "unclean election"
		}
		cause += fmt.Sprintf(": %s of broker %d for epoch %d, %s, metadata offset %d", kind, e.Leader, e.Epoch, clock(e.TimeMs), e.Offset)
	}
	d.add("cause", "%s", cause)
	if l.FirstMs >= 0 {
		d.add("written", "%s – %s (by the producers' clocks, where the topic takes CreateTime)", clock(l.FirstMs), clock(max(l.LastMs, l.FirstMs)))
	}
	for i := range l.Groups {
		g := &l.Groups[i]
		text := fmt.Sprintf("%s had read up to offset %d; it stands at %d and meets: %s", g.Group, g.Read-1, g.Position, g.Meets)
		if g.Why != "" {
			text += " (" + g.Why + ")"
		}
		d.add(first(i == 0, "groups"), "%s", text)
	}
	if l.GroupsUnknown != "" {
		d.add(first(len(l.Groups) == 0, "groups"), "%s", l.GroupsUnknown)
	}
	if len(l.Copies) > 0 && l.From != nil && l.To != nil && w.src != nil {
		if c := copyOf(p, &l.Copies[0]); c != nil {
			for _, seg := range slices.Backward(c.Log.Segments) {
				if seg.BaseOffset <= *l.From {
					d.add("next", "%s", shellWords("kafsck", "dump", "--offsets", fmt.Sprintf("%d..%d", *l.From, *l.To-1), "--records", w.typed(seg.Log.Path)))
					break
				}
			}
		}
	}
	return d
}

// first is a label on the first of several lines only.
func first(is bool, label string) string {
	if is {
		return label
	}
	return ""
}
