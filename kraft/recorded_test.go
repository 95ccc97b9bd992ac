package kraft

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"kafsck/batch"
	"kafsck/internal/fixture"
	"kafsck/segment"
)

type expectedPartition struct {
	Leader       int32   `json:"leader"`
	LeaderEpoch  int32   `json:"leaderEpoch"`
	ISR          []int32 `json:"isr"`
	ELR          []int32 `json:"elr"`
	LastKnownELR []int32 `json:"lastKnownElr"`
	Recovery     int     `json:"recovery"`
	Replicas     []int32 `json:"replicas"`
}

// TestExpected compares with testdata/expected.json.
func TestExpected(t *testing.T) {
	var want struct {
		Runs map[string]map[string]map[string]struct {
			Start, End       int64
			Snapshot         *string
			Partitions       map[string]expectedPartition
			UncleanElections []json.RawMessage
		}
	}
	b, err := os.ReadFile(filepath.Join("testdata", "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	copies := 0
	for run, stages := range want.Runs {
		for stage, nodes := range stages {
			for name, want := range nodes {
				copies++
				t.Run(path.Join(run, stage, name), func(t *testing.T) {
					l := read(t, node(t, path.Join(run, stage, name), false))
					sound(t, l)
					if l.StartOffset != want.Start || l.EndOffset != want.End {
						t.Errorf("log from %d to %d, want %d to %d", l.StartOffset, l.EndOffset, want.Start, want.End)
					}
					snapshot := ""
					if want.Snapshot != nil {
						snapshot = *want.Snapshot
					}
					if l.SnapshotName != snapshot {
						t.Errorf("snapshot %q, want %q", l.SnapshotName, snapshot)
					}
					got, elections := map[string]expectedPartition{}, 0
					for id, p := range l.Partitions {
						topic := l.Topics[id.Topic]
						for _, c := range p.Changes {
							if c.Unclean {
								elections++
							}
						}
						if topic.RemovedAt >= 0 {
							continue
						}
						c := p.Changes[len(p.Changes)-1]
						recovery := 0
						if c.Recovering {
							recovery = 1
						}
						if c.Uncertain {
							t.Errorf("%s-%d is uncertain", topic.Name, id.Partition)
						}
						got[fmt.Sprintf("%s-%d", topic.Name, id.Partition)] = expectedPartition{
							c.Leader, c.LeaderEpoch, c.ISR, c.ELR, c.LastKnownELR, recovery, c.Replicas,
						}
					}
					if d := cmp.Diff(want.Partitions, got, cmpopts.EquateEmpty()); d != "" {
						t.Errorf("partitions: -want +got\n%s", d)
					}
					if elections != len(want.UncleanElections) {
						t.Errorf("%d unclean elections, want %d", elections, len(want.UncleanElections))
					}
				})
			}
		}
	}
	if copies < 6 {
		t.Errorf("only %d copies", copies)
	}
}

// TestSnapshotsAgree replays each copy as far back as its files go and compares the
// state at every snapshot's end with that snapshot, which Kafka wrote.
func TestSnapshotsAgree(t *testing.T) {
	compared := 0
	for _, dir := range nodes(t) {
		in := node(t, dir, true)
		full := read(t, in)
		sound(t, full)
		for _, s := range in.Snapshots {
			alone := read(t, Input{Snapshots: []File{s}})
			sound(t, alone)
			if alone.EndOffset == 0 || full.SnapshotEnd > alone.EndOffset {
				continue
			}
			compared++
			if d := cmp.Diff(stateAt(alone, alone.EndOffset-1), stateAt(full, alone.EndOffset-1), cmpopts.EquateEmpty()); d != "" {
				t.Errorf("%s/%s: -snapshot +replayed\n%s", dir, s.Name, d)
			}
		}
	}
	if compared < 20 {
		t.Errorf("only %d snapshots compared", compared)
	}
}

func nodes(t testing.TB) []string {
	dirs := map[string]bool{}
	for name := range recorded(t) {
		if dir := path.Dir(name); strings.HasSuffix(name, ".log") {
			dirs[dir] = true
		}
	}
	return slices.Sorted(maps.Keys(dirs))
}

// stateAt prints all that a snapshot would hold after the record at an offset.
func stateAt(l *Log, at int64) map[string]string {
	out := map[string]string{}
	exists := func(tp *Topic) bool { return tp.CreatedAt <= at && (tp.RemovedAt < 0 || tp.RemovedAt > at) }
	for _, tp := range l.Topics {
		if exists(tp) {
			out["topic "+tp.Name] = tp.ID.String()
		}
	}
	for id, p := range l.Partitions {
		if !exists(l.Topics[id.Topic]) {
			continue
		}
		for _, c := range p.Changes {
			if c.Offset <= at {
				out[fmt.Sprintf("partition %s-%d", id.Topic, id.Partition)] = fmt.Sprint(
					c.Leader, c.LeaderEpoch, c.PartitionEpoch, c.Replicas, c.ISR, c.ELR, c.LastKnownELR, c.Removing, c.Adding, c.Recovering, len(c.Directories), c.Directories)
			}
		}
	}
	for k := range l.configs {
		if v, ok := l.Config(at, k.resourceType, k.resourceName, k.name); ok {
			out[fmt.Sprint("config ", k)] = v
		}
	}
	for id, b := range l.Brokers {
		for _, e := range b.Events {
			if e.Offset <= at && e.Kind != Unregistered {
				out[fmt.Sprint("broker ", id)] = fmt.Sprint(e.BrokerEpoch, e.IncarnationID, e.LogDirs, e.Fenced, e.InControlledShutdown)
			} else if e.Offset <= at {
				delete(out, fmt.Sprint("broker ", id))
			}
		}
	}
	for name, changes := range l.Features {
		for _, c := range changes {
			if c.Offset <= at {
				out["feature "+name] = fmt.Sprint(c.Level)
			}
		}
	}
	return out
}

var payload = regexp.MustCompile(`^\| offset: (\d+) .* payload: (\{.*\})$`)

// TestDump decodes each record of each live file and compares with what
// kafka-dump-log printed for it.
func TestDump(t *testing.T) {
	types := map[string]int{}
	for name, text := range recorded(t) {
		if !strings.HasPrefix(name, "dump/") {
			continue
		}
		if strings.HasSuffix(name, ".gz") {
			text = gunzip(t, text)
		}
		source := strings.TrimPrefix(name, "dump/")
		source = strings.TrimSuffix(strings.TrimSuffix(source, ".gz"), ".txt")
		source = strings.ReplaceAll(source, "__cluster_metadata-0/", "")
		b, ok := recorded(t)[source]
		if !ok {
			t.Errorf("%s is missing", source)
			continue
		}
		want := map[int64]string{}
		for line := range strings.Lines(string(text)) {
			if m := payload.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
				offset, err := strconv.ParseInt(m[1], 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				want[offset] = m[2]
			}
		}
		for frame, err := range segment.Scan(file("", b).R, int64(len(b)), segment.ScanOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			if frame.Kind != segment.Batch {
				continue
			}
			v := frame.Batch
			for r, err := range v.Records(nil) {
				if err != nil {
					t.Fatal(err)
				}
				if v.Attributes.Control() {
					continue
				}
				if typ := compareDump(t, source, r, want[r.Offset]); typ != "" {
					types[typ]++
				}
				delete(want, r.Offset)
			}
		}
		if len(want) > 0 {
			t.Errorf("%s: not decoded: %v", source, want)
		}
	}
	for _, typ := range []string{"REGISTER_BROKER_RECORD", "PARTITION_RECORD", "PARTITION_CHANGE_RECORD", "REGISTER_CONTROLLER_RECORD", "BROKER_REGISTRATION_CHANGE_RECORD",
		"CLIENT_QUOTA_RECORD", "USER_SCRAM_CREDENTIAL_RECORD", "CLEAR_ELR_RECORD", "BEGIN_TRANSACTION_RECORD", "ACCESS_CONTROL_ENTRY_RECORD", "ZK_MIGRATION_STATE_RECORD"} {
		if types[typ] == 0 {
			t.Errorf("no %s", typ)
		}
	}
}

func compareDump(t *testing.T, source string, r batch.Record, want string) (typ string) {
	t.Helper()
	got, err := DecodeRecord(r.Value)
	if err != nil {
		t.Errorf("%s, offset %d: %v", source, r.Offset, err)
		return ""
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var g, w map[string]any
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("%s, offset %d: kafka-dump-log: %q: %v", source, r.Offset, want, err)
	}
	if got.APIKey == keyUserScramCredential {
		for _, secret := range []string{"salt", "storedKey", "serverKey"} {
			if g["data"].(map[string]any)[secret] != "(redacted)" {
				t.Errorf("%s is shown", secret)
			}
			delete(g["data"].(map[string]any), secret)
			delete(w["data"].(map[string]any), secret)
		}
	}
	if d := cmp.Diff(w, g); d != "" {
		t.Errorf("%s, offset %d: -kafka-dump-log +got\n%s", source, r.Offset, d)
	}
	return got.Type()
}

func gunzip(t *testing.T, b []byte) []byte {
	z, err := gzip.NewReader(strings.NewReader(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestIncidents compares end and raft epoch of the copy named in each recording's
// expected.json, and the unclean elections with what its README tells.
func TestIncidents(t *testing.T) {
	type election struct {
		partition              string
		leader, prev, newEpoch int32
	}
	for name, want := range map[string]map[string][]election{
		// README: with unclean election enabled, 2 becomes leader; epochs go 0, 2.
		"unclean-election":         {"stage-a": nil, "stage-b": {{"unclean-demo-0", 2, 1, 2}}, "stage-c": {{"unclean-demo-0", 2, 1, 2}}},
		"kraft39-unclean-election": nil,
		"divergence":               nil,
		// kafka-format.md §15: the sole member of the ISR is elected again "uncleanly".
		"below-hw-clean": {"stage-a": nil, "stage-b": nil, "stage-c": {{"tail-acks1-0", 1, 1, 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := fixture.Unpack(t, name)
			b, err := os.ReadFile(filepath.Join(dir, "expected.json"))
			if err != nil {
				t.Fatal(err)
			}
			var expected struct {
				Stages map[string]struct {
					Metadata struct {
						From      string
						End       int64
						RaftEpoch int32
					}
				}
			}
			if err := json.Unmarshal(b, &expected); err != nil {
				t.Fatal(err)
			}
			for stage, s := range expected.Stages {
				l := read(t, directory(t, filepath.Join(dir, stage, s.Metadata.From, "__cluster_metadata-0")))
				sound(t, l)
				if l.EndOffset != s.Metadata.End || l.RaftEpoch != s.Metadata.RaftEpoch {
					t.Errorf("%s: end %d, raft epoch %d; want %+v", stage, l.EndOffset, l.RaftEpoch, s.Metadata)
				}
				if want == nil {
					continue
				}
				var got []election
				for id, p := range l.Partitions {
					for _, c := range p.Changes {
						if c.Unclean {
							got = append(got, election{fmt.Sprintf("%s-%d", l.Topics[id.Topic].Name, id.Partition), c.Leader, c.PrevLeader, c.LeaderEpoch})
							if !c.Recovering {
								t.Errorf("%s: Kafka did not mark the election at %d", stage, c.Offset)
							}
						}
					}
				}
				if d := cmp.Diff(want[stage], got, cmp.AllowUnexported(election{})); d != "" {
					t.Errorf("%s: -want +got\n%s", stage, d)
				}
			}
		})
	}
}

// directory reads the log's files of an unpacked recording into memory.
func directory(t testing.TB, dir string) Input {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var in Input
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		if ext != ".log" && ext != ".checkpoint" {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if ext == ".log" {
			in.Logs = append(in.Logs, file(e.Name(), b))
		} else {
			in.Snapshots = append(in.Snapshots, file(e.Name(), b))
		}
	}
	return in
}
