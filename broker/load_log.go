package broker

import (
	"context"
	"math"
	"slices"
	"strings"

	"kafsck/batch"
	"kafsck/logdir"
)

// loader is a LogLoader at work on a model of one directory.
type loader struct {
	ctx context.Context
	in  LoadInput
	p   *logdir.Partition
	out *Loaded

	dir       *modelDir
	reader    fileReader
	steps     int             // of walks, to look at ctx now and then
	segments  []*modelSegment // by base offset
	epochs    *epochCache
	producers *producerState
	// epochsInRecovery: recovered batches count for the epochs. In pass 4 they do so since 3.0.
	epochsInRecovery bool

	codecs      *batch.Decompressor
	kept        []*builtOffsets
	keptEntries int
	states      []*modelFile
	// overflowed is the segment whose recovery threw the last overflow.
	overflowed *modelSegment
}

func (l *loader) act(a Action) { l.out.Actions = append(l.out.Actions, a) }

func (l *loader) decompressor() *batch.Decompressor {
	if l.codecs == nil {
		l.codecs = batch.NewDecompressor(0)
	}
	return l.codecs
}

// forgetStates keeps the memory of snapshots that the load wrote small: only the newest ones are
// ever read again.
func (l *loader) forgetStates(f *modelFile) {
	l.states = append(l.states, f)
	total := 0
	for i := len(l.states) - 1; i >= 0; i-- {
		if total += len(l.states[i].state); total > 2*maxProducers && i < len(l.states)-1 {
			l.states[i].state, l.states[i].isState = nil, false
		}
	}
}

// load is UnifiedLog.create: epochs, snapshots, LogLoader.load, and what the log then holds.
func (l *loader) load() error {
	if err := l.loadEpochs(); err != nil {
		return err
	}
	var err error
	if l.producers, err = l.newProducerState(); err != nil {
		return err
	}
	end, recoveryPoint, logStart, err := l.loadLog()
	if err != nil {
		return err
	}
	return l.settle(logStart, end, recoveryPoint)
}

// loadLog is LogLoader.load.
func (l *loader) loadLog() (end, recoveryPoint, logStart int64, err error) {
	fail := func(err error) (int64, int64, int64, error) { return 0, 0, 0, err }
	swaps, err := l.removeTemporary()
	if err != nil {
		return fail(err)
	}
	if err := l.swapIn(swaps); err != nil {
		return fail(err)
	}
	if err := l.splitting(func() error {
		l.closeSegments()
		return l.loadSegmentFiles()
	}); err != nil {
		return fail(err)
	}
	if l.p.State != logdir.Delete {
		if err := l.splitting(func() error {
			end, recoveryPoint, err = l.recoverLog()
			return err
		}); err != nil {
			return fail(err)
		}
		active := l.segments[len(l.segments)-1]
		if err := l.growIndexes(active); err != nil {
			return fail(err)
		}
	} else if len(l.segments) == 0 {
		s, err := l.openSegment(0, "")
		if err != nil {
			return fail(err)
		}
		l.put(s)
	}
	l.epochs.truncateFromEnd(end)
	logStart = max(l.in.LogStart, l.segments[0].base)
	if l.in.Tiered {
		logStart = l.in.LogStart
	}
	if l.in.Version.Before(3, 0) {
		l.epochs.truncateFromStart(logStart)
	} else {
		l.epochs.truncateFromStart(l.in.LogStart)
	}
	if len(l.producers.producers)+len(l.producers.completed) > 0 {
		return fail(throw(unchecked, "IllegalStateException", "", "producer state must be empty while a log is loaded"))
	}
	bases := make([]int64, len(l.segments))
	for i, s := range l.segments {
		bases[i] = s.base
	}
	if err := l.producers.removeStray(bases); err != nil {
		return fail(err)
	}
	return end, recoveryPoint, logStart, l.rebuildProducers(l.producers, logStart, end, l.in.Clean)
}

// growIndexes is resizeIndexes of the active segment.
func (l *loader) growIndexes(s *modelSegment) error {
	x, err := l.offsetIndex(s)
	if err != nil {
		return err
	}
	x.f.resize(maxIndexBytes)
	t, err := l.timeIndex(s)
	if err != nil {
		return err
	}
	t.f.resize(maxIndexBytes / timeEntrySize * timeEntrySize)
	return nil
}

// removeTemporary is pass 1, removeTempFilesAndCollectSwapFiles. With any .cleaned file left, those
// .swap files that are not below it come from a swap or split that was not complete.
func (l *loader) removeTemporary() (swaps []string, err error) {
	least := int64(math.MaxInt64)
	var cleaned []string
	for _, name := range l.dir.list() {
		switch {
		case strings.HasSuffix(name, ".deleted") && !strings.HasSuffix(name, ".checkpoint.deleted"):
			l.remove(name, "it was set aside by an earlier deletion, and a start removes such files at once.")
		case strings.HasSuffix(name, ".cleaned"):
			base, err := offsetFromFileName(name)
			if err != nil {
				return nil, err
			}
			least = min(least, base)
			cleaned = append(cleaned, name)
		case strings.HasSuffix(name, ".swap"):
			swaps = append(swaps, name)
		}
	}
	var valid []string
	for _, name := range swaps {
		base, err := offsetFromFileName(name)
		if err != nil {
			return nil, err
		}
		if base < least {
			valid = append(valid, name)
		}
	}
	for _, name := range swaps {
		if !slices.Contains(valid, name) {
			l.remove(name, "a .cleaned file at or below its offset shows that the cleaner, or a split, was interrupted before its output was complete.")
		}
	}
	for _, name := range cleaned {
		l.remove(name, "it is output of the cleaner, or of a split, that was interrupted.")
	}
	return valid, nil
}

// swapIn is passes 2 and 3: the .swap files are complete. All that lies in their range goes away, then
// they get their final names.
func (l *loader) swapIn(swaps []string) error {
	least, most := int64(math.MaxInt64), int64(math.MinInt64)
	for _, name := range swaps {
		if !strings.HasSuffix(name, ".log.swap") {
			continue
		}
		base, err := offsetFromFileName(name)
		if err != nil {
			return err
		}
		s, err := l.openSegment(base, ".swap")
		if err != nil {
			return err
		}
		end, err := l.readNextOffset(s)
		if err != nil {
			return err
		}
		least, most = min(least, base), max(most, end)
	}
	for _, name := range l.dir.list() {
		if strings.HasSuffix(name, ".swap") {
			continue
		}
		if base, err := offsetFromFileName(name); err == nil && base >= least && base < most {
			l.remove(name, "a complete swap replaces what begins in offsets "+itoa(least)+"–"+itoa(most-1)+".")
			if n := len(l.out.Actions); n > 0 {
				l.out.Actions[n-1].Replaced = true
			}
		}
	}
	for _, name := range l.dir.list() {
		final, ok := strings.CutSuffix(name, ".swap")
		if !ok {
			continue
		}
		f := l.dir.files[name]
		if old := l.dir.files[final]; old != nil && strings.HasSuffix(final, ".log") {
			from, to := l.offsetsBehind(old, 0)
			l.act(Action{Action: ActDelete, File: final, From: from, ToOffset: to, Bytes: old.size,
				Why: "the .swap file takes its name, though it ends before the last entry of its index: it was cut short."})
		}
		if l.dir.rename(f, final) == nil { // File.renameTo says nothing when it fails
			l.act(Action{Action: ActRename, File: name, To: final, Why: "it is complete output of the cleaner, or of a split."})
		}
	}
	return nil
}

// loadSegmentFiles is pass 4. Index files are looked at in the order of their names, so that a .index
// comes before its .log.
func (l *loader) loadSegmentFiles() error {
	for _, name := range l.dir.list() {
		switch {
		case strings.HasSuffix(name, ".index"), strings.HasSuffix(name, ".timeindex"), strings.HasSuffix(name, ".txnindex"):
			base, err := offsetFromFileName(name)
			if err != nil {
				return err
			}
			if !l.dir.exists(segmentName(base, ".log")) {
				l.remove(name, "there is no "+segmentName(base, ".log")+" to it.")
			}
		case strings.HasSuffix(name, ".log"):
			base, err := offsetFromFileName(name)
			if err != nil {
				return err
			}
			if err := l.loadSegment(base); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *loader) loadSegment(base int64) error {
	newTimeIndex := !l.dir.exists(segmentName(base, ".timeindex"))
	s, err := l.openSegment(base, "")
	if err != nil {
		return err
	}
	missing := !l.dir.exists(segmentName(base, ".index"))
	if err := l.sanityCheck(s, newTimeIndex); err != nil {
		if !missing && !throws(err, corruptIndex) {
			return err
		}
		if missing {
			l.act(Action{Action: ActRebuildIndex, File: s.name(".index"), Why: "it is missing, so that Kafka reads its whole segment, whatever the recovery point."})
		} else {
			l.act(Action{Action: ActRebuildTxnIndex, File: s.name(".txnindex"), Why: "Kafka refuses it, and reads its whole segment: " + err.(*thrown).what + "."})
		}
		l.epochsInRecovery = !l.in.Version.Before(3, 0)
		if _, err := l.recoverSegment(s); err != nil {
			return err
		}
	}
	l.put(s)
	return nil
}
