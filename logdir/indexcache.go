package logdir

import (
	"kafsck/internal/rofs"
)

// Cached lists the files in a remote-log-index-cache, by name: indexes of remote segments that
// a broker fetched (RemoteIndexCache).
//
//	OFFSET "_" UUID "." ("index"|"timeindex"|"txnindex") [".deleted"|".tmp"]
//
// OFFSET, the first of the segment, is not padded, and UUID is the remote segment's id in URL-safe
// base64. All names are there, with KindOther, and Err where one could not be looked at. On an error
// the files that were seen before it are there.
func (f *File) Cached() ([]*File, error) {
	entries, err := f.fsys.ReadDir(f.name)
	if err != nil {
		err = plainError(err)
	}
	var out []*File
	for _, e := range entries {
		file := &File{
			Name: e.Name(), Path: joinShown(f.Path, e.Name()), Size: -1, Mode: e.Type(),
			Kind: KindOther, BaseOffset: -1, Epoch: -1, Suffix: SuffixOf(e.Name()), fsys: f.fsys, name: joinName(f.name, e.Name()),
		}
		info, statErr := rofs.Stat(f.fsys, file.name)
		if statErr != nil {
			file.Err = plainError(statErr)
		} else {
			file.Size, file.ModTime, file.Mode, file.Owner = info.Size(), info.ModTime(), info.Mode(), ownerOf(info)
		}
		out = append(out, file)
	}
	return out, err
}
