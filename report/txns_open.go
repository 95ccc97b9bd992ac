package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kafsck/incident"
	"kafsck/replica"
)

// openRow is one open transaction and the copies that hold it.
type openRow struct {
	x      *incident.OpenTransaction
	copies []*incident.CopyTransactions
	live   bool // on some live replica
	// behind: only copies hold it that have not fetched its marker yet: in the leader's log
	// it has ended.
	behind bool
}

// leaderCopy is the transactions of the ruling leader's live replica, nil where nobody
// rules or its log is not among the inputs.
func leaderCopy(p *incident.Partition, tx *incident.Transactions) *incident.CopyTransactions {
	for i := range tx.Copies {
		if c := &tx.Copies[i]; ruling(p, c.Copy) && !c.Copy.Extra {
			return c
		}
	}
	return nil
}

// ended reports whether a transaction that is open in other copies has ended in the
// leader's: its log holds all of it, reaches further than these copies, and has it no more
// among the open ones.
func (r *openRow) ended(leader *incident.CopyTransactions) bool {
	if leader == nil || slices.Contains(r.copies, leader) || r.x.Hanging {
		return false
	}
	log := leader.Copy.Log
	for _, c := range r.copies {
		if c.Copy.Log.LogEndOffset >= log.LogEndOffset {
			return false
		}
	}
	return log.LogStartOffset <= r.x.First && r.x.Last < log.LogEndOffset && leader.Any()
}

// openRows joins the same transaction of several replicas. What is said of it is what the
// ruling leader's copy says, else the first.
func openRows(p *incident.Partition, tx *incident.Transactions) []openRow {
	type key struct {
		producer, first int64
		epoch           int16
	}
	var out []openRow
	at := map[key]int{}
	for i := range tx.Copies {
		c := &tx.Copies[i]
		for j := range c.Open {
			x := &c.Open[j]
			k := key{x.ProducerID, x.First, x.ProducerEpoch}
			n, known := at[k]
			if !known {
				n = len(out)
				at[k] = n
				out = append(out, openRow{x: x})
			}
			r := &out[n]
			if r.copies = append(r.copies, c); len(r.copies) > 1 && ruling(p, c.Copy) {
				r.x = x
			}
			r.live = r.live || c.Copy.State == replica.Live && !c.Copy.Extra
		}
	}
	leader := leaderCopy(p, tx)
	for i := range out {
		out[i].behind = out[i].ended(leader)
	}
	slices.SortStableFunc(out, func(a, b openRow) int { return cmp.Compare(a.x.First, b.x.First) })
	return out
}

func ruling(p *incident.Partition, c *incident.Copy) bool {
	return p.Ruling.Leader != nil && *p.Ruling.Leader == c.Broker && c.State == replica.Live
}

// endedText counts what has ended, of the copy that has most of it.
func endedText(tx *incident.Transactions) string {
	var most *incident.CopyTransactions
	for i := range tx.Copies {
		if c := &tx.Copies[i]; most == nil || c.Committed+c.Aborted > most.Committed+most.Aborted {
			most = c
		}
	}
	if most.Committed+most.Aborted+most.MarkerOnly == 0 {
		return "no transaction has ended" + oddities(most)
	}
	text := fmt.Sprintf("%s committed, %s aborted", comma(most.Committed), comma(most.Aborted))
	if most.MarkerOnly > 0 {
		text += ", " + count(most.MarkerOnly, "marker without records", "markers without records")
	}
	return text + oddities(most)
}

// oddities are what no transaction of a healthy cluster shows, or few.
func oddities(c *incident.CopyTransactions) string {
	text := ""
	if c.AbortedByIndex > 0 {
		text += "; " + count(c.AbortedByIndex, "aborted one is known from the .txnindex alone, its marker cannot", "aborted ones are known from the .txnindex alone, their markers cannot") + " be read"
	}
	if c.Doubtful > 0 {
		text += "; in " + count(c.Doubtful, "of these", "of these") + " records may have been ended by another marker, which cannot be read: whether they were committed is not known (kafsck export marks them)"
	}
	if c.Spanned > 0 {
		text += "; " + count(c.Spanned, "marker ended", "markers ended") + " records of two producer epochs: the older ones belong to a transaction that had hung"
	}
	if c.Regressed > 0 {
		text += "; " + count(c.Regressed, "marker carries", "markers carry") + " a lower coordinator epoch than the one before (KAFKA-9144: harmless by itself)"
	}
	if c.Unknown > 0 {
		text += fmt.Sprintf("; %s that no release writes, the first at offset %d", count(c.Unknown, "control batch of a producer is of a type", "control batches of producers are of types"), c.FirstUnknown)
	}
	if c.Overflow {
		text += "; more than 262,144 were open at a time: those beyond were not followed"
	}
	return text
}

func (t *Txns) openTable(rows []openRow) []string {
	if len(rows) == 0 {
		return nil
	}
	ids := slices.ContainsFunc(rows, func(r openRow) bool { return r.x.TransactionalID != "" })
	tab := table{header: []string{"STATE", ">PRODUCER", ">EPOCH", ">FIRST", ">LAST", ">RECORDS", "SINCE", "BROKER"}}
	if ids {
		tab.header = append(tab.header, "TRANSACTIONAL ID")
	}
	for i, r := range rows {
		if i == openListed && !t.All {
			tab.note(fmt.Sprintf("… %s, all with --all", count(len(rows)-openListed, "more", "more")))
			break
		}
		state := "open"
		switch {
		case r.behind:
			state = "behind"
		case r.x.Hanging:
			state = "hanging"
		}
		epoch := fmt.Sprint(r.x.ProducerEpoch)
		if r.x.SpansEpochs() {
			epoch = fmt.Sprintf("%d–%d", r.x.FirstEpoch, r.x.ProducerEpoch)
		}
		first := fmt.Sprint(r.x.First)
		if r.x.FromSnapshot {
			first += "*"
		}
		cells := []string{state, fmt.Sprint(r.x.ProducerID), epoch, first, orDash(r.x.Last), comma(r.x.Records), clockOr(r.x.SinceMs, "-"), holders(r.copies)}
		if ids {
			cells = append(cells, Escape(r.x.TransactionalID))
		}
		tab.add(cells...)
	}
	lines := append([]string{""}, tab.lines("  ")...)
	if slices.ContainsFunc(rows, func(r openRow) bool { return r.x.FromSnapshot }) {
		lines = append(lines, "  *: below the log start; known from a producer snapshot")
	}
	return append(lines, "")
}

func orDash(offset int64) string {
	if offset < 0 {
		return "-"
	}
	return fmt.Sprint(offset)
}

// holders names the brokers of copies, with the state of those that are not live.
func holders(copies []*incident.CopyTransactions) string {
	var names []string
	for _, c := range copies {
		name := Escape(c.Copy.Broker.Name)
		if c.Copy.State != replica.Live {
			name += " (" + string(c.Copy.State) + ")"
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// whys is the proof of each row. What is not known is said once.
func whys(rows []openRow, all bool) []string {
	var lines []string
	said := map[string]bool{}
	n, left := 0, 0
	for _, r := range rows {
		if r.behind {
			continue
		}
		label := "open"
		if r.x.Hanging {
			label = "hanging"
		}
		text := fmt.Sprintf("producer %d, offset %d: %s", r.x.ProducerID, r.x.First, r.x.Why)
		if r.x.Uncertain != "" {
			text += ". Uncertain: " + r.x.Uncertain
		}
		if !r.x.Hanging && said[r.x.Why] && r.x.Uncertain == "" {
			continue
		}
		if said[r.x.Why] = true; n >= whysListed && !all {
			left++
			continue
		}
		n++
		lines = append(lines, wideLabelled(2, label, Escape(text))...)
	}
	if left > 0 {
		lines = append(lines, "  … "+count(left, "more reason, all with --all", "more reasons, all with --all"))
	}
	return lines
}
