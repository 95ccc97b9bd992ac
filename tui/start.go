package tui

import (
	"context"
	"fmt"
	"path"
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
	judged map[string]*incident.Partition
	asked  string // being judged
	err    error
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

func (s *startScreen) crumb() string { return "next start" }

func (s *startScreen) command() string {
	switch {
	case s.w.src == nil:
		return ""
	case s.only != "":
		return s.w.command("predict", "start", "--all", "--partition", s.only)
	}
	return s.w.command("predict", "start", "--all")
}

func (s *startScreen) bindings() []binding {
	return []binding{{keys: []string{"c"}, in: "segments", help: "segments of this directory"}}
}

func (s *startScreen) start() work {
	s.err = nil
	s.starts, s.judged, s.asked = nil, map[string]*incident.Partition{}, ""
	inc, total := s.w.src.Incident, s.w.src.Bytes
	return func(ctx context.Context) any {
		add := progress(ctx, "predicting starts", total, true)
		opt := broker.StartOptions{Version: broker.Latest, NowMs: time.Now().UnixMilli(), Progress: add}
		starts, err := inc.With(func(*incident.Options) {}).Start(ctx, incident.StartOptions{StartOptions: opt})
		if err != nil {
			return err
		}
		return starts
	}
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
	unread := 0
	for _, b := range s.starts.Brokers {
		unread += len(b.Errors)
		if b.Outcome != broker.OK {
			fail = append(fail, b.Broker.Name)
		}
	}
	for _, x := range s.rows.(startRows).list {
		if x.part == nil {
			continue
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
		l, text = levelUnread, fmt.Sprintf("NOT READ: %s; this is not complete.", countOf(int64(unread), "path", "paths"))
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

// startRow is a broker, or a partition directory on it.
type startRow struct {
	broker *incident.BrokerStart
	dir    *broker.StartedDir
	part   *broker.StartedPartition // nil: the broker itself
	id     string                   // topic id
	level  level
	off    int64 // bytes that go off logs
}

func (x startRow) key() string {
	if x.part == nil {
		return ""
	}
	return x.part.Partition.Name() + " " + x.id
}

// start is what a judged partition knows of this directory, nil: not judged.
func (x startRow) start(p *incident.Partition) *incident.PartitionStart {
	if p == nil {
		return nil
	}
	for _, ps := range p.Starts {
		if ps.StartedPartition == x.part {
			return ps
		}
	}
	return nil
}

type startRows struct {
	w    *world
	list []startRow
}

func startRowsOf(w *world, starts *incident.Starts, only string, judged map[string]*incident.Partition) startRows {
	r := startRows{w: w}
	for _, b := range starts.Brokers {
		head := startRow{broker: b, level: levelOK}
		if b.Outcome != broker.OK {
			head.level = levelDamage
		}
		if len(b.Errors) > 0 {
			head.level = levelUnread
		}
		r.list = append(r.list, head)
		at := len(r.list) - 1
		for _, d := range b.Dirs {
			list := d.Partitions
			if d.Metadata != nil && only == "" {
				list = append([]*broker.StartedPartition{d.Metadata}, list...)
			}
			for _, p := range list {
				if only != "" && p.Partition.Name() != only {
					continue
				}
				x := startRow{broker: b, dir: d, part: p}
				if p.Partition.HasTopicID {
					x.id = p.Partition.TopicID.String()
				}
				x.judge(judged[x.key()])
				if x.level < levelUnread {
					r.list[at].level = max(r.list[at].level, x.level)
				}
				r.list = append(r.list, x)
			}
		}
	}
	return r
}

// judge sets how bad the start of a directory is, as far as it is known.
func (x *startRow) judge(p *incident.Partition) {
	x.level = levelOK
	if x.part.Err != nil || x.part.Loaded == nil {
		x.level = levelUnread
		return
	}
	for i := range x.part.Actions {
		if a := &x.part.Actions[i]; takesOff(a) {
			x.off += a.Bytes
			if a.From < a.ToOffset && !a.Replaced {
				x.level = levelWarning
			} else {
				x.level = max(x.level, levelNote)
			}
		}
	}
	if x.part.Stray != "" {
		x.level = max(x.level, levelWarning)
	}
	if x.part.Outcome == broker.DirOffline || x.part.Outcome == broker.BrokerAborts {
		x.level = levelDamage
	}
	ps := x.start(p)
	if ps == nil {
		return
	}
	for i := range ps.Gone {
		if ps.Gone[i].Counts() {
			x.level = max(x.level, levelLoss)
		}
	}
	if ps.Follows != nil && len(ps.Follows.Lost) > 0 || ps.BelowWatermark.From < ps.BelowWatermark.To {
		x.level = levelLoss
	}
}

// takesOff reports whether an action takes bytes off a log.
func takesOff(a *broker.Action) bool {
	switch a.Action {
	case broker.ActTruncate, broker.ActDelete, broker.ActMarkDeleted:
		return a.Bytes > 0 && (strings.HasSuffix(a.File, ".log") || strings.HasSuffix(a.File, ".log.deleted"))
	}
	return false
}

func (r startRows) Len() int               { return len(r.list) }
func (r startRows) Severity(row int) level { return r.list[row].level }

func (r startRows) Path(row int) string {
	if x := r.list[row]; x.part != nil {
		return r.w.typed(x.part.Partition.Dir)
	}
	return ""
}

func (r startRows) Cell(row, col int) string {
	x := r.list[row]
	if col == 0 {
		return x.broker.Broker.Name
	}
	if x.part == nil {
		switch col {
		case 1:
			return "(the broker)"
		case 3:
			return string(x.broker.Outcome)
		}
		return ""
	}
	p := x.part
	switch col {
	case 1:
		return p.Partition.Name()
	case 2:
		return p.Partition.State.String()
	case 3:
		if p.Stray != "" {
			return "stray"
		}
		if p.Err != nil {
			return "not read"
		}
		return string(p.Outcome)
	case 10:
		return p.Partition.Dir
	}
	if p.Loaded == nil {
		return "?"
	}
	switch col {
	case 6:
		if x.off == 0 {
			return ""
		}
		return humanBytes(x.off)
	case 7:
		return comma(int64(len(p.Actions)))
	case 9:
		return humanBytes(p.ScanBytes)
	}
	if p.Outcome == broker.DirOffline || p.Outcome == broker.BrokerAborts {
		return "-"
	}
	switch col {
	case 4:
		return itoa(p.LogStartOffset)
	case 5:
		return itoa(p.LogEndOffset)
	}
	return itoa(p.RecoveryPoint)
}

func (r startRows) Value(row, col int) any {
	x := r.list[row]
	if col == 0 && x.broker.Broker.Known {
		return int64(x.broker.Broker.ID)
	}
	if x.part == nil || x.part.Loaded == nil || col < 4 || col > 9 {
		return r.Cell(row, col)
	}
	switch col {
	case 4:
		return x.part.LogStartOffset
	case 5:
		return x.part.LogEndOffset
	case 6:
		return x.off
	case 7:
		return int64(len(x.part.Actions))
	case 9:
		return x.part.ScanBytes
	}
	return x.part.RecoveryPoint
}

// JSON is the row as the predicted-start line of --json.
func (r startRows) JSON(row int) any {
	x := r.list[row]
	out := map[string]any{"type": "predicted-start", "broker": brokerJSON(x.broker.Broker), "outcome": x.broker.Outcome}
	if x.part == nil {
		return out
	}
	out["partition"], out["dir"], out["outcome"] = x.part.Partition.Name(), x.part.Partition.Dir, x.part.Outcome
	if x.part.Loaded == nil {
		return out
	}
	actions := []any{}
	for _, a := range x.part.Actions {
		actions = append(actions, map[string]any{"action": a.Action, "file": a.File, "position": a.Position, "from": a.From, "to": a.ToOffset, "bytes": a.Bytes, "why": a.Why})
	}
	out["logStartOffset"], out["logEndOffset"], out["recoveryPoint"], out["actions"] = x.part.LogStartOffset, x.part.LogEndOffset, x.part.RecoveryPoint, actions
	return out
}

// details tells a row in full. p is the partition judged with the starts, nil not yet.
func (x startRow) details(p *incident.Partition, asked string) (d prose) {
	if x.part == nil {
		b := x.broker
		l := levelOK
		if b.Outcome != broker.OK {
			l = levelDamage
		}
		d.at(l, "broker "+b.Broker.Name, "%s", startOutcome(b.Outcome))
		d.at(l, "why", "%s", b.Why)
		d.add("", "%s", b.Order)
		for _, s := range b.Dirs {
			how := "unclean: no .kafka_cleanshutdown"
			if s.Clean {
				how = "clean"
			}
			d.add("log dir", "%s: %s", s.LogDir.Path, how)
			for _, i := range s.Ignored {
				d.at(levelWarning, "", "%s", i)
			}
		}
		for _, e := range b.Errors {
			d.at(levelUnread, "not read", "%s", e.Error())
		}
		return d
	}
	s := x.part
	if s.Err != nil {
		d.at(levelUnread, "not read", "%s", s.Err.Error())
		return d
	}
	d.at(levelDamage, "fails", "%s", s.Why)
	if s.Stray != "" {
		d.at(levelWarning, "stray", "renamed to -stray: %s", s.Stray)
	}
	d.add("not sure", "%s", s.Unsure)
	ps := x.start(p)
	if ps != nil {
		x.lost(&d, ps)
	}
	if s.Loaded != nil {
		for i := range s.Actions {
			a := &s.Actions[i]
			l := levelNone
			if takesOff(a) {
				l = levelWarning
			}
			d.at(l, first(i == 0, "actions"), "%s", actionText(a))
		}
		if len(s.Actions) == 0 {
			d.add("actions", "none")
		}
		var epochs []string
		for i, e := range s.Epochs {
			if i == 12 {
				epochs = append(epochs, "…")
				break
			}
			epochs = append(epochs, fmt.Sprintf("%d from %d", e.Epoch, e.StartOffset))
		}
		d.add("epochs", "%s", strings.Join(epochs, ", "))
	}
	switch {
	case ps != nil:
	case asked == s.Partition.Name():
		d.add("", "Judging what is lost by it …")
	case s.Partition.Topic != "__cluster_metadata":
		d.add("", "enter: judge what is lost by it, and what it cuts as a follower")
	}
	return d
}

// lost tells what the start, and following afterwards, takes away.
func (x startRow) lost(d *prose, ps *incident.PartitionStart) {
	for i := range ps.Gone {
		if i == 6 {
			d.add("", "%d more ranges", len(ps.Gone)-i)
			break
		}
		g := &ps.Gone[i]
		l, held := levelNote, "no other live copy among the inputs holds them"
		if g.Counts() {
			l = levelLoss
		}
		if len(g.HeldBy) > 0 {
			held = "broker " + brokerNames(g.HeldBy) + " holds them too"
		}
		d.at(l, "gone", "%s of offsets %s with %s: committed: %s; %s", countOf(g.Records, "record", "records"), span(g.From, g.To), path.Base(g.File), g.Committed, held)
	}
	if s := ps.BelowWatermark; s.From < s.To {
		d.at(levelLoss, "watermark", "offsets %s lie below its high watermark and are cut", span(s.From, s.To))
	}
	switch f := ps.Follows; {
	case f != nil:
		who := "broker " + f.Leader.Name
		if f.Guess {
			who += " (guessed to be the leader)"
		}
		text := fmt.Sprintf("then follows %s and cuts nothing", who)
		l := levelNone
		if f.Rebuild {
			text = fmt.Sprintf("then follows %s and throws its whole log away", who)
		} else if f.To < ps.LogEndOffset {
			text = fmt.Sprintf("then follows %s and cuts its log from %d to %d", who, ps.LogEndOffset, f.To)
		}
		var words []string
		for i := range f.Lost {
			if i == 4 {
				words = append(words, "…")
				break
			}
			words = append(words, fmt.Sprintf("%s (committed: %s)", span(f.Lost[i].From, f.Lost[i].To), f.Lost[i].Committed))
		}
		if len(words) > 0 {
			l = levelLoss
			text += "; the leader lacks offsets " + strings.Join(words, ", ") + ": KEEP IT STOPPED"
		}
		d.at(l, "afterwards", "%s", text)
	case ps.LeaderAway != nil:
		d.at(levelWarning, "afterwards", "what it cuts as a follower is not known: the disk of the leader, broker %s, is not among the inputs", ps.LeaderAway.Name)
	case ps.Unled:
		d.at(levelWarning, "afterwards", "nobody leads: who is elected decides what is lost; see candidate leaders")
	}
}

func startOutcome(o broker.Outcome) string {
	switch o {
	case broker.OK:
		return "starts"
	case broker.DirOffline:
		return "starts without a log directory: that goes offline"
	case broker.BrokerAborts:
		return "does not start"
	}
	return string(o)
}

// actionText is one action in words.
func actionText(a *broker.Action) string {
	s := ""
	switch a.Action {
	case broker.ActTruncate:
		s = fmt.Sprintf("cuts %s at position %d", a.File, a.Position)
	case broker.ActDelete, broker.ActDeleteSnapshot:
		s = "deletes " + a.File
	case broker.ActMarkDeleted:
		s = "deletes " + a.File + " a minute later (renames it to .deleted)"
	case broker.ActRename:
		s = "renames " + a.File + " to " + a.To
	case broker.ActRecover:
		s = "reads every batch of " + a.File + " and builds its indexes anew"
	case broker.ActRebuildIndex, broker.ActRebuildTimeIndex, broker.ActRebuildTxnIndex:
		s = "builds " + a.File + " anew"
	case broker.ActWriteSnapshot, broker.ActRewriteEpochs, broker.ActWriteMetadata:
		s = "writes " + a.File
	case broker.ActCreateSegment:
		s = "makes the empty segment " + a.File
	case broker.ActSplit:
		s = "splits " + a.File
	case broker.ActRenameStray:
		s = "renames the directory to -stray"
	default:
		s = strings.ReplaceAll(a.Action, "-", " ") + " " + a.File
	}
	if a.Bytes > 0 {
		s += ": " + countOf(a.Bytes, "byte goes", "bytes go")
		if a.From < a.ToOffset {
			s += ", offsets " + span(a.From, a.ToOffset)
		}
	}
	if a.Why != "" {
		s += " (" + strings.TrimSuffix(a.Why, ".") + ")"
	}
	return s
}
