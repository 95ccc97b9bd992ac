package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"kafsck/incident"
)

// Timeline prints all that carries a time, in one order.
type Timeline struct {
	Events  []incident.TimelineEvent
	Notes   []string
	Options incident.TimelineOptions
	Limit   int // rows, 0 all
}

// clockOf names whose clock gave a time: "controller 3", "client", "file on 2".
func clockOf(e *incident.TimelineEvent) string {
	switch {
	case e.Clock == incident.NoClock:
		return "no time"
	case e.ClockOf < 0:
		return string(e.Clock)
	case e.Clock == incident.FileClock:
		return fmt.Sprintf("file, broker %d", e.ClockOf)
	}
	return fmt.Sprintf("%s %d", e.Clock, e.ClockOf)
}

// lines is the table with what to make of it.
func (t *Timeline) lines() []string {
	events := onlyBatches(t.Events)
	var times []int64
	for i := range events {
		times = append(times, events[i].TimeMs)
	}
	title, cell := clockColumn(times)
	tab := table{header: []string{title, "CLOCK", "PARTITION", ">METADATA", "WHAT HAPPENED"}, wrap: true}
	h := &History{Limit: t.Limit}
	rows, skipped := h.shownRows(len(events), func(i int) bool {
		k := events[i].Kind
		return k == incident.TimeUnclean || k == incident.TimeTrace || k == incident.TimeSetAside
	})
	for k, i := range rows {
		e := &events[i]
		at := ""
		if e.MetadataOffset >= 0 {
			at = fmt.Sprint(e.MetadataOffset)
		}
		says := clipped(Escape(e.Says), maxWords)
		if e.Backwards {
			says += " (its clock stands behind that of the row before; placed by its order)"
		}
		tab.add(cell(e.TimeMs), clockOf(e), Escape(e.Partition), at, says)
		if n := skipped[k]; n > 0 {
			tab.note(fmt.Sprintf("… %s, all with --limit 0, --csv or --json", count(n, "more row", "more rows")))
		}
	}
	out := []string{""}
	if len(rows) == 0 {
		out = append(out, "Nothing with a time.")
	} else {
		out = append(out, tab.lines("")...)
	}
	out = append(out, "")
	remark := func(prose string) { out = append(out, indented("", prose)...) }
	remark("Clocks of different machines may differ: controller and broker are those nodes' own clocks, client is what a producer wrote into its batch and may be anything, file is a modification time that a copy may have changed. Metadata rows keep their order whatever the clocks say.")
	if ids := t.Options.Skewed(); len(ids) > 0 {
		var words []string
		for _, id := range ids {
			words = append(words, fmt.Sprintf("%s for broker %d", t.Options.Skew[id], id))
		}
		remark("Clock skew taken off: " + list(words) + "; --json and --csv have the times as they stand, too.")
	}
	for _, n := range t.Notes {
		remark("Note: " + Escape(n) + ".")
	}
	return out
}

// onlyBatches makes one row of the first and the last batch of an epoch where they are the
// same batch.
func onlyBatches(all []incident.TimelineEvent) []incident.TimelineEvent {
	var out []incident.TimelineEvent
	for i := range all {
		e := all[i]
		if n := len(out); n > 0 && e.Kind == incident.TimeLastWrite && out[n-1].Kind == incident.TimeFirstWrite && sameBatch(&e, &out[n-1]) {
			out[n-1].Says = strings.Replace(out[n-1].Says, "first batch", "only batch", 1)
			continue
		}
		out = append(out, e)
	}
	return out
}

func sameBatch(a, b *incident.TimelineEvent) bool {
	return a.Partition == b.Partition && a.TopicID == b.TopicID && a.From == b.From && a.To == b.To && a.Epoch == b.Epoch && a.TimeMs == b.TimeMs && slices.Equal(a.Brokers, b.Brokers)
}

// maxWords is how much of a row's words is shown: foreign log lines are long, and --csv
// and --json have them whole.
const maxWords = 160

// CSV writes the rows for a spreadsheet, with a line of names first.
func (t *Timeline) CSV(w io.Writer) error {
	c := csv.NewWriter(w)
	rows := [][]string{{"time", "timeMs", "rawTimeMs", "clock", "clockOf", "kind", "partition", "topicId", "brokers", "metadataOffset", "from", "to", "leaderEpoch", "outOfOrder", "what", "source"}}
	for i := range t.Events {
		e := &t.Events[i]
		number := func(n int64) string {
			if n < 0 {
				return ""
			}
			return fmt.Sprint(n)
		}
		when := ""
		if e.TimeMs >= 0 {
			when = time.UnixMilli(e.TimeMs).UTC().Format("2006-01-02T15:04:05.000Z")
		}
		var brokers []string
		for _, b := range e.Brokers {
			brokers = append(brokers, Escape(b.Name))
		}
		rows = append(rows, []string{when, number(e.TimeMs), number(e.RawMs), string(e.Clock), number(int64(e.ClockOf)), e.Kind, Escape(e.Partition), e.TopicID, strings.Join(brokers, " "),
			number(e.MetadataOffset), number(e.From), number(e.To), number(int64(e.Epoch)), fmt.Sprint(e.Backwards), Escape(e.Says), Escape(e.Source)})
	}
	if err := c.WriteAll(rows); err != nil {
		return err
	}
	c.Flush()
	return c.Error()
}
