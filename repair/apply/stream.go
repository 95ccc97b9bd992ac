package apply

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// chunk is how many bytes are read at a time: what stays in a core's cache from the read to the hash
// and the write.
const chunk = 256 << 10

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
	upcoming := make([]*span, 0, len(spans)) // by where they begin
	for k := range spans {
		upcoming = append(upcoming, &spans[k])
	}
	slices.SortStableFunc(upcoming, func(a, b *span) int { return cmp.Compare(a.from, b.from) })
	var open []*span   // those that the bytes at hand can be a part of
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
		for len(upcoming) > 0 && upcoming[0].from < at+int64(n) {
			open, upcoming = append(open, upcoming[0]), upcoming[1:]
		}
		for _, s := range open {
			if err := x.put(s, b, at); err != nil {
				return "", err
			}
		}
		at += int64(n)
		open = slices.DeleteFunc(open, func(s *span) bool { return s.to <= at })
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
