package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"kafsck/broker"
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

// Print writes a verdict for each broker, what to copy first, a table of what changes, and the next
// command.
func (t *Starts) Print(w io.Writer) error {
	out := clustersApart(t.Clusters)
	if t.Assumed && len(t.Brokers) > 0 {
		out = append(out, releaseHints(t.Clusters)...)
	}
	told := map[string]bool{}
	for _, b := range t.Brokers {
		lines := releaseDoubts(b.Version.String(), b.Cluster.Contradicts(b.Version))
		if key := strings.Join(lines, "\n"); !told[key] {
			told[key] = true
			out = append(out, lines...)
		}
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
		leader := t.Paths.Again("predict", "leader")
		if len(t.Brokers) == 1 {
			leader += "\n      (and the copies of the other brokers: who should lead takes all of them to tell)"
		}
		next = append(next, leader)
	case len(next) == 0:
		next = append(next, t.Paths.Again("check"))
	}
	for i, n := range next {
		out = append(out, map[bool]string{true: "Next: ", false: "Then: "}[i == 0]+n)
	}
	_, err := io.WriteString(w, strings.Join(out, "\n")+"\n")
	return err
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
	if sum.unfilled > 0 {
		work = append(work, "makes "+count(sum.unfilled, "missing .timeindex, which stays empty", "missing .timeindex files, which stay empty"))
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
				out = append(out, indented("", Escape(t.Paths.Typed(d.LogDir.Path))+" has no meta.properties and no checkpoint files: these are taken for lost in the copying. A broker refuses a log directory without meta.properties, and without recovery points recovers every segment.")...)
			}
		}
	}
	return out
}
