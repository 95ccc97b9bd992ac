package tui

import (
	"fmt"
	"slices"
	"strings"

	"kafsck/diff"
	"kafsck/incident"
	"kafsck/replica"
)

// lanesOf makes the bars of a partition, one a copy.
func lanesOf(p *incident.Partition) []lane {
	lanes := make([]lane, len(p.Copies))
	for i, c := range p.Copies {
		l := &lanes[i]
		l.label = "broker " + c.Broker.Name
		if !c.Broker.Known {
			l.label = c.Broker.Name
		}
		if c.State != replica.Live {
			l.label += " " + string(c.State)
		}
		if p.Ruling.Leader != nil && c.Broker == *p.Ruling.Leader && c.State == replica.Live && !c.Extra {
			l.label += " (rules)"
		}
		l.level = copyLevel(p, c)
		switch {
		case c.Err != nil:
			l.empty = "not read: " + c.Err.Error()
			continue
		case c.Log == nil:
			l.empty = "not read"
			continue
		}
		g := c.Log
		l.from, l.to, l.ranges = g.LogStartOffset, g.LogEndOffset, g.Lineage
		if l.from >= l.to {
			l.empty = fmt.Sprintf("no batches; its log would go on at offset %d", l.to)
		}
		l.marks = append(l.marks, barMark{l.from, 'S', levelNone, fmt.Sprintf("log start %d (by the %s)", l.from, g.LogStartSource)})
		if g.HighWatermark != nil {
			m := barMark{*g.HighWatermark, 'H', levelNote, fmt.Sprintf("high watermark %d", *g.HighWatermark)}
			if m.at > l.to {
				m.level, m.text = levelDamage, m.text+fmt.Sprintf(", beyond the log end %d", l.to)
			}
			l.marks = append(l.marks, m)
		}
	}
	markDivergences(p, lanes)
	markLosses(p, lanes)
	return lanes
}

// markDivergences marks forks and other differences on both sides.
func markDivergences(p *incident.Partition, lanes []lane) {
	for i := range p.Divergences {
		d := &p.Divergences[i]
		if d.Kind == diff.Compaction || d.CopiedLater {
			continue
		}
		fork := d.Kind == diff.EpochFork || d.Kind == diff.ContentFork || d.Kind == diff.SameEpochConflict
		for side, c := range []*incident.Copy{d.A, d.B} {
			k := slices.Index(p.Copies, c)
			if k < 0 {
				continue
			}
			other := d.B
			if side == 1 {
				other = d.A
			}
			m := barMark{d.From, 'D', levelWarning, fmt.Sprintf("%s: offsets %s differ from broker %s", d.Kind, span(d.From, d.To), other.Broker.Name)}
			x := laneSpan{d.Sides[side].From, d.Sides[side].To, fillDiffer, levelWarning}
			switch {
			case fork:
				m.sign = 'F'
				m.text = fmt.Sprintf("%s with broker %s: here %s, there %s", d.Kind, other.Broker.Name, sideText(&d.Sides[side]), sideText(&d.Sides[1-side]))
			case d.Kind == diff.Behind || d.Kind == diff.LeaderBehind:
				m.sign, m.level = 'B', levelNote
				x.level = levelNone
			case d.Kind == diff.Damaged:
				m.level, x.level = levelDamage, levelDamage
			}
			lanes[k].marks = append(lanes[k].marks, m)
			if x.level != levelNone {
				lanes[k].spans = append(lanes[k].spans, x)
			}
		}
	}
}

// sideText is one side of a divergence.
func sideText(x *diff.Side) string {
	if x.From >= x.To {
		return "nothing"
	}
	text := offsetsText(x.From, x.To)
	var epochs []string
	for i, e := range x.Epochs {
		if i == 4 {
			epochs = append(epochs, "…")
			break
		}
		epochs = append(epochs, itoa(e))
	}
	if len(epochs) > 0 {
		text += " of epoch " + strings.Join(epochs, ", ")
	}
	return text
}

// markLosses marks what is lost: on the copies that hold it, else on who rules.
func markLosses(p *incident.Partition, lanes []lane) {
	for i := range p.Losses {
		l := &p.Losses[i]
		if l.From == nil || !l.Counts() {
			continue
		}
		to := *l.From + 1
		if l.To != nil {
			to = *l.To
		}
		m := barMark{*l.From, 'L', levelLoss, fmt.Sprintf("lost: offsets %s, committed: %s", lossRange(l), l.Committed)}
		marked := false
		for k := range l.Copies {
			if c := copyOf(p, &l.Copies[k]); c != nil {
				x := &lanes[slices.Index(p.Copies, c)]
				x.marks = append(x.marks, m)
				x.spans = append(x.spans, laneSpan{*l.From, to, fillLost, levelLoss})
				marked = true
			}
		}
		for k, c := range p.Copies {
			if !marked && c.Log != nil && c.Err == nil && (p.Ruling.Leader == nil || c.Broker == *p.Ruling.Leader) {
				m.text += "; no copy here holds it"
				lanes[k].marks = append(lanes[k].marks, m)
				break
			}
		}
	}
}
