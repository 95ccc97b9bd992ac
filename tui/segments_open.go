package tui

import (
	"strings"

	"kafsck/finding"
	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/replica"
)

// openOffset opens the batch of a copy that holds an offset, with its record selected.
func openOffset(w *world, p *incident.Partition, c *incident.Copy, offset int64) screen {
	l := logOf(p, c)
	if l == nil {
		return openSegments(w, p, c)
	}
	return newBatch(w, l.to(l.holding(offset)), target{atOffset, offset}, nil)
}

// openFinding opens what a finding is about: the byte it points at, else its text.
// part is an index of world.refs, -1 where the finding belongs to none.
func openFinding(w *world, part int, f *finding.Finding) screen {
	var p *incident.Partition
	if part >= 0 {
		p = w.story(part)
	}
	dir, file := w.fileNamed(f.At.File)
	if file == nil {
		return findingPage(w, f)
	}
	var c *incident.Copy
	if p != nil {
		for _, x := range p.Copies {
			if x.Log != nil && x.Log.Partition == dir && (c == nil || x.State == replica.Live) {
				c = x
			}
		}
	}
	switch {
	case dir == nil:
		return openLogDirFile(w, file)
	case file.Kind != logdir.KindLog:
		return openFile(w, p, c, dir, file, f.At.Position)
	}
	l := logOfFile(p, c, dir, file)
	switch {
	case l == nil:
		return findingPage(w, f)
	case f.At.Position >= 0:
		return newBatch(w, l, target{atPosition, f.At.Position}, f)
	case f.At.From >= 0 && l.holding(f.At.From) == l.at:
		return newBatch(w, l, target{atOffset, f.At.From}, f)
	}
	return newBatches(w, l, target{})
}

// findingPage is a finding as text.
func findingPage(w *world, f *finding.Finding) screen {
	lines := []string{f.Severity.String() + " " + string(f.Code), "", f.Summary, ""}
	for _, e := range f.Evidence {
		line := e.Claim
		if e.Want != "" {
			line += ": expected " + e.Want
		}
		if e.Got != "" {
			line += ", found " + e.Got
		}
		lines = append(lines, line)
	}
	for _, t := range []string{f.Kafka, f.Next, f.At.File} {
		if t != "" {
			lines = append(lines, "", t)
		}
	}
	var extra []string
	if f.At.Partition != "" {
		extra = []string{"--partition", f.At.Partition}
	}
	return newPage(string(f.Code), w.command("check", extra...), lines)
}

// fileNamed finds a file by its shown path. The directory is nil for files of a log
// directory itself.
func (w *world) fileNamed(path string) (*logdir.Partition, *logdir.File) {
	if path == "" || w.src == nil {
		return nil, nil
	}
	for _, b := range w.src.Incident.Case.Brokers {
		for _, ld := range b.Dirs {
			parts := ld.Partitions
			if ld.Metadata != nil {
				parts = append(parts[:len(parts):len(parts)], ld.Metadata)
			}
			for _, p := range parts {
				if p.Dir != "." && !strings.HasPrefix(path, p.Dir+"/") && len(parts) > 1 {
					continue
				}
				for f := range p.AllFiles() {
					if f.Path == path {
						return p, f
					}
				}
			}
			for f := range ld.AllFiles() {
				if f.Path == path && !f.Mode.IsDir() {
					return nil, f
				}
			}
		}
	}
	return nil, nil
}
