package tui

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

// TestVisibleJSON: what is copied or saved as JSON hides nothing, and means the same.
func TestVisibleJSON(t *testing.T) {
	in := "a\u200db\u202ec\u2066d\u00ade\U000e0041f\u0085g\x7fh 大é\x1b \u00a0\ufeff"
	line := jsonLine(map[string]string{in: in})
	for _, r := range line {
		if !unicode.IsPrint(r) {
			t.Errorf("%U is in %s", r, line)
		}
	}
	if !strings.Contains(line, `\u200d`) || !strings.Contains(line, `\udb40\udc41`) || !strings.Contains(line, "大é") {
		t.Errorf("%s", line)
	}
	var out map[string]string
	if err := json.Unmarshal([]byte(line), &out); err != nil || out[in] != in {
		t.Errorf("%q, %v", out, err)
	}
	s, _ := withList(t, 80, 20, named{"x\u200dy"})
	w, err := s.app.top().screen.(*list).save("json")
	var b strings.Builder
	if err == nil {
		err = w(&b)
	}
	if err != nil || !strings.Contains(b.String(), `x\u200dy`) {
		t.Errorf("%q, %v", b.String(), err)
	}
}

// named are rows with a name.
type named []string

func (r named) Len() int               { return len(r) }
func (r named) Cell(row, _ int) string { return r[row] }
func (r named) Severity(int) level     { return levelOK }
