package cli

import (
	"strings"
	"testing"
)

// TestRemoteList: a list as docs/json.md describes it, and lists that say nothing of use.
func TestRemoteList(t *testing.T) {
	list, err := parseRemoteList([]byte(`[{"id":"r","startOffset":0,"endOffset":40,"epochs":{"5":14}}]`), "list")
	if err != nil || len(list) != 1 || list[0].From != 0 || list[0].To != 41 || len(list[0].Epochs) != 1 || list[0].Epochs[0].Epoch != 5 || list[0].Epochs[0].Start != 14 {
		t.Errorf("%+v %v", list, err)
	}
	for text, want := range map[string]string{
		`{`: "JSON", `[{"id":"r","endOffset":4}]`: "startOffset", `[{"startOffset":4,"endOffset":3}]`: "no range",
		`[{"startOffset":0,"endOffset":3,"epochs":{"x":0}}]`: "epoch", `[{"startOffset":0,"endOffset":3,"epochs":{"1":-1}}]`: "epoch",
	} {
		if _, err := parseRemoteList([]byte(text), "list"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, bad := range []string{"orders", "orders=x", "orders-x=f", "orders-0=", "-0=f"} {
		if err := new(remoteListFlag).Set(bad); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

// FuzzRemoteList: what is accepted has ranges and epochs that can be.
func FuzzRemoteList(f *testing.F) {
	f.Add([]byte(`[{"id":"r","startOffset":0,"endOffset":40,"epochs":{"5":14}}]`))
	f.Add([]byte(`[{"startOffset":9223372036854775807,"endOffset":9223372036854775807}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := parseRemoteList(data, "list")
		for _, r := range list {
			if err != nil || r.From < 0 || r.To <= r.From {
				t.Fatalf("%+v %v", r, err)
			}
			for _, e := range r.Epochs {
				if e.Epoch < 0 || e.Start < 0 {
					t.Fatalf("%+v", e)
				}
			}
		}
	})
}
