package tui

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"kafsck/incident"
	"kafsck/internal/fixture"
	"kafsck/internal/rofs"
	"kafsck/logdir"
)

// faulty is a tree of which one operation on one name fails while it is broken.
type faulty struct {
	op, name string
	broken   atomic.Bool
	asked    atomic.Bool
}

func (f *faulty) open(dir string) func(context.Context) (*Source, error) {
	return func(context.Context) (*Source, error) {
		whole, err := rofs.Dir(dir)
		if err != nil {
			return nil, err
		}
		c, err := logdir.DiscoverFS(rofs.Fault(whole, func(op, name string, pos, length int64) error {
			if f.broken.Load() && op == f.op && name == f.name {
				f.asked.Store(true)
				return syscall.EIO
			}
			return nil
		}), "x", logdir.Options{})
		if err != nil {
			rofs.Close(whole)
			return nil, err
		}
		inc := incident.Open(c, incident.Options{Compare: true, Files: true, Tell: true})
		return &Source{Incident: inc, Findings: inc.Findings(), Close: func() { c.Close() }}, nil
	}
}

// storyScreens are typed on the partition of the recording.
var storyScreens = []string{"partition", "diff", "loss", "leader", "start", "history", "txns", "findings", "segments"}

// TestFaultsOnStories lets reads of every file of a recording fail in turn, once from the
// beginning and once after the case was judged: wherever the failed read was needed, the
// screen shows it as what it is, and gives no all-clear.
func TestFaultsOnStories(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long under the race detector, which has TestRandomProgram")
	}
	dir := filepath.Join(fixture.Unpack(t, "unclean-election"), "stage-b")
	var names []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && (strings.Contains(name, "broker-1/") || strings.Contains(name, "broker-2/unclean-demo-0/")) {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, late := range []bool{false, true} {
		for _, name := range names {
			f := &faulty{op: "read", name: name}
			f.broken.Store(!late)
			s := newSim(t, 160, 50, f.open(dir)).settle()
			part := "unclean-demo-0"
			what := fmt.Sprintf("read of %s fails, late: %v", name, late)
			if !late {
				if !f.asked.Load() {
					continue
				}
				told(t, s, what+", case")
			}
			f.broken.Store(true)
			for _, screen := range storyScreens {
				f.asked.Store(false)
				s.keys(":")
				for _, r := range screen + " " + part {
					s.send(keyMsg(string(r)))
				}
				s.keys("enter")
				if s.app.crashed != nil {
					t.Fatalf("%s, %s: %v", what, screen, s.app.crashed)
				}
				if f.asked.Load() {
					told(t, s, what+", "+screen)
				}
				s.keys("O")
			}
		}
	}
}

// told fails unless the screen shows a failed read, and gives no all-clear.
func told(t *testing.T, s *sim, what string) {
	t.Helper()
	v := s.view()
	if !strings.Contains(v, "input/output error") && !strings.Contains(v, "not read") && !strings.Contains(v, "NOT READ") && !strings.Contains(v, "could not be read") {
		t.Errorf("%s: the failed read is not shown:\n%s", what, v)
		return
	}
	for _, clear := range []string{"OK:", "nothing is lost, nothing is damaged"} {
		if strings.Contains(v, clear) {
			t.Errorf("%s: an all-clear in spite of a failed read:\n%s", what, v)
		}
	}
}
