package logdir

import (
	"strings"
	"testing"

	"kafsck/internal/rofs"
)

// brokersOf tells only brokers, how they are known, and their directories.
func brokersOf(c *Case) string {
	var lines []string
	for _, b := range c.Brokers {
		var dirs []string
		for _, d := range b.Dirs {
			dirs = append(dirs, d.Path)
		}
		lines = append(lines, b.String()+" "+b.IDSource+": "+strings.Join(dirs, " "))
	}
	for _, n := range c.Notes {
		lines = append(lines, "note "+n.Kind.String()+" "+strings.Join(n.Paths, " "))
	}
	return strings.Join(lines, "\n")
}

const (
	dirA = `\ndirectory.id=AAAAAAAAAAAAAAAAAAAAaQ`
	dirB = `\ndirectory.id=AAAAAAAAAAAAAAAAAAAAbQ`
)

func TestBrokers(t *testing.T) {
	for _, c := range []struct {
		name string
		tree []string
		opt  Options
		want string
	}{
		{"two disks side by side", []string{
			"x/d0/meta.properties = node.id=4" + dirA, "x/d1/meta.properties = node.id=4" + dirB},
			Options{}, "4 meta.properties: x/d0 x/d1"},
		{"two disks side by side before 3.7, the same live partition on both", []string{
			"x/a/meta.properties = broker.id=4", "x/a/t-0/D0.log", "x/b/meta.properties = broker.id=4", "x/b/t-0/D0.log"},
			Options{}, "4 meta.properties: x/a x/b"},
		{"disks collected by disk, not by broker", []string{
			"disk1/broker-4/meta.properties = node.id=4" + dirA, "disk2/broker-4/meta.properties = node.id=4" + dirB,
			"disk1/broker-5/meta.properties = node.id=5" + dirA, "disk2/broker-5/meta.properties = node.id=5" + dirB},
			Options{}, "4 meta.properties: disk1/broker-4 disk2/broker-4\n5 meta.properties: disk1/broker-5 disk2/broker-5"},
		{"two moments of one disk", []string{
			"before/b4/meta.properties = node.id=4" + dirA, "after/b4/meta.properties = node.id=4" + dirA, "later/b4/meta.properties = node.id=4" + dirA},
			Options{}, "4 meta.properties: after/b4\n4 meta.properties: before/b4\n4 meta.properties: later/b4\nnote duplicate after/b4 before/b4\nnote duplicate after/b4 later/b4"},
		{"two moments of one disk side by side", []string{
			"a/meta.properties = node.id=4" + dirA, "b/meta.properties = node.id=4" + dirA},
			Options{}, "4 meta.properties: a\n4 meta.properties: b\nnote duplicate a b"},
		{"two moments before 3.7", []string{
			"before/b4/meta.properties = broker.id=4", "after/b4/meta.properties = broker.id=4"},
			Options{}, "4 meta.properties: after/b4\n4 meta.properties: before/b4\nnote duplicate after/b4 before/b4"},
		{"different brokers may share a directory.id when somebody copied a disk", []string{
			"b1/meta.properties = node.id=1" + dirA, "b2/meta.properties = node.id=2" + dirA},
			Options{}, "1 meta.properties: b1\n2 meta.properties: b2"},
		{"two clusters", []string{
			`x/meta.properties = node.id=1\ncluster.id=c1`, `y/meta.properties = node.id=1\ncluster.id=c2`, `z/meta.properties = node.id=1\ncluster.id=c1` + dirA},
			Options{}, "1 meta.properties: x z\n1 meta.properties: y\nnote clusters x z y"},
		{"without meta.properties the folder's name tells", []string{
			"broker-3/t-0/D0.log", "b7/t-0/D0.log", "node12/t-0/D0.log", "kafka_2/t-0/D0.log", "5/t-0/D0.log", "kafka-3.9.2/t-0/D0.log", "copy-2026-11-30/t-0/D0.log", "99999999999/t-0/D0.log"},
			Options{}, "2 folder name: kafka_2\n3 folder name: broker-3\n5 folder name: 5\n7 folder name: b7\n12 folder name: node12\n99999999999 : 99999999999\ncopy-2026-11-30 : copy-2026-11-30\nkafka-3.9.2 : kafka-3.9.2"},
		{"a disk's name is no broker's", []string{
			"broker-3/d0/t-0/D0.log", "broker-3/d1/t-1/D0.log", "other/data1/t-0/D0.log", "other/data2/t-1/D0.log"},
			Options{}, "3 folder name: broker-3/d0 broker-3/d1\nother : other/data1 other/data2"},
		{"a disk without meta.properties is the broker's whose disks lie beside it", []string{
			"kafka/d0/meta.properties = node.id=4" + dirA, "kafka/d0/t-0/D0.log", "kafka/d1/u-0/D0.log", "kafka/d2/meta.properties = version=x", "kafka/d2/v-0/D0.log"},
			Options{}, "4 meta.properties: kafka/d0 kafka/d1 kafka/d2"},
		{"not where both hold a partition", []string{
			"kafka/d0/meta.properties = node.id=4" + dirA, "kafka/d0/t-0/D0.log", "kafka/d1/t-0/D0.log"},
			Options{}, "4 meta.properties: kafka/d0\nkafka : kafka/d1"},
		{"not where the disks are of two brokers, or of another cluster", []string{
			"kafka/d0/meta.properties = node.id=4", "kafka/d1/meta.properties = node.id=5", "kafka/d2/t-0/D0.log",
			`k/d0/meta.properties = node.id=4\ncluster.id=c1`, `k/d1/meta.properties = cluster.id=c2`},
			Options{}, "4 meta.properties: k/d0\n4 meta.properties: kafka/d0\n5 meta.properties: kafka/d1\nk : k/d1\nkafka : kafka/d2\nnote duplicate k/d0 kafka/d0\nnote clusters k/d0 k/d1"},
		{"not where the names are no disk's", []string{
			"kafka/a/meta.properties = node.id=4", "kafka/b/t-0/D0.log"},
			Options{}, "4 meta.properties: kafka/a\nb : kafka/b"},
		{"one number, two folders", []string{"broker-3/t-0/D0.log", "node-3/t-0/D0.log"},
			Options{}, "3 folder name: broker-3\n3 folder name: node-3\nnote duplicate broker-3 node-3"},
		{"meta.properties that does not tell", []string{"b7/meta.properties = version=1", "b8/meta.properties"},
			Options{}, "7 folder name: b7\n8 folder name: b8"},
		{"told by the user", []string{"x/t-0/D0.log", "y/d0/t-0/D0.log", "y/d1/t-1/D0.log"},
			Options{BrokerIDs: []BrokerID{{"x", 1}, {"y/", 9}, {"y/d1", 2}}}, "1 --broker: x\n2 --broker: y/d1\n9 --broker: y/d0"},
		{"told by the user, but meta.properties knows", []string{"x/meta.properties = node.id=3"},
			Options{BrokerIDs: []BrokerID{{"x", 1}}}, "3 meta.properties: x\nnote broker x"},
		{"told by the user for nothing", []string{"x/meta.properties = node.id=3"},
			Options{BrokerIDs: []BrokerID{{"z", 1}}}, "3 meta.properties: x\nnote broker z"},
	} {
		got, err := DiscoverFS(rofs.FromFS(tree(c.tree...)), "copies", c.opt)
		must(t, err)
		if g := brokersOf(got); g != c.want {
			t.Errorf("%s\ngot:\n%s\nwant:\n%s", c.name, g, c.want)
		}
	}
}

// TestBrokersOfSeveralPaths: each PATH a disk.
func TestBrokersOfSeveralPaths(t *testing.T) {
	dir := onDisk(t,
		"m1/kafka/meta.properties = broker.id=1", "m1/kafka/t-0/D0.log",
		"m2/kafka/meta.properties = broker.id=1", "m2/kafka/u-0/D0.log",
		"m3/kafka/meta.properties = broker.id=1", "m3/kafka/t-0/D0.log",
		"m4/kafka/t-0/D0.log")
	c := discover(t, dir+"/m1/kafka", dir+"/m2/kafka")
	if got := brokersOf(c); got != "1 meta.properties: m1/kafka m2/kafka" {
		t.Errorf("two disks:\n%s", got)
	}
	c = discover(t, dir+"/m1/kafka", dir+"/m3/kafka")
	if got := brokersOf(c); got != "1 meta.properties: m1/kafka\n1 meta.properties: m3/kafka\nnote duplicate m1/kafka m3/kafka" {
		t.Errorf("two copies:\n%s", got)
	}
	for _, p := range []string{dir + "/m4", dir + "/m4/kafka", dir + "/m4/kafka/t-0", "m4/kafka", "t-0"} {
		c, err := Discover([]string{dir + "/m1/kafka", dir + "/m4/kafka/t-0"}, Options{BrokerIDs: []BrokerID{{p, 8}}})
		must(t, err)
		b := c.Brokers[len(c.Brokers)-1]
		if p == "m4/kafka" {
			// The folder of a lone partition PATH is not shown, so this name is relative to the
			// working directory and fits nothing.
			if b.IDKnown || len(c.Notes) != 1 {
				t.Errorf("--broker 8=%s: %s", p, brokersOf(c))
			}
			continue
		}
		if b.ID != 8 || b.IDSource != "--broker" || len(c.Notes) > 0 {
			t.Errorf("--broker 8=%s: %s", p, brokersOf(c))
		}
	}
}
