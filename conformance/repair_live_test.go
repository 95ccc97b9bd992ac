package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"kafsck/repair"
)

// liveRun is brokers on the results of repairs.
type liveRun struct {
	t       *testing.T
	kafsck  string
	dir     string
	kafka   string // the release
	cases   []*liveCase
	cluster *liveCluster
	topics  []liveTopic
	at      map[string]map[int]replicaFacts // by topic and node: what a start finds, as predicted
	logs    map[int]map[string][]liveRecord // by node and topic: what lies in the results, by kafsck export
	leads   map[string]int
	open    map[string]bool // topics of which the plan leaves something, or whose replicas are not one line
	seen    map[int]int     // bytes of the brokers' logs that were looked at
	begun   time.Time
	read    int            // records that consumers read and that were held against the results
	kept    int            // records that replicas had at the end, held against what they must have
	ignored map[string]int // lines of the brokers' logs by why they are no errors
}

// figures says how much was held against what.
func (r *liveRun) figures() {
	repaired := 0
	for _, x := range r.cases {
		if x.mended.done != nil {
			repaired++
		}
	}
	r.t.Logf("%d cases, %d of them repaired; %d partitions, something is left in %d of them; %d records read and compared, %d compared in the replicas at the end", len(r.cases), repaired, len(r.topics), len(r.open), r.read, r.kept)
	for _, why := range slices.Sorted(maps.Keys(r.ignored)) {
		r.t.Logf("%d lines at level ERROR are none of the results: %s", r.ignored[why], why)
	}
}

// wrong is an error, but for a topic of which the plan leaves something.
func (r *liveRun) wrong(topic, format string, args ...any) {
	r.t.Helper()
	if r.open[topic] {
		r.t.Logf("(the plan leaves something there) "+format, args...)
		return
	}
	r.t.Errorf(format, args...)
}

// step keeps the time in the test's log.
func (r *liveRun) step(what string) { r.t.Logf("%5.1fs %s", time.Since(r.begun).Seconds(), what) }

// replicaFacts is a replica as predict start tells it.
type replicaFacts struct {
	start, end int64
	epoch      int64 // newest, -1 none
	dir        string
}

// liveRecord is a record as a consumer sees it, or as kafsck exports it.
type liveRecord struct {
	offset    int64
	text      string // all that a consumer is told
	control   bool
	committed bool // or in no transaction
	open      bool // in a transaction without a marker
}

// liveRelease is a release of Kafka and how its jars are found.
type liveRelease struct {
	name      string // as kafsck and metadata versions name it
	libs      string
	zooKeeper bool
}

var newestLive = liveRelease{"4.3", "target/lab", false}

// TestLiveRepaired repairs a case for each kind of action, has brokers run on all results, and
// reads them: what was promised, with both isolation levels, nothing else. A second replica follows
// without cutting, and the repaired one follows it in turn.
func TestLiveRepaired(t *testing.T) { liveKinds(t, newestLive) }

// liveKinds is that test with brokers of a release.
func liveKinds(t *testing.T, release liveRelease) {
	t.Helper()
	kafsck := buildKafsck(t)
	dir := inMemory(t)
	mendableCases(t, dir)
	made, copies := filepath.Join(dir, "cases"), filepath.Join(dir, "copies")
	var list []*liveCase
	for _, c := range readCases(t, made) {
		if slices.Contains(slices.Collect(maps.Values(kindCases)), c.ID) {
			list = append(list, c.relabelled(t, made, copies, release.zooKeeper))
		}
	}
	list = append(list, moreCases(t, copies, release.zooKeeper)...)
	list = append(list, salvagedCase(t, kafsck, dir, copies, release.zooKeeper))
	r := runLive(t, kafsck, dir, list, release, []int{1, 2})
	carried := map[repair.Kind]bool{}
	for _, x := range r.cases {
		for _, k := range x.kinds() {
			carried[k] = true
		}
	}
	kinds := append(slices.Collect(maps.Keys(kindCases)), repair.WriteMetaProperties, repair.LowerRecovery)
	if !release.zooKeeper { // 2.8 writes partition.metadata when it likes to
		kinds = append(kinds, repair.WritePartitionMeta)
	}
	for _, kind := range kinds {
		if !carried[kind] {
			t.Errorf("no broker ran on what %s leaves", kind)
		}
	}
	r.compareTruth()
	t.Logf("%d cases, %d partitions, actions %v", len(r.cases), len(r.topics), slices.Sorted(maps.Keys(carried)))
}

// moreCases are the healthy logs as Kafka wrote them, and what cases.json has not: partition.metadata is
// missing on one replica, meta.properties on one of two disks, and a log is to be read whole.
func moreCases(t *testing.T, copies string, zooKeeper bool) []*liveCase {
	t.Helper()
	base := filepath.Join(fixturesDir, "base")
	healthy := &liveCase{name: "healthy", zooKeeper: zooKeeper}
	healthy.addDisk(t, copies, filepath.Join(base, "B1"), 1, "")
	id := &liveCase{name: "no-topic-id", zooKeeper: zooKeeper}
	id.addDisk(t, copies, filepath.Join(base, "R3", "b1"), 1, "")
	id.addDisk(t, copies, filepath.Join(base, "R3", "b2"), 2, "")
	disk := &liveCase{name: "no-meta", zooKeeper: zooKeeper}
	disk.addDisk(t, copies, filepath.Join(base, "P1"), 1, "disk1")
	disk.addDisk(t, copies, filepath.Join(base, "T1"), 1, "disk2")
	for _, name := range []string{filepath.Join(id.disks[0].copied, "no-topic-id-orders-0", "partition.metadata"), filepath.Join(disk.disks[1].copied, "meta.properties")} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	rescan := &liveCase{name: "rescan", zooKeeper: zooKeeper, asked: []string{"--rescan", "rescan-orders-0"}}
	rescan.addDisk(t, copies, filepath.Join(base, "P1"), 1, "")
	return []*liveCase{healthy, id, disk, rescan}
}

// salvagedCase is a log put together of two damaged replicas: broker 1 runs on it, the others begin empty.
func salvagedCase(t *testing.T, kafsck, dir, copies string, zooKeeper bool) *liveCase {
	t.Helper()
	x := &liveCase{name: "salvage", zooKeeper: zooKeeper}
	for node, damage := range map[int]int64{1: 5000, 2: 12000} { // bytes of the segments 0 and 100
		x.addDisk(t, copies, filepath.Join(fixturesDir, "base", "R3", fmt.Sprintf("b%d", node)), node, "")
		name := filepath.Join(x.path, fmt.Sprintf("broker-%d", node), "salvage-orders-0", fmt.Sprintf("%020d.log", 100*(node-1)))
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		b[damage] ^= 1
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "salvaged")
	if code, text := run(kafsck, "salvage", "--quiet", "--out", out, x.path); code != 0 {
		t.Fatalf("kafsck salvage: exit code %d: %s", code, text)
	}
	b, err := os.ReadFile(filepath.Join(out, "repair.json"))
	if err != nil {
		t.Fatal(err)
	}
	x.mended = &mended{out: out, verdict: "salvaged", done: &repair.Done{}}
	if err := json.Unmarshal(b, x.mended.done); err != nil {
		t.Fatal(err)
	}
	// Its plan is about its sources.
	x.plan = &repair.Plan{}
	x.disks = []liveDisk{{node: 1, copied: x.disks[0].copied, runs: filepath.Join(out, "salvaged")}}
	return x
}

// runLive repairs the cases below dir/copies and has brokers run on what comes of it.
func runLive(t *testing.T, kafsck, dir string, list []*liveCase, release liveRelease, nodes []int) *liveRun {
	t.Helper()
	begun := time.Now()
	kafka := ""
	if release.name != newestLive.name {
		kafka = release.name
	}
	repairCases(t, kafsck, dir, slices.DeleteFunc(slices.Clone(list), func(x *liveCase) bool { return x.mended != nil }), kafka)
	r := &liveRun{begun: begun, t: t, kafsck: kafsck, kafka: release.name, dir: dir, at: map[string]map[int]replicaFacts{}, logs: map[int]map[string][]liveRecord{}, leads: map[string]int{}, open: map[string]bool{}, seen: map[int]int{}, ignored: map[string]int{}}
	for _, x := range list {
		for _, w := range x.mended.wrong {
			t.Errorf("%s: %s", x.name, w)
		}
		if why := r.starts(x); why != "" {
			t.Logf("%s: left out (%s): %s", x.name, x.mended.verdict, why)
			continue
		}
		r.cases = append(r.cases, x)
	}
	r.step("repaired")
	c := newLiveCluster(t, dir, release)
	r.cluster = c
	for _, id := range nodes {
		// One folder a broker, for kafsck too.
		own := r.folder(id)
		var dirs []string
		for _, x := range r.cases {
			for i := range x.disks {
				if d := &x.disks[i]; d.node == id {
					to := filepath.Join(own, fmt.Sprintf("%s-%d", strings.ReplaceAll(x.name, "/", "-"), i))
					copyTree(t, d.runs, to, everything)
					dirs = append(dirs, to)
				}
			}
		}
		spare := filepath.Join(own, "spare")
		c.metaProperties(spare, id)
		c.node(id, append(dirs, spare))
	}
	r.facts()
	r.findTopics()
	c.write(r.topics)
	r.step("laid out")
	for _, n := range slices.Backward(c.nodes) {
		c.start(n.id)
	}
	c.inSync(r.topics, r.open)
	r.step("in sync")
	r.compareLogs(atFirst)
	r.compareReads()
	r.compareEnds()
	r.step("read")
	r.changeRoles()
	r.figures()
	return r
}

// starts says why brokers do not run on the result of a case, "" if they do.
func (r *liveRun) starts(x *liveCase) string {
	for _, d := range x.disks {
		b, err := os.ReadFile(filepath.Join(d.runs, "meta.properties"))
		if err != nil || !strings.Contains(string(b), "cluster.id") {
			return "no meta.properties"
		}
		code, text := run(r.kafsck, "predict", "start", "--kafka", r.kafka, d.runs)
		if code > 1 || !strings.Contains(text, "broker "+fmt.Sprint(d.node)+" starts") {
			return text
		}
	}
	return ""
}

func (r *liveRun) folder(node int) string {
	return filepath.Join(r.dir, "nodes", fmt.Sprintf("broker-%d", node))
}

// facts asks kafsck what lies there and what a start finds.
func (r *liveRun) facts() {
	t := r.t
	t.Helper()
	for _, n := range r.cluster.nodes {
		r.logs[n.id] = exported(t, r.kafsck, r.folder(n.id))
		for _, m := range runJSON(t, r.kafsck, 0, "predict", "start", "--json", "--all", "--kafka", r.kafka, r.folder(n.id)) {
			if m["type"] != "predicted-start" || m["loadOutcome"] != "ok" || m["logEndOffset"] == nil {
				continue
			}
			dir := m["dir"].(string)
			name := strings.TrimSuffix(filepath.Base(dir), "-0")
			if name == filepath.Base(dir) {
				continue // not live
			}
			f := replicaFacts{start: int64(m["logStartOffset"].(float64)), end: int64(m["logEndOffset"].(float64)), epoch: -1, dir: dir}
			for _, e := range m["epochs"].([]any) {
				f.epoch = int64(e.([]any)[0].(float64))
			}
			if r.at[name] == nil {
				r.at[name] = map[int]replicaFacts{}
			}
			r.at[name][n.id] = f
		}
	}
}

// findTopics makes a topic of every partition. The leader is the replica with the newest epoch, and of
// these the longest: the others follow it.
func (r *liveRun) findTopics() {
	r.t.Helper()
	for _, n := range r.cluster.nodes {
		code, text := run(r.kafsck, "check", "--json", "--level", "records", r.folder(n.id))
		if code > 1 {
			r.t.Fatalf("kafsck check: exit code %d: %s", code, text)
		}
		for line := range strings.Lines(text) {
			var f struct{ Code, Partition string }
			// These plans do not look inside batches with a right CRC, and no consumer reads past these.
			if err := json.Unmarshal([]byte(line), &f); err == nil && (f.Code == "inner-record-invalid" || f.Code == "lz4-header-checksum-wrong") {
				r.open[strings.TrimSuffix(f.Partition, "-0")] = true
			}
		}
	}
	for _, x := range r.cases {
		for name := range r.at {
			if strings.HasPrefix(name, x.topicPrefix()) && x.open(name+"-0") {
				r.open[name] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.at)) {
		x := liveTopic{Name: name, Epoch: 5000, Config: map[string]string{}}
		leader := 0
		for _, n := range r.cluster.nodes {
			x.Replicas = append(x.Replicas, n.id)
			f, ok := r.at[name][n.id]
			if !ok {
				x.Dirs = append(x.Dirs, nil)
				continue
			}
			disk := filepath.Dir(filepath.Join(r.folder(n.id), f.dir))
			x.Dirs = append(x.Dirs, field(disk, "meta.properties", `(?m)^directory\.id=(.*)$`))
			if id := field(filepath.Join(r.folder(n.id), f.dir), "partition.metadata", `topic_id: (\S+)`); id != nil && x.ID == "" {
				x.ID = *id
			}
			if l, led := r.at[name][leader]; !led || f.epoch > l.epoch || f.epoch == l.epoch && f.end > l.end {
				leader = n.id
			}
		}
		if x.ID == "" {
			r.t.Errorf("%s has no topic id", name)
			continue
		}
		x.ISR = []int{leader}
		r.leads[name] = leader
		r.topics = append(r.topics, x)
	}
}

// field is the first group of a pattern in a file, nil where there is none.
func field(dir, name, pattern string) *string {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return nil
	}
	if m := regexp.MustCompile(pattern).FindSubmatch(b); m != nil {
		s := string(m[1])
		return &s
	}
	return nil
}

// exported is all that kafsck exports from a broker's folder, by topic.
func exported(t *testing.T, kafsck, folder string) map[string][]liveRecord {
	t.Helper()
	out := map[string][]liveRecord{}
	code, text := run(kafsck, "export", "--out", filepath.Join(t.TempDir(), "export.jsonl"), "--quiet", folder)
	if code > 1 {
		t.Fatalf("kafsck export %s: exit code %d: %s", folder, code, text)
	}
	for _, m := range runJSON(t, kafsck, code, "export", folder) {
		if m["type"] != "record" {
			continue
		}
		name := strings.TrimSuffix(m["partition"].(string), "-0")
		state := m["transactionState"]
		out[name] = append(out[name], liveRecord{offset: int64(m["offset"].(float64)), text: recordText(m), control: m["control"] == true,
			committed: state == "committed" || state == "none", open: state == "open" || state == "hanging"})
	}
	return out
}

// recordText is what a consumer is told of a record.
func recordText(m map[string]any) string {
	kind := strings.ToLower(fmt.Sprint(m["timestampType"]))
	headers, _ := json.Marshal(m["headers"])
	return fmt.Sprintf("%v epoch %v %s %v key %v value %v headers %s", m["offset"], m["leaderEpoch"], kind, m["timestampMs"], m["key"], m["value"], headers)
}

// consumed is what a consumer of an isolation level reads of all topics. A topic of which the plan leaves
// something is read alone: what stops a consumer there need not name it.
func (r *liveRun) consumed(isolation string) (records map[string][]liveRecord, ends map[string][2]int64, failed map[string]string) {
	r.t.Helper()
	var sound []string
	var alone [][]string
	for _, x := range r.topics {
		if r.open[x.Name] {
			alone = append(alone, []string{x.Name})
		} else {
			sound = append(sound, x.Name)
		}
	}
	records, ends, failed = map[string][]liveRecord{}, map[string][2]int64{}, map[string]string{}
	for _, names := range append(alone, sound) {
		if len(names) == 0 {
			continue
		}
		if err := r.consume(isolation, names, records, ends, failed); err != nil {
			if !r.open[names[0]] {
				r.t.Fatalf("read: %v", err)
			}
			failed[names[0]] = err.Error()
		}
	}
	return records, ends, failed
}

// consume has one consumer read some topics.
func (r *liveRun) consume(isolation string, names []string, records map[string][]liveRecord, ends map[string][2]int64, failed map[string]string) error {
	t := r.t
	t.Helper()
	out := filepath.Join(t.TempDir(), "read.jsonl")
	a, err := r.cluster.client.try(map[string]any{"do": "read", "servers": r.cluster.servers(), "isolation": isolation, "topics": names, "out": out})
	if err != nil {
		return err
	}
	var said map[string]struct{ Begin, End int64 }
	if err := errors.Join(json.Unmarshal(a["partitions"], &said), json.Unmarshal(a["failed"], &failed)); err != nil {
		t.Fatal(err)
	}
	for name, e := range said {
		ends[name] = [2]int64{e.Begin, e.End}
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		name := m["topic"].(string)
		records[name] = append(records[name], liveRecord{offset: int64(m["offset"].(float64)), text: recordText(m)})
	}
	return nil
}

// visible are the records of a log that a consumer must see.
func visible(log []liveRecord, isolation string) (out []string) {
	for _, x := range log {
		if isolation == "read_committed" && x.open {
			break // the last stable offset
		}
		if !x.control && (isolation != "read_committed" || x.committed) {
			out = append(out, x.text)
		}
	}
	return out
}

// compareReads holds what consumers read against what lies in the leaders' results.
func (r *liveRun) compareReads() {
	t := r.t
	t.Helper()
	for _, isolation := range []string{"read_uncommitted", "read_committed"} {
		read, ends, failed := r.consumed(isolation)
		for _, x := range r.topics {
			if why, ok := failed[x.Name]; ok {
				r.wrong(x.Name, "%s, %s: %s", isolation, x.Name, why)
				continue
			}
			want, got := visible(r.logs[r.leads[x.Name]][x.Name], isolation), visible(read[x.Name], "")
			r.read += len(got)
			for i := range max(len(want), len(got)) {
				if i >= len(want) || i >= len(got) || want[i] != got[i] {
					r.wrong(x.Name, "%s, %s: record %d differs\nin the log: %.300s\nread:       %.300s\n%d in the log, %d read", isolation, x.Name, i, at(want, i), at(got, i), len(want), len(got))
					break
				}
			}
			if isolation == "read_uncommitted" {
				f := r.at[x.Name][r.leads[x.Name]]
				if e := ends[x.Name]; e != [2]int64{f.start, f.end} {
					t.Errorf("%s: consumers begin and end at %v, predicted %d and %d", x.Name, e, f.start, f.end)
				}
			}
		}
	}
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return "none"
}

// compareEnds holds what repair apply promised against what a start finds. Both speak of the same
// directories.
func (r *liveRun) compareEnds() {
	t := r.t
	t.Helper()
	for _, x := range r.cases {
		if x.mended.done == nil {
			continue
		}
		for _, s := range x.mended.done.Starts {
			for _, p := range s.Partitions {
				name := strings.TrimSuffix(p.Partition, "-0")
				if s.Broker == nil || r.at[name] == nil || !strings.HasSuffix(p.Dir, p.Partition) { // not live
					continue
				}
				if f, ok := r.at[name][int(*s.Broker)]; ok && (f.start != p.LogStartOffset || f.end != p.LogEndOffset) {
					t.Errorf("%s: promised [%d, %d), there is [%d, %d)", p.Dir, p.LogStartOffset, p.LogEndOffset, f.start, f.end)
				}
			}
		}
	}
}

// changeRoles stops broker 1 and writes to all partitions; then broker 1 comes back as the follower.
func (r *liveRun) changeRoles() {
	t, c := r.t, r.cluster
	t.Helper()
	first := c.nodes[0].id
	// What each replica has now: what it had, and behind that what the leader had.
	now := map[int]map[string][]liveRecord{}
	for _, n := range c.nodes {
		now[n.id] = map[string][]liveRecord{}
		for _, x := range r.topics {
			leader, own := r.at[x.Name][r.leads[x.Name]], r.at[x.Name][n.id]
			// A follower's log starts where the leader's does, at the latest.
			now[n.id][x.Name] = slices.DeleteFunc(slices.Clone(r.logs[n.id][x.Name]), func(l liveRecord) bool { return l.offset < leader.start })
			for _, l := range r.logs[r.leads[x.Name]][x.Name] {
				if l.offset >= own.end {
					now[n.id][x.Name] = append(now[n.id][x.Name], l)
				}
			}
			own.end = leader.end
			r.at[x.Name][n.id] = own
		}
	}
	c.stop(first)
	led := c.inSync(r.topics, r.open)
	r.step("one stopped")
	c.client.ask(map[string]any{"do": "produce", "servers": c.servers(), "topics": led, "count": 12, "prefix": "after the repair ", "codec": "lz4"})
	c.start(first)
	c.inSync(r.topics, r.open)
	r.step("in sync again")
	r.compareLogs(atTheChange)
	for _, n := range c.nodes {
		c.stop(n.id)
	}
	r.compareLogs(atTheEnd)
	r.step("all stopped")

	for _, n := range c.nodes {
		logs := exported(t, r.kafsck, r.folder(n.id))
		for _, x := range r.topics {
			want, got := now[n.id][x.Name], logs[x.Name]
			if len(got) != len(want)+12 {
				r.wrong(x.Name, "broker %d has %d records of %s at the end, want %d and 12", n.id, len(got), x.Name, len(want))
				continue
			}
			r.kept += len(got)
			for i := range want {
				if want[i].text != got[i].text {
					r.wrong(x.Name, "broker %d, %s: record %d\nwas %.300s\nis  %.300s", n.id, x.Name, i, want[i].text, got[i].text)
					break
				}
			}
		}
	}
}

// Offsets below which a case has the records of its healthy base; others have them all, or (-1) none.
var truthEnds = map[string]int64{"BR-06": -1, "BR-57a": -1, "BR-50b": -1, "BR-16": 295}

// compareTruth holds the results against what lay in the healthy logs: every record is there that
// the plan did not name as lost.
func (r *liveRun) compareTruth() {
	t := r.t
	t.Helper()
	for _, x := range r.cases {
		if x.name == "healthy" || truthEnds[x.name] < 0 {
			continue
		}
		for _, topic := range []string{"orders", "tx", "kv"} {
			name := x.topicPrefix() + topic
			leader, ok := r.leads[name]
			if !ok {
				continue
			}
			has := map[int64]string{}
			for _, c := range r.logs[leader][name] {
				has[c.offset] = c.text
			}
			for _, c := range r.logs[1]["healthy-"+topic] {
				if end := truthEnds[x.name]; end > 0 && c.offset >= end {
					continue
				}
				text, ok := has[c.offset]
				switch {
				case ok && text != c.text:
					t.Errorf("%s: record %.300s, healthy %.300s", name, text, c.text)
				case !ok && !x.lost(name+"-0", c.offset):
					t.Errorf("%s: record %d is gone, and no action names it", name, c.offset)
				}
			}
		}
	}
}

// lost reports whether an action that was carried out names an offset as lost, or cuts the torn batch
// that it was in.
func (x *liveCase) lost(partition string, offset int64) bool {
	if x.mended.done == nil {
		return false
	}
	plan := x.mended.done.Plan
	for _, a := range plan.Actions {
		if a.Partition != partition || !slices.Contains(x.mended.done.Carried, a.ID) {
			continue
		}
		if slices.ContainsFunc(a.Loses, func(l repair.PlanLoss) bool { return l.From <= offset && offset < l.To }) {
			return true
		}
		if a.Kind == repair.CutTail && slices.ContainsFunc(plan.Promises, func(p repair.Promise) bool { return p.Partition == partition && p.LogEndOffset <= offset }) {
			return true
		}
	}
	return false
}
