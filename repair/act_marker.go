package repair

import (
	"fmt"
	"slices"

	"kafsck/broker"
	"kafsck/logdir"
)

// The marker of a clean shutdown is one file for a whole log directory. Where it is there, a start
// believes every log of the directory as it lies; without it, it reads each from its recovery point on
// and cuts it at the first batch that is damaged, with all that stands behind (LogLoader.recoverLog).
// So an action on one partition that takes the marker away may cost another one records:
//
//	                          with the marker      without
//	kv-0      repaired        as the plan says     as the plan says
//	orders-0  damaged at 210  0–299, 210 damaged   0–209, and 220–299 are gone
//
// Then the marker stays. What a start without it would find anew is in the result already: the indexes
// and snapshots of what was changed are rebuilt, and apply predicts the start with the marker. Its
// content goes: since 3.7 it is the broker epoch, with which the controller tells that this shutdown was
// clean and the log has all that it had (KIP-966). An empty marker says nothing of that (a broker up to
// 3.6 writes it so), and the controller takes the shutdown for an unclean one, as where the marker is gone.

// markers looks what a start without the marker costs other partitions than the ones that an action
// mends, and leaves it where it costs them anything.
func (b *builder) markers() error {
	for _, t := range b.roots {
		if t.only != nil || t.dir == nil || !t.dir.CleanShutdown || t.dir.Broker == nil {
			continue
		}
		var takers []*Action
		dirs := map[string]bool{}
		for i := range b.plan.Actions {
			if a := &b.plan.Actions[i]; a.Root == t.index && takesMarker(a) {
				takers = append(takers, a)
				dirs[a.Dir] = true
			}
		}
		if len(takers) == 0 {
			continue
		}
		harmed, err := b.unmarked(t, func(p *logdir.Partition) bool { return len(dirs) > 1 || !dirs[base(p)] })
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(takers, func(a *Action) bool { return len(beside(harmed, a.Dir)) > 0 }) {
			continue
		}
		for _, a := range takers {
			others := beside(harmed, a.Dir)
			if a.Kind == LowerRecovery { // that is what it is for
				if len(others) == 0 {
					others = harmed
				}
				return b.unscannable(a, others)
			}
			b.keepMarker(t, a, others)
		}
	}
	return nil
}

func takesMarker(a *Action) bool {
	return slices.ContainsFunc(a.Edits, func(e Edit) bool { return e.Op == Remove && e.File == cleanMarker })
}

// harm is what a start without the marker takes out of a log that one with it leaves.
type harm struct {
	dir  *logdir.Partition
	cuts []StartCut
}

func (h *harm) said() string {
	from, to := int64(-1), int64(-1)
	for _, c := range h.cuts {
		if c.From < c.To {
			if from < 0 || c.From < from {
				from = c.From
			}
			to = max(to, c.To)
		}
	}
	if from < 0 {
		return fmt.Sprintf("%s (%s)", h.dir.Name(), h.cuts[0].File)
	}
	return fmt.Sprintf("offsets %d–%d of %s", from, to-1, h.dir.Name())
}

func beside(list []harm, dir string) []harm {
	return slices.DeleteFunc(slices.Clone(list), func(h harm) bool { return base(h.dir) == dir })
}

func saidOf(list []harm) string {
	var out []string
	for i := range list {
		if i == 3 && len(list) > 4 {
			out = append(out, fmt.Sprintf("of %d more partitions", len(list)-3))
			break
		}
		out = append(out, list[i].said())
	}
	return join(out)
}

// unmarked are the logs of a directory of which a start without the marker takes something out that
// one with it leaves, among those that are asked for.
func (b *builder) unmarked(t *target, asked func(*logdir.Partition) bool) ([]harm, error) {
	without, err := b.cutBy(t, &[]bool{false}[0], asked)
	if err != nil || len(without) == 0 {
		return nil, err
	}
	with, err := b.cutBy(t, nil, func(p *logdir.Partition) bool { return without[p] != nil })
	if err != nil {
		return nil, err
	}
	var out []harm
	for _, p := range t.dir.Partitions {
		if cuts := Beyond(without[p], with[p]); len(cuts) > 0 {
			out = append(out, harm{p, cuts})
		}
	}
	return out, nil
}

// cutBy predicts a start of the release that the plan promises for, as the inputs lie there.
func (b *builder) cutBy(t *target, clean *bool, asked func(*logdir.Partition) bool) (map[*logdir.Partition][]StartCut, error) {
	version, err := broker.ParseVersion(b.plan.Kafka)
	if err != nil {
		return nil, err
	}
	started, err := broker.Start(b.ctx, t.dir.Broker, broker.StartOptions{Version: version, Clean: clean, Only: func(p *logdir.Partition) bool {
		return p.LogDir == t.dir && p.State != logdir.Delete && asked(p)
	}})
	if err != nil {
		return nil, err
	}
	out := map[*logdir.Partition][]StartCut{}
	for _, d := range started.Dirs {
		if d.LogDir != t.dir {
			continue
		}
		for _, p := range d.Partitions {
			switch {
			case p.Skipped:
			case p.Err != nil && clean == nil: // what a start makes of it with the marker is not known either
			case p.Err != nil:
				out[p.Partition] = []StartCut{{File: "it could not be read", Bytes: 1}}
			default:
				if cuts := StartCuts(p.Loaded); len(cuts) > 0 {
					out[p.Partition] = cuts
				}
			}
		}
	}
	return out, nil
}

// keepMarker leaves the marker where an action would take it away. others are what that would cost.
func (b *builder) keepMarker(t *target, a *Action, others []harm) {
	a.Edits = slices.DeleteFunc(a.Edits, func(e Edit) bool { return e.Op == Remove && e.File == cleanMarker })
	told := "; the marker of a clean shutdown stays"
	if as := t.dir.CleanShutdownAs; as != nil && as.HasBrokerEpoch {
		empty := ""
		a.Edits = append(a.Edits, Edit{Op: Write, File: cleanMarker, Text: &empty})
		told += ", without the broker epoch in it"
	}
	a.Does += told
	if len(others) > 0 {
		a.Why += fmt.Sprintf("; without the marker a start would also cut %s, so it stays: what a start would find anew is rebuilt here", saidOf(others))
	} else {
		a.Why += "; the marker stays for the other logs of the directory: without it a start would cut one of them"
	}
	b.snapshotStays(t, a)
}

// snapshotStays adds a producer snapshot at the log end where an action takes all of them out: a start
// with the marker, and no snapshot at all, believes that there are no producers (ProducerStateManager,
// UnifiedLog.rebuildProducerState).
func (b *builder) snapshotStays(t *target, a *Action) {
	at := slices.IndexFunc(t.dir.Partitions, func(p *logdir.Partition) bool { return base(p) == a.Dir })
	promised := slices.IndexFunc(b.plan.Promises, func(x Promise) bool { return x.Root == t.index && x.Dir == a.Dir })
	if at < 0 || promised < 0 {
		return
	}
	p := t.dir.Partitions[at]
	had, left := 0, 0
	for _, seg := range p.Segments {
		f := seg.Snapshot
		if f == nil || f.Suffix != logdir.NoSuffix {
			continue
		}
		had++
		if !slices.ContainsFunc(a.Edits, func(e Edit) bool { return e.Op == Remove && e.File == file(p, f.Name) }) {
			left++
		}
	}
	end := b.plan.Promises[promised].LogEndOffset
	var logs []string
	for name := range (&work{builder: b, t: t, dir: p}).promised() {
		if offsetOf(name) < end {
			logs = append(logs, name)
		}
	}
	if had == 0 || left > 0 || len(logs) == 0 {
		return
	}
	slices.Sort(logs)
	a.Edits = slices.DeleteFunc(a.Edits, func(e Edit) bool { return e.Op == Remove && offsetOf(e.File) == end && e.File == snapshotName(p, end) })
	a.Edits = append(a.Edits, Edit{Op: Rebuild, File: snapshotName(p, end), Logs: logs})
}

func snapshotName(p *logdir.Partition, offset int64) string {
	return file(p, fmt.Sprintf("%020d.snapshot", offset))
}

// unscannable refuses to have a log read whole at the next start where that start would cut others.
func (b *builder) unscannable(a *Action, others []harm) error {
	why := fmt.Sprintf("the marker of a clean shutdown would have to go for it, and a start without the marker cuts %s: have that mended first, or set aside", saidOf(others))
	for i := range b.opt.Rescan {
		if t := &b.opt.Rescan[i]; fmt.Sprintf("%s-%d", t.Topic, t.Partition) == a.Partition {
			return &Uncut{t.Typed, why}
		}
	}
	return &Uncut{"--rescan " + a.Partition, why}
}
