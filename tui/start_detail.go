package tui

import (
	"fmt"
	"path"
	"strings"

	"kafsck/broker"
	"kafsck/incident"
)

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
	case broker.ActCreateTimeIndex:
		s = "makes an empty " + a.File
	case broker.ActRebuildIndex, broker.ActRebuildTxnIndex:
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
