package apply

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"kafsck/checkpoint"
	"kafsck/epoch"
	"kafsck/internal/outfile"
	"kafsck/repair"
)

// Refused is an act that was refused for safety. Nothing was written.
type Refused struct{ Reason string }

func (r *Refused) Error() string { return r.Reason }

func refused(format string, args ...any) error { return &Refused{fmt.Sprintf(format, args...)} }

// File is one file to write.
type File struct {
	Name string // slash path below OUT
	Plan *repair.EpochPlan
}

// dir is what Epochs needs of outfile.Dir; tests put one that fails in its place.
type dir interface {
	WriteFile(name string, r io.Reader, modTime time.Time) error
	Commit() error
	Discard()
}

// Epochs writes the new leader-epoch-checkpoint of each plan below the directory
// out, which must not exist, and verifies them. keepOut are host paths below which
// nothing may be written: the inputs.
//
// The error is a *Refused, or a failed read or write.
func Epochs(out string, keepOut []string, files []File) error {
	if err := MayCreate(out, keepOut); err != nil {
		return err
	}
	return write(out, files, func() (dir, error) { return outfile.NewDir(out) })
}

// MayCreate says whether Epochs would create the directory out: a *Refused when it
// exists or lies inside an input.
func MayCreate(out string, keepOut []string) error {
	if _, err := os.Lstat(out); err == nil {
		return refused("%s exists; nothing was written", out)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, in := range append([]string{""}, keepOut...) { // "": without inputs the folder must exist as well
		inside, err := outfile.Inside(out, in)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%s: the folder it should lie in does not exist: make %s first", out, filepath.Dir(filepath.Clean(out)))
		case err != nil:
			return fmt.Errorf("%s: its folder: %w", out, err)
		case inside && in != "":
			return refused("%s lies inside the input %s, which is never changed; nothing was written", out, in)
		}
	}
	return nil
}

func write(out string, files []File, open func() (dir, error)) error {
	for _, f := range files {
		if f.Plan.Live {
			return refused("a running broker holds the lock on the log directory of %s: stop it, or work on a copy; nothing was written", f.Plan.Dir)
		}
	}
	d, err := open()
	if err != nil {
		if errors.Is(err, outfile.ErrExists) {
			return refused("%s exists; nothing was written", out)
		}
		return err
	}
	defer d.Discard()
	for _, f := range files {
		if err := d.WriteFile(f.Name, bytes.NewReader(f.Plan.Text()), time.Time{}); err != nil {
			return err
		}
	}
	// As late as possible: what is written must be true of the inputs as they are.
	for _, f := range files {
		if err := f.Plan.Verify(); err != nil {
			if errors.Is(err, repair.ErrChanged) {
				return refused("%v; nothing was written", err)
			}
			return err
		}
	}
	if err := d.Commit(); err != nil {
		if errors.Is(err, outfile.ErrExists) {
			return refused("%s exists; nothing was written", out)
		}
		return err
	}
	for _, f := range files {
		if err := verify(filepath.Join(out, filepath.FromSlash(f.Name)), f.Plan); err != nil {
			return err
		}
	}
	return nil
}

// verify reads a file back from where it will be taken.
func verify(path string, p *repair.EpochPlan) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	parsed := checkpoint.ParseEpochs(b)
	switch {
	case !bytes.Equal(b, p.Text()):
		return fmt.Errorf("%s: what was read back is not what was written", path)
	case parsed.Malformed != nil:
		return fmt.Errorf("%s: %v", path, parsed.Malformed)
	case !slices.Equal(epoch.Load(parsed.Entries), p.Cache()):
		return fmt.Errorf("%s: Kafka would not hold these entries as they are written", path)
	}
	return nil
}
