package repair

import (
	"strings"
	"testing"
)

// TestNamesOfFields: a field in other letters is refused, whatever encoding/json makes of it, and a long
// word is told by its beginning.
func TestNamesOfFields(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"type":"repair-plan","version":1,"actions":[{"LOSES":[]}]}`, `"LOSES" is no field: it is written "loses"`},
		{`{"Type":"repair-plan","version":1}`, `"Type" is no field`},
		{`{"type":"` + strings.Repeat("x", 1<<20) + `","version":1}`, `xxx…" is no`},
		{`{"type":"loses","version":1}`, `"loses" is no "repair-plan"`},
	} {
		_, err := Decode([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 300 {
			t.Errorf("%.80s: %.300v", c.text, err)
		}
	}
}
