package repair

import (
	"fmt"
	"slices"

	"kafsck/broker"
	"kafsck/logdir"
)

// NeedRelease says that the inputs do not tell which release of Kafka is to start on the result,
// and that it matters.
type NeedRelease struct{ Why string }

func (n *NeedRelease) Error() string {
	return n.Why + ": say with --kafka which release is to start on the result"
}

// release settles whose start is promised: the release that somebody named, else that of which the
// directories or the metadata speak, as predict start does.
func (b *builder) release() error {
	defer b.doubtRelease()
	if b.opt.KafkaNamed {
		return nil
	}
	asked := b.opt.Kafka
	var first *broker.Version
	for _, cl := range b.inc.Clusters {
		v, hint := cl.ReleaseFor(asked, false)
		if first != nil && *first != v {
			return &NeedRelease{fmt.Sprintf("the inputs are of clusters of different releases, %s and %s", first, v)}
		}
		first = &v
		if b.opt.Kafka = v; hint != nil {
			b.plan.KafkaWhy = hint.Why
		}
	}
	b.plan.Kafka = b.opt.Kafka.String()
	return nil
}

// doubtRelease says why the directories cannot be those of the release that is promised.
func (b *builder) doubtRelease() {
	for _, cl := range b.inc.Clusters {
		for _, why := range cl.Contradicts(b.opt.Kafka) {
			if !slices.Contains(b.plan.KafkaDoubts, why) {
				b.plan.KafkaDoubts = append(b.plan.KafkaDoubts, why)
			}
		}
	}
}

// strays asks for the release where all directories of a mended root are older than topic ids, or
// look so: the start that would be promised makes every one of them -stray (LogManager.isStrayReplica,
// since 3.8).
func (b *builder) strays() error {
	if b.opt.KafkaNamed || b.opt.Kafka.Before(3, 8) || b.plan.KafkaWhy != "" {
		return nil
	}
	for _, p := range b.plan.Promises {
		t := b.roots[p.Root]
		parts := t.dir.Partitions
		if t.only != nil {
			parts = []*logdir.Partition{t.only}
		}
		old := true
		for _, d := range parts {
			old = old && d.MetaFile == nil && b.writer(t, file(d, "partition.metadata")) == nil
		}
		if old {
			return &NeedRelease{fmt.Sprintf("%s has no partition.metadata, which every release from 2.8 on writes, and a start of %s would rename it to -stray", shownAs(t, p.Dir), b.opt.Kafka)}
		}
	}
	return nil
}

// shownAs is how a partition directory of a root is told.
func shownAs(t *target, dir string) string {
	if t.only != nil {
		return t.only.Dir
	}
	return t.dir.Path + "/" + dir
}

// writer is the action that makes a file of a root, nil none.
func (b *builder) writer(t *target, name string) *Action {
	for i := range b.plan.Actions {
		a := &b.plan.Actions[i]
		if a.Root != t.index {
			continue
		}
		for _, e := range a.Edits {
			if e.Op == Write && e.File == name {
				return a
			}
		}
	}
	return nil
}
