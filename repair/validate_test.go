package repair_test

import (
	"errors"
	"strings"
	"testing"

	"kafsck/repair"
)

// soundPlan has every kind of edit.
const soundPlan = `{
 "type": "repair-plan", "version": 1, "id": "0123456789abcdef", "made": "2026-01-02T03:04:05Z", "kafsck": "dev", "kafka": "4.3",
 "roots": [
  {"name": "b1", "path": "copies/b1", "broker": 1},
  {"name": "b2", "path": "copies/b2", "broker": 2, "source": true}],
 "inputs": [
  {"root": 0, "file": "t-0/00000000000000000000.log", "size": 100, "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
  {"root": 0, "file": "t-0/00000000000000000000.index", "size": 8, "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
  {"root": 0, "file": "old/a", "size": 1, "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
  {"root": 0, "file": ".kafka_cleanshutdown", "size": 0, "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
  {"root": 1, "file": "t-0/00000000000000000000.log", "size": 200, "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}],
 "actions": [
  {"id": "a1", "kind": "take-from-sibling", "root": 0, "partition": "t-0", "dir": "t-0", "findings": ["batch-crc-mismatch"], "does": "d", "why": "w", "loses": [], "undo": "u", "edits": [
   {"op": "compose", "file": "t-0/00000000000000000000.log", "pieces": [{"root": 0, "file": "t-0/00000000000000000000.log", "position": 0, "length": 50}, {"root": 1, "file": "t-0/00000000000000000000.log", "position": 50, "length": 150}]},
   {"op": "rebuild", "file": "t-0/00000000000000000000.index", "logs": ["t-0/00000000000000000000.log"], "interval": 4096},
   {"op": "write", "file": "t-0/leader-epoch-checkpoint", "text": "0\n0\n"},
   {"op": "line", "file": "recovery-point-offset-checkpoint", "line": {"topic": "t", "partition": 0, "offset": 0}},
   {"op": "remove", "file": ".kafka_cleanshutdown"}]},
  {"id": "a2", "kind": "move-aside", "root": 0, "findings": [], "does": "d", "why": "w", "loses": [], "undo": "u", "confirm": true, "after": ["a1"], "edits": [
   {"op": "remove", "file": "old"},
   {"op": "remove", "file": ".kafka_cleanshutdown"},
   {"op": "line", "file": "recovery-point-offset-checkpoint", "line": {"topic": "t", "partition": 1, "offset": null}}]}],
 "left": [], "promises": []
}`

// TestDecode: a plan is read back as it was made, and edited nonsense is refused with its place.
func TestDecode(t *testing.T) {
	p, err := repair.Decode([]byte(soundPlan))
	if err != nil {
		t.Fatal(err)
	}
	again, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := repair.Decode(again); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ old, new, place string }{
		"cut short":            {"\"left\": [], \"promises\": []\n}", "", "line 2"},
		"something behind":     {"\"promises\": []\n}", "\"promises\": []\n}\n{}", "line 2"},
		"unknown field":        {`"undo": "u", "confirm"`, `"undo": "u", "konfirm"`, "line"},
		"field twice":          {`"confirm": true`, `"confirm": true, "confirm": false`, "line 19"},
		"another type":         {`"size": 8`, `"size": "8"`, "line 8"},
		"another version":      {`"version": 1`, `"version": 2`, "version"},
		"another document":     {`"repair-plan"`, `"kafsck"`, "type"},
		"no id":                {`0123456789abcdef"`, `xyz"`, "id"},
		"release":              {`"kafka": "4.3"`, `"kafka": "9.9"`, "kafka"},
		"root up":              {`"name": "b1"`, `"name": "../b1"`, "root 0"},
		"absolute root":        {`"name": "b1"`, `"name": "/b1"`, "root 0"},
		"root over our files":  {`"name": "b1"`, `"name": "lost+found"`, "root 0"},
		"two roots of a name":  {`"name": "b1"`, `"name": "b2"`, "root 1"},
		"input up":             {`"file": "old/a"`, `"file": "old/../../a"`, "input 2"},
		"input of no root":     {`"root": 0, "file": "old/a"`, `"root": 7, "file": "old/a"`, "input 2"},
		"input twice":          {`"file": "old/a"`, `"file": ".kafka_cleanshutdown"`, "input 3"},
		"negative size":        {`"size": 8`, `"size": -8`, "input 1"},
		"sum":                  {`"size": 8, "sha256": "e3`, `"size": 8, "sha256": "E3`, "input 1"},
		"unknown kind":         {`"kind": "move-aside"`, `"kind": "delete"`, "action a2"},
		"id twice":             {`"id": "a2"`, `"id": "a1"`, "action a1"},
		"on a source":          {`"kind": "move-aside", "root": 0`, `"kind": "move-aside", "root": 1`, "action a2"},
		"loss without confirm": {`"loses": [], "undo": "u", "edits"`, `"loses": [{"from": 1, "to": 2, "records": 1, "heldBy": []}], "undo": "u", "edits"`, "action a1"},
		"loss backwards":       {`"loses": [], "undo": "u", "confirm"`, `"loses": [{"from": 2, "to": 2, "records": 1, "heldBy": []}], "undo": "u", "confirm"`, "action a2, loss 0"},
		"after nobody":         {`"after": ["a1"]`, `"after": ["a9"]`, "action a2"},
		"after itself":         {`"after": ["a1"]`, `"after": ["a2"]`, "action a2"},
		"after unconfirmed":    {`"undo": "u", "edits"`, `"undo": "u", "after": ["a2"], "edits"`, "action a1"},
		"edit outside":         {`"file": "t-0/leader-epoch-checkpoint"`, `"file": "../leader-epoch-checkpoint"`, "action a1, edit 2"},
		"edit absolute":        {`"file": "t-0/leader-epoch-checkpoint"`, `"file": "/etc/passwd"`, "action a1, edit 2"},
		"two edits":            {`"file": "t-0/leader-epoch-checkpoint"`, `"file": "t-0/00000000000000000000.index"`, "t-0/00000000000000000000.index"},
		"beyond the input":     {`"position": 50, "length": 150`, `"position": 50, "length": 151`, "action a1, edit 0"},
		"overflow":             {`"position": 50, "length": 150`, `"position": 50, "length": 9223372036854775807`, "action a1, edit 0"},
		"overlapping":          {`{"root": 1, "file": "t-0/00000000000000000000.log", "position": 50, "length": 150}`, `{"root": 0, "file": "t-0/00000000000000000000.log", "position": 49, "length": 1}`, "action a1, edit 0"},
		"unknown input":        {`{"root": 1, "file": "t-0/00000000000000000000.log", "position": 50`, `{"root": 1, "file": "t-1/0.log", "position": 50`, "action a1, edit 0"},
		"remove of nothing":    {`"op": "remove", "file": "old"`, `"op": "remove", "file": "new"`, "action a2, edit 0"},
		"rebuild a log":        {`"op": "rebuild", "file": "t-0/00000000000000000000.index"`, `"op": "rebuild", "file": "t-0/00000000000000000000.log"`, "action a1, edit 1"},
		"field of another op":  {`"op": "remove", "file": "old"`, `"op": "remove", "file": "old", "to": "new"`, "action a2, edit 0"},
		"line of another file": {`"op": "line", "file": "recovery-point-offset-checkpoint", "line": {"topic": "t", "partition": 0`, `"op": "line", "file": "meta.properties", "line": {"topic": "t", "partition": 0`, "action a1, edit 3"},
		"line of two words":    {`{"topic": "t", "partition": 0`, `{"topic": "t 1\nx", "partition": 0`, "action a1, edit 3"},
		"unknown op":           {`"op": "write"`, `"op": "patch"`, "action a1, edit 2"},
		"two values of a line": {`"confirm": true, "after": ["a1"]`, `"after": ["a1"], "findings": [], "confirm": true, "confirmed": true`, "line"},
	} {
		bad := strings.Replace(soundPlan, c.old, c.new, 1)
		if bad == soundPlan {
			t.Errorf("%s: nothing was changed", name)
			continue
		}
		_, err := repair.Decode([]byte(bad))
		m, ok := errors.AsType[*repair.Malformed](err)
		if !ok || !strings.Contains(m.Place, c.place) || m.Why == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSelect: what is named, with what it needs, without what needs something that is left out.
func TestSelect(t *testing.T) {
	for _, c := range []struct{ only, skip, want string }{
		{"", "", "a1 a2?"},
		{"a2", "", "a1 a2"},
		{"move-aside", "", "a1 a2"},
		{"a1", "", "a1"},
		{"", "a1", ""},
		{"", "move-aside", "a1"},
		{"a2", "a2", "a1"},
	} {
		p, err := repair.Decode([]byte(soundPlan))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Select(strings.Fields(c.only), strings.Fields(c.skip)); err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range p.Actions {
			word := p.Actions[i].ID
			if !p.Actions[i].Carried() {
				word += "?"
			}
			got = append(got, word)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("only %q, skip %q: %v, want %s", c.only, c.skip, got, c.want)
		}
		if err := p.Validate(); err != nil {
			t.Errorf("only %q, skip %q: %v", c.only, c.skip, err)
		}
	}
	p, _ := repair.Decode([]byte(soundPlan))
	if err := p.Select([]string{"a7"}, nil); err == nil || !strings.Contains(err.Error(), "a1 take-from-sibling") {
		t.Errorf("an unknown name: %v", err)
	}
}

// TestEditLines: one line changes, all others stay byte for byte.
func TestEditLines(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	for _, c := range []struct {
		was, want string
		edits     []repair.OffsetLine
	}{
		{"0\n3\nkv 0 812\nt 0 300\nkv  1 77 \n", "0\n3\nkv 0 812\nt 0 280\nkv  1 77 \n", []repair.OffsetLine{{"t", 0, n(280)}}},
		{"0\n3\nkv 0 812\nt 0 300\nkv 1 77\n", "0\n2\nkv 0 812\nkv 1 77\n", []repair.OffsetLine{{"t", 0, nil}}},
		{"0\n2\nt 0 1\nt 0 2\n", "0\n1\nt 0 5\n", []repair.OffsetLine{{"t", 0, n(5)}}},
		{"0\r\n1\r\na 1 2\r\n", "0\n2\na 1 2\nt 0 5\n", []repair.OffsetLine{{"t", 0, n(5)}}},
		{"", "0\n1\nt 0 5\n", []repair.OffsetLine{{"t", 0, n(5)}, {"u", 0, nil}}},
		{"0\n0\n", "0\n0\n", []repair.OffsetLine{{"u", 0, nil}}},
	} {
		got, err := repair.EditLines([]byte(c.was), c.edits)
		if err != nil || string(got) != c.want {
			t.Errorf("%q: %q, %v, want %q", c.was, got, err, c.want)
		}
	}
	if _, err := repair.EditLines([]byte("0\n2\na 1 2\n"), nil); err == nil {
		t.Error("a file that Kafka refuses is edited")
	}
}

// FuzzDecode: no bytes make a panic, and what is accepted is accepted again.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(soundPlan))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := repair.Decode(b)
		if err != nil {
			if _, ok := errors.AsType[*repair.Malformed](err); !ok {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		again, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := repair.Decode(again); err != nil {
			t.Fatal(err)
		}
	})
}
