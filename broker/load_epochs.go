package broker

import (
	"errors"
	"slices"
	"strings"

	"kafsck/checkpoint"
	"kafsck/epoch"
	"kafsck/internal/rofs"
	"kafsck/logdir"
)

const (
	epochsName = "leader-epoch-checkpoint"
	topicName  = "partition.metadata"
)

// epochCache is a LeaderEpochFileCache and its file.
//
//	assign                    written at once
//	clearAndFlush             written at once
//	truncateFromEnd, -Start   since 3.8 written later, by a task, if anything was dropped
type epochCache struct {
	l     *loader
	cache epoch.Cache
	dirty bool // a task is to write the file
	// written is the file once it was rewritten; its size is told by size.
	written *modelFile
}

// loadEpochs is UnifiedLog.createLeaderEpochCache: it makes the file if there is none, and never
// takes one that it cannot read for an empty one.
func (l *loader) loadEpochs() error {
	l.epochs = &epochCache{l: l}
	p := l.p
	if l.dir.others[epochsName] {
		return l.checkpointFailure(throw(ioException, "IOException", epochsName, "is not a regular file"))
	}
	if _, _, err := l.dir.open(epochsName); err != nil {
		return err
	}
	f := p.EpochsFile
	if f == nil {
		return nil
	}
	if p.Epochs == nil {
		if errors.Is(f.Err, rofs.ErrNotRegular) {
			return l.checkpointFailure(throw(ioException, "IOException", epochsName, "is not a regular file"))
		}
		return f.Err
	}
	if m := p.Epochs.Malformed; m != nil {
		if m.Unchecked && !l.in.Version.Before(3, 1) {
			return throw(unchecked, "NumberFormatException or IllegalArgumentException", epochsName, "line %d: %s", m.Line, m.Reason)
		}
		return l.checkpointFailure(throw(ioException, "IOException", epochsName, "line %d: %s", m.Line, m.Reason))
	}
	l.epochs.cache = epoch.Load(p.Epochs.Entries)
	return nil
}

// checkpointFailure is what becomes of a checkpoint that cannot be read: the log directory goes
// offline since 3.2.1, before that the broker stops (KAFKA-13949).
func (l *loader) checkpointFailure(err error) error {
	if l.in.Version.Before(3, 2) {
		err.(*thrown).kind = unchecked
	}
	return err
}

// recovered is what LogSegment.recover does with the epoch of a batch: only a higher one counts.
func (c *epochCache) recovered(e int32, base int64) error {
	if e < 0 || len(c.cache) > 0 && e <= c.cache.Latest() {
		return nil
	}
	if base < 0 {
		return throw(unchecked, "IllegalArgumentException", epochsName, "epoch %d would begin at offset %d", e, base)
	}
	for n := len(c.cache); n > 0 && c.cache[n-1].StartOffset >= base; n = len(c.cache) {
		c.cache = c.cache[:n-1]
	}
	c.cache = append(c.cache, epoch.Entry{Epoch: e, StartOffset: base})
	return c.write()
}

func (c *epochCache) truncateFromEnd(end int64) {
	if cut := c.cache.TruncateFromEnd(end); len(cut) < len(c.cache) {
		c.cache, c.dirty = cut, true
	}
}

// truncateFromStart also writes the file where it only puts an entry back as it was.
func (c *epochCache) truncateFromStart(start int64) {
	if len(c.cache) > 0 && c.cache[0].StartOffset <= start {
		c.cache, c.dirty = c.cache.TruncateFromStart(start), true
	}
}

func (c *epochCache) clear() error {
	c.cache = nil
	return c.write()
}

// write is LeaderEpochFileCache.writeToFile: a temporary file, renamed over the old one.
func (c *epochCache) write() error {
	d := c.l.dir
	if d.others[epochsName+".tmp"] {
		return throw(storageException, "KafkaStorageException", epochsName+".tmp", "is not a regular file")
	}
	if t := d.files[epochsName+".tmp"]; t != nil {
		delete(d.files, t.name)
		c.l.act(Action{Action: ActDelete, File: t.name, Bytes: t.size, Why: "the new " + epochsName + " is written under this name first."})
	}
	f := d.files[epochsName]
	if f == nil {
		f = &modelFile{name: epochsName}
		d.files[epochsName] = f
	}
	f.src, f.held = nil, 0
	c.written = f
	c.l.out.EpochFileRewritten = true
	return nil
}

// flush runs the task that truncations left behind, and reports whether the file was written at all. A temporary file that is in the way is only
// warned of (writeIfDirExists).
func (c *epochCache) flush() (rewritten bool) {
	if c.dirty {
		_ = c.write()
	}
	c.dirty = false
	if c.written != nil {
		c.written.size = int64(len(checkpoint.FormatEpochs(c.cache)))
	}
	return c.written != nil
}

// changes is what a rewritten file has less and more than the one before.
func (c *epochCache) changes(p *logdir.Partition) string {
	var before []epoch.Entry
	if p.Epochs != nil {
		before = p.Epochs.Entries
	}
	gone, more := missing(before, c.cache), missing(c.cache, before)
	switch {
	case gone != "" && more != "":
		return "it loses " + gone + " and gets " + more + "."
	case gone != "":
		return "it loses " + gone + "."
	case more != "":
		return "it gets " + more + "."
	}
	return "with the same entries: Kafka writes it anew whenever its first entry does not start above the log start."
}

// missing names up to three entries of a that are not in b.
func missing(a, b []epoch.Entry) string {
	var names []string
	n := 0
	for _, e := range a {
		if slices.Contains(b, e) {
			continue
		}
		if n++; n <= 3 {
			names = append(names, "epoch "+itoa(int64(e.Epoch))+" at "+itoa(e.StartOffset))
		}
	}
	text := strings.Join(names, ", ")
	if n > 3 {
		text += " and " + itoa(int64(n-3)) + " more"
	}
	return text
}

// topicID is UnifiedLog.initializeTopicId, the last thing that a load does. It reports whether the
// directory has a topic id.
func (l *loader) topicID() (bool, error) {
	f := l.p.MetaFile
	if l.dir.others[topicName] {
		return true, throw(ioException, "IOException", topicName, "is not a regular file")
	}
	if f == nil || l.dir.files[topicName] == nil || l.in.Version.Before(2, 8) {
		return false, nil
	}
	m := l.p.Meta
	if m == nil {
		if errors.Is(f.Err, rofs.ErrNotRegular) {
			return true, throw(ioException, "IOException", topicName, "is not a regular file")
		}
		return true, f.Err
	}
	if bad := m.Malformed; bad != nil {
		if bad.Unchecked {
			return true, throw(unchecked, "NullPointerException or IllegalArgumentException", topicName, "line %d: %s", bad.Line, bad.Reason)
		}
		return true, throw(ioException, "IOException", topicName, "line %d: %s", bad.Line, bad.Reason)
	}
	return true, nil
}
