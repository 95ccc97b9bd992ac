package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kafsck/broker"
	"kafsck/commitment"
	"kafsck/diff"
	"kafsck/incident"
	"kafsck/replica"
)

func absentProse(a *incident.AbsentReplica) string {
	s := fmt.Sprintf("broker %d has a replica by the metadata, and ", a.Broker)
	switch {
	case a.Unread:
		s += "its directory could not be read"
	case a.HasDisk:
		s += "its directories hold no live replica"
	default:
		s += "its disk is not among the inputs"
	}
	if a.Foreign {
		s += fmt.Sprintf(" (a broker %d of another cluster is)", a.Broker)
	}
	switch {
	case a.Leads:
		return s + ": it leads, so it may hold records that no candidate here has. Nothing below counts them"
	case a.Eligible:
		return s + ": it may be elected cleanly, so it holds every committed record and may be the better leader"
	}
	switch {
	case a.Holds:
		return s + ": it led, or was in sync, when another was elected uncleanly, so it may hold committed records that no candidate here has. Copy its disk, and add it to these inputs. Nothing below counts them"
	case a.LastKnown:
		return s + ": it is the last known leader and may hold committed records that no candidate here has. Copy its disk, and add it to these inputs"
	}
	return s + ": what it alone holds, and what it would truncate, is not known"
}

// headlines are what the other epochs would change: the finding worth most.
func (t *Leaders) headlines(l *incident.Leadership) (out []string) {
	shown, more := 0, 0
	for i := range l.Candidates {
		c := &l.Candidates[i]
		for k := range c.Followers {
			f := &c.Followers[k]
			if f.Otherwise == nil {
				continue
			}
			if shown == 4 {
				more++
				continue
			}
			shown++
			out = append(out, labelled(2, "epochs", epochsProse(l, c, f))...)
		}
	}
	if more > 0 {
		out = append(out, labelled(2, "", count(more, "more such difference is told below", "more such differences are told below"))...)
	}
	return out
}

// epochsProse tells what a follower does with the epochs as they are and with regenerated
// ones.
func epochsProse(l *incident.Leadership, c *incident.Candidacy, f *incident.FollowerFate) string {
	asIs, repaired := side{f.Truncation, f.Kept, f.Offline}, side{f.Otherwise.Truncation, f.Otherwise.Kept, f.Otherwise.Offline}
	if l.Repaired {
		asIs, repaired = repaired, asIs
	}
	me, leader := "broker "+Escape(f.Copy.Broker.Name), "broker "+Escape(c.Copy.Broker.Name)
	if c.CannotLead != "" && !l.Repaired {
		return fmt.Sprintf("if %s leads: with the epoch files as they are it does not start itself; with regenerated ones (kafsck repair epochs) it does, and %s %s", leader, me, asIs.prose(f.State.LogEnd))
	}
	return fmt.Sprintf("if %s leads: with the epoch files as they are %s %s; with regenerated ones (kafsck repair epochs) it %s", leader, me, asIs.prose(f.State.LogEnd), repaired.prose(f.State.LogEnd))
}

// side is one of the two fates that epochsProse compares.
type side struct {
	broker.Truncation
	kept    []incident.KeptRange
	offline string
}

func (s *side) prose(end int64) string {
	switch {
	case s.offline != "":
		return "does not get so far: " + Escape(s.offline)
	case s.Stuck:
		return "is stuck in OFFSET_OUT_OF_RANGE and replicates nothing"
	case s.Rebuild:
		return "throws its whole log away"
	}
	out := "truncates nothing"
	if s.To < end {
		out = fmt.Sprintf("truncates to %d", s.To)
	}
	if len(s.kept) > 0 {
		out += " and keeps " + keptProse(s.kept) + " for good"
	}
	return out
}

func keptProse(kept []incident.KeptRange) string {
	var words []string
	for i, k := range kept {
		if i == 3 {
			words = append(words, fmt.Sprintf("%d more ranges", len(kept)-i))
			break
		}
		words = append(words, keptNames[k.Kind]+" at "+offsets(k.From, k.To))
	}
	return list(words)
}

// keptNames says what a follower has where it stays different from its leader.
var keptNames = map[diff.Kind]string{
	diff.EpochFork: "other records", diff.ContentFork: "other records", diff.SameEpochConflict: "other records in the same epoch",
	diff.Damaged: "damaged bytes on one side", diff.MissingRange: "a hole on one side",
}

func candidateTable(l *incident.Leadership) []string {
	t := table{header: []string{"CANDIDATE", ">LOG END", ">COMMITTED LOST", ">MAYBE", ">NOT COMMITTED", "FOLLOWERS TRUNCATE", ">FETCH BYTES"}}
	for i := range l.Candidates {
		c := &l.Candidates[i]
		if !c.CanLead() {
			t.add(nameOf(c), "-", "-", "-", "-", "does not start", "-")
			continue
		}
		t.add(nameOf(c), fmt.Sprint(c.State.LogEnd), comma(c.Lost[commitment.Yes]), comma(c.Lost[commitment.Unknown]), comma(c.Lost[commitment.No]), cutCells(c), comma(c.FetchBytes()))
	}
	return t.lines("  ")
}

// nameOf names a candidate with what the metadata say of it.
func nameOf(c *incident.Candidacy) string {
	name := "broker " + Escape(c.Copy.Broker.Name)
	switch {
	case c.Leads:
		name += " (leads)"
	case c.Eligible:
		name += " (eligible)"
	case c.RepairFirst:
		name += " (repair first)"
	}
	return name
}

// cutCells says in a cell where the followers cut their logs, those of one fate together.
func cutCells(c *incident.Candidacy) string {
	var fates []string
	who := map[string][]string{}
	for k := range c.Followers {
		fate := cutFate(&c.Followers[k])
		if who[fate] == nil {
			fates = append(fates, fate)
		}
		who[fate] = append(who[fate], Escape(c.Followers[k].Copy.Broker.Name))
	}
	var cells []string
	for _, fate := range fates {
		cells = append(cells, strings.Join(who[fate], ", ")+": "+fate)
	}
	const most = 32
	cell := strings.Join(cells, "; ")
	if len([]rune(cell)) > most {
		return fmt.Sprintf("%d followers, see below", len(c.Followers))
	}
	return cmp.Or(cell, "-")
}

func cutFate(f *incident.FollowerFate) string {
	switch {
	case f.Offline != "":
		return "offline"
	case f.Stuck:
		return "stuck"
	case f.Rebuild:
		return "all"
	case f.To < f.State.LogEnd:
		return fmt.Sprintf("to %d", f.To)
	}
	return "nothing"
}

// candidate is the details of one candidate.
func (t *Leaders) candidate(x *incident.Partition, l *incident.Leadership, c *incident.Candidacy) (out []string) {
	row := func(label, prose string) { out = append(out, labelled(4, label, prose)...) }
	out = append(out, "  "+ifLeads(l, c))
	switch {
	case c.RepairFirst:
		row("cannot yet", Escape(c.CannotLead)+"; the log directory goes offline. All that follows is said of it with a regenerated leader-epoch-checkpoint")
	case c.CannotLead != "":
		row("cannot", Escape(c.CannotLead)+"; the log directory goes offline")
		return out
	}
	if c.CutByStart.From < c.CutByStart.To {
		row("its start", fmt.Sprintf("cuts %s off its own log; see %s", offsets(c.CutByStart.From, c.CutByStart.To), t.Paths.Again("predict", "start")))
	}
	for _, grade := range []commitment.Grade{commitment.Yes, commitment.Unknown, commitment.No} {
		if s := sumOf(c.Losses, grade); s.losses > 0 {
			row(gradeLabels[grade], s.number(gradeWords[grade])+": "+s.where()+", "+heldBy(ofGrade(c.Losses, grade))+gradeTails[grade])
		}
	}
	for _, s := range c.CutShort {
		row("cut short", fmt.Sprintf("broker %s's log ends at %d, below its high watermark %d%s: %s were committed there, and this leader does not have them", Escape(s.Broker.Name), s.LogEnd, s.HighWatermark,
			prefixed(", ", Escape(s.File)), offsets(s.LogEnd, s.HighWatermark)))
	}
	for i := range c.Losses {
		if line := aside(&c.Losses[i]); line != "" {
			row("saved", line)
		}
	}
	if c.LostAll() == 0 && c.Lost[commitment.No] == 0 && len(c.CutShort) == 0 {
		row("lost", "nothing that any copy here holds")
	}
	if c.CopiedLater > 0 {
		counted := "all of these are counted as lost"
		if c.Leads {
			counted = "they are not counted as lost"
		}
		row("copy times", "its disk was copied before others: "+count(c.CopiedLater, "offset", "offsets")+" above its end may have reached it since, if it ran; "+counted)
	}
	for k := range c.Followers {
		row("broker "+Escape(c.Followers[k].Copy.Broker.Name), followerProse(c, &c.Followers[k]))
	}
	if c.BrokenCount > 0 {
		b := &c.Broken[0]
		row("transactions", fmt.Sprintf("%s open in its log although %s marker is on broker %s: read_committed consumers stop at offset %d (producer id %d) until it is aborted by hand; see kafsck txns",
			count(c.BrokenCount, "stays", "stay"), "the "+markerWords[b.State], Escape(b.HeldBy.Name), b.First, b.ProducerID))
	}
	if len(c.Groups) > 0 {
		row("groups", groupsProse(c))
	}
	return out
}

// ifLeads heads the details of a candidate.
func ifLeads(l *incident.Leadership, c *incident.Candidacy) string {
	name := Escape(c.Copy.Broker.Name)
	switch {
	case c.Leads && l.Known:
		return fmt.Sprintf("if broker %s goes on to lead, in epoch %d", name, c.Epoch)
	case c.Leads:
		return fmt.Sprintf("if broker %s goes on to lead", name)
	case l.Epoch < 0:
		return fmt.Sprintf("if broker %s leads (these logs have no leader epochs)", name)
	case !l.Known:
		return fmt.Sprintf("if broker %s leads, in an epoch after %d", name, l.Epoch)
	}
	return fmt.Sprintf("if broker %s leads, in epoch %d", name, c.Epoch)
}

// aside tells of a loss that only files hold which wait for their deletion.
func aside(l *incident.Loss) string {
	if !l.Counts() || len(l.Copies) == 0 {
		return ""
	}
	var files []string
	for _, c := range l.Copies {
		if c.State != replica.Deleted {
			return ""
		}
		files = append(files, Escape(c.File)+" of broker "+Escape(c.Broker.Name))
	}
	return "only in " + some(files) + ", which a start deletes: copy it first. As .log again, with no other segment of its offsets and the broker stopped, it is part of that log"
}

var (
	markerWords = map[replica.TransactionState]string{replica.TransactionCommitted: "COMMIT", replica.TransactionAborted: "ABORT"}
	gradeLabels = map[commitment.Grade]string{commitment.Yes: "lost", commitment.Unknown: "maybe lost", commitment.No: "not lost"}
	gradeWords  = map[commitment.Grade]string{commitment.Yes: "committed ", commitment.Unknown: "", commitment.No: ""}
	gradeTails  = map[commitment.Grade]string{commitment.Unknown: "; nothing proves that they were committed", commitment.No: "; never committed, acks=1 producers may have been told ok"}
)

func ofGrade(list []incident.Loss, g commitment.Grade) []incident.Loss {
	return slices.DeleteFunc(slices.Clone(list), func(l incident.Loss) bool { return l.Committed != g })
}

// followerProse is a follower's fate in a sentence.
func followerProse(c *incident.Candidacy, f *incident.FollowerFate) string {
	if f.Offline != "" {
		return "does not start: " + Escape(f.Offline)
	}
	var s string
	switch {
	case f.Stuck:
		s = fmt.Sprintf("is stuck: its offset %d or its newest epoch is not in the leader's log, and it asks again for ever (OFFSET_OUT_OF_RANGE)", f.To)
	case f.Rebuild:
		s = fmt.Sprintf("ends at %d, below the leader's log start %d: it throws its whole log away", f.State.LogEnd, f.To)
		s += thrown(f) + fmt.Sprintf(" and starts anew at %d", f.To)
		if f.Base >= 0 {
			s += fmt.Sprintf("; that lies inside the leader's batch that begins at %d, so that its first segment begins there, below its log start", f.Base)
		}
	case f.To < f.State.LogEnd:
		s = fmt.Sprintf("truncates from %d to %d", f.State.LogEnd, f.To)
		if f.BelowHighWatermark {
			s += fmt.Sprintf(", below its high watermark %d", f.State.HighWatermark)
		}
		s += decidedBy(f) + thrown(f)
		if f.Base >= 0 {
			s += fmt.Sprintf("; offset %d lies inside its batch that begins at %d, which goes as a whole", f.To, f.Base)
		}
	default:
		s = "truncates nothing"
	}
	if len(f.Kept) > 0 {
		s += "; it keeps " + keptProse(f.Kept) + ", unlike its leader, and nothing ever corrects that"
	}
	if f.Stuck {
		return s
	}
	if f.FetchBytes > 0 {
		return s + "; fetches " + count(f.FetchBytes, "byte", "bytes")
	}
	return s + "; has nothing to fetch"
}

// decidedBy names what decided about the cut where it is not the leader epoch.
func decidedBy(f *incident.FollowerFate) string {
	switch f.How {
	case broker.CutByHighWatermark:
		return " (it has no leader epochs to compare: its high watermark decides)"
	case broker.CutByLeaderEnd:
		return " (out of range: the leader's log end decides)"
	}
	return ""
}

func thrown(f *incident.FollowerFate) string {
	if f.ThrownAway == 0 && f.ThrownAwayBytes == 0 {
		return ""
	}
	s := ": " + count(f.ThrownAway, "record", "records") + " (" + count(f.ThrownAwayBytes, "byte", "bytes") + ") thrown away"
	switch {
	case f.Again == 0:
	case f.Again == f.ThrownAway:
		s += ", all of which the leader has as well"
	default:
		s += ", " + comma(f.Again) + " of them are in the leader's log as well"
	}
	return s
}

func groupsProse(c *incident.Candidacy) string {
	var beyond, inside, maybe []string
	for i := range c.Groups {
		g := &c.Groups[i]
		word := fmt.Sprintf("%s at %d", Escape(g.Group), g.Position)
		switch {
		case g.Beyond:
			beyond = append(beyond, word)
		case g.Guess:
			maybe = append(maybe, word)
		default:
			inside = append(inside, word)
		}
	}
	var out []string
	if len(beyond) > 0 {
		out = append(out, fmt.Sprintf("beyond the new end %d: %s: out of range, auto.offset.reset decides where they go on", c.State.LogEnd, some(beyond)))
	}
	if len(inside) > 0 {
		out = append(out, "have read records that this leader does not have: "+some(inside))
	}
	if len(maybe) > 0 {
		out = append(out, "may have read records that this leader does not have (in which epoch is not known): "+some(maybe))
	}
	return strings.Join(out, "; ")
}

func some(words []string) string {
	const most = 5
	if len(words) > most {
		words = append(slices.Clone(words[:most-1]), fmt.Sprintf("%d more", len(words)-most+1))
	}
	return list(words)
}

func bestOf(l *incident.Leadership) []incident.BrokerRef {
	var out []incident.BrokerRef
	for i := range l.Candidates[:l.Best] {
		out = append(out, l.Candidates[i].Copy.Broker)
	}
	return out
}
