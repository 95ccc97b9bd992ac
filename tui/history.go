package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"kafsck/incident"
	"kafsck/kraft"
	"kafsck/logdir"
	"kafsck/replica"
)

var historyCommand = partitionCommand("history", "who led a partition when, with which ISR", func(w *world, i int) screen { return newHistory(w, i) })

// historyScreen lists what the cluster metadata record of a partition, newest below.
type historyScreen struct {
	about
	split
	found *foundHistory
	none  string // why there is no history
	// alone is a partition that the metadata know and that has no directory among the
	// inputs; about.index is -1 then.
	alone *toldPartition
}

var historyColumns = []column{
	{name: "metadata", right: true}, {name: "time", max: 24}, {name: "epoch", right: true}, {name: "leader", right: true}, {name: "ISR", max: 20},
	{name: "what happened", grow: true, max: 120}, {name: "ELR", max: 16}, {name: "replicas", max: 20}, {name: "partition epoch", right: true},
}

// foundHistory is delivered: the history of one partition.
type foundHistory struct {
	h      *incident.History
	x      *incident.PartitionHistory
	words  []string // of each change
	opened map[int]int
	// parted are, by index of the change, the unclean elections (indexes of Unclean) that
	// the change made possible: the broker elected later left the ISR with it.
	parted map[int][]int
}

func newHistory(w *world, index int) *historyScreen {
	s := &historyScreen{about: about{w: w, index: index}, split: split{table: newTable(historyColumns, historyRows{})}}
	s.fixed = 1
	return s
}

// newHistoryOf is the history of a partition that the metadata alone know.
func newHistoryOf(w *world, t toldPartition) *historyScreen {
	s := newHistory(w, -1)
	s.alone = &t
	return s
}

func (s *historyScreen) crumb() string {
	if s.alone != nil {
		return "history of " + s.alone.x.Name
	}
	return "history"
}

func (s *historyScreen) command() string {
	if s.alone != nil {
		return s.w.command("history", "--limit", "0", "--partition", s.alone.x.Name)
	}
	return s.twin("history", "--limit", "0")
}

func (s *historyScreen) bindings() []binding {
	if s.alone != nil {
		return nil
	}
	return []binding{
		{keys: []string{"L"}, in: "loss", help: "loss and its evidence", hint: "loss"},
		{keys: []string{"C"}, in: "leaders", help: "candidate leaders", hint: "leaders"},
	}
}

func (s *historyScreen) start() work {
	s.found, s.none = nil, ""
	if t := s.alone; t != nil {
		return func(context.Context) any { return findHistory(t.h, t.x) }
	}
	w := s.begin()
	if s.p != nil {
		return s.tell()
	}
	return w
}

// tell reads the history of the judged partition.
func (s *historyScreen) tell() work {
	s.err = nil
	p, inc := s.p, s.w.src.Incident
	return func(ctx context.Context) any {
		one := inc.With(func(o *incident.Options) {
			o.Match = func(topic string, number int32) bool { return topic == p.Topic && number == p.Number }
		})
		none := "No copy of the cluster metadata is among these inputs."
		for _, h := range one.Histories(incident.HistoryOptions{}) {
			if h.Cluster != p.Cluster || h.Log == nil {
				continue
			}
			none = "The cluster metadata among these inputs do not know this partition."
			for _, x := range h.Partitions {
				if x.Name != p.Name || p.TopicID != "" && x.Topic.ID.String() != p.TopicID || p.TopicID == "" && x.Topic.RemovedAt >= 0 {
					continue
				}
				x.Join(p)
				return findHistory(h, x)
			}
			for _, e := range h.Errors {
				none += " Not read: " + e.Error()
			}
		}
		return noHistory(none)
	}
}

// noHistory says why there is none.
type noHistory string

func findHistory(h *incident.History, x *incident.PartitionHistory) *foundHistory {
	f := &foundHistory{h: h, x: x, opened: map[int]int{}, parted: map[int][]int{}}
	for i := range x.Changes {
		f.words = append(f.words, h.Happened(x, i))
	}
	for k := range x.Unclean {
		u := &x.Unclean[k]
		f.opened[u.Index] = k
		if u.SameLeader {
			continue
		}
		// Back to where the elected broker was in the ISR last: with the change behind
		// that it began to miss what was written.
		elected := x.Changes[u.Index].Leader
		for i := u.Index - 1; i > 0; i-- {
			if !slices.Contains(x.Changes[i].ISR, elected) && slices.Contains(x.Changes[i-1].ISR, elected) {
				f.parted[i] = append(f.parted[i], k)
				break
			}
		}
	}
	return f
}

func (s *historyScreen) deliver(v any, ctl *control) work {
	if w, ok := s.deliverTable(v); ok {
		return w
	}
	switch v := v.(type) {
	case *incident.Partition:
		s.take(v)
		return s.tell()
	case *foundHistory:
		s.found = v
		w := s.setRows(historyRows{v})
		s.to(s.len() - 1)
		return w
	case noHistory:
		s.none = string(v)
	case error:
		if s.found == nil {
			s.err = v
		}
	case *metadataCopy:
		ctl.push(newRecords(s.w, logOf(v.p, v.c), target{atOffset, v.at}))
	}
	return nil
}

func (s *historyScreen) handle(in intent, ctl *control) work {
	switch in {
	case "loss":
		ctl.push(newLoss(s.w, s.index))
		return nil
	case "leaders":
		ctl.push(newLeaders(s.w, s.index))
		return nil
	case open:
		if r := s.row(); r >= 0 {
			return s.openRecord(&s.found.x.Changes[r], ctl)
		}
		return nil
	}
	w, _ := s.handleSplit(in, ctl)
	return w
}

// metadataCopy is a copy of the metadata log that holds a record.
type metadataCopy struct {
	p  *incident.Partition
	c  *incident.Copy
	at int64
}

// openRecord shows the metadata record of a change, in the newest copy that has it.
func (s *historyScreen) openRecord(c *kraft.Change, ctl *control) work {
	if c.FromSnapshot {
		ctl.say("this state comes from a snapshot (%s): the record itself is gone", s.found.h.Log.SnapshotName)
		return nil
	}
	var dirs []*logdir.Partition
	var brokers []incident.BrokerRef
	for _, m := range s.found.h.Copies {
		for _, b := range s.found.h.Cluster.Brokers {
			for _, d := range b.Dirs {
				if d.Metadata != nil && d.Metadata.Dir == m.Dir {
					dirs, brokers = append(dirs, d.Metadata), append(brokers, m.Broker)
				}
			}
		}
	}
	at, cluster := c.Offset, s.found.h.Cluster
	return func(ctx context.Context) any {
		var failed error
		for i, dir := range dirs {
			add := progress(ctx, "reading "+dir.Dir, logBytes(dir), true)
			views, err := replica.View(dir)
			if err != nil {
				failed = err
				continue
			}
			log, err := replica.Read(ctx, views[0], replica.Options{Progress: add, NoReadAhead: !incident.CoresToSpare()})
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				failed = err
				continue
			}
			if at < log.LogStartOffset || at >= log.LogEndOffset {
				continue
			}
			p := &incident.Partition{Name: dir.Name(), Topic: dir.Topic, Number: dir.Partition, Cluster: cluster}
			p.Ruling.Policy = "delete"
			copy := &incident.Copy{Broker: brokers[i], State: replica.Live, Dir: dir.Dir, Log: log}
			p.Copies = []*incident.Copy{copy}
			return &metadataCopy{p, copy, at}
		}
		if failed != nil {
			return failed
		}
		return fmt.Errorf("no segment of the metadata log among these inputs holds offset %d", at)
	}
}

func logBytes(p *logdir.Partition) int64 {
	var n int64
	for _, s := range p.Segments {
		if s.Log != nil {
			n += max(s.Log.Size, 0)
		}
	}
	return n
}

func (s *historyScreen) view(w, h int, st *styles) string {
	switch {
	case s.none != "":
		return strings.Join(wrap(escape(s.none), w), "\n")
	case s.p == nil && s.alone == nil:
		return s.waiting(st)
	case s.found == nil && s.err != nil:
		return s.waiting(st)
	case s.found == nil:
		return st.dim.Render("Reading the cluster metadata …")
	}
	l, text := s.verdict()
	var head []string
	for _, part := range wrapTo(escape(text), w, max(h/3, 1)) {
		head = append(head, st.level(l).Render(part))
	}
	for _, e := range s.found.h.Errors {
		head = append(head, st.level(levelUnread).Render(cut("E not read: "+escape(e.Error()), w)))
	}
	var d prose
	if r := s.row(); r >= 0 {
		d = s.details(r)
	}
	return s.viewSplit(head, d, w, h, st)
}

// verdict says how it came to what is now.
func (s *historyScreen) verdict() (level, string) {
	x, h := s.found.x, s.found.h
	last := x.Last()
	now := "nobody leads"
	if last.Leader >= 0 {
		now = fmt.Sprintf("broker %d leads", last.Leader)
	}
	now = fmt.Sprintf("At the end %s, epoch %d, ISR %s.", now, last.LeaderEpoch, idsText(last.ISR))
	reach := ""
	if !h.Reach.Whole() {
		reach = fmt.Sprintf(" The metadata reach back to %s only.", clock(h.Reach.FromMs))
	}
	if x.Ahead >= 0 {
		reach += fmt.Sprintf(" A log here knows epoch %d: the metadata end before it.", x.Ahead)
	}
	worst, l := "", levelOK
	if last.Leader < 0 || len(x.Unclean) > 0 {
		l = levelNote
	}
	for i := range x.Unclean {
		u := &x.Unclean[i]
		c := &x.Changes[u.Index]
		switch {
		case u.Lost == incident.LostYes:
			l, worst = levelLoss, fmt.Sprintf("Unclean election of broker %d for epoch %d lost committed records. ", c.Leader, c.LeaderEpoch)
		case u.Lost == incident.LostMaybe && l < levelLoss:
			l, worst = levelLoss, fmt.Sprintf("Unclean election of broker %d for epoch %d lost records. ", c.Leader, c.LeaderEpoch)
		case u.Lost == incident.LostUnknown && l < levelWarning:
			l, worst = levelWarning, fmt.Sprintf("Unclean election of broker %d for epoch %d; what it lost is not known. ", c.Leader, c.LeaderEpoch)
		}
	}
	if worst == "" {
		worst = fmt.Sprintf("%s, %s unclean. ", countOf(int64(x.Churn.Elections), "election", "elections"), noneOr(x.Churn.Unclean))
	}
	return l, worst + now + reach
}

func (s *historyScreen) details(i int) (d prose) {
	f := s.found
	c := &f.x.Changes[i]
	l := historyRows{f}.Severity(i)
	d.at(l, "change", "%s", f.words[i])
	for _, k := range f.parted[i] {
		u := &f.x.Unclean[k]
		e := &f.x.Changes[u.Index]
		d.at(levelWarning, "led to loss", "from here on broker %d was not in the ISR: the unclean election for epoch %d (metadata offset %d) took it all the same, without what was written since", e.Leader, e.LeaderEpoch, e.Offset)
	}
	if k, ok := f.opened[i]; ok {
		u := &f.x.Unclean[k]
		d.at(l, "unclean", "lost: %s: %s", u.Lost, u.Why)
		enabled := fmt.Sprintf("%s (%s)", u.Enabled, u.EnabledSource)
		if u.Enabled == "" {
			enabled = "not set in the metadata"
		}
		d.add("", "unclean.leader.election.enable: %s", enabled)
		for k := range u.Losses {
			if k == 4 {
				d.add("", "%d more ranges", len(u.Losses)-k)
				break
			}
			d.at(levelLoss, first(k == 0, "threw away"), "offsets %s, committed: %s", lossRange(&u.Losses[k]), u.Losses[k].Committed)
		}
		if len(u.AskFor) > 0 {
			d.at(levelWarning, "", "broker %s, not among the inputs, may hold what was thrown away", idsText(u.AskFor))
		}
	}
	when := clock(c.TimeMs) + " by the controller's clock"
	if c.FromSnapshot {
		when = "not after " + when + " (from a snapshot)"
	}
	d.add("when", "%s; metadata offset %d, raft epoch %d", when, c.Offset, c.RaftEpoch)
	leader := "nobody"
	if c.Leader >= 0 {
		leader = "broker " + itoa(c.Leader)
	}
	d.add("state", "leader %s, epoch %d, partition epoch %d; ISR %s, ELR %s, last known ELR %s, replicas %s", leader, c.LeaderEpoch, c.PartitionEpoch, idsText(c.ISR), idsText(c.ELR), idsText(c.LastKnownELR), idsText(c.Replicas))
	if n, source, ok := f.h.Log.MinISR(c.Offset, f.x.Topic.Name, c.Leader); ok {
		d.add("", "min.insync.replicas %d (%s)", n, source)
	}
	if c.Recovering {
		d.add("", "leader recovery state: RECOVERING, since an unclean election")
	}
	if c.Uncertain {
		d.at(levelWarning, "", "part of the metadata log before this is missing or damaged: the fields may be wrong")
	}
	d.add("", "enter: the record itself, in the metadata log")
	return d
}
