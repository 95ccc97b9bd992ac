package broker_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kafsck/broker"
	"kafsck/internal/fixture"
	"kafsck/logdir"
)

// startOne starts all log directories below roots as disks of one broker.
func startOne(t *testing.T, opt broker.StartOptions, roots ...string) *broker.Started {
	t.Helper()
	c, err := logdir.Discover(roots, logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	one := &logdir.Broker{}
	for _, b := range c.Brokers {
		one.Dirs = append(one.Dirs, b.Dirs...)
	}
	slices.SortFunc(one.Dirs, func(a, b *logdir.LogDir) int { return strings.Compare(a.Path, b.Path) }) // one whose id is not known comes last
	s, err := broker.Start(t.Context(), one, opt)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStartOutcomes: what Kafka 4.3.1 did with these directories is in cases.json
// (kafka_4_3_1_on_start). The comparison in full is in conformance/.
func TestStartOutcomes(t *testing.T) {
	dir := fixture.Unpack(t, "cases")
	for _, x := range []struct {
		id, disks string
		outcome   broker.Outcome
		before    bool
		why       string
	}{
		{"BR-01a", ".", broker.DirOffline, false, "leader-epoch-checkpoint"},
		{"BR-01b", ".", broker.BrokerAborts, false, "leader-epoch-checkpoint"},
		{"BR-41a", ".", broker.DirOffline, false, "recovery-point-offset-checkpoint is refused"},
		{"BR-47b", ".", broker.OK, false, ""},
		{"BR-67a", "disk1 disk2", broker.BrokerAborts, false, "both are live"},
		{"BR-67b", "disk1 disk2", broker.OK, false, ""},
		{"BR-69a", ".", broker.BrokerAborts, false, "no partition's"},
		{"BR-69e", ".", broker.OK, false, ""},
		{"BR-69f", ".", broker.OK, false, ""},
		{"BR-74a", ".", broker.BrokerAborts, true, "missing"},
		{"BR-74b", ".", broker.BrokerAborts, true, "node.id"},
		{"BR-74c", ".", broker.BrokerAborts, true, "meta.properties"},
		{"BR-79a", ".", broker.BrokerAborts, true, "quorum-state"},
		{"BR-79c", ".", broker.OK, false, ""},
		{"BR-79b", ".", broker.BrokerAborts, true, "quorum-state"},
		{"BR-79d", ".", broker.BrokerAborts, true, "quorum-state"},
	} {
		var roots []string
		for _, disk := range strings.Fields(x.disks) {
			roots = append(roots, filepath.Join(dir, x.id, disk))
		}
		s := startOne(t, broker.StartOptions{}, roots...)
		if s.Outcome != x.outcome || s.BeforeLogs != x.before || !strings.Contains(s.Why, x.why) {
			t.Errorf("%s: %s, before the logs %v, %q", x.id, s.Outcome, s.BeforeLogs, s.Why)
		}
		for _, d := range s.Dirs {
			for _, p := range d.Partitions {
				if x.outcome != broker.OK && p.Outcome != x.outcome {
					t.Errorf("%s: %s has the outcome %s", x.id, p.Partition.Dir, p.Outcome)
				}
			}
		}
	}
}

// TestStartIdentity changes the meta.properties of a second disk
// (MetaPropertiesEnsemble.verify, KafkaRaftServer.initializeLogDirs 4.3.1).
func TestStartIdentity(t *testing.T) {
	const sound = "version=1\nnode.id=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAg\ndirectory.id=k_kCGHpPRjy0p5hJuSmcCA\n"
	for _, x := range []struct {
		name, second string
		release      broker.Version
		outcome      broker.Outcome
		why          string
	}{
		{"two disks", strings.Replace(sound, "k_kC", "m_kC", 1), broker.Latest, broker.OK, ""},
		{"same directory.id", sound, broker.Latest, broker.BrokerAborts, "Duplicate directory ID"},
		{"same directory.id, before there were any", sound, broker.Version{Major: 3, Minor: 6}, broker.OK, ""},
		{"reserved directory.id", strings.Replace(sound, "k_kCGHpPRjy0p5hJuSmcCA", "AAAAAAAAAAAAAAAAAAAAAg", 1), broker.Latest, broker.BrokerAborts, "reserved"},
		{"other node.id", strings.NewReplacer("node.id=1", "node.id=2", "k_kC", "m_kC").Replace(sound), broker.Latest, broker.BrokerAborts, "node.id 2"},
		{"other cluster.id", strings.NewReplacer("AAAg", "AAAw", "k_kC", "m_kC").Replace(sound), broker.Latest, broker.BrokerAborts, "cluster.id"},
		{"malformed", "version=7\n", broker.Latest, broker.DirOffline, "meta.properties is refused"},
		{"missing", "", broker.Latest, broker.BrokerAborts, "missing"},
	} {
		dir := t.TempDir()
		for disk, text := range map[string]string{"d0": sound, "d1": x.second} {
			root := filepath.Join(dir, disk)
			if err := os.Mkdir(root, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, "log-start-offset-checkpoint"), []byte("0\n0\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			if text != "" {
				if err := os.WriteFile(filepath.Join(root, "meta.properties"), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
		s := startOne(t, broker.StartOptions{Version: x.release}, filepath.Join(dir, "d0"), filepath.Join(dir, "d1"))
		if s.Outcome != x.outcome || !strings.Contains(s.Why, x.why) {
			t.Errorf("%s: %s, %q", x.name, s.Outcome, s.Why)
		}
	}
}

// TestStartWithoutMetaProperties: one of two disks has a meta.properties that is refused. Servers of
// 4.3.1 with metadata.log.dir on either disk went on without the other one, and ended with
// "Encountered I/O error in metadata log directory" where it was that (KafkaRaftServer.initializeLogDirs).
func TestStartWithoutMetaProperties(t *testing.T) {
	const sound = "version=1\nnode.id=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAg\n"
	for _, x := range []struct {
		metadata, refused string // disks
		outcome           broker.Outcome
		or                string
	}{
		{"d0", "d0", broker.BrokerAborts, ""},
		{"d0", "d1", broker.DirOffline, ""},
		{"d1", "d0", broker.DirOffline, ""},
		{"d1", "d1", broker.BrokerAborts, ""},
		{"", "d0", broker.BrokerAborts, "the broker starts without d0"},
		{"", "d1", broker.DirOffline, "the broker aborts if d1"},
		{"d0 d1", "d1", broker.DirOffline, ""}, // nobody looks for a second metadata log there
	} {
		for _, v := range []broker.Version{broker.Latest, {Major: 3, Minor: 3}} {
			dir := t.TempDir()
			for _, disk := range []string{"d0", "d1"} {
				root := filepath.Join(dir, disk)
				text := sound
				if disk == x.refused {
					text = strings.Replace(sound, "node.id", "node-id", 1)
				}
				err := os.MkdirAll(filepath.Join(root, "not a partition"), 0o755)
				if disk != x.refused {
					err = os.Remove(filepath.Join(root, "not a partition"))
				}
				if strings.Contains(x.metadata, disk) {
					err = errors.Join(err, os.Mkdir(filepath.Join(root, "__cluster_metadata-0"), 0o755))
				}
				err = errors.Join(err, os.WriteFile(filepath.Join(root, "meta.properties"), []byte(text), 0o644),
					os.WriteFile(filepath.Join(root, "log-start-offset-checkpoint"), []byte("0\n0\n"), 0o644),
					os.WriteFile(filepath.Join(root, ".kafka_cleanshutdown"), nil, 0o644))
				if err != nil {
					t.Fatal(err)
				}
			}
			s := startOne(t, broker.StartOptions{Version: v}, filepath.Join(dir, "d0"), filepath.Join(dir, "d1"))
			name := fmt.Sprintf("metadata on %q, %s refused, Kafka %s", x.metadata, x.refused, v)
			if s.Outcome != x.outcome || s.BeforeLogs != (x.outcome == broker.BrokerAborts) || !strings.Contains(s.Order, x.or) || (s.Order == "") != (x.or == "") {
				t.Errorf("%s: %s (%s), before the logs %v, or %q", name, s.Outcome, s.Why, s.BeforeLogs, s.Order)
			}
			for _, d := range s.Dirs {
				if refused := filepath.Base(d.LogDir.HostPath) == x.refused; refused != (d.Outcome == broker.DirOffline) || d.Marker == refused || x.outcome == broker.DirOffline && d.Reached == refused {
					t.Errorf("%s: %s is %s, reached %v, its marker goes %v", name, d.LogDir.Path, d.Outcome, d.Reached, d.Marker)
				}
			}
		}
	}
}

// TestStartStrays: directories that the metadata do not give to the broker.
func TestStartStrays(t *testing.T) {
	dir := filepath.Join(fixture.Unpack(t, "unclean-election"), "stage-b", "broker-1")
	for _, x := range []struct {
		membership broker.Membership
		release    broker.Version
		outcome    broker.Outcome
	}{
		{broker.Member, broker.Latest, broker.OK},
		{broker.MemberUnknown, broker.Latest, broker.OK},
		{broker.TopicGone, broker.Latest, broker.BecomesStray},
		{broker.Unassigned, broker.Latest, broker.BecomesStray},
		{broker.TopicGone, broker.Version{Major: 3, Minor: 5}, broker.DirAsDeletion}, // before 3.6.1 deleted
	} {
		s := startOne(t, broker.StartOptions{Version: x.release, Membership: func(*logdir.Partition) broker.Membership { return x.membership }}, dir)
		p := s.Dirs[0].Partitions[0]
		if p.Outcome != x.outcome || (p.Stray != "") != (x.outcome != broker.OK) || p.LogEndOffset != 200 {
			t.Errorf("%d in %s: %s, %q, log end %d", x.membership, x.release, p.Outcome, p.Stray, p.LogEndOffset)
		}
	}
}

// TestStartWithZooKeeper: healthy disks of brokers with ZooKeeper (0.10.2.2, 2.8.2). Their
// meta.properties are of version 0, the older ones without a cluster.id, and no directory has a
// partition.metadata.
func TestStartWithZooKeeper(t *testing.T) {
	for _, dir := range []string{"hw-truncation-loss/stage-a/broker-2", "internal-topics/old-2.8.2/broker-14"} {
		archive, below, _ := strings.Cut(dir, "/")
		root := filepath.Join(fixture.Unpack(t, archive), filepath.FromSlash(below))
		for _, v := range []broker.Version{{Major: 2, Minor: 8}, {Major: 3, Minor: 7}, {Major: 3, Minor: 8}, {Major: 3, Minor: 9}} {
			s := startOne(t, broker.StartOptions{Version: v}, root)
			if s.Outcome != broker.OK || !s.ZooKeeper || len(s.Dirs[0].Partitions) == 0 {
				t.Errorf("%s in %s: %s %q", dir, v, s.Outcome, s.Why)
			}
			for _, p := range s.Dirs[0].Partitions {
				if p.Outcome != broker.OK || p.Stray != "" {
					t.Errorf("%s in %s: %s is %s", dir, v, p.Partition.Dir, p.Outcome)
				}
			}
		}
		if s := startOne(t, broker.StartOptions{}, root); s.ZooKeeper {
			t.Errorf("%s: Kafka 4 knows no ZooKeeper", dir)
		}
	}
}
