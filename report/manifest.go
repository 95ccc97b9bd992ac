package report

import (
	"fmt"
	"io"
	"unicode/utf8"

	"kafsck/manifest"
)

// InputFile is one file of the inputs with its checksum.
type InputFile struct {
	Path   string         // as in the list
	File   *manifest.File // nil: not there
	SHA256 string         // "" not read
	Listed string         // in the list that it was held against, "" none
	State  manifest.State // "" not held against a list
}

type inputFileLine struct {
	Type       string  `json:"type"`
	Path       string  `json:"path"`
	PathBytes  []byte  `json:"pathBytes,omitempty"` // of a name that is not UTF-8
	Size       *int64  `json:"size"`
	ModifiedMs *int64  `json:"modifiedMs"`
	SHA256     *string `json:"sha256"`
	State      string  `json:"state,omitempty"`
	Listed     string  `json:"listed,omitempty"`
}

// InputFile writes a line of the type input-file.
func (j *JSON) InputFile(f *InputFile) {
	l := inputFileLine{Type: "input-file", Path: f.Path, SHA256: text(f.SHA256), State: string(f.State), Listed: f.Listed}
	if !utf8.ValidString(f.Path) {
		l.PathBytes = []byte(f.Path)
	}
	if f.File != nil {
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
	case v.Incomplete:
		fmt.Fprintf(w, "INCOMPLETE  %s, but not everything could be read\n", same)
	default:
		fmt.Fprintf(w, "OK     %s, and there is no other\n", same)
	}
	for i := range v.Different {
		f := &v.Different[i]
		if _, err := fmt.Fprintf(w, "%-8s  %s\n", f.State, Escape(f.Path)); err != nil {
			return err
		}
	}
	return nil
}

// ManifestWritten says where a new list is and how to use it.
func ManifestWritten(w io.Writer, name string, files, bytes int64, args []string) error {
	_, err := fmt.Fprintf(w, "%s: %s, %s bytes\nCheck later that nothing changed: %s\n", Escape(name), count(files, "file", "files"), comma(bytes),
		Command(append([]string{"kafsck", "manifest", "--verify", name}, args...)...))
	return err
}
