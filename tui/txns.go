package tui

import (
	"context"
	"fmt"
	"strings"
	"time"

	"kafsck/incident"
	"kafsck/replica"
)

var txnsCommand = partitionCommand("txns", "transactions of a partition: open, hanging, aborted, committed", func(w *world, i int) screen { return newTxns(w, i, nil) })

// txnsScreen lists the transactions of one copy: open ones first, with why they hang or
// do not, then the finished ones.
type txnsScreen struct {
	about
	split
	want  string // directory of the copy that is shown first, "" the leader's
	copy  int    // index of all.Copies
	all   *incident.Transactions
	list  []txn
	shown bool // the finished ones of this copy are all there
	full  bool // there are more than are kept
	// failed: reading them ended with an error, which the root shows.
	failed bool
	gen    int // counts copies shown: late answers of another one are dropped
}

// txn is what is kept of a transaction: there may be millions.
type txn struct {
	producer, first, last, marker, firstMs, records int64
	epoch                                           int16
	state                                           replica.TransactionState
	open                                            int32 // index of the copy's Open, -1 finished
}

// maxTxns bounds the finished transactions that are kept; more are told, not dropped in
// silence.
const maxTxns = 500_000

var txnColumns = []column{
	{name: "state"}, {name: "producer", right: true}, {name: "epoch", right: true}, {name: "first", right: true}, {name: "last", right: true},
	{name: "marker", right: true}, {name: "records", right: true}, {name: "began", max: 24}, {name: "transactional id", max: 30},
}

func newTxns(w *world, index int, c *incident.Copy) *txnsScreen {
	s := &txnsScreen{about: about{w: w, index: index, change: func(o *incident.Options) { o.Transactions = true }}, split: split{table: newTable(txnColumns, txnRows{})}}
	s.fixed = 1
	if c != nil {
		s.want = c.Dir
	}
	return s
}

func (s *txnsScreen) crumb() string   { return "transactions" }
func (s *txnsScreen) command() string { return s.twin("txns", "--all") }

func (s *txnsScreen) bindings() []binding {
	return []binding{
		{keys: []string{"a"}, in: "next-aborted", help: "next aborted transaction", hint: "next aborted"},
		{keys: []string{"A"}, in: "previous-aborted", help: "previous aborted transaction", hint: "previous"},
		{keys: []string{"r"}, in: "next-replica", help: "next replica"},
		{keys: []string{"e"}, in: "marker", help: "end marker of the transaction, or its last record", hint: "end marker"},
	}
}

// judgedTxns is a story with its transactions judged.
type judgedTxns struct {
	p   *incident.Partition
	all *incident.Transactions
}

func (s *txnsScreen) start() work {
	s.all, s.list = nil, nil
	judge, inc := s.begin(), s.w.src.Incident
	return func(ctx context.Context) any {
		v := judge(ctx)
		p, ok := v.(*incident.Partition)
		if !ok {
			return v
		}
		j := inc.TransactionJudge(incident.TransactionOptions{})
		all := j.Judge(ctx, p)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		all.Errors = append(all.Errors, j.Errors()...)
		return judgedTxns{p, all}
	}
}

// txnChunk is finished transactions, in the order of their markers.
type txnChunk struct {
	gen  int
	list []txn
	end  bool
	full bool
}

func (s *txnsScreen) deliver(v any, ctl *control) work {
	if w, ok := s.deliverTable(v); ok {
		return w
	}
	switch v := v.(type) {
	case judgedTxns:
		s.p, s.all, s.copy = v.p, v.all, 0
		for i := range s.all.Copies {
			c := s.all.Copies[i].Copy
			if c.Dir == s.want || s.want == "" && s.p.Ruling.Leader != nil && c.Broker == *s.p.Ruling.Leader && c.State == replica.Live {
				s.copy = i
				break
			}
		}
		return s.show(ctl)
	case error:
		s.err, s.failed = v, s.all != nil
	case txnChunk:
		if v.gen != s.gen {
			return nil
		}
		s.list = append(s.list, v.list...)
		s.shown, s.full = v.end, v.full
		return s.setRows(s.newRows())
	}
	return nil
}

func (s *txnsScreen) newRows() txnRows {
	if s.all == nil || len(s.all.Copies) == 0 {
		return txnRows{}
	}
	return txnRows{s.p, &s.all.Copies[s.copy], s.list}
}

// show begins with the copy that is chosen.
func (s *txnsScreen) show(ctl *control) work {
	s.gen++
	s.list, s.shown, s.full, s.failed = nil, false, false, false
	if len(s.all.Copies) == 0 {
		s.shown = true
		return nil
	}
	c := &s.all.Copies[s.copy]
	for i := range c.Open {
		x := &c.Open[i]
		t := txnOf(&x.Transaction)
		t.open = int32(i)
		s.list = append(s.list, t)
	}
	s.marks = map[int]bool{}
	s.order = nil
	s.to(0)
	ctl.run(s.setRows(s.newRows()))
	log, gen := c.Copy.Log, s.gen
	return stream(func(ctx context.Context, emit func(any) bool) any {
		add := progress(ctx, "transactions", log.LogEndOffset-log.LogStartOffset, false)
		var list []txn
		n, at, last := 0, log.LogStartOffset, time.Now()
		for t, err := range log.Transactions(ctx) {
			if err != nil {
				return err
			}
			if t.State == replica.TransactionOpen {
				continue // told already, and judged
			}
			if n == maxTxns {
				return txnChunk{gen, list, true, true}
			}
			n++
			list = append(list, txnOf(&t))
			if time.Since(last) > chunkEvery {
				if t.Marker > at {
					add(t.Marker - at)
					at = t.Marker
				}
				if !emit(txnChunk{gen: gen, list: list}) {
					return nil
				}
				list, last = nil, time.Now()
			}
		}
		return txnChunk{gen, list, true, false}
	})
}

func txnOf(t *replica.Transaction) txn {
	return txn{producer: t.ProducerID, first: t.First, last: t.Last, marker: t.Marker, firstMs: t.FirstMs, records: t.Records, epoch: t.ProducerEpoch, state: t.State, open: -1}
}

func (s *txnsScreen) handle(in intent, ctl *control) work {
	if s.all == nil {
		return nil
	}
	switch in {
	case open, "marker":
		r := s.row()
		if r < 0 {
			return nil
		}
		t := &s.list[r]
		at := t.first
		switch {
		case in == "marker" && t.marker < 0:
			at = t.last
		case in == "marker" || at < 0:
			at = t.marker
		}
		if at < 0 {
			ctl.warn("none of its records is in this copy")
			return nil
		}
		s.openIn(s.all.Copies[s.copy].Copy, at, ctl)
		return nil
	case "next-aborted", "previous-aborted":
		by := 1
		if in == "previous-aborted" {
			by = -1
		}
		for i := s.cursor + by; i >= 0 && i < s.len(); i += by {
			if s.list[s.at(i)].state == replica.TransactionAborted {
				s.to(i)
				return nil
			}
		}
		if !s.shown {
			ctl.say("no aborted transaction so far; still reading")
			return nil
		}
		ctl.say("no further aborted transaction in this direction")
		return nil
	case "next-replica":
		if len(s.all.Copies) < 2 {
			ctl.say("there is one replica only")
			return nil
		}
		s.copy = (s.copy + 1) % len(s.all.Copies)
		ctl.restart()
		return s.show(ctl)
	}
	w, _ := s.handleSplit(in, ctl)
	return w
}

func (s *txnsScreen) view(w, h int, st *styles) string {
	if s.all == nil {
		return s.waiting(st)
	}
	var head []string
	l, text := s.verdict()
	for _, part := range wrapTo(escape(text), w, max(h/3, 1)) {
		head = append(head, st.level(l).Render(part))
	}
	for _, e := range s.all.Errors {
		head = append(head, st.level(levelUnread).Render(cut("E not read: "+escape(e.Error()), w)))
	}
	head = append(head, s.unread(w, st)...)
	if len(s.list) == 0 {
		note := "No transactions."
		if !s.shown {
			note = "No transactions so far; reading."
		}
		return strings.Join(append(head, "", st.dim.Render(note)), "\n")
	}
	var d prose
	if r := s.row(); r >= 0 {
		d = s.details(&s.list[r])
	}
	return s.viewSplit(head, d, w, h, st)
}

// verdict is the copy in a sentence.
func (s *txnsScreen) verdict() (level, string) {
	if len(s.all.Copies) == 0 {
		return levelUnread, "NOT READ: no copy could be read."
	}
	c := &s.all.Copies[s.copy]
	hanging := 0
	for i := range c.Open {
		if c.Open[i].Hanging {
			hanging++
		}
	}
	who := fmt.Sprintf("Broker %s (replica %d of %d)", c.Copy.Broker.Name, s.copy+1, len(s.all.Copies))
	tail := fmt.Sprintf(" %s, %s, %d open. Read-committed consumers stop at offset %d of %d.", countOf(c.Committed, "committed", "committed"), countOf(c.Aborted, "aborted", "aborted"), len(c.Open), c.LastStable, c.Copy.Log.LogEndOffset)
	if s.full {
		tail += fmt.Sprintf(" Only the first %s finished ones are listed; kafsck txns --all has all.", comma(maxTxns))
	} else if s.failed {
		tail += " Not all could be read."
	} else if !s.shown {
		tail += " Still reading."
	}
	if s.all.MissingCount > 0 {
		tail += fmt.Sprintf(" %s on one replica and not on another.", countOf(int64(s.all.MissingCount), "marker is", "markers are"))
	}
	switch {
	case hanging > 0:
		return levelWarning, fmt.Sprintf("HANGING: %s. %s:%s", countOf(int64(hanging), "transaction that nothing will end", "transactions that nothing will end"), who, tail)
	case s.all.Counts():
		return levelWarning, fmt.Sprintf("MARKERS DIFFER. %s:%s", who, tail)
	}
	return levelOK, who + ":" + tail
}

func (s *txnsScreen) details(t *txn) (d prose) {
	c := &s.all.Copies[s.copy]
	if t.open < 0 {
		switch {
		case t.first < 0:
			d.add(string(t.state), "producer %d: only its marker at offset %d is in this copy", t.producer, t.marker)
		default:
			d.add(string(t.state), "producer %d, epoch %d: %s at offsets %s, %s marker at offset %d", t.producer, t.epoch, countOf(t.records, "record", "records"), span(t.first, max(t.last, t.first)+1), markerWord(t.state), t.marker)
		}
		if t.state == replica.TransactionAborted {
			d.add("", "read_committed consumers do not see its records; read_uncommitted ones do")
		}
		return d
	}
	x := &c.Open[t.open]
	l := levelNote
	if x.Hanging {
		l = levelWarning
	}
	d.at(l, x.StateText(), "producer %d, epoch %d, from offset %d on: %s", x.ProducerID, x.ProducerEpoch, x.First, x.Why)
	if x.Uncertain != "" {
		d.at(levelWarning, "uncertain", "%s", x.Uncertain)
	}
	if x.Decision != "" {
		d.add("coordinator", "it decided: %s; the marker is not here", x.Decision)
	}
	if s.all.CoordinatorUnknown != "" && x.TransactionalID == "" {
		d.add("coordinator", "%s", s.all.CoordinatorUnknown)
	}
	if x.Hanging {
		d.add("to end it", "%s", shellWords(incident.AbortCommand(s.p, x)...))
	}
	return d
}

func markerWord(st replica.TransactionState) string {
	if st == replica.TransactionCommitted {
		return "COMMIT"
	}
	return "ABORT"
}
