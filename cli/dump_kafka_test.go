package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kafsck/internal/fixture"
)

// typed runs a command line in this process.
func typed(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Main(args, strings.NewReader(""), &out, &errs)
	return out.String(), errs.String(), code
}

// dumped is any line of dump --json.
type dumped struct {
	Type                 string
	Kind                 string
	Partition            *string
	Broker               any
	File                 string
	Position, Length     int64
	From, To             int64
	CRCOk                *bool `json:"crcOk"`
	Damage               *string
	BaseOffset           int64
	LastOffsetDelta      int32
	RecordCount          int32
	BaseSequence         int32
	ProducerID           int64 `json:"producerId"`
	ProducerEpoch        int16
	PartitionLeaderEpoch int32
	Transactional        bool
	Control              bool
	DeleteHorizon        bool
	BaseTimestampMs      int64
	MaxTimestampMs       int64
	TimestampType        string
	Magic                int8
	Codec                string
	CRC                  string

	Offset           int64
	LeaderEpoch      int32
	TimestampMs      int64
	Key, Value       *string
	Headers          []struct{ Key string }
	Sequence         int32
	ControlType      string
	CoordinatorEpoch *int32
	Metadata         json.RawMessage

	ExitCode int
	Message  string
}

// dumpLines runs dump --json and decodes its lines.
func dumpLines(t *testing.T, wantCode int, args ...string) []dumped {
	t.Helper()
	out, errs, code := typed(t, append([]string{"dump", "--json"}, args...)...)
	if code != wantCode {
		t.Fatalf("exit code %d, want %d; stderr: %s", code, wantCode, errs)
	}
	var lines []dumped
	for line := range strings.Lines(out) {
		var d dumped
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		lines = append(lines, d)
	}
	if n := len(lines); n < 2 || lines[0].Type != "kafsck" || lines[n-1].Type != "summary" || lines[n-1].ExitCode != code {
		t.Fatalf("first and last line are not right:\n%s", out)
	}
	return lines[1 : len(lines)-1]
}

// asKafkaDumpLog writes lines of ours the way kafka-dump-log does, as far as both say
// the same things.
func asKafkaDumpLog(t *testing.T, lines []dumped) []string {
	var out []string
	for _, d := range lines {
		switch d.Type {
		case "batch":
			lastSequence := int32(-1)
			if d.BaseSequence >= 0 {
				lastSequence = d.BaseSequence + d.LastOffsetDelta
			}
			horizon := "OptionalLong.empty"
			if d.DeleteHorizon {
				horizon = fmt.Sprintf("OptionalLong[%d]", d.BaseTimestampMs)
			}
			var crc uint32
			if _, err := fmt.Sscanf(d.CRC, "0x%x", &crc); err != nil {
				t.Fatal(err)
			}
			out = append(out, fmt.Sprintf("baseOffset: %d lastOffset: %d count: %d baseSequence: %d lastSequence: %d producerId: %d producerEpoch: %d partitionLeaderEpoch: %d isTransactional: %t isControl: %t deleteHorizonMs: %s position: %d %s: %d size: %d magic: %d compresscodec: %s crc: %d isvalid: %t",
				d.BaseOffset, d.To-1, d.RecordCount, d.BaseSequence, lastSequence, d.ProducerID, d.ProducerEpoch, d.PartitionLeaderEpoch, d.Transactional, d.Control, horizon,
				d.Position, d.TimestampType, d.MaxTimestampMs, d.Length, d.Magic, d.Codec, crc, *d.CRCOk))
		case "record":
			keys := make([]string, len(d.Headers))
			for i, h := range d.Headers {
				keys[i] = h.Key
			}
			key, keySize := decoded(t, d.Key)
			value, valueSize := decoded(t, d.Value)
			line := fmt.Sprintf("| offset: %d %s: %d keySize: %d valueSize: %d sequence: %d headerKeys: [%s]",
				d.Offset, d.TimestampType, d.TimestampMs, keySize, valueSize, d.Sequence, strings.Join(keys, ","))
			switch {
			case d.CoordinatorEpoch != nil:
				line += fmt.Sprintf(" endTxnMarker: %s coordinatorEpoch: %d", d.ControlType, *d.CoordinatorEpoch)
			case d.Control:
				line += " " + d.ControlType
			case d.Metadata != nil:
				line += " payload: " + string(d.Metadata)
			default:
				if d.Key != nil {
					line += " key: " + key
				}
				if d.Value != nil {
					line += " payload: " + value
				}
			}
			out = append(out, line)
		}
	}
	return out
}

func decoded(t *testing.T, s *string) (text string, size int) {
	t.Helper()
	if s == nil {
		return "", -1
	}
	b, err := base64.StdEncoding.DecodeString(*s)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ToValidUTF8(string(b), "\ufffd"), len(b)
}

// kafkaLines are the batch and record lines of a kafka-dump-log output. What it says of
// control records of the metadata is cut to their type.
func kafkaLines(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]string{"SnapshotHeader": "SNAPSHOT_HEADER", "SnapshotFooter": "SNAPSHOT_FOOTER", "KRaftVersion": "KRAFT_VERSION", "KRaftVoters": "KRAFT_VOTERS"}
	var out []string
	ours := false
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, "baseOffset: ") && !strings.HasPrefix(line, "| ") {
			for _, other := range []string{"Dumping ", "offset: ", "timestamp: ", "producerId: ", "----"} {
				ours = ours && !strings.HasPrefix(line, other)
			}
			if ours {
				out[len(out)-1] += "\n" + line // a payload with a line end in it
			}
			continue
		}
		ours = true
		for kafkas, name := range types {
			if i := strings.Index(line, "] "+kafkas+" {"); i >= 0 {
				line = line[:i+2] + name
			}
		}
		line = strings.Replace(line, "controlType: LEADER_CHANGE(2)", "LEADER_CHANGE", 1)
		out = append(out, line)
	}
	if len(out) == 0 {
		t.Fatalf("%s: nothing to compare with", path)
	}
	return out
}

// Every batch and every record reads as kafka-dump-log reads it.
func TestDumpAgreesWithKafka(t *testing.T) {
	recording := filepath.Join(fixture.Unpack(t, "unclean-election"), "stage-b")
	for _, c := range []struct{ log, output string }{
		{"testdata/kafka-dump/tx-0/00000000000000000100.log", ""},
		{"testdata/kafka-dump/kv-0/00000000000000000115.log", ""},
		{"testdata/kafka-dump/codecs-0/00000000000000000000.log", ""},
		{"testdata/kafka-dump/__cluster_metadata-0/00000000000000000568.log", ""},
		{"testdata/kafka-dump/__cluster_metadata-0/00000000000000000611-0000000002.checkpoint", ""},
		{filepath.Join(recording, "broker-1/unclean-demo-0/00000000000000000000.log"), "testdata/kafka-dump/unclean/broker-1.unclean-demo-0.txt"},
		{filepath.Join(recording, "broker-2/unclean-demo-0/00000000000000000000.log"), "testdata/kafka-dump/unclean/broker-2.unclean-demo-0.txt"},
	} {
		if c.output == "" {
			c.output = c.log + ".txt"
		}
		got := asKafkaDumpLog(t, dumpLines(t, 0, "--records", c.log))
		if d := cmp.Diff(kafkaLines(t, c.output), got); d != "" {
			t.Errorf("%s (-kafka-dump-log +ours):\n%s", c.log, d)
		}
	}
}

// What dump shows of the lost range are exactly the records that the recording's
// producers were told are safe and that no consumer could read any more.
func TestDumpShowsTheLostRecords(t *testing.T) {
	folder := fixture.Unpack(t, "unclean-election")
	type record struct {
		Offset int64
		Value  string
	}
	want := map[record]bool{}
	acks, err := os.ReadFile(filepath.Join(folder, "acks.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(acks)) {
		var a struct {
			Value  string
			Offset *int64
		}
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatal(err)
		}
		if a.Offset != nil && strings.HasPrefix(a.Value, "onlyleader-") {
			want[record{*a.Offset, a.Value}] = true
		}
	}
	// The recording's own count: truth.json, ackedNotReadable.
	var truth struct {
		AckedNotReadable []struct {
			Stage       string
			NotReadable []struct {
				Prefix                  string
				Records                 int
				FirstOffset, LastOffset int64
			}
		}
	}
	b, err := os.ReadFile(filepath.Join(folder, "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &truth); err != nil {
		t.Fatal(err)
	}
	lost := truth.AckedNotReadable[0]
	if lost.Stage != "stage-b" || len(lost.NotReadable) != 1 || lost.NotReadable[0].Prefix != "onlyleader-" || lost.NotReadable[0].Records != len(want) {
		t.Fatalf("the recording says %+v, its acknowledgements %d records", lost, len(want))
	}
	offsets := fmt.Sprintf("%d..%d", lost.NotReadable[0].FirstOffset, lost.NotReadable[0].LastOffset)

	got := map[record]bool{}
	for _, d := range dumpLines(t, 0, "--records", "--offsets", offsets, filepath.Join(folder, "stage-b/broker-1/unclean-demo-0")) {
		if d.Type != "record" {
			continue
		}
		value, _ := decoded(t, d.Value)
		got[record{d.Offset, value}] = true
		if d.Partition == nil || *d.Partition != "unclean-demo-0" || d.Broker != float64(1) || d.File != "unclean-demo-0/00000000000000000000.log" {
			t.Fatalf("a record of %v on %v in %s", d.Partition, d.Broker, d.File)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("lost records (-recording +dump):\n%s", d)
	}
}
