package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"kafsck/internal/outfile"
	"kafsck/internal/rofs"
	"kafsck/internal/visible"
	"kafsck/logdir"
	"kafsck/manifest"
	"kafsck/report"
	"kafsck/segment"
)

type manifestOptions struct {
	out    string
	verify string
}

func newManifestCommand(a *app) *cobra.Command {
	o := &manifestOptions{}
	cmd := &cobra.Command{
		Use:   "manifest PATH... [--out FILE | --verify FILE]",
		Short: "SHA-256 of every file of the inputs, and whether they are still the same",
		Long: `List every file below the PATHs with its SHA-256, in the format of sha256sum, so
that what was copied can be told from what was changed later. With --verify the
files are held against such a list.

Names are relative to PATH, and begin with its base name when there are several:
"cd copies && sha256sum -c ../evidence.sha256" checks the same. Symbolic links and
what else is no file have no checksum and are never followed: they stand in comments
of the list, as empty folders do, with where they lead, and --verify tells of a change.
Give what they lead to as a PATH of its own. A file that is
written to while it is read has no checksum: stop its broker, or copy first.` + exitHelp(
			"0  done; with --verify every file is as listed",
			"1  with --verify: a file is changed, missing, or not in the list",
			"2  something could not be read, changed while it was read, or is a link or no file (3: both)",
			"4  FILE exists, or lies below a PATH"),
		Example: `  kafsck manifest copies/ --out evidence.sha256
  kafsck manifest copies/ --verify evidence.sha256`,
		Args: needPaths,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.out != "" && o.verify != "" {
				return usagef("--out and --verify are two things; give one of them")
			}
			if o.out != "" && a.json {
				return usagef("--out writes a list for sha256sum, --json prints lines; give one of them")
			}
			return runManifest(cmd.Context(), a, args, o)
		},
	}
	cmd.Flags().StringVar(&o.out, "out", "", "write the list to the new `FILE` instead of standard output")
	cmd.Flags().StringVar(&o.verify, "verify", "", "hold the files against the list in `FILE`")
	return cmd
}

// tree is one PATH of a manifest.
type tree struct {
	fsys   rofs.FS
	prefix string // of the names in the list, "" or "name/"
}

// listed is a file with the tree that it lies in.
type listed struct {
	tree *tree
	name string // in the list
	file manifest.File
}

func runManifest(ctx context.Context, a *app, args []string, o *manifestOptions) error {
	files, others, closeAll, err := a.openTrees(args)
	defer closeAll()
	if err != nil {
		return err
	}
	if o.verify != "" {
		return a.verifyManifest(ctx, files, others, o.verify)
	}
	if len(files)+len(others) == 0 && a.bits == 0 {
		a.complain("no file below the PATHs: the list is empty")
	}
	if o.out == "" {
		return a.printManifest(ctx, files, others)
	}
	for _, p := range args {
		if inside(o.out, p) {
			return &failure{exitRefused, fmt.Errorf("%s lies below the input %s, which is never changed; nothing was written", o.out, p)}
		}
	}
	a.left = nothingWritten
	f, err := outfile.Create(o.out)
	if errors.Is(err, outfile.ErrExists) {
		return &failure{exitRefused, fmt.Errorf("%s exists; nothing was written", o.out)}
	}
	if err != nil {
		return err
	}
	defer f.Discard()
	w := bufio.NewWriter(f)
	n, err := a.sums(ctx, files, func(l *listed, sum string) error {
		_, err := fmt.Fprintln(w, manifest.Entry{Path: l.name, SHA256: sum}.Line())
		return err
	})
	for i := range others {
		if err == nil {
			_, err = fmt.Fprintln(w, others[i].line())
		}
	}
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Commit()
	}
	a.finished = err == nil
	if errors.Is(err, outfile.ErrExists) {
		return &failure{exitRefused, fmt.Errorf("%s exists; nothing was written", o.out)}
	}
	if err != nil || a.quiet {
		return err
	}
	return report.ManifestWritten(a.stdout, o.out, n.files, n.bytes, leftOut(others), args)
}

// line is that of a name without a checksum.
func (l *listed) line() string {
	return manifest.Entry{Path: l.name, Other: l.file.Other}.Line()
}

// leftOut counts the names that may hide data: what they lead to has no checksum.
func leftOut(others []listed) int {
	n := 0
	for i := range others {
		if !others[i].file.Other.EmptyFolder() {
			n++
		}
	}
	return n
}

// inside reports whether a file lies below a directory, symbolic links resolved; a file in a folder
// that is not there lies nowhere.
func inside(file, dir string) bool {
	in, err := outfile.Inside(file, dir)
	return err == nil && in
}

// openTrees lists the files of all PATHs, and what is none: links, pipes, empty folders. What cannot
// be looked at is complained about.
func (a *app) openTrees(args []string) (files, others []listed, closeAll func(), err error) {
	var open []rofs.FS
	closeAll = func() {
		for _, fsys := range open {
			rofs.Close(fsys)
		}
	}
	names := map[string]bool{}
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, nil, closeAll, fmt.Errorf("%s: %w", arg, segment.PlainCause(err))
		}
		dir, only := arg, ""
		if !info.IsDir() {
			dir, only = filepath.Dir(arg), filepath.Base(arg)
		}
		fsys, err := rofs.Dir(dir)
		if err != nil {
			return nil, nil, closeAll, err
		}
		open = append(open, fsys)
		t := &tree{fsys: fsys}
		if len(args) > 1 && only == "" {
			abs, err := filepath.Abs(arg)
			if err != nil {
				return nil, nil, closeAll, err
			}
			t.prefix = filepath.Base(abs) + "/"
		}
		if name := t.prefix + only; names[name] {
			return nil, nil, closeAll, usagef("two of the PATHs are called %s, so that their files could not be told apart in the list", strings.TrimSuffix(name, "/")).
				hint("give the folder above them, or one PATH at a time")
		} else {
			names[name] = true
		}
		found := []manifest.File{{Path: only, Size: info.Size(), ModTime: info.ModTime()}}
		if only == "" {
			found = manifest.Tree(fsys, ".", func(name string, err error) {
				a.cannotRead(path.Join(t.prefix, name), err)
			})
		}
		for _, f := range found {
			l := listed{t, t.prefix + f.Path, f}
			if f.Other != "" {
				others = append(others, l)
				if !f.Other.EmptyFolder() {
					a.cannotRead(l.name, fmt.Errorf("it is %s, never followed: no checksum", f.Other.Text()))
				}
				continue
			}
			files = append(files, l)
		}
	}
	return files, others, closeAll, nil
}

// cannotRead keeps a failed read for the JSON lines and complains about it.
func (a *app) cannotRead(name string, err error) {
	a.fail(exitIncomplete)
	err = segment.PlainCause(err)
	a.unread = append(a.unread, logdir.PathError{Path: name, Err: err})
	a.complain("%s: %v", name, err)
}

func (a *app) printManifest(ctx context.Context, files, others []listed) error {
	if a.json && !a.quiet {
		j := a.jsonWriter("manifest")
		n, err := a.sums(ctx, files, func(l *listed, sum string) error {
			j.InputFile(&report.InputFile{Path: l.name, File: &l.file, SHA256: sum})
			return j.Err()
		})
		for i := range others {
			j.InputFile(&report.InputFile{Path: others[i].name, File: &others[i].file})
		}
		return a.endManifest(j, n, err)
	}
	shown := func(s string) string { return s }
	if isTerminal(a.rawOut) {
		shown = report.Escape // a list for sha256sum needs the bytes; a person must not be driven by them
	}
	_, err := a.sums(ctx, files, func(l *listed, sum string) error {
		if a.quiet {
			return nil
		}
		_, err := io.WriteString(a.stdout, shown(manifest.Entry{Path: l.name, SHA256: sum}.Line())+"\n")
		return err
	})
	for i := range others {
		if err == nil && !a.quiet {
			_, err = io.WriteString(a.stdout, shown(others[i].line())+"\n")
		}
	}
	return err
}

func (a *app) endManifest(j *report.JSON, n total, err error) error {
	if err != nil {
		return err
	}
	j.Errors(a.unread)
	j.Summary(&report.Scope{Bytes: n.bytes, Errors: len(a.unread)}, a.bits, false)
	return j.Err()
}

// verifyManifest holds files against a list.
func (a *app) verifyManifest(ctx context.Context, files, others []listed, name string) error {
	// A pipe that nobody writes to would be waited for without an end, its opening already.
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return usagef("--verify %s: it is no file", visible.Word(name))
	}
	list, err := os.Open(name)
	if err != nil {
		return err
	}
	entries, err := manifest.Parse(list)
	list.Close()
	if err != nil {
		if _, bad := errors.AsType[*manifest.Bad](err); bad {
			return usagef("%s, %v", name, err).hint("a list is what kafsck manifest and sha256sum print")
		}
		return err
	}
	if len(entries)+len(files)+len(others) == 0 {
		return usagef("%s has no line, and below the PATHs there is no file: nothing was compared", name)
	}
	byName := make(map[string]*listed, len(files))
	found := make([]manifest.File, len(files))
	for i := range files {
		byName[files[i].name] = &files[i]
		found[i] = files[i].file
		found[i].Path = files[i].name
	}
	for i := range others {
		f := others[i].file
		f.Path = others[i].name
		found = append(found, f)
	}
	pairs, twice := manifest.Match(entries, found)
	for _, t := range twice {
		a.complain("%s stands in %s more than once; its last line counts", visible.Word(t), visible.Word(name))
	}
	var read []listed
	for _, p := range pairs {
		if p.File != nil && p.Listed != "" && p.File.Other == "" {
			read = append(read, *byName[p.Path])
		}
	}
	sums := make(map[string]string, len(read))
	n, err := a.sums(ctx, read, func(l *listed, sum string) error { sums[l.name] = sum; return nil })
	if err != nil {
		return err
	}
	v := &report.Verified{List: name, LeftOut: leftOut(others)}
	var j *report.JSON
	if a.json && !a.quiet {
		j = a.jsonWriter("manifest")
	}
	for i := range pairs {
		p := &pairs[i]
		sum, ok := sums[p.Path]
		if p.File != nil && p.Listed != "" && p.File.Other == "" && !ok {
			continue // it could not be read, which was told
		}
		f := report.InputFile{Path: p.Path, File: p.File, SHA256: sum, Listed: p.Listed, Was: p.Was, State: p.State(sum)}
		v.Add(f)
		if j != nil {
			j.InputFile(&f)
		}
	}
	if len(v.Different) > 0 {
		a.fail(exitFindings)
	}
	v.Incomplete = a.bits&exitIncomplete != 0
	switch {
	case j != nil:
		return a.endManifest(j, n, nil)
	case a.quiet:
		return nil
	}
	return v.Print(a.stdout)
}
