package apply

import (
	"context"
	"fmt"
	"path"

	"kafsck/broker"
	"kafsck/logdir"
	"kafsck/repair"
)

// What an action does to the files of a log directory itself bears on every partition in it: without the
// marker of a clean shutdown a start reads logs that it would have believed, and cuts them where they are
// damaged. So the start on the result is held against one on the inputs, for partitions of which nothing
// is promised too: what goes must go either way, or stand in the losses of an action.

// at is a partition directory of a root.
type at struct {
	root *root
	dir  string
}

// verifyOthers fails where a start on the result takes something out of a log, or ends at one, that a
// start on the inputs leaves alone.
func (x *run) verifyOthers(ctx context.Context, group []*root, of map[*logdir.LogDir]*root, after *broker.Started) error {
	worse := map[at]*broker.StartedPartition{}
	for _, d := range after.Dirs {
		for _, p := range d.Partitions {
			r := of[d.LogDir]
			if p.Err != nil || p.Skipped || !r.written || r.New {
				continue
			}
			if len(repair.StartCuts(p.Loaded)) > 0 || p.Loaded.Outcome != broker.OK {
				worse[at{r, dirOf(r, p.Partition)}] = p
			}
		}
	}
	if len(worse) == 0 {
		return nil
	}
	before, err := x.inputStart(ctx, group, after.Version, worse)
	if err != nil {
		return err
	}
	for where, p := range worse {
		name := path.Join(where.root.Name, where.dir)
		was := before[where]
		if was != nil && was.Err != nil {
			return was.Err
		}
		var cuts []repair.StartCut
		if was != nil {
			cuts = repair.StartCuts(was.Loaded)
			if was.Loaded.Outcome == broker.OK && p.Loaded.Outcome != broker.OK {
				return x.fail(name, "a start on the result ends there, and one on the input does not: %s", p.Loaded.Why)
			}
		}
		loses := x.l.loses(where.root, where.dir)
		for _, c := range repair.Beyond(repair.StartCuts(p.Loaded), cuts) {
			if c.From < c.To && covers(loses, c.From, c.To) {
				continue
			}
			return x.fail(name, "a start on the result makes a %s%s, which a start on the input does not, and no action says that it loses that: %s", cutSaid(&c), x.markerSaid(where.root), c.Why)
		}
	}
	return nil
}

// cutSaid is a cut in words: "truncate of 0.log at position 2301, 700 bytes, offsets 210–299".
func cutSaid(c *repair.StartCut) string {
	s := fmt.Sprintf("%s of %s", c.Act, c.File)
	if c.Position > 0 {
		s += fmt.Sprintf(" at position %d", c.Position)
	}
	s += fmt.Sprintf(", %d bytes", c.Bytes)
	if c.From < c.To {
		s += fmt.Sprintf(", offsets %d–%d", c.From, c.To-1)
	}
	return s
}

// markerSaid names the action that takes the marker of a clean shutdown away, "" none.
func (x *run) markerSaid(r *root) string {
	for _, a := range x.l.todo {
		for i := range a.Edits {
			if e := &a.Edits[i]; x.l.roots[a.Root] == r && e.Op == repair.Remove && e.File == cleanMarker {
				return " (action " + a.ID + " takes " + cleanMarker + " away)"
			}
		}
	}
	return ""
}

const cleanMarker = ".kafka_cleanshutdown"

// inputStart predicts a start on the inputs, for the partitions that are asked for.
func (x *run) inputStart(ctx context.Context, group []*root, version broker.Version, asked map[at]*broker.StartedPartition) (map[at]*broker.StartedPartition, error) {
	b := &logdir.Broker{}
	of := map[*logdir.LogDir]*root{}
	for _, r := range group {
		if r.New || !r.written {
			continue
		}
		c, err := logdir.Discover([]string{r.host}, logdir.Options{})
		if c != nil {
			defer c.Close()
		}
		if err != nil {
			return nil, err
		}
		for _, found := range c.Brokers {
			if b.Name == "" {
				b.ID, b.IDKnown, b.IDSource, b.Name, b.ClusterID = found.ID, found.IDKnown, found.IDSource, found.Name, found.ClusterID
			}
			for _, d := range found.Dirs {
				b.Dirs = append(b.Dirs, d)
				of[d] = r
			}
		}
	}
	started, err := broker.Start(ctx, b, broker.StartOptions{Version: version, Only: func(p *logdir.Partition) bool {
		return of[p.LogDir] != nil && asked[at{of[p.LogDir], dirOf(of[p.LogDir], p)}] != nil
	}})
	if err != nil {
		return nil, err
	}
	out := map[at]*broker.StartedPartition{}
	for _, d := range started.Dirs {
		for _, p := range d.Partitions {
			if r := of[d.LogDir]; r != nil && !p.Skipped {
				out[at{r, dirOf(r, p.Partition)}] = p
			}
		}
	}
	return out, nil
}
