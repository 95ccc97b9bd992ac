package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"kafsck/internal/rofs"
	"kafsck/repair"
	"kafsck/replica"
	"kafsck/segment"
)

// rebuilder is the ending of a file that an edit rebuilds, and whether all is there that it
// takes.
func rebuilder(e *repair.Edit) (ext string, ok bool) {
	ext = path.Ext(e.File)
	if _, err := baseOf(e.File); err != nil {
		return ext, false
	}
	switch ext {
	case ".index", ".timeindex":
		return ext, len(e.Logs) == 1 && e.Interval >= 0
	case ".txnindex":
		return ext, len(e.Logs) > 0
	case ".snapshot":
		return ext, len(e.Logs) > 0 || e.Snapshot != ""
	}
	return ext, false
}

// baseOf is the offset in the name of a segment's file.
func baseOf(file string) (int64, error) {
	number, _, _ := strings.Cut(path.Base(file), ".")
	if len(number) != 20 {
		return 0, fmt.Errorf("%s: no offset of 20 digits in its name", file)
	}
	return strconv.ParseInt(number, 10, 64)
}

// resultFile opens a file of the result where it lies: among those that were made, or, of an
// in-place repair, among the originals.
func (x *run) resultFile(r *root, file string) (rofs.File, int64, error) {
	i, ok := slices.BinarySearchFunc(x.l.files, file, func(t *target, file string) int {
		return cmp.Or(cmp.Compare(t.root.index, r.index), cmp.Compare(t.file, file))
	})
	if !ok {
		return nil, 0, nonsense("%s, from which a file is to be built, is not in the result", file)
	}
	t := x.l.files[i]
	var f rofs.File
	var err error
	if x.stays(t) {
		f, err = r.fsys.Open(r.inside(file))
	} else {
		f, err = openStaged(x.staged(t))
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// openStaged opens a file that this package has made.
func openStaged(path string) (*os.File, error) { return os.Open(path) }

// rebuildAll builds index files and snapshots from the logs of the result. Both indexes of a
// log come of one pass; snapshots in order of their offsets, since one may begin with
// another.
func (x *run) rebuildAll(ctx context.Context) error {
	indexes := map[string][]*target{} // by root and log
	var states []*target
	for _, t := range x.l.files {
		if t.edit == nil || t.edit.Op != repair.Rebuild {
			continue
		}
		switch ext, _ := rebuilder(t.edit); ext {
		case ".index", ".timeindex":
			key := fmt.Sprint(t.root.index, "/", t.edit.Logs[0], "/", t.edit.Interval)
			indexes[key] = append(indexes[key], t)
		default:
			states = append(states, t)
		}
	}
	tasks := x.composed(ctx)
	for _, key := range slices.Sorted(maps.Keys(indexes)) {
		tasks = append(tasks, func() error { return x.rebuildIndexes(ctx, indexes[key]) })
	}
	if err := parallel(tasks); err != nil {
		return err
	}
	// Snapshots first: the state in front of a .txnindex may be one of them.
	slices.SortStableFunc(states, func(a, b *target) int {
		x, _ := baseOf(a.file)
		y, _ := baseOf(b.file)
		return cmp.Or(cmp.Compare(path.Ext(a.file), path.Ext(b.file)), cmp.Compare(x, y))
	})
	for _, t := range states {
		if err := x.rebuildState(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// parallel runs tasks on all cores until one fails.
func parallel(tasks []func() error) error {
	next := make(chan func() error, len(tasks))
	for _, t := range tasks {
		next <- t
	}
	close(next)
	errs := make(chan error, len(tasks)+1)
	var wg sync.WaitGroup
	for range max(1, min(runtime.GOMAXPROCS(0), len(tasks))) {
		wg.Go(func() {
			for t := range next {
				if err := t(); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	return <-errs
}

// unbuilt explains why a file could not be built.
func unbuilt(t *target, log string, err error) error {
	if _, ok := errors.AsType[*segment.Unsound](err); ok {
		return &Failed{Where: t.name(), What: fmt.Sprintf("it cannot be built: %s, %v", log, err)}
	}
	return err
}

// rebuildIndexes builds the .index, the .timeindex or both of one log.
func (x *run) rebuildIndexes(ctx context.Context, list []*target) error {
	t := list[0]
	log, size, err := x.resultFile(t.root, t.edit.Logs[0])
	if err != nil {
		return err
	}
	defer log.Close()
	base, err := baseOf(t.file)
	if err != nil {
		return err
	}
	to := map[string]io.Writer{".index": io.Discard, ".timeindex": io.Discard}
	var made []writer
	defer func() {
		for _, f := range made {
			f.Close()
		}
	}()
	for _, t := range list {
		f, err := x.create(t)
		if err != nil {
			return err
		}
		made = append(made, f)
		to[path.Ext(t.file)] = f
	}
	interval := t.edit.Interval
	if interval == 0 {
		interval = segment.DefaultIndexInterval
	}
	if err := segment.WriteIndexes(ctx, log, size, base, interval, to[".index"], to[".timeindex"]); err != nil {
		return unbuilt(t, t.edit.Logs[0], err)
	}
	for i, f := range made {
		if err := f.Close(); err != nil {
			return err
		}
		if err := x.finish(ctx, list[i]); err != nil {
			return err
		}
	}
	made = nil
	return nil
}

// rebuildState builds a .snapshot or .txnindex.
func (x *run) rebuildState(ctx context.Context, t *target) error {
	e := t.edit
	var snap *segment.ProducerSnapshot
	from := int64(0)
	if e.Snapshot != "" {
		f, size, err := x.resultFile(t.root, e.Snapshot)
		if err != nil {
			return err
		}
		snap, err = segment.ReadSnapshot(f, size)
		f.Close()
		if err != nil {
			return err
		}
		if from, err = baseOf(e.Snapshot); err != nil {
			return nonsense("%v", err)
		}
	}
	b, err := replica.NewRebuild(snap, from)
	if err != nil {
		return &Failed{Where: t.name(), What: fmt.Sprintf("it cannot be built: %v", err)}
	}
	state := strings.HasSuffix(t.file, ".snapshot")
	b.To = math.MaxInt64
	if state {
		if b.To, err = baseOf(t.file); err != nil {
			return err
		}
	}
	out, err := x.create(t)
	if err != nil {
		return err
	}
	defer out.Close()
	for i, name := range e.Logs {
		var aborted io.Writer
		if !state && i == len(e.Logs)-1 {
			aborted = out
		}
		log, size, err := x.resultFile(t.root, name)
		if err != nil {
			return err
		}
		err = b.Read(ctx, log, size, aborted)
		log.Close()
		if err != nil {
			return unbuilt(t, name, err)
		}
	}
	if state {
		if _, err := out.Write(b.Snapshot()); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	return x.finish(ctx, t)
}

// writeTexts writes the files that the plan holds whole.
func (x *run) writeTexts(ctx context.Context) error {
	for _, t := range x.l.files {
		if t.edit == nil || t.edit.Op != repair.Write && t.edit.Op != repair.Line {
			continue
		}
		text, err := x.text(t)
		if err != nil {
			return err
		}
		f, err := x.create(t)
		if err != nil {
			return err
		}
		_, err = f.Write(text)
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return err
		}
		if err := x.finish(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// text is the content of a file that the plan holds whole, or of which it changes lines.
func (x *run) text(t *target) ([]byte, error) {
	if t.edit.Op == repair.Write {
		return []byte(*t.edit.Text), nil
	}
	var old []byte
	if in := t.root.inputs[t.file]; in != nil {
		b, err := rofs.ReadFile(t.root.fsys, t.root.inside(t.file), maxText)
		if err != nil {
			return nil, err
		}
		if sumOfBytes(b) != in.SHA256 {
			return nil, changed(t.root, t.file, "its SHA-256 is another")
		}
		old = b
	}
	text, err := repair.EditLines(old, t.lines)
	if err != nil {
		return nil, nonsense("%s: %v", t.name(), err)
	}
	return text, nil
}

// maxText bounds the checkpoint files that are edited: discovery reads no larger ones.
const maxText = 16 << 20

// create begins a file of the result that is not copied.
func (x *run) create(t *target) (writer, error) {
	at := x.staged(t)
	if err := makeParents(x.sys, at); err != nil {
		return nil, err
	}
	if there, err := exists(at); err != nil {
		return nil, err
	} else if there { // of a run that was stopped
		if err := x.sys.Remove(at); err != nil {
			return nil, err
		}
	}
	return x.sys.Create(at)
}

// finish gives a file its looks, and notes its size and SHA-256.
func (x *run) finish(ctx context.Context, t *target) error {
	at := x.staged(t)
	if as := x.asOf(t); as != nil {
		if err := x.sys.Dress(at, as); err != nil {
			return err
		}
	}
	info, err := os.Lstat(at)
	if err != nil {
		return err
	}
	t.size = info.Size()
	t.sum, err = sumOf(ctx, at)
	return err
}
