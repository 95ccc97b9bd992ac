package outfile

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// DirFile is a file under way inside a Dir, for content that comes piece by piece. Close
// it before Commit.
type DirFile struct {
	name string
	f    *os.File
	w    *bufio.Writer
}

// Create begins a file in the directory; see WriteFile for the name.
func (d *Dir) Create(name string) (*DirFile, error) {
	if !fs.ValidPath(name) || name == "." {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrInvalid}
	}
	if err := d.makeFolder(path.Dir(name)); err != nil {
		return nil, err
	}
	f, err := d.root.OpenFile(filepath.FromSlash(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	return &DirFile{name: name, f: f, w: bufio.NewWriterSize(f, bufferSize)}, nil
}

// Write implements io.Writer.
func (f *DirFile) Write(p []byte) (int, error) { return f.w.Write(p) }

// Close ends the file, flushed to disk. Without it the file is not whole, which Discard of
// its Dir makes good.
func (f *DirFile) Close() error {
	err := f.w.Flush()
	if err == nil {
		err = f.f.Sync()
	}
	if closeErr := f.f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", f.name, err)
	}
	return nil
}
