package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kafsck/check"
	"kafsck/commitment"
	"kafsck/diff"
	"kafsck/finding"
	"kafsck/incident"
	"kafsck/logdir"
)

// class orders what triage says, worst first.
type class int

const (
	classLost class = iota
	classMaybeLost
	classLosesAnyway // nobody leads, and whoever is elected, records are lost
	classDamaged
	classDiffer
	classNotRead
	classCannotTell
	classNoLeader
	classWarning
	classNote
)

// more is the verb that tells all of a class.
var more = map[class]string{
	classLost: "loss", classMaybeLost: "loss", classDiffer: "diff", classNoLeader: "loss", classLosesAnyway: "loss", classCannotTell: "loss",
	classDamaged: "check", classWarning: "check",
}

// item is one thing that triage says: small, so that the story it was made from
// need not be kept.
type item struct {
	class class
	word  string // LOST, DAMAGED, …
	group string // items of one group can be told together
	prose string
	where string   // what a finding is about: "t-0 on broker 1"
	short string   // prose where the group's headline has said the rest; "" is prose
	body  []string // lines of proof
	stop  keep
	save  []string // what to save before anything is started
	next  string
	// mended: a loss of which a repair brings back all.
	mended bool
	sum    sum // of the grade that the class stands for
}

func (it *item) head() []string { return indented(fmt.Sprintf("%-6s", it.word)+" ", it.prose) }

const bodyIndent = 7

// Triage gathers the verdict over all partitions.
type Triage struct {
	Paths *Paths
	Scope *Scope
	// OneBroker: a single broker's disk was given, so that leaders elsewhere are
	// normal.
	OneBroker bool

	items      []item
	plan       planHint
	leaderless int // without a leader, and no candidate would lose anything
	elsewhere  int // partitions led by brokers that are not among the inputs
	removed    int // of topics that were deleted
	retried    int64
	notes      map[finding.Code]*noteCount
	noteOrder  []finding.Code
}

type noteCount struct {
	n         int
	summaries []string // that differ
}

// maxSummaries is how many different notes of one code are kept.
const maxSummaries = 3

// Notes takes in what is to be said of the inputs themselves.
func (t *Triage) Notes(notes []logdir.Note) {
	for _, n := range notes {
		t.items = append(t.items, item{class: classNote, word: "note", group: "input " + n.Kind.String(), prose: Escape(n.Text)})
	}
}

// Errors takes in what could not be read.
func (t *Triage) Errors(list []logdir.PathError) {
	for _, e := range list {
		t.items = append(t.items, item{class: classNotRead, word: "NOT READ", group: "not read", prose: Escape(e.Path) + ": " + Escape(e.Err.Error())})
	}
}

// Add takes in one partition. Nothing of it is kept but text.
func (t *Triage) Add(x *incident.Partition) {
	t.Errors(x.Errors)
	if x.Ruling.Removed {
		t.removed++
	}
	t.losses(x)
	t.differences(x)
	t.ruling(x)
	for i := range x.Findings {
		t.plan.add(&x.Findings[i])
		if f := &x.Findings[i]; !toldOtherwise(x, f) {
			t.finding(t.Paths.label(x), strings.TrimPrefix(f.Summary, x.Name+": "), f)
		}
	}
	t.retried += x.Retried
}

func (t *Triage) losses(x *incident.Partition) {
	n := 0
	for i := range x.Losses {
		if x.Losses[i].Counts() {
			n++
		}
	}
	if n == 0 {
		if prose := t.Paths.uncommitted(x); prose != "" {
			t.items = append(t.items, item{class: classNote, word: "note", group: "uncommitted", prose: prose})
		}
		return
	}
	it := item{class: classMaybeLost, group: "lost", next: t.Paths.next(x)}
	it.stop, it.save = t.Paths.advice(x)
	it.word, it.prose = t.Paths.lossHead(x)
	switch it.word {
	case "LOST":
		it.class = classLost
	case "DAMAGED":
		it.class, it.group = classLost, "mended"
	case "AT RISK":
		it.group = it.word
		if sumOf(x.Losses, commitment.Yes).losses > 0 {
			it.class = classLost
		}
	}
	it.mended = incident.Mended(x.Losses)
	it.sum = sumOf(x.Losses, commitment.Yes)
	if it.class == classMaybeLost {
		it.sum = sumOf(x.Losses, commitment.Unknown)
	}
	it.short = t.Paths.label(x) + ": " + it.sum.number("") + ", " + it.sum.where() + ", " + heldBy(x.Losses)
	it.sum.ranges = nil
	if n == 1 {
		for i := range x.Losses {
			if l := &x.Losses[i]; l.Counts() {
				it.body = t.Paths.brief(l, bodyIndent)
			}
		}
	} else {
		rows := table{header: shortHeader}
		for i := range x.Losses {
			if l := &x.Losses[i]; l.Counts() {
				rows.add(short(l)...)
			}
		}
		it.body = rows.lines(fmt.Sprintf("%*s", bodyIndent, ""))
	}
	it.body = append(it.body, labelled(bodyIndent, "leader", rulingProse(x))...)
	t.items = append(t.items, it)
}

// differences says how replicas differ where no loss has said so already.
func (t *Triage) differences(x *incident.Partition) {
	var body, short []string
	for i := range x.Divergences {
		if d := &x.Divergences[i]; Matters(d) && !explained(x, d) {
			if said := string(d.Kind) + " at " + offsets(d.From, d.To); len(short) < 3 && !slices.Contains(short, said) {
				short = append(short, said)
			} else if len(short) == 3 {
				short = append(short, "…")
			}
			body = append(body, labelled(bodyIndent, string(d.Kind), offsets(d.From, d.To)+": "+meaning(d))...)
		}
	}
	if len(body) == 0 {
		return
	}
	if slices.ContainsFunc(x.Candidates, loses) {
		return // ruling tells of it: what is lost matters more than where the copies differ
	}
	it := item{class: classDiffer, word: "DIFFER", group: "differ", prose: "the replicas of " + t.Paths.label(x) + " are not the same", body: body}
	it.short = t.Paths.label(x) + ": " + strings.Join(short, ", ")
	it.body = append(it.body, labelled(bodyIndent, "leader", rulingProse(x))...)
	it.next = t.Paths.Again("diff")
	t.items = append(t.items, it)
}

// explained reports whether a counted loss lies in the range of a divergence.
func explained(x *incident.Partition, d *incident.Divergence) bool {
	if d.Kind == diff.SameEpochConflict {
		return false
	}
	for i := range x.Losses {
		l := &x.Losses[i]
		if l.Counts() && l.From != nil && *l.From < d.To && (l.To == nil || d.From < *l.To) {
			return true
		}
	}
	return false
}

// ruling says that a partition has no leader, or that it cannot be told what
// became of it.
func (t *Triage) ruling(x *incident.Partition) {
	r := &x.Ruling
	switch {
	case !r.Judged && t.OneBroker && len(x.Errors) == 0:
		t.elsewhere++
	case !r.Judged:
		t.items = append(t.items, item{class: classCannotTell, word: "CANNOT TELL", group: "cannot tell", prose: "whether anything of " + t.Paths.label(x) + " is lost: " + Escape(r.Reason),
			short: t.Paths.label(x) + ": " + Escape(r.Reason)})
	case r.Leader == nil && len(x.Candidates) > 0:
		if !slices.ContainsFunc(x.Candidates, loses) {
			t.leaderless++
			return
		}
		it := item{class: classNoLeader, word: "NO LEADER", group: "no leader", next: t.Paths.Again("predict", "leader")}
		it.prose, it.body = t.Paths.candidates(x, bodyIndent)
		it.short = t.Paths.label(x) + ": nothing is lost if the right replica leads"
		if AllLose(x) {
			it.class, it.group = classLosesAnyway, "no leader, lost"
			it.short = t.Paths.label(x) + ": at best " + leastLoss(x)
		}
		t.items = append(t.items, it)
	}
}

// leastLoss is what is lost under the candidate that loses least: the fewest committed
// records, then the fewest of all.
func leastLoss(x *incident.Partition) string {
	best := slices.MinFunc(x.Candidates, func(a, b incident.Candidate) int {
		ay, by := sumOf(a.Losses, commitment.Yes), sumOf(b.Losses, commitment.Yes)
		au, bu := sumOf(a.Losses, counted...), sumOf(b.Losses, counted...)
		return cmp.Or(cmp.Compare(ay.records, by.records), cmp.Compare(au.records, bu.records))
	})
	return describe(best.Losses) + " (broker " + Escape(best.Leader.Name) + " leads)"
}

func every[T any](list []T, is func(T) bool) bool {
	return !slices.ContainsFunc(list, func(x T) bool { return !is(x) })
}

// AllLose reports whether nobody leads and records are lost whichever of the replicas among
// these inputs is elected.
func AllLose(x *incident.Partition) bool {
	return x.Ruling.Judged && x.Ruling.Leader == nil && len(x.Candidates) > 0 && every(x.Candidates, loses)
}

// EligibleElsewhere are the brokers that may be elected cleanly and of which no replica is
// among the inputs.
func EligibleElsewhere(x *incident.Partition) []int32 {
	var out []int32
	for _, id := range x.Ruling.Eligible {
		if !slices.ContainsFunc(x.Candidates, func(c incident.Candidate) bool { return c.Leader.Known && c.Leader.ID == id }) {
			out = append(out, id)
		}
	}
	return out
}

func loses(c incident.Candidate) bool {
	return slices.ContainsFunc(c.Losses, func(l incident.Loss) bool { return l.Counts() })
}

// candidates says what would be lost under each possible leader.
func (p *Paths) candidates(x *incident.Partition, indent int) (prose string, body []string) {
	if len(x.Ruling.Eligible) > 0 {
		prose = p.label(x) + " has no leader"
	} else {
		prose = "nobody can be said to lead " + p.label(x)
	}
	switch absent := EligibleElsewhere(x); {
	case every(x.Candidates, loses) && len(absent) > 0:
		prose += "; each replica among these inputs would lose records, and " + idList(absent) + ", which may lead, is not among them"
	case every(x.Candidates, loses):
		prose += "; whoever is elected, records are lost"
	default:
		prose += "; nothing is lost yet, and who is elected decides"
	}
	body = append(body, labelled(indent, "why", Escape(x.Ruling.Why))...)
	safe := []incident.BrokerRef{}
	eligible := 0
	for i := range x.Candidates {
		c := &x.Candidates[i]
		role := ""
		if len(x.Ruling.Eligible) > 0 {
			role = " (not eligible, an unclean election)"
			if c.Eligible {
				role = " (eligible)"
				eligible++
			}
		}
		s := sumOf(c.Losses, counted...)
		loss := "nothing is lost"
		if s.losses > 0 {
			loss = describe(c.Losses) + ": " + s.where()
		} else if c.Eligible || len(x.Ruling.Eligible) == 0 {
			safe = append(safe, c.Leader)
		}
		body = append(body, labelled(indent, "if "+Escape(c.Leader.Name)+" leads", loss+role)...)
	}
	switch {
	case len(x.Ruling.Eligible) == 0:
		body = append(body, labelled(indent, "decide", "name the leader with --leader "+Escape(x.Name)+"=ID, or add the newest cluster metadata")...)
	case eligible == 0:
		body = append(body, labelled(indent, "verdict", fmt.Sprintf("no eligible replica (%s) is among these inputs: add its disk", idList(x.Ruling.Eligible)))...)
	case len(safe) > 0:
		body = append(body, labelled(indent, "verdict", "nothing is lost if "+brokers(safe)+" leads; start it first, and elect no other")...)
	default:
		body = append(body, labelled(indent, "verdict", "every eligible replica would lose something; save all of these disks first")...)
	}
	return prose, body
}

func idList(ids []int32) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = fmt.Sprintf("broker %d", id)
	}
	return list(words)
}

// describe counts losses by grade: "100 committed records are lost".
func describe(losses []incident.Loss) string {
	yes, unknown := sumOf(losses, commitment.Yes), sumOf(losses, commitment.Unknown)
	switch {
	case yes.losses > 0 && unknown.losses > 0:
		return yes.number("committed ") + " and " + unknown.number("") + " that may have been committed are lost"
	case yes.losses > 0:
		return yes.number("committed ") + " lost"
	}
	return unknown.number("") + " lost that may have been committed"
}

// Findings takes in the findings that belong to no partition.
func (t *Triage) Findings(list []finding.Finding) {
	for i := range list {
		t.plan.add(&list[i])
		t.finding(Escape(list[i].At.Partition), list[i].Summary, &list[i])
	}
}

// toldOtherwise reports whether the ruling, a loss or a difference says the same
// as a finding.
func toldOtherwise(x *incident.Partition, f *finding.Finding) bool {
	switch f.Code {
	case "leader-not-among-inputs":
		return !x.Ruling.Judged
	case "replica-far-behind-own-hw", "recovery-point-beyond-end", "active-segment-removed", "epoch-starts-beyond-end", "torn-tail", "zero-tail":
		if f.At.From < 0 {
			return false // nothing is missing with it
		}
		for i := range x.Divergences {
			if d := &x.Divergences[i]; Matters(d) && (d.A.Broker.Name == f.At.Broker || d.B.Broker.Name == f.At.Broker) && d.To > f.At.From {
				return true
			}
		}
		for i := range x.Losses {
			if l := &x.Losses[i]; l.Counts() && (l.To == nil || *l.To > f.At.From) {
				return true
			}
		}
	}
	return false
}

// finding takes in one finding about what label names.
func (t *Triage) finding(label, summary string, f *finding.Finding) {
	if f.Severity == finding.Note {
		if c, _ := check.Lookup(f.Code); c.Normal {
			return
		}
		if f.Code == incident.HangingTransaction { // consumers stop there, if it is one
			t.items = append(t.items, item{class: classNote, word: "note", group: string(f.Code), prose: label + " on broker " + Escape(f.At.Broker) + ": " + Escape(summary), next: t.Paths.Again("txns")})
			return
		}
		if t.notes == nil {
			t.notes = map[finding.Code]*noteCount{}
		}
		if t.notes[f.Code] == nil {
			t.notes[f.Code] = &noteCount{}
			t.noteOrder = append(t.noteOrder, f.Code)
		}
		n := t.notes[f.Code]
		if n.n += f.Count; len(n.summaries) < maxSummaries && !slices.Contains(n.summaries, f.Summary) {
			n.summaries = append(n.summaries, f.Summary)
		}
		return
	}
	it := item{class: classWarning, word: "WARNING", group: string(f.Code), prose: label}
	if f.Severity >= finding.Damage {
		it.class, it.word = classDamaged, "DAMAGED"
	}
	switch {
	case f.At.Broker == "":
	case label == "":
		it.prose = "broker " + Escape(f.At.Broker)
	default:
		it.prose += " on broker " + Escape(f.At.Broker)
	}
	if it.where = it.prose; it.prose != "" {
		it.prose += ": "
	}
	it.prose += Escape(summary)
	for i, e := range f.Evidence {
		if i == 3 {
			it.body = append(it.body, fmt.Sprintf("%*s… and more: %s", bodyIndent, "", t.Paths.Again("check")))
			break
		}
		claim := Escape(e.Claim)
		if e.Want != "" {
			claim += ", expected " + Escape(e.Want)
		}
		if e.Got != "" {
			claim += ", found " + Escape(e.Got)
		}
		it.body = append(it.body, indented(fmt.Sprintf("%*s", bodyIndent, ""), claim)...)
	}
	if f.Next != "" {
		it.body = append(it.body, labelled(bodyIndent, "do", Escape(f.Next))...)
	}
	it.next = t.Paths.Again("check")
	t.items = append(t.items, it)
}
