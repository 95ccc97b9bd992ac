package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"kafsck/export"
	"kafsck/incident"
	"kafsck/internal/outfile"
	"kafsck/report"
)

// exportTarget is where an export goes: standard output, one file, or a directory with a file
// for each partition.
type exportTarget struct {
	app    *app
	format exportFormat
	redact bool
	file   *outfile.File
	dir    *outfile.Dir
	name   string // as typed
	taken  map[string]bool
	one    *exportWriter // of standard output and of one file
}

// exportWriter is one file under way.
type exportWriter struct {
	Write   func(*export.Record) error
	json    *report.JSON // nil: Parquet has no other lines
	redact  bool
	parquet *export.Parquet
	file    *outfile.DirFile // of its own, in a directory
}

// writes reports whether files are written.
func (t *exportTarget) writes() bool { return t.file != nil || t.dir != nil }

// open begins the output, before anything is read.
func (t *exportTarget) open(name string, inputs []string) error {
	if t.name = name; name == "" {
		return nil
	}
	for _, p := range inputs {
		if inside(name, p) || within(name, p) {
			return &failure{exitRefused, fmt.Errorf("%s lies below the input %s, which is never changed; nothing was written", name, p)}
		}
	}
	var err error
	if info, e := os.Stat(name); strings.HasSuffix(name, string(os.PathSeparator)) || e == nil && info.IsDir() {
		t.dir, err = outfile.NewDir(name)
		t.taken = map[string]bool{}
	} else {
		t.file, err = outfile.Create(name)
	}
	if errors.Is(err, outfile.ErrExists) {
		if info, e := os.Stat(name); e == nil && info.IsDir() {
			return &failure{exitRefused, fmt.Errorf("%s is not empty: name a new folder, or an empty one; nothing was written", name)}
		}
		return &failure{exitRefused, fmt.Errorf("%s exists; nothing was written", name)}
	}
	return err
}

// begin begins the lines.
func (t *exportTarget) begin(x *exporter) error {
	a := t.app
	switch {
	case t.file != nil:
		t.one = t.writer(t.file)
	case t.dir == nil && a.quiet:
		t.one = t.writer(io.Discard)
	case t.dir == nil:
		a.begun = true
		t.one = t.writer(a.stdout)
	}
	if t.writes() && a.json && !a.quiet {
		x.lines = a.jsonWriter("export")
		x.lines.Notes(x.c.Notes)
		x.lines.Errors(x.errors())
	}
	if !t.writes() {
		t.one.json.Notes(x.c.Notes)
		t.one.json.Errors(x.errors())
	}
	return nil
}

func (t *exportTarget) writer(w io.Writer) *exportWriter {
	if t.format == formatParquet {
		p := export.NewParquet(w, "kafsck "+version(), t.redact)
		return &exportWriter{Write: p.Write, parquet: p}
	}
	lines := export.NewJSONL(w)
	lines.Redact = t.redact
	return &exportWriter{Write: lines.Write, json: report.NewJSON(w, "export", version()), redact: t.redact}
}

// partition is where a partition's records go.
func (t *exportTarget) partition(x *exporter, p *incident.Partition, out *report.ExportedPartition) (*exportWriter, error) {
	if t.dir == nil {
		out.File = t.name
		return t.one, nil
	}
	name := p.Name + "." + string(t.format)
	if t.taken[name] {
		name = p.Name + "." + p.TopicID + "." + string(t.format) // two topics had the name
	}
	if t.taken[name] {
		return nil, fmt.Errorf("two partitions would be written to %s: give the inputs of one cluster", name)
	}
	t.taken[name] = true
	f, err := t.dir.Create(name)
	if err != nil {
		return nil, err
	}
	out.File = strings.TrimSuffix(t.name, string(os.PathSeparator)) + string(os.PathSeparator) + name
	w := t.writer(f)
	w.file = f
	return w, nil
}

// end ends the file of a partition, where it has one of its own.
func (w *exportWriter) end(x *exporter, out *report.ExportedPartition) error {
	if w.file == nil {
		return nil
	}
	bits := 0
	if out.SkippedN > 0 {
		bits = exitFindings
	}
	if err := w.close(bits, []*report.ExportedPartition{out}, 0); err != nil {
		return err
	}
	return w.file.Close()
}

// close writes what stands at the end of a file.
func (w *exportWriter) close(bits int, list []*report.ExportedPartition, errors int) error {
	if w.parquet != nil {
		return w.parquet.Close()
	}
	w.json.ExportSummary(bits, list, errors, w.redact)
	return w.json.Err()
}

// commit makes the output appear.
func (t *exportTarget) commit(x *exporter) error {
	if t.one != nil {
		if err := t.one.close(t.app.bits, x.text.List, x.scope.Errors); err != nil {
			return fmt.Errorf("writing the result: %w", err)
		}
	}
	switch {
	case t.file != nil:
		return t.file.Commit()
	case t.dir != nil:
		return t.dir.Commit()
	}
	return nil
}

// discard gives up what was not committed.
func (t *exportTarget) discard() {
	if t.file != nil {
		t.file.Discard()
	}
	if t.dir != nil {
		t.dir.Discard()
	}
}
