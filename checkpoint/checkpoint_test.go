package checkpoint

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"kafsck/internal/wire"
)

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "files", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func uuid(t testing.TB, s string) wire.UUID {
	t.Helper()
	u, err := wire.ParseUUID(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func diff(t *testing.T, want, got any, opts ...cmp.Option) {
	t.Helper()
	if d := cmp.Diff(want, got, opts...); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestRealFiles(t *testing.T) {
	b := readFile(t, "leader-epoch-checkpoint")
	epochs := ParseEpochs(b)
	diff(t, &EpochFile{Entries: []EpochEntry{{0, 0}, {1, 60}, {4, 110}, {5, 180}, {6, 220}, {9, 250}, {10, 272}, {16, 350}, {17, 376}, {18, 407}}}, epochs)
	diff(t, string(b), string(FormatEpochs(epochs.Entries)))

	b = readFile(t, "replication-offset-checkpoint")
	offsets := ParseOffsets(b)
	if offsets.Malformed != nil || len(offsets.Entries) != 15 {
		t.Errorf("got %d entries, malformed %v", len(offsets.Entries), offsets.Malformed)
	}
	diff(t, OffsetEntry{"__consumer_offsets", 3, 23}, offsets.Entries[1])
	diff(t, string(b), string(FormatOffsets(offsets.Entries)))
	if o, ok := offsets.Lookup("clicks", 0); o != 14 || !ok {
		t.Errorf("clicks-0: %d, %v", o, ok)
	}
	if _, ok := offsets.Lookup("clicks", 7); ok {
		t.Error("clicks-7 is not in the file")
	}

	p := ParsePartitionMetadata(readFile(t, "partition.metadata"))
	diff(t, &PartitionMetadata{TopicID: wire.UUID{15: 1}}, p)

	ignore := cmpopts.IgnoreFields(MetaProperties{}, "Properties")
	m := ParseMetaProperties(readFile(t, "meta.properties-4.3.1"))
	diff(t, &MetaProperties{Version: 1, NodeID: 1, HasNodeID: true, ClusterID: "CHZXn3iauZJ61uVvIKj0Gw", DirectoryID: "2XNIxdQwI1iF1USivAM5Mg"}, m, ignore)
	diff(t, "1", m.Properties["node.id"])
	m = ParseMetaProperties(readFile(t, "meta.properties-zk"))
	diff(t, &MetaProperties{NodeID: 1, HasNodeID: true, ClusterID: "Zv29QjWNQuW8kNje-3yx8g", DirectoryID: "4S8bVI_2lmGgFU0wFuncZw"}, m, ignore)

	known := cmpopts.IgnoreFields(QuorumState{}, "Known")
	q := ParseQuorumState(readFile(t, "quorum-state-v0"))
	diff(t, &QuorumState{LeaderID: 3, LeaderEpoch: 1, VotedID: 2, Voters: []int32{1, 2, 3}}, q, known)
	q = ParseQuorumState(readFile(t, "quorum-state-v1"))
	diff(t, &QuorumState{Version: 1, LeaderID: 1, LeaderEpoch: 2, VotedID: -1}, q, known)

	diff(t, &CleanShutdown{BrokerEpoch: 243, HasBrokerEpoch: true}, ParseCleanShutdown(readFile(t, "cleanshutdown-3.9.2")))
	diff(t, &CleanShutdown{}, ParseCleanShutdown(readFile(t, "cleanshutdown-old")))
}

// The vector `lec`: what Kafka 4.x writes for the entries (0, 0) and (5, 100).
func TestEpochVector(t *testing.T) {
	b, err := hex.DecodeString("300a320a3020300a35203130300a")
	if err != nil {
		t.Fatal(err)
	}
	f := ParseEpochs(b)
	diff(t, &EpochFile{Entries: []EpochEntry{{0, 0}, {5, 100}}}, f)
	diff(t, b, FormatEpochs(f.Entries))
}

// What can be read of a malformed file is kept, with the first place where Kafka
// gives up.
func TestMalformedKeepsEntries(t *testing.T) {
	for _, c := range []struct {
		name, content string
		entries       []EpochEntry
		want          *Malformed
	}{
		{"blank line", "0\n2\n0 0\n\n5 100\n", []EpochEntry{{0, 0}, {5, 100}}, &Malformed{Line: 4}},
		{"leading space", "0\n2\n 0 0\n5 100\n", []EpochEntry{{5, 100}}, &Malformed{Line: 3, Text: " 0 0"}},
		{"extra token", "0\n1\n5 100 7\n", nil, &Malformed{Line: 3, Text: "5 100 7"}},
		{"entry is no number", "0\n2\nx 0\n5 100\n", []EpochEntry{{5, 100}}, &Malformed{Line: 3, Text: "x 0", Unchecked: true}},
		{"overflow", "0\n1\n2147483648 0\n", nil, &Malformed{Line: 3, Text: "2147483648 0", Unchecked: true}},
		{"negative epoch", "0\n2\n0 0\n-1 5\n", []EpochEntry{{0, 0}, {-1, 5}}, &Malformed{Line: 4, Text: "-1 5", Unchecked: true}},
		{"negative epoch and count mismatch", "0\n2\n-1 5\n", []EpochEntry{{-1, 5}}, &Malformed{Line: 3, Text: "-1 5"}},
		{"negative count", "0\n-1\n", nil, &Malformed{Line: 2, Text: "-1", Unchecked: true}},
		{"count beyond any array", "0\n2147483647\n5 100\n", []EpochEntry{{5, 100}}, &Malformed{Line: 2, Text: "2147483647", Unchecked: true}},
		{"too few", "0\n3\n0 0\n5 100\n", []EpochEntry{{0, 0}, {5, 100}}, &Malformed{Line: 4, Text: "5 100"}},
		{"version", "7\n1\n5 100\n", []EpochEntry{{5, 100}}, &Malformed{Line: 1, Text: "7"}},
		{"byte order mark", "\ufeff0\n1\n5 100\n", []EpochEntry{{5, 100}}, &Malformed{Line: 1, Text: "\ufeff0"}},
		{"invalid UTF-8", "0\n2\n0 0\n5\xff 100\n", []EpochEntry{{0, 0}}, &Malformed{Line: 4, Text: "5\xff 100"}},
		{"zero filled", strings.Repeat("\x00", 300), nil, &Malformed{Line: 1, Text: strings.Repeat("\x00", 256)}},
		{"well formed", "0\n1\n5 100", []EpochEntry{{5, 100}}, nil},
		{"empty", "", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := ParseEpochs([]byte(c.content))
			diff(t, c.entries, f.Entries)
			diff(t, c.want, f.Malformed, cmpopts.IgnoreFields(Malformed{}, "Reason"))
			if f.Malformed != nil && f.Malformed.Reason == "" {
				t.Error("no reason")
			}
		})
	}
}

func TestLookupLastLineWins(t *testing.T) {
	f := ParseOffsets([]byte("0\n3\nt 0 1\nt 0 5\nt 1 3\n"))
	if o, _ := f.Lookup("t", 0); o != 5 || f.Malformed != nil {
		t.Errorf("got %d, malformed %v", o, f.Malformed)
	}
	byHand := &OffsetFile{Entries: f.Entries}
	if o, _ := byHand.Lookup("t", 0); o != 5 {
		t.Errorf("by hand: got %d", o)
	}
}

func TestPartitionMetadata(t *testing.T) {
	id := uuid(t, "k_kCGHpPRjy0p5hJuSmcCA")
	for _, c := range []struct {
		name, content string
		want          PartitionMetadata
		line          int
		unchecked     bool
	}{
		{"padding, CRLF, version 7", "version: 7\r\ntopic_id: k_kCGHpPRjy0p5hJuSmcCA==\r\n", PartitionMetadata{Version: 7, TopicID: id}, 0, false},
		{"no space after the colon", "version:0\ntopic_id: k_kCGHpPRjy0p5hJuSmcCA", PartitionMetadata{TopicID: id}, 1, false},
		{"negative version", "version: -1\ntopic_id: k_kCGHpPRjy0p5hJuSmcCA", PartitionMetadata{Version: -1, TopicID: id}, 1, false},
		{"zero id", "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", PartitionMetadata{}, 2, false},
		{"empty", "", PartitionMetadata{}, 1, true},
		{"one line", "version: 0\n", PartitionMetadata{}, 2, true},
		{"short id", "version: 0\ntopic_id: k_kCGHpPRjy0p5hJuSmc", PartitionMetadata{}, 2, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := ParsePartitionMetadata([]byte(c.content))
			line, unchecked := 0, false
			if p.Malformed != nil {
				line, unchecked = p.Malformed.Line, p.Malformed.Unchecked
			}
			if line != c.line || unchecked != c.unchecked {
				t.Errorf("malformed %v", p.Malformed)
			}
			p.Malformed = nil
			diff(t, &c.want, p)
		})
	}
}

func TestMetaPropertiesIdentity(t *testing.T) {
	for _, c := range []struct {
		name, content string
		id            int32
		ok            bool
		line          int // of Malformed, 0 none
	}{
		{"version 1 without node.id", "#\nversion=1\ncluster.id=x\nbroker.id=4\n", 4, true, 4},
		{"version 0 with node.id only", "node.id=4\n", 4, true, 0},
		{"version 0 with both", "node.id=4\nbroker.id=5\n", 5, true, 0},
		{"unknown version", "version=2\nnode.id=4\n", 4, true, 1},
		{"no number", "a=b\n\nversion=1\ncluster.id=x\nnode.id=x\n", 0, false, 5},
		{"directory id", "broker.id=3\ndirectory.id=abc", 3, true, 2},
		{"escape", "broker.id=3\r\nx=\\u12\r\ny=1", 3, true, 2},
		{"empty", "", 0, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := ParseMetaProperties([]byte(c.content))
			if m.NodeID != c.id || m.HasNodeID != c.ok {
				t.Errorf("id %d, %v", m.NodeID, m.HasNodeID)
			}
			line := 0
			if m.Malformed != nil {
				line = m.Malformed.Line
			}
			if line != c.line {
				t.Errorf("malformed %v", m.Malformed)
			}
		})
	}
}
