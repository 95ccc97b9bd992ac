package tui

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"kafsck/internal/fixture"
)

// TestWhereOnTables: the heads of the columns are the names, a mistake is told while one types,
// and leaves the table as it was.
func TestWhereOnTables(t *testing.T) {
	s, l := withList(t, 120, 20, sizes{2048, 10, 1 << 30, 999})
	for _, c := range []struct {
		text string
		want []int
	}{
		{"=size >= 999", []int{0, 2, 3}},
		{"= size > 1024 && size < 1000000 || name == \"file-1\"", []int{0, 1}},
		{`=!(name endsWith "3") && SIZE in [10, 999]`, []int{1}},
		{`=name matches "[01]$"`, []int{0, 1}},
		{"=", []int{0, 1, 2, 3}},
	} {
		s.text("/").keys("ctrl+u").text(c.text).keys("enter")
		if got := shown(l.table); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.text, got, c.want)
		}
	}
	s.keys("esc").text("/").sees("=condition")
	s.text("=size > 1000").text(" && sise").sees("there is no name sise; there is size")
	if got := shown(l.table); !slices.Equal(got, []int{0, 2}) {
		t.Errorf("while a mistake stands there: %v", got)
	}
	s.keys("ctrl+u").text(`=name > 3`).sees("name").keys("esc")
	s.text("/=size ==").sees("ends too early").keys("esc")
}

// TestWhereOnBatchesIsTruth: as many batches of an epoch are found as the recorder counted, and the
// command for the view has the condition.
func TestWhereOnBatchesIsTruth(t *testing.T) {
	var truth truthOf
	if err := json.Unmarshal(fixture.Tree(t, "unclean-election")["truth.json"].Data, &truth); err != nil {
		t.Fatal(err)
	}
	s := newSim(t, 160, 120, openFixture(t, "unclean-election/stage-b")).settle()
	tried := 0
	for broker, b := range truth.Stages["stage-b"].Brokers {
		want, ok := b.Partitions["unclean-demo-0"]
		if !ok || len(want.Segments) != 1 {
			continue
		}
		p, c := storyOf(s, "unclean-demo-0", strings.TrimPrefix(broker, "broker-"))
		screen := newBatches(s.app.world, logOf(p, c), target{})
		s.open(screen)
		for _, r := range want.BatchEpochRanges {
			tried++
			where := "epoch == " + itoa(r.Epoch) + ` && codec == "none"`
			s.text("/").keys("ctrl+u").text("=" + where).keys("enter").settle()
			rows := shownBatches(s)
			if int64(len(rows)) != r.Batches || rows[0][1] != r.First || rows[len(rows)-1][2] != r.Last {
				t.Errorf("broker %s, %s: %v, want %+v", broker, where, rows, r)
			}
			if cmd := screen.command(); !strings.Contains(cmd, "kafsck dump --where '"+where+"' ") {
				t.Errorf("the command is %s", cmd)
			}
		}
		s.keys("esc", "g").settle()
		s.keys("r").settle() // the records of the first batch
		records, ok := s.app.top().screen.(*recordsScreen)
		if !ok {
			t.Fatalf("no records\n%s", s.view())
		}
		first := want.Segments[0].FirstBatchBase
		s.text("/=offset == " + itoa(first) + " && epoch >= 0 && baseOffset == " + itoa(first) + " && value != nil").keys("enter").settle()
		if n := records.len(); n != 1 || !strings.Contains(records.command(), "--records --full --positions ") || !strings.Contains(records.command(), "--where 'offset == ") {
			t.Errorf("%d records; %s\n%s", n, records.command(), s.view())
		}
		s.text("/").keys("ctrl+u").text("=decoded.type == \"x\"").sees("none of ").text("/").keys("ctrl+u").text("=decodid.type == \"x\"").sees("there is no name decodid").keys("esc")
	}
	if tried < 2 {
		t.Error("nothing was tried")
	}
}
