package manifest

import (
	"cmp"
	"slices"
)

// State is how a file stands to a manifest.
type State string

// The states of a file.
const (
	Same    State = "same"
	Changed State = "changed" // its SHA-256 is another
	Missing State = "missing" // the manifest has it, the tree has not
	Added   State = "added"   // the tree has it, the manifest has not
)

// Pair is a name with what manifest and tree say of it.
type Pair struct {
	Path   string
	Listed string // SHA-256 in the manifest, "" not there
	Was    Other  // what it is in the manifest, where that is no file
	File   *File  // nil: not in the tree
}

// Match joins entries and files by path, sorted. What is no file, and a folder that is empty, has a
// pair only if the manifest has the name: one that lists nothing but files does not say that there
// was nothing else.
//
// A folder that was empty and has something in it now is the same; what is in it is added. Of several entries of one path the last
// counts, as for a reader of the list; twice holds such paths.
func Match(entries []Entry, files []File) (pairs []Pair, twice []string) {
	listed := make(map[string]Entry, len(entries))
	for _, e := range entries {
		if _, ok := listed[e.Path]; ok {
			twice = append(twice, e.Path)
		}
		listed[e.Path] = e
	}
	for i := range files {
		e, ok := listed[files[i].Path]
		if files[i].Other != "" && !ok {
			continue
		}
		pairs = append(pairs, Pair{files[i].Path, e.SHA256, e.Other, &files[i]})
		delete(listed, files[i].Path)
	}
	var folders map[string]bool
	if expectsFolders(entries) {
		folders = foldersOf(files)
	}
	for name, e := range listed {
		p := Pair{name, e.SHA256, e.Other, nil}
		if e.Other.EmptyFolder() && folders[name] {
			p.File = &File{Path: name, Odd: "a folder", Other: emptyFolder}
		}
		pairs = append(pairs, p)
	}
	slices.SortFunc(pairs, func(a, b Pair) int { return cmp.Compare(a.Path, b.Path) })
	slices.Sort(twice)
	return pairs, slices.Compact(twice)
}

// State of a pair whose file has the SHA-256 sum, "" of what has none; sum is not asked of a pair
// that lacks one side.
func (p *Pair) State(sum string) State {
	switch {
	case p.File == nil:
		return Missing
	case p.Listed == "" && p.Was == "":
		return Added
	case p.Was != p.File.Other || p.Listed != sum:
		return Changed
	}
	return Same
}
