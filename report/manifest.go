package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"kafsck/manifest"
)

// InputFile is one file of the inputs with its checksum.
type InputFile struct {
	Path   string         // as in the list
	File   *manifest.File // nil: not there
	SHA256 string         // "" not read
	Listed string         // in the list that it was held against, "" none
	Was    manifest.Other // in that list, where it is no file
	State  manifest.State // "" not held against a list
}

// changed says how a file differs that is, or was, none.
func (f *InputFile) changed() string {
	of := func(o manifest.Other) string {
		if o == "" {
			return "a file"
		}
		return o.Text()
	}
	if f.File == nil || f.State != manifest.Changed || f.Was == f.File.Other {
		return ""
	}
	return fmt.Sprintf(": was %s, is %s", of(f.Was), of(f.File.Other))
}

type inputFileLine struct {
	Type       string  `json:"type"`
	Path       string  `json:"path"`
	PathBytes  []byte  `json:"pathBytes,omitempty"` // of a name that is not UTF-8
	Size       *int64  `json:"size"`
	ModifiedMs *int64  `json:"modifiedMs"`
	SHA256     *string `json:"sha256"`
	Other      string  `json:"other,omitempty"`
	State      string  `json:"state,omitempty"`
	Listed     string  `json:"listed,omitempty"`
	Was        string  `json:"listedOther,omitempty"`
}

// InputFile writes a line of the type input-file.
func (j *JSON) InputFile(f *InputFile) {
	l := inputFileLine{Type: "input-file", Path: f.Path, SHA256: text(f.SHA256), State: string(f.State), Listed: f.Listed, Was: string(f.Was)}
	if !utf8.ValidString(f.Path) {
		l.PathBytes = []byte(f.Path)
	}
	if f.File != nil && f.File.Other != "" {
		l.Other = string(f.File.Other)
	} else if f.File != nil {
		ms := f.File.ModTime.UnixMilli()
		l.Size, l.ModifiedMs = &f.File.Size, &ms
	}
	j.Line(l)
}

// Verified is what a tree looks like beside a manifest.
type Verified struct {
	List       string // the manifest's name as it was typed
	Same       int
	Different  []InputFile // changed, missing, added; by path
	LeftOut    int         // names that are no files and no folders: what they lead to is not compared
	Incomplete bool        // something could not be read
}

// Add takes a file that was held against the list.
func (v *Verified) Add(f InputFile) {
	if f.State == manifest.Same {
		v.Same++
		return
	}
	v.Different = append(v.Different, f)
}

// Print writes the verdict, then a line for each file that differs.
func (v *Verified) Print(w io.Writer) error {
	n := map[manifest.State]int{}
	for i := range v.Different {
		n[v.Different[i].State]++
	}
	same := count(v.Same, "file is", "files are") + " as listed in " + Escape(v.List)
	switch {
	case len(v.Different) > 0:
		fmt.Fprintf(w, "DIFFERENT  %s changed, %s missing, %s not in the list; %s\n", comma(n[manifest.Changed]), comma(n[manifest.Missing]), comma(n[manifest.Added]), same)
	case v.LeftOut > 0:
		fmt.Fprintf(w, "INCOMPLETE  %s; %s\n", same, noFiles(v.LeftOut))
	case v.Incomplete:
		fmt.Fprintf(w, "INCOMPLETE  %s, but not everything could be read\n", same)
	default:
		fmt.Fprintf(w, "OK     %s, and there is no other\n", same)
	}
	for i := range v.Different {
		f := &v.Different[i]
		if _, err := fmt.Fprintf(w, "%-8s  %s%s\n", f.State, Escape(f.Path), Escape(f.changed())); err != nil {
			return err
		}
	}
	if v.otherPaths() {
		_, err := io.WriteString(w, strings.Join(indented("", "The missing names are those that are not in the list, with a folder's name before them or without: with several PATHs each name begins with its PATH's. Give the same PATHs as when the list was made."), "\n")+"\n")
		return err
	}
	return nil
}

// otherPaths reports whether the list was made of other PATHs: the same names, with the name of a
// folder in front or without.
func (v *Verified) otherPaths() bool {
	added := map[string]bool{}
	for i := range v.Different {
		if f := &v.Different[i]; f.State == manifest.Added {
			added[f.Path] = true
		}
	}
	short := map[string]bool{} // names in the list without their first folder
	missing := map[string]bool{}
	for i := range v.Different {
		if f := &v.Different[i]; f.State == manifest.Missing {
			missing[f.Path] = true
			if _, rest, ok := strings.Cut(f.Path, "/"); ok {
				short[rest] = true
			}
		}
	}
	for name := range added {
		_, rest, ok := strings.Cut(name, "/")
		if !short[name] && !(ok && missing[rest]) {
			return false
		}
	}
	return len(added) > 0
}

// noFiles counts names that have no checksum.
func noFiles(n int) string {
	return count(n, "name is no file and has", "names are no files and have") + " no checksum, see above"
}

// ManifestWritten says where a new list is and how to use it. leftOut counts names that are no files.
func ManifestWritten(w io.Writer, name string, files, bytes int64, leftOut int, args []string) error {
	left := ""
	if leftOut > 0 {
		left = "; " + noFiles(leftOut)
	}
	_, err := fmt.Fprintf(w, "%s: %s, %s bytes%s\nCheck later that nothing changed: %s\n", Escape(name), count(files, "file", "files"), comma(bytes), left,
		Command(append([]string{"kafsck", "manifest", "--verify", name}, args...)...))
	return err
}
