package manifest

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// Other is what a name is that has no checksum, as a list has it. It stands there in lines of their
// own, which are comments to sha256sum:
//
//	#kafsck "t-0/00000000000000000100.log" symbolic-link "/mnt/old/00000000000000000100.log"
//	#kafsck "t-1" empty-folder
//
// Names and what links say are quoted as in Go, so that any byte can stand there.
type Other string

const (
	otherPrefix  = "#kafsck "
	symbolicLink = "symbolic-link"
	emptyFolder  = Other("empty-folder")
)

// specials are the kinds of files that are neither regular nor a link.
var specials = []struct {
	mode  fs.FileMode
	other Other
}{
	{fs.ModeNamedPipe, "named-pipe"},
	{fs.ModeSocket, "socket"},
	{fs.ModeCharDevice, "character-device"},
	{fs.ModeDevice, "block-device"},
	{0, "no-file"},
}

func special(mode fs.FileMode) Other {
	for _, s := range specials {
		if mode&s.mode != 0 || s.mode == 0 {
			return s.other
		}
	}
	panic("not reached")
}

func linkTo(target string) Other { return Other(symbolicLink + " " + strconv.Quote(target)) }

// EmptyFolder reports whether it is a directory with nothing in it.
func (o Other) EmptyFolder() bool { return o == emptyFolder }

// Text says it in words: a symbolic link to "x".
func (o Other) Text() string {
	if to, ok := strings.CutPrefix(string(o), symbolicLink+" "); ok {
		return "a symbolic link to " + to
	}
	if o == emptyFolder {
		return "an empty folder"
	}
	return "a " + strings.ReplaceAll(string(o), "-", " ")
}

// parseOther parses what stands behind otherPrefix.
func parseOther(rest string) (e Entry, why string) {
	quoted, err := strconv.QuotedPrefix(rest)
	if err == nil {
		e.Path, err = strconv.Unquote(quoted)
	}
	kind, ok := strings.CutPrefix(rest[len(quoted):], " ")
	if err != nil || !ok || e.Path == "" {
		return e, fmt.Sprintf("behind %q stands no name in quotes and what it is", otherPrefix)
	}
	e.Other = Other(kind)
	if to, ok := strings.CutPrefix(kind, symbolicLink+" "); ok {
		target, err := strconv.Unquote(to)
		if err != nil {
			return e, "what the symbolic link says is not in quotes"
		}
		e.Other = linkTo(target)
		return e, ""
	}
	for _, s := range specials {
		if e.Other == s.other {
			return e, ""
		}
	}
	if e.Other == emptyFolder {
		return e, ""
	}
	return e, fmt.Sprintf("%q is none of the kinds that stand behind %q", kind, otherPrefix)
}

// foldersOf are the folders above some names.
func foldersOf(files []File) map[string]bool {
	out := map[string]bool{}
	for i := range files {
		name := files[i].Path
		for {
			at := strings.LastIndexByte(name, '/')
			if at < 0 || out[name[:at]] {
				break
			}
			name = name[:at]
			out[name] = true
		}
	}
	return out
}

// expectsFolders reports whether a list has folders that were empty.
func expectsFolders(entries []Entry) bool {
	return slices.ContainsFunc(entries, func(e Entry) bool { return e.Other.EmptyFolder() })
}
