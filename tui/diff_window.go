package tui

import (
	"context"
	"slices"
)

// diffPart is delivered: rows of the window.
type diffPart struct {
	gen   int
	how   int // 0 a new window, 1 behind it, -1 before it
	rows  []diffRow
	done  bool
	focus int64 // of a new window: where the cursor goes
	err   error
}

// load reads a new window around an offset.
func (s *diffScreen) load(offset int64) work {
	s.gen++
	s.loading, s.told = true, nil
	d, gen := *s.src, s.gen
	return func(ctx context.Context) any {
		offset := min(max(offset, d.from), d.to)
		margin := d.context
		if margin < 0 {
			margin = diffAhead / 2
		}
		head, err := d.before(ctx, offset, margin)
		if err != nil {
			return diffPart{gen: gen, err: err}
		}
		at := diffPlace{offset, offset}
		since := margin
		if len(head) > 0 {
			at = head[len(head)-1].next
			for i := range at { // the sides need not be equally far
				at[i] = max(at[i], head[0].at)
			}
			since = noFold
		}
		rows, done, err := d.forward(ctx, at, since, diffAhead)
		if err != nil {
			return diffPart{gen: gen, err: err}
		}
		return diffPart{gen: gen, rows: append(head, rows...), done: done, focus: offset}
	}
}

// extend reads on where the cursor comes near the end of the window.
func (s *diffScreen) extend() work {
	if s.src == nil || s.loading || s.told != nil || len(s.window) == 0 {
		return nil
	}
	d, gen := *s.src, s.gen
	margin := s.height + 50
	switch {
	case !s.atEnd && s.cursor+margin > len(s.window):
		s.loading = true
		at, since := s.window[len(s.window)-1].next, 0
		for i := len(s.window) - 1; i >= 0 && s.window[i].hunk < 0; i-- {
			since++
			if s.window[i].fold() {
				since = noFold
				break
			}
		}
		return func(ctx context.Context) any {
			rows, done, err := d.forward(ctx, at, since, diffAhead)
			return diffPart{gen: gen, how: 1, rows: rows, done: done, err: err}
		}
	case !s.atStart && s.cursor < margin:
		s.loading = true
		at, since := s.window[0].at, 0
		for i := 0; i < len(s.window) && s.window[i].hunk < 0; i++ {
			since++
			if s.window[i].fold() {
				since = noFold
				break
			}
		}
		return func(ctx context.Context) any {
			rows, done, err := d.backward(ctx, at, since, diffAhead)
			return diffPart{gen: gen, how: -1, rows: rows, done: done, err: err}
		}
	}
	return nil
}

// join puts read rows into the window and keeps it within bounds.
func (s *diffScreen) join(v diffPart) {
	switch v.how {
	case 0:
		s.window, s.atEnd, s.atStart = v.rows, v.done, false
		s.cursor = 0
		for i := range s.window {
			if r := &s.window[i]; r.at <= v.focus {
				s.cursor = i
			}
		}
		s.first = max(s.cursor-s.height/3, 0)
	case 1:
		s.window, s.atEnd = append(s.window, v.rows...), v.done
		if over := len(s.window) - diffWindow; over > 0 {
			s.window = slices.Delete(s.window, 0, over)
			s.cursor, s.first, s.atStart = s.cursor-over, s.first-over, false
		}
	case -1:
		s.window, s.atStart = append(v.rows, s.window...), v.done
		s.cursor, s.first = s.cursor+len(v.rows), s.first+len(v.rows)
		if len(s.window) > diffWindow {
			s.window, s.atEnd = s.window[:diffWindow], false
		}
	}
	s.to(s.cursor)
}

func (s *diffScreen) to(i int) {
	s.cursor = max(min(i, len(s.window)-1), 0)
	if s.cursor < s.first {
		s.first = s.cursor
	}
	if s.cursor >= s.first+s.height {
		s.first = s.cursor - s.height + 1
	}
	s.first = max(min(s.first, len(s.window)-s.height), 0)
}
