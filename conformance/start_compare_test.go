package conformance

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kafsck/broker"
	"kafsck/logdir"
)

// difference is one disagreement about a start.
type difference struct {
	what string // "outcome", "files", "log start", "log end", "epochs", "segments", "recovery point", "high watermark", "last stable offset"
	dir  string
	text string
	less bool // Kafka deleted or cut more than was predicted
}

func (d difference) String() string {
	more := ""
	if d.less {
		more = " (LESS than Kafka did)"
	}
	return fmt.Sprintf("%s %s%s: %s", d.what, d.dir, more, d.text)
}

// hard reports whether a disagreement is of the kind that must never be.
func (d difference) hard() bool { return d.what == "outcome" || d.what == "files" }

// compareStart compares a prediction with what Kafka did. compared counts the
// partitions with offsets on both sides.
func compareStart(t *testing.T, c *startCase, a *startAnswer, s *broker.Started) (out []difference, compared int) {
	t.Helper()
	differ := func(what, dir, format string, args ...any) {
		out = append(out, difference{what: what, dir: dir, text: fmt.Sprintf(format, args...)})
	}
	if a.Outcome == "oracle error" {
		t.Fatalf("%s: %v", c.name, a.Exception)
	}
	bare := slices.ContainsFunc(s.Dirs, func(d *broker.StartedDir) bool { return d.LogDir.Bare })
	want := kafkaOutcome(a, s)
	if !bare && want != s.Outcome && !(s.Order != "" && a.Exception != nil && strings.Contains(a.Exception.Message, "already offline")) {
		differ("outcome", "", "Kafka %s %s %v, kafsck %s (%s: %s)", want, a.AbortedBy, a.Exception, s.Outcome, s.Where, s.Why)
	}
	if a.AbortedBy == "meta.properties" && !bare || want == broker.BrokerAborts && a.Outcome != "broker start aborted" {
		return out, 0 // nothing was looked at; the rest of the answer is what would have been
	}
	for i, d := range s.Dirs {
		prefix := ""
		if len(s.Dirs) > 1 {
			prefix = fmt.Sprintf("d%d/", i+1)
		}
		if m := d.Metadata; m != nil && m.Loaded != nil && m.Loaded.Outcome == broker.OK && a.ClusterMetadata != nil && a.ClusterMetadata.Outcome == "ok" {
			if k := a.ClusterMetadata; k.LogStartOffset != m.LogStartOffset || k.LogEndOffset != m.LogEndOffset {
				differ("log end", prefix+"__cluster_metadata-0", "Kafka [%d, %d), kafsck [%d, %d)", k.LogStartOffset, k.LogEndOffset, m.LogStartOffset, m.LogEndOffset)
			}
			out = append(out, compareFiles(prefix+"__cluster_metadata-0", "", a, m)...)
		}
		if s.BeforeLogs && !bare {
			continue
		}
		for _, p := range d.Partitions {
			name := prefix + filepath.Base(p.Partition.HostPath)
			k, found := a.Partitions[name]
			if !found {
				continue // Kafka gave up before it came to this one
			}
			if p.Err != nil || p.Loaded == nil {
				differ("outcome", name, "not read: %v", p.Err)
				continue
			}
			if got := p.Loaded.Outcome == broker.DirOffline || p.Loaded.Outcome == broker.BrokerAborts; got != (k.Outcome != "ok") {
				if !(k.Exception != nil && regexp.MustCompile("Duplicate log directories|already offline").MatchString(k.Exception.Message)) {
					differ("outcome", name, "Kafka %s %v, kafsck %s (%s)", k.Outcome, k.Exception, p.Loaded.Outcome, p.Loaded.Why)
					continue
				}
			}
			// After either the epoch cache's flush, a task of its own, may not have run when the oracle lists the files.
			refused := k.Exception != nil && strings.Contains(k.Exception.Message, "already offline") || a.Outcome == "broker start aborted"
			for _, f := range compareFiles(name, k.DirNameAfter, a, p) {
				if !(refused && strings.HasPrefix(f.text, "leader-epoch-checkpoint")) { // whether it is still flushed is chance
					out = append(out, f)
				}
			}
			if k.Outcome != "ok" || p.Loaded.Outcome == broker.DirOffline || p.Loaded.Outcome == broker.BrokerAborts {
				continue
			}
			compared++
			renamed := k.DirNameAfter != filepath.Base(name)
			if p.Partition.State != logdir.Stray && renamed != (p.Loaded.Outcome == broker.BecomesStray) {
				differ("outcome", name, "Kafka calls the directory %s, kafsck says %s", k.DirNameAfter, p.Loaded.Outcome)
			}
			number := func(what string, kafka, got int64) {
				if kafka != got {
					differ(what, name, "Kafka %d, kafsck %d", kafka, got)
				}
			}
			number("log start", k.LogStartOffset, p.LogStartOffset)
			number("log end", k.LogEndOffset, p.LogEndOffset)
			number("recovery point", k.RecoveryPoint, p.RecoveryPoint)
			if k.HighWatermarkError == nil {
				number("high watermark", k.HighWatermark, p.HighWatermark)
				number("last stable offset", k.LastStableOffset, p.LastStableOffset)
			}
			// Renaming a directory empties the cache in memory; its file is compared above.
			if got := ofCache(p.Epochs); !renamed && fmt.Sprint(got) != fmt.Sprint(k.EpochCache) {
				differ("epochs", name, "Kafka %v, kafsck %v", k.EpochCache, got)
			}
			var kafka, got [][2]int64
			for _, x := range k.Segments {
				kafka = append(kafka, [2]int64{x.Base, x.Size})
			}
			for _, x := range p.Segments {
				got = append(got, [2]int64{x.Base, x.Size})
			}
			if fmt.Sprint(kafka) != fmt.Sprint(got) {
				differ("segments", name, "Kafka %v, kafsck %v", kafka, got)
			}
		}
	}
	return out, compared
}

// kafkaOutcome is the outcome of the whole start as a server meets it, which
// knows some things that the oracle does not do.
func kafkaOutcome(a *startAnswer, s *broker.Started) broker.Outcome {
	if a.MetaProperties != nil && a.MetaProperties.Outcome == "ok" && a.MetaProperties.EmptyDirs > 0 {
		return broker.BrokerAborts // KafkaRaftServer.initializeLogDirs: No `meta.properties` found
	}
	if m := a.MetaProperties; m != nil && m.ErrorDirs > 0 && (m.Outcome == "ok" || strings.Contains(fmt.Sprint(m.Exception), "metadata log directory")) {
		return withoutDirs(s)
	}
	if metadataDirs(s) > 1 {
		return broker.BrokerAborts // likewise: Found unexpected metadata location
	}
	switch a.Outcome {
	case "broker start aborted":
		return broker.BrokerAborts
	case "log dir offline":
		return broker.DirOffline
	}
	for _, p := range a.Partitions {
		// The oracle reads replication-offset-checkpoint for every directory, a server for replicas only.
		if p.HighWatermarkError != nil && !regexp.MustCompile(`-(delete|stray)$`).MatchString(p.DirNameAfter) {
			return broker.DirOffline
		}
	}
	return broker.OK
}

// withoutDirs is the outcome where the meta.properties of a directory does not parse, as servers of 4.3.1
// with two disks and metadata.log.dir on either met it: the metadata log directory ends the start
// ("Encountered I/O error in metadata log directory"), any other is offline from the beginning. The
// oracle takes the first directory for the metadata log's, and then has LogManager open the others
// nevertheless, which fails (LogManager.loadDirectoryIds); of the sound ones it says nothing.
func withoutDirs(s *broker.Started) broker.Outcome {
	home := slices.IndexFunc(s.Dirs, func(d *broker.StartedDir) bool { return d.LogDir.Metadata != nil })
	if m := s.Dirs[max(home, 0)].LogDir.Meta; m == nil || m.Malformed != nil || s.Outcome == broker.BrokerAborts {
		return broker.BrokerAborts
	}
	return broker.DirOffline
}

func metadataDirs(s *broker.Started) (n int) {
	for _, d := range s.Dirs {
		if d.LogDir.Metadata != nil {
			n++
		}
	}
	return n
}

var isIndex = regexp.MustCompile(`\.(index|timeindex|txnindex)(\.|$)`)

// compareFiles compares the files of a partition directory after the load.
func compareFiles(name, after string, a *startAnswer, p *broker.StartedPartition) (out []difference) {
	if p.Loaded == nil {
		return nil
	}
	dir := name
	if after != "" {
		dir = name[:strings.LastIndexByte(name, '/')+1] + after
	}
	kafka := map[string]int64{}
	for path, size := range a.FilesAfter {
		if rest, ok := strings.CutPrefix(path, dir+"/"); ok {
			kafka[rest] = size
		}
	}
	before := map[string]int64{}
	err := filepath.WalkDir(p.Partition.HostPath, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				rel, _ := filepath.Rel(p.Partition.HostPath, path)
				before[rel] = info.Size()
			}
		}
		return err
	})
	if err != nil {
		return []difference{{what: "files", dir: name, text: err.Error()}}
	}
	// What the actions say, which is what a user is told: no deletion and no cut may be missing.
	told := filesAfter(before, p.Loaded)
	for _, f := range slices.Sorted(maps.Keys(kafka)) {
		size, ok := told[f]
		_, was := before[f]
		switch {
		case isIndex.MatchString(f) && !ok && was:
			out = append(out, difference{what: "files", dir: name, text: f + " is kept by Kafka, by the actions it goes"})
		case isIndex.MatchString(f):
		case !ok && f == "leader-epoch-checkpoint" && kafka[f] == 0: // made as soon as it is looked for
		case !ok:
			out = append(out, difference{what: "files", dir: name, text: fmt.Sprintf("%s (%d bytes) is there after Kafka's load, by the actions it is not", f, kafka[f])})
		case size != notTold && size != kafka[f]:
			out = append(out, difference{what: "files", dir: name, text: fmt.Sprintf("%s has %d bytes after Kafka's load, by the actions %d", f, kafka[f], size), less: kafka[f] < size && strings.Contains(f, ".log")})
		}
	}
	for _, f := range slices.Sorted(maps.Keys(told)) {
		if _, ok := kafka[f]; !ok {
			if _, was := before[f]; (!was || told[f] == notTold) && isIndex.MatchString(f) {
				continue // a segment that is renamed, made or recovered has indexes: which is not told
			}
			out = append(out, difference{what: "files", dir: name, text: f + " is gone after Kafka's load, by the actions it stays", less: strings.Contains(f, ".log")})
		}
	}
	// The listing that goes with them, to the byte.
	listed := map[string]int64{}
	for _, f := range p.Files {
		listed[f.Name] = f.Size
	}
	for _, f := range slices.Sorted(maps.Keys(kafka)) {
		// The oracle closes the metadata log, which trims its indexes, and it looks at those of -delete
		// directories, which makes them.
		asked := (after == "" || p.Partition.State == logdir.Delete) && isIndex.MatchString(f)
		if size, ok := listed[f]; !asked && (!ok || size != kafka[f]) {
			out = append(out, difference{what: "files", dir: name, text: fmt.Sprintf("%s has %d bytes after Kafka's load, the listing says %d (there: %v)", f, kafka[f], size, ok)})
		}
		delete(listed, f)
	}
	for _, f := range slices.Sorted(maps.Keys(listed)) {
		out = append(out, difference{what: "files", dir: name, text: f + " is gone after Kafka's load, and is in the listing", less: strings.Contains(f, ".log")})
	}
	return out
}

// filesAfter carries out the actions of a load on a listing; what stands
// for a size is notTold where the actions do not say it.
func filesAfter(before map[string]int64, l *broker.Loaded) map[string]int64 {
	files := maps.Clone(before)
	for _, x := range l.Actions {
		switch x.Action {
		case broker.ActTruncate:
			files[x.File] = x.Position
		case broker.ActDelete, broker.ActDeleteSnapshot:
			delete(files, x.File)
		case broker.ActRename, broker.ActMarkDeleted:
			if size, ok := files[x.File]; ok {
				delete(files, x.File)
				files[x.To] = size
			}
			if base, ok := strings.CutSuffix(x.File, ".log"); ok && x.Action == broker.ActMarkDeleted {
				for _, ending := range []string{".index", ".timeindex"} { // of those that the load made itself nothing is told
					if name := base + ending + ".deleted"; files[name] == 0 {
						files[name] = notTold
					}
				}
			}
		case broker.ActCreateSegment:
			base := strings.TrimSuffix(x.File, ".log")
			files[x.File], files[base+".index"], files[base+".timeindex"] = 0, notTold, notTold
		case broker.ActWriteMetadata:
			files[x.File] = notTold
			delete(files, x.File+".tmp")
		case broker.ActWriteSnapshot, broker.ActRebuildIndex, broker.ActCreateTimeIndex, broker.ActRebuildTxnIndex:
			files[x.File] = notTold
		case broker.ActRecover: // the aborted transactions may be more or fewer, or none
			base := strings.TrimSuffix(x.File, ".log")
			files[base+".index"], files[base+".timeindex"] = notTold, notTold
			files[base+".txnindex"] = notTold
		case broker.ActRewriteEpochs:
			files[x.File] = notTold
		}
	}
	if slices.ContainsFunc(l.Actions, func(x broker.Action) bool { return x.Action == broker.ActSplit }) {
		for _, seg := range l.Segments { // a split makes segments of another
			name := fmt.Sprintf("%020d.log", seg.Base)
			if _, ok := files[name]; !ok {
				files[name] = notTold
			}
		}
	}
	for _, seg := range l.Segments { // opening a segment makes the indexes that it lacks
		for _, ending := range []string{".index", ".timeindex"} {
			if name := fmt.Sprintf("%020d%s", seg.Base, ending); files[name] == 0 {
				files[name] = notTold
			}
		}
	}
	return files
}

// notTold stands for the size of a file that may have any, or be absent if it is an index.
const notTold = -1

// startTally adds up what was compared.
type startTally struct {
	starts, partitions int
	soft               map[string]int
	hard               int
}

// judge compares all cases. report is called with every case that differs.
func judge(t *testing.T, cases []startCase, answers []startAnswer, report func(c *startCase, a *startAnswer, list []difference)) *startTally {
	t.Helper()
	tally := &startTally{soft: map[string]int{}}
	for i := range cases {
		c := &cases[i]
		list, n := compareStart(t, c, &answers[i], predicted(t, c))
		tally.starts++
		tally.partitions += n
		for _, d := range list {
			if d.hard() {
				tally.hard++
			} else {
				tally.soft[d.what]++
			}
		}
		if len(list) > 0 {
			report(c, &answers[i], list)
		}
	}
	for what, n := range tally.soft {
		if float64(n) > 0.005*float64(tally.partitions) {
			t.Errorf("%s: %d of %d partitions differ: more than 0.5 %%", what, n, tally.partitions)
		}
	}
	t.Logf("%d starts, %d partitions loaded; %d differences of outcome or files, others %v", tally.starts, tally.partitions, tally.hard, tally.soft)
	return tally
}

// tell is the report of a test: hard differences fail it.
func tell(t *testing.T) func(c *startCase, a *startAnswer, list []difference) {
	return func(c *startCase, a *startAnswer, list []difference) {
		var lines []string
		fails := false
		for _, d := range list {
			lines = append(lines, "  "+d.String())
			fails = fails || d.hard() || d.less
		}
		text := fmt.Sprintf("%s (%s)\n%s", c.name, c.clean, strings.Join(lines, "\n"))
		if c.recipe != nil {
			text += "\nmade by\n" + c.recipe.String()
		}
		if keep := os.Getenv("KAFSCK_START_LOG"); keep != "" {
			f, err := os.OpenFile(keep, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
			if err == nil {
				fmt.Fprintf(f, "## %s\nrequest %+v\n", text, c.request())
				for _, l := range a.Log {
					if !strings.HasPrefix(l, "INFO Loading") {
						fmt.Fprintln(f, "    kafka:", l)
					}
				}
				f.Close()
			}
		}
		if fails {
			t.Error(text)
		} else {
			t.Log(text)
		}
	}
}
