package tui

import "slices"

// lines is the number of lines of the tree.
func (s *batchScreen) lines() int {
	n := len(s.fixed)
	if s.data != nil {
		n += s.data.inTree()
	}
	for i := range s.opened {
		n += len(s.opened[i].fields)
	}
	return n
}

// line tells what stands on a line of the tree: a field, or a record (then field is -1 of
// it). Record is -1 for the fields of the frame.
func (s *batchScreen) line(i int) (record, at int) {
	if i < len(s.fixed) {
		return -1, i
	}
	i -= len(s.fixed)
	for k := range s.opened {
		o := &s.opened[k]
		switch {
		case i <= o.record:
			return i, -1
		case i <= o.record+len(o.fields):
			return o.record, i - o.record - 1
		}
		i -= len(o.fields)
	}
	return i, -1
}

// lineOf is the line of a record.
func (s *batchScreen) lineOf(record int) int {
	n := len(s.fixed) + record
	for k := range s.opened {
		if s.opened[k].record < record {
			n += len(s.opened[k].fields)
		}
	}
	return n
}

// openedAt is the entry of a record whose fields are shown, nil if they are not.
func (s *batchScreen) openedAt(record int) *openRecord {
	for k := range s.opened {
		if s.opened[k].record == record {
			return &s.opened[k]
		}
	}
	return nil
}

// field is what stands on a line.
func (s *batchScreen) field(i int) field {
	record, at := s.line(i)
	switch {
	case record < 0:
		return s.fixed[at]
	case at >= 0:
		return s.openedAt(record).fields[at]
	}
	return s.recordLine(record)
}

// recordLine is a record on one line.
func (s *batchScreen) recordLine(i int) field {
	d := s.data
	from, to := d.recordRange(i)
	in, shift := d.recordSpace()
	f := field{name: "record", from: from + shift, to: to + shift, in: in, jump: -1}
	r, ok := d.record(i)
	if !ok {
		f.value, f.level = "malformed", levelDamage
		return f
	}
	f.name = "record " + itoa(r.Offset)
	switch text := d.decodedLine(&r); {
	case d.frame.head.Attributes.Control():
		f.value = controlLine(&r)
	case text != "":
		f.value = text
	default:
		f.value = preview(r.Key) + " → " + d.previewValue(&r)
	}
	return f
}

// expand shows the fields of a record.
func (s *batchScreen) expand(record int, peek bool) {
	if o := s.openedAt(record); o != nil {
		o.peek = o.peek && peek
		return
	}
	i, _ := slices.BinarySearchFunc(s.opened, record, func(o openRecord, r int) int { return o.record - r })
	s.opened = slices.Insert(s.opened, i, openRecord{record, s.data.fieldsOf(record), peek})
}

// collapse hides the fields of a record.
func (s *batchScreen) collapse(record int) {
	s.opened = slices.DeleteFunc(s.opened, func(o openRecord) bool { return o.record == record })
}

// selectLine moves the cursor in the tree and lights its bytes.
func (s *batchScreen) selectLine(i int) {
	s.cursor = max(min(i, s.lines()-1), 0)
	s.keepInSight()
	if s.lines() == 0 {
		return
	}
	f := s.field(s.cursor)
	if f.in == nowhere {
		s.hex.lit = [2]int64{0, 0}
		return
	}
	s.showSpace(f.in)
	s.hex.light(f.from, f.to)
}

func (s *batchScreen) keepInSight() {
	h := max(s.height, 1)
	s.top = min(s.top, s.cursor)
	if s.cursor >= s.top+h {
		s.top = s.cursor - h + 1
	}
	s.top = max(min(s.top, s.lines()-h), 0)
}

// follow selects the field that holds the byte under the cursor.
func (s *batchScreen) follow() {
	d, pos := s.data, s.hex.cursor
	_, shift := d.recordSpace()
	if d.inTree() > 0 && (s.in == inRecords || !d.compressed && pos >= shift) {
		if r := d.recordAt(pos - shift); r >= 0 {
			if o := s.openedAt(r); o == nil {
				s.opened = slices.DeleteFunc(s.opened, func(o openRecord) bool { return o.peek })
				s.expand(r, true)
			}
			at := s.lineOf(r)
			for i, f := range s.openedAt(r).fields {
				if pos >= f.from && pos < f.to {
					at += i + 1
					break
				}
			}
			s.lightLine(at)
			return
		}
	}
	best := -1
	for i, f := range s.fixed {
		if f.in == s.in && pos >= f.from && pos < f.to && (best < 0 || f.to-f.from < s.fixed[best].to-s.fixed[best].from) {
			best = i
		}
	}
	if best >= 0 {
		s.lightLine(best)
	}
}

// lightLine selects a line without moving the cursor in the bytes.
func (s *batchScreen) lightLine(i int) {
	s.cursor = i
	s.keepInSight()
	f := s.field(i)
	s.hex.lit = [2]int64{f.from, f.to}
}
