package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"kafsck/broker"
	"kafsck/commitment"
	"kafsck/epoch"
	"kafsck/incident"
	"kafsck/repair"
)

var leaderCommand = partitionCommand("leader", "each replica as leader: what is lost, what followers truncate", func(w *world, i int) screen { return newLeaders(w, i) })

// leadersScreen lists each live replica as leader, best first; below what every follower
// does then, and what is lost. It only predicts.
type leadersScreen struct {
	about
	split
}

var leaderColumns = []column{
	{name: "broker"}, {name: "now"}, {name: "log end", right: true}, {name: "lost", right: true}, {name: "maybe lost", right: true}, {name: "uncommitted", right: true},
	{name: "followers truncate", max: 40}, {name: "to fetch", right: true}, {name: "forks", right: true}, {name: "broken txns", right: true}, {name: "epoch", right: true},
}

func newLeaders(w *world, index int) *leadersScreen {
	s := &leadersScreen{about: about{w: w, index: index, change: askLeaders}, split: split{table: newTable(leaderColumns, leaderRows{})}}
	s.fixed = 1
	return s
}

// askLeaders asks for a prediction of each replica as leader, as "predict leader" does.
func askLeaders(o *incident.Options) {
	o.Leadership = &incident.LeaderOptions{
		Version: broker.Latest,
		Regenerate: func(ctx context.Context, p *incident.Partition, c *incident.Copy) (epoch.Cache, error) {
			plan, err := repair.PlanEpochs(ctx, p, c, repair.EpochOptions{})
			if err != nil {
				return nil, err
			}
			return plan.Cache(), nil
		},
	}
}

func (s *leadersScreen) crumb() string   { return "candidate leaders" }
func (s *leadersScreen) command() string { return s.twin("predict", "leader") }
func (s *leadersScreen) start() work     { return s.begin() }

func (s *leadersScreen) bindings() []binding {
	return []binding{
		{keys: []string{"H"}, in: "history", help: "history: leaders and ISR"},
		{keys: []string{"S"}, in: "starts", help: "next start of its brokers"},
	}
}

func (s *leadersScreen) deliver(v any, ctl *control) work {
	if w, ok := s.deliverTable(v); ok {
		return w
	}
	if s.take(v) {
		return s.setRows(leaderRows{s.p, s.p.Leadership})
	}
	return nil
}

func (s *leadersScreen) handle(in intent, ctl *control) work {
	switch in {
	case "history":
		ctl.push(newHistory(s.w, s.index))
		return nil
	case "starts":
		ctl.push(newStarts(s.w, s.name()))
		return nil
	case open:
		if r := s.row(); r >= 0 {
			c := &s.p.Leadership.Candidates[r]
			if len(c.Losses) == 0 {
				ctl.say("broker %s as leader loses nothing that any copy here holds", escape(c.Copy.Broker.Name))
			} else {
				ctl.push(newLossOf(s.w, s.index, s.p, c))
			}
		}
		return nil
	}
	w, _ := s.handleSplit(in, ctl)
	return w
}

func (s *leadersScreen) view(w, h int, st *styles) string {
	if s.p == nil {
		return s.waiting(st)
	}
	l, text := leaderVerdict(s.p)
	var head []string
	for _, part := range wrapTo(escape(text), w, max(h/3, 1)) {
		head = append(head, st.level(l).Render(part))
	}
	head = append(head, s.unread(w, st)...)
	if s.rows.Len() == 0 {
		return strings.Join(head, "\n")
	}
	var d prose
	if r := s.row(); r >= 0 {
		d = candidateDetails(s.p, &s.p.Leadership.Candidates[r])
	}
	return s.viewSplit(head, d, w, h, st)
}

// leaderVerdict says who should lead, in a sentence or two.
func leaderVerdict(p *incident.Partition) (level, string) {
	l := p.Leadership
	if l == nil {
		if p.Ruling.Removed {
			return levelNote, "The topic was deleted: nobody will lead it."
		}
		return levelUnread, "NOT KNOWN: a copy could not be read, so nothing is predicted."
	}
	best := l.Recommended()
	tail := fmt.Sprintf(" Predicted for Kafka %s, each replica as it stands after its start.", l.Version)
	for i := range l.Absent {
		if a := &l.Absent[i]; a.Better() {
			tail = fmt.Sprintf(" Broker %d, not among the inputs, may hold records that no copy here has.", a.Broker) + tail
			break
		}
	}
	if len(l.Absent) > 0 {
		var ids []int32
		for i := range l.Absent {
			ids = append(ids, l.Absent[i].Broker)
		}
		tail += fmt.Sprintf(" What brokers %s hold is not known: no live replica of theirs is here.", idsText(ids))
	}
	switch {
	case best == nil:
		return levelDamage, "NO LEADER: no replica among these inputs starts." + tail
	case !best.Harmless():
		how := "it loses the fewest committed records, " + comma(best.Lost[commitment.Yes])
		if best.Lost[commitment.Yes] == 0 {
			how = fmt.Sprintf("%s are lost that may have been committed", countOf(best.Lost[commitment.Unknown], "record", "records"))
			if best.Lost[commitment.Unknown] == 0 {
				how = "it breaks the least"
			}
		}
		return levelLoss, fmt.Sprintf("NO SAFE LEADER: least loss under broker %s: %s%s.%s", best.Copy.Broker.Name, how, electionText(l), tail)
	case l.Open():
		return levelWarning, fmt.Sprintf("NOT KNOWN whether broker %s is the best leader.%s", best.Copy.Broker.Name, tail)
	case best.RepairFirst:
		return levelWarning, fmt.Sprintf("REPAIR FIRST: broker %s loses nothing, but does not start with its leader-epoch-checkpoint.%s", best.Copy.Broker.Name, tail)
	case l.Best > 1 && l.Best == len(l.Candidates):
		return levelOK, "OK: any of these may lead; none loses what any copy here holds and was committed, or may have been." + tail
	}
	return levelOK, fmt.Sprintf("OK: broker %s loses nothing that any copy here holds and that was committed, or may have been%s.%s", best.Copy.Broker.Name, electionText(l), tail)
}

// electionText says how the recommended one becomes leader.
func electionText(l *incident.Leadership) string {
	switch l.Election() {
	case incident.NoElection:
		return "; it leads now"
	case incident.Automatic:
		return "; it is elected by itself once it is up"
	case incident.Preferred:
		return "; another leads now, and it is in the ISR"
	case incident.Unclean:
		if !l.Known {
			return "; whether it may be elected cleanly is not known without metadata"
		}
		return "; it is in neither ISR nor ELR, so that its election is an unclean one"
	}
	return ""
}

// leaderRows are the candidates.
type leaderRows struct {
	p *incident.Partition
	l *incident.Leadership
}

func (r leaderRows) Len() int {
	if r.l == nil {
		return 0
	}
	return len(r.l.Candidates)
}

func (r leaderRows) Severity(row int) level {
	c := &r.l.Candidates[row]
	switch {
	case !c.CanLead():
		return levelDamage
	case c.Lost[commitment.Yes] > 0 || len(c.CutShort) > 0:
		return levelLoss
	case !c.Harmless() || c.Forks() > 0 || c.RepairFirst:
		return levelWarning
	}
	return levelOK
}

func (r leaderRows) Path(row int) string { return r.l.Candidates[row].Copy.Dir }

func (r leaderRows) Cell(row, col int) string {
	c := &r.l.Candidates[row]
	if !c.CanLead() && col > 1 {
		return first(col == 6, "does not start")
	}
	switch col {
	case 0:
		return c.Copy.Broker.Name
	case 1:
		var words []string
		if row < r.l.Best {
			words = append(words, first(r.l.Best == 1, "best")+first(r.l.Best > 1, "equal best"))
		}
		if c.Leads {
			words = append(words, "leads")
		} else if c.Eligible {
			words = append(words, "eligible")
		}
		if c.RepairFirst {
			words = append(words, "repair first")
		}
		return strings.Join(words, ", ")
	case 2:
		return itoa(c.State.LogEnd)
	case 3:
		return comma(c.Lost[commitment.Yes])
	case 4:
		return comma(c.Lost[commitment.Unknown])
	case 5:
		return comma(c.Lost[commitment.No])
	case 6:
		var words []string
		for i := range c.Followers {
			words = append(words, c.Followers[i].Copy.Broker.Name+": "+fateWord(&c.Followers[i]))
		}
		return strings.Join(words, "; ")
	case 7:
		return humanBytes(c.FetchBytes())
	case 8:
		return comma(int64(c.Forks()))
	case 9:
		return comma(int64(c.BrokenCount))
	}
	return itoa(c.Epoch)
}

func (r leaderRows) Value(row, col int) any {
	c := &r.l.Candidates[row]
	switch col {
	case 0:
		if c.Copy.Broker.Known {
			return int64(c.Copy.Broker.ID)
		}
	case 2:
		return c.State.LogEnd
	case 3:
		return c.Lost[commitment.Yes]
	case 4:
		return c.Lost[commitment.Unknown]
	case 5:
		return c.Lost[commitment.No]
	case 7:
		return c.FetchBytes()
	case 8:
		return int64(c.Forks())
	case 9:
		return int64(c.BrokenCount)
	case 10:
		return int64(c.Epoch)
	}
	return r.Cell(row, col)
}

// JSON is the row as the predicted-leader line of --json.
func (r leaderRows) JSON(row int) any {
	c := &r.l.Candidates[row]
	followers := []any{}
	for i := range c.Followers {
		f := &c.Followers[i]
		followers = append(followers, map[string]any{"broker": brokerJSON(f.Copy.Broker), "truncateTo": f.To, "belowHighWatermark": f.BelowHighWatermark, "rebuild": f.Rebuild, "stuck": f.Stuck, "fetchBytes": f.FetchBytes})
	}
	return map[string]any{"type": "predicted-leader", "partition": r.p.Name, "leader": brokerJSON(c.Copy.Broker), "logEndOffset": c.State.LogEnd,
		"lost": c.LostAll(), "lostCommitted": c.Lost[commitment.Yes], "followers": followers}
}

// fateWord is a follower's fate in a word or two.
func fateWord(f *incident.FollowerFate) string {
	switch {
	case f.Offline != "":
		return "does not start"
	case f.Stuck:
		return "stuck"
	case f.Rebuild:
		return "everything"
	case f.To < f.State.LogEnd:
		return "to " + itoa(f.To)
	}
	return "nothing"
}

// candidateDetails tells what happens if c leads.
func candidateDetails(p *incident.Partition, c *incident.Candidacy) (d prose) {
	if c.CannotLead != "" {
		d.at(levelDamage, "cannot lead", "%s; the log directory goes offline", c.CannotLead)
		if !c.RepairFirst {
			return d
		}
		d.add("", "All that follows is said of it with a regenerated leader-epoch-checkpoint (kafsck repair epochs).")
	}
	if s := c.CutByStart; s.From < s.To {
		d.at(levelWarning, "its start", "cuts offsets %s off its own log", span(s.From, s.To))
	}
	for _, g := range []commitment.Grade{commitment.Yes, commitment.Unknown, commitment.No} {
		list := slices.DeleteFunc(slices.Clone(c.Losses), func(l incident.Loss) bool { return l.Committed != g })
		if len(list) == 0 {
			continue
		}
		var words []string
		for i := range list {
			if i == 4 {
				words = append(words, fmt.Sprintf("%d more ranges", len(list)-i))
				break
			}
			held := "held by nobody here"
			if len(list[i].HeldBy) > 0 {
				held = "held by broker " + brokerNames(list[i].HeldBy)
			}
			words = append(words, lossRange(&list[i])+" ("+held+")")
		}
		label, l, noun := "lost", levelLoss, "committed records"
		switch g {
		case commitment.Unknown:
			label, l, noun = "maybe lost", levelWarning, "records that nothing proves committed"
		case commitment.No:
			label, l, noun = "dropped", levelNone, "records that were never committed; acks=1 producers may have been told ok"
		}
		d.at(l, label, "%s %s: offsets %s", comma(c.Lost[g]), noun, strings.Join(words, ", "))
	}
	if len(c.Losses) == 0 && len(c.CutShort) == 0 {
		d.at(levelOK, "lost", "nothing that any copy here holds")
	}
	for _, x := range c.CutShort {
		d.at(levelLoss, "cut short", "broker %s's log ends at %d, below its high watermark %d: offsets %s were committed there, and this leader does not have them", x.Broker.Name, x.LogEnd, x.HighWatermark, span(x.LogEnd, x.HighWatermark))
	}
	if c.CopiedLater > 0 {
		d.add("copy times", "its disk was copied before others: %s above its end may have reached it since", countOf(c.CopiedLater, "offset", "offsets"))
	}
	for i := range c.Followers {
		f := &c.Followers[i]
		l := levelNone
		if f.BelowHighWatermark || f.Stuck || len(f.Kept) > 0 || f.Offline != "" {
			l = levelWarning
		}
		d.at(l, "broker "+f.Copy.Broker.Name, "%s", fateText(f))
		if o := f.Otherwise; o != nil {
			d.at(levelWarning, "", "with regenerated epoch files (kafsck repair epochs): %s", alternativeText(f, o))
		}
	}
	if c.BrokenCount > 0 {
		b := &c.Broken[0]
		d.at(levelWarning, "transactions", "%s open in its log although another copy has the end: read_committed consumers stop at offset %d (producer id %d, marker on broker %s)", countOf(int64(c.BrokenCount), "stays", "stay"), b.First, b.ProducerID, b.HeldBy.Name)
	}
	for i := range c.Groups {
		if i == 5 {
			d.add("", "%d more groups", len(c.Groups)-i)
			break
		}
		g := &c.Groups[i]
		what := "has read records that this leader does not have"
		if g.Beyond {
			what = "stands above its log end"
		}
		d.add(first(i == 0, "groups"), "%s at offset %d %s", g.Group, g.Position, what)
	}
	return d
}

// fateText is a follower's fate in a sentence.
func fateText(f *incident.FollowerFate) string {
	if f.Offline != "" {
		return "does not start: " + f.Offline
	}
	var s string
	switch {
	case f.Stuck:
		return fmt.Sprintf("is stuck: offset %d is not in the leader's log, and it asks again for ever (OFFSET_OUT_OF_RANGE)", f.To)
	case f.Rebuild:
		s = fmt.Sprintf("throws its whole log away (it ends at %d) and starts anew at %d", f.State.LogEnd, f.To)
	case f.To < f.State.LogEnd:
		s = fmt.Sprintf("truncates from %d to %d", f.State.LogEnd, f.To)
		if f.BelowHighWatermark {
			s += fmt.Sprintf(", below its high watermark %d", f.State.HighWatermark)
		}
	default:
		s = "truncates nothing"
	}
	if f.ThrownAway > 0 {
		s += fmt.Sprintf(": %s (%s) thrown away", countOf(f.ThrownAway, "record", "records"), countOf(f.ThrownAwayBytes, "byte", "bytes"))
		if f.Again > 0 {
			s += fmt.Sprintf(", of which %s come again", comma(f.Again))
		}
	}
	for i, k := range f.Kept {
		if i == 3 {
			s += fmt.Sprintf(", and %d more ranges", len(f.Kept)-i)
			break
		}
		s += fmt.Sprintf("; it keeps other records at offsets %s (%s), and nothing ever corrects that", span(k.From, k.To), k.Kind)
	}
	if f.FetchBytes == 0 {
		return s + "; has nothing to fetch"
	}
	return s + "; fetches " + countOf(f.FetchBytes, "byte", "bytes")
}

func alternativeText(f *incident.FollowerFate, o *incident.Alternative) string {
	other := *f
	other.Truncation, other.Kept, other.Offline, other.ThrownAway = o.Truncation, o.Kept, o.Offline, 0
	text := fateText(&other)
	if i := strings.Index(text, "; fetches"); i >= 0 {
		text = text[:i]
	}
	return strings.TrimSuffix(text, "; has nothing to fetch")
}
