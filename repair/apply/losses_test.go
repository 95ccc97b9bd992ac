package apply

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kafsck/broker"
	"kafsck/incident"
	"kafsck/internal/logtest"
	"kafsck/logdir"
	"kafsck/repair"
)

// lossPlan is the plan for a log directory with a damaged batch in t-0 and a damaged index in u-0, everything
// confirmed.
func lossPlan(t *testing.T) *repair.Plan {
	t.Helper()
	var text strings.Builder
	text.WriteString("broker 1\nclean\n")
	for _, p := range []string{"t-0", "u-0", "v-0"} {
		fmt.Fprintf(&text, "topic %s id=AAAAAAAAAAAAAAAAAAAA%sQ ; segment 0\n", p, p[:1])
		for i := range 6 {
			fmt.Fprintf(&text, "batch base=%d records=10 epoch=1\n", i*10)
		}
		if p == "t-0" {
			text.WriteString("damage batch=3 field=payload flip=3\n")
		}
		text.WriteString("segment 60\nbatch base=60 records=10 epoch=1\nbatch base=70 records=10 epoch=1\n")
		if p == "u-0" {
			text.WriteString("tail zeros=100\n")
		}
	}
	dir := logtest.Dir(t, text.String())
	c, err := logdir.Discover([]string{dir}, logdir.Options{})
	must(t, err)
	defer c.Close()
	inc := incident.Open(c, incident.Options{Files: true, Tell: true, Compare: true, Transactions: true})
	p, err := repair.Build(t.Context(), inc, repair.BuildOptions{Kafsck: "test", Kafka: broker.Latest, Now: time.Unix(1700000000, 0), All: true})
	must(t, err)
	for i := range p.Actions {
		p.Actions[i].Confirmed = p.Actions[i].Confirm
	}
	return p
}

// withoutFirst takes the first batch out of the first file that an action puts together.
func withoutFirst(t *testing.T, p *repair.Plan, a *repair.Action) {
	t.Helper()
	x := &a.Edits[0].Pieces[0]
	b, err := os.ReadFile(filepath.Join(p.Roots[0].Path, filepath.FromSlash(x.File)))
	must(t, err)
	first := int64(binary.BigEndian.Uint32(b[8:])) + 12
	x.Position, x.Length = first, x.Length-first
}

// TestLossesOfEditedPlans: a plan that was edited so that whole batches go, or are deleted for clients, and
// says no such loss, is no repair: whatever it promises. One of which an action was taken out is.
func TestLossesOfEditedPlans(t *testing.T) {
	const log, second = "t-0/00000000000000000000.log", "t-0/00000000000000000060.log"
	of := func(p *repair.Plan, dir string) *repair.Action {
		return &p.Actions[slices.IndexFunc(p.Actions, func(a repair.Action) bool { return a.Dir == dir })]
	}
	quiet := func(a *repair.Action) { a.Loses, a.Confirm, a.Confirmed = []repair.PlanLoss{}, false, false }
	alone := func(p *repair.Plan) *repair.Action { // of t-0, and nothing is built there
		first := of(p, "t-0")
		first.Edits = slices.DeleteFunc(first.Edits, func(e repair.Edit) bool { return e.Op == repair.Rebuild })
		id := first.ID
		p.Actions = slices.DeleteFunc(p.Actions, func(a repair.Action) bool { return a.Dir == "t-0" && a.ID != id })
		return of(p, "t-0")
	}
	bare := func(p *repair.Plan) { // no action on v-0, and nothing is promised of it
		p.Actions = slices.DeleteFunc(p.Actions, func(a repair.Action) bool { return a.Dir == "v-0" })
		p.Promises = slices.DeleteFunc(p.Promises, func(x repair.Promise) bool { return x.Dir == "v-0" })
	}
	line := func(file, topic string, offset int64) repair.Edit {
		return repair.Edit{Op: repair.Line, File: file, Line: &repair.OffsetLine{Topic: topic, Offset: &offset}}
	}
	for _, c := range []struct {
		name   string
		want   string // of the error; "" none
		change func(p *repair.Plan)
	}{
		{"as it was made", "", func(*repair.Plan) {}},
		{"an action taken out", "", func(p *repair.Plan) {
			p.Actions = slices.DeleteFunc(p.Actions, func(a repair.Action) bool { return a.Dir == "t-0" })
		}},
		{"a good batch dropped", "at offsets 0–9, position 0, ", func(p *repair.Plan) {
			withoutFirst(t, p, of(p, "t-0"))
		}},
		{"another loss than what goes", "at offsets 0–9, position 0, ", func(p *repair.Plan) {
			of(p, "t-0").Loses = []repair.PlanLoss{{From: 1, To: 80, HeldBy: []int32{}}}
			withoutFirst(t, p, of(p, "t-0"))
		}},
		{"a segment removed", "at offsets 60–69, position 0, ", func(p *repair.Plan) {
			a := alone(p)
			a.Edits = append(a.Edits, repair.Edit{Op: repair.Remove, File: second})
			p.Promises[0].LogEndOffset, p.Promises[0].Records = 60, nil
		}},
		{"a segment renamed", "at offsets 60–69, position 0, ", func(p *repair.Plan) {
			a := alone(p)
			quiet(a)
			a.Edits = []repair.Edit{{Op: repair.Rename, File: second, To: second + ".deleted"}}
		}},
		{"the directory removed", "at offsets 0–9, position 0, ", func(p *repair.Plan) {
			a := alone(p)
			quiet(a)
			a.Edits = []repair.Edit{{Op: repair.Remove, File: "t-0"}}
			p.Promises = slices.DeleteFunc(p.Promises, func(x repair.Promise) bool { return x.Dir == "t-0" })
		}},
		{"fewer records promised", "the plan promises 60", func(p *repair.Plan) {
			for i := range p.Promises {
				if x := &p.Promises[i]; x.Dir == "t-0" {
					x.Records = &[]int64{60}[0]
				}
			}
		}},
		{"nothing promised", "promises nothing", func(p *repair.Plan) { p.Promises = []repair.Promise{} }},
		{"a log start over records", "promises nothing of it", func(p *repair.Plan) {
			bare(p)
			a := of(p, "t-0")
			a.Edits = append(a.Edits, line(logStartFile, "v", 35))
		}},
		{"a log start between two batches", "the records at offsets 0–9 go with it", func(p *repair.Plan) {
			a := of(p, "u-0")
			a.Edits = append(a.Edits, line(logStartFile, "u", 10))
			for i := range p.Promises {
				if x := &p.Promises[i]; x.Dir == "u-0" {
					x.LogStartOffset, x.Records, x.Epochs = 10, &[]int64{70}[0], [][2]int64{{1, 10}}
				}
			}
		}},
		{"the file of log starts written", "the records at offsets 0–9 go with it", func(p *repair.Plan) {
			text := "0\n1\nv 0 80\n"
			bare(p)
			a := of(p, "u-0")
			a.Edits = append(a.Edits, repair.Edit{Op: repair.Write, File: logStartFile, Text: &text})
		}},
		{"the epochs of another partition", "promises nothing of it", func(p *repair.Plan) {
			text := "0\n0\n"
			bare(p)
			a := of(p, "u-0")
			a.Edits = append(a.Edits, repair.Edit{Op: repair.Write, File: "v-0/leader-epoch-checkpoint", Text: &text})
		}},
		{"a line of another partition", "promises nothing of it", func(p *repair.Plan) {
			bare(p)
			a := of(p, "u-0")
			a.Edits = append(a.Edits, line(watermarkFile, "v", 0))
		}},
		{"another node", "changes meta.properties", func(p *repair.Plan) {
			text := "version=1\nnode.id=7\ncluster.id=x\n"
			a := of(p, "u-0")
			a.Edits = append(a.Edits, repair.Edit{Op: repair.Write, File: "meta.properties", Text: &text})
		}},
		{"another topic id", "changes the topic id", func(p *repair.Plan) {
			text := "version: 0\ntopic_id: EJGzWws2XbaZx6j_GBRReg\n"
			a := of(p, "u-0")
			a.Edits = append(a.Edits, repair.Edit{Op: repair.Write, File: "u-0/partition.metadata", Text: &text})
		}},
		{"a directory set aside", "at offsets 0–9, position 0, ", func(p *repair.Plan) {
			a := alone(p)
			a.Kind, a.Loses, a.Findings = repair.MoveAside, []repair.PlanLoss{}, []string{}
			a.Edits = []repair.Edit{{Op: repair.Remove, File: "t-0"}}
			p.Promises = slices.DeleteFunc(p.Promises, func(x repair.Promise) bool { return x.Dir == "t-0" })
		}},
		{"a piece that ends inside a batch", "in the middle of a batch", func(p *repair.Plan) {
			a := of(p, "t-0")
			a.Loses = []repair.PlanLoss{{From: 0, To: 80, HeldBy: []int32{}}}
			a.Edits[0].Pieces[0].Length -= 5
		}},
		{"batches in another order", "in their order", func(p *repair.Plan) { slices.Reverse(of(p, "t-0").Edits[0].Pieces) }},
		{"a name that is too long", "no path below", func(p *repair.Plan) {
			a := of(p, "u-0")
			a.Edits = append(a.Edits, repair.Edit{Op: repair.Remove, File: "u-0/" + strings.Repeat("a", 300)})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := lossPlan(t)
			if e := of(p, "t-0").Edits[0]; e.File != log || len(e.Pieces) != 2 {
				t.Fatalf("%+v", e)
			}
			c.change(p)
			_, err := Run(t.Context(), p, Options{Out: filepath.Join(t.TempDir(), "OUT"), sys: quick{}})
			_, refused := errors.AsType[*Refused](err)
			_, failed := errors.AsType[*Failed](err)
			if c.want == "" && err != nil || c.want != "" && !(refused || failed) || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%T %v, want %q", err, err, c.want)
			}
		})
	}
}
