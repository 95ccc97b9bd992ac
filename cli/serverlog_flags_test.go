package cli

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kafsck/internal/fixture"
)

// TestServerLogCutGzip: a .gz with garbage behind it, and one that is cut: the lines that could
// be read count, and a failed read is an error line and exit bit 2. The log is that of
// unclean-election's broker 1, which tells how offsets 100–199 were cut off.
func TestServerLogCutGzip(t *testing.T) {
	dir := t.TempDir()
	stage := filepath.Join(dir, "stage-c")
	for name, f := range fixture.Tree(t, "unclean-election") {
		rest, ok := strings.CutPrefix(name, "stage-c/")
		if !ok || f.Mode.IsDir() {
			continue
		}
		path := filepath.Join(stage, rest)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var whole bytes.Buffer
	z := gzip.NewWriter(&whole)
	z.Write(fixture.Tree(t, "server-logs")["unclean-election/broker-1.log"].Data)
	z.Close()
	for _, tc := range []struct {
		name  string
		data  []byte
		wants []string
	}{
		{"garbage.gz", append(bytes.Clone(whole.Bytes()), "garbage behind"...), []string{`gzip: invalid header; `, `"committed":"yes"`}},
		{"cut.gz", whole.Bytes()[:whole.Len()/4], []string{`unexpected EOF; `}},
	} {
		log := filepath.Join(dir, tc.name)
		if err := os.WriteFile(log, tc.data, 0o644); err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		code := Main([]string{"loss", "--json", "--server-log", "1=" + log, stage}, strings.NewReader(""), &out, &errs)
		if code != 3 {
			t.Errorf("%s: exit %d", tc.name, code)
		}
		for _, want := range append(tc.wants, `{"type":"error","path":"`+log+`"`, `"errors":1`, `{"type":"summary"`) {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %s in\n%s", tc.name, want, out.String())
			}
		}
	}
}
