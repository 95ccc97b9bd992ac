package cli

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kafsck/internal/fixture"
	"kafsck/query"
)

// kafkaFields are the fields of a line of kafka-dump-log; those of a record include its batch's.
func kafkaFields(line string, batch map[string]string) map[string]string {
	f := maps.Clone(batch)
	if f == nil {
		f = map[string]string{}
	}
	line, payload, _ := strings.Cut(line, " payload: ")
	f["payload"] = payload
	words := strings.Fields(strings.TrimPrefix(line, "| "))
	for i, w := range words[:len(words)-1] {
		if name, ok := strings.CutSuffix(w, ":"); ok {
			f[name] = words[i+1]
		}
	}
	return f
}

func atLeast(s string, n int64) bool {
	v, err := strconv.ParseInt(s, 10, 64)
	return err == nil && v >= n
}

// TestWhereAgreesWithKafka takes the offsets that an expression finds, and those of the lines of
// kafka-dump-log's output of which the same is true.
func TestWhereAgreesWithKafka(t *testing.T) {
	t.Parallel()
	recording := filepath.Join(fixture.Unpack(t, "unclean-election"), "stage-b")
	is := func(name, want string) func(map[string]string) bool {
		return func(f map[string]string) bool { return f[name] == want }
	}
	for _, c := range []struct {
		log, where string
		records    bool
		holds      func(f map[string]string) bool
	}{
		{"tx-0/00000000000000000100.log", `transactional && !control`, false, func(f map[string]string) bool { return f["isTransactional"] == "true" && f["isControl"] == "false" }},
		{"tx-0/00000000000000000100.log", `control`, false, is("isControl", "true")},
		{"tx-0/00000000000000000100.log", `not (recordCount > 1)`, true, is("count", "1")},
		{"tx-0/00000000000000000100.log", `producerId == 4000`, true, is("producerId", "4000")},
		{"tx-0/00000000000000000100.log", `controlType == "ABORT"`, true, is("endTxnMarker", "ABORT")},
		{"tx-0/00000000000000000100.log", `controlType in ["ABORT", "COMMIT"] && coordinatorEpoch >= 0`, true, is("isControl", "true")},
		{"tx-0/00000000000000000100.log", `baseOffset >= 105 && sequence >= 1`, true, func(f map[string]string) bool { return atLeast(f["baseOffset"], 105) && atLeast(f["sequence"], 1) }},
		{"codecs-0/00000000000000000000.log", `codec == "zstd"`, false, is("compresscodec", "zstd")},
		{"codecs-0/00000000000000000000.log", `codec in ["lz4", "snappy"] and offset % 2 == 1`, true, func(f map[string]string) bool {
			return (f["compresscodec"] == "lz4" || f["compresscodec"] == "snappy") && strings.ContainsAny(f["offset"][len(f["offset"])-1:], "13579")
		}},
		{"codecs-0/00000000000000000000.log", `codec != "none" && length > 120`, false, func(f map[string]string) bool { return f["compresscodec"] != "none" && atLeast(f["size"], 121) }},
		{"kv-0/00000000000000000115.log", `value == nil`, true, is("valueSize", "-1")},
		{"kv-0/00000000000000000115.log", `valueSize >= 3 && key != nil`, true, func(f map[string]string) bool { return atLeast(f["valueSize"], 3) && f["keySize"] != "-1" }},
		{"kv-0/00000000000000000115.log", `deleteHorizon`, false, func(f map[string]string) bool { return strings.HasPrefix(f["deleteHorizonMs"], "OptionalLong[") }},
		{"__cluster_metadata-0/00000000000000000568.log", `metadata.type == "PARTITION_CHANGE_RECORD"`, true, func(f map[string]string) bool {
			return strings.Contains(f["payload"], `"type":"PARTITION_CHANGE_RECORD"`)
		}},
		{"__cluster_metadata-0/00000000000000000568.log", `decoded.type startsWith "NO_OP"`, true, func(f map[string]string) bool { return strings.Contains(f["payload"], `"type":"NO_OP`) }},
		{recording + "/broker-1/unclean-demo-0/00000000000000000000.log", `value startsWith "onlyleader-" && epoch == 0`, true, func(f map[string]string) bool {
			return strings.HasPrefix(f["payload"], "onlyleader-") && f["partitionLeaderEpoch"] == "0"
		}},
		{recording + "/broker-2/unclean-demo-0/00000000000000000000.log", `leaderEpoch == 2`, true, is("partitionLeaderEpoch", "2")},
	} {
		log := c.log
		output := "testdata/kafka-dump/unclean/" + strings.Replace(strings.TrimSuffix(strings.TrimPrefix(log, recording+"/"), "/00000000000000000000.log"), "/", ".", 1) + ".txt"
		if !strings.HasPrefix(log, recording) {
			log = "testdata/kafka-dump/" + log
			output = log + ".txt"
		}
		want, all := []string{}, 0
		var batch map[string]string
		for _, line := range kafkaLines(t, output) {
			isRecord := strings.HasPrefix(line, "| ")
			f := kafkaFields(line, nil)
			if isRecord {
				f = kafkaFields(line, batch)
			} else {
				batch = f
			}
			if isRecord != c.records {
				continue
			}
			all++
			if c.holds(f) {
				want = append(want, map[bool]string{true: f["offset"], false: f["baseOffset"]}[isRecord])
			}
		}
		args := []string{"--where", c.where, log}
		if c.records {
			args = append([]string{"--records"}, args...)
		}
		got, above := []string{}, int64(-1)
		for _, d := range dumpLines(t, 0, args...) {
			switch {
			case d.Type == "record":
				got = append(got, strconv.FormatInt(d.Offset, 10))
				if d.Offset < above {
					t.Errorf("%s: offset %d stands below the batch of %d", c.where, d.Offset, above)
				}
			case d.Type == "batch" && !c.records:
				got = append(got, strconv.FormatInt(d.BaseOffset, 10))
			case d.Type == "batch":
				above = d.BaseOffset
			default:
				t.Errorf("%s: a line of type %s", c.where, d.Type)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s --where '%s' (-kafka-dump-log +ours):\n%s", c.log, c.where, d)
		}
		if len(want) == 0 || len(want) == all {
			t.Errorf("%s '%s': %d of %d, which proves little", c.log, c.where, len(want), all)
		}
	}
}

// TestWhereNamesAreThoseOfJSON holds the names of query's kinds against the lines that dump --json
// prints: each field has its name, and all fields of a line together find that line.
func TestWhereNamesAreThoseOfJSON(t *testing.T) {
	t.Parallel()
	kinds := map[string]*query.Kind{}
	for _, k := range query.DumpKinds {
		kinds[k.Name] = k
	}
	seen := map[string]bool{}
	for name, sub := range map[string]string{"transactions": "stage1-killed/broker-2", "old-formats": "stage2-0.10.2.2"} {
		path := filepath.Join(fixture.Unpack(t, name), sub)
		if _, err := os.Stat(path); err != nil {
			t.Fatal(err)
		}
		out, _, _ := typed(t, "dump", "--json", "--records", "--indexes", path)
		for line := range strings.Lines(out) {
			var f map[string]json.RawMessage
			if err := json.Unmarshal([]byte(line), &f); err != nil {
				t.Fatal(err)
			}
			var typ, kind string
			_ = json.Unmarshal(f["type"], &typ)
			_ = json.Unmarshal(f["kind"], &kind)
			switch {
			case slices.Contains([]string{"kafsck", "summary", "note", "undecoded", "error"}, typ):
				continue
			case typ == "record" && f["magic"] != nil:
				typ = "record (formats 0, 1)"
			case typ == "frame" && (kind == "legacy" || kind == "embedded"):
				typ += " " + kind
			}
			k := kinds[typ]
			if k == nil {
				t.Fatalf("query has no kind for %s", typ)
			}
			var terms []string
			for name, raw := range f {
				if !slices.Contains(k.Names(), name) {
					t.Fatalf("query has no %s of %s", name, typ)
				}
				literal := string(raw)
				switch {
				case literal == "null":
					literal = "nil"
				case literal[0] == '[' || literal[0] == '{', name == "key" || name == "value":
					continue // a list is its length; keys and values are text there, not base64
				}
				terms = append(terms, name+" == "+literal)
			}
			if seen[typ] {
				continue
			}
			seen[typ] = true
			args := []string{"--where", strings.Join(terms, " && "), "--indexes", path}
			if strings.HasPrefix(typ, "record") {
				args = append(args, "--records")
			}
			found, errs, code := typed(t, append([]string{"dump", "--json"}, args...)...)
			if code&^3 != 0 || !strings.Contains(found, line) {
				t.Errorf("%s: exit code %d, stderr %q: --where '%s' does not find\n%s", typ, code, errs, args[1], line)
			}
		}
	}
	if want := 14; len(seen) < want {
		t.Errorf("only %d kinds of lines were seen: %v", len(seen), slices.Sorted(maps.Keys(seen)))
	}
}
