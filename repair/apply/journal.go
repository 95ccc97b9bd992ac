package apply

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kafsck/repair"
)

// state of a journal.
type state string

const (
	stateMove state = "move" // files are on their way to the new state
	stateDone state = "done"
	stateUndo state = "undo" // on their way back
	stateGone state = "undone"
)

// journal says what an in-place repair moves in one root. Where a move stands is told by the
// files that are there, so that any of them can be repeated:
//
//	root/F   old/F   new/F
//	before   -       after    nothing was moved
//	-        before  after    the original is aside
//	after    before  -        done
type journal struct {
	dir string // the backup folder

	Type      string   `json:"type"` // "repair-journal"
	Version   int      `json:"version"`
	Plan      string   `json:"plan"` // id
	State     state    `json:"state"`
	Root      string   `json:"root"`
	Partition bool     `json:"partition,omitempty"`
	All       []string `json:"all"` // the backup folders of the whole run
	Moves     []move   `json:"moves"`
	Removed   []string `json:"removedFolders,omitempty"`
	Made      []string `json:"madeFolders,omitempty"`
	// Stays and Folders are what the repair leaves as it is, to tell later whether something
	// else has written: files, and folders.
	Stays   []stay   `json:"stays"`
	Folders []string `json:"folders"`
}

// stay is a file that the repair does not touch.
type stay struct {
	File    string    `json:"file"` // as in the plan
	Size    int64     `json:"size"`
	SHA256  string    `json:"sha256"`
	ModTime time.Time `json:"modTime"`
}

// move is a file that changes.
type move struct {
	File   string `json:"file"` // as in the plan
	Old    bool   `json:"old"`  // there is an original
	New    bool   `json:"new"`  // there is a new one
	Size   int64  `json:"size"` // of the new one
	SHA256 string `json:"sha256,omitempty"`
	// Of the original.
	OldSize   int64  `json:"oldSize"`
	OldSHA256 string `json:"oldSHA256,omitempty"`
}

// maxJournal bounds what is read of a journal.
const maxJournal = 1 << 30

func readJournal(dir string) (*journal, error) {
	at := filepath.Join(dir, journalName)
	info, err := os.Stat(at)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxJournal {
		return nil, refused("%s is no journal of kafsck; nothing was changed", at)
	}
	b, err := os.ReadFile(at)
	if err != nil {
		return nil, err
	}
	j := &journal{dir: dir}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(j); err != nil {
		return nil, refused("%s cannot be read as a journal: %v; nothing was changed", at, err)
	}
	if j.Type != "repair-journal" || j.Version != repair.DoneVersion || !goodID(j.Plan) || !filepath.IsAbs(j.Root) || !strings.HasSuffix(dir, ".kafsck-"+j.Plan) {
		return nil, refused("%s is no journal of version %d; nothing was changed", at, repair.DoneVersion)
	}
	for _, list := range [][]string{j.Removed, j.Made, j.Folders} {
		for _, name := range list {
			if !fs.ValidPath(name) || name == "." {
				return nil, refused("%s names the folder %q; nothing was changed", at, name)
			}
		}
	}
	for _, m := range j.Moves {
		switch {
		case !fs.ValidPath(m.File) || m.File == ".":
			return nil, refused("%s names the file %q; nothing was changed", at, m.File)
		case m.Old && m.OldSHA256 == "" || m.New && m.SHA256 == "":
			return nil, refused("%s has no SHA-256 of %q; nothing was changed", at, m.File)
		}
	}
	return j, nil
}

// write puts the journal in place with another state, by one rename.
func (j *journal) write(sys system, s state) error {
	j.State = s
	b, err := json.MarshalIndent(j, "", " ")
	if err != nil {
		return err
	}
	at, tmp := filepath.Join(j.dir, journalName), filepath.Join(j.dir, journalName+".tmp")
	if there, err := exists(tmp); err != nil {
		return err
	} else if there {
		if err := sys.Remove(tmp); err != nil {
			return err
		}
	}
	if err := writeFile(sys, tmp, append(b, '\n')); err != nil {
		return err
	}
	if err := sys.Rename(tmp, at); err != nil {
		return err
	}
	return sys.SyncDir(j.dir)
}

func (j *journal) inRoot(file string) string {
	if j.Partition {
		_, rest, _ := strings.Cut(file, "/")
		file = rest
	}
	return filepath.Join(j.Root, filepath.FromSlash(file))
}

func (j *journal) aside(folder, file string) string {
	return filepath.Join(j.dir, folder, filepath.FromSlash(file))
}

// forward moves the originals aside, makes that durable, and moves the new files in.
func (j *journal) forward(sys system) error {
	for i := range j.Moves {
		m := &j.Moves[i]
		if !m.Old {
			continue
		}
		at, old := j.inRoot(m.File), j.aside(oldFolder, m.File)
		if moved, err := exists(old); err != nil {
			return err
		} else if moved {
			continue
		}
		if err := makeParents(sys, old); err != nil {
			return err
		}
		if err := sys.Rename(at, old); err != nil {
			return err
		}
	}
	if err := j.syncFolders(sys); err != nil {
		return err
	}
	for _, dir := range j.Removed {
		if err := j.keepLooks(sys, dir); err != nil {
			return err
		}
	}
	for _, dir := range slices.Backward(j.Removed) { // deepest first: they are sorted
		if err := removeEmpty(sys, j.inRoot(dir)); err != nil {
			return err
		}
	}
	for i := range j.Moves {
		m := &j.Moves[i]
		if !m.New {
			continue
		}
		at, fresh := j.inRoot(m.File), j.aside(newFolder, m.File)
		if waits, err := exists(fresh); err != nil {
			return err
		} else if !waits {
			continue
		}
		if taken, err := exists(at); err != nil {
			return err
		} else if taken {
			return refused("%s is there, though it was moved aside: something else writes here", at)
		}
		if err := makeParents(sys, at); err != nil {
			return err
		}
		if err := sys.Rename(fresh, at); err != nil {
			return err
		}
	}
	return j.syncFolders(sys)
}

// keepLooks gives the folder among the originals the mode and owner of one that is removed.
func (j *journal) keepLooks(sys system, dir string) error {
	info, err := os.Lstat(j.inRoot(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	old := j.aside(oldFolder, dir)
	if err := makeParents(sys, filepath.Join(old, "x")); err != nil {
		return err
	}
	return sys.Dress(old, info)
}

func removeEmpty(sys system, dir string) error {
	if there, err := exists(dir); err != nil || !there {
		return err
	}
	return sys.Remove(dir)
}

// syncFolders makes the names of all moves durable.
func (j *journal) syncFolders(sys system) error {
	seen := map[string]bool{}
	for i := range j.Moves {
		for _, p := range []string{j.inRoot(j.Moves[i].File), j.aside(oldFolder, j.Moves[i].File), j.aside(newFolder, j.Moves[i].File)} {
			dir := filepath.Dir(p)
			if seen[dir] {
				continue
			}
			seen[dir] = true
			if there, err := exists(dir); err != nil {
				return err
			} else if !there {
				continue
			}
			if err := sys.SyncDir(dir); err != nil {
				return err
			}
		}
	}
	return nil
}
