package report

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"kafsck/batch"
	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/segment"
)

// DumpTextOptions say how text looks.
type DumpTextOptions struct {
	Values ValueFormat
	Full   bool // no limit on the length of a line
}

// Limits of a line without Full, in bytes of the values shown.
const (
	maxShownKey     = 100
	maxShownValue   = 240
	maxShownHeader  = 40
	maxShownHeaders = 8
)

// NewDumpText prints for people. A line never grows with the values in it unless
// opt.Full is set.
func NewDumpText(w io.Writer, opt DumpTextOptions) Dump {
	return &dumpText{w: w, opt: opt}
}

type dumpText struct {
	w   io.Writer
	opt DumpTextOptions
	err error

	buf    []byte // of one record
	files  int
	widths [columns]int // grow with what was printed, so that most lines stand in line
	header bool         // the column names of this file are printed
	index  columnSet    // of the index file
	// ignored: a broker does not look at this file
	ignored bool
}

// The columns of a batch line; what follows the last is not aligned.
const (
	colPosition = iota
	colSize
	colOffsets
	colEpoch
	colRecords
	colCodec
	colTime
	colCRC
	columns
)

var (
	columnNames = [columns]string{"position", "size", "offsets", "epoch", "records", "codec", "max timestamp", "crc"}
	columnRight = [columns]bool{colPosition: true, colSize: true, colEpoch: true, colRecords: true}
)

func (t *dumpText) Err() error { return t.err }

func (t *dumpText) line(s string) {
	if t.err == nil {
		_, t.err = io.WriteString(t.w, s+"\n")
	}
}

func (t *dumpText) linef(format string, args ...any) { t.line(fmt.Sprintf(format, args...)) }

func (t *dumpText) File(f *DumpFile) {
	if t.files++; t.files > 1 {
		t.line("")
	}
	what := ""
	if f.Partition != "" {
		what = Escape(f.Partition) + ", "
	}
	if f.Broker != nil {
		what += brokers([]incident.BrokerRef{*f.Broker}) + ", "
	}
	t.linef("%s (%s%s)", Escape(f.Path), what, count(f.Size, "byte", "bytes"))
	t.header, t.ignored = false, f.Ignored
	for i, name := range columnNames {
		t.widths[i] = len(name)
	}
	t.widths[colPosition] = max(t.widths[colPosition], len(strconv.FormatInt(f.Size, 10)))
	t.widths[colTime] = len(dumpTime(0))
	t.widths[colCodec] = len("snappy")
}

func (t *dumpText) row(cells [columns]string, rest string) {
	if !t.header {
		t.header = true
		t.row(columnNames, "producer, flags")
	}
	var b strings.Builder
	for i, c := range cells {
		n := utf8.RuneCountInString(c)
		t.widths[i] = max(t.widths[i], n)
		pad := strings.Repeat(" ", t.widths[i]-n)
		b.WriteString("  ")
		if columnRight[i] {
			b.WriteString(pad + c)
		} else {
			b.WriteString(c + pad)
		}
	}
	t.line(strings.TrimRight(b.String()+"  "+rest, " "))
}

// place is the beginning of a line about bytes that are no batch.
func (t *dumpText) place(f *segment.Frame, says string) {
	t.linef("  %*d  %*d  %s", t.widths[colPosition], f.Pos, t.widths[colSize], f.Len, says)
}

func (t *dumpText) Frame(f *segment.Frame) {
	switch f.Kind {
	case segment.Batch:
		t.batch(f)
	case segment.Legacy:
		t.legacy(f)
	case segment.Zeros:
		t.place(f, "zeros: no batch here (preallocated, not written before a crash, or a hole)")
	case segment.Torn:
		t.place(f, "torn: a batch that does not end in this file"+because(f.Damage))
	case segment.Junk:
		t.place(f, "junk: no batch can be made out"+because(f.Damage))
	case segment.Embedded:
		t.place(f, embedded(f))
	}
}

func because(err error) string {
	switch {
	case err == nil, errors.Is(err, segment.ErrNoBatch):
		return ""
	case errors.Is(err, segment.ErrBudget):
		return "; the search for the next batch was given up"
	}
	return ": " + Escape(err.Error())
}

func embedded(f *segment.Frame) string {
	const says = "embedded: whole, but not a part of this log: "
	if f.Batch.Raw == nil && f.Batch.Length == 0 {
		return says + fmt.Sprintf("a message of format %d, offset %d", f.Legacy.Magic, f.Legacy.Offset)
	}
	h := &f.Batch.Header
	return says + fmt.Sprintf("offsets %s, epoch %d", inclusive(h.BaseOffset, h.LastOffset()), h.PartitionLeaderEpoch)
}

// inclusive prints a range with both ends in it; damaged headers give what they give.
func inclusive(first, last int64) string {
	if first == last {
		return strconv.FormatInt(first, 10)
	}
	return fmt.Sprintf("%d–%d", first, last)
}

func (t *dumpText) batch(f *segment.Frame) {
	h := &f.Batch.Header
	crc, remark := "ok", ""
	switch {
	case errors.Is(f.Damage, batch.ErrCRC):
		crc, remark = "BAD", badCRC(f)
	case f.Damage != nil:
		remark = Escape(f.Damage.Error())
	}
	t.row([columns]string{
		strconv.FormatInt(f.Pos, 10), strconv.FormatInt(f.Len, 10), inclusive(h.BaseOffset, h.LastOffset()),
		strconv.Itoa(int(h.PartitionLeaderEpoch)), strconv.Itoa(int(h.RecordCount)), h.Attributes.Codec().String(), dumpTime(h.MaxTimestamp), crc,
	}, producerAndFlags(h))
	if remark != "" {
		t.line("      " + remark)
	}
}

func badCRC(f *segment.Frame) string {
	if f.Raw == nil {
		return fmt.Sprintf("the CRC does not verify: 0x%08x is stored", f.Batch.CRC)
	}
	return fmt.Sprintf("the CRC does not verify: 0x%08x is stored, the bytes give 0x%08x", f.Batch.CRC, f.Batch.ComputedCRC())
}

func producerAndFlags(h *batch.Header) string {
	var parts []string
	if h.HasProducer() {
		producer := fmt.Sprintf("producer %d epoch %d", h.ProducerID, h.ProducerEpoch)
		if h.BaseSequence != -1 {
			producer += " sequence " + inclusive(int64(h.BaseSequence), int64(h.LastSequence()))
		}
		parts = append(parts, producer)
	}
	a := h.Attributes
	if a.Transactional() {
		parts = append(parts, "transactional")
	}
	if a.Control() {
		parts = append(parts, "control")
	}
	if a.TimestampType() == batch.LogAppendTime {
		parts = append(parts, "LogAppendTime")
	}
	if a.DeleteHorizon() {
		parts = append(parts, "delete horizon "+dumpTime(h.BaseTimestamp))
	}
	return strings.Join(parts, ", ")
}

func (t *dumpText) legacy(f *segment.Frame) {
	h := &f.Legacy
	crc := "ok"
	if f.Damage != nil {
		crc = "BAD"
	}
	rest := fmt.Sprintf("message format %d", h.Magic)
	if h.Codec() != batch.None {
		rest += ", wrapper: the offset is that of its last message"
	}
	t.row([columns]string{
		strconv.FormatInt(f.Pos, 10), strconv.FormatInt(f.Len, 10), strconv.FormatInt(h.Offset, 10), "-", "-", h.Codec().String(), dumpTime(h.Timestamp), crc,
	}, rest)
	if f.Damage != nil {
		t.line("      " + Escape(f.Damage.Error()))
	}
}

// dumpTime prints milliseconds since 1970 to the millisecond; "-" for none.
func dumpTime(ms int64) string { return string(appendTime(nil, ms)) }

// lastYear is the last millisecond with a year of four digits.
const lastYear = 253402300799999

func appendTime(dst []byte, ms int64) []byte {
	switch {
	case ms == -1:
		return append(dst, '-')
	case ms < 0 || ms > lastYear:
		return append(strconv.AppendInt(dst, ms, 10), " ms"...)
	}
	return time.UnixMilli(ms).UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z")
}

func (t *dumpText) limit(n int) int {
	if t.opt.Full {
		return 0
	}
	return n
}

func (t *dumpText) Record(r *DumpRecord) {
	b := append(t.buf[:0], "      offset "...)
	b = strconv.AppendInt(b, r.Offset, 10)
	b = append(appendTime(append(b, "  "...), r.Timestamp), "  "...)
	decoded := r.Decoded
	if t.opt.Values == ValueRedacted {
		decoded = redacted(decoded)
	}
	switch {
	case r.Control != nil && r.Why == "" && r.Control.Type != batch.ControlKRaftVoters:
		b = append(b, Escape(controlText(r.Control))...)
	case decoded != nil && r.Why == "":
		b = t.decoded(b, decoded)
	default:
		if decoded != nil {
			b = append(t.decoded(b, decoded), "\n"+decodedIndent...)
		}
		b = t.opt.Values.append(append(b, "key "...), r.Key, t.limit(maxShownKey))
		values := t.opt.Values
		if r.Secret {
			values = ValueRedacted
		}
		b = values.append(append(b, "  value "...), r.Value, t.limit(maxShownValue))
	}
	for i, h := range r.Headers {
		if i == 0 {
			b = append(b, "  headers "...)
		} else {
			b = append(b, ", "...)
		}
		if i == maxShownHeaders && !t.opt.Full {
			b = fmt.Appendf(b, "… (%s)", count(len(r.Headers), "header", "headers"))
			break
		}
		b = append(valueBare.append(b, []byte(h.Key), t.limit(maxShownHeader)), '=')
		b = t.opt.Values.append(b, h.Value, t.limit(maxShownHeader))
	}
	if r.Why != "" {
		b = append(append(append(b, "  ("...), Escape(r.Why)...), ')')
	}
	if r.BadCRC {
		b = append(b, "  CRC BAD"...)
	}
	t.buf = append(b, '\n')
	if t.err == nil {
		_, t.err = t.w.Write(t.buf)
	}
}

func controlText(c *batch.Control) string {
	switch c.Type {
	case batch.ControlAbort, batch.ControlCommit:
		return fmt.Sprintf("%s, coordinator epoch %d", c.Type, c.CoordinatorEpoch)
	case batch.ControlLeaderChange:
		return fmt.Sprintf("%s: leader %d, voters %s, granted by %s", c.Type, c.LeaderID, voters(c.Voters), voters(c.GrantingVoters))
	case batch.ControlSnapshotHeader:
		return fmt.Sprintf("%s, last contained log timestamp %s", c.Type, dumpTime(c.LastContainedLogTimestamp))
	case batch.ControlKRaftVersion:
		return fmt.Sprintf("%s %d", c.Type, c.KRaftVersion)
	}
	return c.Type.String()
}

func voters(list []batch.Voter) string {
	ids := make([]string, 0, len(list))
	for i, v := range list {
		if i == 20 {
			ids = append(ids, fmt.Sprintf("… (%d)", len(list)))
			break
		}
		ids = append(ids, strconv.Itoa(int(v.ID)))
	}
	return "[" + strings.Join(ids, ", ") + "]"
}

func (t *dumpText) Undecoded(why string, limit bool) {
	what := "the records cannot be decoded"
	if limit {
		what = "the records are not shown"
	}
	t.linef("      %s: %s", what, Escape(why))
}

func (t *dumpText) Failed(path string, err error) {
	if t.files > 0 {
		t.line("")
	}
	t.linef("NOT READ: %s: %s", Escape(path), Escape(err.Error()))
}

func (t *dumpText) Notes(notes []logdir.Note) {
	for _, n := range notes {
		t.linef("Note: %s", Escape(n.Text))
	}
}

func (t *dumpText) Note(format string, args ...any) {
	t.line(Escape(fmt.Sprintf(format, args...)))
}

func (t *dumpText) Summary(s *DumpSummary) {
	line := count(s.Files, "file", "files")
	if s.Batches > 0 || s.Other > 0 {
		line += fmt.Sprintf(", %s, %s", count(s.Batches, "batch", "batches"), count(s.Records, "record", "records"))
		if s.Shown > 0 && s.Shown != s.Records {
			line += fmt.Sprintf(" (%s shown)", comma(s.Shown))
		}
	}
	if s.Entries > 0 {
		line += ", " + count(s.Entries, "entry", "entries")
	}
	line += ", " + count(s.Bytes, "byte", "bytes")
	if s.BadCRC > 0 {
		line += fmt.Sprintf("; the CRC of %s does not verify", count(s.BadCRC, "batch", "batches"))
	} else if s.Batches > 0 {
		line += "; every CRC verifies"
	}
	if s.Flawed > 0 {
		line += fmt.Sprintf("; %s a wrong length or magic, which the CRC does not cover", has(s.Flawed, "batch", "batches"))
	}
	if s.Unknown > 0 {
		line += fmt.Sprintf("; %s a type or version that kafsck does not know", has(s.Unknown, "record", "records"))
	}
	if s.Undecoded > 0 {
		line += fmt.Sprintf("; %s cannot be decoded", count(s.Undecoded, "record", "records"))
	}
	if s.Other > 0 {
		line += fmt.Sprintf("; %s in no batch", verb(s.Other))
	}
	if s.Failed > 0 {
		line += fmt.Sprintf("; %s not read to the end", count(s.Failed, "file", "files"))
	}
	t.line("")
	t.line(line)
}

func has(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one + " has"
	}
	return comma(n) + " " + many + " have"
}

func verb(n int64) string {
	if n == 1 {
		return "1 byte is"
	}
	return comma(n) + " bytes are"
}
