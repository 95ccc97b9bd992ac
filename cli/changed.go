package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/dustin/go-humanize"

	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/segment"
)

// maxChanged is how many files a note about changes names.
const maxChanged = 5

// changed are the .log files of partitions that are not as they were when they were listed:
// something writes to them, and what was read of them is of no one moment.
type changed struct {
	paths []string // at most maxChanged
	n     int
	first string // what happened to the first
	// failed are the files that could not be asked: what was read of them may be of no one
	// moment, and nothing tells.
	failed []logdir.PathError
}

// look asks for size and time of a file once more.
func (x *changed) look(f *logdir.File) {
	if f.Kind != logdir.KindLog || f.Err != nil || !f.Mode.IsRegular() {
		return
	}
	fsys, name := f.Source()
	info, err := rofs.Stat(fsys, name)
	what := ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		what = "was deleted or renamed"
	case err != nil:
		x.failed = append(x.failed, logdir.PathError{Path: f.Path, Err: fmt.Errorf("asking whether it changed: %w", segment.PlainCause(err))})
		return
	case info.Size() > f.Size:
		what = fmt.Sprintf("grew by %s bytes", humanize.Comma(info.Size()-f.Size))
	case info.Size() < f.Size:
		what = fmt.Sprintf("shrank by %s bytes", humanize.Comma(f.Size-info.Size()))
	case !info.ModTime().Equal(f.ModTime):
		what = "was written to"
	default:
		return
	}
	if x.n++; x.n == 1 {
		x.first = what
	}
	if len(x.paths) < maxChanged {
		x.paths = append(x.paths, f.Path)
	}
}

// notes is the note about it, if there is one.
func (x *changed) notes() []logdir.Note {
	if x.n == 0 {
		return nil
	}
	text := fmt.Sprintf("%s %s while it was read", x.paths[0], x.first)
	if x.n > 1 {
		text = fmt.Sprintf("%s .log files changed while they were read: %s %s; ", humanize.Comma(int64(x.n)), x.paths[0], x.first)
		text += "also " + strings.Join(x.paths[1:], ", ")
		if more := x.n - len(x.paths); more > 0 {
			text += fmt.Sprintf(" and %s more", humanize.Comma(int64(more)))
		}
	}
	text += ": a process is writing here, and what is said of the end of these logs may hold no longer. For a certain answer stop the broker, or look at a copy."
	return []logdir.Note{{Kind: logdir.NoteChanged, Paths: x.paths, Text: text}}
}

// changes are the notes about files that changed while the partitions were read. Files that could
// not be asked are failed reads from then on, in s.late and among the errors.
func (s *session) changes() []logdir.Note {
	if s.read == nil {
		return nil
	}
	var x changed
	for _, b := range s.c.Brokers {
		for _, d := range b.Dirs {
			for _, p := range partitionsOf(d) {
				if p != d.Metadata && !s.read(p.Topic, p.Partition) {
					continue
				}
				for _, seg := range p.Segments {
					if seg.Log != nil {
						x.look(seg.Log)
					}
				}
			}
		}
	}
	if s.late = x.failed; len(s.late) > 0 {
		s.app.fail(exitIncomplete)
	}
	return x.notes()
}
