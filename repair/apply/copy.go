package apply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"kafsck/repair"
)

// chunk is how many bytes are read at a time.
const chunk = 1 << 20

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
		for _, name := range sortedKeys(r.inputs) {
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

// newest is the file of a folder that was written last.
func newest(r *root, dir string) fs.FileInfo {
	var best fs.FileInfo
	for _, name := range sortedKeys(r.inputs) {
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
	if t := o.target; t != nil && t.from != "" {
		same, err := sameFile(ctx, o.path, t.size, t.sum)
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

// sameFile reports whether a file has this size and SHA-256.
func sameFile(ctx context.Context, path string, size int64, sum string) (bool, error) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() != size {
		return false, err
	}
	got, err := sumOf(ctx, path)
	return got == sum, err
}

// sumOf is the SHA-256 of a file.
func sumOf(ctx context.Context, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.CopyBuffer(hash, &stoppable{ctx, f}, make([]byte, chunk)); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

type stoppable struct {
	ctx context.Context
	r   io.Reader
}

func (s *stoppable) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(p)
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
	if x.opt.Link && linkable(j.root, j.file) && o.target != nil && o.target.edit == nil {
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

// stream reads an input whole, and returns its SHA-256. Hashing and writing go on side by
// side.
func (x *run) stream(ctx context.Context, j *job, spans []span, buf *buffers) (string, error) {
	h, err := j.root.fsys.Open(j.root.inside(j.file))
	if errors.Is(err, fs.ErrNotExist) {
		return "", changed(j.root, j.file, "it is gone")
	}
	if err != nil {
		return "", err
	}
	defer h.Close()
	hash := sha256.New()
	var at, head int64 // head: where a file ends that is the head of this input
	for k := range spans {
		if s := &spans[k]; s.from == 0 && s.to == s.out.size && s.to < j.in.Size {
			head = s.to
		}
	}
	var pending chan struct{} // the hash of the chunk before
	wait := func() {
		if pending != nil {
			<-pending
		}
	}
	defer wait()
	for i := 0; ; i ^= 1 {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		want := int(min(chunk, j.in.Size-at+1))
		if at < head {
			want = int(min(chunk, head-at))
		}
		if len(buf.two[i]) < want {
			buf.two[i] = make([]byte, want)
		}
		b := buf.two[i][:want]
		n, err := h.ReadAt(b, at)
		b = b[:n]
		if err != nil && err != io.EOF {
			return "", err
		}
		if at+int64(n) > j.in.Size {
			return "", changed(j.root, j.file, "it has grown")
		}
		wait()
		pending = nil
		if n < 64<<10 {
			hash.Write(b)
		} else {
			pending = make(chan struct{})
			go func(b []byte, done chan struct{}) { hash.Write(b); close(done) }(b, pending)
		}
		for k := range spans {
			if err := x.put(&spans[k], b, at); err != nil {
				return "", err
			}
		}
		at += int64(n)
		if at == head {
			wait()
			pending = nil
			for k := range spans {
				// The SHA-256 of the input's head is that of a file that is nothing else.
				if s := &spans[k]; s.from == 0 && s.to == at && s.out.size == at && s.out.target != nil {
					s.out.target.sum = hex.EncodeToString(hash.Sum(nil))
				}
			}
		}
		x.progress(int64(n))
		if err == io.EOF {
			break
		}
	}
	wait()
	pending = nil
	if at != j.in.Size {
		return "", changed(j.root, j.file, fmt.Sprintf("it ends at byte %d", at))
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// put writes what a span wants of the bytes that stand at a position of its input.
func (x *run) put(s *span, b []byte, at int64) error {
	from, to := max(s.from, at), min(s.to, at+int64(len(b)))
	if from >= to || s.out.kept {
		return nil
	}
	f, err := x.file(s.out)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b[from-at:to-at], s.at+from-s.from)
	return err
}

// file opens a file at its first byte.
func (x *run) file(o *outFile) (writer, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.f == nil {
		f, err := x.sys.Create(o.path)
		if err != nil {
			return nil, err
		}
		o.f = f
	}
	return o.f, nil
}

// end notes that n bytes more have arrived, and closes a file that is complete.
func (x *run) end(o *outFile, n int64, shared bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !shared {
		o.missed -= n
	}
	if o.missed > 0 {
		return nil
	}
	return x.close(o)
}

func (x *run) close(o *outFile) error {
	o.done = true
	if o.kept {
		return nil
	}
	if o.size == 0 && o.how == copied && o.f == nil {
		f, err := x.sys.Create(o.path)
		if err != nil {
			return err
		}
		o.f = f
	}
	if o.f != nil {
		f := o.f
		o.f = nil
		if err := f.Close(); err != nil {
			return err
		}
	}
	if o.how == linked || o.as == nil {
		return nil
	}
	return x.sys.Dress(o.path, o.as)
}
