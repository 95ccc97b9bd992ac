package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
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
