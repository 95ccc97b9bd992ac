package internaltopic

import (
	"encoding/binary"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"kafsck/batch"
	"kafsck/internal/fixture"
)

// raw is a record as it stands in a log.
type raw struct {
	offset     int64
	key, value []byte
}

// recordsOf reads the records of a sound log, control records left out.
func recordsOf(t testing.TB, b []byte) []raw {
	t.Helper()
	var out []raw
	for len(b) > 17 {
		size := int(binary.BigEndian.Uint32(b[8:])) + batch.LogOverhead
		if size > len(b) {
			t.Fatalf("%d bytes of %d", len(b), size)
		}
		one := b[:size]
		b = b[size:]
		if one[16] < 2 {
			at := 18 + 8*int(one[16])
			var parts [2][]byte
			for i := range parts {
				n := int(int32(binary.BigEndian.Uint32(one[at:])))
				at += 4
				if n >= 0 {
					parts[i] = one[at : at+n]
					at += n
				}
			}
			out = append(out, raw{int64(binary.BigEndian.Uint64(one)), parts[0], parts[1]})
			continue
		}
		v, err := batch.ParseView(one)
		if err != nil {
			t.Fatal(err)
		}
		for r, err := range v.Records(nil) {
			if err != nil {
				t.Fatal(err)
			}
			if !v.Attributes.Control() {
				out = append(out, raw{r.Offset, clone(r.Key), clone(r.Value)})
			}
		}
	}
	return out
}

func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}

// dumped is a line of kafka-dump-log 4.3.1 about a record.
var dumped = regexp.MustCompile(`^\| offset: (\d+) .*?(?: key: (\{.*?\}\}))? payload: (.*)$`)

// logs yields every log of an internal topic in a recording with its dump.
func logs(t testing.TB, name string, each func(topic Topic, path string, log []byte, dump string)) {
	t.Helper()
	tree := fixture.Tree(t, name)
	found := 0
	err := fs.WalkDir(tree, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(p) != ".log" || strings.Contains(p, "dump") {
			return err
		}
		dir := path.Base(path.Dir(p))
		topic, ok := TopicOf(dir[:max(strings.LastIndexByte(dir, '-'), 0)])
		log := tree[p].Data
		if !ok || len(log) == 0 {
			return nil
		}
		dump := tree["dump/"+p+".txt"]
		if dump == nil {
			dump = tree["dump/"+path.Dir(p)+".txt"] // tiered: one dump a partition
		}
		if dump == nil {
			data, err := os.ReadFile(filepath.Join("testdata", name, "dump", filepath.FromSlash(p)+".txt"))
			if err != nil {
				t.Errorf("%s has no dump: %v", p, err)
				return nil
			}
			dump = &fstest.MapFile{Data: data}
		}
		found++
		each(topic, p, log, string(dump.Data))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found == 0 {
		t.Fatalf("%s: no logs", name)
	}
}

// TestRecorded: every record of every recorded internal topic, 0.9 to 4.3, decodes to what
// kafka-dump-log 4.3.1 says of it, field by field and byte by byte.
func TestRecorded(t *testing.T) {
	seen := map[string]int{}
	for _, name := range []string{"internal-topics", "transactions", "tiered"} {
		logs(t, name, func(topic Topic, p string, log []byte, dump string) {
			var want [][]string
			for line := range strings.Lines(dump) {
				line = strings.TrimSuffix(line, "\n")
				if strings.Contains(line, "endTxnMarker") {
					continue
				}
				if m := dumped.FindStringSubmatch(line); m != nil {
					want = append(want, m)
				}
			}
			got := recordsOf(t, log)
			if len(got) != len(want) {
				t.Errorf("%s/%s: %d records, kafka-dump-log has %d", name, p, len(got), len(want))
				return
			}
			for i, r := range got {
				rec := topic.Decode(r.key, r.value)
				if rec.Err != nil {
					t.Errorf("%s/%s offset %d: %v", name, p, r.offset, rec.Err)
					continue
				}
				seen[topic.String()+" "+rec.Name]++
				key := string(rec.AppendKeyJSON(nil))
				value := string(rec.AppendValueJSON(nil))
				if rec.Tombstone {
					value = "<DELETE>"
				}
				if e, ok := rec.RemoteEvent(); ok {
					key, value = "", e.String()
				}
				if want[i][2] != key || want[i][3] != value {
					t.Errorf("%s/%s offset %d:\ngot  %s %s\nwant %s %s", name, p, r.offset, key, value, want[i][2], want[i][3])
				}
			}
		})
	}
	for _, name := range []string{"__consumer_offsets OffsetCommit", "__consumer_offsets GroupMetadata", "__consumer_offsets ConsumerGroupMetadata",
		"__consumer_offsets ConsumerGroupCurrentMemberAssignment", "__consumer_offsets ConsumerGroupRegularExpression", "__consumer_offsets ShareGroupMemberMetadata",
		"__transaction_state TransactionLog", "__share_group_state ShareSnapshot", "__share_group_state ShareUpdate",
		"__remote_log_metadata RemoteLogSegmentMetadata", "__remote_log_metadata RemoteLogSegmentMetadataUpdate"} {
		if seen[name] == 0 {
			t.Errorf("no %s among the recordings: %v", name, seen)
		}
	}
}
