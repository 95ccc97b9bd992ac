package check_test

import (
	"fmt"
	"strings"
	"testing"

	"kafsck/check"
	"kafsck/checkpoint"
	"kafsck/epoch"
	"kafsck/finding"
	"kafsck/internal/wire"
	"kafsck/internaltopic"
	"kafsck/kraft"
	"kafsck/logdir"
)

func lineage(pairs ...int64) (out []internaltopic.EpochStart) {
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, internaltopic.EpochStart{Epoch: int32(pairs[i]), Start: pairs[i+1]})
	}
	return out
}

// TestRemoteLineage: the rules of RemoteLogManager.isRemoteSegmentWithinLeaderEpochs, with the
// epochs of Kafka's own comments: {(5, 10), (7, 15), (9, 100)}, and {(7, 51), (9, 100)} when the
// first segment is gone.
func TestRemoteLineage(t *testing.T) {
	whole, later := lineage(5, 10, 7, 15, 9, 100), lineage(7, 51, 9, 100)
	for _, x := range []struct {
		name     string
		log      []internaltopic.EpochStart
		end      int64
		from, to int64 // [from, to)
		epochs   []internaltopic.EpochStart
		why      string // "" within
	}{
		{"within", whole, 200, 5, 51, lineage(5, 10, 7, 15), ""},
		{"overlapping, from another leader", whole, 200, 14, 151, lineage(5, 14, 7, 15, 9, 100), ""},
		{"the same when the first one is gone", later, 200, 14, 151, lineage(5, 14, 7, 15, 9, 100), ""},
		{"an epoch without records is left out", whole, 200, 5, 51, lineage(5, 10, 6, 15, 7, 15), ""},
		{"so is one of the log", lineage(5, 10, 6, 15, 7, 15, 9, 100), 200, 5, 51, lineage(5, 10, 7, 15), ""},
		{"below the log: retention's", later, 200, 5, 51, lineage(5, 10), ""},
		{"older than the log, and in its range", later, 200, 5, 61, lineage(5, 10), "is older than the first one"},
		{"newer than the log", whole, 200, 100, 151, lineage(9, 100, 11, 140), "is newer than the last one"},
		{"an epoch that the log has not", whole, 200, 12, 51, lineage(6, 12), "the log has no epoch 6"},
		{"an epoch between", whole, 200, 5, 51, lineage(5, 10, 6, 12, 7, 15), "behind epoch 5 it goes on with epoch 6 from 12"},
		{"its first epoch begins too early", whole, 200, 12, 51, lineage(7, 12), "in the log that epoch starts at 15"},
		{"its last epoch reaches too far", whole, 200, 15, 111, lineage(7, 15), "in the log epoch 9 starts at 100"},
		{"another start in the middle", whole, 200, 5, 111, lineage(5, 10, 7, 20, 9, 100), "behind epoch 5 it goes on with epoch 7 from 20"},
		{"beyond the leader's end", whole, 120, 14, 151, lineage(5, 14, 7, 15, 9, 100), "the log ends at 120"},
		{"beyond the end of a log that may be a follower's", whole, -1, 14, 151, lineage(5, 14, 7, 15, 9, 100), ""},
		{"no epochs", whole, 200, 14, 151, nil, "names no leader epoch"},
	} {
		var cache epoch.Cache
		for _, e := range x.log {
			cache = append(cache, checkpoint.EpochEntry{Epoch: e.Epoch, StartOffset: e.Start})
		}
		got := check.RemoteLineage(check.Subject{Partition: "t-0"}, "t-0/leader-epoch-checkpoint", cache, x.end, []check.RemoteSegment{{ID: "r", From: x.from, To: x.to, Epochs: x.epochs, Source: "list"}})
		switch {
		case x.why == "" && len(got) > 0, x.why != "" && len(got) != 1:
			t.Errorf("%s: %v", x.name, got)
		case x.why != "" && !strings.Contains(got[0].Evidence[0].Claim, x.why):
			t.Errorf("%s: %s", x.name, got[0].Evidence[0].Claim)
		}
	}
}

// TestQuorum: what the recordings have no state for.
func TestQuorum(t *testing.T) {
	dir := func(version int, files ...string) *logdir.LogDir {
		d := &logdir.LogDir{Path: "n", MetaFile: &logdir.File{Path: "n/meta.properties"}, Meta: &checkpoint.MetaProperties{Version: version, NodeID: 3, HasNodeID: true}}
		d.Metadata = &logdir.Partition{LogDir: d, Dir: "n/__cluster_metadata-0"}
		for _, f := range files {
			switch f {
			case "log":
				d.Metadata.Segments = append(d.Metadata.Segments, &logdir.Segment{Log: &logdir.File{Size: 1}})
			case "quorum-state":
				d.Metadata.QuorumStateFile = &logdir.File{Path: "n/quorum-state"}
				d.Metadata.QuorumState = &checkpoint.QuorumState{LeaderID: -1}
			}
		}
		return d
	}
	mine, theirs := wire.UUID{1: 7, 15: 1}, wire.UUID{1: 8, 15: 1}
	voter := &kraft.Log{EndOffset: 9, Voters: []kraft.Voter{{ID: 3}}}
	observer := &kraft.Log{EndOffset: 9, Voters: []kraft.Voter{{ID: 1}}, Brokers: map[int32]*kraft.Broker{3: {ID: 3}}}
	dynamic := &kraft.Log{EndOffset: 9, KRaftVersion: 1, Voters: []kraft.Voter{{ID: 3, DirectoryID: theirs}}}
	same := &kraft.Log{EndOffset: 9, KRaftVersion: 1, Voters: []kraft.Voter{{ID: 3, DirectoryID: mine}}}
	gone := dir(1)
	gone.Metadata = nil
	for _, x := range []struct {
		name   string
		dir    *logdir.LogDir
		newest *kraft.Log
		code   finding.Code // "" none
		want   finding.Severity
	}{
		{"whole", dir(1, "log", "quorum-state"), voter, "", 0},
		{"emptied voter", dir(1), voter, "voter-lost-state", finding.Loss},
		{"emptied broker", dir(1), observer, "voter-lost-state", finding.Note},
		{"emptied, nothing known", dir(1), nil, "voter-lost-state", finding.Warning},
		{"with ZooKeeper", dir(0), voter, "", 0},
		{"a voter's data disk", gone, voter, "voter-lost-state", finding.Note},
		{"a broker's data disk", gone, observer, "", 0},
		{"no quorum-state", dir(1, "log"), voter, "voter-lost-state", finding.Warning},
		{"a broker without quorum-state", dir(1, "log"), observer, "", 0},
		{"another directory", dir(1, "log", "quorum-state"), dynamic, "voter-directory-mismatch", finding.Warning},
		{"its own directory", dir(1, "log", "quorum-state"), same, "", 0},
	} {
		got := check.Quorum([]check.MetadataNode{{Name: "3", ID: 3, Known: true, Dir: x.dir, Directory: mine.String()}}, x.newest)
		if x.code == "" && len(got) > 0 || x.code != "" && (len(got) != 1 || got[0].Code != x.code || got[0].Severity != x.want) {
			t.Errorf("%s: %+v", x.name, got)
		}
	}
}

// TestCachedName: names as RemoteIndexCache makes them, and others.
func TestCachedName(t *testing.T) {
	for name, want := range map[string]string{
		"200_Q2FzZXNSZW1vdGVTZWdtMQ.index":             "200 index",
		"0_Q2FzZXNSZW1vdGVTZWdtMQ.timeindex":           "0 timeindex",
		"0_Q2FzZXNSZW1vdGVTZWdtMQ.txnindex":            "0 txnindex",
		"200_Q2FzZXNSZW1vdGVTZWdtMQ.index.deleted":     "",
		"200_Q2FzZXNSZW1vdGVTZWdtMQ.index.tmp":         "",
		"notes.txt":                                    "",
		"x.index":                                      "bad",
		"-1_Q2FzZXNSZW1vdGVTZWdtMQ.index":              "bad",
		"99999999999999999999_Q2FzZXNSZW1vdGVTZ.index": "bad",
		"1_.index": "bad",
	} {
		base, kind, ok, why := check.CachedName(name)
		got := ""
		switch {
		case ok && why != "":
			got = "bad"
		case ok:
			got = fmt.Sprintf("%d %s", base, kind)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// FuzzCachedName: any name is taken apart without a panic, and only whole ones are sound.
func FuzzCachedName(f *testing.F) {
	for _, name := range []string{"200_Q2FzZXNSZW1vdGVTZWdtMQ.index", "0_x.timeindex", "_.txnindex", ".index", "a_b_c.index"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		base, _, ok, why := check.CachedName(name)
		if ok && why == "" && (base < 0 || !strings.Contains(name, "_")) || !ok && why != "" {
			t.Errorf("%q: base %d, %v, %q", name, base, ok, why)
		}
	})
}
