package incident_test

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"kafsck/check"
	"kafsck/finding"
	"kafsck/incident"
	"kafsck/internal/fixture"
	"kafsck/internal/rofs"
	"kafsck/internaltopic"
	"kafsck/logdir"
)

// under puts a tree below a folder.
func under(folder string, tree fstest.MapFS) fstest.MapFS {
	out := fstest.MapFS{}
	for name, f := range tree {
		out[folder+"/"+name] = f
	}
	return out
}

func joined(list ...fstest.MapFS) fstest.MapFS {
	out := fstest.MapFS{}
	for _, tree := range list {
		for name, f := range tree {
			out[name] = f
		}
	}
	return out
}

func mode(name string, m fs.FileMode) change {
	return func(t *testing.T, tree fstest.MapFS) {
		f := *tree[name]
		f.Mode = m
		tree[name] = &f
	}
}

// lacking leaves out what lies below a folder.
func lacking(folder string) change {
	return func(t *testing.T, tree fstest.MapFS) {
		n := len(tree)
		for name := range tree {
			if strings.HasPrefix(name, folder+"/") {
				delete(tree, name)
			}
		}
		if len(tree) == n {
			t.Fatalf("nothing below %s", folder)
		}
	}
}

// metadataNode is a healthy directory with a metadata log from 523 to 613 and the snapshots 534
// and 611: BR-79c with the quorum-state that it had before.
func metadataNode(t *testing.T) fstest.MapFS {
	tree := below(fixture.Tree(t, "cases"), "BR-79c")
	replace("__cluster_metadata-0/quorum-state", `"leaderEpoch":1`, `"leaderEpoch":2`)(t, tree)
	return tree
}

const (
	olderSnapshot = "__cluster_metadata-0/00000000000000000534-0000000002.checkpoint"
	newerSnapshot = "__cluster_metadata-0/00000000000000000611-0000000002.checkpoint"
)

// TestDirectoriesAndNodes raises the codes about directories, nodes and their metadata from a
// healthy tree with one change, and shows that the tree without it raises none of the same severity.
func TestDirectoriesAndNodes(t *testing.T) {
	cases := fixture.Tree(t, "cases")
	healthy := below(cases, "BR-32")
	node := metadataNode(t)
	three := below(cases, "BR-77") // b1 and b3 are sound
	lacking("b2")(t, three)
	twoDisks := below(cases, "BR-67b")
	tiered := below(fixture.Tree(t, "tiered"), "stage2-clean")
	elected := below(fixture.Tree(t, "unclean-three-replicas"), "stage-a")
	live := ""
	for name := range elected {
		if dir, _, ok := strings.Cut(name, "/00000000000000000000.log"); ok && !strings.Contains(dir, "__") {
			live = dir
		}
	}
	cached := ""
	for name := range tiered {
		if strings.Contains(name, "remote-log-index-cache/") && strings.HasSuffix(name, ".timeindex") && len(tiered[name].Data) >= 24 {
			cached = name
		}
	}
	const otherID = "remote-log-index-cache"
	const removed = ".9f2c4d1e8a7b4c60b1d2e3f405162738-"
	for _, c := range []struct {
		name string
		code finding.Code
		want finding.Severity
		tree fstest.MapFS
		do   change
		says string // part of the evidence or of the summary
	}{
		{"mode 000", "file-unreadable", finding.Damage, healthy, mode("orders-0/00000000000000000100.log", 0), "mode 0644"},
		{"a snapshot that nobody may read", "file-unreadable", finding.Damage, node, mode(newerSnapshot, 0o200), "mode 0200"},
		{"recovery points 0", "recovery-will-scan", finding.Note, healthy, all(gone(".kafka_cleanshutdown"), replace("recovery-point-offset-checkpoint", "orders 0 300", "orders 0 0")), "3 segments of 1 partition"},
		{"no recovery points", "recovery-will-scan", finding.Note, healthy, gone(".kafka_cleanshutdown", "recovery-point-offset-checkpoint"), "every recovery point counts as 0"},

		{"reserved directory.id", "directory-id", finding.Damage, healthy, directoryID("meta.properties", "AAAAAAAAAAAAAAAAAAAAAQ"), "keeps for itself"},
		{"one of two disks without", "directory-id", finding.Note, twoDisks, directoryID("disk2/meta.properties", ""), "have one"},
		{"two disks of one id", "directory-id", finding.Warning, twoDisks, sameDirectoryID("disk1/meta.properties", "disk2/meta.properties"), "cloned"},
		{"two nodes of one id", "directory-id", finding.Damage, twoDisks, all(sameDirectoryID("disk1/meta.properties", "disk2/meta.properties"), replace("disk2/meta.properties", "node.id=1", "node.id=2")), "2 different nodes"},
		{"another node's disk", "node-id-mismatch", finding.Damage, under("broker-1", twoDisks), replace("broker-1/disk2/meta.properties", "node.id=1", "node.id=2"), "disk2/meta.properties: node id 2"},
		{"a second disk of a node with a metadata log", "node-id-mismatch", finding.Damage, joined(under("c/data0", node), under("c/data1", second(t, healthy, node))), replace("c/data1/meta.properties", "node.id=1", "node.id=5"), "c/data1/meta.properties: node id 5"},

		{"bootstrap.checkpoint with a flipped bit", "bootstrap-checkpoint-damaged", finding.Damage, node, patch("bootstrap.checkpoint", func(b []byte) []byte { b[len(b)/2] ^= 1; return b }), "position"},
		{"epochs of a metadata log that cannot be parsed", "epoch-file-malformed", finding.Damage, node, write("__cluster_metadata-0/leader-epoch-checkpoint", "garbage"), "version is not a number"},
		{"partition.metadata of a metadata log that cannot be parsed", "partition-metadata-malformed", finding.Damage, node, write("__cluster_metadata-0/partition.metadata", "xx"), "malformed line: want"},
		{"another topic's id on a metadata log", "topic-id-mismatch", finding.Damage, node, write("__cluster_metadata-0/partition.metadata", "version: 0\ntopic_id: EsUA7Qt4ORCftGrw8ka-hw\n"), "AAAAAAAAAAAAAAAAAAAAAQ"},
		{"a backup in a metadata log", "bad-segment-name", finding.Damage, node, write("__cluster_metadata-0/foo.log", ""), "is not a number"},
		{"an emptied segment below the newest snapshot", "metadata-log-damaged", finding.Warning, node, write("__cluster_metadata-0/00000000000000000523.log", ""), "offsets 534–567"},
		{"an emptied segment above the newest snapshot", "metadata-log-damaged", finding.Damage, node, all(gone(newerSnapshot), write("__cluster_metadata-0/00000000000000000523.log", "")), "no whole snapshot reaches behind"},

		{"no snapshot", "metadata-snapshot-missing", finding.Damage, node, gone(olderSnapshot, newerSnapshot), "begins at offset 523"},
		{"snapshots below the log", "metadata-snapshot-missing", finding.Damage, node, all(moved(olderSnapshot, strings.Replace(olderSnapshot, "534", "434", 1)), gone(newerSnapshot)), "ends at 434"},
		{"half a snapshot", "metadata-snapshot-unusable", finding.Damage, node, patch(newerSnapshot, func(b []byte) []byte { return b[:len(b)/2] }), "534-0000000002.checkpoint is whole, and the log goes on from there to 613"},
		{"an empty snapshot", "metadata-snapshot-unusable", finding.Damage, node, all(write(newerSnapshot, ""), gone(olderSnapshot)), "no whole snapshot reaches the log start"},
		{"another history", "metadata-snapshot-conflict", finding.Damage, node, func(t *testing.T, tree fstest.MapFS) {
			tree["__cluster_metadata-0/00000000000000000568.log"] = cases["BR-77/b2/__cluster_metadata-0/00000000000000000568.log"]
		}, "topic-m-0: ELR 16777217 by the log, 1 by the snapshot"},
		{"one record of three copies", "metadata-log-diverges", finding.Damage, three, func(t *testing.T, tree fstest.MapFS) {
			for name, f := range under("b2", below(cases, "BR-77/b2")) {
				tree[name] = f
			}
		}, "from offset 610 on"},
		{"quorum-state is gone", "voter-lost-state", finding.Warning, three, gone("b1/__cluster_metadata-0/quorum-state"), "forgotten whom it voted for"},
		{"two leaders", "quorum-leader-conflict", finding.Damage, three, replace("b3/__cluster_metadata-0/quorum-state", `"leaderId":1`, `"leaderId":3`), "epoch 2 has 2 different leaders"},
		{"two metadata logs", "duplicate-partition-dirs", finding.Damage, joined(under("broker-1/d0", node), under("broker-1/d1", second(t, healthy, node))), func(t *testing.T, tree fstest.MapFS) {
			for name, f := range node {
				if strings.HasPrefix(name, "__cluster_metadata-0/") {
					tree["broker-1/d1/"+name] = f
				}
			}
		}, "2 directories of the metadata log"},

		{"-delete is ahead", "leftover-directory", finding.Loss, joined(healthy, under("orders-0"+removed+"delete", below(healthy, "orders-0"))), gone("orders-0/00000000000000000200.log", "orders-0/00000000000000000200.index", "orders-0/00000000000000000200.timeindex"), "reaches 300"},
		{"-stray of a replica that should be live", "leftover-directory", finding.Warning, elected, func(t *testing.T, tree fstest.MapFS) {
			for name, f := range tree {
				if rest, ok := strings.CutPrefix(name, live+"/"); ok {
					delete(tree, name)
					tree[live+removed+"stray/"+rest] = f
				}
			}
		}, "has a replica of it"},

		{"a cached index that does not ascend", "remote-index-cache-corrupt", finding.Warning, tiered, patch(cached, func(b []byte) []byte { copy(b[12:24], make([]byte, 12)); b[23] = 1; return b }), otherID},
		{"a cached index under a bad name", "remote-index-cache-corrupt", finding.Warning, tiered, moved(cached, cached[:strings.LastIndex(cached, "/")]+"/7_x.index"), "no id of a remote segment"},
		{"no list of remote segments", "remote-segments-not-checked", finding.Note, tiered, lacking("broker-3/__remote_log_metadata-1"), "were not checked"},
		{"full disk", "out-of-space-pattern", finding.Warning, healthyOf(t, cases, "BR-87"), nothingLess(t, cases, "BR-87"), "leaves that found no space"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if before := checked(t, incident.Options{}, c.tree); has(before, c.code, c.want) {
				t.Errorf("%s %s is raised by the unchanged tree: %v", c.want, c.code, before[c.code])
			}
			tree := joined(c.tree)
			c.do(t, tree)
			got := checked(t, incident.Options{}, tree)
			if !has(got, c.code, c.want) {
				t.Fatalf("%s %s is not raised: %v", c.want, c.code, got)
			}
			if text := fmt.Sprint(got[c.code]); !strings.Contains(text, c.says) {
				t.Errorf("nothing says %q: %s", c.says, text)
			}
		})
	}
}

// directoryID sets directory.id, or removes it.
func directoryID(name, id string) change {
	return func(t *testing.T, tree fstest.MapFS) {
		var lines []string
		for _, l := range strings.Split(string(tree[name].Data), "\n") {
			if !strings.HasPrefix(l, "directory.id=") {
				lines = append(lines, l)
			} else if id != "" {
				lines = append(lines, "directory.id="+id)
			}
		}
		write(name, strings.Join(lines, "\n"))(t, tree)
	}
}

func sameDirectoryID(from, to string) change {
	return func(t *testing.T, tree fstest.MapFS) {
		for _, l := range strings.Split(string(tree[from].Data), "\n") {
			if id, ok := strings.CutPrefix(l, "directory.id="); ok {
				directoryID(to, id)(t, tree)
			}
		}
	}
}

// second is a data disk of the cluster of a node with a metadata log.
func second(t *testing.T, disk, node fstest.MapFS) fstest.MapFS {
	t.Helper()
	out := joined(disk)
	text := string(node["meta.properties"].Data)
	out["meta.properties"] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	directoryID("meta.properties", "Q2FzZXNTZWNvbmREaXNrMQ")(t, out)
	return out
}

// healthyOf is a damaged directory without what a full disk leaves besides torn batches.
func healthyOf(t *testing.T, cases fstest.MapFS, id string) fstest.MapFS {
	tree := below(cases, id)
	gone("orders-0/leader-epoch-checkpoint.tmp", "tx-0/00000000000000000185.snapshot", "kv-0/00000000000000000300.log")(t, tree)
	return tree
}

// nothingLess makes a tree that of a case again.
func nothingLess(t *testing.T, cases fstest.MapFS, id string) change {
	return func(t *testing.T, tree fstest.MapFS) {
		for name, f := range below(cases, id) {
			tree[name] = f
		}
	}
}

// TestDirectoriesOfSeveralBrokers: folders that look like disks and are brokers raise nothing.
func TestDirectoriesOfSeveralBrokers(t *testing.T) {
	node := metadataNode(t)
	other := joined(node)
	replace("meta.properties", "node.id=1", "node.id=2")(t, other)
	directoryID("meta.properties", "Q2FzZXNTZWNvbmREaXNrMQ")(t, other)
	got := checked(t, incident.Options{}, joined(under("copies/data1", node), under("copies/data2", other)))
	for code, list := range got {
		if list[0].Severity > finding.Note {
			t.Errorf("%s: %v", code, list)
		}
	}
}

// TestUnreadableFile: permission that is refused is an error, and where the owner or the mode shows
// why, a finding as well. What cannot be read by kafsck alone is no finding.
func TestUnreadableFile(t *testing.T) {
	cases := fixture.Tree(t, "cases")
	for _, x := range []struct {
		id, file string
		finding  bool
	}{
		{"BR-76a", "__cluster_metadata-0/00000000000000000611-0000000002.checkpoint", true},
		{"BR-76b", "orders-0/00000000000000000200.log", true},
		{"BR-32", "orders-0/00000000000000000200.log", false},
	} {
		fsys := rofs.Fault(rofs.FromFS(below(cases, x.id)), func(op, name string, _, _ int64) error {
			if op == "open" && name == x.file {
				return &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
			}
			return nil
		})
		c, err := logdir.DiscoverFS(fsys, "case", logdir.Options{})
		if err != nil {
			t.Fatal(err)
		}
		inc := incident.Open(c, incident.Options{Files: true, Compare: true, Tell: true})
		findings := inc.Findings()
		errors := slices.Concat(c.Errors, inc.Errors)
		for p := range inc.Partitions(context.Background()) {
			findings = append(findings, p.Findings...)
			errors = append(errors, p.Errors...)
		}
		found := slices.ContainsFunc(findings, func(f finding.Finding) bool { return f.Code == "file-unreadable" && f.At.File == x.file })
		if found != x.finding || len(errors) == 0 {
			t.Errorf("%s: file-unreadable %v, errors %v", x.id, found, errors)
		}
		for _, f := range findings {
			if f.Code != "file-unreadable" && f.Severity >= finding.Damage {
				t.Errorf("%s: a failed read became %s", x.id, f.Code)
			}
		}
	}
}

// TestSameTopic: what the records tell about directories of one name (field reports BR-64, BR-67).
func TestSameTopic(t *testing.T) {
	cases := fixture.Tree(t, "cases")
	for _, x := range []struct {
		id   string
		code finding.Code
		want string
	}{
		{"BR-64a", "topic-id-mismatch", "all 300 records that both hold (offsets 0–299) are the same, epochs included: one and the same topic"},
		{"BR-64b", "topic-id-mismatch", "differ from the first offset that both hold, 0, on: no common prefix, so the topic was created again"},
		{"BR-67a", "duplicate-partition-dirs", "Keep disk1/orders-0: its newest epoch is 5, the other one's 3."},
		{"BR-67c", "duplicate-partition-dirs", "Keep disk2/orders-0: its newest epoch is 8, the other one's 5."},
		{"BR-67c", "duplicate-partition-dirs", "the first 220 records (offsets 0–219) are the same, epochs included, and they differ from offset 220 on"},
	} {
		got := checked(t, incident.Options{}, below(cases, x.id))
		if !strings.Contains(fmt.Sprint(got[x.code]), x.want) {
			t.Errorf("%s: %v", x.id, got[x.code])
		}
		if text := fmt.Sprint(checked(t, incident.Options{FilesOnly: true}, below(cases, x.id))[x.code]); !strings.Contains(text, "not compared at --level files") {
			t.Errorf("%s at level files: %s", x.id, text)
		}
	}
}

// TestRemoteLineage: the list of a case whose epochs are those of Kafka's own explanation
// (RemoteLogManager.isRemoteSegmentWithinLeaderEpochs), and the recording with tiered topics, whose
// segments are all in the lineage.
func TestRemoteLineage(t *testing.T) {
	given := map[string][]check.RemoteSegment{"orders-0": {
		{ID: "r1", From: 0, To: 41, Epochs: []internaltopic.EpochStart{{Epoch: 5, Start: 14}}, Source: "list"},
		{ID: "r2", From: 15, To: 100, Epochs: []internaltopic.EpochStart{{Epoch: 7, Start: 15}}, Source: "list"},
	}}
	got := checked(t, incident.Options{RemoteSegments: given}, below(fixture.Tree(t, "cases"), "BR-81"))
	list := got["remote-segment-not-in-lineage"]
	if len(list) != 1 || list[0].Count != 1 || !strings.Contains(fmt.Sprint(list[0].Evidence), "r1") {
		t.Errorf("%v", list)
	}
	for _, stage := range []string{"stage1-killed", "stage2-clean"} {
		got := checked(t, incident.Options{}, below(fixture.Tree(t, "tiered"), stage))
		for _, code := range []finding.Code{"remote-segment-not-in-lineage", "remote-segments-not-checked", "remote-index-cache-corrupt"} {
			if len(got[code]) > 0 {
				t.Errorf("%s: %v", stage, got[code])
			}
		}
	}
}
