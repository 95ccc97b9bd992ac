package repair

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"kafsck/checkpoint"
	"kafsck/logdir"
	"kafsck/segment"
)

var (
	// ErrChanged says that an input is no longer what a plan was made from.
	ErrChanged = errors.New("changed since it was read")
	// ErrChanging says that an input was written to between two looks at it, so that
	// there is no plan.
	ErrChanging = errors.New("changed while it was read")
)

// Changed reports whether an error, of planning or of reading a log that had been
// listed, tells that an input was changed or removed meanwhile: not that the disk
// failed.
func Changed(err error) bool {
	if errors.Is(err, ErrChanged) || errors.Is(err, ErrChanging) {
		return true
	}
	// A .log that vanished, or is shorter than it was.
	read, ok := errors.AsType[*segment.ReadError](err)
	return ok && (errors.Is(read.Err, fs.ErrNotExist) || errors.Is(read.Err, io.ErrUnexpectedEOF))
}

// maxFile bounds the text files that are hashed: discovery reads no larger ones.
const maxFile = 16 << 20

// take adds the files that a copy's facts rest on to the plan's inputs.
func (p *EpochPlan) take(f *facts) error {
	dir := f.log.Partition
	old := Input{Path: f.oldFile().Path, Size: -1, Partition: dir}
	if dir.EpochsFile != nil {
		in, content, err := hashed(dir, dir.EpochsFile)
		if err != nil {
			return err
		}
		// The lines in the plan are those that discovery parsed.
		if again := checkpoint.ParseEpochs(content); !slices.Equal(again.Entries, dir.Epochs.Entries) {
			return fmt.Errorf("%s: %w", in.Path, ErrChanging)
		}
		old = in
	}
	p.Inputs = append(p.Inputs, old)
	if starts := dir.LogDir.LogStarts; starts != nil {
		in, _, err := hashed(dir, starts.File)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(p.Inputs, func(x Input) bool { return x.File == in.File }) {
			p.Inputs = append(p.Inputs, in)
		}
	}
	for _, s := range f.log.Segments {
		p.Inputs = append(p.Inputs, Input{Path: s.Log.Path, Size: s.Log.Size, ModTime: s.Log.ModTime, Partition: dir, File: s.Log})
	}
	return nil
}

func hashed(dir *logdir.Partition, f *logdir.File) (Input, []byte, error) {
	b, err := f.ReadAll(maxFile)
	if errors.Is(err, fs.ErrNotExist) { // discovery read it
		return Input{}, nil, fmt.Errorf("%s: %w: it is gone", f.Path, ErrChanging)
	}
	if err != nil {
		return Input{}, nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	sum := sha256.Sum256(b)
	return Input{Path: f.Path, Size: int64(len(b)), SHA256: hex.EncodeToString(sum[:]), ModTime: f.ModTime, Partition: dir, File: f}, bytes.Clone(b), nil
}

// Verify reads all inputs of the plan again and returns an error when one is not
// what the plan was made from, or when a segment came or went. errors.Is tells
// ErrChanged; anything else is a failed read.
func (p *EpochPlan) Verify() error {
	var seen []*logdir.Partition
	for i := range p.Inputs {
		in := &p.Inputs[i]
		if err := in.verify(); err != nil {
			return err
		}
		if slices.Contains(seen, in.Partition) {
			continue
		}
		seen = append(seen, in.Partition)
		if err := verifySegments(in.Partition); err != nil {
			return err
		}
	}
	return nil
}

// verifySegments holds the names of segments, swapped and cleaned ones too,
// against those that discovery saw.
func verifySegments(p *logdir.Partition) error {
	entries, err := p.LogDir.FS.ReadDir(p.Root)
	if err != nil {
		return fmt.Errorf("%s: %w", p.Dir, err)
	}
	var was, is []string
	for f := range p.AllFiles() {
		if strings.Contains(f.Name, ".log") {
			was = append(was, f.Name)
		}
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), ".log") {
			is = append(is, e.Name())
		}
	}
	slices.Sort(was)
	slices.Sort(is)
	if !slices.Equal(was, is) {
		return fmt.Errorf("%s: %w: segments came or went", p.Dir, ErrChanged)
	}
	return nil
}

// verify reads the input again and returns an error when it is not what the plan
// was made from.
func (in *Input) verify() error {
	if in.File == nil {
		switch _, err := in.Partition.LogDir.FS.Lstat(path.Join(in.Partition.Root, path.Base(in.Path))); {
		case err == nil:
			return fmt.Errorf("%s: %w: it did not exist", in.Path, ErrChanged)
		case !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%s: %w", in.Path, err)
		}
		return nil
	}
	if in.SHA256 != "" {
		now, _, err := hashed(in.Partition, in.File)
		if errors.Is(err, ErrChanging) {
			return fmt.Errorf("%s: %w: it is gone", in.Path, ErrChanged)
		}
		if err != nil {
			return err
		}
		if now.SHA256 != in.SHA256 {
			return fmt.Errorf("%s: %w", in.Path, ErrChanged)
		}
		return nil
	}
	h, err := in.File.Open()
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w: it is gone", in.Path, ErrChanged)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", in.Path, err)
	}
	defer h.Close()
	info, err := h.Stat()
	if err != nil {
		return fmt.Errorf("%s: %w", in.Path, err)
	}
	if info.Size() != in.Size || !info.ModTime().Equal(in.ModTime) {
		return fmt.Errorf("%s: %w: %d bytes of %s, was %d of %s", in.Path, ErrChanged, info.Size(), info.ModTime(), in.Size, in.ModTime)
	}
	return nil
}
