package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"kafsck/checkpoint"
	"kafsck/incident"
)

func TestValueFormats(t *testing.T) {
	binary := []byte{0, 0, 0, 0, 0, 0, 0, 7}
	for _, c := range []struct {
		format ValueFormat
		value  []byte
		max    int
		want   string
	}{
		{ValueAuto, nil, 9, "null"},
		{ValueAuto, []byte{}, 9, `""`},
		{ValueAuto, []byte("null"), 9, `"null"`},
		{ValueAuto, []byte("hi \"you\""), 0, `"hi "you""`},
		{ValueAuto, []byte(`{"a": [1]}`), 0, `{"a": [1]}`},
		{ValueAuto, []byte("[1,\n2]"), 0, `[1,\n2]`},
		{ValueAuto, []byte(`{"a": `), 0, `"{"a": "`},
		{ValueAuto, []byte("12"), 0, `"12"`},
		{ValueAuto, binary, 0, "0x0000000000000007 (8 bytes)"},
		{ValueAuto, binary, 4, "0x00000000… (8 bytes)"},
		{ValueAuto, []byte{0xff}, 0, "0xff (1 byte)"},
		{ValueAuto, []byte("a line\nand a\ttab"), 0, `"a line\nand a\ttab"`},
		{ValueAuto, []byte("a colour \x1b[31m among much text"), 0, `"a colour \x1b[31m among much text"`},
		{ValueAuto, []byte("grün grün"), 0, `"grün grün"`},
		{ValueAuto, []byte("grün"), 3, `"gr"… (5 bytes)`},
		{ValueAuto, []byte(`{"a":"xxxxxxxxxxx"}`), 6, `{"a":"… (19 bytes)`},
		{ValueText, binary, 0, `"\x00\x00\x00\x00\x00\x00\x00\x07"`},
		{ValueText, []byte("\xff\u202e"), 0, `"\xff\u202e"`},
		{ValueHex, []byte("hi"), 0, "0x6869 (2 bytes)"},
		{ValueBase64, []byte("hi"), 0, "aGk="},
		{ValueBase64, []byte("hello, hello"), 5, "aGVs… (12 bytes)"},
		{ValueRedacted, []byte("hi"), 1, "(2 bytes, sha256 8f434346648f6b96…)"},
		{ValueRedacted, nil, 1, "null"},
	} {
		if got := c.format.Show(c.value, c.max); got != c.want {
			t.Errorf("%s of %q, at most %d: got %s, want %s", c.format, c.value, c.max, got, c.want)
		}
	}
}

// What Kafka does about a file that it refuses is said of every kind of text file that
// it can refuse, in text and JSON.
func TestMalformedFiles(t *testing.T) {
	offsets := []string{"replication-offset-checkpoint", "recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "cleaner-offset-checkpoint"}
	for _, unchecked := range []bool{false, true} {
		bad := &checkpoint.Malformed{Line: 3, Text: "a\x1bb", Reason: "no number", Unchecked: unchecked}
		print := map[string]func(Dump){
			"leader-epoch-checkpoint": func(d Dump) { d.Epochs(&checkpoint.EpochFile{Malformed: bad}) },
			"partition.metadata":      func(d Dump) { d.PartitionMetadata(&checkpoint.PartitionMetadata{Malformed: bad}) },
			"meta.properties":         func(d Dump) { d.MetaProperties(&checkpoint.MetaProperties{Malformed: bad}) },
			"quorum-state":            func(d Dump) { d.QuorumState(&checkpoint.QuorumState{Malformed: bad}) },
		}
		for _, kind := range offsets {
			print[kind] = func(d Dump) { d.Offsets(kind, &checkpoint.OffsetFile{Malformed: bad}) }
		}
		if len(print) != len(consequences) {
			t.Errorf("%d kinds, %d consequences", len(print), len(consequences))
		}
		for kind, f := range print {
			says := consequences[kind][0]
			if unchecked {
				says = consequences[kind][1]
			}
			var text, lines bytes.Buffer
			for _, d := range []Dump{NewDumpText(&text, DumpTextOptions{}), NewDumpJSON(NewJSON(&lines, "dump", ""), false)} {
				d.File(&DumpFile{Path: kind})
				f(d)
			}
			for _, want := range []string{"MALFORMED: line 3: no number\n", `the line reads "a\x1bb"`, "Kafka refuses the file: " + says} {
				if says == "" || !strings.Contains(text.String(), want) {
					t.Errorf("%s: no %q in\n%s", kind, want, text.String())
				}
			}
			if !strings.Contains(lines.String(), `"line":3,"text":"a\u001bb","reason":"no number"`) || !strings.Contains(lines.String(), says) {
				t.Errorf("%s: %s", kind, lines.String())
			}
		}
	}
}

func TestOffsetColumnsHaveNames(t *testing.T) {
	for kind := range offsetMeaning {
		if _, ok := consequences[kind]; !ok {
			t.Errorf("%s", kind)
		}
	}
}

// A broker without a known id is its folder's name in JSON, a number otherwise.
func TestDumpBroker(t *testing.T) {
	for want, ref := range map[string]*incident.BrokerRef{`"broker":null`: nil, `"broker":7`: {ID: 7, Known: true, Name: "7"}, `"broker":"disk-a"`: {Name: "disk-a"}} {
		var out bytes.Buffer
		d := NewDumpJSON(NewJSON(&out, "dump", ""), false)
		d.File(&DumpFile{Path: "x", Broker: ref})
		d.CleanShutdown(&checkpoint.CleanShutdown{})
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in %s", want, out.String())
		}
	}
}

func TestDemoPrints(t *testing.T) {
	var d Demo
	d.Story("\nOnce upon a time.\n\n")
	d.Command("It was lost.", "kafsck x", []byte("LOST\n"))
	d.Lesson(220, 100, "kafsck demo --extract x")
	var out bytes.Buffer
	if err := d.Print(&out); err != nil {
		t.Fatal(err)
	}
	want := []string{"Once upon a time.", "", "# It was lost.", "$ kafsck x", "LOST", ""}
	if got := strings.Split(out.String(), "\n"); !slices.Equal(got[:len(want)], want) || !strings.HasPrefix(got[len(want)], "Of 220 records that producers were told are safe, 100 are not") {
		t.Errorf("got\n%s", out.String())
	}
}
