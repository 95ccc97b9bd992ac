package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"kafsck/commitment"
	"kafsck/incident"
	"kafsck/replica"
)

// ExportSkipped is a stretch of a log whose records could not be exported.
type ExportSkipped struct {
	Broker           incident.BrokerRef
	File             string
	Position, Length int64 // bytes
	From, To         int64 // offsets [From, To), as far as they are known
	Reason           string
	Limit            bool // a limit of kafsck: the bytes may be sound
}

// ExportedPartition is what was exported of one partition.
type ExportedPartition struct {
	Partition, TopicID string
	Broker             incident.BrokerRef
	State              replica.State
	Dir                string
	Why                string // why this replica, prose
	File               string // that was written, "" standard output
	// From and To are the offsets looked at, [From, To).
	From, To int64
	Records  int64            // exported
	Redacted bool             // without keys, values and header values
	States   map[string]int64 // records by transaction state, of Records
	Control  int64            // control records among Records
	Filtered int64            // records that a filter left out
	// BelowStart: the log start offset, and there is a batch below it that was not looked at.
	BelowStart bool
	// StoppedAt, if not "": why --committed ended below the log end LogEnd.
	StoppedAt string
	LogEnd    int64
	Skipped   []ExportSkipped // at most MaxSkipped
	SkippedN  int64
	SkippedOf int64 // offsets in them
	// Missing are offsets that no batch of the log has, though nothing tells that they were
	// compacted away: at most MaxSkipped stretches of MissingN, with MissingOf offsets.
	Missing             []replica.Span
	MissingN, MissingOf int64
	// Undecided are left out by --committed: what became of their transactions is not known.
	// Overlaps are among Records: their batches stand behind others with the same offsets.
	Undecided, Overlaps ExportedRange
	Tail                int64 // bytes at the end of the log that are no whole batch
	// Of --lost; Against is nil else.
	Against *ExportedAgainst
}

// Lacks takes in offsets [from, to) that no batch has.
func (p *ExportedPartition) Lacks(from, to int64) {
	p.MissingN++
	p.MissingOf += to - from
	if len(p.Missing) < MaxSkipped {
		p.Missing = append(p.Missing, replica.Span{From: from, To: to})
	}
}

// ExportedRange counts records and says between which offsets they lie.
type ExportedRange struct {
	Records  int64
	From, To int64 // [From, To)
}

// Add takes in one record.
func (r *ExportedRange) Add(offset int64) {
	if r.Records++; r.Records == 1 {
		r.From, r.To = offset, offset+1
	}
	r.From, r.To = min(r.From, offset), max(r.To, offset+1)
}

// OtherGrades are losses that --grade left out.
type OtherGrades struct {
	Losses  int
	Records int64
	// AtLeast: of some only a lower bound is known, or no number.
	AtLeast bool
}

// Add takes in one loss.
func (o *OtherGrades) Add(l *incident.Loss) {
	o.Losses++
	if l.Records == nil {
		o.AtLeast = true
		return
	}
	o.Records = saturated(o.Records, *l.Records)
}

// ExportedAgainst is what --lost found.
type ExportedAgainst struct {
	Broker    incident.BrokerRef
	Dir       string
	Marks     map[string]int64 // absent, superseded, duplicate
	Grades    map[commitment.Grade]int64
	Copies    []string // directories that the records were taken from
	Retried   int64    // records that stand there again and are no loss
	NoCopy    int      // losses that left no copy among the inputs
	Untold    int      // losses of which only the remote tier has the records
	Compacted bool
}

// MaxSkipped is how many stretches of a partition are kept.
const MaxSkipped = 20

type exportedLine struct {
	Type       string           `json:"type"`
	Partition  string           `json:"partition"`
	TopicID    *string          `json:"topicId"`
	Broker     brokerID         `json:"broker"`
	State      string           `json:"state"`
	Dir        string           `json:"dir"`
	Why        string           `json:"why"`
	Output     *string          `json:"output"`
	From       *int64           `json:"from"`
	To         *int64           `json:"to"`
	Records    int64            `json:"records"`
	Redacted   bool             `json:"redacted,omitempty"`
	Control    int64            `json:"controlRecords"`
	States     map[string]int64 `json:"transactionStates"`
	Filtered   int64            `json:"recordsFiltered"`
	Skipped    int64            `json:"stretchesSkipped"`
	SkippedOf  int64            `json:"offsetsSkipped"`
	Missing    int64            `json:"stretchesMissing"`
	MissingOf  int64            `json:"offsetsMissing"`
	Undecided  int64            `json:"recordsUndecided"`
	Overlaps   int64            `json:"recordsOverlapping"`
	Tail       int64            `json:"bytesInTornTail"`
	BelowStart bool             `json:"belowLogStart"`
	Against    *againstLine     `json:"against,omitempty"`
}

type againstLine struct {
	Broker  brokerID         `json:"broker"`
	Dir     string           `json:"dir"`
	Marks   map[string]int64 `json:"marks"`
	Grades  map[string]int64 `json:"committed"`
	Retried int64            `json:"retried"`
	NoCopy  int              `json:"lossesWithoutCopy"`
}

type notExportedLine struct {
	Type      string   `json:"type"`
	Partition string   `json:"partition"`
	TopicID   *string  `json:"topicId"`
	Broker    brokerID `json:"broker"`
	File      string   `json:"file"`
	Position  int64    `json:"position"`
	Length    int64    `json:"length"`
	From      int64    `json:"from"`
	To        int64    `json:"to"`
	Limit     bool     `json:"limit"`
	Why       string   `json:"why"`
}

// NotExported writes a line about a stretch that could not be exported.
func (j *JSON) NotExported(partition, topicID string, s *ExportSkipped) {
	j.Line(notExportedLine{"not-exported", partition, text(topicID), brokerOf(s.Broker), s.File, s.Position, s.Length, s.From, s.To, s.Limit, s.Reason})
}

type missingLine struct {
	Type      string   `json:"type"`
	Partition string   `json:"partition"`
	TopicID   *string  `json:"topicId"`
	Broker    brokerID `json:"broker"`
	From      int64    `json:"from"`
	To        int64    `json:"to"`
}

// Missing writes a line about offsets [from, to) that the log lacks.
func (j *JSON) Missing(p *ExportedPartition, from, to int64) {
	j.Line(missingLine{"offsets-missing", p.Partition, text(p.TopicID), brokerOf(p.Broker), from, to})
}

// Exported writes the line that follows a partition's records.
func (j *JSON) Exported(p *ExportedPartition) {
	l := exportedLine{Type: "exported", Partition: p.Partition, TopicID: text(p.TopicID), Broker: brokerOf(p.Broker), State: string(p.State), Dir: p.Dir, Why: p.Why,
		Output: text(p.File), Records: p.Records, Redacted: p.Redacted, Control: p.Control, States: p.States, Filtered: p.Filtered, Skipped: p.SkippedN, SkippedOf: p.SkippedOf, Tail: p.Tail, BelowStart: p.BelowStart,
		Missing: p.MissingN, MissingOf: p.MissingOf, Undecided: p.Undecided.Records, Overlaps: p.Overlaps.Records}
	if l.States == nil {
		l.States = map[string]int64{}
	}
	if p.From <= p.To {
		l.From, l.To = &p.From, &p.To
	}
	if a := p.Against; a != nil {
		l.Against = &againstLine{brokerOf(a.Broker), a.Dir, a.Marks, map[string]int64{}, a.Retried, a.NoCopy}
		for g, n := range a.Grades {
			l.Against.Grades[string(g)] = n
		}
	}
	j.Line(l)
}

// ExportSummary ends the JSON lines of an export. redacted: nothing can be put back from it.
func (j *JSON) ExportSummary(exitCode int, list []*ExportedPartition, errors int, redacted bool) {
	type line struct {
		Type       string           `json:"type"`
		ExitCode   int              `json:"exitCode"`
		Partitions int              `json:"partitions"`
		Records    int64            `json:"records"`
		Redacted   bool             `json:"redacted,omitempty"`
		PutBack    *bool            `json:"canBePutBack,omitempty"` // only where it is false
		Skipped    int64            `json:"stretchesSkipped"`
		Missing    int64            `json:"offsetsMissing"`
		Undecided  int64            `json:"recordsUndecided"`
		Marks      map[string]int64 `json:"marks,omitempty"`
		Errors     int              `json:"errors"`
	}
	l := line{Type: "summary", ExitCode: exitCode, Partitions: len(list), Redacted: redacted, Errors: errors}
	if redacted {
		l.PutBack = new(bool)
	}
	for _, p := range list {
		l.Records += p.Records
		l.Skipped += p.SkippedN
		l.Missing = saturated(l.Missing, p.MissingOf)
		l.Undecided += p.Undecided.Records
		if p.Against != nil {
			if l.Marks == nil {
				l.Marks = map[string]int64{}
			}
			for k, n := range p.Against.Marks {
				l.Marks[k] += n
			}
		}
	}
	j.Line(l)
}

// Export is the text about an export.
type Export struct {
	List []*ExportedPartition
	Out  string // as typed; "" standard output
	Lost bool
	// OtherGrades are losses that were not asked for (--grade).
	OtherGrades OtherGrades
	// Redacted: without keys, values and header values.
	Redacted bool
	// Told: partitions of which nothing can be told, with the reason.
	Untold []string
	// Next is the command that shows what is damaged.
	Next func(partition string) string
	Full bool
}

// maxExported is how many partitions are listed.
const maxExported = 20

// Print writes the verdict, then a row for each partition, then what is missing.
func (e *Export) Print(w io.Writer) error {
	var b strings.Builder
	var records, skipped, skippedOf, missing, missingOf, undecided, overlaps int64
	for _, p := range e.List {
		missing += p.MissingN
		missingOf = saturated(missingOf, p.MissingOf)
		undecided += p.Undecided.Records
		overlaps += p.Overlaps.Records
		records += p.Records
		skipped += p.SkippedN
		skippedOf += p.SkippedOf
	}
	what := count(records, "record", "records") + " of " + count(len(e.List), "partition", "partitions")
	if e.Lost {
		what = count(records, "lost record", "lost records") + " of " + count(len(e.List), "partition", "partitions")
	}
	if e.Out != "" {
		what += " in " + Escape(e.Out)
	}
	switch {
	case len(e.Untold) > 0:
		fmt.Fprintf(&b, "INCOMPLETE  %s; of %s nothing can be told\n", what, count(len(e.Untold), "partition", "partitions"))
	case skipped > 0 && missing > 0:
		fmt.Fprintf(&b, "DAMAGED  %s; %s could not be exported, about %s, and %s missing from the log\n", what, count(skipped, "stretch of bytes", "stretches of bytes"),
			count(skippedOf, "offset", "offsets"), count(missingOf, "offset is", "offsets are"))
	case skipped > 0:
		fmt.Fprintf(&b, "DAMAGED  %s; %s could not be exported, about %s\n", what, count(skipped, "stretch of bytes", "stretches of bytes"), count(skippedOf, "offset", "offsets"))
	case e.Lost && records == 0 && e.noCopy() > 0:
		fmt.Fprintf(&b, "NOT HERE  records are lost, in %s, and no copy here has them\n", count(e.noCopy(), "range", "ranges"))
	case missing > 0:
		fmt.Fprintf(&b, "HOLES  %s; %s missing from the log, in %s\n", what, count(missingOf, "offset is", "offsets are"), count(missing, "stretch", "stretches"))
	case overlaps > 0:
		fmt.Fprintf(&b, "DAMAGED  %s; %s of them in batches that stand behind others with the same offsets\n", what, comma(overlaps))
	case undecided > 0:
		fmt.Fprintf(&b, "DONE   %s\n", what)
	case e.Lost && records == 0 && e.OtherGrades.Losses > 0:
		fmt.Fprintf(&b, "NONE   no record that a copy here has was lost with these grades; without --grade %s exported\n", e.OtherGrades.text())
	case e.Lost && records == 0:
		b.WriteString("OK     nothing is lost that a copy here still has\n")
	default:
		fmt.Fprintf(&b, "DONE   %s\n", what)
	}
	if undecided > 0 {
		fmt.Fprintf(&b, "UNKNOWN  of %s it is not known whether they were committed: left out\n", count(undecided, "more record", "more records"))
	}
	if e.Redacted && records > 0 {
		b.WriteString("\nRedacted: keys, values and header values are left out, their sizes and SHA-256 are there. Nothing can be\nput back from it: for that, export again without --redact, and keep the copies until then.\n")
	}
	for i, p := range e.List {
		if i == maxExported && !e.Full {
			fmt.Fprintf(&b, "\nand %s: --json lists them all\n", count(len(e.List)-i, "more partition", "more partitions"))
			break
		}
		e.partition(&b, p)
	}
	for _, u := range e.Untold {
		fmt.Fprintf(&b, "\n%s\n", Escape(u))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (o *OtherGrades) text() string {
	switch {
	case o.Records == 0:
		return count(o.Losses, "more loss, of an unknown number of records, is", "more losses, of an unknown number of records, are")
	case o.AtLeast:
		return "at least " + count(o.Records, "record is", "records are")
	}
	return count(o.Records, "record is", "records are")
}

func (e *Export) noCopy() (n int) {
	for _, p := range e.List {
		if p.Against != nil {
			n += p.Against.NoCopy + p.Against.Untold
		}
	}
	return n
}

func (e *Export) partition(b *strings.Builder, p *ExportedPartition) {
	row := func(label, format string, args ...any) {
		fmt.Fprintf(b, "  %-13s %s\n", label, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(b, "\n%s: %s\n", Escape(p.Partition), count(p.Records, "record", "records"))
	if a := p.Against; a != nil {
		for _, d := range a.Copies {
			row("taken from", "%s", Escape(d))
		}
		row("held against", "%s, %s", Escape(a.Dir), p.Why)
		if p.Records > 0 {
			row("absent", "%12s  neither there nor newer records of their keys", comma(a.Marks["absent"]))
			row("superseded", "%12s  a newer record of the key is there", comma(a.Marks["superseded"]))
			row("duplicate", "%12s  there already, at another offset", comma(a.Marks["duplicate"]))
			row("committed", "%12s  %s unknown, %s no", comma(a.Grades[commitment.Yes]), comma(a.Grades[commitment.Unknown]), comma(a.Grades[commitment.No]))
		}
		if a.Retried > 0 {
			row("not here", "%12s  were sent again by their producers and stand there: no loss", comma(a.Retried))
		}
		if a.NoCopy > 0 {
			row("no copy", "%12s  of these ranges no copy here has the records; kafsck loss names who may", comma(a.NoCopy))
		}
		if a.Untold > 0 {
			row("remote tier", "%12s  of these ranges only the remote tier has the records", comma(a.Untold))
		}
	} else {
		row("taken from", "%s, %s", Escape(p.Dir), p.Why)
	}
	if p.Records > 0 || p.Filtered > 0 {
		if p.Against == nil {
			row("offsets", "%s", span(p.From, p.To))
		}
		var words []string
		for _, s := range slices.Sorted(maps.Keys(p.States)) {
			if s != "none" {
				words = append(words, comma(p.States[s])+" "+s)
			}
		}
		if len(words) > 0 {
			row("transactions", "%s", strings.Join(words, ", "))
		}
		if p.Control > 0 {
			row("control", "%s among them, marked", count(p.Control, "control record is", "control records are"))
		}
		if p.Filtered > 0 {
			row("left out", "%s by the filters", count(p.Filtered, "record", "records"))
		}
	}
	if p.BelowStart {
		row("below", "offsets below %d were deleted for clients and are not exported; --offsets 0.. takes what is left of them", p.From)
	}
	if p.StoppedAt != "" {
		row("ends", "%s", p.StoppedAt)
	}
	if u := p.Undecided; u.Records > 0 {
		row("unknown", "%s left out, between %s: the end of their transactions cannot be read,", count(u.Records, "record is", "records are"), offsets(u.From, u.To))
		row("", "and no .txnindex tells; without --committed they are exported, with transactionState unknown")
	}
	if o := p.Overlaps; o.Records > 0 {
		row("overlap", "%s among them, between %s: their batches stand behind others", count(o.Records, "record is", "records are"), offsets(o.From, o.To))
		row("", "with the same offsets; batchPosition tells them apart")
	}
	for i, s := range p.Missing {
		label := ""
		if i == 0 {
			label = "missing"
		}
		if i == 4 && !e.Full && p.MissingN > 5 {
			row("", "and %s more: --json lists them", comma(p.MissingN-4))
			break
		}
		row(label, "%s: in no batch of this log; kafsck loss tells who has them", offsets(s.From, s.To))
	}
	if p.Tail > 0 {
		row("end of log", "%s that are no whole batch, as a kill leaves them", count(p.Tail, "byte", "bytes"))
	}
	for i := range p.Skipped {
		s := &p.Skipped[i]
		label := ""
		if i == 0 {
			label = "not exported"
		}
		where := offsets(s.From, s.To)
		if s.From >= s.To {
			where = fmt.Sprintf("before offset %d", s.From)
		}
		row(label, "%s: %s, position %d of %s, %s", where, Escape(s.Reason), s.Position, Escape(s.File), count(s.Length, "byte", "bytes"))
		if i == 4 && !e.Full && p.SkippedN > 5 {
			row("", "and %s: --json lists them", count(p.SkippedN-5, "more", "more"))
			break
		}
	}
	if p.SkippedN+p.MissingN+p.Overlaps.Records > 0 && e.Next != nil {
		row("next", "%s", e.Next(p.Partition))
	}
}
