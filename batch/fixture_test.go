package batch

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// segment splits a file of testdata into its batches.
func segment(t testing.TB, name string) []View {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name + ".log")
	if err != nil {
		t.Fatal(err)
	}
	var views []View
	for len(b) > 0 {
		h, err := ParseHeader(b)
		if err != nil {
			t.Fatal(err)
		}
		views = append(views, mustView(t, b[:h.Size()]))
		b = b[h.Size():]
	}
	return views
}

var segments = []string{"codec-none", "codec-gzip", "codec-snappy", "codec-lz4", "codec-zstd", "codec-levels", "codec-appendtime",
	"codec-idempotent", "codec-recompress", "tx-stock", "kraft-snapshot", "kraft-log"}

// TestDump prints batches and records in the words of kafka-dump-log and compares them
// with what that printed (without positions, which are those of the whole segment).
func TestDump(t *testing.T) {
	var d Decompressor
	for _, name := range segments {
		var got strings.Builder
		for _, v := range segment(t, name) {
			horizon := "OptionalLong.empty"
			if v.Attributes.DeleteHorizon() {
				horizon = fmt.Sprintf("OptionalLong[%d]", v.BaseTimestamp)
			}
			fmt.Fprintf(&got, "baseOffset: %d lastOffset: %d count: %d baseSequence: %d lastSequence: %d producerId: %d producerEpoch: %d "+
				"partitionLeaderEpoch: %d isTransactional: %v isControl: %v deleteHorizonMs: %s %v: %d size: %d magic: %d compresscodec: %v crc: %d isvalid: %v\n",
				v.BaseOffset, v.LastOffset(), v.RecordCount, v.BaseSequence, v.LastSequence(), v.ProducerID, v.ProducerEpoch,
				v.PartitionLeaderEpoch, v.Attributes.Transactional(), v.Attributes.Control(), horizon, v.Attributes.TimestampType(), v.MaxTimestamp,
				v.Size(), v.Magic, v.Attributes.Codec(), v.CRC, v.CheckCRC() == nil)
			for r, err := range v.Records(&d) {
				if err != nil {
					t.Fatalf("%s: batch at offset %d: %v", name, v.BaseOffset, err)
				}
				keys := make([]string, len(r.Headers))
				for i, h := range r.Headers {
					keys[i] = h.Key
				}
				fmt.Fprintf(&got, "| offset: %d %v: %d keySize: %d valueSize: %d sequence: %d headerKeys: [%s]%s\n", r.Offset,
					v.Attributes.TimestampType(), r.Timestamp, size(r.Key), size(r.Value), r.Sequence, strings.Join(keys, ","), control(t, v, r))
			}
		}
		text, err := os.ReadFile("testdata/" + name + ".dump.txt")
		if err != nil {
			t.Fatal(err)
		}
		var want strings.Builder
		for line := range strings.Lines(string(text)) {
			if i := strings.Index(line, " position: "); i >= 0 {
				rest := line[i+len(" position: "):]
				line = line[:i] + rest[strings.IndexByte(rest, ' '):]
			}
			want.WriteString(line)
		}
		g, w := strings.Split(got.String(), "\n"), strings.Split(want.String(), "\n")
		if len(g) != len(w) {
			t.Errorf("%s: %d lines, want %d", name, len(g), len(w))
			continue
		}
		for i := range g {
			if g[i] != w[i] {
				t.Errorf("%s line %d:\n got %s\nwant %s", name, i+1, g[i], w[i])
				break
			}
		}
	}
}

func size(b []byte) int {
	if b == nil {
		return -1
	}
	return len(b)
}

// control prints a control record as kafka-dump-log does.
func control(t *testing.T, v View, r Record) string {
	if !v.Attributes.Control() {
		return ""
	}
	c, err := ParseControl(r.Key, r.Value)
	if err != nil {
		t.Fatal(err)
	}
	voters := func(vs []Voter) string {
		var parts []string
		for _, v := range vs {
			text := fmt.Sprintf(`{"voterId":%d`, v.ID)
			if c.Type == ControlKRaftVoters {
				text += fmt.Sprintf(`,"voterDirectoryId":"%s","endpoints":[`, v.DirectoryID)
				for _, e := range v.Endpoints {
					text += fmt.Sprintf(`{"name":"%s","host":"%s","port":%d}`, e.Name, e.Host, e.Port)
				}
				text += fmt.Sprintf(`],"kRaftVersionFeature":{"minSupportedVersion":%d,"maxSupportedVersion":%d}`, v.MinVersion, v.MaxVersion)
			}
			parts = append(parts, text+"}")
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	switch c.Type {
	case ControlAbort, ControlCommit:
		return fmt.Sprintf(" endTxnMarker: %v coordinatorEpoch: %d", c.Type, c.CoordinatorEpoch)
	case ControlLeaderChange:
		return fmt.Sprintf(` LeaderChange: {"version":%d,"leaderId":%d,"voters":%s,"grantingVoters":%s}`,
			c.ValueVersion, c.LeaderID, voters(c.Voters), voters(c.GrantingVoters))
	case ControlSnapshotHeader:
		return fmt.Sprintf(` SnapshotHeader {"version":%d,"lastContainedLogTimestamp":%d}`, c.ValueVersion, c.LastContainedLogTimestamp)
	case ControlSnapshotFooter:
		return fmt.Sprintf(` SnapshotFooter {"version":%d}`, c.ValueVersion)
	case ControlKRaftVersion:
		return fmt.Sprintf(` KRaftVersion {"version":%d,"kRaftVersion":%d}`, c.ValueVersion, c.KRaftVersion)
	case ControlKRaftVoters:
		return fmt.Sprintf(` KRaftVoters {"version":%d,"voters":%s}`, c.ValueVersion, voters(c.Voters))
	}
	return " unknown"
}

// consumed is a line of a .jsonl file: what a consumer read.
type consumed struct {
	Offset        int64
	Timestamp     int64
	TimestampType string
	LeaderEpoch   int32
	Key, Value    *string
	ValueSize     int
	ValueSHA256   string
	Headers       []struct {
		Key   string
		Value *string
	}
}

// TestConsumed compares every key, value and header with what a real consumer read.
func TestConsumed(t *testing.T) {
	d := NewDecompressor(0)
	for _, name := range segments {
		text, err := os.ReadFile("testdata/" + name + ".jsonl")
		if os.IsNotExist(err) {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		var want []consumed
		for line := range bytes.Lines(text) {
			var c consumed
			if err := json.Unmarshal(line, &c); err != nil {
				t.Fatal(err)
			}
			want = append(want, c)
		}
		for _, v := range segment(t, name) {
			recs, err := records(t, v, d)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, r := range recs {
				if len(want) == 0 {
					t.Fatalf("%s: offset %d was not consumed", name, r.Offset)
				}
				w := want[0]
				want = want[1:]
				if r.Offset != w.Offset || r.Timestamp != w.Timestamp || v.Attributes.TimestampType().String() != w.TimestampType ||
					v.PartitionLeaderEpoch != w.LeaderEpoch {
					t.Errorf("%s: %+v, want %+v", name, r, w)
				}
				if !same(r.Key, w.Key) {
					t.Errorf("%s: offset %d: key %q", name, r.Offset, r.Key)
				}
				if w.ValueSHA256 != "" {
					if sum := sha256.Sum256(r.Value); len(r.Value) != w.ValueSize || hex.EncodeToString(sum[:]) != w.ValueSHA256 {
						t.Errorf("%s: offset %d: value of %d bytes differs", name, r.Offset, len(r.Value))
					}
				} else if !same(r.Value, w.Value) {
					t.Errorf("%s: offset %d: value %q", name, r.Offset, r.Value)
				}
				if len(r.Headers) != len(w.Headers) {
					t.Errorf("%s: offset %d: headers %v, want %v", name, r.Offset, r.Headers, w.Headers)
					continue
				}
				for i, h := range r.Headers {
					if h.Key != w.Headers[i].Key || !same(h.Value, w.Headers[i].Value) {
						t.Errorf("%s: offset %d: header %d is %q", name, r.Offset, i, h)
					}
				}
			}
		}
		if len(want) != 0 {
			t.Errorf("%s: %d consumed records are missing", name, len(want))
		}
	}
}

// same compares bytes with base64, and null with null.
func same(b []byte, text *string) bool {
	if b == nil || text == nil {
		return b == nil && text == nil
	}
	return base64.StdEncoding.EncodeToString(b) == *text
}
