package manifest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"time"

	"kafsck/internal/rofs"
)

// File is one name of a tree that is no directory.
type File struct {
	Path    string    // slash path below the root of the tree
	Size    int64     // bytes; of a regular file
	ModTime time.Time // of a regular file
	// Odd is empty for a regular file, else what it is instead: it is never opened.
	Odd string
	// Other says the same as a list has it; "" of a regular file.
	Other Other
}

// ErrChanging says that a file was written to while it was read: its checksum is that of
// no moment.
var ErrChanging = errors.New("it changed while it was read")

// Files lists what is below dir, sorted by path, directories left out. failed is told of
// each directory or entry that could not be looked at; the rest is listed all the same.
func Files(fsys rofs.FS, dir string, failed func(name string, err error)) []File {
	return slices.DeleteFunc(Tree(fsys, dir, failed), func(f File) bool { return f.Other.EmptyFolder() })
}

// Tree is Files, with the directories that have nothing in them.
func Tree(fsys rofs.FS, dir string, failed func(name string, err error)) []File {
	var out []File
	var walk func(string)
	walk = func(dir string) {
		entries, err := fsys.ReadDir(dir)
		if err != nil {
			failed(dir, err)
		} else if len(entries) == 0 && dir != "." {
			out = append(out, File{Path: dir, Odd: "an empty folder", Other: emptyFolder})
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			if e.IsDir() {
				walk(name)
				continue
			}
			info, err := e.Info()
			if err != nil {
				failed(name, err)
				continue
			}
			f := File{Path: name}
			switch mode := info.Mode(); {
			case mode.IsRegular():
				f.Size, f.ModTime = info.Size(), info.ModTime()
			case mode&fs.ModeSymlink != 0:
				f.Odd = "a symbolic link"
				to, err := rofs.Readlink(fsys, name)
				if err != nil {
					failed(name, err)
				}
				f.Other = linkTo(to)
			default:
				f.Odd, f.Other = "no regular file", special(mode)
			}
			out = append(out, f)
		}
	}
	walk(dir)
	slices.SortFunc(out, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// chunk is how much is read at a time.
const chunk = 1 << 20

// Sum reads a regular file whole and returns its SHA-256 in hexadecimal. read is told of
// the bytes as they come; it may be nil.
//
// The error is ErrChanging (wrapped) when size or modification time are others afterwards,
// or the size is not the one that was listed; else a failed read.
func Sum(ctx context.Context, fsys rofs.FS, f File, read func(bytes int64)) (string, error) {
	h, err := fsys.Open(f.Path)
	if err != nil {
		return "", err
	}
	defer h.Close()
	hash := sha256.New()
	buf := make([]byte, min(chunk, max(f.Size, 512)))
	var at int64
	for {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n, err := h.ReadAt(buf, at)
		hash.Write(buf[:n])
		at += int64(n)
		if read != nil {
			read(int64(n))
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", err
		}
	}
	info, err := h.Stat()
	if err != nil {
		return "", err
	}
	if at != f.Size || info.Size() != at || !info.ModTime().Equal(f.ModTime) {
		return "", fmt.Errorf("%w: %d bytes were listed, %d read, and it has %d now", ErrChanging, f.Size, at, info.Size())
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
