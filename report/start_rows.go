package report

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"kafsck/broker"
	"kafsck/incident"
	"kafsck/logdir"
)

// What is shown without All.
const (
	maxStartActions = 6  // of a partition directory
	maxStartRows    = 20 // of a broker's table
)

// partitionRow is a partition directory with something to tell.
type partitionRow struct {
	rank  int // worst first
	cells []string
	notes []string // prose
}

// Ranks of rows, worst first.
const (
	rankFails = iota
	rankUnread
	rankFollows
	rankGone
	rankStray
	rankRest
)

var startHeader = []string{"PARTITION", "OUTCOME", ">START", ">END", ">RECOVERY POINT", "EPOCHS"}

// rowName is the partition, and the directory as well where the broker has several of it in one state:
// on two disks, or since Kafka reads p-12 and p-012 alike.
func (t *Starts) rowName(x *incident.Partition, ps *incident.PartitionStart) string {
	name := t.Paths.label(x)
	if st := ps.Partition.State; st != logdir.Live {
		name += " (" + st.String() + ")"
	}
	if slices.ContainsFunc(x.Starts, func(o *incident.PartitionStart) bool {
		return o != ps && o.Start == ps.Start && o.Partition.State == ps.Partition.State
	}) {
		name += " in " + Escape(ps.Partition.Dir)
	}
	return name
}

// row is a partition directory; tells is false when nothing of value changes.
func (t *Starts) row(x *incident.Partition, ps *incident.PartitionStart) (row partitionRow, tells bool) {
	name := t.rowName(x, ps)
	row = partitionRow{rank: rankRest, cells: []string{name, string(ps.Loaded.Outcome), "-", "-", "-", "-"}}
	note := func(format string, args ...any) { row.notes = append(row.notes, fmt.Sprintf(format, args...)) }
	worse := func(rank int) { row.rank, tells = min(row.rank, rank), true }
	if ps.Loaded.Outcome == broker.DirOffline || ps.Loaded.Outcome == broker.BrokerAborts {
		note("%s", Escape(ps.Loaded.Why))
		worse(rankFails)
	} else {
		row.cells = []string{name, string(ps.Loaded.Outcome), fmt.Sprint(ps.LogStartOffset), fmt.Sprint(ps.LogEndOffset), fmt.Sprint(ps.RecoveryPoint), cacheProse(ps)}
	}
	if f := ps.Follows; f != nil && len(f.Lost) > 0 {
		note("%s", followsProse(f))
		worse(rankFollows)
	}
	if ps.Stray != "" {
		note("renamed to -stray: %s", Escape(ps.Stray))
		worse(rankStray)
	}
	if ps.Unsure != "" {
		note("%s", Escape(ps.Unsure))
	}
	value, rest := t.actions(ps)
	if len(value) > 0 {
		worse(rankGone)
	}
	row.notes = append(row.notes, value...)
	if s := ps.BelowWatermark; s.From < s.To {
		note("%s", watermarkProse(ps))
		worse(rankGone)
	}
	switch {
	case t.All:
		row.notes = append(row.notes, rest...)
	case ps.Stray == "" && ps.Partition.State != logdir.Delete:
		if s := summed(ps); s != "" {
			note("%s", s)
		}
	}
	return row, tells
}

// table prints the rows of a broker, worst first. Of rows with the same to tell only the last tells it.
func (t *Starts) table(rows []partitionRow) []string {
	slices.SortStableFunc(rows, func(a, b partitionRow) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), slices.Compare(a.notes, b.notes))
	})
	total := len(rows)
	if !t.All {
		rows = rows[:min(total, maxStartRows)]
	}
	tab := table{header: startHeader}
	same := 0
	for i, r := range rows {
		tab.add(r.cells...)
		same++
		if i+1 < len(rows) && slices.Equal(r.notes, rows[i+1].notes) {
			continue
		}
		for k, n := range r.notes {
			if same > 1 && k == 0 {
				n = fmt.Sprintf("each of these %d: %s", same, n)
			}
			for _, line := range indented("  ", n) {
				tab.note(line)
			}
		}
		same = 0
	}
	out := tab.lines("  ")
	if n := total - len(rows); n > 0 {
		out = append(out, fmt.Sprintf("  … the %d worst; %s more with --all or --json", len(rows), comma(n)))
	}
	return out
}

// actions tells what takes something of value away, and what does not.
func (t *Starts) actions(ps *incident.PartitionStart) (value, rest []string) {
	told := 0
	for _, x := range ps.Actions {
		switch {
		case !isValue(ps, x):
			rest = append(rest, actionProse(ps, x))
		case told >= maxStartActions && !t.All:
			told++
		default:
			told++
			value = append(value, actionProse(ps, x))
		}
	}
	if ps.Partition.State == logdir.Delete && len(ps.Gone) > 0 {
		s := "the whole directory is deleted: it was queued for deletion"
		if ps.RemovedAt >= 0 {
			s = fmt.Sprintf("the whole directory is deleted: the topic was (metadata offset %d)", ps.RemovedAt)
		}
		value = append(value, s)
	}
	if more := told - maxStartActions; more > 0 && !t.All {
		value = append(value, fmt.Sprintf("… and %s like these, all with --all", count(more, "action", "actions")))
	}
	return value, rest
}

// isValue: bytes of a log go away that are more than zeros, or the last copy of something does.
func isValue(ps *incident.PartitionStart, x broker.Action) bool {
	switch x.Action {
	case broker.ActTruncate:
		return x.Bytes > 0 && !zerosAlone(ps)
	case broker.ActMarkDeleted:
		return offLog(ps, x)
	case broker.ActDelete:
		return offLog(ps, x) || slices.ContainsFunc(ps.Gone, func(g incident.GoneRecords) bool { return path.Base(g.File) == x.File })
	case broker.ActSplit:
		return true
	}
	return false
}

// zerosAlone reports whether all that a start cuts off a log is zeros, and nothing that was committed
// is missing afterwards.
func zerosAlone(ps *incident.PartitionStart) bool {
	for _, x := range ps.Actions {
		if offLog(ps, x) && x.From < x.ToOffset {
			return false
		}
	}
	return ps.Cut.Harmless() && cutBytes(ps) == ps.Cut.Bytes && ps.BelowWatermark.From >= ps.BelowWatermark.To
}

// cutBytes is what the actions of a start take off a log.
func cutBytes(ps *incident.PartitionStart) int64 {
	var n int64
	for _, x := range ps.Actions {
		if offLog(ps, x) {
			n += x.Bytes
		}
	}
	return n
}

// offLog reports whether an action takes bytes off the log, and no finished compaction replaces them.
func offLog(ps *incident.PartitionStart, x broker.Action) bool {
	switch x.Action {
	case broker.ActTruncate, broker.ActMarkDeleted, broker.ActDelete:
		return strings.HasSuffix(x.File, ".log") && x.Bytes > 0 && !(x.Replaced && ps.Compacted)
	}
	return false
}
