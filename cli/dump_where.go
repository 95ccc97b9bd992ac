package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kafsck/internal/visible"
	"kafsck/query"
	"kafsck/report"
	"kafsck/segment"
)

// whereFilter is --where: it is asked of each line before it is shown or counted. nil says yes
// to all.
type whereFilter struct {
	cond    *query.Condition
	match1  *query.Matcher
	at      query.Place
	records bool
	line    query.Line           // the one that is asked about, kept to be used again
	lacking map[*query.Kind]bool // kinds of lines that came and were not asked
}

// whereText is the value of --where.
type whereText string

func (w *whereText) String() string { return string(*w) }
func (w *whereText) Type() string   { return "EXPR" }

// Set refuses an empty expression, which a script has from a variable that is not set: it would
// have all lines, as without the flag.
func (w *whereText) Set(s string) error {
	if strings.TrimSpace(s) == "" {
		return errors.New("the expression is empty")
	}
	*w = whereText(s)
	return nil
}

// shownNames is how many names a complaint lists.
const shownNames = 8

// newWhereFilter checks the expression of --where; nil if there is none.
func newWhereFilter(opt *dumpOptions) (*whereFilter, error) {
	if opt.where == "" {
		return nil, nil
	}
	c, err := query.Compile(string(opt.where), dumpedKinds(opt.records))
	if err != nil {
		if all, e := query.Compile(string(opt.where), query.DumpKinds); !opt.records && e == nil && (all.Asks(query.Record) || all.Asks(query.LegacyRecord)) {
			return nil, usagef("--where asks for what only records have").hint("add --records: a record has its batch's fields, too")
		}
		return nil, whereComplaint(err)
	}
	return &whereFilter{cond: c, match1: c.Matcher(), records: opt.records, lacking: map[*query.Kind]bool{}}, nil
}

// dumpedKinds are the kinds of lines that --where is asked of: records, where they are shown, and
// not their batches, which stand above them as headings.
func dumpedKinds(records bool) []*query.Kind {
	return slices.DeleteFunc(slices.Clone(query.DumpKinds), func(k *query.Kind) bool {
		if records {
			return k == query.Batch || k == query.Message
		}
		return k == query.Record || k == query.LegacyRecord
	})
}

// whereComplaint says what is wrong with an expression, and where.
func whereComplaint(err error) error {
	e, ok := errors.AsType[*query.Error](err)
	if !ok {
		return err
	}
	line, carets := e.Pointer(visible.Escape)
	u := usagef("--where, %s\n  %s\n  %s", visible.Escape(e.Error()), line, carets)
	if n := e.Names; len(n) > 0 {
		more := ""
		if len(n) > shownNames {
			more = fmt.Sprintf(", and %d more", len(n)-shownNames)
			n = n[:shownNames]
		}
		u.hint("there is %s%s", strings.Join(n, ", "), more)
	}
	return u.hint("all names, with examples: kafsck dump --help")
}

// whereHelp is the language in short, for --help.
func whereHelp() string {
	return `--where takes a condition on the fields of a line, by their names in --json:

  epoch == 7 && codec == "zstd" && offset >= 1000    == != < <= > >= && || ! + - * / %
  offset in 1000..1999     codec in ["lz4", "zstd"]   both ends included; not in
  time > "2026-10-29T12:00Z"                          or a date; date("…") is the same
  maxTimestamp - baseTimestamp > duration("1h")
  key == "order-17" or value contains "refund"        startsWith, endsWith; lower(key), len(value)
  key matches "^order-[0-9]+$"                        a regular expression
  header("trace") == "a"   value == nil               the last header of the name; null
  decoded.key.group == "billing"                      in records of Kafka's own topics
  3 in metadata.data.isr                              an element of a list in one

It is asked of records where --records shows them, else of batches; and of entries and files. A
line that lacks a name in it does not match. Names of a batch:
` + nameList(query.Batch) + `of a record (--records), which has its batch's, too:
` + nameList(query.Record, query.Batch) + `of all others: docs/where.md, or what --json shows.

`
}

// nameList are the names of a kind that another one does not have, in lines that fit.
func nameList(k *query.Kind, but ...*query.Kind) string {
	var b strings.Builder
	line := " "
	for _, name := range k.Names() {
		if slices.ContainsFunc(but, func(o *query.Kind) bool { return slices.Contains(o.Names(), name) }) {
			continue
		}
		if len(line)+len(name) > 85 {
			b.WriteString(line + "\n")
			line = " "
		}
		line += " " + name
	}
	return b.String() + line + "\n"
}

// in says which file is read.
func (w *whereFilter) in(t *dumpTarget) {
	if w == nil {
		return
	}
	w.at = query.Place{Partition: t.owner.partition, TopicID: t.owner.topicID, File: t.shown}
	if b := t.owner.broker; b != nil {
		w.at.Broker, w.at.BrokerKnown = b.ID, b.Known
	}
}

// match asks of any line.
func (w *whereFilter) match(l query.Line) bool {
	if w == nil {
		return true
	}
	w.line = l
	w.line.At = w.at
	return w.asked()
}

func (w *whereFilter) asked() bool {
	if !w.cond.Asks(w.line.Kind) {
		w.lacking[w.line.Kind] = true
		return false
	}
	return w.match1.Match(&w.line)
}

// frame asks of bytes that are no batch.
func (w *whereFilter) frame(f *segment.Frame) bool {
	if w == nil {
		return true
	}
	return w.match(query.Line{Kind: query.KindOfFrame(f), Frame: f})
}

// batch asks of a batch or message; where records are shown, only what needs none of them.
func (w *whereFilter) batch(f *segment.Frame) bool {
	switch {
	case w == nil:
		return true
	case !w.records:
		return w.match(query.Line{Kind: query.KindOfFrame(f), Frame: f})
	case f.Kind != segment.Batch:
		return true
	case !w.cond.Asks(query.Record):
		w.lacking[query.Record] = true
		return false
	case w.cond.OfBatch():
		return w.match(query.Line{Kind: query.Record, Frame: f})
	}
	return true
}

// ofRecords tells that a batch is to be shown only above a record of it.
func (w *whereFilter) ofRecords() bool { return w != nil && w.records }

// record asks of a record.
func (w *whereFilter) record(r *report.DumpRecord) bool {
	if w == nil {
		return true
	}
	l := query.Line{Kind: query.Record, Frame: r.Frame, Record: r.Record, Control: r.Control, Why: r.Why, Legacy: r.Legacy, BadCRC: r.BadCRC}
	if r.Legacy != nil {
		l.Kind = query.LegacyRecord
	}
	if r.Metadata != nil {
		l.Metadata = r.Metadata
	}
	if r.Decoded != nil {
		l.Decoded = r.Decoded
	}
	return w.match(l)
}

// notAsked are the kinds of lines that came and lack a name of the expression, with the name.
func (w *whereFilter) notAsked() []string {
	if w == nil {
		return nil
	}
	var list []string
	for _, k := range query.DumpKinds {
		if w.lacking[k] {
			list = append(list, k.Name)
		}
	}
	return list
}

// tell says of what kinds of lines the expression was not asked.
func (w *whereFilter) tell(out report.Dump) {
	if w == nil {
		return
	}
	var names []string // in the order of the kinds
	kinds := map[string][]string{}
	for _, k := range query.DumpKinds {
		if name := w.cond.Lacks(k); w.lacking[k] {
			if kinds[name] == nil {
				names = append(names, name)
			}
			kinds[name] = append(kinds[name], k.Name)
		}
	}
	for _, name := range names {
		out.Note("Not asked, since they have no %s: %s.", visible.Escape(name), strings.Join(kinds[name], ", "))
	}
	if n := w.match1.Failed; n > 0 {
		out.Note("--where could not be asked of %d lines: %s", n, visible.Escape(w.match1.Err.Error()))
	}
}
