package tui

import (
	"context"
	"fmt"
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
	release broker.Version // that it was predicted for, as world.kafka
}

var leaderColumns = []column{
	{name: "broker"}, {name: "now"}, {name: "log end", right: true}, {name: "lost", right: true}, {name: "maybe lost", right: true}, {name: "uncommitted", right: true},
	{name: "followers truncate", max: 40}, {name: "to fetch", right: true}, {name: "forks", right: true}, {name: "broken txns", right: true}, {name: "epoch", right: true},
}

func newLeaders(w *world, index int) *leadersScreen {
	s := &leadersScreen{about: about{w: w, index: index, change: askLeaders(w)}, split: split{table: newTable(leaderColumns, leaderRows{})}}
	s.fixed = 1
	return s
}

// askLeaders asks for a prediction of each replica as leader, as "predict leader" does.
func askLeaders(w *world) func(*incident.Options) {
	release, given := w.release()
	return func(o *incident.Options) {
		o.Leadership = &incident.LeaderOptions{
			Version:      release,
			VersionGiven: given,
			Regenerate: func(ctx context.Context, p *incident.Partition, c *incident.Copy) (epoch.Cache, error) {
				plan, err := repair.PlanEpochs(ctx, p, c, repair.EpochOptions{})
				if err != nil {
					return nil, err
				}
				return plan.Cache(), nil
			},
		}
	}
}

func (s *leadersScreen) crumb() string   { return "candidate leaders" + s.w.releaseCrumb() }
func (s *leadersScreen) command() string { return s.twin("predict", s.w.releaseFlag("leader")...) }

func (s *leadersScreen) start() work {
	s.release, s.change = s.w.kafka, askLeaders(s.w)
	return s.begin()
}

// refresh predicts again for another release.
func (s *leadersScreen) refresh(ctl *control) work {
	if s.release == s.w.kafka {
		return nil
	}
	ctl.restart()
	return s.start()
}

func (s *leadersScreen) bindings() []binding {
	return []binding{
		{keys: []string{"H"}, in: "history", help: "history: leaders and ISR"},
		{keys: []string{"S"}, in: "starts", help: "next start of its brokers", hint: "next start"},
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
	level, text := bestLeader(p)
	if n := len(p.Errors); n > 0 && p.Leadership != nil {
		left := countOf(int64(n), "path", "paths") + " could not be read, and what is there may say otherwise."
		if rest, ok := strings.CutPrefix(text, "OK: "); ok {
			return levelUnread, "NOT KNOWN: " + left + " By what was read, " + rest
		}
		text += " NOT READ: " + left
	}
	return level, text
}

func bestLeader(p *incident.Partition) (level, string) {
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
