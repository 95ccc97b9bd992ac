package tui

import (
	"context"
	"errors"
	"io"
	"strings"

	"kafsck/segment"
)

func (s *batchesScreen) view(w, h int, st *styles) string {
	if !s.loaded && s.found == nil && s.unread != nil {
		return unreadText(s.unread, w, st)
	}
	if !s.loaded && s.found == nil {
		return st.dim.Render("reading …")
	}
	if s.found == nil && len(s.frames) == 0 {
		return st.dim.Render("The file is empty: no batch was written since this segment was begun.")
	}
	if s.found != nil && len(s.found.hits) == 0 {
		return st.dim.Render(cut(s.found.nothing(), w))
	}
	lines := []string{}
	if head := s.headline(); h >= 12 {
		lines = append(lines, st.dim.Render(cutHead(escape(s.log.file().Path), escape(head), w)))
	}
	lines = append(lines, unreadLine(s.unread, w, st)...)
	return strings.Join(append(lines, s.viewTable(w, h-len(lines), st)), "\n")
}

// cutHead is a path and the text behind it in at most w cells.
func cutHead(path, text string, w int) string {
	if over := width(path) + width(text) - w; over > 0 && width(path)-over > 24 {
		path = cutLeft(path, over+1)
	}
	return cut(path+text, w)
}

// headline says how much there is, to stand behind the path.
func (s *batchesScreen) headline() string {
	text := "  " + humanBytes(s.size)
	if n := len(s.log.segs); n > 1 {
		text += "  segment " + comma(int64(s.log.at+1)) + " of " + comma(int64(n))
	}
	if c, ok := s.counted[s.log.file()]; ok {
		text += "  " + c.text()
	}
	return text
}

// position is how far into the file the cursor is, since rows are not counted.
func (s *batchesScreen) position() string {
	marks := ""
	if n := len(s.marked); n > 0 {
		marks = countOf(int64(n), "mark", "marks") + "  "
	}
	if s.found != nil {
		return marks + s.found.position(s.cursor)
	}
	f := s.selected()
	if f == nil {
		return marks
	}
	done := int64(100)
	if s.size > 0 && !(s.tail && s.cursor == len(s.frames)-1) {
		done = min(f.pos*100/s.size, 99)
	}
	if s.head && s.tail {
		return marks + comma(int64(s.cursor+1)) + "/" + comma(int64(len(s.frames)))
	}
	return marks + itoa(done) + "% of " + humanBytes(s.size)
}

func (s *batchesScreen) copyText(kind copyKind) (string, error) {
	if s.selected() == nil {
		return "", errNothingToCopy
	}
	return s.table.copyText(kind)
}

// save writes all batches of the segment, or all that a scan found: they are read again
// for it.
func (s *batchesScreen) save(format string) (func(io.Writer) error, error) {
	l, path := s.log, s.path()
	var keep func(pos int64) bool
	switch {
	case len(s.marked) > 0:
		marked := map[int64]bool{}
		for p := range s.marked {
			if p.segment == l.at {
				marked[p.pos] = true
			}
		}
		keep = func(pos int64) bool { return marked[pos] }
	case s.found != nil && (!s.found.done || s.found.over):
		return nil, errors.New("the scan is not complete")
	case s.found != nil:
		hits, i := s.found.hits, 0
		keep = func(pos int64) bool {
			for i < len(hits) && hits[i].pos < pos {
				i++
			}
			return i < len(hits) && hits[i].pos == pos
		}
	}
	return func(out io.Writer) error {
		f, err := openWatched(context.Background(), l.file(), nil)
		if err != nil {
			return err
		}
		defer f.close()
		t, err := newTableWriter(out, format, frameColumns)
		if err != nil {
			return err
		}
		one := &frameRows{make([]frame, 1), l.gaps, l.file().Path, path}
		err = newWalk(f).run(0, false, nil, func(fr *frame, _ *segment.Frame) bool {
			if keep == nil || keep(fr.pos) {
				one.list[0] = *fr
				t.write(one, 0)
			}
			return t.err == nil
		})
		return errors.Join(err, t.finish())
	}, nil
}
