package report

import (
	"fmt"
	"slices"
	"strings"

	"kafsck/epoch"
	"kafsck/incident"
)

// maxDefects is how many defects of one file are told one by one.
const maxDefects = 8

// defects are the differences of one file that no healthy broker leaves behind,
// and the three readings of it.
func defects(c *incident.CopyEpochs, name string) []string {
	if c.Agree {
		return nil
	}
	lines := []string{"  " + name + ": its leader-epoch-checkpoint does not fit its log"}
	n := 0
	for _, d := range c.Differences {
		if d.Legitimate {
			continue
		}
		if n++; n > maxDefects {
			continue
		}
		lines = append(lines, wideLabelled(4, string(d.Kind), entryOf(&d)+Escape(d.Reason))...)
	}
	if n > maxDefects {
		lines = append(lines, "    … "+count(n-maxDefects, "more, in --json", "more, all in --json"))
	}
	written, loaded := entryList(c.Written), entryList(c.Loaded)
	switch {
	case c.Malformed != nil:
		written, loaded = "refused by Kafka", "nothing"
	case c.Written == nil:
		written = "no file"
	}
	for _, row := range [][2]string{{"as written", written}, {"as Kafka loads it", loaded}, {"from the batches", entryList(c.Rebuilt)}} {
		lines = append(lines, wideLabelled(4, row[0], row[1])...)
	}
	return append(lines, "")
}

// suspects are the batches whose epoch nothing bears out.
func suspects(c *incident.CopyEpochs, name string) []string {
	var lines []string
	for i, s := range c.Suspects {
		if i == maxDefects {
			lines = append(lines, wideLabelled(2, "suspect", count(c.SuspectCount-maxDefects, "more such batch on "+name, "more such batches on "+name))...)
			break
		}
		at := "a batch"
		if s.From >= 0 {
			at = "the batch at " + offsets(s.From, s.To)
		}
		lines = append(lines, wideLabelled(2, "suspect", fmt.Sprintf("%s: %s carries epoch %s, which neither its neighbours nor any other source here knows; taken for epoch %s", name, at, s.Written, s.Taken))...)
	}
	return lines
}

// wideLabelled is labelled with room for the longest kind.
func wideLabelled(indent int, label, prose string) []string {
	return indented(strings.Repeat(" ", indent)+fmt.Sprintf("%-18s ", label), prose)
}

// entryOf names the entry that a difference is about.
func entryOf(d *epoch.Difference) string {
	switch {
	case d.Epoch < 0:
		return ""
	case d.Kind == epoch.EpochMissing:
		return "epoch " + fmt.Sprint(d.Epoch) + ": "
	}
	return fmt.Sprintf("%q: ", fmt.Sprintf("%d %d", d.Epoch, d.StartOffset))
}

// maxEntries bounds a list of entries: the first and the last ones are shown.
const maxEntries = 12

// entryList writes entries as the lines of the file, separated by commas.
func entryList(es []epoch.Entry) string {
	if len(es) == 0 {
		return "no entries"
	}
	words := make([]string, 0, maxEntries+1)
	for i, e := range es {
		if len(es) > maxEntries && i >= maxEntries/2 && i < len(es)-maxEntries/2 {
			if i == maxEntries/2 {
				words = append(words, fmt.Sprintf("(%s more)", comma(len(es)-maxEntries)))
			}
			continue
		}
		words = append(words, fmt.Sprintf("%d %d", e.Epoch, e.StartOffset))
	}
	return strings.Join(words, ", ")
}

// why explains a kind of legitimate difference where several of them are told
// together.
var why = map[epoch.DifferenceKind]string{
	epoch.FileAbsent:       "messages of format 0 and 1 carry no leader epochs, or there is nothing to record",
	epoch.FileEmpty:        "Kafka empties the file of a directory that it is about to delete",
	epoch.EqualStart:       "leaders that wrote nothing; only Kafka up to 2.0.0 keeps such entries beside their successors",
	epoch.AtEnd:            "elected leader, and nothing written since: a leader records its epoch at once, and no batch tells of it",
	epoch.BelowStart:       "the log start moved and the file was not written since, or the older offsets lie in tiered storage",
	epoch.AtStart:          "the log starts inside the epoch's batches, and so does the entry: records were deleted up to there, or the replica was rebuilt from there",
	epoch.InsideFirstEpoch: "the log start moved into the first epoch; log-start-offset-checkpoint does not say so yet",
	epoch.BatchesDamaged:   "the batches at these starts are damaged; nothing speaks against the entries",
	epoch.CompactedAway:    "compaction removed the batches at these starts; the file knows better than the batches",
	epoch.EpochFallsBack:   "batches of an older epoch stand behind newer ones: Kafka before 2.0 lets this happen (KIP-279) and never records it; the log may hold a fork that no truncation saw",
	incident.LaterStart:    "the replica fetched the epoch from a leader that compaction had already cleaned",
	incident.LeaderUnknown: "the leader by the metadata does not know its own epoch: copied before it took over, restarted since, or moved to another disk",
}

// normal are the legitimate differences, those of one kind together.
func normal(e *incident.Epochs, names []string) []string {
	type group struct {
		kind   epoch.DifferenceKind
		reason string // of the only one
		where  []string
		n      int
	}
	var groups []*group
	for i := range e.Copies {
		byKind := map[epoch.DifferenceKind][]string{}
		for _, d := range e.Copies[i].Differences {
			if !d.Legitimate {
				continue
			}
			g := slices.IndexFunc(groups, func(g *group) bool { return g.kind == d.Kind })
			if g < 0 {
				groups = append(groups, &group{kind: d.Kind})
				g = len(groups) - 1
			}
			if groups[g].n++; groups[g].n == 1 {
				groups[g].reason = d.Reason
			} else if groups[g].reason != d.Reason {
				groups[g].reason = ""
			}
			entry := ""
			if d.Epoch >= 0 {
				entry = fmt.Sprintf("%d %d", d.Epoch, d.StartOffset)
			}
			byKind[d.Kind] = append(byKind[d.Kind], entry)
		}
		for _, g := range groups {
			if list := byKind[g.kind]; len(list) > 0 {
				if len(list) > maxEntries {
					list = append(list[:maxEntries:maxEntries], fmt.Sprintf("%d more", len(list)-maxEntries))
				}
				where := names[i]
				if entries := strings.Join(list, ", "); entries != "" {
					where += " (" + entries + ")"
				}
				g.where = append(g.where, where)
			}
		}
	}
	var lines []string
	for _, g := range groups {
		reason := g.reason
		if reason == "" {
			reason = why[g.kind]
		}
		lines = append(lines, wideLabelled(2, "legitimate", strings.Join(g.where, ", ")+": "+Escape(reason))...)
	}
	return lines
}

// common tells how far the replicas were written under the same leaders.
func common(x *incident.Partition, e *incident.Epochs) []string {
	if len(e.Pairs) == 0 {
		return nil
	}
	same := !slices.ContainsFunc(e.Pairs, func(p incident.EpochPair) bool {
		return p.Meeting != e.Pairs[0].Meeting || p.Parted || !p.Overlap
	})
	if p := e.Pairs[0]; same {
		return wideLabelled(2, "in common", "all replicas were written under the same leaders up to "+upTo(p.Meeting))
	}
	var parted, apart []string
	var extents []epoch.Meeting
	pairs := map[epoch.Meeting][]string{}
	for _, p := range e.Pairs {
		sides := [2]*incident.Copy{p.A, p.B}
		a, b := sideName(sides, 0), sideName(sides, 1)
		switch {
		case p.Parted:
			if l := x.Ruling.Leader; l != nil && *l == p.B.Broker && p.A.Broker != p.B.Broker { // from the leader, not the other way round
				a, b = b, a
				p.Epochs[0], p.Epochs[1] = p.Epochs[1], p.Epochs[0]
			}
			last := fmt.Sprintf("at epoch %s, offset %d", epochName(p.Epoch), p.Offset)
			if p.Epoch < 0 {
				last = fmt.Sprintf("at offset %d", p.Offset)
			}
			parted = append(parted, wideLabelled(2, "parted", fmt.Sprintf("%s parted from %s %s: from there on %s carries epoch %s, %s epoch %s", b, a, last, a, epochName(p.Epochs[0]), b, epochName(p.Epochs[1])))...)
		case !p.Overlap:
			apart = append(apart, wideLabelled(2, "nothing in common", fmt.Sprintf("%s and %s have batches at no common offset", a, b))...)
		default:
			if pairs[p.Meeting] == nil {
				extents = append(extents, p.Meeting)
			}
			pairs[p.Meeting] = append(pairs[p.Meeting], fmt.Sprintf("brokers %s and %s", Escape(p.A.Broker.Name), Escape(p.B.Broker.Name)))
		}
	}
	lines := slices.Concat(parted, apart)
	for _, m := range extents {
		lines = append(lines, wideLabelled(2, "in common", strings.Join(pairs[m], ", ")+": written under the same leaders up to "+upTo(m))...)
	}
	return lines
}

func upTo(m epoch.Meeting) string {
	if m.Epoch < 0 {
		return fmt.Sprintf("offset %d, without leader epochs", m.Offset-1)
	}
	return fmt.Sprintf("epoch %d, offset %d", m.Epoch, m.Offset-1)
}

func epochName(e int32) string {
	if e < 0 {
		return "none"
	}
	return fmt.Sprint(e)
}
