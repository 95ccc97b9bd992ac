package conformance

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kafsck/repair"
)

// liveCase is a damaged incident as one of several on a cluster: its topics got names and ids of
// their own before anything was planned, and its log directories are disks of brokers 1, 2 and 3.
type liveCase struct {
	name      string
	zooKeeper bool     // for brokers that keep their metadata there
	path      string   // folder with the damaged brokers
	asked     []string // more flags of repair plan
	disks     []liveDisk
	mended    *mended
	plan      *repair.Plan // nil: refused
}

// liveDisk is a log directory of a case, and what a broker runs on in its place.
type liveDisk struct {
	node   int
	copied string // the damaged one; planned for, never changed
	runs   string
}

// uuidOf is a topic or directory id made from a name.
func uuidOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return "L" + base64.RawURLEncoding.EncodeToString(sum[:16])[1:21] + "A"
}

var (
	ofPartition  = regexp.MustCompile(`^(.+)-(\d+)(\.[^.]+-(?:delete|stray|future))?$`)
	offsetLine   = regexp.MustCompile(`(?m)^(\S+) (\d+)( -?\d+)$`)
	topicIDField = regexp.MustCompile(`topic_id: (\S{22})`)
)

// liveTopicName is a topic of a case on a cluster that has one partition of each topic.
func liveTopicName(name, topic, partition string) string {
	topic = strings.ReplaceAll(name, "/", "-") + "-" + topic
	if partition != "0" {
		topic += "_p" + partition
	}
	return topic
}

func (x *liveCase) topicPrefix() string { return liveTopicName(x.name, "", "0") }

// addDisk copies a log directory into an incident: below its folder as broker-N, or broker-N/DISK.
func (x *liveCase) addDisk(t *testing.T, dir, from string, node int, disk string) {
	t.Helper()
	x.path = filepath.Join(dir, x.name)
	to := filepath.Join(x.path, fmt.Sprintf("broker-%d", node), disk)
	label := func(rel string) string {
		first, rest, below := strings.Cut(rel, string(filepath.Separator))
		m := ofPartition.FindStringSubmatch(first)
		if m != nil {
			first = liveTopicName(x.name, m[1], m[2]) + "-0" + m[3]
		}
		if below {
			first = filepath.Join(first, rest)
		}
		return first
	}
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "__cluster_metadata-0" {
			return filepath.SkipDir // of another cluster
		}
		at := filepath.Join(to, label(rel))
		if d.IsDir() {
			return os.MkdirAll(at, 0o755)
		}
		if !d.Type().IsRegular() {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch name := d.Name(); {
		case name == "meta.properties":
			text := regexp.MustCompile(`(node|broker)\.id=.*`).ReplaceAllString(string(b), fmt.Sprintf("${1}.id=%d", node))
			text = regexp.MustCompile(`directory\.id=.*`).ReplaceAllString(text, "directory.id="+uuidOf(to))
			text = regexp.MustCompile(`cluster\.id=.*`).ReplaceAllString(text, "cluster.id="+liveID)
			if x.zooKeeper {
				text = strings.NewReplacer("version=1", "version=0", "node.id=", "broker.id=").Replace(text)
				text = regexp.MustCompile(`directory\.id=.*\n`).ReplaceAllString(text, "")
			} else {
				text = strings.NewReplacer("version=0", "version=1", "broker.id=", "node.id=").Replace(text)
			}
			b = []byte(text)
		case name == "partition.metadata":
			m := ofPartition.FindStringSubmatch(filepath.Base(filepath.Dir(path)))
			b = topicIDField.ReplaceAllFunc(b, func(id []byte) []byte {
				return []byte("topic_id: " + uuidOf(fmt.Sprintf("%s %s %s", x.name, id, m[2])))
			})
		case strings.HasSuffix(name, "-offset-checkpoint"):
			b = offsetLine.ReplaceAllFunc(b, func(line []byte) []byte {
				m := offsetLine.FindSubmatch(line)
				return []byte(liveTopicName(x.name, string(m[1]), string(m[2])) + " 0" + string(m[3]))
			})
		}
		return replaceFile(at, b)
	})
	if err != nil {
		t.Fatal(err)
	}
	x.disks = append(x.disks, liveDisk{node: node, copied: to, runs: to})
}

// caseRoots are the log directories of a case in cases.json: roots "b1", "b2" are replicas.
type caseRoots struct {
	ID       string
	Roots    []string
	Relation string
}

func readCases(t *testing.T, made string) (out []caseRoots) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(made, "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Cases []caseRoots }
	if err := json.Unmarshal(b, &list); err != nil {
		t.Fatal(err)
	}
	return list.Cases
}

// relabelled lays a case out below dir for a cluster.
func (c caseRoots) relabelled(t *testing.T, made, dir string, zooKeeper bool) *liveCase {
	t.Helper()
	x := &liveCase{name: c.ID, zooKeeper: zooKeeper}
	for i, root := range c.Roots {
		switch c.Relation {
		case "replicas":
			x.addDisk(t, dir, filepath.Join(made, c.ID, root), i+1, "")
		case "disks of one broker":
			x.addDisk(t, dir, filepath.Join(made, c.ID, root), 1, root)
		default:
			x.addDisk(t, dir, filepath.Join(made, c.ID, root), 1, "")
		}
	}
	return x
}

// repairCases plans for each case and carries everything out, and says which directories come of it.
func repairCases(t *testing.T, kafsck, dir string, list []*liveCase, kafka string) {
	t.Helper()
	var todo []mendable
	for _, x := range list {
		todo = append(todo, mendable{name: x.name, path: x.path, asked: x.asked, kafka: kafka})
	}
	for _, m := range mendAll(t, kafsck, filepath.Join(dir, "mended"), todo) {
		x := list[slices.IndexFunc(list, func(x *liveCase) bool { return x.name == m.name })]
		x.mended = m // what is confirmed comes after what is proven
		if b, err := os.ReadFile(filepath.Join(dir, "mended", x.name, "plan.json")); err == nil {
			if x.plan, err = repair.Decode(b); err != nil {
				t.Fatal(err)
			}
		}
		for i := range x.disks {
			d := &x.disks[i]
			d.runs = d.copied
			if m.done == nil {
				continue
			}
			for _, r := range m.done.Plan.Roots {
				if r.Path == d.copied && !r.Source {
					d.runs = filepath.Join(m.out, filepath.FromSlash(r.Name))
				}
			}
		}
	}
}

// kinds are those of the actions that were carried out.
func (x *liveCase) kinds() (out []repair.Kind) {
	if x.mended.done == nil {
		return nil
	}
	for _, a := range x.mended.done.Plan.Actions {
		if slices.Contains(x.mended.done.Carried, a.ID) && !slices.Contains(out, a.Kind) {
			out = append(out, a.Kind)
		}
	}
	slices.Sort(out)
	return out
}

// open reports whether something of a partition is left to do, so that a follower may have to cut.
func (x *liveCase) open(partition string) bool {
	if x.plan == nil {
		return true
	}
	for _, l := range x.plan.Left {
		if l.Partition == partition {
			return true
		}
	}
	for _, a := range x.plan.Actions {
		if a.Partition == partition && (x.mended.done == nil || !slices.Contains(x.mended.done.Carried, a.ID)) {
			return true
		}
	}
	return false
}
