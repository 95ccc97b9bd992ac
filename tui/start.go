package tui

import (
	"context"
	"fmt"
	"strings"
	"time"

	"kafsck/broker"
	"kafsck/incident"
)

var startCommand = screenCommand{name: "start", args: "[PARTITION]", help: "what each broker does to its files at its next start",
	complete: func(w *world, arg string) []string { return w.partitionNames(arg) },
	open: func(ctl *control, arg string) (screen, error) {
		if ctl.world().src == nil {
			return nil, fmt.Errorf("the inputs are not open yet")
		}
		if arg != "" && ctl.world().indexOf(arg) < 0 {
			return nil, fmt.Errorf("there is no partition %s", arg)
		}
		return newStarts(ctl.world(), arg), nil
	}}

// startScreen lists what the next start of every broker does: a row for the broker, then
// one for each partition directory; below the actions on the selected one. Nothing is
// performed.
type startScreen struct {
	*split
	w      *world
	only   string // partition, "" all
	starts *incident.Starts
	// judged are the partitions that were judged with the starts, by name and topic id:
	// they know what is lost by them.
	judged  map[string]*incident.Partition
	asked   string // being judged
	err     error
	release broker.Version // that it was predicted for, as world.kafka
}

var startColumns = []column{
	{name: "broker"}, {name: "partition", max: 40}, {name: "state"}, {name: "outcome"}, {name: "log start", right: true}, {name: "log end", right: true},
	{name: "off the log", right: true}, {name: "actions", right: true}, {name: "recovery point", right: true}, {name: "reads", right: true}, {name: "directory", max: 80},
}

func newStarts(w *world, partition string) *startScreen {
	s := &startScreen{w: w, only: partition, split: &split{table: newTable(startColumns, startRows{})}, judged: map[string]*incident.Partition{}}
	s.fixed = 2
	return s
}

// partition is the index of the partition that the screen is about, of the first one
// where it is about all.
func (s *startScreen) partition() int {
	if r := s.row(); s.only == "" && r >= 0 {
		if x := s.rows.(startRows).list[r]; x.part != nil {
			return max(s.w.indexOf(x.part.Partition.Name()), 0)
		}
	}
	return max(s.w.indexOf(s.only), 0)
}

func (s *startScreen) crumb() string { return "next start" + s.w.releaseCrumb() }

func (s *startScreen) command() string {
	switch {
	case s.w.src == nil:
		return ""
	case s.only != "":
		return s.w.command("predict", s.w.releaseFlag("start", "--all", "--partition", s.only)...)
	}
	return s.w.command("predict", s.w.releaseFlag("start", "--all")...)
}

func (s *startScreen) bindings() []binding {
	return []binding{{keys: []string{"c"}, in: "segments", help: "segments of this directory", hint: "segments"}}
}

func (s *startScreen) start() work {
	s.err = nil
	s.starts, s.judged, s.asked = nil, map[string]*incident.Partition{}, ""
	s.release = s.w.kafka
	release, given := s.w.release()
	inc, total := s.w.src.Incident, s.w.src.Bytes
	return func(ctx context.Context) any {
		add := progress(ctx, "predicting starts", total, true)
		opt := broker.StartOptions{Version: release, NowMs: time.Now().UnixMilli(), Progress: add}
		starts, err := inc.With(func(*incident.Options) {}).Start(ctx, incident.StartOptions{StartOptions: opt, VersionGiven: given})
		if err != nil {
			return err
		}
		return starts
	}
}

// refresh predicts again for another release.
func (s *startScreen) refresh(ctl *control) work {
	if s.release == s.w.kafka {
		return nil
	}
	ctl.restart()
	return s.start()
}

func (s *startScreen) deliver(v any, ctl *control) work {
	if w, ok := s.deliverTable(v); ok {
		return w
	}
	switch v := v.(type) {
	case *incident.Starts:
		s.starts = v
		list := startRowsOf(s.w, v, s.only, s.judged)
		w := s.setRows(list)
		if s.only != "" {
			for i := range list.list {
				if list.list[i].part != nil {
					s.selectRow(i)
					break
				}
			}
			ctl.run(w)
			return s.judgePartition(s.only, ctl)
		}
		return w
	case *incident.Partition:
		s.judged[v.Name+" "+v.TopicID] = v
		s.asked = ""
		return s.setRows(startRowsOf(s.w, s.starts, s.only, s.judged))
	case error:
		s.asked, s.err = "", v
	}
	return nil
}

// judgePartition asks what is lost by the starts of a partition.
func (s *startScreen) judgePartition(name string, ctl *control) work {
	i := s.w.indexOf(name)
	if i < 0 || s.asked != "" {
		return nil
	}
	s.asked = name
	starts := s.starts
	return s.w.judge(i, func(o *incident.Options) { o.Starts, o.Compare = starts, true })
}

func (s *startScreen) handle(in intent, ctl *control) work {
	if s.starts == nil {
		return nil
	}
	r := s.row()
	switch in {
	case open, "segments":
		if r < 0 {
			return nil
		}
		x := s.rows.(startRows).list[r]
		if x.part == nil {
			ctl.say("a partition directory below it can be opened")
			return nil
		}
		p := s.judged[x.key()]
		if p == nil {
			return s.judgePartition(x.part.Partition.Name(), ctl)
		}
		for _, c := range p.Copies {
			if c.Log != nil && c.Log.Partition == x.part.Partition {
				ctl.push(openSegments(s.w, p, c))
				return nil
			}
		}
		ctl.warn("this directory could not be read")
		return nil
	}
	w, _ := s.handleSplit(in, ctl)
	return w
}

func (s *startScreen) view(w, h int, st *styles) string {
	switch {
	case s.starts == nil && s.err != nil:
		return st.level(levelUnread).Render("Not read: "+escape(s.err.Error())) + "\n" + st.dim.Render("R reads it again.")
	case s.starts == nil:
		return st.dim.Render("Predicting what each broker does at its next start …")
	}
	l, text := s.verdict()
	var head []string
	for _, part := range wrapTo(escape(text), w, max(h/3, 1)) {
		head = append(head, st.level(l).Render(part))
	}
	var d prose
	if r := s.row(); r >= 0 {
		x := s.rows.(startRows).list[r]
		d = x.details(s.judged[x.key()], s.asked)
	}
	return s.viewSplit(head, d, w, h, st)
}

// verdict is all starts in a sentence or two.
func (s *startScreen) verdict() (level, string) {
	var fail, keep, cut []string
	unread, which := 0, ""
	for _, b := range s.starts.Brokers {
		if len(b.Errors) > 0 && unread == 0 {
			which = b.Errors[0].Error()
		}
		unread += len(b.Errors)
		if b.Outcome != broker.OK {
			fail = append(fail, b.Broker.Name)
		}
	}
	told := map[*incident.Partition]bool{}
	for _, x := range s.rows.(startRows).list {
		if x.part == nil {
			continue
		}
		if p := s.judged[x.key()]; p != nil && !told[p] && len(p.Errors) > 0 {
			if told[p] = true; unread == 0 {
				which = p.Errors[0].Error()
			}
			unread += len(p.Errors)
		}
		if ps := x.start(s.judged[x.key()]); ps != nil && ps.Follows != nil && len(ps.Follows.Lost) > 0 {
			keep = append(keep, x.broker.Broker.Name)
		}
		if x.level >= levelWarning && x.level < levelUnread && x.part.Outcome == broker.OK {
			cut = append(cut, x.part.Partition.Name()+" of broker "+x.broker.Broker.Name)
		}
	}
	l, text := levelOK, "OK: every broker starts, and nothing of value is deleted or cut."
	switch {
	case len(keep) > 0:
		l, text = levelLoss, fmt.Sprintf("KEEP STOPPED: broker %s: as a follower it throws away records that the leader lacks.", strings.Join(compact(keep), ", "))
	case len(fail) > 0:
		l, text = levelDamage, fmt.Sprintf("DOES NOT START, or loses a log directory: broker %s.", strings.Join(fail, ", "))
	case len(cut) > 0:
		l, text = levelWarning, fmt.Sprintf("CUT: a start takes something off %s.", some(cut, 3))
	case unread > 0:
		l, text = levelUnread, ""
	}
	if unread > 0 {
		text = strings.TrimLeft(fmt.Sprintf("%s NOT READ: %s, so this is not complete: %s.", text, countOf(int64(unread), "path", "paths"), which), " ")
	}
	release := broker.Latest
	if len(s.starts.Brokers) > 0 {
		release = s.starts.Brokers[0].Version
	}
	text += fmt.Sprintf(" Predicted for Kafka %s.", release)
	if s.asked != "" {
		text += " Judging what is lost by it …"
	}
	return l, text
}

// compact drops repeated neighbours.
func compact(list []string) []string {
	var out []string
	for i, x := range list {
		if i == 0 || x != list[i-1] {
			out = append(out, x)
		}
	}
	return out
}

// some joins the first n of a list and says how many more there are.
func some(list []string, n int) string {
	if len(list) <= n {
		return strings.Join(list, ", ")
	}
	return strings.Join(list[:n], ", ") + fmt.Sprintf(" and %d more", len(list)-n)
}
