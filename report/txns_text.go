package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"kafsck/incident"
	"kafsck/replica"
)

// MaxFinished is how many finished transactions of one copy are listed.
const MaxFinished = 1000

// Finished is the finished transactions of one copy that are listed: the first
// MaxFinished that were asked for, and how many more there are.
type Finished struct {
	Copy *incident.Copy
	List []replica.Transaction
	More int64
	// ID gives the transactional id of a producer id, "" unknown.
	ID func(producer int64) string
}

// Txns gathers the transactions of all partitions.
type Txns struct {
	Paths    *Paths
	Scope    *Scope
	All      bool // partitions without anything open, too
	Filtered bool // only some transactions were asked for

	blocks   []string // partitions to look at, or all
	quiet    []string // those whose transactions have all ended, a line each
	open     int      // open transactions that do not hang, replicas taken together
	opens    int      // partitions with such
	behind   int      // open only in copies that have not fetched the marker yet
	stops    []string // where read-committed consumers stop, by partition
	sure     int      // hanging transactions
	likely   int      // those of which only file times say so
	hangs    int      // partitions with any
	missing  int
	contrary int
	ended    int64 // finished transactions that are listed, or would be
	none     int   // partitions without any transaction
	doubtful int64 // finished ones of which a marker may have been lost
	blind    bool  // the coordinator's word is not known
}

// Add takes in one partition. Nothing of it is kept but text.
func (t *Txns) Add(x *incident.Partition, tx *incident.Transactions, finished []Finished) {
	rows := openRows(x, tx)
	open, sure, likely := 0, 0, 0
	for _, r := range rows {
		switch {
		case r.behind:
			t.behind++
		case !r.live || !r.x.Hanging:
			open++
		case r.x.Basis == incident.ByFileTimes:
			likely++
		default:
			sure++
		}
	}
	if open+sure+likely > 0 {
		t.stops = append(t.stops, stopText(x, tx, rows))
	}
	t.open, t.sure, t.likely = t.open+open, t.sure+sure, t.likely+likely
	if open > 0 {
		t.opens++
	}
	if sure+likely > 0 {
		t.hangs++
	}
	t.missing += tx.MissingCount
	t.contrary += len(tx.Contrary)
	t.blind = t.blind || tx.CoordinatorUnknown != ""
	doubtful := int64(0)
	for i := range tx.Copies {
		doubtful = max(doubtful, tx.Copies[i].Doubtful)
	}
	t.doubtful += doubtful
	any := tx.Any()
	if !any {
		t.none++
	}
	listed := false
	for i := range finished {
		listed = listed || len(finished[i].List) > 0
		t.ended += int64(len(finished[i].List)) + finished[i].More
	}
	switch {
	case len(rows) > 0 || tx.MissingCount > 0 || len(tx.Contrary) > 0 || len(x.Errors) > 0 || listed, t.All && any:
		t.blocks = append(t.blocks, t.block(x, tx, rows, finished))
	case any:
		t.quiet = append(t.quiet, t.Paths.label(x)+": "+endedText(tx))
	}
}

// Rows of open transactions and of proof that one partition gets without --all.
const (
	openListed  = 20
	whysListed  = 5
	commandsMax = 3
)

func (t *Txns) block(x *incident.Partition, tx *incident.Transactions, rows []openRow, finished []Finished) string {
	lines := indented("", t.Paths.label(x)+stopText(x, tx, rows))
	say := func(more ...string) { lines = append(lines, more...) }
	for _, err := range x.Errors {
		say(wideLabelled(2, "not read", Escape(err.Path)+": "+Escape(err.Err.Error()))...)
	}
	say(t.openTable(rows)...)
	for _, f := range finished {
		say(finishedTable(&f)...)
	}
	say(whys(rows, t.All)...)
	say(markerLines(x, tx)...)
	say(copyLines(tx)...)
	say(commands(x, rows)...)
	return strings.Join(lines, "\n")
}

// stopText says where read-committed consumers stop: on the leader, or, where nobody is
// known to lead, on each live replica.
func stopText(x *incident.Partition, tx *incident.Transactions, rows []openRow) string {
	var said []string
	leader := leaderCopy(x, tx)
	for i := range tx.Copies {
		c := &tx.Copies[i]
		if c.Copy.State != replica.Live || c.Copy.Extra || len(c.Open) == 0 {
			continue
		}
		if x.Ruling.Leader != nil && (leader != nil || !x.Ruling.Guess) && c != leader {
			continue
		}
		end := c.Copy.Log.LogEndOffset
		text := fmt.Sprintf("offset %d", c.LastStable)
		if len(tx.Copies) > 1 {
			text += " on broker " + Escape(c.Copy.Broker.Name)
			switch {
			case c == leader && x.Ruling.Guess:
				text += ", guessed to be the leader,"
			case c == leader:
				text += ", the leader,"
			}
		}
		text += fmt.Sprintf(" of %d", end)
		if c.Cut && c.LastStable < c.FirstUnstable {
			text += fmt.Sprintf(" (its high watermark; when that moves on, at offset %d)", c.FirstUnstable)
		}
		said = append(said, text)
	}
	if len(said) == 0 {
		return ""
	}
	if len(said) > 3 {
		said = append(said[:3], "…")
	}
	text := ": read-committed consumers stop at " + strings.Join(said, ", ")
	for _, r := range rows {
		if r.live && !r.behind {
			text += fmt.Sprintf(". The transaction of producer %d is open since %s", r.x.ProducerID, clockOr(r.x.SinceMs, "an unknown time"))
			if r.x.OpenMs >= 60_000 {
				text += ", " + duration(r.x.OpenMs)
			}
			break
		}
	}
	return text
}

func clockOr(ms int64, other string) string {
	if ms < 0 {
		return other
	}
	return clock(ms)
}

func finishedTable(f *Finished) []string {
	if len(f.List) == 0 {
		return nil
	}
	tab := table{header: []string{"ENDED", ">PRODUCER", ">EPOCH", ">FIRST", ">LAST", ">MARKER", ">RECORDS", "AT", "TRANSACTIONAL ID"}}
	for i := range f.List {
		x := &f.List[i]
		id := ""
		if f.ID != nil {
			id = Escape(f.ID(x.ProducerID))
		}
		epoch := fmt.Sprint(x.ProducerEpoch)
		if x.SpansEpochs() {
			epoch = fmt.Sprintf("%d–%d", x.FirstEpoch, x.ProducerEpoch)
		}
		tab.add(string(x.State), fmt.Sprint(x.ProducerID), epoch, orDash(x.First), orDash(x.Last), fmt.Sprint(x.Marker), comma(x.Records), clockOr(x.MarkerMs, "-"), id)
	}
	if f.More > 0 {
		tab.note(fmt.Sprintf("… %s, all with --json", count(f.More, "more", "more")))
	}
	lines := []string{"", fmt.Sprintf("  broker %s", Escape(f.Copy.Broker.Name))}
	return append(append(lines, tab.lines("  ")...), "")
}

// markerLines tells of markers that replicas do not share.
func markerLines(x *incident.Partition, tx *incident.Transactions) []string {
	var lines []string
	for i, m := range tx.Missing {
		if i == whysListed {
			lines = append(lines, "  … "+count(tx.MissingCount-whysListed, "more such marker, in --json", "more such markers, in --json"))
			break
		}
		word := "COMMIT"
		if m.State == replica.TransactionAborted {
			word = "ABORT"
		}
		text := fmt.Sprintf("broker %s holds the records of producer %d from offset %d without the %s marker that broker %s has at offset %d, although its log reaches to %d: ",
			Escape(m.Lacks.Broker.Name), m.ProducerID, m.First, word, Escape(m.Has.Broker.Name), m.Marker, m.Lacks.Log.LogEndOffset-1)
		if m.Open {
			text += "there the transaction is still open"
		} else {
			text += fmt.Sprintf("there the producer's next marker, at offset %d, ends it together with its next transaction", m.EndedAt)
		}
		lines = append(lines, wideLabelled(2, "marker missing", text)...)
	}
	for i, c := range tx.Contrary {
		if i == whysListed {
			lines = append(lines, "  … "+count(len(tx.Contrary)-whysListed, "more", "more")+", in --json")
			break
		}
		lines = append(lines, wideLabelled(2, "markers differ", fmt.Sprintf("at offset %d broker %s has producer %d %s, broker %s producer %d %s",
			c.Offset, Escape(c.A.Broker.Name), c.OfA.ProducerID, c.OfA.State, Escape(c.B.Broker.Name), c.OfB.ProducerID, c.OfB.State))...)
	}
	return lines
}

// copyLines count what ended in each copy, and name what is odd about it.
func copyLines(tx *incident.Transactions) []string {
	var lines, texts []string
	var brokers [][]string
	for i := range tx.Copies {
		c := &tx.Copies[i]
		text := fmt.Sprintf("%s committed, %s aborted", comma(c.Committed), comma(c.Aborted))
		if c.Committed+c.Aborted == 0 {
			text = "no transaction with records here"
		}
		if c.MarkerOnly > 0 {
			text += ", " + count(c.MarkerOnly, "marker", "markers") + " without records before (nothing was written here, or it is cleaned or deleted)"
		}
		text += oddities(c)
		name := Escape(c.Copy.Broker.Name)
		if c.Copy.State != replica.Live {
			name += " (" + string(c.Copy.State) + ")"
		}
		n := slices.Index(texts, text)
		if n < 0 {
			texts, brokers = append(texts, text), append(brokers, nil)
			n = len(texts) - 1
		}
		brokers[n] = append(brokers[n], name)
	}
	for i, text := range texts {
		noun := "broker "
		if len(brokers[i]) > 1 {
			noun = "brokers "
		}
		lines = append(lines, wideLabelled(2, "ended", noun+list(brokers[i])+": "+text)...)
	}
	return lines
}

// commands are what to run, once per hanging transaction on a live replica.
func commands(x *incident.Partition, rows []openRow) []string {
	var lines []string
	n, left := 0, 0
	for _, r := range rows {
		if !r.live || !r.x.Hanging {
			continue
		}
		if r.x.Decision == "commit" {
			lines = append(lines, wideLabelled(2, "do not abort", fmt.Sprintf("producer %d, offset %d: the coordinator committed it, so that aborting it hides records that were committed; look for a replica that has the marker (kafsck diff) and have that lead", r.x.ProducerID, r.x.First))...)
			continue
		}
		if n >= commandsMax {
			left++
			continue
		}
		n++
		if n == 1 {
			lines = append(lines, "", "  To end it on the running cluster: look, then abort (Kafka 3.0 and later; older brokers need the second form)",
				"    "+Command("kafka-transactions.sh", "--bootstrap-server", "HOST:9092", "describe-producers", "--topic", x.Topic, "--partition", fmt.Sprint(x.Number)))
		}
		lines = append(lines,
			"    "+Command(incident.AbortCommand(x, r.x)...),
			"    "+Command(incident.AbortCommandBefore30(x, r.x)...))
	}
	if left > 0 {
		lines = append(lines, "  … "+count(left, "more", "more")+", in --json")
	}
	return lines
}

// Print writes the verdict, the partitions to look at, the others, the scope and the next
// command.
func (t *Txns) Print(w io.Writer) error {
	var out []string
	say := func(word, format string, args ...any) {
		out = append(out, indented(word, fmt.Sprintf(format, args...))...)
	}
	out = append(out, t.Paths.mixed()...)
	n := t.Scope.Partitions
	of := func(k int) string { return fmt.Sprintf("%s of %s", comma(k), count(n, "partition", "partitions")) }
	if t.Scope.Errors > 0 {
		say("NOT READ ", "%s", count(t.Scope.Errors, "path could not be read", "paths could not be read"))
	}
	if t.sure > 0 {
		say("HANGING ", "%s in %s: no marker will come, and read-committed consumers stop there", count(t.sure, "transaction", "transactions"), of(t.hangs))
	}
	if t.likely > 0 {
		say("MAY HANG ", "%s in %s: no marker came for over a week, by the times of the files alone", count(t.likely, "transaction", "transactions"), of(t.hangs))
	}
	if t.missing > 0 {
		say("MISSING ", "%s that another replica has", count(t.missing, "marker", "markers"))
	}
	if t.contrary > 0 {
		say("CONTRARY ", "%s at which replicas hold different markers", count(t.contrary, "offset", "offsets"))
	}
	if t.open > 0 {
		say("OPEN    ", "%s in %s: normal while the producer works", count(t.open, "transaction", "transactions"), of(t.opens))
	}
	if t.open+t.sure+t.likely > 0 && len(t.stops) == 1 && t.stops[0] != "" {
		where, _, _ := strings.Cut(strings.TrimPrefix(t.stops[0], ": read-committed"), ". The transaction")
		say("        ", "Read-committed%s.", where)
	}
	if t.doubtful > 0 {
		say("UNKNOWN ", "whether all records of %s were committed: a marker in between cannot be read, and no .txnindex tells", count(t.doubtful, "finished transaction", "finished transactions"))
	}
	switch {
	case t.sure+t.likely+t.missing+t.contrary+t.open+t.Scope.Errors > 0 || t.doubtful > 0:
	case t.behind > 0:
		say("OK      ", "in the leaders' logs every transaction has ended")
	case t.Filtered && t.ended > 0:
		say("OK      ", "%s, and all of these have ended", count(t.ended, "transaction matches", "transactions match"))
	case t.Filtered:
		say("OK      ", "no open transaction matches")
	case n == 0:
		say("", "Nothing to look at: no partition directory is among these inputs.")
	case t.none == n:
		say("OK      ", "no transactions: no batch of these logs belongs to one")
	default:
		say("OK      ", "every transaction has ended: read-committed consumers stop nowhere before the high watermark")
	}
	if t.behind > 0 {
		say("BEHIND  ", "%s open only in copies that have not fetched the marker yet: in the leader's log %s ended", count(t.behind, "transaction is", "transactions are"),
			map[bool]string{true: "it has", false: "they have"}[t.behind == 1])
	}
	for _, b := range t.blocks {
		out = append(out, "", strings.TrimRight(b, "\n"))
	}
	if len(t.quiet) > 0 {
		out = append(out, "")
		if n := len(t.quiet); n > maxListed {
			say("", "%s: all transactions have ended (each with --all)", count(n, "partition", "partitions"))
		} else {
			out = append(out, t.quiet...)
		}
	}
	if t.none > 0 && t.none < n {
		if len(t.quiet) == 0 {
			out = append(out, "")
		}
		out = append(out, count(t.none, "partition holds no transactions", "partitions hold no transactions"))
	}
	out = append(out, "")
	if t.blind {
		say("", "Which open transactions the coordinator still knows is in __transaction_state: add the log directories of all brokers that hold its partitions.")
	}
	out = append(out, t.Scope.checked())
	if t.missing+t.contrary > 0 {
		out = append(out, "Next: "+t.Paths.Again("diff"))
	}
	_, err := io.WriteString(w, strings.Join(out, "\n")+"\n")
	return err
}
