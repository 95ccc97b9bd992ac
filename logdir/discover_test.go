package logdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kafsck/internal/rofs"
)

// twoBrokers is a folder of two brokers, the first with two disks.
var twoBrokers = []string{
	`b1/d0/meta.properties = node.id=1\ncluster.id=c\ndirectory.id=AAAAAAAAAAAAAAAAAAAAaQ\n`,
	`b1/d0/replication-offset-checkpoint = 0\n1\nt 0 5\n`,
	"b1/d0/t-0/D0.log", "b1/d0/t-0/D0.index", `b1/d0/t-0/leader-epoch-checkpoint = 0\n1\n0 0\n`,
	`b1/d0/t-0/partition.metadata = version: 0\ntopic_id: 6ADOF81vR4-z3cM2elXRZg`,
	"b1/d0/__cluster_metadata-0/D0.log", "b1/d0/__cluster_metadata-0/quorum-state = {}",
	"b1/d0/__cluster_metadata-0/00000000000000000020-0000000001.checkpoint", "b1/d0/__cluster_metadata-0/00000000000000000010-0000000001.checkpoint.deleted",
	"b1/d0/.kafka_cleanshutdown = {\"version\":0,\"brokerEpoch\":9}", "b1/d0/bootstrap.checkpoint",
	`b1/d1/meta.properties = node.id=1\ncluster.id=c\ndirectory.id=AAAAAAAAAAAAAAAAAAAAbQ\n`,
	"b1/d1/u-3/D7.log", "b1/d1/lost+found/", "b1/d1/remote-log-index-cache/7_x.index", "b1/d1/notes.txt",
	`b2/meta.properties = node.id=2\ncluster.id=c\n`, "b2/t-0." + uid + "-stray/D0.log", "b2/e-1/",
	"README.md = hello",
}

func TestFolderOfBrokers(t *testing.T) {
	c := discover(t, onDisk(t, twoBrokers...))
	wantSummary(t, c, `
broker 1 (meta.properties) "b1"
  dir b1/d0 clean
    t-0 live b1/d0/t-0 0
    __cluster_metadata-0 live b1/d0/__cluster_metadata-0 0
  dir b1/d1
    u-3 live b1/d1/u-3 7
    ? "b1/d1/lost+found": not the name of a partition directory: no "-" between topic and partition
    ? "b1/d1/notes.txt": not a file of a broker; a broker ignores it
    ? "b1/d1/remote-log-index-cache": cached indexes of remote segments; holds no partition
broker 2 (meta.properties) "b2"
  dir b2
    e-1 live b2/e-1
    t-0 stray b2/t-0.`+uid+`-stray 0
? "README.md": not in a log directory
`)
}

func TestValuesOfALogDir(t *testing.T) {
	dir := onDisk(t, twoBrokers...)
	c := discover(t, dir)
	d := c.Brokers[0].Dirs[0]
	p := d.Partitions[0]
	if v, ok := d.HighWatermarks.Lookup("t", 0); !ok || v != 5 {
		t.Errorf("high watermark %d, %v", v, ok)
	}
	if !d.HighWatermarks.File.ModTime.Equal(someTime) || !d.NewestModTime.Equal(someTime) {
		t.Errorf("times: %v, %v", d.HighWatermarks.File.ModTime, d.NewestModTime)
	}
	if d.RecoveryPoints != nil || d.LogStarts != nil || d.CleanerOffsets != nil {
		t.Error("absent checkpoints must be nil")
	}
	if !d.CleanShutdown || !d.CleanShutdownAs.HasBrokerEpoch || d.CleanShutdownAs.BrokerEpoch != 9 {
		t.Errorf("clean shutdown %v %+v", d.CleanShutdown, d.CleanShutdownAs)
	}
	if p.LogDir != d || d.Broker != c.Brokers[0] || d.Broker.ClusterID != "c" || d.Meta.NodeID != 1 || d.Bootstrap == nil {
		t.Error("links between the values")
	}
	if p.TopicID.String() != "6ADOF81vR4-z3cM2elXRZg" || !p.HasTopicID || len(p.Epochs.Entries) != 1 {
		t.Errorf("topic id %v %v, epochs %+v", p.TopicID, p.HasTopicID, p.Epochs)
	}
	if m := d.Metadata; len(m.Snapshots) != 1 || m.Snapshots[0].BaseOffset != 20 || m.Snapshots[0].Epoch != 1 ||
		len(m.DeletedSnapshots) != 1 || m.QuorumState == nil {
		t.Errorf("metadata: %+v", m)
	}
	if want := filepath.Join(dir, "b1", "d0", "t-0"); p.HostPath != want {
		t.Errorf("host path %q, want %q", p.HostPath, want)
	}
	f := p.EpochsFile
	if b, err := f.ReadAll(100); err != nil || string(b) != "0\n1\n0 0\n" || f.Size != int64(len(b)) {
		t.Errorf("ReadAll: %q, %v", b, err)
	}
	r, err := f.Open()
	must(t, err)
	must(t, r.Close())
}

// TestPathForms: what each form of PATH is, and how paths are shown.
func TestPathForms(t *testing.T) {
	dir := onDisk(t, twoBrokers...)
	for _, form := range []struct {
		paths []string
		want  string
	}{
		{[]string{"b2"}, `
broker 2 (meta.properties) "b2"
  dir .
    e-1 live e-1
    t-0 stray t-0.` + uid + `-stray 0
`},
		{[]string{"b1/d1"}, `
broker 1 (meta.properties) "b1"
  dir .
    u-3 live u-3 7
    ? "lost+found": not the name of a partition directory: no "-" between topic and partition
    ? "notes.txt": not a file of a broker; a broker ignores it
    ? "remote-log-index-cache": cached indexes of remote segments; holds no partition
`},
		// The log directory around a partition is read, its other partitions are not.
		{[]string{"b1/d0/t-0"}, `
broker 1 (meta.properties) "b1"
  dir d0 partial clean
    t-0 live t-0 0
`},
		{[]string{"b1/d0/__cluster_metadata-0"}, `
broker 1 (meta.properties) "b1"
  dir d0 partial clean
    __cluster_metadata-0 live __cluster_metadata-0 0
`},
		{[]string{"b1/d1/u-3", "b1/d0/t-0"}, `
broker 1 (meta.properties) "b1"
  dir d1 partial
    u-3 live u-3 7
  dir d0 partial clean
    t-0 live t-0 0
`},
		{[]string{"b1/d0/t-0", "b2"}, `
broker 1 (meta.properties) "b1"
  dir d0 partial clean
    t-0 live t-0 0
broker 2 (meta.properties) "b2"
  dir b2
    e-1 live b2/e-1
    t-0 stray b2/t-0.` + uid + `-stray 0
`},
		{[]string{"b1/d0/t-0/00000000000000000000.log"}, `
broker 1 (folder name) "b1"
  dir . bare partial
    t-0 live t-0 0
`},
		{[]string{"b1/d0/t-0/00000000000000000000.index"}, `
? "00000000000000000000.index": a single file that is no .log
`},
		{[]string{"README.md"}, `
? "README.md": not a file of a broker; a broker ignores it
`},
		// The same thing twice.
		{[]string{"b2", "b2/."}, `
broker 2 (meta.properties) "b2"
  dir .
    e-1 live e-1
    t-0 stray t-0.` + uid + `-stray 0
note duplicate ["DIR/b2" "DIR/b2/."]
`},
		{[]string{"b2/t-0." + uid + "-stray", "b2"}, `
broker 2 (meta.properties) "b2"
  dir b2
    e-1 live b2/e-1
    t-0 stray b2/t-0.` + uid + `-stray 0
note duplicate ["b2/t-0.` + uid + `-stray" "t-0.` + uid + `-stray"]
`},
		{[]string{"b1", "b1/d1"}, `
broker 1 (meta.properties) "b1"
  dir b1/d0 clean
    t-0 live b1/d0/t-0 0
    __cluster_metadata-0 live b1/d0/__cluster_metadata-0 0
  dir b1/d1
    u-3 live b1/d1/u-3 7
    ? "b1/d1/lost+found": not the name of a partition directory: no "-" between topic and partition
    ? "b1/d1/notes.txt": not a file of a broker; a broker ignores it
    ? "b1/d1/remote-log-index-cache": cached indexes of remote segments; holds no partition
note duplicate ["b1/d1" "d1"]
`},
		{[]string{"nowhere", "b2"}, `
broker 2 (meta.properties) "b2"
  dir .
    e-1 live e-1
    t-0 stray t-0.` + uid + `-stray 0
error DIR/nowhere: stat: no such file or directory
`},
	} {
		var paths []string
		for _, p := range form.paths {
			paths = append(paths, dir+"/"+p)
		}
		c := discover(t, paths...)
		openAll(t, c)
		for i := range c.Errors {
			c.Errors[i].Path = strings.Replace(c.Errors[i].Path, dir, "DIR", 1)
		}
		for _, n := range c.Notes {
			for i := range n.Paths {
				n.Paths[i] = strings.Replace(n.Paths[i], dir, "DIR", 1)
			}
		}
		if got, want := summary(c), strings.TrimPrefix(form.want, "\n"); got != want {
			t.Errorf("%q\ngot:\n%s\nwant:\n%s", form.paths, got, want)
		}
		if !slices.Equal(c.Inputs, paths) {
			t.Errorf("inputs %q", c.Inputs)
		}
	}
}

// openAll opens every regular file of a case through its File.
func openAll(t *testing.T, c *Case) {
	t.Helper()
	open := func(f *File) {
		if !f.Mode.IsRegular() {
			return
		}
		if b, err := f.ReadAll(1 << 20); err != nil || int64(len(b)) != f.Size {
			t.Errorf("%s: %d bytes of %d, %v", f.Path, len(b), f.Size, err)
		}
	}
	for _, f := range c.Unknown {
		open(f)
	}
	for _, b := range c.Brokers {
		for _, d := range b.Dirs {
			for f := range d.AllFiles() {
				open(f)
			}
			if d.Metadata != nil {
				for f := range d.Metadata.AllFiles() {
					open(f)
				}
			}
			for _, p := range d.Partitions {
				for f := range p.AllFiles() {
					open(f)
				}
			}
		}
	}
}

// TestEqualNamesAreLengthened: the same partition of two brokers, given one by one.
func TestEqualNamesAreLengthened(t *testing.T) {
	dir := onDisk(t,
		"x/b/meta.properties = node.id=1", "x/b/t-0/D0.log",
		"y/b/meta.properties = node.id=2", "y/b/t-0/D0.log",
		"z/u-0/D0.log")
	c := discover(t, dir+"/x/b/t-0", dir+"/y/b/t-0", dir+"/z/u-0")
	wantSummary(t, c, `
broker 1 (meta.properties) "b"
  dir x/b partial
    t-0 live x/b/t-0 0
broker 2 (meta.properties) "b"
  dir y/b partial
    t-0 live y/b/t-0 0
broker z () "z"
  dir u-0 bare partial
    u-0 live u-0 0
`)
	c = discover(t, dir+"/x/b/t-0/00000000000000000000.log", dir+"/y/b/t-0/00000000000000000000.log")
	wantSummary(t, c, `
broker b () "b"
  dir . bare partial
    t-0 live x/b/t-0 0
broker b () "b"
  dir . bare partial
    t-0 live y/b/t-0 0
`)
}

// TestRelativePath: a PATH relative to the working directory, and the working directory itself.
func TestRelativePath(t *testing.T) {
	dir := onDisk(t, "broker-4/t-0/D0.log")
	t.Chdir(dir)
	wantSummary(t, discover(t, "broker-4"), `
broker 4 (folder name) "broker-4"
  dir . bare
    t-0 live t-0 0
`)
	t.Chdir(dir + "/broker-4/t-0")
	wantSummary(t, discover(t, "."), `
broker 4 (folder name) "broker-4"
  dir . bare partial
    t-0 live t-0 0
`)
}

// TestSegmentsOfOneFolder: several file PATHs of one partition are one partition.
func TestSegmentsOfOneFolder(t *testing.T) {
	dir := onDisk(t, "broker-4/t-0/D0.log", "broker-4/t-0/D9.log", "broker-4/t-0/D5.log")
	p := dir + "/broker-4/t-0/000000000000000000"
	wantSummary(t, discover(t, p+"09.log", p+"00.log"), `
broker 4 (folder name) "broker-4"
  dir . bare partial
    t-0 live t-0 0 9
`)
	wantSummary(t, discover(t, p+"09.log", dir), `
broker 4 (folder name) "broker-4"
  dir `+filepath.Base(dir)+`/broker-4 bare
    t-0 live `+filepath.Base(dir)+`/broker-4/t-0 0 5 9
note duplicate ["`+filepath.Base(dir)+`/broker-4/t-0/00000000000000000009.log" "00000000000000000009.log"]
`)
}

func TestNothingToLookAt(t *testing.T) {
	dir := t.TempDir()
	c, err := Discover([]string{dir + "/a", dir + "/b"}, Options{})
	if !errors.Is(err, fs.ErrNotExist) || len(c.Errors) != 2 || !errors.Is(c.Errors[0], fs.ErrNotExist) {
		t.Errorf("got %v, %v", err, c.Errors)
	}
	if _, err := Discover(nil, Options{}); err == nil {
		t.Error("no path: no error")
	}
	// An empty folder was looked at: there is just nothing in it.
	if c, err := Discover([]string{dir}, Options{}); err != nil || len(c.Brokers) != 0 {
		t.Errorf("got %v", err)
	}
	if c, err := Discover([]string{os.DevNull}, Options{}); err == nil || len(c.Errors) != 1 {
		t.Errorf("a device: %v", err)
	}
}

// TestPartitionWithoutAName: a renamed copy of a partition directory is still looked at when it is
// the PATH, and named when it lies in a folder.
func TestPartitionWithoutAName(t *testing.T) {
	dir := onDisk(t, "copies/before/D0.log", "copies/t-0/D0.log")
	wantSummary(t, discover(t, dir+"/copies/before"), `
broker copies () "copies"
  dir . bare partial
    before--1 live before 0
note name ["before"]
`)
	wantSummary(t, discover(t, dir+"/copies"), `
broker copies () "copies"
  dir . bare
    t-0 live t-0 0
    ? "before": not the name of a partition directory: no "-" between topic and partition
note name ["before"]
`)
}

// TestFolders: what makes a folder a log directory, and what does not.
func TestFolders(t *testing.T) {
	for _, c := range []struct{ name, tree, want string }{
		{"a broker's folder may be named like a partition", "broker-1/meta.properties broker-2/.kafka_cleanshutdown broker-3/t-0/D0.log", `
broker 1 (folder name) "broker-1"
  dir broker-1
broker 2 (folder name) "broker-2"
  dir broker-2 clean
broker 3 (folder name) "broker-3"
  dir broker-3 bare
    t-0 live broker-3/t-0 0
`},
		{"empty partition directories count in a log directory", "cleaner-offset-checkpoint t-0/ t-1/other.txt", `
broker copies () "copies"
  dir .
    t-0 live t-0
    t-1 live t-1
      ? "t-1/other.txt": not a file of a broker; a broker ignores it
`},
		{"beside other partitions empty ones count too, others do not", "t-0/D0.log t-1/ logs-1/server.log empty/ deep-2/t-0/D0.log", `
broker 2 (folder name) "deep-2"
  dir deep-2 bare
    t-0 live deep-2/t-0 0
broker copies () "copies"
  dir . bare
    t-0 live t-0 0
    t-1 live t-1
    ? "empty": not the name of a partition directory: no "-" between topic and partition
    ? "logs-1": holds no file of a partition
`},
		{"nothing of Kafka", "a/b/c.txt t-0/ x.log", `
? "a": no log directory in it
? "t-0": no log directory in it
? "x.log": not in a log directory
`},
		{"other partitions of the metadata topic", "meta.properties __cluster_metadata-0/ __cluster_metadata-1/ __cluster_metadata-0." + uid + "-delete/", `
broker copies () "copies"
  dir .
    __cluster_metadata-0 live __cluster_metadata-0
    ? "__cluster_metadata-0.` + uid + `-delete": a broker passes over directories of this topic; its log is __cluster_metadata-0
    ? "__cluster_metadata-1": a broker passes over directories of this topic; its log is __cluster_metadata-0
`},
		{"directories and foreign files in a partition", "meta.properties t-0/D0.log t-0/D5.log/ t-0/quorum-state t-0/leader-epoch-checkpoint.tmp t-0/foo.log", `
broker copies () "copies"
  dir .
    t-0 live t-0 incomplete 0
      ? "t-0/00000000000000000005.log": a directory; a broker ignores it
      ? "t-0/foo.log": "foo" before the first dot is not a number
      ? "t-0/leader-epoch-checkpoint.tmp": unfinished write of a checkpoint; a broker ignores it
      ? "t-0/quorum-state": has a meaning only in __cluster_metadata-0
error t-0/00000000000000000005.log: not a regular file (directory)
`},
		{"nested as deep as allowed", "1/2/3/4/b7/t-0/D0.log", `
broker 7 (folder name) "b7"
  dir 1/2/3/4/b7 bare
    t-0 live 1/2/3/4/b7/t-0 0
`},
		{"nested too deep", "1/2/3/4/5/6/b7/t-0/D0.log", `
? "1": no log directory in it
note limit ["1/2/3/4/5/6"]
`},
	} {
		got := summary(discoverTree(t, strings.Fields(c.tree)...))
		if want := strings.TrimPrefix(c.want, "\n"); got != want {
			t.Errorf("%s\ngot:\n%s\nwant:\n%s", c.name, got, want)
		}
	}
}

// TestTooManyFolders: the search ends when somebody gives the root of a file system.
func TestTooManyFolders(t *testing.T) {
	lines := []string{"zz/broker-1/t-0/D0.log"}
	for i := range 20 {
		lines = append(lines, fmt.Sprintf("%d/%d/", i/10, i))
	}
	d := newDiscovery(Options{})
	d.maxFolders = 22 // two, and ten in each
	c, err := d.oneTree(rofs.FromFS(tree(lines...)), "x")
	must(t, err)
	wantSummary(t, c, `
? "0": no log directory in it
? "1": no log directory in it
? "zz": not looked into: more than 22 folders were searched before it
note limit ["zz"]
`)
}
