package apply

import (
	"path"
	"slices"
	"strings"

	"kafsck/checkpoint"
	"kafsck/logdir"
	"kafsck/repair"
)

// quickLook ends a run at the first file below a written root that the plan does not list, before
// anything else walks there: a root can be edited to a path as wide as "/".
func (x *run) quickLook(r *root) error {
	prefix := ""
	folders := map[string]bool{}
	for name := range r.inputs {
		if r.Partition {
			prefix, _, _ = strings.Cut(name, "/")
		}
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			folders[dir] = true
		}
	}
	// Folders of which the plan lists nothing may be there, empty; as many as fit a look.
	unlisted := 1000
	var walk func(dir string) error
	walk = func(dir string) error {
		entries, err := r.fsys.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			at := path.Join(dir, e.Name())
			name := path.Join(prefix, at)
			switch {
			case !e.IsDir():
				if r.inputs[name] == nil && e.Type().IsRegular() { // what is odd, listed tells
					return changed(r, name, "it is new")
				}
				continue
			case !folders[name]:
				if unlisted--; unlisted < 0 {
					return changed(r, name, "it is new, with more folders than a look is worth")
				}
			}
			if err := walk(at); err != nil {
				return err
			}
		}
		return nil
	}
	return walk(".")
}

// sameIdentity refuses a plan that changes what a directory belongs to: the topic id of a partition
// that has one, by which a cluster keeps or deletes it, the node and the cluster of a log directory. A file
// that is missing, or that Kafka cannot read, may be written. It also refuses to take a whole offset
// checkpoint away, or to put another in its place, where Kafka can read it: lines are edited one by one.
func (x *run) sameIdentity(r *root) error {
	if !r.written || r.New {
		return nil
	}
	after := map[string]*target{}
	for _, t := range x.l.files {
		if t.root == r {
			after[t.file] = t
		}
	}
	for name, in := range r.inputs {
		dir, file := path.Split(name)
		t := after[name]
		if t != nil && t.edit == nil {
			continue
		}
		if dir != "" && !slices.ContainsFunc(x.l.files, func(o *target) bool { return o.root == r && strings.HasPrefix(o.file, dir) }) {
			continue // all of it goes
		}
		if in.Size > maxIdentity {
			continue
		}
		switch {
		case dir != "" && file == "partition.metadata" && strings.Count(name, "/") == 1:
			old, err := x.small(r, in)
			if err != nil {
				return err
			}
			was := checkpoint.ParsePartitionMetadata(old)
			if was.Malformed != nil || t != nil && t.edit.Op == repair.Write && t.edit.Text != nil && checkpoint.ParsePartitionMetadata([]byte(*t.edit.Text)).TopicID == was.TopicID {
				continue
			}
			if t != nil && t.action.Confirm && slices.Contains(t.action.Findings, "topic-id-mismatch") && t.action.Kind == repair.WritePartitionMeta {
				continue // asked for, of a directory that its siblings contradict; the check of the result holds it against them
			}
			return nonsense("it changes the topic id of %s, %s, by which a cluster keeps the directory or deletes it", path.Join(r.Name, dir), was.TopicID)
		case dir == "" && file == "meta.properties":
			old, err := x.small(r, in)
			if err != nil {
				return err
			}
			was := checkpoint.ParseMetaProperties(old)
			if was.Malformed != nil {
				continue
			}
			if t != nil && t.edit.Op == repair.Write && t.edit.Text != nil {
				now := checkpoint.ParseMetaProperties([]byte(*t.edit.Text))
				if now.Malformed == nil && now.Version == was.Version && now.NodeID == was.NodeID && now.HasNodeID == was.HasNodeID && now.ClusterID == was.ClusterID && now.DirectoryID == was.DirectoryID {
					continue
				}
			}
			return nonsense("it changes meta.properties of %s, which Kafka can read: node, cluster and directory are for its owner to say", r.Name)
		case dir == "" && slices.Contains(offsetFiles, file):
			old, err := x.small(r, in)
			if err != nil {
				return err
			}
			if checkpoint.ParseOffsets(old).Malformed == nil && (t == nil || len(t.lines) == 0 && (t.edit.Op != repair.Write || t.edit.Text == nil)) {
				return nonsense("it takes %s of %s away as a whole, which Kafka can read: its lines speak of every partition of the directory", file, r.Name)
			}
		}
	}
	return nil
}

// verifyWatermarks fails where a high watermark of the result is lower than that of the input and than
// the end that the plan promises.
func (x *run) verifyWatermarks(r *root) error {
	i := slices.IndexFunc(x.l.files, func(t *target) bool { return t.root == r && t.file == watermarkFile })
	in := r.inputs[watermarkFile]
	if in == nil || i < 0 || x.l.files[i].edit == nil {
		return nil
	}
	b, err := x.small(r, in)
	if err != nil {
		return err
	}
	old, t := checkpoint.ParseOffsets(b), x.l.files[i]
	if old.Malformed != nil || len(t.lines) == 0 && t.edit.Text == nil {
		return nil
	}
	for _, g := range x.l.logs(r) {
		d, err := logdir.ParseDirName(g.dir)
		was, ok := old.Lookup(d.Topic, d.Partition)
		if err != nil || !ok || len(g.out) == 0 {
			continue
		}
		now := int64(0)
		if len(t.lines) == 0 {
			now, _ = checkpoint.ParseOffsets([]byte(*t.edit.Text)).Lookup(d.Topic, d.Partition)
		} else {
			i := slices.IndexFunc(t.lines, func(l repair.OffsetLine) bool { return l.Topic == d.Topic && l.Partition == d.Partition })
			switch {
			case i < 0:
				continue
			case t.lines[i].Offset != nil:
				now = *t.lines[i].Offset
			}
		}
		least := was
		if i := slices.IndexFunc(x.l.plan.Promises, func(p repair.Promise) bool { return p.Root == r.index && p.Dir == g.dir }); i >= 0 {
			least = min(was, x.l.plan.Promises[i].LogEndOffset)
		}
		if now < least {
			return x.fail(path.Join(r.Name, g.dir), "the plan lowers its high watermark from %d to %d, and promises a log up to %d", was, now, least)
		}
	}
	return nil
}

// offsetFiles are the checkpoints with a line a partition.
var offsetFiles = []string{watermarkFile, "recovery-point-offset-checkpoint", logStartFile, "cleaner-offset-checkpoint"}

const watermarkFile = "replication-offset-checkpoint"

// maxIdentity bounds the files that are looked at, in bytes.
const maxIdentity = 16 << 20

func (x *run) small(r *root, in *repair.PlanInput) ([]byte, error) {
	f, err := r.fsys.Open(r.inside(in.File))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, in.Size)
	return b, readFull(f, b, 0)
}
