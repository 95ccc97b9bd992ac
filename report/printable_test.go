package report

import (
	"strings"
	"testing"
)

// isPrintable reports whether s can stand on a terminal as it is.
func isPrintable(s string) bool { return Escape(s) == s }

func TestAsciiControls(t *testing.T) {
	var b strings.Builder
	j := NewJSON(&b, "ls", "v1")
	j.Line(errorLine{"error", "a\x1b\u009b\u202e\x7f<>&é\U000e0041", "x"})
	want := `{"type":"kafsck","schema":1,"command":"ls","version":"v1"}
{"type":"error","path":"a\u001b\u009b\u202e\u007f<>&é\udb40\udc41","message":"x"}
`
	if b.String() != want {
		t.Errorf("got  %q\nwant %q", b.String(), want)
	}
}
