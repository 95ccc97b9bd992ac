package tui

import (
	"fmt"
	"strings"

	"kafsck/batch"
	"kafsck/segment"
)

// The width that the tree needs beside the bytes.
const treeWidth = 34

func (s *batchScreen) view(w, h int, st *styles) string {
	if s.data == nil && s.unread != nil {
		return unreadText(s.unread, w, st)
	}
	if s.data == nil {
		return st.dim.Render("reading …")
	}
	d, full := s.data, h
	head, path := escape(s.headline()), escape(s.log.file().Path)
	if l := d.frame.level(d.log.gaps); l.fault() {
		head = st.level(l).Render(cutPath(l.symbol()+" "+head, path, w))
	} else {
		head = st.strong.Render(cutPath(head, path, w))
	}
	lines := append([]string{head}, unreadLine(s.unread, w, st)...)
	if s.finding != nil && h >= 12 {
		l := levelOf(s.finding.Severity)
		text := wrap(escape(s.finding.Summary), max(w-2, 1))
		for i, t := range text[:min(len(text), 2)] {
			mark := "  "
			if i == 0 {
				mark = l.symbol() + " "
			}
			if i == 1 && len(text) > 2 {
				t = cut(t, w-3) + " …"
			}
			lines = append(lines, st.level(l).Render(mark+t))
		}
	}
	below := s.told(w, h-len(lines), st)
	h -= len(lines) + len(below)
	digits := len(itoa(d.frame.end()))
	hexCells := 0
	for _, n := range []int{16, 8} {
		if c := hexWidth(n, digits); w-c-3 >= treeWidth {
			hexCells = c
			break
		}
	}
	s.single = hexCells == 0
	s.height = max(h-1, 0)
	s.keepInSight()
	treeHead, hexHead := "fields", "bytes of the file"
	if s.in == inRecords {
		hexHead = "decompressed records"
	}
	if s.single {
		if s.inHex {
			lines = append(lines, s.paneHead(hexHead+" (tab: fields)", w, true, st))
			lines = append(lines, s.hex.view(w, s.height, true, st)...)
		} else {
			lines = append(lines, s.paneHead(treeHead+" (tab: bytes)", w, true, st))
			lines = append(lines, s.tree(w, s.height, st)...)
		}
		for len(lines) < full-len(below) {
			lines = append(lines, "")
		}
		return strings.Join(append(lines, below...), "\n")
	}
	treeCells := w - hexCells - 3
	tree := append([]string{s.paneHead(treeHead, treeCells, !s.inHex, st)}, s.tree(treeCells, s.height, st)...)
	hex := append([]string{s.paneHead(hexHead, hexCells, s.inHex, st)}, s.hex.view(hexCells, s.height, s.inHex, st)...)
	bar := st.dim.Render(" │ ")
	for i := range h {
		l, r := "", ""
		if i < len(tree) {
			l = tree[i]
		}
		if i < len(hex) {
			r = hex[i]
		}
		lines = append(lines, fit(l, treeCells)+bar+r)
	}
	return strings.Join(append(lines, below...), "\n")
}

// told is the selected field with its whole value, which the tree may have cut.
func (s *batchScreen) told(w, h int, st *styles) []string {
	room := 0
	switch {
	case h >= 16:
		room = 3
	case h >= 7:
		room = 1
	}
	if room == 0 || s.lines() == 0 {
		return nil
	}
	f := s.field(s.cursor)
	lines := wrap(escape(f.name+"  "+f.value), w)
	if len(lines) > room {
		lines = lines[:room]
		lines[room-1] = cut(lines[room-1], w-2) + " …"
	}
	for len(lines) < room {
		lines = append(lines, "")
	}
	if room > 1 {
		lines = append([]string{st.dim.Render(strings.Repeat("─", w))}, lines[:room-1]...)
	}
	return lines
}

// paneHead is the title of a pane; that with the keys has a sign.
func (s *batchScreen) paneHead(text string, w int, focus bool, st *styles) string {
	if focus {
		return st.header.Underline(true).Render(cut("▸ "+text, w))
	}
	return st.dim.Render(cut("  "+text, w))
}

// headline says what the frame is, to stand before the path.
func (s *batchScreen) headline() string {
	f := &s.data.frame
	at := "  at " + itoa(f.pos) + " of "
	if !f.hasOffsets() && f.kind != segment.Embedded {
		return f.says() + ": " + countOf(f.len, "byte", "bytes") + at
	}
	first, last := s.data.offsets()
	text := offsetsText(first, last+1)
	if f.kind == segment.Embedded {
		text = "embedded, no part of this log: " + text
	}
	if f.isMessage() {
		if c := f.legacy.Codec(); c != batch.None {
			text += "  " + s.data.recordsText() + "  " + c.String()
		}
	} else {
		text += fmt.Sprintf("  epoch %d  %s", f.head.PartitionLeaderEpoch, countOf(int64(f.head.RecordCount), "record", "records"))
		if c := f.head.Attributes.Codec(); c != batch.None {
			text += "  " + c.String()
		}
	}
	crc := "CRC ok"
	if f.badCRC {
		crc = "CRC BAD"
	}
	text += "  " + crc + "  " + countOf(f.len, "byte", "bytes")
	if says := f.says(); says != "" && !f.badCRC {
		text += "  " + says
	}
	return text + at
}

// tree draws the lines of the tree.
func (s *batchScreen) tree(w, h int, st *styles) []string {
	names := 0
	for i := s.top; i < min(s.top+h, s.lines()); i++ {
		f := s.field(i)
		names = max(names, 2*f.depth+2+width(f.name))
	}
	names = min(names, w*3/5)
	var out []string
	for i := s.top; i < min(s.top+h, s.lines()); i++ {
		f := s.field(i)
		record, at := s.line(i)
		sign := " "
		if i == s.cursor {
			sign = "›"
		}
		fold := " "
		if record >= 0 && at < 0 {
			fold = "+"
			if s.openedAt(record) != nil {
				fold = "-"
			}
		}
		if f.level.fault() {
			fold = f.level.symbol()
		}
		name := fit(sign+fold+strings.Repeat("  ", f.depth)+escape(f.name), names)
		value := cut(escape(f.value), max(w-names-1, 0))
		switch {
		case i == s.cursor:
			out = append(out, levelStyle(st, max(f.level, levelNone), true).Render(fit(name+" "+value, w)))
		case f.level.fault() || f.level == levelNote:
			out = append(out, st.level(f.level).Render(name+" "+value))
		default:
			out = append(out, st.dim.Render(name)+" "+value)
		}
	}
	return out
}

// position says which bytes are lit.
func (s *batchScreen) position() string {
	if s.data == nil {
		return ""
	}
	lit := s.hex.lit
	if s.inHex {
		return "byte " + itoa(s.hex.src.base()+s.hex.cursor)
	}
	if lit[1] <= lit[0] {
		return ""
	}
	base := s.hex.src.base()
	what := "bytes "
	if lit[1]-lit[0] == 1 {
		what = "byte "
	}
	return what + span(base+lit[0], base+lit[1])
}

// copyText copies the value, or the bytes as hex.
func (s *batchScreen) copyText(kind copyKind) (string, error) {
	if s.data == nil || s.lines() == 0 {
		return "", errNothingToCopy
	}
	f := s.field(s.cursor)
	switch kind {
	case copyPath:
		return shellWords(s.w.typed(s.data.file)), nil
	case copyJSON:
		return jsonLine(frameJSON(&s.data.frame, s.data.file)), nil
	case copyRow:
		return escape(f.name) + "\t" + escape(f.value), nil
	}
	if s.inHex {
		const most = 32 << 10
		from, to := s.hex.lit[0], min(s.hex.lit[1], s.hex.src.size())
		if to-from > most {
			return "", fmt.Errorf("%s are too many to copy", countOf(to-from, "byte", "bytes"))
		}
		b, ok := s.hex.src.bytes(from, to)
		if !ok || to <= from {
			return "", errNothingToCopy
		}
		return fmt.Sprintf("%x", b), nil
	}
	return escape(f.value), nil
}
