package repair

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"kafsck/diff"
	"kafsck/finding"
	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/replica"
)

// partitionMeta writes partition.metadata with the topic id that the other replicas or the metadata
// know.
func (w *work) partitionMeta() error {
	list := w.of(w.dir, "partition-metadata-missing", "partition-metadata-malformed")
	if len(list) == 0 || w.p.TopicID == "" {
		return nil
	}
	var from []string
	for _, o := range w.p.Copies {
		if q := partitionOf(o); q != nil && q != w.dir && q.HasTopicID && q.TopicID.String() == w.p.TopicID {
			from = append(from, "broker "+o.Broker.Name)
		}
	}
	if len(w.p.Changes) > 0 {
		from = append(from, "the cluster metadata")
	}
	slices.Sort(from)
	if from = slices.Compact(from); len(from) == 0 {
		return nil
	}
	text := "version: 0\ntopic_id: " + w.p.TopicID
	undo := "the old file is in lost+found"
	if w.dir.MetaFile == nil {
		undo = "remove the file: there was none"
	}
	w.add(w.t, w.dir, Action{Kind: WritePartitionMeta, Does: "partition.metadata with topic id " + w.p.TopicID, Why: firstSummary(list) + "; " + join(from) + " know the topic under this id", Undo: undo,
		Edits: []Edit{{Op: Write, File: file(w.dir, "partition.metadata"), Text: &text}}}, list)
	return nil
}

// topicIDs gives a directory the topic id of its siblings, where most of them have another one and
// every record that both hold is the same. The id is what its cluster deletes it by, so this waits
// for a word.
func (b *builder) topicIDs(t *target) error {
	for _, x := range b.at(t, "topic-id-mismatch") {
		own := x.dir
		if own == nil || own.State != logdir.Live || !own.HasTopicID || own.MetaFile == nil || own.MetaFile.Path != x.At.File || x.Severity < finding.Damage {
			continue
		}
		count := map[string]int{}
		var like []*logdir.Partition
		for p := range b.inc.Case.AllPartitions() {
			if p.State != logdir.Live || p.Name() != own.Name() || !p.HasTopicID {
				continue
			}
			if count[p.TopicID.String()]++; p.TopicID != own.TopicID {
				like = append(like, p)
			}
		}
		if len(count) != 2 || len(like) <= count[own.TopicID.String()] {
			continue
		}
		same := true
		for _, p := range like {
			one, err := incident.OneTopic(own, p)
			if err != nil {
				return fmt.Errorf("%s: %w", own.Dir, err)
			}
			same = same && one
		}
		if !same {
			continue
		}
		id := like[0].TopicID.String()
		text := "version: 0\ntopic_id: " + id
		b.add(t, own, Action{Kind: WritePartitionMeta, Confirm: true, Does: "partition.metadata with topic id " + id + ", in place of " + own.TopicID.String(),
			Why:  firstSummary([]*found{x}) + fmt.Sprintf("; every record that this one and the %s of the other id hold is the same, epochs included. Only the cluster knows its topic's id (kafka-topics.sh --describe): with a wrong one it sets the directory aside as -stray", plural(len(like), "directory", "directories")),
			Undo: "the old file is in lost+found", Edits: []Edit{{Op: Write, File: file(own, "partition.metadata"), Text: &text}}}, []*found{x})
	}
	return nil
}

func partitionOf(c *incident.Copy) *logdir.Partition {
	if c.Log == nil {
		return nil
	}
	return c.Log.Partition
}

// metaProperties writes meta.properties from another disk of the same broker. The directory.id must
// be unique, so it is left out: a broker gives itself a new one.
func (b *builder) metaProperties(t *target) {
	list := b.at(t, "meta-properties-missing", "meta-properties-malformed")
	if len(list) == 0 {
		return
	}
	var from *logdir.LogDir
	for _, br := range b.inc.Case.Brokers {
		for _, d := range br.Dirs {
			if d == t.dir || d.Meta == nil || d.Meta.Malformed != nil || !d.Meta.HasNodeID || d.Meta.ClusterID == "" || !sameBroker(d, t.dir) {
				continue
			}
			if from != nil && (from.Meta.NodeID != d.Meta.NodeID || from.Meta.ClusterID != d.Meta.ClusterID || from.Meta.Version != d.Meta.Version) {
				return
			}
			from = d
		}
	}
	if from == nil {
		return
	}
	m := from.Meta
	id := "node.id"
	if m.Version == 0 {
		id = "broker.id"
	}
	text := fmt.Sprintf("#\n%s=%d\nversion=%d\ncluster.id=%s\n", id, m.NodeID, m.Version, m.ClusterID)
	undo := "the old file is in lost+found"
	if t.dir.MetaFile == nil {
		undo = "remove the file: there was none"
	}
	b.add(t, nil, Action{Kind: WriteMetaProperties, Does: fmt.Sprintf("meta.properties with node %d and cluster %s, without a directory.id", m.NodeID, m.ClusterID),
		Why: firstSummary(list) + fmt.Sprintf("; %s is another disk of this broker. The broker gives the directory a new directory.id, and the controller then takes its replicas for moved there", from.Path), Undo: undo,
		Confirm: true, Edits: []Edit{{Op: Write, File: "meta.properties", Text: &text}}}, list)
}

// sameBroker reports whether two log directories are disks of one broker: found so, or disks in one
// folder.
func sameBroker(a, b *logdir.LogDir) bool {
	if a.Broker == b.Broker {
		return true
	}
	fa, na, oka := a.Disk()
	fb, nb, okb := b.Disk()
	return oka && okb && na == nb && fa == fb
}

// foreign moves directories aside that stop a broker: foreign ones, and the lesser of two directories
// of one partition.
func (b *builder) foreign(t *target) {
	for _, x := range b.at(t, "foreign-directory") {
		var edits []Edit
		for _, f := range t.dir.Unknown {
			if f.Mode.IsDir() && (f.Path == x.At.File || x.Count > 1 && f.Kind != logdir.KindRemoteIndexCache) && f.Kind == logdir.KindOther {
				edits = append(edits, Edit{Op: Remove, File: f.Name})
			}
		}
		if len(edits) == 0 {
			continue
		}
		b.add(t, nil, Action{Kind: MoveAside, Does: join(quotedFiles(edits)) + " with all below goes out of the log directory", Why: firstSummary([]*found{x}) + "; a broker refuses to start with it",
			Undo: "everything below it is in lost+found", Edits: edits}, []*found{x})
	}
	for _, x := range b.at(t, "leftover-directory") {
		if x.Severity >= finding.Loss || x.dir == nil || x.dir.State == logdir.Live {
			continue
		}
		b.add(t, x.dir, Action{Kind: MoveAside, Confirm: true, Does: base(x.dir) + " goes out of the log directory", Why: firstSummary([]*found{x}) + "; nothing here tells that nobody wants it, so this is a choice",
			Undo: "everything below it is in lost+found", Edits: []Edit{{Op: Remove, File: base(x.dir)}}}, []*found{x})
	}
	for _, x := range b.at(t, "duplicate-partition-dirs") {
		switch {
		case x.Severity > finding.Note:
			b.duplicate(x)
		case x.dir != nil && x.dir.State == logdir.Future:
			b.add(t, x.dir, Action{Kind: MoveAside, Confirm: true, Does: base(x.dir) + " goes out of the log directory: the move to this disk ends",
				Why:  firstSummary([]*found{x}) + "; the broker goes on with the move by itself, so this is a choice, and the live directory has what it has been copied from",
				Undo: "everything below it is in lost+found", Edits: []Edit{{Op: Remove, File: base(x.dir)}}}, []*found{x})
		}
	}
}

func quotedFiles(edits []Edit) []string {
	var out []string
	for _, e := range edits {
		out = append(out, path.Base(e.File))
	}
	return out
}

// duplicate names the lesser one of two live directories of a partition on one broker: the one whose
// newest epoch is older, then the shorter one.
func (b *builder) duplicate(x *found) {
	var all []*dirFacts
	owner := map[*dirFacts]*target{}
	for _, t := range b.roots {
		for _, f := range t.facts {
			if t.dir.Broker == x.target.dir.Broker && f.dir.Name() == x.At.Partition && f.dir.State == logdir.Live {
				all = append(all, f)
				owner[f] = t
			}
		}
	}
	if len(all) != 2 {
		return
	}
	worse, better := all[0], all[1]
	if worse.epoch > better.epoch || worse.epoch == better.epoch && worse.end > better.end {
		worse, better = better, worse
	}
	if worse.epoch == better.epoch && worse.end == better.end {
		worse, better = all[1], all[0]
	}
	t := owner[worse]
	if slices.ContainsFunc(b.plan.Actions, func(a Action) bool { return a.Root == t.index && a.Dir == base(worse.dir) }) {
		return // it is mended: which one goes is to be seen then
	}
	tell := func(f *dirFacts) string {
		return fmt.Sprintf("%s ends at offset %d in epoch %d", owner[f].root.Name+"/"+base(f.dir), f.end, f.epoch)
	}
	for _, seg := range better.dir.Segments { // apply looks that what goes and is no loss is there
		if seg.Log != nil && seg.Log.Suffix == logdir.NoSuffix {
			owner[better].lent[file(better.dir, seg.Log.Name)] = true
		}
	}
	b.add(t, worse.dir, Action{Kind: MoveAside, Confirm: true, Does: fmt.Sprintf("%s goes out of %s, the other one stays", base(worse.dir), t.root.Name),
		Why:   firstSummary([]*found{x}) + fmt.Sprintf("; %s, %s. The newer epoch is the one that a leader wrote last; kafsck diff shows what only the other one holds: export that first", tell(better), tell(worse)),
		Loses: worse.gone(), Undo: "everything below it is in lost+found", Edits: []Edit{{Op: Remove, File: base(worse.dir)}}}, []*found{x})
}

// alone splits what a second live directory of a broker has into what the one that stays has, too, and
// what that lacks, and says which other brokers have all of that.
func (w *work) alone(f *dirFacts) error {
	at := slices.IndexFunc(w.p.Copies, func(c *incident.Copy) bool {
		return c.State == replica.Live && !c.Extra && c.Broker == w.copy.Broker && c.Err == nil && c.Log != nil
	})
	if !w.copy.Extra || at < 0 || !w.copy.Broker.Known {
		return nil
	}
	stays := w.p.Copies[at]
	gone, err := diff.Missing(stays.Content(), w.copy.Content(), 0, w.p.Ruling.Policy == "compact")
	if err != nil {
		return err
	}
	for _, g := range gone {
		l := PlanLoss{From: g.From, To: g.To, HeldBy: []int32{}, Note: "what the directory that stays lacks"}
		for _, o := range w.p.Live() {
			if o == stays || o.Err != nil || o.Log == nil || !o.Broker.Known {
				continue
			}
			spans, err := diff.Held(w.copy.Content(), o.Content(), []replica.Span{{From: g.From, To: g.To}})
			if err != nil {
				return err
			}
			if len(spans) == 1 && spans[0].From <= g.From && spans[0].To >= g.To {
				l.HeldBy = append(l.HeldBy, o.Broker.ID)
			}
		}
		if n := len(f.alone); n > 0 && f.alone[n-1].To == l.From && slices.Equal(f.alone[n-1].HeldBy, l.HeldBy) {
			f.alone[n-1].To = l.To
			continue
		}
		f.alone = append(f.alone, l)
	}
	// What stays in the other directory goes out of this one all the same.
	var all []PlanLoss
	next := f.first
	held := func(to int64) {
		if next < to {
			all = append(all, PlanLoss{From: next, To: to, HeldBy: []int32{w.copy.Broker.ID}, Note: "the directory that stays has the same"})
		}
	}
	for _, l := range f.alone {
		held(l.From)
		all = append(all, l)
		next = max(next, l.To)
	}
	held(f.end)
	f.alone, f.compared = all, true
	return nil
}

// gone are the offsets that go with a directory as a whole.
func (f *dirFacts) gone() []PlanLoss {
	if f.compared {
		return f.alone
	}
	if f.first >= f.end {
		return nil
	}
	return []PlanLoss{{From: f.first, To: f.end, HeldBy: []int32{}, Note: "this directory as a whole; what the other one holds as well is not lost"}}
}

// remoteCache takes files out of remote-log-index-cache that are no index: a broker fetches them again.
func (b *builder) remoteCache(t *target) {
	list := b.at(t, "remote-index-cache-corrupt")
	var edits []Edit
	for _, x := range list {
		at := strings.Index(x.At.File, "remote-log-index-cache/")
		if at < 0 {
			continue
		}
		edits = append(edits, Edit{Op: Remove, File: x.At.File[at:]})
	}
	if len(edits) > 0 {
		b.add(t, nil, Action{Kind: RemoveFile, Does: plural(len(edits), "cached index", "cached indexes") + " of a remote segment: " + names(edits), Why: firstSummary(list) + "; it is a copy, and the broker fetches it again",
			Undo: "the files are in lost+found", Edits: edits}, list)
	}
}

// leftovers takes unfinished writes out.
func (w *work) leftovers() error {
	list := w.of(w.dir, "tmp-file-leftover")
	var edits []Edit
	if len(list) > 0 {
		for _, f := range w.dir.Unknown {
			if f.Kind == logdir.KindTemporary && !f.Mode.IsDir() && f.Err == nil {
				edits = append(edits, Edit{Op: Remove, File: file(w.dir, f.Name)})
			}
		}
	}
	if len(edits) > 0 {
		w.add(w.t, w.dir, Action{Kind: RemoveFile, Does: plural(len(edits), "unfinished write", "unfinished writes") + ": " + names(edits), Why: firstSummary(list) + "; nobody reads it",
			Undo: "the files are in lost+found", Edits: edits}, list)
	}
	return nil
}
