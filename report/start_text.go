package report

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"kafsck/broker"
	"kafsck/commitment"
	"kafsck/incident"
	"kafsck/logdir"
)

// Starts gathers what the next start of each broker does.
type Starts struct {
	Paths    *Paths
	Scope    *Scope
	Brokers  []*incident.BrokerStart
	Clusters []*incident.Cluster
	// Errors are the failed reads that belong to no partition.
	Errors []logdir.PathError
	// Assumed: nobody has named the release that is started.
	Assumed bool
	All     bool // every partition and every action

	parts  map[*incident.BrokerStart][]partitionRow
	totals map[*incident.BrokerStart]*startTotals
	unled  []string // partitions
}

// startTotals adds up what a broker's start takes away.
type startTotals struct {
	dirs, quiet  int // partition directories, and those of which nothing of value changes
	cut          incident.CutTotals
	cutAt        string // the partition of the first cut, and its offsets
	harmless     incident.CutTotals
	empty        int // .deleted logs of 0 bytes that are removed
	stray        int
	scan         int64
	recovered    int // segments
	indexes      int // files built anew
	lost         int64
	lostCounted  bool // the ruling log lacks some of them
	save         []savedFile
	onPurpose    []savedFile // of topics that were deleted
	purpose      int64       // records in them
	unreadable   int
	expiredFiles int // .deleted logs whose records are expired, cleaned away, or still in a live log
	expiredBytes int64
	replaced     int      // segments whose place a finished compaction takes
	missing      []string // what was committed and is missing after a cut
	keep         keepStopped
	leaderAway   int // live replicas whose leader's log is not among the inputs
	replicated   int // live replicas of partitions that may have others
}

// keepStopped is what a broker throws away as a follower after its start.
type keepStopped struct {
	where      []string // partitions with their offsets
	leaders    []incident.BrokerRef
	guess      bool
	lost       map[commitment.Grade]int64
	partitions int
}

// savedFile is a file to copy before the start, with what it holds.
type savedFile struct {
	shown   string
	deletes bool
	gone    []incident.GoneRecords
}

// Takes reports whether a load takes bytes of a log away: a cut, or a segment of the log that is
// deleted with something in it. Files that were set aside before do not count.
func Takes(sp *broker.StartedPartition) bool {
	return slices.ContainsFunc(sp.Actions, func(x broker.Action) bool {
		switch x.Action {
		case broker.ActTruncate, broker.ActMarkDeleted, broker.ActDelete:
			return x.Bytes > 0 && strings.HasSuffix(x.File, ".log")
		}
		return false
	})
}

// TakesValue reports whether a start takes away of a partition directory what may be of value: records
// with a file, a part of the log that is more than zeros, the directory itself; or leads to a loss as
// soon as the broker follows, or somebody is elected.
func TakesValue(ps *incident.PartitionStart) bool {
	return len(ps.Gone) > 0 || ps.Stray != "" || ps.Unled ||
		slices.ContainsFunc(ps.Actions, func(x broker.Action) bool { return isValue(ps, x) && x.Action != broker.ActSplit }) ||
		ps.Follows != nil && len(counting(ps.Follows.Lost)) > 0
}

// Add takes in the directories of one partition. Nothing of it is kept but text and numbers.
func (t *Starts) Add(x *incident.Partition) {
	if t.parts == nil {
		t.parts, t.totals = map[*incident.BrokerStart][]partitionRow{}, map[*incident.BrokerStart]*startTotals{}
	}
	for _, ps := range x.Starts {
		sum := t.total(ps.Start)
		sum.dirs++
		if ps.Loaded == nil {
			sum.unreadable++
			t.parts[ps.Start] = append(t.parts[ps.Start], partitionRow{rank: rankUnread, cells: []string{t.rowName(x, ps), "not read", "?", "?", "?", "?"}, notes: []string{"not read: " + Escape(fmt.Sprint(ps.Err))}})
			continue
		}
		if ps.Unled && !slices.Contains(t.unled, t.Paths.label(x)) {
			t.unled = append(t.unled, t.Paths.label(x))
		}
		if n := len(x.Changes); ps.Partition.State == logdir.Live && (n == 0 || len(x.Changes[n-1].Replicas) != 1) {
			sum.replicated++
		}
		sum.add(ps, t.Paths.label(x))
		if row, tells := t.row(x, ps); tells || t.All {
			t.parts[ps.Start] = append(t.parts[ps.Start], row)
		} else {
			sum.quiet++
		}
	}
}

func (t *Starts) total(b *incident.BrokerStart) *startTotals {
	if t.totals == nil {
		t.parts, t.totals = map[*incident.BrokerStart][]partitionRow{}, map[*incident.BrokerStart]*startTotals{}
	}
	if t.totals[b] == nil {
		t.totals[b] = &startTotals{keep: keepStopped{lost: map[commitment.Grade]int64{}}}
	}
	return t.totals[b]
}

func (s *startTotals) add(ps *incident.PartitionStart, label string) {
	s.scan += ps.ScanBytes
	if ps.LeaderAway != nil {
		s.leaderAway++
	}
	var recovered []string // a segment may be read twice
	for _, x := range ps.Actions {
		switch x.Action {
		case broker.ActRecover:
			if !slices.Contains(recovered, x.File) {
				recovered = append(recovered, x.File)
			}
		case broker.ActRebuildIndex, broker.ActRebuildTimeIndex, broker.ActRebuildTxnIndex:
			s.indexes++
		case broker.ActDelete:
			switch {
			case x.Replaced && ps.Compacted && strings.HasSuffix(x.File, ".log"):
				s.replaced++
			case strings.HasSuffix(x.File, ".log.deleted") && x.Bytes == 0:
				s.empty++
			case strings.HasSuffix(x.File, ".log.deleted") && !slices.ContainsFunc(ps.Gone, func(g incident.GoneRecords) bool { return path.Base(g.File) == x.File }):
				s.expiredFiles++
				s.expiredBytes += x.Bytes
			}
		}
	}
	s.recovered += len(recovered)
	s.addCut(ps, label)
	if ps.Stray != "" {
		s.stray++
	}
	if f := ps.Follows; f != nil && len(counting(f.Lost)) > 0 {
		s.keep.add(f, label)
	}
	if ps.BelowWatermark.From < ps.BelowWatermark.To {
		s.missing = append(s.missing, label+": "+watermarkProse(ps))
	}
	for _, g := range ps.Gone {
		if !g.Counts() {
			continue
		}
		shown := g.File
		if ps.Partition.State == logdir.Delete {
			shown = ps.Partition.Dir // all of it goes
		}
		list := &s.save
		if ps.RemovedAt >= 0 {
			list = &s.onPurpose
			s.purpose += g.Records
		} else {
			s.lost += g.Records
			s.lostCounted = s.lostCounted || g.Lost
		}
		i := slices.IndexFunc(*list, func(f savedFile) bool { return f.shown == shown })
		if i < 0 {
			i = len(*list)
			*list = append(*list, savedFile{shown: shown, deletes: g.Action.Action != broker.ActTruncate})
		}
		(*list)[i].gone = append((*list)[i].gone, g)
	}
}

// addCut adds what the start takes off a log.
func (s *startTotals) addCut(ps *incident.PartitionStart, label string) {
	c := ps.Cut
	// Where the log could not be read its actions are all that is known.
	if c.Bytes = max(c.Bytes, cutBytes(ps)); c.Bytes == 0 {
		return
	}
	sum := &s.cut
	if zerosAlone(ps) {
		sum = &s.harmless
	} else if s.cut.Logs == 0 {
		s.cutAt = label
		for _, x := range ps.Actions {
			if x.From < x.ToOffset && x.Action == broker.ActTruncate {
				s.cutAt += ", " + offsets(x.From, x.ToOffset)
				break
			}
		}
	}
	sum.Logs++
	sum.Bytes += c.Bytes
	sum.Records += c.Records
	sum.Zeros += c.Zeros
	sum.Torn += c.Torn
}

func (k *keepStopped) add(f *incident.Follows, label string) {
	k.partitions++
	lost := counting(f.Lost)
	k.where = append(k.where, label+": "+ranges(lost))
	for _, g := range lost {
		k.lost[g.Committed] += g.Records
	}
	if !slices.Contains(k.leaders, f.Leader) {
		k.leaders = append(k.leaders, f.Leader)
	}
	k.guess = k.guess || f.Guess
}

// Print writes a verdict for each broker, what to copy first, a table of what changes, and the next
// command.
func (t *Starts) Print(w io.Writer) error {
	out := clustersApart(t.Clusters)
	if t.Assumed && len(t.Brokers) > 0 {
		out = append(out, releaseHints(t.Clusters)...)
	}
	out = append(out, t.verdicts()...)
	var save []savedFile
	dirs, keep := 0, false
	for _, b := range t.Brokers {
		out = append(out, t.block(b)...)
		sum := t.total(b)
		save = append(save, sum.save...)
		dirs += sum.dirs
		keep = keep || sum.keep.partitions > 0
	}
	out = append(out, "")
	out = append(out, t.limits()...)
	out = append(out, t.Scope.checked())
	var next []string
	if len(save) > 0 {
		var words []string
		for i, f := range save {
			if i == maxStartActions {
				out = append(out, fmt.Sprintf("(%s to copy; all are in --json, as lost[].file)", count(len(save), "file", "files")))
				break
			}
			words = append(words, t.Paths.Typed(f.shown))
		}
		next = append(next, "mkdir -p SAVED && "+Command(append(append([]string{"cp", "-a", "--parents"}, words...), "SAVED/")...))
	}
	switch {
	case dirs == 0:
		next = append(next, t.Paths.Again("history"))
	case keep || len(t.unled) > 0 || len(next) == 0 && !slices.ContainsFunc(t.Brokers, func(b *incident.BrokerStart) bool { return b.Outcome != broker.OK }):
		next = append(next, t.Paths.Again("predict", "leader"))
	case len(next) == 0:
		next = append(next, t.Paths.Again("check"))
	}
	for i, n := range next {
		out = append(out, map[bool]string{true: "Next: ", false: "Then: "}[i == 0]+n)
	}
	_, err := io.WriteString(w, strings.Join(out, "\n")+"\n")
	return err
}

// verdicts are those of all brokers; the ones that start with nothing to tell share a line.
func (t *Starts) verdicts() []string {
	var out []string
	fine := map[string][]incident.BrokerRef{}
	var kinds []string
	for _, b := range t.Brokers {
		lines, ok := t.verdict(b)
		out = append(out, lines...)
		if ok == "" {
			continue
		}
		if fine[ok] == nil {
			kinds = append(kinds, ok)
		}
		fine[ok] = append(fine[ok], b.Broker)
	}
	if n := len(t.unled); n > 0 {
		names := t.unled
		if n > 4 {
			names = append(slices.Clone(names[:3]), fmt.Sprintf("%d more", n-3))
		}
		out = append(out, indented("WAIT   ", fmt.Sprintf("before any broker is started: %s no leader (%s), and who is elected decides how many records are lost. Which broker is up first may decide it: kafsck predict leader",
			count(n, "partition has", "partitions have"), list(names)))...)
	}
	for _, k := range kinds {
		refs, verb := fine[k], "starts"
		if len(refs) > 1 {
			verb = "start"
		}
		who := brokers(refs)
		if noun, prose, special := strings.Cut(k, "\x00"); special {
			if len(refs) > 1 {
				noun += "s"
			}
			who, k = strings.NewReplacer("brokers", noun, "broker", noun).Replace(who), prose
		}
		out = append(out, indented("OK     ", fmt.Sprintf("%s %s; %s", who, verb, k))...)
	}
	return out
}

// controller reports whether a node is no broker: the metadata have no registration of it, and its
// disks no partition.
func (t *Starts) controller(b *incident.BrokerStart) bool {
	if b.Cluster.Metadata == nil || !b.Broker.Known || t.total(b).dirs > 0 || b.Cluster.Metadata.Brokers[b.Broker.ID] != nil {
		return false
	}
	return slices.ContainsFunc(b.Dirs, func(d *broker.StartedDir) bool { return d.LogDir.Metadata != nil })
}

func (t *Starts) who(b *incident.BrokerStart) string {
	if t.controller(b) {
		return "controller " + Escape(b.Broker.Name)
	}
	return "broker " + Escape(b.Broker.Name)
}

// verdict is a broker in at most a few lines; ok is what is said of one with nothing to tell.
func (t *Starts) verdict(b *incident.BrokerStart) (out []string, ok string) {
	sum, who := t.total(b), t.who(b)
	say := func(word, format string, args ...any) {
		out = append(out, indented(word, fmt.Sprintf(format, args...))...)
	}
	t.failure(b, who, say)
	after := "starting " + who
	if b.BeforeLogs {
		after = "once that is mended, starting " + who
	}
	t.keep(sum, who, b.Outcome == broker.BrokerAborts, say)
	if len(sum.save) > 0 && sum.lost > 0 {
		kind := map[bool]string{true: "lost record", false: "lost records"}[sum.lost == 1]
		if !sum.lostCounted {
			kind = map[bool]string{true: "record", false: "records"}[sum.lost == 1] + " that no other live copy among these inputs holds"
		}
		say("COPY   ", "%s %s %s %s: copy %s first, on the broker's own disk if these inputs are copies", after, actsOn(sum.save), comma(sum.lost), kind, map[bool]string{true: "it", false: "these"}[len(sum.save) == 1])
		out = append(out, savedLines(sum.save)...)
	}
	if n := len(sum.onPurpose); n > 0 {
		say("DELETES ", "%s deletes %s, with %s: copy what was deleted by mistake first", after, count(n, "directory of a deleted topic", "directories of deleted topics"), count(sum.purpose, "record", "records"))
		out = append(out, savedLines(sum.onPurpose)...)
	}
	if sum.cut.Logs > 0 {
		say("CUTS   ", "%s cuts %s: %s (%s)", after, count(sum.cut.Logs, "log", "logs"), cutProse(&sum.cut), sum.cutAt+map[bool]string{true: ", …"}[sum.cut.Logs > 1])
		for i, m := range sum.missing {
			if i == maxStartActions {
				say("       ", "… and %d more partitions", len(sum.missing)-i)
				break
			}
			say("       ", "%s", m)
		}
	}
	if sum.stray > 0 {
		say("STRAY  ", "%s takes %s out of service (renamed to -stray)", after, count(sum.stray, "partition directory", "partition directories"))
	}
	if m := metadataTakes(b); m != nil {
		say("CUTS   ", "%s cuts its metadata log %s", after, Escape(m.Partition.Dir))
	}
	if sum.unreadable > 0 {
		say("NOT READ ", "%s of %s: nothing is known of these", count(sum.unreadable, "partition directory", "partition directories"), who)
	}
	if failed := t.failedReads(b); len(failed) > 0 {
		more := ""
		if n := len(failed) - 1; n > 0 {
			more = fmt.Sprintf(", and %d more", n)
		}
		say("NOT READ ", "%s: how %s starts is not known for certain", Escape(failed[0].Path)+more, who)
	}
	if len(out) > 0 {
		return out, ""
	}
	switch {
	case sum.harmless.Logs > 0:
		ok = zerosProse(&sum.harmless)
	case sum.expiredFiles > 0 || sum.replaced > 0:
		ok = "nothing is cut, and what it deletes has expired, was cleaned away, or stands in a live log"
	case sum.empty > 0:
		ok = "nothing is cut, and what it deletes is empty"
	default:
		ok = "nothing is deleted or cut"
	}
	switch {
	case t.controller(b):
		ok = "controller\x00" + ok
	case sum.leaderAway > 0 || sum.replicated > 0 && t.alone(b):
		ok += "; what the broker cuts later as a follower takes the leader's disk to tell"
	}
	return nil, ok
}

// failedReads are those below a broker's log directories, but for its partitions.
func (t *Starts) failedReads(b *incident.BrokerStart) []logdir.PathError {
	var out []logdir.PathError
	for _, e := range t.Errors {
		inPartition := false
		of := false
		for _, d := range b.Dirs {
			root := d.LogDir.Path + "/"
			of = of || d.LogDir.Path == "." || d.LogDir.Path == "" || strings.HasPrefix(e.Path, root)
			for _, p := range d.Partitions {
				inPartition = inPartition || e.Path == p.Partition.Dir || strings.HasPrefix(e.Path, p.Partition.Dir+"/")
			}
		}
		if of && !inPartition && !slices.ContainsFunc(out, func(x logdir.PathError) bool { return x.Path == e.Path }) {
			out = append(out, e)
		}
	}
	return out
}

// alone reports whether no other broker of the cluster is among the inputs.
func (t *Starts) alone(b *incident.BrokerStart) bool {
	return !slices.ContainsFunc(t.Brokers, func(o *incident.BrokerStart) bool { return o != b && o.Cluster == b.Cluster })
}

// failure says why a broker does not start, or starts with less.
func (t *Starts) failure(b *incident.BrokerStart, who string, say func(word, format string, args ...any)) {
	reason := Escape(b.Why)
	if b.Where != "" && !strings.HasPrefix(b.Why, b.Where) {
		reason = Escape(b.Where) + ": " + reason
	}
	switch {
	case b.Outcome == broker.BrokerAborts:
		say("FAILS  ", "%s does not start: %s", who, reason)
	case b.LastDir():
		say("FAILS  ", "%s stops unless it has other log directories: %s goes offline: %s", who, everyDir(b), reason)
	case b.Outcome == broker.DirOffline:
		say("FAILS  ", "%s starts without a log directory: %s", who, reason)
	}
	if b.Order != "" {
		say("       ", "Or %s.", Escape(b.Order))
	}
	if b.Outcome != broker.OK && !b.BeforeLogs && slices.ContainsFunc(b.Dirs, func(d *broker.StartedDir) bool { return d.Marker }) {
		say("       ", "The attempt removes .kafka_cleanshutdown: the start after it recovers the logs as after a crash.")
	}
}

// keep warns of a broker that throws lost records away as soon as it follows.
func (t *Starts) keep(sum *startTotals, who string, aborts bool, say func(word, format string, args ...any)) {
	k := &sum.keep
	if k.partitions == 0 {
		return
	}
	where := k.where
	if len(where) > 4 {
		where = append(slices.Clone(where[:3]), fmt.Sprintf("and %d partitions more", len(where)-3))
	}
	begins := "its start cuts nothing, but"
	switch {
	case aborts:
		begins = "it does not start now, but once it does,"
	case sum.cut.Logs > 0 || len(sum.save) > 0 || len(sum.onPurpose) > 0:
		begins = "after its start,"
	}
	maybe := "then truncates"
	if k.guess {
		maybe = "(a guess) it may then truncate"
	} else {
		maybe = "it " + maybe
	}
	say("KEEP STOPPED  ", "%s: %s as follower of %s %s %s (%s)", who, begins, brokers(k.leaders), maybe, lostCounts(k.lost), strings.Join(where, "; "))
}

// actsOn says what a start does to the files that hold something.
func actsOn(save []savedFile) string {
	deletes := 0
	for _, f := range save {
		if f.deletes {
			deletes++
		}
	}
	one, many := things(save)
	switch cuts := len(save) - deletes; {
	case deletes == 0:
		return "cuts " + count(cuts, "file that holds", "files that hold")
	case cuts > 0:
		return fmt.Sprintf("deletes %s and cuts %d that hold", count(deletes, "file", "files"), cuts)
	}
	return "deletes " + count(deletes, one+" that holds", many+" that hold")
}

// savedLines lists files with what they hold.
func savedLines(save []savedFile) []string {
	var out []string
	for i, f := range save {
		if i == maxStartActions {
			return append(out, fmt.Sprintf("         … and %d more", len(save)-i))
		}
		out = append(out, "         "+Escape(f.shown)+"  "+savedProse(&f))
	}
	return out
}

func metadataTakes(b *incident.BrokerStart) *broker.StartedPartition {
	for _, d := range b.Dirs {
		if d.Metadata != nil && d.Metadata.Loaded != nil && Takes(d.Metadata) {
			return d.Metadata
		}
	}
	return nil
}

// block is a broker's log directories and the partitions of which there is something to tell.
func (t *Starts) block(b *incident.BrokerStart) []string {
	sum := t.total(b)
	out := []string{"", fmt.Sprintf("%s, Kafka %s", t.who(b), b.Version)}
	for _, d := range b.Dirs {
		out = append(out, t.dir(b, d)...)
	}
	var work []string
	if sum.recovered > 0 {
		work = append(work, fmt.Sprintf("recovers %s", count(sum.recovered, "segment", "segments")))
	}
	if sum.scan > 0 {
		work = append(work, "reads "+count(sum.scan, "byte of .log files", "bytes of .log files"))
	}
	if sum.indexes > 0 {
		work = append(work, "builds "+count(sum.indexes, "index", "indexes")+" anew")
	}
	if sum.harmless.Zeros > 0 {
		work = append(work, fmt.Sprintf("cuts %s of zeros off %s", count(sum.harmless.Zeros, "byte", "bytes"), count(sum.harmless.Logs, "log", "logs")))
	}
	if sum.replaced > 0 {
		work = append(work, fmt.Sprintf("puts a finished compaction (.swap) in the place of %s", count(sum.replaced, "segment", "segments")))
	}
	if sum.expiredFiles > 0 {
		work = append(work, fmt.Sprintf("deletes %s of %s whose records have expired, were cleaned away, or stand in a live log", count(sum.expiredFiles, ".deleted segment", ".deleted segments"), count(sum.expiredBytes, "byte", "bytes")))
	}
	if sum.empty > 0 {
		work = append(work, "deletes "+count(sum.empty, ".deleted segment", ".deleted segments")+" of 0 bytes")
	}
	if len(work) > 0 {
		label := "the start"
		if b.BeforeLogs {
			label = "once mended"
			work[0] = "the start " + work[0]
		}
		out = append(out, labelled(2, label, list(work))...)
	}
	if rows := t.parts[b]; len(rows) > 0 {
		out = append(append(out, ""), t.table(rows)...)
	}
	if sum.quiet > 0 {
		out = append(out, fmt.Sprintf("  Nothing of value changes in %s (each with --all).", count(sum.quiet, "partition directory", "partition directories")))
	}
	return out
}

// dir is one log directory, and its metadata log where it changes.
func (t *Starts) dir(b *incident.BrokerStart, d *broker.StartedDir) []string {
	how := "unclean: no .kafka_cleanshutdown"
	switch {
	case d.Clean && d.Marker:
		how = "clean: .kafka_cleanshutdown is there, and the start removes it"
	case d.Clean:
		how = "clean, as asked for; .kafka_cleanshutdown is not there"
	case d.Marker:
		how = "unclean, as asked for; .kafka_cleanshutdown is there"
	}
	shown := d.LogDir.Path
	if shown == "." || shown == "" {
		shown = cmp.Or(t.Paths.Typed(shown), shown)
	}
	out := labelled(2, "log dir", Escape(shown)+": "+how)
	for _, x := range d.Ignored {
		out = append(out, labelled(2, "", Escape(x))...)
	}
	if d.Outcome != broker.OK && b.Outcome == broker.BrokerAborts {
		out = append(out, labelled(2, "", "it would go offline as well: "+Escape(d.Why))...)
	}
	if m := d.Metadata; m != nil && m.Loaded != nil && (Takes(m) || t.All) {
		out = append(out, labelled(2, "metadata log", fmt.Sprintf("offsets %d to %d after the start", m.LogStartOffset, m.LogEndOffset))...)
		value, rest := t.actions(&incident.PartitionStart{StartedPartition: m, Start: b, Dir: d, RemovedAt: -1, Cut: incident.CutTotals{Bytes: 1}})
		if t.All {
			value = append(value, rest...)
		}
		for _, n := range value {
			out = append(out, indented("    ", n)...)
		}
	}
	return out
}

// limits says what a prediction of these inputs leaves open.
func (t *Starts) limits() []string {
	var out []string
	if slices.ContainsFunc(t.Brokers, func(b *incident.BrokerStart) bool {
		return !b.Asked && !b.ZooKeeper && !b.Version.Before(3, 7) && t.total(b).dirs > 0
	}) {
		out = append(out, indented("", "Without cluster metadata it cannot be told which directories the cluster no longer gives to a broker: a start renames those to -stray as well.")...)
	}
	for _, b := range t.Brokers {
		for _, d := range b.Dirs {
			if d.LogDir.Live {
				out = append(out, indented("", "A broker runs on "+Escape(d.LogDir.Path)+": its files change, and this is what a start would do to them as they were read.")...)
			}
			if d.LogDir.Bare {
				out = append(out, indented("", Escape(d.LogDir.Path)+" has no meta.properties and no checkpoint files: these are taken for lost in the copying. A broker refuses a log directory without meta.properties, and without recovery points recovers every segment.")...)
			}
		}
	}
	return out
}
