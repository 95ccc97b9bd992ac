package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"kafsck/repair"
)

type (
	// Done is what a run did: repair.json.
	Done    = repair.Done
	NotDone = repair.NotDone
)

// lostManifest is lost+found/manifest.json.
type lostManifest struct {
	Type    string           `json:"type"`
	Version int              `json:"version"`
	Plan    string           `json:"plan"`
	Dropped []repair.Dropped `json:"dropped"`
}

func (d *drop) told() repair.Dropped {
	t := repair.Dropped{Root: d.root.Path, File: d.file, From: d.from, To: d.to, Kept: d.kept(), SHA256: d.sum}
	if d.action != nil {
		t.Action = d.action.ID
	}
	if k := d.said; k != nil {
		t.FromOffset, t.ToOffset, t.Epoch, t.Why = k.From, k.To, k.Epoch, k.Why
	}
	return t
}

// count adds a file of the result.
func (x *run) count(o *outFile) {
	t := o.target
	if t == nil {
		return
	}
	if t.edit != nil && t.edit.Op == repair.Compose && x.l.copyOf(t) == nil {
		return
	}
	f := &x.done.Files
	switch o.how {
	case copied:
		f.Copied++
	case cloned:
		f.Cloned++
	case linked:
		f.Linked++
	case resumed:
		f.Resumed++
	}
}

// countEdits adds the files that edits make.
func (x *run) countEdits() {
	f := &x.done.Files
	for _, t := range x.l.files {
		if !x.stays(t) {
			f.Bytes += t.size
		}
		if t.edit == nil || x.l.copyOf(t) != nil {
			continue
		}
		switch t.edit.Op {
		case repair.Compose:
			f.Composed++
		case repair.Write, repair.Line:
			f.Written++
		case repair.Rebuild:
			f.Rebuilt++
		}
	}
}

func (x *run) note(format string, args ...any) {
	x.done.Notes = append(x.done.Notes, fmt.Sprintf(format, args...))
}

func sumOfBytes(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
