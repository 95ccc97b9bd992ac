package incident

import (
	"cmp"
	"slices"

	"kafsck/commitment"
	"kafsck/diff"
	"kafsck/kraft"
	"kafsck/replica"
)

// lose finds what the ruling log lacks, or, where nobody rules, what each live
// replica would lack if it led, and what acknowledged records no copy has.
func (j *judgement) lose() error {
	p := j.p
	if p.Ruling.Removed || j.known.foreign || !p.Ruling.Judged {
		return nil
	}
	if ruler := p.Ruling.copy; ruler != nil {
		losses, retried, err := j.lossesUnder(ruler)
		if err != nil {
			return err
		}
		p.Losses, p.Retried = losses, retried
		traces, err := j.traces(ruler)
		if err != nil {
			return err
		}
		p.Losses = append(p.Losses, traces...)
		sortLosses(p.Losses)
		j.readers(p.Losses, nil)
		return nil
	}
	start := int64(0)
	for _, c := range j.readableLive() {
		start = max(start, c.Log.LogStartOffset)
		losses, _, err := j.lossesUnder(c)
		if err != nil {
			return err
		}
		sortLosses(losses)
		j.readers(losses, c)
		p.Candidates = append(p.Candidates, Candidate{Leader: c.Broker, Eligible: slices.Contains(p.Ruling.Eligible, c.Broker.ID), Losses: losses})
	}
	// What no copy has is lost, whoever leads.
	acked, err := j.ackedWithoutRecord(start)
	if err != nil {
		return err
	}
	p.Losses = mergeTraces(acked)
	j.readers(p.Losses, nil)
	return nil
}

func sortLosses(list []Loss) {
	slices.SortStableFunc(list, func(a, b Loss) int {
		switch {
		case a.From == nil && b.From == nil:
			return 0
		case a.From == nil:
			return 1
		case b.From == nil:
			return -1
		}
		return cmp.Or(cmp.Compare(*a.From, *b.From), slices.Compare(a.Epochs, b.Epochs))
	})
}

// lossesUnder finds the records that some copy holds and ruler does not, with
// their grade. retried counts those that stand in ruler at another offset.
func (j *judgement) lossesUnder(ruler *Copy) (losses []Loss, retried int64, err error) {
	var holders []*Copy
	for _, c := range j.p.Copies {
		if c != ruler && c.readable() && c.State != replica.Cleaned && !c.Log.Empty() {
			holders = append(holders, c)
		}
	}
	compacted := j.p.Ruling.Policy == compactPolicy
	gone := map[int][]diff.Gone{}
	forked := map[int]bool{} // by copy: other records stand at the ruling log's end
	for _, h := range holders {
		list, err := diff.Missing(ruler.Content(), h.Content(), ruler.Log.LogStartOffset, compacted)
		if err != nil {
			return nil, 0, err
		}
		forked[h.Index] = slices.ContainsFunc(list, func(g diff.Gone) bool { return g.Reason == diff.Other && g.To == ruler.Log.LogEndOffset })
		if list, err = j.withoutCopiedLater(ruler, h, list); err != nil {
			return nil, 0, err
		}
		again, err := diff.Retried(ruler.Content(), h.Content(), list)
		if err != nil {
			return nil, 0, err
		}
		for _, s := range again {
			retried += s.To - s.From
		}
		gone[h.Index] = subtract(list, again)
	}
	court, err := j.court(ruler, holders, gone)
	if err != nil {
		return nil, 0, err
	}
	// Each content is told once: what an earlier holder has told is left out of the
	// later ones', and each range is cut where the set of holders changes.
	for i, h := range holders {
		mine := gone[h.Index]
		for _, earlier := range holders[:i] {
			told, err := diff.Held(h.Content(), earlier.Content(), spansOf(mine))
			if err != nil {
				return nil, 0, err
			}
			mine = subtract(mine, told)
		}
		parts := []part{}
		for _, g := range mine {
			parts = append(parts, part{Gone: g, copies: []*Copy{h}, forked: forked[h.Index]})
		}
		for _, later := range holders[i+1:] {
			also, err := diff.Held(h.Content(), later.Content(), spansOf(mine))
			if err != nil {
				return nil, 0, err
			}
			parts = shareParts(parts, also, later)
		}
		for _, x := range parts {
			list, err := j.grade(ruler, h, x, court)
			if err != nil {
				return nil, 0, err
			}
			losses = append(losses, list...)
		}
	}
	losses = joinLosses(losses)
	return losses, retried, j.mending(ruler, losses)
}

// withoutCopiedLater leaves out what the ruling leader may have by now. Any other log
// would lead as it was copied.
func (j *judgement) withoutCopiedLater(ruler, h *Copy, list []diff.Gone) ([]diff.Gone, error) {
	if ruler != j.p.Ruling.copy {
		return list, nil
	}
	var out []diff.Gone
	for _, g := range list {
		later, err := j.copiedLater(ruler, h, g.From, g.To)
		if err != nil {
			return nil, err
		}
		if !later {
			out = append(out, g)
		}
	}
	return out, nil
}

// part is a range of gone records with all copies that hold them.
type part struct {
	diff.Gone
	copies []*Copy
	forked bool // the first copy had left the ruling log's line before the ruling log ends
}

// shareParts cuts parts where copy starts or stops holding them.
func shareParts(parts []part, spans []replica.Span, c *Copy) []part {
	var out []part
	for _, p := range parts {
		at := p.From
		for _, s := range spans {
			lo, hi := max(s.From, at), min(s.To, p.To)
			if lo >= hi {
				continue
			}
			if lo > at {
				q := p
				q.From, q.To = at, lo
				out = append(out, q)
			}
			q := p
			q.From, q.To = lo, hi
			q.copies = append(slices.Clone(p.copies), c)
			out = append(out, q)
			at = hi
		}
		if at < p.To {
			p.From = at
			out = append(out, p)
		}
	}
	return out
}

// subtract removes spans from ranges.
func subtract(list []diff.Gone, spans []replica.Span) []diff.Gone {
	var out []diff.Gone
	for _, g := range list {
		at := g.From
		for _, s := range spans {
			lo, hi := max(s.From, at), min(s.To, g.To)
			if lo >= hi {
				continue
			}
			if lo > at {
				x := g
				x.From, x.To = at, lo
				out = append(out, x)
			}
			at = hi
		}
		if at < g.To {
			g.From = at
			out = append(out, g)
		}
	}
	return out
}

// grade walks the blocks of one part in its first holder and gives each stretch
// its grade; stretches with the same answer are joined.
func (j *judgement) grade(ruler, h *Copy, x part, court commitment.Court) ([]Loss, error) {
	var out []Loss
	indexes := []int{}
	for _, c := range x.copies {
		indexes = append(indexes, c.Index)
	}
	acks := acksOf(court)
	for b, err := range h.Log.Blocks(x.From, x.To) {
		if err != nil {
			return nil, err
		}
		if !b.Whole() {
			continue
		}
		from, to := max(b.Base, x.From), min(b.Next(), x.To)
		edges := append([]int64{from}, court.Cuts(from, to)...)
		edges = append(edges, to)
		for i := 0; i+1 < len(edges); i++ {
			piece := commitment.Piece{From: edges[i], To: edges[i+1], Epoch: b.Epoch, MaxTimestamp: b.MaxTimestamp, Copies: indexes, Brokers: brokersOf(x.copies)}
			n, err := diff.CountRecords(h.Content(), &b, piece.From, piece.To)
			if err != nil {
				return nil, err
			}
			if n == 0 {
				continue
			}
			evidence := court.Hear(&piece)
			if x.Unsure {
				evidence = nil // a superseding record may have lain behind the holder's end
			}
			l := Loss{
				From: ptr(piece.From), To: ptr(piece.To), Records: ptr(n), Basis: "copy", ToExact: true,
				Committed: commitment.Weigh(evidence), Acknowledged: commitment.AckedUnknown, Evidence: evidence,
				Cause: j.cause(ruler, x, b.Epoch), FirstMs: b.MaxTimestamp, LastMs: b.MaxTimestamp,
				HeldBy: refsOf(x.copies), Epochs: []int32{},
			}
			l.Election = j.electionAfter(b.Epoch, l.Cause)
			if b.Epoch >= 0 {
				l.Epochs = []int32{b.Epoch}
			}
			if acks != nil {
				l.Acknowledged = acks.Of(&piece)
			}
			for _, c := range x.copies {
				l.Copies = append(l.Copies, CopyRef{Broker: c.Broker, State: c.State, File: c.file()})
			}
			j.alsoRemote(&l, b.Epoch)
			out = appendLoss(out, l)
		}
	}
	return out, nil
}

func acksOf(court commitment.Court) *commitment.Acks {
	for _, w := range court {
		if a, ok := w.(*commitment.Acks); ok {
			return a
		}
	}
	return nil
}

func ptr(v int64) *int64 { return &v }

// cause names why the ruling log lacks records of epoch e.
func (j *judgement) cause(ruler *Copy, g part, e int32) string {
	switch g.Reason {
	case diff.Rotten:
		return CauseDamage
	case diff.Latest:
		return CauseRecordLoss
	}
	end := ruler.Log.LogEndOffset
	if !j.p.Stale {
		next, clean := j.succession(e)
		start := end
		if next != nil {
			if s, ok := startOf(ruler, next); ok {
				start = s
			}
		}
		switch {
		case next == nil || g.From < start:
			// Nobody was elected since, or the range lies in e's own part of the ruling log.
		case next.Unclean:
			return CauseUnclean
		case clean || g.From >= start:
			return CauseNotReplicated
		}
	}
	switch {
	case g.Reason == diff.Absent && g.To <= end && g.From < end:
		return CauseMissingRange
	case g.Reason == diff.Absent && g.From >= end && !g.forked && ruler.Log.LatestEpoch() <= e:
		return CauseLeaderBehind // not when the ruling log went on in a newer epoch
	}
	return CauseUnknown
}

func startOf(ruler *Copy, c *kraft.Change) (int64, bool) {
	return startAtOrAfter(ruler, c.LeaderEpoch)
}

// appendLoss joins a loss to the one before it when they touch and every answer
// is the same.
func appendLoss(list []Loss, l Loss) []Loss {
	if n := len(list); n > 0 && canJoin(&list[n-1], &l) {
		joinLoss(&list[n-1], &l)
		return list
	}
	return append(list, l)
}

func canJoin(a, b *Loss) bool {
	return a.Basis == "copy" && b.Basis == "copy" && *a.To == *b.From && a.Committed == b.Committed && a.Acknowledged == b.Acknowledged && a.Cause == b.Cause &&
		slices.Equal(kinds(a.Evidence), kinds(b.Evidence)) && slices.Equal(a.Copies, b.Copies)
}

func joinLoss(a, b *Loss) {
	a.To = b.To
	a.Records = ptr(*a.Records + *b.Records)
	a.LastMs = max(a.LastMs, b.LastMs)
	for _, e := range b.Epochs {
		if !slices.Contains(a.Epochs, e) {
			a.Epochs = append(a.Epochs, e)
		}
	}
}

// joinLosses joins losses of different parts that touch and agree.
func joinLosses(list []Loss) []Loss {
	sortLosses(list)
	var out []Loss
next:
	for _, l := range list {
		for i := len(out) - 1; i >= 0 && i >= len(out)-4; i-- {
			if canJoin(&out[i], &l) {
				joinLoss(&out[i], &l)
				continue next
			}
		}
		out = append(out, l)
	}
	return out
}

func kinds(list []commitment.Evidence) []string {
	var out []string
	for _, e := range list {
		if k := string(e.Kind) + "/" + string(e.Says); !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}
