package conformance

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

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
