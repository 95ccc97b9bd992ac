package broker

import (
	"math"
	"slices"
	"strings"
)

// recoverSegment is LogLoader.recoverSegment. The state of the producers up to the segment comes from
// a manager of its own, which removes every snapshot that is not below the segment's base.
func (l *loader) recoverSegment(s *modelSegment) (cut int64, err error) {
	ps, err := l.newProducerState()
	if err != nil {
		return 0, err
	}
	if err := l.rebuildProducers(ps, l.in.LogStart, s.base, false); err != nil {
		return 0, err
	}
	l.act(Action{Action: ActRecover, File: s.log.name, Why: "size and CRC of every batch are checked, and the indexes built anew."})
	if cut, err = l.recoverBatches(s, ps); err != nil {
		return 0, err
	}
	return cut, ps.take()
}

// recoverLog is pass 5 and 6.
func (l *loader) recoverLog() (end, recoveryPoint int64, err error) {
	if !l.in.Clean {
		if err := l.recoverUnflushed(); err != nil {
			return 0, 0, err
		}
	}
	kept := false
	if n := len(l.segments); n > 0 {
		if end, err = l.readNextOffset(l.segments[n-1]); err != nil {
			return 0, 0, err
		}
		if kept = end >= l.in.LogStart; !kept {
			why := "the log ends at offset " + itoa(end) + ", below the log start " + itoa(l.in.LogStart) + " that log-start-offset-checkpoint says."
			all := l.segments
			l.segments = nil
			for _, s := range all {
				if err := l.deleteSegment(s, why); err != nil {
					return 0, 0, err
				}
			}
			if err := l.epochs.clear(); err != nil {
				return 0, 0, err
			}
			l.producers.clear(l.in.LogStart, "every segment is deleted.")
		}
	}
	if len(l.segments) == 0 {
		s, err := l.openSegment(l.in.LogStart, "")
		if err != nil {
			return 0, 0, err
		}
		l.put(s)
	}
	if kept && l.in.Clean {
		return end, end, nil
	}
	if !kept {
		if end, err = l.readNextOffset(l.segments[len(l.segments)-1]); err != nil {
			return 0, 0, err
		}
	}
	return end, min(l.in.RecoveryPoint, end), nil
}

// recoverUnflushed recovers the segments from the one that holds the recovery point on. What follows
// the first that loses bytes is deleted.
func (l *loader) recoverUnflushed() error {
	l.epochsInRecovery = true
	if l.in.RecoveryPoint == math.MaxInt64 {
		return nil // LogSegments.values of an empty range
	}
	unflushed := slices.Clone(l.from(l.in.RecoveryPoint, math.MaxInt64))
	for i, s := range unflushed {
		cut, err := l.recoverSegment(s)
		if throws(err, invalidOffset, ioException) {
			cut, err = l.truncateTo(s, s.base, &thrown{what: "Kafka gives the segment up (" + err.Error() + ") and empties it"})
		}
		if err != nil {
			return err
		}
		if cut == 0 {
			continue
		}
		if _, err := l.readNextOffset(s); err != nil { // for a line of its log
			return err
		}
		rest := unflushed[i+1:]
		why := s.log.name + " was cut, so that nothing behind it is kept."
		for _, r := range rest {
			l.segments = slices.DeleteFunc(l.segments, func(x *modelSegment) bool { return x == r })
		}
		for _, r := range rest {
			if err := l.deleteSegment(r, why); err != nil {
				return err
			}
		}
		for _, r := range rest {
			if err := l.producers.markDeleted(r.base); err != nil {
				return err
			}
		}
		return nil
	}
	return nil
}

// deleteSegment is LocalLog.deleteSegmentFiles: its files are renamed to .deleted, and removed by a
// task after file.delete.delay.ms.
func (l *loader) deleteSegment(s *modelSegment, why string) error {
	from, to := l.offsetsBehind(s.log, 0)
	return l.setAside(s, from, to, s.log.size, why)
}

// setAside renames the files of a segment to .deleted. With it the offsets [from, to) go away, in so
// many bytes of its .log. Indexes that the load itself made first, for a segment that had none, are
// not told.
func (l *loader) setAside(s *modelSegment, from, to, size int64, why string) error {
	for _, ext := range []string{".log", ".index", ".timeindex", ".txnindex"} {
		name := s.name(ext)
		f := l.dir.files[name]
		if f == nil {
			if l.dir.others[name] {
				return throw(ioException, "FileSystemException", name, "is not a regular file")
			}
			continue
		}
		a := Action{Action: ActMarkDeleted, File: name, To: name + ".deleted", Bytes: f.size, Why: why}
		if ext == ".log" {
			a.From, a.ToOffset, a.Bytes = from, to, size
		}
		if err := l.dir.rename(f, a.To); err != nil {
			return err
		}
		if ext == ".log" || !f.made {
			l.act(a)
		}
	}
	return nil
}

// remove deletes a file at once.
func (l *loader) remove(name, why string) {
	f := l.dir.files[name]
	if f == nil {
		return
	}
	a := Action{Action: ActDelete, File: name, Bytes: f.size, Why: why}
	switch kind := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, ".deleted"), ".swap"), ".cleaned"); {
	case strings.HasSuffix(kind, ".log"):
		a.From, a.ToOffset = l.offsetsBehind(f, 0)
	case strings.HasSuffix(kind, ".snapshot"):
		a.Action = ActDeleteSnapshot
	}
	delete(l.dir.files, name)
	l.act(a)
}
