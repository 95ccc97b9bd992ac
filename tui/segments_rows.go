package tui

import (
	"time"

	"kafsck/logdir"
	"kafsck/segment"
)

var segmentColumns = []column{
	{name: "segment", max: 34},
	{name: "state"},
	{name: "size", right: true},
	{name: "batches", right: true},
	{name: "what", max: 32},
	{name: "first time", min: 24},
	{name: "last time", min: 24},
	{name: "index", right: true},
	{name: "timeindex", right: true},
	{name: "aborted txns", right: true},
	{name: "producers", right: true},
	{name: "modified", min: 19},
}

// segmentRow is a segment, or a file that belongs to none.
type segmentRow struct {
	seg    *logdir.Segment // nil: a file
	file   *logdir.File
	state  string
	level  level
	says   string
	around bool // a file of the log directory
}

// segmentRows are the rows of segmentsScreen. facts come later.
type segmentRows struct {
	w     *world
	list  []segmentRow
	facts []segmentFacts
}

func (r *segmentRows) Len() int               { return len(r.list) }
func (r *segmentRows) Severity(row int) level { return max(r.list[row].level, r.facts[row].level) }

func (r *segmentRows) Snapshot() rows {
	return &segmentRows{r.w, r.list, append([]segmentFacts(nil), r.facts...)}
}

func (r *segmentRows) main(row int) *logdir.File {
	x := &r.list[row]
	if x.seg == nil {
		return x.file
	}
	return filesOf(x.seg)[0]
}

func (r *segmentRows) Path(row int) string { return r.w.typed(r.main(row).Path) }

func (r *segmentRows) Cell(row, col int) string {
	x, f := &r.list[row], &r.facts[row]
	m := r.main(row)
	switch col {
	case 0:
		if x.around {
			return "../" + m.Name
		}
		return m.Name
	case 1:
		if x.seg == nil {
			return "file"
		}
		return x.state
	case 2:
		return humanBytes(m.Size)
	case 11:
		if m.ModTime.IsZero() {
			return ""
		}
		return m.ModTime.UTC().Format("2006-01-02 15:04:05")
	case 4:
		if f.says != "" {
			return f.says
		}
		return x.says
	}
	if x.seg == nil {
		return ""
	}
	number := func(file *logdir.File, head, width int64) string {
		if file == nil {
			return "-"
		}
		return comma(max(file.Size-head, 0) / width)
	}
	switch col {
	case 3:
		if f.batches >= 0 && f.known {
			return comma(f.batches)
		}
		return ""
	case 5:
		return knownTime(f, f.first)
	case 6:
		return knownTime(f, f.last)
	case 7:
		return entriesText(x.seg.Index, f, f.offsets)
	case 8:
		return entriesText(x.seg.TimeIndex, f, f.times)
	case 9:
		return number(x.seg.TxnIndex, 0, segment.TxnEntrySize)
	}
	return number(x.seg.Snapshot, 10, segment.SnapshotEntrySize)
}

// entriesText is the number of entries of an index file.
func entriesText(file *logdir.File, f *segmentFacts, n int64) string {
	switch {
	case file == nil:
		return "-"
	case !f.known:
		return "…"
	case n < 0:
		return "?"
	}
	return comma(n)
}

func knownTime(f *segmentFacts, ms int64) string {
	switch {
	case !f.known:
		return "…"
	case ms < 0:
		return ""
	}
	return timestamp(ms)
}

func (r *segmentRows) Value(row, col int) any {
	x, f := &r.list[row], &r.facts[row]
	m := r.main(row)
	switch col {
	case 2:
		return m.Size
	case 3:
		if !f.known || f.batches < 0 {
			return nil
		}
		return f.batches
	case 5, 6:
		ms := f.first
		if col == 6 {
			ms = f.last
		}
		if !f.known || ms < 0 {
			return nil
		}
		return timeOf(ms)
	case 7:
		return orNil(f.offsets)
	case 8:
		return orNil(f.times)
	case 9, 10:
		if x.seg == nil {
			return nil
		}
		file := x.seg.TxnIndex
		if col == 10 {
			file = x.seg.Snapshot
		}
		if file == nil {
			return nil
		}
		return file.Size
	case 11:
		if m.ModTime.IsZero() {
			return nil
		}
		return m.ModTime
	}
	return r.Cell(row, col)
}

func (r *segmentRows) JSON(row int) any {
	x, f := &r.list[row], &r.facts[row]
	m := r.main(row)
	out := map[string]any{"file": m.Path, "bytes": m.Size}
	if !m.ModTime.IsZero() {
		out["modified"] = m.ModTime.UTC().Format(time.RFC3339)
	}
	if x.seg != nil {
		out["baseOffset"], out["state"] = x.seg.BaseOffset, x.state
		if f.known {
			out["firstTimestampMs"], out["lastTimestampMs"] = orNil(f.first), orNil(f.last)
			out["batches"] = orNil(f.batches)
		}
	}
	return out
}
