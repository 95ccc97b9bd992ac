package tui

import (
	"context"
	"sync"
	"time"

	"kafsck/batch"
	"kafsck/logdir"
	"kafsck/segment"
)

// foundSome is what a scan has found since the last time.
type foundSome struct {
	serial int
	hits   []hit
	over   bool
	done   bool
}

// foundLoaded is frames that were read again.
type foundLoaded struct {
	serial int
	frames []frame
}

// frameCount is what there is in a segment; records as the headers count them.
type frameCount struct {
	file                    *logdir.File
	batches, records, other int64
	faults                  int64
	first, last             int64 // smallest and largest timestamp, ms; -1 none
}

func (c frameCount) text() string {
	t := countOf(c.batches, "batch", "batches") + ", " + countOf(c.records, "record", "records")
	if c.other > 0 {
		t += ", " + countOf(c.other, "stretch", "stretches") + " that is no batch"
	}
	if c.faults > 0 {
		return t + ", " + countOf(c.faults, "fault", "faults")
	}
	return t + ", all CRCs verify"
}

// setFilter lists what passes the filter.
func (s *batchesScreen) setFilter(text string, ctl *control) (work, error) {
	if _, err := parseFilter(text, frameColumns, &frameRows{}); err != nil {
		return nil, err
	}
	return s.searched(text, s.found != nil && s.found.faults, ctl), nil
}

func (s *batchesScreen) filter() string {
	if s.found == nil {
		return ""
	}
	return s.found.text
}

// searched begins to list what passes a filter, or all again.
func (s *batchesScreen) searched(text string, faults bool, ctl *control) work {
	f, err := parseFilter(text, frameColumns, &frameRows{})
	if err != nil {
		return nil
	}
	if f.empty() && !faults {
		at := s.selected()
		if s.found == nil {
			return nil
		}
		s.leaveFound()
		if at != nil {
			return s.goTo(s.log, target{atPosition, at.pos}, ctl)
		}
		return nil
	}
	if s.found != nil {
		s.found.stop()
	}
	return s.search(text, faults)
}

func (s *batchesScreen) leaveFound() {
	s.found.stop()
	s.found = nil
	s.show()
	s.to(0)
}

var serials struct {
	sync.Mutex
	n int
}

// search is work that lists what passes a filter.
func (s *batchesScreen) search(text string, faults bool) work {
	f, _ := parseFilter(text, frameColumns, &frameRows{})
	stop := make(chan struct{})
	serials.Lock()
	serials.n++
	serial := serials.n
	serials.Unlock()
	s.found = &foundFrames{text: text, flt: f, faults: faults, serial: serial, near: map[int64]frame{}, stop: sync.OnceFunc(func() { close(stop) })}
	s.rows = &foundRows{s.found, s.log.gaps, s.log.file().Path, s.path()}
	s.order = nil
	clear(s.marks)
	s.cursor, s.table.first = 0, 0
	l := s.log
	return scanWork(l, stop, func() (func(*frame) bool, func() any) {
		var fresh []hit
		total := 0
		over := false
		one := &frameRows{list: make([]frame, 1), gaps: l.gaps, file: l.file().Path}
		take := func(fr *frame) bool {
			lv := fr.level(l.gaps)
			if faults && !lv.fault() {
				return true
			}
			if !f.empty() {
				one.list[0] = *fr
				if !f.matches(one, 0, frameColumns) {
					return true
				}
			}
			if total >= maxHits {
				over = true
				return false
			}
			total++
			fresh = append(fresh, hit{fr.pos, fr.expected, fr.odd, lv})
			return true
		}
		return take, func() any {
			v := &foundSome{serial: serial, hits: fresh, over: over}
			fresh = nil
			return v
		}
	}, faults && f.empty(), func(v any) any {
		last := v.(*foundSome)
		last.done = true
		return last
	})
}

// scanWork goes through a whole segment in the background. begin gives what takes the
// frames and what makes an answer of what came since the last one; final makes the last.
// soundToo false: sound batches are passed over where nothing odd can be about them.
func scanWork(l *logFiles, stop chan struct{}, begin func() (take func(*frame) bool, answer func() any), onlyFaults bool, final func(any) any) work {
	file := l.file()
	return stream(func(outer context.Context, emit func(any) bool) any {
		ctx, cancel := context.WithCancel(outer)
		defer cancel()
		go func() {
			select {
			case <-stop:
				cancel()
			case <-ctx.Done():
			}
		}()
		add := progress(outer, "scanning", max(file.Size, 1), true)
		f, err := openWatched(ctx, file, add)
		if err != nil {
			return err
		}
		defer f.close()
		take, answer := begin()
		last := time.Now()
		w := newWalk(f)
		var skip func([]segment.SoundBatch) bool
		if onlyFaults {
			skip = func(run []segment.SoundBatch) bool { return w.plain(run) }
		}
		n := 0
		err = w.run(0, true, skip, func(fr *frame, _ *segment.Frame) bool {
			more := take(fr)
			if n++; n%64 == 0 || !fr.hasOffsets() {
				if now := time.Now(); now.Sub(last) > 60*time.Millisecond {
					last = now
					if !emit(answer()) {
						return false
					}
				}
			}
			return more
		})
		if err != nil {
			if outer.Err() == nil && ctx.Err() != nil {
				return nil // nobody waits for it any more
			}
			if v := answer(); v != nil && !emit(v) {
				return nil
			}
			return err
		}
		return final(answer())
	})
}

// plain reports that nothing is odd about any batch of a run, beside the one before it.
func (w *walk) plain(run []segment.SoundBatch) bool {
	next, epoch := w.next, w.epoch
	for i := range run {
		h := &run[i].Header
		if next >= 0 && h.BaseOffset != next || h.PartitionLeaderEpoch < epoch || h.LastOffsetDelta < 0 {
			return false
		}
		next, epoch = h.NextOffset(), h.PartitionLeaderEpoch
	}
	return true
}

// countWork counts all frames of a segment; it delivers a frameCount.
func countWork(l *logFiles, stop chan struct{}) work {
	c := frameCount{file: l.file(), first: -1, last: -1}
	return scanWork(l, stop, func() (func(*frame) bool, func() any) {
		take := func(fr *frame) bool {
			if fr.hasOffsets() {
				c.batches++
				if fr.isMessage() {
					c.records++
				} else {
					c.records += int64(max(fr.head.RecordCount, 0))
				}
				if ms := fr.maxTimestamp(); ms >= 0 {
					if c.first < 0 {
						c.first = ms
						if h := &fr.head; !fr.isMessage() && h.Attributes.TimestampType() == batch.CreateTime && !h.Attributes.DeleteHorizon() {
							c.first = h.BaseTimestamp
						}
					}
					c.last = max(c.last, ms)
				}
			} else {
				c.other++
			}
			if fr.level(l.gaps).fault() {
				c.faults++
			}
			return true
		}
		return take, func() any { return nil }
	}, false, func(any) any { return c })
}

// takeFound takes what scans deliver.
func (s *batchesScreen) takeFound(v any, ctl *control) work {
	switch v := v.(type) {
	case frameCount:
		s.counted[v.file] = v
		ctl.say("%s", v.text())
		return nil
	case *foundSome:
		if s.found == nil || v.serial != s.found.serial {
			return nil
		}
		s.found.hits = append(s.found.hits, v.hits...)
		s.found.over, s.found.done = v.over, v.done
		if len(s.marked) > 0 {
			s.showMarks()
		}
		return s.found.load(s)
	case foundLoaded:
		if s.found == nil || v.serial != s.found.serial {
			return nil
		}
		s.found.loading = false
		if len(s.found.near) > framesKept {
			clear(s.found.near)
		}
		for _, f := range v.frames {
			s.found.near[f.pos] = f
		}
		return s.found.load(s)
	}
	return nil
}

// nextFault goes to the next frame with a fault: among those that are there, else by
// listing the faults.
func (s *batchesScreen) nextFault(ahead bool, ctl *control) work {
	by := 1
	if !ahead {
		by = -1
	}
	if s.found != nil && s.found.faults {
		return s.moveBy(by, ctl)
	}
	for i := s.cursor + by; i >= 0 && i < s.len(); i += by {
		if s.rows.Severity(s.at(i)).fault() {
			s.to(i)
			return s.more()
		}
	}
	if s.found != nil || ahead && s.tail || !ahead && s.head {
		ctl.say("no further fault in this direction in this segment")
		return nil
	}
	f := s.selected()
	if f == nil {
		return nil
	}
	ctl.restart()
	s.reading = false
	return seekFault(s.log, f.pos, ahead)
}

// seekFault is work that goes to the nearest fault behind or before a position. It reads
// the segment from its beginning, since offsets must follow each other.
func seekFault(l *logFiles, pos int64, ahead bool) work {
	return func(ctx context.Context) any {
		add := progress(ctx, "looking for a fault", max(l.file().Size, 1), true)
		f, err := openWatched(ctx, l.file(), add)
		if err != nil {
			return err
		}
		defer f.close()
		w := newWalk(f)
		at := int64(-1)
		err = w.run(0, true, w.plain, func(fr *frame, _ *segment.Frame) bool {
			switch {
			case !ahead && fr.pos >= pos:
				return false
			case fr.level(l.gaps).fault() && (!ahead || fr.pos > pos):
				at = fr.pos
				return !ahead
			}
			return true
		})
		switch {
		case err != nil:
			return err
		case at < 0:
			r, _, err := around(f, boundary(f, l, w.bounds, pos), target{atPosition, pos})
			if err != nil {
				return err
			}
			r.log, r.note = l, "no further fault in this direction in this segment"
			return r
		}
		r, _, err := around(f, boundBelow(w.bounds, at), target{atPosition, at})
		if err != nil {
			return err
		}
		r.log, r.bounds = l, w.bounds
		return r
	}
}
