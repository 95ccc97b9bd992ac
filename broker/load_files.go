package broker

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"kafsck/internal/rofs"
	"kafsck/logdir"
)

// modelFile is a file of the directory as the load finds it, or as it would leave it.
//
//	0           held                       size
//	+-----------+--------------------------+
//	| bytes of  | zero bytes (an index that|
//	| src       | was grown)               |
//	+-----------+--------------------------+
//
// An index that the load built, and a snapshot that it wrote, have their content in memory.
type modelFile struct {
	name      string
	src       *logdir.File // nil for none
	off, held int64        // its bytes [off, off+held)
	size      int64
	made      bool // by the load: it was not there before

	offsets *builtOffsets // of a .index
	times   []timeEntry   // of a .timeindex
	isBuilt bool          // offsets or times are the content
	state   []producer    // of a .snapshot that the load wrote
	isState bool          // state is the content
	broken  bool          // written over a longer file: its CRC does not verify
}

// modelDir is the directory as it changes during the load.
type modelDir struct {
	files map[string]*modelFile // regular ones
	// others are names of entries that are no regular files, which Kafka mostly passes over
	// (File.isFile), and which it cannot open where it needs a file of that name.
	others map[string]bool
}

func newModelDir(p *logdir.Partition) (*modelDir, error) {
	d := &modelDir{files: map[string]*modelFile{}, others: map[string]bool{}}
	for f := range p.AllFiles() {
		switch {
		case f.Mode.IsRegular() && f.Size >= 0:
			d.files[f.Name] = &modelFile{name: f.Name, src: f, held: f.Size, size: f.Size}
		case f.Mode.IsDir(), errors.Is(f.Err, rofs.ErrNotRegular):
			d.others[f.Name] = true
		case errors.Is(f.Err, fs.ErrNotExist): // a link to nothing: neither a file nor in the way of one
		case f.Err != nil:
			return nil, fmt.Errorf("%s: %w", f.Path, f.Err)
		default:
			d.others[f.Name] = true
		}
	}
	return d, nil
}

// list returns the names of regular files in order. Kafka's own order (File.listFiles) is that of
// the file system, except where it sorts.
func (d *modelDir) list() []string {
	names := make([]string, 0, len(d.files))
	for n := range d.files {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// exists is File.exists.
func (d *modelDir) exists(name string) bool { return d.files[name] != nil || d.others[name] }

// open returns a file that is there or makes an empty one, as FileChannel.open with CREATE does.
func (d *modelDir) open(name string) (f *modelFile, created bool, err error) {
	if d.others[name] {
		return nil, false, throw(ioException, "FileSystemException", name, "is not a regular file")
	}
	if f := d.files[name]; f != nil {
		return f, false, nil
	}
	f = &modelFile{name: name, made: true}
	d.files[name] = f
	return f, true, nil
}

// rename moves a file over whatever has the new name.
func (d *modelDir) rename(f *modelFile, to string) error {
	if d.others[to] {
		return throw(ioException, "FileSystemException", to, "is in the way of a rename")
	}
	if d.files[f.name] == f {
		delete(d.files, f.name)
	}
	f.name = to
	d.files[to] = f
	return nil
}

// resize sets the size, as RandomAccessFile.setLength does.
func (f *modelFile) resize(size int64) {
	f.held = min(f.held, size)
	f.size = size
}

// segmentName is LogFileUtils.filenamePrefixFromOffset and what follows it.
func segmentName(base int64, ext string) string {
	if base < 0 {
		return fmt.Sprintf("-%020d%s", -uint64(base), ext)
	}
	return fmt.Sprintf("%020d%s", base, ext)
}

// offsetFromFileName is the number before the first dot, as LogFileUtils.offsetFromFileName reads
// it: no 20 digits are asked for.
func offsetFromFileName(name string) (int64, error) {
	prefix, _, dot := strings.Cut(name, ".")
	if !dot {
		return 0, throw(unchecked, "StringIndexOutOfBoundsException", name, "the name has no dot")
	}
	n, err := strconv.ParseInt(asciiDigits(prefix), 10, 64)
	if err != nil {
		return 0, throw(unchecked, "NumberFormatException", name, "%q before the first dot is no offset", prefix)
	}
	return n, nil
}

// asciiDigits turns the decimal digits of any script into ASCII ones, as Long.parseLong takes them.
func asciiDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 || !unicode.Is(unicode.Nd, r) {
			return r
		}
		for _, t := range unicode.Nd.R16 {
			if r >= rune(t.Lo) && r <= rune(t.Hi) {
				return '0' + (r-rune(t.Lo))%10
			}
		}
		for _, t := range unicode.Nd.R32 {
			if r >= rune(t.Lo) && r <= rune(t.Hi) {
				return '0' + (r-rune(t.Lo))%10
			}
		}
		return r
	}, s)
}

const (
	// firstRead is the size in bytes of a read at a new place, readAhead that of one read of many
	// in a row. A clean start looks at a few headers only.
	firstRead = 4 << 10
	readAhead = 1 << 20
	// maxHandles is how many files a load holds open.
	maxHandles = 8
)

// fileReader reads the files of one load. It holds one window of one file.
type fileReader struct {
	handles map[*logdir.File]rofs.File
	f       *logdir.File
	buf     []byte // buf[:n] are the bytes [pos, pos+n) of f
	pos     int64
	n       int
	ask     int // size of the next read
}

func (r *fileReader) close() {
	for _, h := range r.handles {
		h.Close()
	}
	r.handles = nil
}

func (r *fileReader) handle(f *logdir.File) (rofs.File, error) {
	if h := r.handles[f]; h != nil {
		return h, nil
	}
	h, err := f.Open()
	if err != nil {
		return nil, err
	}
	if len(r.handles) >= maxHandles {
		r.close()
	}
	if r.handles == nil {
		r.handles = map[*logdir.File]rofs.File{}
	}
	r.handles[f] = h
	return h, nil
}

// bytes returns the n bytes of f at pos, which must lie within what is held of the source. They are
// borrowed until the next call. n is at most readAhead.
func (r *fileReader) bytes(f *modelFile, pos, n int64) ([]byte, error) {
	if pos < 0 || n < 0 || n > readAhead || pos+n > f.held {
		panic("broker: read beyond a file")
	}
	at := f.off + pos
	if r.f == f.src && at >= r.pos && at+n <= r.pos+int64(r.n) {
		return r.buf[at-r.pos:][:n], nil
	}
	h, err := r.handle(f.src)
	if err != nil {
		return nil, err
	}
	if r.buf == nil {
		r.buf = make([]byte, readAhead)
	}
	keep := 0
	if r.f == f.src && at >= r.pos && at <= r.pos+int64(r.n) { // goes on where the window ends
		keep = copy(r.buf, r.buf[at-r.pos:r.n])
		r.ask = min(2*max(r.ask, firstRead), readAhead)
	} else {
		r.ask = firstRead
	}
	r.f, r.pos, r.n = f.src, at, keep
	want := max(int(n), min(r.ask, readAhead))
	if end := f.off + f.held; at+int64(want) > end {
		want = int(end - at)
	}
	k, err := h.ReadAt(r.buf[keep:want], at+int64(keep))
	r.n += k
	if int64(r.n) < n {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // cut while it was read
		}
		r.f = nil
		return nil, fmt.Errorf("%s: reading %d bytes at position %d: %w", f.src.Path, n, at, err)
	}
	return r.buf[:n], nil
}

// small reads n bytes at pos, also zero bytes behind the source, into memory of their own and
// without moving the window.
func (r *fileReader) small(f *modelFile, pos, n int64) ([]byte, error) {
	b := make([]byte, n)
	if pos >= f.held {
		return b, nil
	}
	h, err := r.handle(f.src)
	if err != nil {
		return nil, err
	}
	have := min(n, f.held-pos)
	if k, err := h.ReadAt(b[:have], f.off+pos); int64(k) < have {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("%s: reading %d bytes at position %d: %w", f.src.Path, have, f.off+pos, err)
	}
	return b, nil
}
