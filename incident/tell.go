package incident

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"kafsck/commitment"
	"kafsck/diff"
	"kafsck/finding"
	"kafsck/logdir"
	"kafsck/replica"
)

// tell makes findings of what the comparison found, for readers who ask what is
// wrong and not how replicas differ. One cause is told once: a divergence that a
// finding about one of its logs explains is left out.
func (p *Partition) tell() {
	if p.Ruling.Removed {
		return
	}
	stuck := p.tellStuck()
	p.tellForks()
	p.tellCommitted()
	if !stuck {
		p.tellBehind()
	}
}

// offsetsOf names the offsets [from, to), shown inclusively.
func offsetsOf(from, to int64) string {
	if to <= from+1 {
		return fmt.Sprintf("offset %d", from)
	}
	return fmt.Sprintf("offsets %d–%d", from, to-1)
}

// epochsOf names epochs; -1 is that of messages that carry none.
func epochsOf(list []int32) string {
	var words []string
	for _, e := range list {
		if e >= 0 {
			words = append(words, fmt.Sprint(e))
		}
	}
	switch len(words) {
	case 0:
		return "no epoch"
	case 1:
		return "epoch " + words[0]
	}
	return "epochs " + strings.Join(words, ", ")
}

func (p *Partition) told(code finding.Code, severity finding.Severity, c *Copy, from, to int64, summary string, evidence ...finding.Evidence) {
	p.addFinding(code, severity, c.Broker.Name, c.Dir, summary, "")
	f := &p.Findings[len(p.Findings)-1]
	f.At.From, f.At.To, f.Evidence = from, to, evidence
}

// tellStuck: the leader's log is damaged exactly where its followers end. The
// checksum finding of that batch is the same cause and gives way.
func (p *Partition) tellStuck() bool {
	ruler := p.Ruling.copy
	if ruler == nil || !ruler.readable() || len(p.Live()) < 2 {
		return false
	}
	for _, a := range ruler.Log.Anomalies.Kept {
		if !slices.Contains(unreadable, a.Kind) || a.From < 0 || a.To >= ruler.Log.LogEndOffset {
			continue
		}
		for _, c := range p.Live() {
			if c != ruler && (!c.readable() || c.Log.LogEndOffset != a.From) {
				return false
			}
		}
		for i := range p.Findings {
			f := &p.Findings[i]
			if f.Count == 1 && f.At.Broker == ruler.Broker.Name && f.At.File == ruler.Log.Segments[a.Segment].Log.Path && f.At.Position == a.Position {
				p.Findings = slices.Delete(p.Findings, i, i+1)
				break
			}
		}
		p.told("leader-batch-bad-followers-stuck", finding.Loss, ruler, a.From, ruler.Log.LogEndOffset,
			fmt.Sprintf("all other replicas end at %d, where the log of %s is damaged: following it they can never pass that, and it alone holds %s", a.From, p.leaderNamed(), offsetsOf(a.To, ruler.Log.LogEndOffset)),
			says("%s position %d, %s bytes, %s: %s", ruler.Log.Segments[a.Segment].Log.Path, a.Position, humanize.Comma(a.Length), offsetsOf(a.From, a.To), orElse(a.Detail, "not readable")))
		f := &p.Findings[len(p.Findings)-1]
		f.At.File, f.At.Position, f.At.Length = ruler.Log.Segments[a.Segment].Log.Path, a.Position, a.Length
		if d := ruler.Log.Partition.LogDir; !d.CleanShutdown && !d.Bare && !d.Partial && !d.Incomplete {
			f.Next = "Do not start this broker: there is no clean shutdown marker, and a start may cut the log at the batch (kafsck predict start). What lies behind it exists nowhere else: save it first (kafsck dump --records --offsets); kafsck repair plan then says what can be cut out."
		}
		return true
	}
	return false
}

// leaderNamed is the ruling leader as a sentence names it: what is a guess is told as one.
func (p *Partition) leaderNamed() string {
	name := "the leader, broker " + p.Ruling.Leader.Name
	if p.Ruling.Guess {
		return "broker " + p.Ruling.Leader.Name + " (guessed to be the leader)"
	}
	return name
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// tellForks: the replicas hold different records.
func (p *Partition) tellForks() {
	severity, n := finding.Note, 0
	var first *Divergence
	var evidence []finding.Evidence
	for i := range p.Divergences {
		d := &p.Divergences[i]
		if d.A.Broker == d.B.Broker {
			continue // duplicate-partition-dirs tells how the two differ
		}
		s, ok := p.forkSeverity(d)
		if !ok {
			continue
		}
		n++
		severity = max(severity, s)
		if first == nil {
			first = d
		}
		if len(evidence) < 4 {
			if d.Kind == diff.RecordLoss && d.Bad >= 0 {
				evidence = append(evidence, says("%s: the latest value of a key is not in the log of broker %s; compared: brokers %s and %s", offsetsOf(d.From, d.To), [2]*Copy{d.A, d.B}[d.Bad].Broker.Name, d.A.Broker.Name, d.B.Broker.Name))
				continue
			}
			evidence = append(evidence, says("brokers %s and %s, %s at %s: %s against %s", d.A.Broker.Name, d.B.Broker.Name, d.Kind, offsetsOf(d.From, d.To), epochsOf(d.Sides[0].Epochs), epochsOf(d.Sides[1].Epochs)))
		}
	}
	if first == nil {
		return
	}
	summary := fmt.Sprintf("replicas hold different records from offset %d on", first.From)
	if n > 1 {
		summary += fmt.Sprintf(" (%d ranges)", n)
	}
	if severity == finding.Warning {
		summary += "; nothing proves that what the leader lacks was ever committed"
	}
	if slices.ContainsFunc(p.Losses, func(l Loss) bool { return p.Pending(&l) && lossOverlaps(&l, first) }) {
		summary += fmt.Sprintf("; broker %s still has them, in files that its next start deletes", p.Ruling.copy.Broker.Name)
	}
	p.told("divergence", severity, first.B, first.From, first.To, summary, evidence...)
	p.Findings[len(p.Findings)-1].Count = n
}

// forkSeverity grades a divergence by what is lost with it. ok is false for what
// is no fork, or told of otherwise.
func (p *Partition) forkSeverity(d *Divergence) (severity finding.Severity, ok bool) {
	switch d.Kind {
	case diff.EpochFork, diff.ContentFork:
	case diff.SameEpochConflict:
		return finding.Damage, true
	case diff.RecordLoss:
		return finding.Loss, true
	default:
		return 0, false
	}
	if !d.Ruled {
		return finding.Damage, true
	}
	for i := range p.Losses {
		if l := &p.Losses[i]; l.Committed == commitment.Yes && lossOverlaps(l, d) {
			return finding.Loss, true
		}
	}
	// An epoch that is wholly on the losing side was led by a leader of whom the ruling
	// log knows nothing: more than a tail that its successor had not fetched.
	for _, e := range d.Sides[1].Epochs {
		first := d.B.Log.Lineage.In(d.B.Log.LogStartOffset, d.From)
		if !slices.Contains(first, e) && !p.Ruling.copy.Log.Lineage.Has(e) {
			return finding.Damage, true
		}
	}
	return finding.Warning, true
}

func lossOverlaps(l *Loss, d *Divergence) bool {
	return l.From != nil && *l.From < d.To && (l.To == nil || d.From < *l.To)
}

// tellCommitted: committed records that the ruling log lacks and some copy holds.
func (p *Partition) tellCommitted() {
	ruler := p.Ruling.copy
	if ruler == nil || !ruler.readable() {
		return
	}
	code := finding.Code("acked-records-only-on")
	var evidence []finding.Evidence
	from, to, n := int64(-1), int64(-1), 0
	var holder *Copy
	p.tellPending()
	for i := range p.Losses {
		l := &p.Losses[i]
		if p.Pending(l) {
			continue // interrupted-swap tells of it
		}
		if p.twinHolds(ruler, l) {
			continue // duplicate-partition-dirs tells of it, and from which offset on the two differ
		}
		if l.Committed != commitment.Yes || l.Basis != "copy" || len(l.HeldBy) == 0 || l.From == nil || l.To == nil || l.Cause == CauseDamage || p.ahead(l) {
			continue
		}
		n++
		if holder == nil {
			from, to = *l.From, *l.To
			holder = p.copyOf(l)
			if l.Cause != CauseUnclean && (ruler.Log.HighWatermark == nil || *ruler.Log.HighWatermark <= *l.From) && p.forkAt(*l.From) {
				code = "epoch-skips-committed-range"
			}
		}
		to = max(to, *l.To)
		if len(evidence) < 4 {
			e := says("%s, %s, held by %s", offsetsOf(*l.From, *l.To), epochsOf(l.Epochs), holders(l.HeldBy))
			for _, x := range l.Evidence {
				if x.Says == commitment.Yes {
					e.Claim += ": " + x.Claim
					break
				}
			}
			evidence = append(evidence, e)
		}
	}
	if holder == nil {
		return
	}
	summary := fmt.Sprintf("committed records are gone from the log of %s and survive on other copies only: %s", p.leaderNamed(), offsetsOf(from, to))
	if code == "epoch-skips-committed-range" {
		summary = fmt.Sprintf("a newer leader epoch begins at %d, below the high watermark of the one before: it replaced committed records at %s", from, offsetsOf(from, to))
	}
	p.told(code, finding.Loss, holder, from, to, summary, evidence...)
	p.Findings[len(p.Findings)-1].Count = n
}

// twinHolds reports whether only a second live directory of the same broker holds what is lost.
func (p *Partition) twinHolds(ruler *Copy, l *Loss) bool {
	return !slices.ContainsFunc(l.HeldBy, func(b BrokerRef) bool { return b != ruler.Broker }) &&
		slices.ContainsFunc(p.Copies, func(c *Copy) bool { return c.Extra && c.State == replica.Live && c.Broker == ruler.Broker })
}

// Pending reports whether nothing of a loss is gone yet: the leader's own directory holds the records
// in files that its next start deletes, in favour of the .swap files beside them.
func (p *Partition) Pending(l *Loss) bool {
	ruler := p.Ruling.copy
	if ruler == nil || !ruler.readable() {
		return false
	}
	swap := slices.ContainsFunc(ruler.Log.Segments, func(s *logdir.Segment) bool { return s.Suffix == logdir.Swap })
	return swap && slices.ContainsFunc(l.Copies, func(c CopyRef) bool {
		return c.Broker == ruler.Broker && (c.State == replica.Replaced || c.State == replica.Deleted)
	})
}

// tellPending adds to the finding about an interrupted swap who else holds what the next start deletes.
func (p *Partition) tellPending() {
	var others []string
	n := 0
	for i := range p.Losses {
		l := &p.Losses[i]
		if !p.Pending(l) {
			continue
		}
		n++
		for _, b := range l.HeldBy {
			if name := holders([]BrokerRef{b}); b != p.Ruling.copy.Broker && !slices.Contains(others, name) {
				others = append(others, name)
			}
		}
	}
	if n == 0 {
		return
	}
	for i := range p.Findings {
		f := &p.Findings[i]
		switch {
		case f.Code != "interrupted-swap" || f.At.Broker != p.Ruling.copy.Broker.Name:
		case len(others) > 0:
			f.Evidence = append(f.Evidence, says("nothing is gone yet; such records are on %s as well", listed(others)))
		default:
			f.Evidence = append(f.Evidence, says("nothing is gone yet; no other replica among the inputs holds these records"))
		}
	}
}

func (p *Partition) forkAt(from int64) bool {
	return slices.ContainsFunc(p.Divergences, func(d Divergence) bool { return d.Kind == diff.EpochFork && d.From <= from && from < d.To })
}

func (p *Partition) copyOf(l *Loss) *Copy {
	for _, c := range p.Copies {
		if slices.Contains(l.HeldBy, c.Broker) && c.readable() {
			return c
		}
	}
	return p.Ruling.copy
}

func holders(refs []BrokerRef) string {
	var words []string
	for _, b := range refs {
		if b.IsRemoteTier() {
			words = append(words, "the "+b.Name)
			continue
		}
		words = append(words, "broker "+b.Name)
	}
	return listed(words)
}

// ahead reports whether a loss is the end of logs that are longer than the
// leader's; tellBehind tells those.
func (p *Partition) ahead(l *Loss) bool {
	return slices.ContainsFunc(p.Divergences, func(d Divergence) bool { return d.Kind == diff.LeaderBehind && d.Ruled && lossOverlaps(l, &d) })
}

// tellBehind: the leader's log is the shorter one. In its own newest epoch it lost
// its tail; in a newer one it was elected without these records.
func (p *Partition) tellBehind() {
	ruler := p.Ruling.copy
	if ruler == nil || !ruler.readable() {
		return
	}
	var longest *Divergence
	var evidence []finding.Evidence
	for i := range p.Divergences {
		d := &p.Divergences[i]
		if d.Kind != diff.LeaderBehind || !d.Ruled || d.CopiedLater {
			continue
		}
		if longest == nil || d.To > longest.To {
			longest = d
		}
		below := int64(0)
		if hw := d.B.Log.HighWatermark; hw != nil {
			below = max(min(*hw, d.To)-d.From, 0)
		}
		evidence = append(evidence, says("broker %s ends at %d, %s offsets above the leader's end; %s of them lie below its stored high watermark", d.B.Broker.Name, d.To, humanize.Comma(d.To-d.From), humanize.Comma(below)))
	}
	counts := slices.ContainsFunc(p.Losses, func(l Loss) bool { return l.Counts() && longest != nil && lossOverlaps(&l, longest) })
	if longest == nil || !counts {
		return
	}
	if ruler.Log.LatestEpoch() <= longest.B.Log.Lineage.Latest() {
		p.told("replica-ahead-of-leader", finding.Loss, longest.B, longest.From, longest.To,
			fmt.Sprintf("broker %s holds %s offsets more than %s, in the newest epoch of both (%s): that log lost its tail", longest.B.Broker.Name, humanize.Comma(longest.To-longest.From), p.leaderNamed(), offsetsOf(longest.From, longest.To)), evidence...)
		return
	}
	// Offsets that two or more replicas held may have been acknowledged to acks=all
	// producers with min.insync.replicas 2; those of one replica to acks=1 producers.
	var ends []int64
	for _, c := range p.Live() {
		if c.readable() && c != ruler && c.Log.LogEndOffset > longest.From {
			ends = append(ends, c.Log.LogEndOffset)
		}
	}
	slices.Sort(ends)
	slices.Reverse(ends)
	estimate := []finding.Evidence{says("acks=1: the longest log counts, %s records", humanize.Comma(ends[0]-longest.From))}
	if len(ends) > 1 {
		estimate = append(estimate, says("acks=all with min.insync.replicas 2: what two replicas held counts, %s records", humanize.Comma(ends[1]-longest.From)))
	} else {
		estimate = append(estimate, says("acks=all with min.insync.replicas 2: 0 records, if the replicas among these inputs are all"))
	}
	p.told("unclean-election-estimate", finding.Loss, longest.B, longest.From, longest.To,
		fmt.Sprintf("broker %s leads in epoch %d and lacks what other replicas wrote before it: up to %s records from offset %d on", ruler.Broker.Name, ruler.Log.LatestEpoch(), humanize.Comma(ends[0]-longest.From), longest.From), append(estimate, evidence...)...)
}
