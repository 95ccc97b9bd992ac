package manifest

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// sum is that of no bytes, from FIPS 180-4's examples.
const sum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func TestLinesComeBack(t *testing.T) {
	for _, name := range []string{"a", "t-0/00000000000000000000.log", "two words", " leading", "back\\slash", "new\nline", "cr\rname", "#hash", "*star", "\xff\xfe", "\\n"} {
		e := Entry{Path: name, SHA256: sum}
		got, err := Parse(strings.NewReader(e.Line() + "\n"))
		if err != nil || len(got) != 1 || got[0] != e {
			t.Errorf("%q: %q comes back as %v, %v", name, e.Line(), got, err)
		}
	}
}

// TestSha256sumAgrees holds both directions against the program whose format it is.
func TestSha256sumAgrees(t *testing.T) {
	tool, err := exec.LookPath("sha256sum")
	if err != nil {
		t.Log("there is no sha256sum on this machine: only our own reading is tested")
		return
	}
	dir := t.TempDir()
	var list bytes.Buffer
	for _, name := range []string{"plain", "two words", "back\\slash", "new\nline"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		list.WriteString(Entry{Path: name, SHA256: sum}.Line() + "\n")
	}
	check := exec.Command(tool, "-c", "--strict")
	check.Dir, check.Stdin = dir, bytes.NewReader(list.Bytes())
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("sha256sum -c: %v\n%s", err, out)
	}
	print := exec.Command(tool, "plain", "two words", "back\\slash", "new\nline")
	print.Dir = dir
	if out, err := print.Output(); err != nil || string(out) != list.String() {
		t.Errorf("sha256sum prints %q, Line %q (%v)", out, list.String(), err)
	}
}

func TestBadLines(t *testing.T) {
	for _, line := range []string{"x", sum, sum + "  ", sum[:63] + "g  a", sum + " a b", `\` + sum + `  a\q`, `\` + sum + `  a\`, strings.Repeat("a", maxLine+1)} {
		_, err := Parse(strings.NewReader("# comment\n\n" + line + "\n"))
		bad, ok := errors.AsType[*Bad](err)
		if !ok || bad.Number != 3 {
			t.Errorf("%.80q: %v", line, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(sum + "  a\n"))
	f.Add([]byte("#kafsck \"a\" symbolic-link \"\\xff\"\n#kafsck `b` empty-folder\n"))
	f.Add([]byte(`\` + sum + "  a\\n\\\\\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, err := Parse(bytes.NewReader(b))
		if err != nil {
			return
		}
		for _, e := range entries {
			again, err := Parse(strings.NewReader(e.Line()))
			if err != nil || len(again) != 1 || again[0] != e {
				t.Errorf("%+v comes back as %+v, %v", e, again, err)
			}
		}
	})
}

// TestOthers: what is no file stands in comments, whatever bytes its name and its target have.
func TestOthers(t *testing.T) {
	for _, e := range []Entry{
		{Path: "t-0/x", Other: linkTo("../y")},
		{Path: "a\nb\xff\"\\", Other: linkTo(" \r\x00")},
		{Path: "p", Other: special(fs.ModeNamedPipe)}, {Path: "c", Other: special(fs.ModeDevice | fs.ModeCharDevice)},
		{Path: "t-1", Other: emptyFolder},
	} {
		line := e.Line()
		if got, err := Parse(strings.NewReader(line + "\n")); err != nil || len(got) != 1 || got[0] != e || line[0] != '#' || strings.ContainsAny(line, "\n\r\x00") {
			t.Errorf("%q: %q, %v", line, got, err)
		}
	}
	for _, bad := range []string{`#kafsck t-0 socket`, `#kafsck "t-0"`, `#kafsck "t-0" `, `#kafsck "" socket`, `#kafsck "t" symbolic-link x`, `#kafsck "t socket`} {
		if got, err := Parse(strings.NewReader(bad)); err == nil {
			t.Errorf("%q: %q", bad, got)
		}
	}
	if got, err := Parse(strings.NewReader("# kafsck\n#kafsckx\n")); err != nil || len(got) != 0 {
		t.Error(got, err)
	}
}
