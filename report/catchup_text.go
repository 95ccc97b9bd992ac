package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"kafsck/broker"
	"kafsck/commitment"
	"kafsck/incident"
)

// Catchups prints what followers throw away and fetch, and how long it takes.
type Catchups struct {
	Paths    *Paths
	Scope    *Scope
	Plan     *incident.CatchupPlan
	InForce  []incident.ThrottleInForce
	Follower *int32 // asked for
	Version  broker.Version
	// Assumed: nobody has named the release.
	Assumed  bool
	Clusters []*incident.Cluster
	All      bool
}

// What is shown without All.
const (
	maxCatchupRows  = 20 // of a broker's table
	maxCatchupNotes = 3  // reasons of rebuilds
	maxUntold       = 5
	maxInForce      = 5
)

// Print writes the text.
func (t *Catchups) Print(w io.Writer) error {
	out := clustersApart(t.Clusters)
	if t.Assumed {
		out = append(out, releaseHints(t.Clusters)...)
	}
	out = append(out, t.verdict()...)
	for i := range t.Plan.Brokers {
		if b := &t.Plan.Brokers[i]; !caughtUp(b) || t.All {
			out = append(append(out, ""), t.broker(b)...)
		}
	}
	if lines := t.untold(); len(lines) > 0 {
		out = append(append(out, ""), lines...)
	}
	if lines := t.inForce(); len(lines) > 0 {
		out = append(append(out, ""), lines...)
	}
	if lines := t.throttles(); len(lines) > 0 {
		out = append(append(out, ""), lines...)
	}
	out = append(out, "", t.Scope.checked())
	if slices.ContainsFunc(t.Plan.Brokers, func(b incident.BrokerCatchup) bool { return lostCounts(b.Lost) != "" }) {
		out = append(out, "Next: "+t.Paths.Again("loss"))
	}
	_, err := io.WriteString(w, strings.Join(out, "\n")+"\n")
	return err
}

// verdict is one sentence for each broker that has something to do.
func (t *Catchups) verdict() []string {
	var out []string
	var synced []incident.BrokerRef
	for i := range t.Plan.Brokers {
		b := &t.Plan.Brokers[i]
		if caughtUp(b) {
			if !b.Moves && !slices.Contains(synced, b.Follower) {
				synced = append(synced, b.Follower)
			}
			continue
		}
		out = append(out, t.cuts(b)...)
		out = append(out, indented(t.label(b), t.sentence(b))...)
	}
	switch {
	case len(out) == 0 && len(synced) > 0:
		out = indented("IN SYNC    ", brokers(synced)+" "+haveOrHas(len(synced))+" everything that the leaders have")
	case len(synced) > 0 && t.Follower == nil:
		out = append(out, indented("IN SYNC    ", brokers(synced)+" "+haveOrHas(len(synced))+" everything")...)
	}
	if n := len(t.Plan.Untold); n > 0 {
		out = append(out, indented("NOT KNOWN  ", fmt.Sprintf("%s without a leader's log to fetch from, or with a log that could not be read", count(n, "replica or partition", "replicas or partitions")))...)
	}
	if n := t.Scope.Errors; n > 0 {
		out = append(out, indented("NOT READ   ", count(n, "file or directory", "files and directories")+" (named on stderr): what is told here may be wrong")...)
	}
	if len(out) == 0 {
		who := "no follower"
		if t.Follower != nil {
			who = fmt.Sprintf("no replica of broker %d that follows", *t.Follower)
		}
		out = []string{"NOTHING    " + who + " among these inputs"}
	}
	return out
}

// caughtUp reports whether a broker has everything, and keeps it: a replica with nothing to fetch may
// still cut its log.
func caughtUp(b *incident.BrokerCatchup) bool {
	return b.Replicas[broker.InSync] == b.Size() && b.Truncated == 0
}

// cuts is what a broker throws away and its leaders lack; nil for nothing.
func (t *Catchups) cuts(b *incident.BrokerCatchup) []string {
	what := lostCounts(b.Lost)
	if what == "" {
		return nil
	}
	counts := b.Lost[commitment.Yes]+b.Lost[commitment.Unknown] > 0
	var where []string
	var leaders []incident.BrokerRef
	guess := false
	for i := range t.Plan.Followers {
		f := &t.Plan.Followers[i]
		if f.Follower != b.Follower || (f.State == incident.FollowerFuture) != b.Moves {
			continue
		}
		lost := f.Lost
		if counts {
			lost = counting(lost)
		}
		if len(lost) == 0 {
			continue
		}
		where = append(where, Escape(f.Partition)+": "+ranges(lost))
		guess = guess || f.Guess
		if !slices.Contains(leaders, f.Leader) {
			leaders = append(leaders, f.Leader)
		}
	}
	if len(where) > 4 {
		where = append(where[:3], fmt.Sprintf("and %d partitions more", len(where)-3))
	}
	lack := "lacks"
	if len(leaders) > 1 {
		lack = "lack"
	}
	who := brokers(leaders)
	if guess {
		who += ", for a guess at who leads,"
	}
	s := fmt.Sprintf("broker %s throws away %s, which %s %s (%s)", Escape(b.Follower.Name), what, who, lack, strings.Join(where, "; "))
	if !counts {
		return indented("CUTS       ", s)
	}
	return indented("CUTS       ", s+": keep it stopped until they are saved, or it leads")
}

func haveOrHas(n int) string {
	if n == 1 {
		return "has"
	}
	return "have"
}

func (t *Catchups) label(b *incident.BrokerCatchup) string {
	switch {
	case b.Moves && b.Never == 0:
		return "MOVE       "
	case b.Never > 0:
		return "NEVER?     "
	case b.Replicas[broker.Stuck] > 0:
		return "STUCK      "
	case b.Replicas[broker.Rebuild] > 0:
		return "REBUILD    "
	case b.FetchBytes == 0:
		return "CUTS       "
	}
	return "CATCH UP   "
}

func (t *Catchups) sentence(b *incident.BrokerCatchup) string {
	var parts []string
	who := "broker " + Escape(b.Follower.Name)
	if b.Moves {
		who += "'s copying between its disks"
	}
	amount := bytesText(b.FetchBytes)
	if b.Absent {
		amount = "at most " + amount
	}
	switch {
	case b.Never > 0:
		parts = append(parts, fmt.Sprintf("%s may never catch up (%s to fetch %s): %s", who, amount, t.rates(b), t.need(b)))
	case b.FetchBytes == 0:
		parts = append(parts, fmt.Sprintf("%s cuts %s off and has nothing to fetch", who, bytesText(b.CutBytes+b.DeletedBytes)))
	case math.IsNaN(b.Seconds) && b.Rate+b.LeaderRate > 0:
		parts = append(parts, fmt.Sprintf("%s has %s to fetch; some of its replicas are under no throttle, so that the time is not known", who, amount))
	case math.IsNaN(b.Seconds):
		parts = append(parts, fmt.Sprintf("%s has %s to %s; no throttle is given, so that the time is not known", who, amount, map[bool]string{false: "fetch", true: "copy"}[b.Moves]))
	default:
		parts = append(parts, fmt.Sprintf("%s catches up %s in %s %s", who, amount, Duration(b.Seconds), t.rates(b)))
	}
	if n := b.Replicas[broker.Stuck]; n > 0 {
		parts = append(parts, count(n, "partition gets stuck", "partitions get stuck"))
	}
	if n := b.Replicas[broker.Rebuild]; n > 0 {
		parts = append(parts, count(n, "partition is rebuilt from scratch", "partitions are rebuilt from scratch"))
	}
	if n := b.Truncated; n > 0 && b.FetchBytes > 0 && lostCounts(b.Lost) == "" {
		parts = append(parts, count(n, "partition cuts its log first", "partitions cut their logs first"))
	}
	var peak int64
	grows := false
	for _, d := range b.Dirs {
		peak += d.Peak
		grows = grows || d.Grows
	}
	text := "peak disk " + bytesText(peak)
	if grows {
		text = "peak disk at least " + bytesText(peak)
	}
	return strings.Join(append(parts, text), "; ")
}

// rates says what limits a broker.
func (t *Catchups) rates(b *incident.BrokerCatchup) string {
	var words []string
	if b.Rate > 0 {
		words = append(words, rateText(b.Rate))
	}
	if b.LeaderRate > 0 {
		words = append(words, rateText(b.LeaderRate)+" a leader")
	}
	s := "at " + strings.Join(words, " and ")
	if b.InForce {
		s += " (set already, by the metadata)"
	}
	if b.Write > 0 {
		s += ", with " + rateText(b.Write) + " of new data"
	}
	return s
}

func (t *Catchups) need(b *incident.BrokerCatchup) string {
	if len(b.Needs) == 0 {
		return "its share is used up by new data"
	}
	n := &b.Needs[0]
	s := fmt.Sprintf("%s must be above %s", needFlag(n), rateText(n.Rate))
	if rest := len(b.Needs) - 1; rest > 0 {
		s += fmt.Sprintf(" (and %s)", count(rest, "budget more", "budgets more"))
	}
	if !math.IsInf(n.AtTwice, 0) && !math.IsNaN(n.AtTwice) {
		s += fmt.Sprintf("; at twice that it takes %s", Duration(n.AtTwice))
	}
	return s
}

func needFlag(n *incident.Need) string {
	switch n.Side {
	case "leader":
		return "the throttle of leader " + Escape(n.Broker.Name)
	case "move":
		return "its throttle for moves"
	}
	return "its throttle"
}

// broker is the table of one broker, its disks, and what is thrown away.
func (t *Catchups) broker(b *incident.BrokerCatchup) []string {
	title := "broker " + Escape(b.Follower.Name)
	if b.Moves {
		title += ", -future copies"
	}
	if b.Absent {
		title += ": its disks are not among these inputs and are counted as empty"
	}
	out := []string{title}
	var rows []*incident.TimedCatchup
	for i := range t.Plan.Followers {
		f := &t.Plan.Followers[i]
		if f.Follower == b.Follower && (f.State == incident.FollowerFuture) == b.Moves && (f.Way != broker.InSync || f.Truncates() || t.All) {
			rows = append(rows, f)
		}
	}
	total := len(rows)
	if total > maxCatchupRows && !t.All {
		slices.SortStableFunc(rows, func(a, b *incident.TimedCatchup) int { return cmp.Compare(b.FetchBytes, a.FetchBytes) })
		rows = rows[:maxCatchupRows]
	}
	tab := table{header: []string{"PARTITION", ">LEADER", ">LOG END", ">CUT TO", "THEN", ">FETCH FROM", ">TO FETCH", ">THROWN AWAY", ">TIME"}}
	notes := 0
	for _, f := range rows {
		cut := "-"
		if f.Truncates() {
			cut = fmt.Sprint(f.TruncateTo)
		}
		leader := Escape(f.Leader.Name)
		if f.Guess {
			leader += "?"
		}
		end := fmt.Sprint(f.LogEnd)
		if f.State == incident.FollowerEmpty || f.State == incident.FollowerAbsent {
			end = "-"
		}
		tab.add(Escape(f.Partition), leader, end, cut, wayText(f), fmt.Sprint(f.FetchFrom), bytesText(f.FetchBytes), bytesText(f.ThrownAway()), timeText(f.Seconds))
		if (f.Why != "" || f.State == incident.FollowerEmpty || f.CutByStart.From < f.CutByStart.To) && (notes < maxCatchupNotes || t.All) {
			notes++
			for _, line := range indented("  ", t.sentenceOf(f)) {
				tab.note(line)
			}
		}
	}
	if total > 1 {
		tab.add("total", "", "", "", "", "", bytesText(b.FetchBytes), bytesText(b.CutBytes+b.DeletedBytes), timeText(b.Seconds))
	}
	out = append(out, tab.lines("  ")...)
	if n := total - len(rows); n > 0 {
		out = append(out, fmt.Sprintf("  … the %d largest; %s more with --all or --json", len(rows), comma(n)))
	}
	cutOnly := 0
	for _, f := range rows {
		if f.Way == broker.InSync && f.Truncates() {
			cutOnly++
		}
	}
	if n := b.Replicas[broker.InSync] - cutOnly; n > 0 && total == len(rows) && !t.All {
		out = append(out, fmt.Sprintf("  %s in sync", count(n, "other partition is", "other partitions are")))
	}
	for _, d := range b.Dirs {
		out = append(out, t.space(&d)...)
	}
	if b.CutBytes > 0 {
		out = append(out, indented("  ", bytesText(b.CutBytes)+" are cut off inside a file and gone at once: copy the files before the broker starts.")...)
	}
	if b.DeletedBytes > 0 {
		out = append(out, indented("  ", fmt.Sprintf("%s are renamed .deleted and removed after %s, or at once when the broker restarts: copy them before it starts if anybody may need them.",
			bytesText(b.DeletedBytes), Duration(t.Plan.Rates.DeleteDelay.Seconds())))...)
	}
	out = append(out, t.guesses(b)...)
	return out
}

func wayText(f *incident.TimedCatchup) string {
	switch f.Way {
	case broker.InSync:
		if f.Truncates() {
			return "nothing"
		}
		return "in sync"
	case broker.Stuck:
		return fmt.Sprintf("stuck at %d", f.StuckAt)
	case broker.Rebuild:
		return "rebuild"
	}
	return "catch up"
}

// sentenceOf explains a rebuild, a replica that gets stuck, and what its own start cuts.
func (t *Catchups) sentenceOf(f *incident.TimedCatchup) string {
	s := f.Why
	switch f.State {
	case incident.FollowerEmpty:
		s = "its disks hold no replica of it"
	case incident.FollowerAbsent:
		s = fmt.Sprintf("the leader's log starts at %d", f.FetchFrom)
	}
	if f.EmptyDeleted >= 0 {
		s += fmt.Sprintf("; offset %d lies inside a batch, so that its first segment is %020d.log", f.FetchFrom, f.FirstSegment)
	}
	if cut := f.CutByStart; cut.From < cut.To {
		if s != "" {
			s += "; "
		}
		s += fmt.Sprintf("its own start cuts %s off already: %s", offsets(cut.From, cut.To), t.Paths.Again("predict", "start"))
	}
	return s
}

func (t *Catchups) space(d *incident.DirSpace) []string {
	name := Escape(d.Path)
	if d.Path == "" {
		name = "a disk that is not known"
	}
	least := ""
	if d.Grows {
		least = "at least "
	}
	return indented("  ", fmt.Sprintf("%s: .log files of these partitions %s now, %s%s at the peak, %s%s when all is fetched and the old segments are gone.", name, bytesText(d.Now), least, bytesText(d.Peak), least, bytesText(d.After)))
}

// guesses names one leader that is a guess.
func (t *Catchups) guesses(b *incident.BrokerCatchup) []string {
	n, why := 0, ""
	for i := range t.Plan.Followers {
		if f := &t.Plan.Followers[i]; f.Follower == b.Follower && f.Guess && f.Way != broker.InSync && (f.State == incident.FollowerFuture) == b.Moves {
			if n++; n == 1 {
				why = fmt.Sprintf("%s from broker %s: %s", Escape(f.Partition), Escape(f.Leader.Name), Escape(f.LeaderWhy))
			}
		}
	}
	switch n {
	case 0:
		return nil
	case 1:
		return indented("  ", "The leader is a guess. "+why+". --leader PARTITION=ID takes another.")
	}
	return indented("  ", fmt.Sprintf("The leader is a guess for %s partitions, such as %s. --leader PARTITION=ID takes another.", comma(n), why))
}

func (t *Catchups) untold() []string {
	var out []string
	for i, u := range t.Plan.Untold {
		if i == maxUntold && !t.All {
			return append(out, fmt.Sprintf("  … and %s more with --all", comma(len(t.Plan.Untold)-i)))
		}
		out = append(out, indented(Escape(u.Partition)+"  not predicted: ", Escape(u.Why))...)
	}
	alone := 0
	for _, u := range t.Plan.Untold {
		if u.Alone {
			alone++
		}
	}
	if alone > 0 {
		whose := "of these partitions"
		if alone == 1 && len(t.Plan.Untold) == 1 {
			whose = "of it"
		}
		out = append(out, indented("", "No other replica "+whose+" is among the inputs, which could lead instead: give the log directories of the other brokers as well.")...)
	}
	if len(t.Plan.Untold) > alone {
		out = append(out, "Name a leader whose log is among the inputs: --leader PARTITION=ID")
	}
	return out
}

// bytesText is a size for people, in powers of 1024.
func bytesText(n int64) string {
	if n < 1024 {
		return comma(n) + " B"
	}
	return humanize.IBytes(uint64(n))
}

// rateText is a rate for people: in the unit in which it is a round number.
func rateText(r float64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"GiB/s", 1 << 30}, {"MiB/s", 1 << 20}, {"KiB/s", 1 << 10}, {"GB/s", 1e9}, {"MB/s", 1e6}, {"kB/s", 1e3}} {
		if v := r / u.size; v >= 1 && v*10 == math.Trunc(v*10) {
			return humanize.Ftoa(v) + " " + u.name
		}
	}
	return bytesText(int64(r)) + "/s"
}

// timeText is Duration in a table.
func timeText(seconds float64) string {
	switch {
	case math.IsNaN(seconds):
		return "?"
	case math.IsInf(seconds, 1):
		return "never"
	case seconds == 0:
		return "-"
	}
	return Duration(seconds)
}

// Duration is a time for people, rounded to two units: "12 d 3 h", "5 h 50 min",
// "42 s".
func Duration(seconds float64) string {
	if seconds < 0.5 {
		return "less than 1 s"
	}
	units := []struct {
		name string
		size float64
	}{{"d", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}}
	for i, u := range units[:3] {
		small := units[i+1]
		n := math.Round(seconds / small.size) // in the smaller unit
		per := u.size / small.size
		if n < per {
			continue
		}
		if rest := math.Mod(n, per); rest > 0 {
			return fmt.Sprintf("%.0f %s %.0f %s", math.Floor(n/per), u.name, rest, small.name)
		}
		return fmt.Sprintf("%.0f %s", n/per, u.name)
	}
	return fmt.Sprintf("%.0f s", math.Round(seconds))
}
