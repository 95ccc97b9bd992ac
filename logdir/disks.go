package logdir

import (
	"cmp"
	"path"
	"path/filepath"
)

// Disk tells what the folders' names say of a log directory: whether its own name only names a disk
// (d0, data1), in which folder that disk lies, and whether that folder's name ends in a number, as
// that of one broker does (broker-1). Names are hints, no proof.
func (d *LogDir) Disk() (folder string, numbered, ok bool) {
	full := cmp.Or(filepath.ToSlash(d.HostPath), d.Path)
	if !diskName.MatchString(path.Base(full)) {
		return "", false, false
	}
	folder = path.Dir(full)
	if diskName.MatchString(path.Base(folder)) {
		return folder, false, true
	}
	_, numbered = idFromName(path.Base(folder))
	return folder, numbered, true
}
