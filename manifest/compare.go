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
	File   *File  // nil: not in the tree
}

// Match joins entries and files by path, sorted. Of several entries of one path the last
// counts, as for a reader of the list; twice holds such paths.
func Match(entries []Entry, files []File) (pairs []Pair, twice []string) {
	listed := make(map[string]string, len(entries))
	for _, e := range entries {
		if _, ok := listed[e.Path]; ok {
			twice = append(twice, e.Path)
		}
		listed[e.Path] = e.SHA256
	}
	for i := range files {
		pairs = append(pairs, Pair{files[i].Path, listed[files[i].Path], &files[i]})
		delete(listed, files[i].Path)
	}
	for name, sum := range listed {
		pairs = append(pairs, Pair{name, sum, nil})
	}
	slices.SortFunc(pairs, func(a, b Pair) int { return cmp.Compare(a.Path, b.Path) })
	slices.Sort(twice)
	return pairs, slices.Compact(twice)
}

// State of a pair whose file has the SHA-256 sum; sum is not asked of a pair that lacks
// one side.
func (p *Pair) State(sum string) State {
	switch {
	case p.File == nil:
		return Missing
	case p.Listed == "":
		return Added
	case p.Listed != sum:
		return Changed
	}
	return Same
}
