package tui

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"kafsck/batch"
	"kafsck/kraft"
	"kafsck/query"
	"kafsck/segment"
)

// A filter that begins with "=" is a condition in the language of --where (package query).

// whereRows are lists of what dump prints: the names of a condition are those of its lines. On
// other rows they are the heads of the columns.
type whereRows interface {
	kinds() []*query.Kind
	// about describes a row; false: nothing is known of it.
	about(row int, l *query.Line) bool
}

// whereFilter is a condition that rows are asked, on several goroutines.
type whereFilter struct {
	cond *query.Condition
	row  *query.Kind // of rows that are no lines of dump
	pool sync.Pool
}

// whereOf is the expression of a filter in the language of --where; "" if it is of another kind.
func whereOf(text string) string {
	e, ok := strings.CutPrefix(strings.TrimLeft(text, " "), "=")
	if !ok {
		return ""
	}
	return strings.TrimSpace(e)
}

// isWhere tells filters that are, or are about to be, an expression.
func isWhere(text string) bool { return strings.HasPrefix(strings.TrimLeft(text, " "), "=") }

// parseWhere reads a filter behind its "=".
func parseWhere(text string, columns []column, r rows) (*filter, error) {
	f := &filter{text: text}
	e := whereOf(text)
	if e == "" {
		return f, nil // about to be typed
	}
	w := &whereFilter{}
	var kinds []*query.Kind
	if list, ok := r.(whereRows); ok {
		kinds = list.kinds()
	} else {
		heads := make([]string, len(columns))
		for i, c := range columns {
			heads[i] = c.name
		}
		w.row = query.TableKind(heads)
		kinds = []*query.Kind{w.row}
	}
	c, err := query.Compile(e, kinds)
	if err != nil {
		return nil, whereProblem(err)
	}
	w.cond = c
	f.where = w
	return f, nil
}

// whereProblem is what is wrong with an expression, on one line.
func whereProblem(err error) error {
	e, ok := errors.AsType[*query.Error](err)
	if !ok || len(e.Names) == 0 {
		return err
	}
	return fmt.Errorf("%w; there is %s", e, strings.Join(e.Names[:min(len(e.Names), 4)], ", "))
}

// matches asks of a row.
func (w *whereFilter) matches(r rows, row int) bool {
	var l query.Line
	if list, ok := r.(whereRows); ok {
		if !list.about(row, &l) {
			return false
		}
	} else {
		values, _ := r.(valuedRows)
		l.Kind = w.row
		l.Cell = func(c int) (any, string) {
			cell := r.Cell(row, c)
			if values == nil {
				if n, ok := numberOf(cell); ok {
					return n, cell
				}
				return cell, cell
			}
			return values.Value(row, c), cell
		}
	}
	m, _ := w.pool.Get().(*query.Matcher)
	if m == nil {
		m = w.cond.Matcher()
	}
	defer w.pool.Put(m)
	return m.Match(&l)
}

// frameKinds are what a list of batches has.
var frameKinds = []*query.Kind{query.Batch, query.Message, query.Embedded, query.Stretch}

func (r *frameRows) kinds() []*query.Kind { return frameKinds }
func (r *foundRows) kinds() []*query.Kind { return frameKinds }

func (r *frameRows) about(row int, l *query.Line) bool {
	aboutFrame(&r.list[row], r.file, l)
	return true
}

func (r *foundRows) about(row int, l *query.Line) bool {
	f := r.x.frame(row)
	if f != nil {
		aboutFrame(f, r.file, l)
	}
	return f != nil
}

// aboutFrame describes a frame as dump's line does.
func aboutFrame(f *frame, file string, l *query.Line) {
	s := f.scanned()
	l.Frame, l.Kind, l.At.File = s, query.KindOfFrame(s), file
}

// scanned is a frame as the scan gave it, without its bytes.
func (f *frame) scanned() *segment.Frame {
	s := &segment.Frame{Kind: f.kind, Pos: f.pos, Len: f.len, Claimed: f.claimed, Legacy: f.legacy}
	s.Batch.Header = f.head
	if f.damage != "" || f.badCRC {
		s.Damage = &frameDamage{f.damage, f.badCRC}
	}
	return s
}

// frameDamage is what is wrong with a frame.
type frameDamage struct {
	text string
	crc  bool
}

func (d *frameDamage) Error() string { return d.text }

func (d *frameDamage) Is(target error) bool { return d.crc && target == batch.ErrCRC }

// recordKinds are what the records of a batch, or of a message of the old formats, are.
var recordKinds = []*query.Kind{query.Record, query.LegacyRecord}

func (r *recordRows) kinds() []*query.Kind { return recordKinds }

func (r *recordRows) about(row int, l *query.Line) bool {
	rec, ok := r.d.record(row)
	if !ok {
		return false
	}
	aboutFrame(&r.d.frame, r.d.file, l)
	l.Kind, l.Record = query.Record, &rec
	if r.d.old != nil {
		old, _ := r.d.oldRecord(row)
		l.Kind, l.Record, l.Legacy = query.LegacyRecord, &old.Record, &old
		l.BadCRC = batch.CheckLegacyCRC(old.Raw) != nil
	}
	switch {
	case r.d.frame.head.Attributes.Control():
		if c, err := batch.ParseControl(rec.Key, rec.Value); err == nil {
			l.Control = &c
		} else {
			l.Why = err.Error()
		}
	case r.d.log != nil && r.d.log.metadata:
		if m, err := kraft.DecodeRecord(rec.Value); err == nil {
			l.Metadata = m
		} else {
			l.Why = err.Error()
		}
	default:
		decoded, err := r.d.topicRecord(&rec)
		if decoded != nil {
			l.Decoded = decoded
		}
		if err != nil {
			l.Why = err.Error()
		}
	}
	return true
}
