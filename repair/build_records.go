package repair

import (
	"fmt"
	"io"
	"maps"
	"path"
	"slices"

	"kafsck/batch"
	"kafsck/logdir"
	"kafsck/segment"
)

// stretchOf is a run of bytes of a file, [from, to).
type stretchOf struct {
	file     *logdir.File
	from, to int64
}

// records counts the records that a reader of the promised log gets, those of control batches left
// out: by the headers of the batches that the actions on this directory leave and bring. nil where
// bytes stay that are no batch, or where a batch reaches over an end of the log and has fewer
// records than offsets.
func (w *work) records(p *Promise) (*int64, error) {
	logs := w.promised()
	var total int64
	var unzip batch.Decompressor
	for _, name := range slices.Sorted(maps.Keys(logs)) {
		for _, s := range logs[name] {
			n, known, err := w.count(s, p, &unzip)
			if err != nil || !known {
				return nil, err
			}
			total += n
		}
	}
	return &total, nil
}

// promised are the .log files of the directory as the actions on it leave them, by name.
func (w *work) promised() map[string][]stretchOf {
	byName, logs := map[string]*logdir.File{}, map[string][]stretchOf{}
	for f := range w.dir.AllFiles() {
		if f.Kind != logdir.KindLog {
			continue
		}
		name := file(w.dir, f.Name)
		if byName[name] = f; f.Suffix == logdir.NoSuffix {
			logs[name] = []stretchOf{{f, 0, f.Size}}
		}
	}
	for _, op := range []Op{Remove, Rename, Compose} { // names become free before they are taken
		for i := range w.builder.plan.Actions {
			a := &w.builder.plan.Actions[i]
			if a.Root != w.t.index || a.Dir != base(w.dir) {
				continue
			}
			for _, e := range a.Edits {
				if e.Op != op {
					continue
				}
				switch f := byName[e.File]; {
				case op == Rename && f != nil && path.Ext(e.To) == ".log":
					logs[e.To] = []stretchOf{{f, 0, f.Size}}
					delete(logs, e.File)
				case op != Compose:
					delete(logs, e.File)
				case path.Ext(e.File) == ".log":
					logs[e.File] = nil
					for _, x := range e.Pieces {
						logs[e.File] = append(logs[e.File], stretchOf{w.fileOf(x), x.Position, x.Position + x.Length})
					}
				}
			}
		}
	}
	return logs
}

// fileOf is the file that a piece is taken from.
func (b *builder) fileOf(x Piece) *logdir.File {
	t := b.roots[x.Root]
	parts := t.dir.Partitions
	if t.only != nil {
		parts = []*logdir.Partition{t.only}
	}
	for _, p := range parts {
		if base(p) != path.Dir(x.File) {
			continue
		}
		for f := range p.AllFiles() {
			if f.Name == path.Base(x.File) {
				return f
			}
		}
	}
	return nil
}

// count counts the records of a run of whole batches within the promised log.
func (w *work) count(s stretchOf, p *Promise, unzip *batch.Decompressor) (n int64, known bool, err error) {
	if s.file == nil {
		return 0, false, nil
	}
	if s.from >= s.to {
		return 0, true, nil
	}
	h, err := s.file.Open()
	if err != nil {
		return 0, false, err
	}
	defer h.Close()
	for f, err := range segment.Walk(io.NewSectionReader(h, s.from, s.to-s.from), s.to-s.from, segment.ScanOptions{}) {
		if err != nil {
			return 0, false, fmt.Errorf("%s: %w", s.file.Path, err)
		}
		if err := w.ctx.Err(); err != nil {
			return 0, false, err
		}
		switch {
		case f.Damage != nil || f.Kind != segment.Batch && f.Kind != segment.Legacy:
			return 0, false, nil
		case f.Kind == segment.Legacy:
			if f.Raw == nil {
				return 0, false, nil
			}
			for r, err := range batch.LegacyRecords(f.Raw, unzip) {
				if err != nil {
					return 0, false, nil
				}
				if r.Offset >= p.LogStartOffset && r.Offset < p.LogEndOffset {
					n++
				}
			}
		case f.Batch.Attributes.Control():
		default:
			b := &f.Batch.Header
			from, to := max(b.BaseOffset, p.LogStartOffset), min(b.NextOffset(), p.LogEndOffset)
			switch {
			case from >= to:
			case from == b.BaseOffset && to == b.NextOffset():
				n += int64(b.RecordCount)
			case int64(b.RecordCount) == b.NextOffset()-b.BaseOffset:
				n += to - from
			default:
				return 0, false, nil
			}
		}
	}
	return n, true, nil
}
