package tui

import (
	"fmt"
	"strings"

	"kafsck/commitment"
	"kafsck/diff"
	"kafsck/finding"
	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/replica"
)

// summary is what is kept of every judged partition: small, since there may be
// 100,000 of them. It is not changed after it was made.
type summary struct {
	worst    level
	cells    []brokerCell // of brokers with a copy, in the order of copies
	leader   string       // raw; "" nobody rules
	guess    bool
	judged   bool
	reason   string // why it cannot be told
	from, to int64  // log start and end of the ruling copy, else the widest; -1 unknown
	bytes    int64  // of all copies
	// lost and maybe are records that are lost, by grade; unknownLost counts losses of
	// unknown size.
	lost, maybe int64
	unsized     int
	lossRanges  int
	holders     []string
	differ      int // divergences that matter
	findings    [4]int
	unread      int
	behind      int
}

// brokerCell is a partition on a broker.
type brokerCell struct {
	broker string // name
	level  level
	state  replica.State // of the live copy, else of what there is
	copies int
}

// judgedSummary is delivered for each partition.
type judgedSummary struct {
	index    int
	summary  *summary
	findings []finding.Finding
	errors   []logdir.PathError
	story    *incident.Partition
}

// summarize makes the summary of a story.
func summarize(p *incident.Partition) *summary {
	s := &summary{worst: levelOK, judged: p.Ruling.Judged, reason: p.Ruling.Reason, guess: p.Ruling.Guess, from: -1, to: -1, unread: len(p.Errors)}
	if p.Ruling.Leader != nil {
		s.leader = p.Ruling.Leader.Name
	}
	raise := func(l level) { s.worst = max(s.worst, l) }
	cell := func(name string) *brokerCell {
		for i := range s.cells {
			if s.cells[i].broker == name {
				return &s.cells[i]
			}
		}
		return nil
	}
	for _, c := range p.Copies {
		b := cell(c.Broker.Name)
		if b == nil {
			s.cells = append(s.cells, brokerCell{broker: c.Broker.Name, level: levelOK, state: c.State})
			b = &s.cells[len(s.cells)-1]
		}
		b.copies++
		if c.Err != nil {
			b.level = levelUnread
			raise(levelUnread)
		}
		if c.Log == nil || c.Err != nil {
			continue
		}
		for _, seg := range c.Log.Segments {
			s.bytes += seg.Log.Size
		}
		ruling := p.Ruling.Leader != nil && c.Broker == *p.Ruling.Leader
		if c.State == replica.Live && (s.to < 0 || ruling || s.leader == "" && c.Log.LogEndOffset > s.to) {
			s.from, s.to = c.Log.LogStartOffset, c.Log.LogEndOffset
		}
	}
	for i := range p.Findings {
		f := &p.Findings[i]
		s.findings[min(f.Severity, finding.Loss)]++
		l := levelOf(f.Severity)
		raise(l)
		if b := cell(f.At.Broker); b != nil {
			b.level = max(b.level, l)
		}
	}
	for i := range p.Divergences {
		d := &p.Divergences[i]
		switch {
		case d.Kind == diff.Behind:
			s.behind++
		case d.Kind != diff.Compaction && !d.CopiedLater:
			s.differ++
			raise(levelWarning)
			if b := cell(d.B.Broker.Name); b != nil {
				b.level = max(b.level, levelWarning)
			}
		}
	}
	s.losses(p, cell, raise)
	if len(p.Errors) > 0 && s.worst < levelDamage {
		s.worst = levelUnread
	}
	return s
}

func (s *summary) losses(p *incident.Partition, cell func(string) *brokerCell, raise func(level)) {
	for i := range p.Losses {
		l := &p.Losses[i]
		if !l.Counts() {
			continue
		}
		s.lossRanges++
		raise(levelLoss)
		switch {
		case l.Records == nil:
			s.unsized++
		case l.Committed == commitment.Yes:
			s.lost += *l.Records
		default:
			s.maybe += *l.Records
		}
		// It is the leader's log that lacks them.
		if b := cell(s.leader); b != nil {
			b.level = max(b.level, levelLoss)
		}
		for _, h := range l.HeldBy {
			if !strings.Contains(" "+strings.Join(s.holders, " ")+" ", " "+h.Name+" ") {
				s.holders = append(s.holders, h.Name)
			}
		}
	}
}

// totals are sums over the judged partitions.
type totals struct {
	partitions int
	byWorst    [levels]int
	lost       int64
	maybe      int64
	unsized    int
	lossIn     int // partitions
	yesIn      int
	differIn   int
	untold     int // cannot be judged
	unread     int
	findings   [4]int
	bytes      int64
	holders    []string
}

func (t *totals) add(s *summary) {
	t.partitions++
	t.byWorst[s.worst]++
	t.lost += s.lost
	t.maybe += s.maybe
	t.unsized += s.unsized
	if s.lossRanges > 0 {
		t.lossIn++
	}
	if s.lost > 0 {
		t.yesIn++
	}
	if s.differ > 0 {
		t.differIn++
	}
	if !s.judged {
		t.untold++
	}
	t.unread += s.unread
	for i, n := range s.findings {
		t.findings[i] += n
	}
	t.bytes += s.bytes
	for _, h := range s.holders {
		if len(t.holders) < 10 && !strings.Contains(" "+strings.Join(t.holders, " ")+" ", " "+h+" ") {
			t.holders = append(t.holders, h)
		}
	}
}

// verdict is the case in one sentence, as far as it is known; raw text.
func (w *world) verdict() (level, string) {
	l, text := w.found()
	if n := len(w.unread); n > 0 && w.src != nil {
		if l <= levelOK {
			l, text = levelUnread, "NOT READ: "
		} else {
			text += " NOT READ: "
		}
		text += countOf(int64(n), "path", "paths") + ", so this is not complete: " + w.unread[0]
		if n > 1 {
			text += " and " + countOf(int64(n-1), "more", "more")
		}
		text += "."
	}
	return l, text
}

// found is what was found.
func (w *world) found() (level, string) {
	switch {
	case w.err != nil:
		return levelUnread, "NOT READ: " + w.err.Error()
	case w.src == nil:
		return levelNone, "Looking for Kafka's directories …"
	}
	t := &w.totals
	sofar := ""
	switch {
	case w.stopped && !w.complete:
		sofar = fmt.Sprintf(" (stopped: %s of %s partitions judged)", comma(int64(w.judged)), comma(int64(len(w.refs))))
	case !w.complete:
		sofar = fmt.Sprintf(" so far (%s of %s partitions judged)", comma(int64(w.judged)), comma(int64(len(w.refs))))
	}
	held := ""
	if len(t.holders) > 0 {
		held = "; still on broker " + listOf(t.holders)
	}
	switch {
	case t.lost > 0:
		return levelLoss, fmt.Sprintf("LOST: %s in %s%s%s.", countOf(t.lost, "committed record", "committed records"), countOf(int64(t.yesIn), "partition", "partitions"), held, sofar)
	case t.maybe > 0 || t.unsized > 0:
		what := countOf(t.maybe, "record", "records") + " that may have been committed"
		if t.maybe == 0 {
			what = "records, how many is not recorded"
		}
		return levelLoss, fmt.Sprintf("LOST?: %s, in %s%s%s.", what, countOf(int64(t.lossIn), "partition", "partitions"), held, sofar)
	case t.findings[finding.Loss] > 0:
		return levelLoss, fmt.Sprintf("LOSS: %s%s.", countOf(int64(t.findings[finding.Loss]), "finding says that records are gone, or go at the next start", "findings say that records are gone, or go at the next start"), sofar)
	case t.findings[finding.Damage] > 0:
		return levelDamage, fmt.Sprintf("DAMAGED: %s%s.", countOf(int64(t.findings[finding.Damage]), "finding", "findings"), sofar)
	case t.differIn > 0:
		return levelWarning, fmt.Sprintf("DIFFER: the replicas of %s are not the same%s.", countOf(int64(t.differIn), "partition", "partitions"), sofar)
	case t.untold > 0 && w.complete:
		return levelWarning, fmt.Sprintf("Of %s it cannot be told whether anything is lost%s.", countOf(int64(t.untold), "partition", "partitions"), sofar)
	case !w.complete:
		return levelNone, "Nothing found" + sofar + "."
	case len(w.refs) == 0:
		return levelNone, "No partition of a topic is among these inputs" + w.butMetadata() + "."
	case t.findings[finding.Warning] > 0:
		return levelWarning, fmt.Sprintf("Nothing is lost or damaged; %s%s.", countOf(int64(t.findings[finding.Warning]), "warning", "warnings"), sofar)
	}
	return levelOK, "OK: nothing is lost, nothing is damaged."
}

// butMetadata says where to look when nothing but cluster metadata was given.
func (w *world) butMetadata() string {
	for _, cl := range w.src.Incident.Clusters {
		for _, b := range cl.Brokers {
			for _, d := range b.Dirs {
				if d.Metadata != nil {
					return "; M shows what the cluster metadata tell of them"
				}
			}
		}
	}
	return ""
}

// listOf is "1", "1 and 2", "1, 2 and 3".
func listOf(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
