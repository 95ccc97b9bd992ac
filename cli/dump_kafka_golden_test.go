package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What kafka-dump-log 4.3.1 printed of the files in testdata/kafka-dump, byte for byte; the
// conformance tests do the same with all recordings and with the tool itself.
func TestDumpKafkaFormat(t *testing.T) {
	const dir = "testdata/kafka-dump"
	for file, options := range map[string][]string{
		"tx-0/00000000000000000100.log":                                   {"--print-data-log"},
		"kv-0/00000000000000000115.log":                                   {"--print-data-log"},
		"codecs-0/00000000000000000000.log":                               {"--print-data-log"},
		"__cluster_metadata-0/00000000000000000568.log":                   {"--cluster-metadata-decoder"},
		"__cluster_metadata-0/00000000000000000611-0000000002.checkpoint": {"--cluster-metadata-decoder"},
	} {
		want, err := os.ReadFile(filepath.Join(dir, file+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		args := append([]string{"dump", "--format", "kafka", "--files", filepath.Join(dir, file)}, options...)
		out, errs, code := typed(t, args...)
		if code != 0 {
			t.Errorf("%s: exit code %d: %s", file, code, errs)
		}
		// The tool ran elsewhere: its first line has another path.
		_, got, _ := strings.Cut(out, "\n")
		if _, rest, _ := bytes.Cut(want, []byte("\n")); got != string(rest) {
			t.Errorf("%s:\n%s\nkafka-dump-log:\n%s", file, got, rest)
		}
		for line := range strings.Lines(errs) {
			if strings.HasPrefix(line, "  -1 is followed by") && !strings.Contains(errs, line+"kafsck: a false report: ") {
				t.Errorf("%s: nothing says that this is false: %s", file, errs)
			}
		}
	}
}

// Options of kafka-dump-log need --format kafka, those of dump have no place there.
func TestDumpKafkaUsage(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"dump --print-data-log x.log", "needs --format kafka"},
		{"dump --format kafka --records x.log", "--records is not for --format kafka"},
		{"dump --format kafka --json x.log", "two formats"},
		{"dump --format kafka", "needs a FILE"},
		{"dump --format avro x.log", "want text, json, kafka"},
		{"dump --format kafka --key-decoder-class kafka.serializer.StringDecoder x.log", "org.apache.kafka.tools.api.LongDecoder"},
	} {
		_, errs, code := typed(t, strings.Fields(c.args)...)
		if code != 64 || !strings.Contains(errs, c.says) {
			t.Errorf("%s: exit code %d, %s", c.args, code, errs)
		}
	}
}

// Where kafka-dump-log throws, kafsck goes on: the batches behind a damaged length are printed.
func TestDumpKafkaGoesOn(t *testing.T) {
	const dir = "testdata/kafka-dump/bad/"
	for name, want := range map[string]struct {
		code, batches int
		says          string
	}{
		"crc-0":        {0, 21, ""},
		"torn-0":       {0, 20, ""},
		"zerotail-0":   {0, 21, "zeros from position 7226 to the end"},
		"length-neg-0": {2, 21, "20 batches and messages behind position 369 are printed"},
		"length-big-0": {0, 1, "among these bytes are 20 batches that kafka-dump-log does not find"},
	} {
		out, errs, code := typed(t, "dump", "--format", "kafka", dir+name+"/00000000000000000100.log")
		if n := strings.Count(out, "\nbaseOffset: "); n != want.batches || code != want.code || !strings.Contains(errs, want.says) {
			t.Errorf("%s: %d batches, exit code %d, want %+v\n%s", name, n, code, want, errs)
		}
	}
}
