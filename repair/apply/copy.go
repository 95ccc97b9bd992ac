package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"kafsck/repair"
)

// span is a run of bytes of an input that goes to a place in a file.
type span struct {
	from, to int64 // bytes of the input, [from, to)
	out      *outFile
	at       int64 // position in the file
}

// outFile is a file under way: the spans of one input or of several go into it.
type outFile struct {
	path   string // of the operating system
	size   int64
	target *target // of the result, nil in lost+found
	drop   *drop
	as     fs.FileInfo

	mu     sync.Mutex
	f      writer
	missed int64 // bytes that are still to come
	kept   bool  // it was complete before
	done   bool
	how    how
}

// how a file of the result came to be.
type how uint8

const (
	copied how = iota
	cloned
	linked
	resumed
)

// job is one input with all that is wanted of it. It is read once: its SHA-256 is that of
// the bytes that were copied.
//
//	input    0                 4096        9000              size
//	         +------------------+-----------+------------------+
//	SHA-256  |<------------------------------------------------>|
//	spans    |---> t-0/0.log    |           |---> t-0/0.log     |
//	                            |---> lost+found/…/0.log.4096-9000
type job struct {
	root  *root
	file  string
	in    *repair.PlanInput
	spans []span
}

// whole is the one file that is a copy of the input, nil if there is more to it.
func (j *job) whole() *outFile {
	if len(j.spans) == 1 && j.spans[0].from == 0 && j.spans[0].to == j.in.Size && j.spans[0].out.size == j.in.Size {
		return j.spans[0].out
	}
	return nil
}

// jobs are all inputs with the files that they go into. Of in-place repairs only the edited
// files are made.
func (x *run) jobs() (jobs []*job, outs []*outFile) {
	byInput := map[*root]map[string]*job{}
	for _, r := range x.l.roots {
		if !x.needed(r) {
			continue
		}
		byInput[r] = map[string]*job{}
		for _, name := range slices.Sorted(maps.Keys(r.inputs)) {
			j := &job{root: r, file: name, in: r.inputs[name]}
			byInput[r][name] = j
			jobs = append(jobs, j)
		}
	}
	to := func(r *root, file string, s span) {
		j := byInput[r][file]
		j.spans = append(j.spans, s)
		s.out.missed += s.to - s.from
	}
	for _, t := range x.l.files {
		if x.stays(t) || t.edit != nil && (t.edit.Op != repair.Compose && t.edit.Op != repair.Rename) {
			continue
		}
		o := &outFile{path: x.staged(t), size: t.size, target: t, as: x.asOf(t)}
		outs = append(outs, o)
		if t.from != "" {
			to(t.root, t.from, span{0, t.size, o, 0})
			continue
		}
		at := int64(0)
		for _, p := range t.edit.Pieces {
			to(x.l.roots[p.Root], p.File, span{p.Position, p.Position + p.Length, o, at})
			at += p.Length
		}
	}
	if x.lost != "" {
		for _, d := range x.l.drops {
			o := &outFile{path: filepath.Join(x.lost, filepath.FromSlash(d.kept())), size: d.to - d.from, drop: d, as: d.root.infos[d.file]}
			outs = append(outs, o)
			to(d.root, d.file, span{d.from, d.to, o, 0})
		}
	}
	return jobs, outs
}

// stays: an in-place repair leaves the file where it is.
func (x *run) stays(t *target) bool { return x.inPlace && t.edit == nil }

// asOf is the file whose mode, owner and time a file of the result gets: its own, or, for one
// that is new, those of its folder, without a time.
func (x *run) asOf(t *target) fs.FileInfo {
	if t.from != "" {
		return t.root.infos[t.from]
	}
	if info := t.root.infos[t.file]; info != nil && !info.IsDir() {
		return info
	}
	if t.root.New {
		return x.asNew(t)
	}
	for dir := parent(t.file); ; dir = parent(dir) {
		// The newest file beside it tells what the broker gives a new one.
		if info := newest(t.root, dir); info != nil {
			return info
		}
		if dir == "." {
			return nil
		}
	}
}

// asNew is the newest of the files that a file of a new root is made of, or that the logs beside it
// are.
func (x *run) asNew(t *target) fs.FileInfo {
	var best fs.FileInfo
	of := func(e *repair.Edit) {
		for _, p := range e.Pieces {
			if info := x.l.roots[p.Root].infos[p.File]; info != nil && (best == nil || info.ModTime().After(best.ModTime())) {
				best = info
			}
		}
	}
	if t.edit.Op == repair.Compose && len(t.edit.Pieces) > 0 {
		of(t.edit)
		return best
	}
	key := fmt.Sprint(t.root.index, "/", parent(t.file))
	x.mu.Lock()
	defer x.mu.Unlock()
	if info, ok := x.asNewIn[key]; ok {
		return info
	}
	for _, o := range x.l.files {
		if o.root == t.root && o.edit.Op == repair.Compose && (parent(o.file) == parent(t.file) || parent(t.file) == ".") {
			of(o.edit)
		}
	}
	if x.asNewIn == nil {
		x.asNewIn = map[string]fs.FileInfo{}
	}
	x.asNewIn[key] = best
	return best
}

// closed reports whether a .log of the result is not the last one of its folder, so that a broker never
// writes to it.
func (l *layout) closed(t *target) bool {
	i, _ := slices.BinarySearchFunc(l.files, t, func(a, b *target) int {
		return cmp.Or(cmp.Compare(a.root.index, b.root.index), cmp.Compare(a.file, b.file))
	})
	for _, o := range l.files[i+1:] {
		if o.root != t.root || parent(o.file) != parent(t.file) {
			return false
		}
		if strings.HasSuffix(o.file, ".log") {
			return true
		}
	}
	return false
}

// newest is the file of a folder that was written last.
func newest(r *root, dir string) fs.FileInfo {
	var best fs.FileInfo
	for _, name := range slices.Sorted(maps.Keys(r.inputs)) {
		if info := r.infos[name]; parent(name) == dir && info != nil && (best == nil || info.ModTime().After(best.ModTime())) {
			best = info
		}
	}
	return best
}

// copyAll reads every input once and writes what is wanted of it, on all cores.
func (x *run) copyAll(ctx context.Context, jobs []*job, outs []*outFile) error {
	for _, o := range outs {
		if err := x.begin(ctx, o); err != nil {
			return err
		}
	}
	for _, j := range jobs {
		x.total += j.in.Size
	}
	x.progress(0)
	// Large ones first, so that no core ends with one alone.
	slices.SortStableFunc(jobs, func(a, b *job) int { return int(min(max(b.in.Size-a.in.Size, -1), 1)) })
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	next := make(chan *job)
	var wg sync.WaitGroup
	var once sync.Once
	var first error
	for range max(1, min(runtime.GOMAXPROCS(0), 4, len(jobs))) {
		wg.Go(func() {
			buf := &buffers{}
			for j := range next {
				if ctx.Err() != nil {
					continue
				}
				if err := x.copyOne(ctx, j, buf); err != nil {
					once.Do(func() { first = err })
					cancel()
				}
			}
		})
	}
	for _, j := range jobs {
		next <- j
	}
	close(next)
	wg.Wait()
	for _, o := range outs {
		if first == nil && ctx.Err() == nil && !o.done { // a file without any byte
			first = x.close(o)
		}
		if o.f != nil {
			o.f.Close()
		}
	}
	if first != nil {
		return first
	}
	return ctx.Err()
}

// begin makes the folders of a file, and looks for what a stopped run left of it.
func (x *run) begin(ctx context.Context, o *outFile) error {
	if err := makeParents(x.sys, o.path); err != nil {
		return err
	}
	there, err := exists(o.path)
	if err != nil || !there {
		return err
	}
	if t := o.target; t != nil && (t.from != "" || x.l.copyOf(t) != nil) {
		size, sum := t.size, t.sum
		if in := x.l.copyOf(t); in != nil {
			size, sum = in.Size, in.SHA256
		}
		same, err := sameFile(ctx, o.path, size, sum)
		if err != nil {
			return err
		}
		if same {
			o.kept, o.how = true, resumed
			return nil
		}
	}
	return x.sys.Remove(o.path)
}

// buffers are those of one worker.
type buffers struct{ two [2][]byte }

// copyOne reads an input, and writes its spans unless the file system can share its blocks.
func (x *run) copyOne(ctx context.Context, j *job, buf *buffers) error {
	spans := j.spans
	if o := j.whole(); o != nil && !o.kept {
		done, err := x.share(j, o)
		if err != nil {
			return err
		}
		if done {
			spans = nil
			o.missed = 0
		}
	}
	sum, err := x.stream(ctx, j, spans, buf)
	if err != nil {
		return err
	}
	if sum != j.in.SHA256 {
		return changed(j.root, j.file, "its SHA-256 is another")
	}
	for _, s := range j.spans {
		if s.out.drop != nil && s.out.drop.whole {
			s.out.drop.sum = sum
		}
		if err := x.end(s.out, s.to-s.from, spans == nil); err != nil {
			return err
		}
	}
	return nil
}

// share makes a whole copy without writing its bytes.
func (x *run) share(j *job, o *outFile) (bool, error) {
	from := j.root.hostOf(j.file)
	if x.opt.Link && linkable(j.root, j.file) && o.target != nil && (o.target.edit == nil || x.l.copyOf(o.target) != nil && x.l.closed(o.target)) {
		if err := x.sys.Link(from, o.path); err == nil {
			o.how = linked
			return true, nil
		} else if !crossDevice(err) {
			return false, err
		}
	}
	x.mu.Lock()
	try := !x.noClone && j.in.Size > 0
	x.mu.Unlock()
	if !try {
		return false, nil
	}
	err := x.sys.Clone(from, o.path)
	if errors.Is(err, errNoClone) {
		x.mu.Lock()
		x.noClone = true
		x.mu.Unlock()
		return false, nil
	}
	o.how = cloned
	return err == nil, err
}

// linkable: a broker appends to the last segment, writes its index files when it starts, and
// all other files anew. Only a .log before the last one of its folder may be shared.
func linkable(r *root, file string) bool {
	if !strings.HasSuffix(file, ".log") {
		return false
	}
	for name := range r.inputs {
		if strings.HasSuffix(name, ".log") && parent(name) == parent(file) && name > file {
			return true
		}
	}
	return false
}

func crossDevice(err error) bool {
	link, ok := errors.AsType[*os.LinkError](err)
	return ok && (strings.Contains(link.Err.Error(), "cross-device") || strings.Contains(link.Err.Error(), "not supported") || strings.Contains(link.Err.Error(), "not permitted"))
}
