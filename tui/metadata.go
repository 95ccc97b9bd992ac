package tui

import (
	"context"
	"fmt"
	"strings"
	"time"

	"kafsck/incident"
)

var metadataCommand = screenCommand{name: "metadata", help: "partitions as the cluster metadata know them: leaders, ISR, elections",
	open: func(ctl *control, _ string) (screen, error) {
		if ctl.world().src == nil {
			return nil, fmt.Errorf("the inputs are not open yet")
		}
		return newMetadata(ctl.world()), nil
	}}

// metadataScreen lists the partitions that the cluster metadata know, with how often who
// led: also those without a directory among the inputs, as where only a controller was
// copied.
type metadataScreen struct {
	*table
	w    *world
	all  *toldMetadata // nil until read
	none string        // why there is nothing
}

var metadataColumns = []column{
	{name: "partition", max: 60}, {name: "leader", right: true}, {name: "epoch", right: true}, {name: "ISR", max: 20}, {name: "unclean", right: true}, {name: "led by another", right: true},
	{name: "shrinks", right: true}, {name: "expands", right: true}, {name: "leaderless", right: true}, {name: "under min ISR", right: true}, {name: "topic id", max: 22},
}

// toldMetadata is delivered: the histories of all clusters, and their partitions in one
// list.
type toldMetadata struct {
	histories []*incident.History
	list      []toldPartition
}

type toldPartition struct {
	h *incident.History
	x *incident.PartitionHistory
}

func newMetadata(w *world) *metadataScreen {
	s := &metadataScreen{w: w, table: newTable(metadataColumns, metadataRows{})}
	s.fixed = 1
	return s
}

func (s *metadataScreen) crumb() string       { return "metadata" }
func (s *metadataScreen) bindings() []binding { return nil }
func (s *metadataScreen) command() string     { return s.w.command("history", "--limit", "0") }

func (s *metadataScreen) start() work {
	s.all, s.none = nil, ""
	inc := s.w.src.Incident
	return func(ctx context.Context) any {
		told := &toldMetadata{}
		for _, h := range inc.With(func(*incident.Options) {}).Histories(incident.HistoryOptions{}) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if h.Log == nil && len(h.Errors) == 0 {
				continue
			}
			told.histories = append(told.histories, h)
			for _, x := range h.Partitions {
				told.list = append(told.list, toldPartition{h, x})
			}
		}
		return told
	}
}

func (s *metadataScreen) deliver(v any, _ *control) work {
	if w, ok := s.deliverTable(v); ok {
		return w
	}
	told, ok := v.(*toldMetadata)
	if !ok {
		return nil
	}
	s.all = told
	if len(told.histories) == 0 {
		s.none = "No copy of the cluster metadata is among these inputs."
	}
	return s.setRows(metadataRows{told.list})
}

func (s *metadataScreen) handle(in intent, ctl *control) work {
	if in != open {
		w, _ := s.handleTable(in, ctl)
		return w
	}
	r := s.row()
	if r < 0 {
		return nil
	}
	t := s.all.list[r]
	// With its logs at hand the history also says what an unclean election threw away.
	for i := range s.w.refs {
		if ref := &s.w.refs[i]; ref.Name == t.x.Name && ref.TopicID == t.x.Topic.ID.String() && ref.Cluster == t.h.Cluster {
			ctl.push(newHistory(s.w, i))
			return nil
		}
	}
	ctl.push(newHistoryOf(s.w, t))
	return nil
}

func (s *metadataScreen) view(w, h int, st *styles) string {
	switch {
	case s.none != "":
		return strings.Join(wrap(s.none, w), "\n")
	case s.all == nil:
		return st.dim.Render("Reading the cluster metadata …")
	}
	l, text := s.verdict()
	var head []string
	for _, part := range wrapTo(escape(text), w, max(h/3, 1)) {
		head = append(head, st.level(l).Render(part))
	}
	for _, t := range s.all.histories {
		for _, e := range t.Errors {
			head = append(head, st.level(levelUnread).Render(cut("E not read: "+escape(e.Error()), w)))
		}
	}
	if len(head) >= h {
		return strings.Join(head[:h], "\n")
	}
	return strings.Join(head, "\n") + "\n" + s.viewTable(w, h-len(head), st)
}

// verdict counts what needs a look, and says how far the metadata reach.
func (s *metadataScreen) verdict() (level, string) {
	var unclean, others, leaderless int64
	for _, t := range s.all.list {
		for k := range t.x.Unclean {
			unclean++
			if !t.x.Unclean[k].SameLeader {
				others++
			}
		}
		if t.x.Last().Leader < 0 && t.x.Topic.RemovedAt < 0 {
			leaderless++
		}
	}
	l, text := levelOK, "No unclean election."
	if unclean > 0 {
		l, text = levelNote, countOf(unclean, "unclean election", "unclean elections")+"; each put back the broker that had led last."
	}
	if others > 0 {
		l, text = levelWarning, fmt.Sprintf("%s, %s of another broker than led last.", countOf(unclean, "unclean election", "unclean elections"), comma(others))
	}
	if leaderless > 0 {
		text += fmt.Sprintf(" At the end %s no leader.", countOf(leaderless, "partition has", "partitions have"))
	}
	for _, h := range s.all.histories {
		if h.Log == nil {
			continue
		}
		since := "since the cluster began"
		if !h.Reach.Whole() {
			since = "since " + clock(h.Reach.FromMs)
		}
		text += fmt.Sprintf(" Known %s until %s, metadata offsets %s.", since, clock(h.Reach.ToMs), span(h.Reach.From, h.Reach.To))
	}
	return l, text
}

// metadataRows are the partitions.
type metadataRows struct{ list []toldPartition }

func (r metadataRows) Len() int { return len(r.list) }

func (r metadataRows) Severity(row int) level {
	l := levelNone
	for k := range r.list[row].x.Unclean {
		if !r.list[row].x.Unclean[k].SameLeader {
			return levelWarning
		}
		l = levelNote
	}
	return l
}

func (r metadataRows) Cell(row, col int) string {
	x := r.list[row].x
	last, n := x.Last(), &x.Churn
	switch col {
	case 0:
		return x.Name
	case 1:
		switch {
		case x.Topic.RemovedAt >= 0:
			return "deleted"
		case last.Leader < 0:
			return "none"
		}
		return itoa(last.Leader)
	case 2:
		return itoa(last.LeaderEpoch)
	case 3:
		return idsText(last.ISR)
	case 8:
		return someTime(n.LeaderlessMs)
	case 9:
		if n.UnderMinISRMs == nil {
			return "?"
		}
		return someTime(*n.UnderMinISRMs)
	case 10:
		return x.Topic.ID.String()
	}
	if v := r.Value(row, col).(int64); v > 0 {
		return comma(v)
	}
	return ""
}

// someTime is a duration in milliseconds, "" for none.
func someTime(ms int64) string {
	if ms <= 0 {
		return ""
	}
	return humanDuration(time.Duration(ms) * time.Millisecond)
}

func (r metadataRows) Value(row, col int) any {
	x := r.list[row].x
	switch col {
	case 1:
		return int64(x.Last().Leader)
	case 2:
		return int64(x.Last().LeaderEpoch)
	case 3:
		return int64(len(x.Last().ISR))
	case 4:
		return int64(x.Churn.Unclean)
	case 5:
		return int64(x.Churn.LeaderChanges)
	case 6:
		return int64(x.Churn.Shrinks)
	case 7:
		return int64(x.Churn.Expands)
	case 8:
		return x.Churn.LeaderlessMs
	case 9:
		if x.Churn.UnderMinISRMs == nil {
			return nil
		}
		return *x.Churn.UnderMinISRMs
	}
	return r.Cell(row, col)
}

// JSON is the row as an object.
func (r metadataRows) JSON(row int) any {
	x := r.list[row].x
	last := x.Last()
	return map[string]any{"partition": x.Name, "topicId": x.Topic.ID.String(), "leader": last.Leader, "leaderEpoch": last.LeaderEpoch, "isr": last.ISR, "elr": last.ELR, "deleted": x.Topic.RemovedAt >= 0,
		"unclean": x.Churn.Unclean, "leaderChanges": x.Churn.LeaderChanges, "shrinks": x.Churn.Shrinks, "expands": x.Churn.Expands, "leaderlessMs": x.Churn.LeaderlessMs, "underMinIsrMs": x.Churn.UnderMinISRMs}
}
