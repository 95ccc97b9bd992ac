package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kafsck/internal/fixture"
)

// consumed is a record as a consumer of Kafka saw it: a line of consumer/*.jsonl, and what
// dump says of it.
type consumed struct {
	Offset        int64
	Timestamp     int64
	TimestampType string
	LeaderEpoch   *int32
	Key, Value    *string // base64
	Headers       []consumedHeader
}

type consumedHeader struct {
	Key   string
	Value *string
}

// consumersView reads a file of consumer/, by partition.
func consumersView(t *testing.T, path string) map[string][]consumed {
	t.Helper()
	out := map[string][]consumed{}
	for line := range strings.Lines(string(readPacked(t, path))) {
		var r struct {
			consumed
			Topic     string
			Partition int32
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if r.Headers == nil {
			r.Headers = []consumedHeader{} // of a client that knew none
		}
		name := fmt.Sprintf("%s-%d", r.Topic, r.Partition)
		out[name] = append(out[name], r.consumed)
	}
	return out
}

// readPacked reads a file that may be gzipped.
func readPacked(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if data, err = io.ReadAll(z); err != nil {
		t.Fatal(err)
	}
	return data
}

// dumpedRecords are the records of the logs below a partition directory, or of files, without
// control records, as dump --json tells them.
func dumpedRecords(t *testing.T, paths ...string) []consumed {
	t.Helper()
	code, out, errs := kafsck(append([]string{"dump", "--json", "--records"}, paths...)...)
	if code != 0 {
		t.Fatalf("%v: exit code %d: %s", paths, code, errs)
	}
	var list []consumed
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, `{"type":"record"`) {
			continue
		}
		var r struct {
			consumed
			TimestampMs int64
			Timestamp   *string // RFC 3339
			Control     bool
			File        string
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.Control || !strings.HasSuffix(r.File, ".log") {
			continue
		}
		r.consumed.Timestamp = r.TimestampMs
		if *r.LeaderEpoch == -1 {
			r.LeaderEpoch = nil // as consumers say it
		}
		list = append(list, r.consumed)
	}
	return list
}

// view is a file of what a consumer read, and the folder of partition directories that it was
// read from.
type view struct {
	file, logs string // below the recording
	// before: the logs were copied before all of it was written
	before bool
}

// TestDumpTellsWhatConsumersRead holds every record that dump decodes against what Kafka's own
// consumers were given: offset, key, value, headers, timestamp and its type, leader epoch.
func TestDumpTellsWhatConsumersRead(t *testing.T) {
	old := func(stage, topics string, before bool) view {
		return view{"consumer/stage5-2.8.2-client-4.3.1/" + topics, stage + "/broker-4", before}
	}
	var formats []view
	for _, topic := range []string{"none", "gzip", "snappy", "lz4", "onefile", "append"} {
		topic = "life_" + topic + ".jsonl"
		for _, stage := range []string{"stage1-0.9.0.1", "stage2-0.10.2.2", "stage3-2.4.1-format-0.10.2", "stage4-2.4.1-format-2"} {
			formats = append(formats, old(stage, topic, true))
		}
		formats = append(formats, old("stage5-2.8.2", topic, false))
	}
	for _, c := range []struct {
		recording, answers string // answers: the archive that has the files, where another
		views              []view
		least              int // records
	}{
		{"codecs", "", []view{{"consumer/codec-*.jsonl*", "stage1-killed/broker-1", false}, {"consumer/codec-*.jsonl*", "stage2-clean/broker-1", false}}, 900},
		{"old-formats", "", append(formats,
			view{"consumer/stage2-0.10.2.2/*", "stage2-0.10.2.2/broker-4", false},
			view{"consumer/stage3-2.4.1-format-0.10.2/*", "stage3-2.4.1-format-0.10.2/broker-4", false},
			old("stage4-2.4.1-format-2", "life_compact.jsonl", false), old("stage5-2.8.2", "life_compact.jsonl", false)), 10000},
		{"transactions", "consumers", []view{
			{"transactions/consumer/before-kill/read_uncommitted/*", "stage1-killed/broker-2", false},
			{"transactions/consumer/after-recovery/read_uncommitted/*", "stage2-clean/broker-2", false},
			{"transactions/consumer/stage3-resolved/read_uncommitted/*", "stage3-resolved-clean/broker-2", false}}, 200},
		{"compaction", "consumers", []view{
			{"compaction/consumer/stage1/compact-plain.read_uncommitted.jsonl", "stage1-clean/broker-2", false},
			{"compaction/consumer/stage1/compact-t*.read_uncommitted.jsonl", "stage1-clean/broker-1", false},
			{"compaction/consumer/stage2-leader-uncleaned/*.read_uncommitted.jsonl", "stage2-killed/broker-3", false}}, 500},
		{"hard-crash", "", []view{{"consumer/*", "stage1-killed/broker-6", false}, {"consumer/*", "stage2-recovered-clean/broker-6", false}}, 4600},
	} {
		if leftToTheFullRun(c.recording) {
			continue
		}
		t.Run(c.recording, func(t *testing.T) {
			t.Parallel()
			dir := fixture.Unpack(t, c.recording)
			answers := dir
			if c.answers != "" {
				answers = fixture.Unpack(t, c.answers)
			}
			compared := 0
			for _, v := range c.views {
				files, err := filepath.Glob(filepath.Join(answers, v.file))
				if err != nil || len(files) == 0 {
					t.Fatal(v.file, err)
				}
				for _, file := range files {
					for partition, want := range consumersView(t, file) {
						logs := filepath.Join(dir, v.logs, partition)
						if _, err := os.Stat(logs); os.IsNotExist(err) {
							continue // the topic came later
						}
						got := dumpedRecords(t, logs)
						if v.before && len(got) < len(want) && len(got) > 0 {
							want = want[:len(got)]
						}
						if d := cmp.Diff(want, got); d != "" {
							t.Errorf("%s in %s (-consumer +dump):\n%.3000s", filepath.Base(file), v.logs, d)
						}
						compared += len(got)
					}
				}
			}
			if compared < c.least {
				t.Errorf("%d records were compared", compared)
			}
		})
	}
}

// TestDumpTellsWhatWasTiered does the same with a topic of which the older part is in the
// remote tier: local and remote segments together are what the consumers read.
func TestDumpTellsWhatWasTiered(t *testing.T) {
	t.Parallel()
	dir := fixture.Unpack(t, "tiered")
	for moment, stage := range map[string]string{"before-kill": "stage1-killed", "end": "stage2-clean"} {
		for _, topic := range []string{"tier-keep", "tier-expire"} {
			for partition, want := range consumersView(t, filepath.Join(dir, "consumer", moment, topic+".jsonl")) {
				remote, err := filepath.Glob(filepath.Join(dir, stage, "tiered", "*", partition+"-*", "*.log"))
				if err != nil || len(remote) < 3 {
					t.Fatal(remote, err)
				}
				at := map[int64][]consumed{}
				for _, r := range append(dumpedRecords(t, filepath.Join(dir, stage, "broker-3", partition)), dumpedRecords(t, remote...)...) {
					at[r.Offset] = append(at[r.Offset], r)
				}
				for _, w := range want {
					if len(at[w.Offset]) == 0 {
						t.Errorf("%s %s: offset %d is missing", stage, partition, w.Offset)
					}
					for _, got := range at[w.Offset] {
						if d := cmp.Diff(w, got); d != "" {
							t.Errorf("%s %s (-consumer +dump):\n%s", stage, partition, d)
						}
					}
				}
			}
		}
	}
}

// TestDumpTellsWhatGroupsCommitted folds the decoded records of __consumer_offsets and compares
// the last commits with what Kafka's Admin client said.
func TestDumpTellsWhatGroupsCommitted(t *testing.T) {
	t.Parallel()
	dir := fixture.Unpack(t, "internal-topics")
	type position struct {
		Offset      int64
		Metadata    string
		LeaderEpoch int32
	}
	var want struct {
		CommittedOffsets map[string]map[string]map[string]position
		OldBrokers       map[string]struct {
			Commits map[string][][]any
		}
		DescribeTransactions map[string]string
	}
	data, err := os.ReadFile(filepath.Join(dir, "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	for moment, stage := range map[string]string{"before-kill": "stage1-killed", "after-restart": "stage2-clean"} {
		groups, transactions := map[string]map[string]position{}, map[string]string{}
		pending := map[string]position{} // of the transaction that is open
		for _, r := range decodedRecords(t, filepath.Join(dir, stage)) {
			d := r.Decoded
			switch {
			case d.Kind == "control" && d.Type == "ABORT":
				clear(pending)
			case d.Kind == "control" && d.Type == "COMMIT":
				for at, p := range pending {
					group, partition, _ := strings.Cut(at, " ")
					groups[group][partition] = p
				}
				clear(pending)
			case d.Type == "OffsetCommit":
				group, partition := d.Key["group"].(string), fmt.Sprintf("%v-%v", d.Key["topic"], d.Key["partition"])
				if groups[group] == nil {
					groups[group] = map[string]position{}
				}
				if d.Tombstone {
					delete(groups[group], partition)
					break
				}
				p := position{int64(d.Value["offset"].(float64)), d.Value["metadata"].(string), int32(d.Value["leaderEpoch"].(float64))}
				if r.Transactional {
					pending[group+" "+partition] = p
				} else {
					groups[group][partition] = p
				}
			case d.Type == "TransactionLog":
				transactions[d.Key["transactionalId"].(string)] = fmt.Sprintf("state=%s, producerId=%v, producerEpoch=%v, transactionTimeoutMs=%.0f, transactionStartTimeMs=OptionalLong[%.0f], topicPartitions=%v)",
					*d.State, d.Value["producerId"], d.Value["producerEpoch"], d.Value["transactionTimeoutMs"], d.Value["transactionStartTimestampMs"], d.Value["transactionPartitions"])
			}
		}
		for group, partitions := range groups {
			if len(partitions) == 0 {
				delete(groups, group)
			}
		}
		if d := cmp.Diff(want.CommittedOffsets[moment], groups); d != "" {
			t.Errorf("%s (-Admin +dump):\n%s", stage, d)
		}
		for id, says := range want.DescribeTransactions {
			if got := transactions[id]; got == "" || !strings.HasSuffix(says, got) {
				t.Errorf("%s: %s is %q, Admin says %q", stage, id, got, says)
			}
		}
	}
	for version, old := range want.OldBrokers {
		got := map[string][][]any{}
		for _, r := range decodedRecords(t, filepath.Join(dir, "old-"+version)) {
			if d := r.Decoded; d.Type == "OffsetCommit" && !d.Tombstone {
				group := d.Key["group"].(string)
				got[group] = append(got[group], []any{d.Key["topic"], d.Key["partition"], d.Value["offset"], d.Value["metadata"]})
			}
		}
		if d := cmp.Diff(old.Commits, got); d != "" {
			t.Errorf("%s (-client +dump):\n%s", version, d)
		}
	}
}

// decodedRecord is a record line of which only what Kafka's own records say is looked at.
type decodedRecord struct {
	File, Partition string
	Offset          int64
	Transactional   bool
	Decoded         *struct {
		Kind, Type string
		TypeID     int64 `json:"typeId"`
		Version    *int64
		Tombstone  bool
		State      *string
		Key, Value map[string]any
	}
}

// decodedRecords are those records below a PATH that were decoded.
func decodedRecords(t *testing.T, path string) []decodedRecord {
	t.Helper()
	code, out, errs := kafsck("dump", "--json", "--records", "--strict", path)
	if code != 0 || errs != "" {
		t.Fatalf("%s: exit code %d: %s", path, code, errs)
	}
	var list []decodedRecord
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, `{"type":"record"`) {
			continue
		}
		var r decodedRecord
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.Decoded != nil {
			list = append(list, r)
		}
	}
	return list
}

// dumpedRecord is what kafka-dump-log 4.3.1 with the topic's decoder, or 3.9.2 with that of the
// metadata, prints of a record.
var dumpedRecord = regexp.MustCompile(`^\| offset: (\d+) .*?(?: key: (\{.*?\}\}))? payload: (\{.*\}|<DELETE>)$`)

// TestDumpDecodesAsKafkaDoes holds "decoded" of every record of the internal topics and of the
// metadata against what kafka-dump-log printed, field by field.
func TestDumpDecodesAsKafkaDoes(t *testing.T) {
	for _, name := range []string{"internal-topics", "metadata"} {
		if leftToTheFullRun(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := fixture.Unpack(t, name)
			compared := 0
			err := filepath.WalkDir(filepath.Join(dir, "dump"), func(path string, e fs.DirEntry, err error) error {
				rel, _ := filepath.Rel(filepath.Join(dir, "dump"), path)
				file, isText := strings.CutSuffix(strings.TrimSuffix(rel, ".gz"), ".txt")
				if ext := filepath.Ext(file); err != nil || !isText || ext != ".log" && ext != ".checkpoint" {
					return err
				}
				compared += compareWithDump(t, filepath.Join(dir, file), path)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if compared < 100 {
				t.Errorf("%d records were compared", compared)
			}
		})
	}
}

func compareWithDump(t *testing.T, file, dump string) int {
	t.Helper()
	if _, err := os.Stat(file); err != nil {
		return 0
	}
	type fields struct {
		Type, Version any
		Data          map[string]any
	}
	type said struct {
		offset     string
		key, value *fields
	}
	var want, got []said
	for line := range strings.Lines(string(readPacked(t, dump))) {
		m := dumpedRecord.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			continue
		}
		s := said{offset: m[1]}
		for text, to := range map[string]**fields{m[2]: &s.key, m[3]: &s.value} {
			if text != "" && text != "<DELETE>" {
				if err := json.Unmarshal([]byte(text), to); err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				// Numbers are quoted in some versions' dumps.
				(*to).Type, (*to).Version = fmt.Sprint((*to).Type), fmt.Sprint((*to).Version)
			}
		}
		want = append(want, s)
	}
	for _, r := range decodedRecords(t, file) {
		d := r.Decoded
		if d.Kind == "control" {
			continue
		}
		s := said{offset: fmt.Sprint(r.Offset)}
		if d.Key != nil {
			s.key = &fields{fmt.Sprint(d.TypeID), "<nil>", d.Key}
		}
		for field := range d.Value {
			if _, twin := d.Value[strings.TrimSuffix(field, "Text")]; twin && strings.HasSuffix(field, "Text") {
				delete(d.Value, field) // the same number as text: see docs/json.md
			}
		}
		if d.Value != nil {
			typ := "<nil>"
			if d.Kind == "metadata-log" {
				typ = d.Type
			}
			s.value = &fields{typ, fmt.Sprint(*d.Version), d.Value}
		}
		got = append(got, s)
	}
	for i := range min(len(got), len(want)) {
		if got[i].value == nil || want[i].value == nil {
			continue
		}
		for field, v := range got[i].value.Data {
			if _, is := want[i].value.Data[field]; is && v == "(redacted)" {
				want[i].value.Data[field] = v // a secret
			}
		}
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(said{})); d != "" {
		t.Errorf("%s (-kafka-dump-log +dump):\n%.2000s", file, d)
	}
	return len(got)
}
