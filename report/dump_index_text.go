package report

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"kafsck/segment"
)

// Index files and snapshots as tables that are never held as a whole.

// columnSet are the columns of a table that is printed row by row: a column grows with what
// was printed in it, so that most rows stand in line.
type columnSet struct {
	names  []string
	left   []bool // aligned left
	widths []int
	begun  bool
}

// columnsOf names the columns; one that begins with "<" is aligned left.
func columnsOf(names ...string) columnSet {
	c := columnSet{names: make([]string, len(names)), left: make([]bool, len(names)), widths: make([]int, len(names))}
	for i, name := range names {
		c.names[i], c.left[i] = strings.CutPrefix(name, "<")
		if c.widths[i] = len(c.names[i]); strings.HasSuffix(name, "timestamp") {
			c.widths[i] = len(dumpTime(0))
		}
	}
	return c
}

func (t *dumpText) indexRow(cells ...string) {
	c := &t.index
	for i, cell := range cells {
		c.widths[i] = max(c.widths[i], utf8.RuneCountInString(cell))
	}
	if !c.begun {
		c.begun = true
		t.indexRow(c.names...)
	}
	var b strings.Builder
	for i, cell := range cells {
		pad := strings.Repeat(" ", c.widths[i]-utf8.RuneCountInString(cell))
		b.WriteString("  ")
		if c.left[i] {
			b.WriteString(cell + pad)
		} else {
			b.WriteString(pad + cell)
		}
	}
	t.line(strings.TrimRight(b.String(), " "))
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// orNone is a number of which -1 says that there is none.
func orNone(n int64) string {
	if n == -1 {
		return "-"
	}
	return decimal(n)
}

func (t *dumpText) Index(x *DumpIndex) {
	switch x.Kind {
	case "index":
		t.index = columnsOf("entry", "offset", "position in the .log")
	case "timeindex":
		t.index = columnsOf("entry", "<timestamp", "offset")
	default:
		t.index = columnsOf("entry", "producer", "first offset", "last offset", "last stable offset")
	}
	t.index.widths[0] = max(t.index.widths[0], len(decimal(x.Entries-1)))
	line := "  " + count(x.Entries, "entry", "entries")
	if x.Entries == 0 {
		line = "  no entries"
	}
	if x.ZeroEntries > 0 {
		line += fmt.Sprintf(", and %s of zero bytes: preallocated", count(x.ZeroEntries, "unused entry", "unused entries"))
	}
	t.line(line)
	if x.Remainder > 0 {
		t.linef("  MALFORMED: %s at the end, no whole entry; Kafka ignores %s", count(x.Remainder, "byte", "bytes"), themOrIt(x.Remainder))
	}
}

func themOrIt(n int64) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

func (t *dumpText) IndexEntry(e *segment.OffsetEntry, flaw EntryFlaw) {
	t.indexRow(decimal(e.Number), decimal(e.Offset), decimal(e.Position))
	t.flaw(flaw, e.Pos())
}

func (t *dumpText) TimeEntry(e *segment.TimeEntry, flaw EntryFlaw) {
	t.indexRow(decimal(e.Number), dumpTime(e.Timestamp), decimal(e.Offset))
	t.flaw(flaw, e.Pos())
}

func (t *dumpText) flaw(f EntryFlaw, pos int64) {
	if f.Damage != "" {
		t.linef("      DAMAGED at position %d: %s", pos, f.Damage)
	}
	if f.OutOfOrder {
		t.linef("      out of order at position %d: not above the entry before it; one of them was left behind by a truncation, or is damaged", pos)
	}
}

func (t *dumpText) ZeroEntries(number, n, width int64) {
	t.linef("      %s of zero bytes at position %d, with others behind them: not written before a crash, or a hole", count(n, "entry", "entries"), number*width)
}

func (t *dumpText) AbortedTxn(e *segment.AbortedTxn) {
	t.indexRow(decimal(e.Number), decimal(e.ProducerID), decimal(e.FirstOffset), decimal(e.LastOffset), decimal(e.LastStableOffset))
	if e.Refused() {
		t.linef("      MALFORMED at position %d: version %d; Kafka refuses it and all that follows", e.Pos(), e.Version)
	}
}

func (t *dumpText) Snapshot(s *DumpSnapshot) {
	t.index = columnsOf("producer", "epoch", "<last batch", "<sequences", "<last timestamp", "coordinator epoch", "<open transaction")
	as := ""
	if s.Offset >= 0 {
		as = fmt.Sprintf(", as known at offset %d", s.Offset)
	}
	if s.Problem == nil || s.Problem.Kind != "short" {
		t.linef("  version %d, %s%s", s.Version, count(s.Count, "producer", "producers"), as)
	}
	switch p := s.Problem; {
	case p == nil && s.TrailingBytes > 0:
		t.linef("  %s behind the last producer; Kafka ignores %s", count(s.TrailingBytes, "byte", "bytes"), themOrIt(s.TrailingBytes))
	case p == nil:
	case p.Limit():
		t.linef("  NOT READ: %s; kafsck reads %s", p.Got, p.Want)
	default:
		t.linef("  MALFORMED: %s", p)
		if leftBehind(s.ProducerSnapshot) {
			t.linef("    it does without the last %s: left of a longer file that this one was written over", count(s.TrailingBytes, "byte", "bytes"))
		}
		t.line("    Kafka deletes the file, takes an older one, and reads the log from there on")
	}
}

// leftBehind tells a snapshot that is sound but for what a longer one left behind it.
func leftBehind(s *segment.ProducerSnapshot) bool {
	return s.Problem != nil && s.Problem.Kind == "crc" && s.TrailingBytes > 0 && s.CRCWithoutTrailing == s.StoredCRC
}

func (t *dumpText) Producer(_ int, e *segment.ProducerEntry) {
	batch, sequences, open := "-", "-", "-"
	if e.HasBatch() {
		batch = inclusive(e.FirstOffset(), e.LastOffset)
		sequences = inclusive(int64(e.FirstSequence()), int64(e.LastSequence))
	}
	if e.CurrentTxnFirstOffset != -1 {
		open = "from offset " + decimal(e.CurrentTxnFirstOffset)
	}
	t.indexRow(decimal(e.ProducerID), strconv.Itoa(int(e.ProducerEpoch)), batch, sequences, dumpTime(e.Timestamp), orNone(int64(e.CoordinatorEpoch)), open)
}
