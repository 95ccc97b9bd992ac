package tui

import (
	"fmt"
	"slices"
	"strings"

	"kafsck/commitment"
	"kafsck/incident"
)

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
