package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kafsck/broker"
	"kafsck/checkpoint"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/repair"
	"kafsck/repair/apply"
	"kafsck/report"
	"kafsck/segment"
)

// scanned is a file of any kind, open for reading.
type scanned struct {
	io.ReaderAt
	close  func()
	size   int64 // below 0 not known
	device bool
	info   fs.FileInfo
	hole   func(pos int64) (end int64) // nil: nobody knows

	within, topicID string // the partition directory that it lies in as a segment
	dir             string // the log directory above that
}

// openScanned opens what --scan names: a file, or a device that can be read at positions.
func openScanned(name string) (*scanned, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return nil, usagef("--scan %s: it is a directory; give it as a PATH, and --scan a file or a disk image", name)
	case mode.IsRegular():
	case mode&fs.ModeDevice != 0 && mode&fs.ModeCharDevice == 0:
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		s := &scanned{ReaderAt: f, close: func() { f.Close() }, size: -1, device: true, info: info}
		if end, err := f.Seek(0, io.SeekEnd); err == nil && end > 0 {
			s.size = end
		}
		return s, nil
	default:
		return nil, usagef("--scan %s: it is neither a file nor a disk", name)
	}
	host, err := filepath.Abs(name)
	if err == nil {
		host, err = filepath.EvalSymlinks(host)
	}
	if err != nil {
		return nil, err
	}
	folder := filepath.Dir(host)
	fsys, err := rofs.Dir(folder)
	if err != nil {
		return nil, err
	}
	f, err := fsys.Open(filepath.Base(host))
	if err != nil {
		rofs.Close(fsys)
		return nil, err
	}
	s := &scanned{ReaderAt: f, close: func() { f.Close(); rofs.Close(fsys) }, size: info.Size(), info: info, hole: rofs.Holes(f)}
	if d, err := logdir.ParseDirName(filepath.Base(folder)); err == nil && isSegmentLog(filepath.Base(host)) {
		s.within, s.dir = fmt.Sprintf("%s-%d", d.Topic, d.Partition), filepath.Dir(folder)
		if b, err := rofs.ReadFile(fsys, "partition.metadata", 1<<16); err == nil {
			if m := checkpoint.ParsePartitionMetadata(b); m.Malformed == nil {
				s.topicID = m.TopicID.String()
			}
		}
	}
	return s, nil
}

// isSegmentLog reports whether a file is a .log by its name, set aside or not.
func isSegmentLog(name string) bool {
	number, rest, _ := strings.Cut(name, ".")
	return len(number) == 20 && strings.Trim(number, "0123456789") == "" && (rest == "log" || strings.HasPrefix(rest, "log."))
}

// changed says what happened to the file while it was searched, "" nothing.
func (s *scanned) changed(name string) string {
	now, err := os.Stat(name)
	switch {
	case s.device:
	case err != nil:
		return err.Error()
	case now.Size() != s.info.Size() || !now.ModTime().Equal(s.info.ModTime()):
		return name + " was written to while it was searched: what is said of it is of no one moment"
	}
	return ""
}

// runSalvageScan looks for batches in a file.
func runSalvageScan(ctx context.Context, a *app, cmd *cobra.Command, args []string, o *salvageOptions) error {
	switch {
	case o.out != "" && o.plan != "":
		return usagef("--plan writes a plan alone: carry it out with kafsck repair apply")
	case o.prefer != "" || len(o.leaders) > 0:
		return usagef("--prefer and --leader are for salvage of PATHs: with --scan the PATHs only tell which partition a batch is of")
	case o.out == "" && (o.link || o.resume):
		return usagef("--link and --resume need --out DIR")
	}
	file, err := openScanned(o.scan)
	if err != nil {
		return err
	}
	defer file.close()
	if file.device && o.out+o.plan != "" {
		return &failure{exitRefused, fmt.Errorf("%s is a device: copy it to a file first (dd, or ddrescue where sectors are bad), and scan that; nothing was written", o.scan)}
	}
	var keepOut []string
	for _, p := range append([]string{file.dir}, args...) {
		if host, err := filepath.Abs(p); p != "" && err == nil {
			if host, err = filepath.EvalSymlinks(host); err == nil {
				keepOut = append(keepOut, host)
			}
		}
	}
	if o.out != "" {
		if err := apply.MayCreate(o.out, keepOut); err != nil {
			return applyFailure(ctx, err)
		}
	}
	if o.out+o.plan != "" {
		a.left = nothingWritten
	}
	plan, err := newPlanFile(o.plan, keepOut)
	defer plan.close()
	if err != nil {
		return err
	}
	opt := repair.CarveOptions{File: o.scan, Size: file.size, Within: file.within, WithinID: file.topicID, Hash: o.out+o.plan != "", Hole: file.hole, Match: o.input.selects}
	if len(args) > 0 {
		c, err := a.discover(args, o.input.brokers)
		if err != nil {
			return err
		}
		defer c.Close()
		opt.Known = c
	}
	var j *report.JSON
	if a.json {
		j = a.jsonWriter("salvage")
		opt.Each = func(x *segment.Carved) { j.Carved(o.scan, x) }
		if opt.Known != nil {
			j.Notes(opt.Known.Notes)
			j.Errors(opt.Known.Errors)
		}
	}
	bar := a.newScanProgress(file.size)
	opt.Progress = bar.add
	found, err := repair.Carve(ctx, file, opt)
	bar.finish()
	if ctx.Err() != nil {
		return errInterrupted
	}
	if err != nil {
		return &failure{exitIncomplete, err}
	}
	a.fail(carvedBits(found))
	if opt.Known != nil && !a.json {
		for _, e := range opt.Known.Errors {
			a.complain("%s", e)
		}
	}
	t := &report.Carving{Carving: found, PlanFile: o.plan, Typed: args, WithOut: scanAgain(cmd, o, args)}
	t.Join = func(partition string, dirs []string) string {
		return againOf(cmd, append(slices.Clone(args), dirs...))("salvage", "--partition", partition, "--out", "joined")
	}
	if why := file.changed(o.scan); why != "" {
		found.KnownErrors = append(found.KnownErrors, logdir.PathError{Path: o.scan, Err: errors.New(why)})
		a.fail(exitIncomplete)
	}
	if opt.Hash && len(found.Logs) > 0 {
		if err := a.writeCarved(ctx, t, plan, o, keepOut); err != nil {
			return err
		}
		if t.NotWritten == "" {
			ctx = a.written(ctx)
		}
	} else {
		t.PlanFile = ""
	}
	switch {
	case a.json:
		j.Carving(found)
		if t.Plan != nil {
			j.CarvedPlan(t.Plan, t.Done)
		}
		j.Errors(found.KnownErrors)
		scope := report.Scope{Partitions: len(found.Logs), Batches: found.Batches, Bytes: found.Size, BytesVerified: carvedBytes(found), Errors: len(found.Unread) + len(found.KnownErrors)}
		j.Summary(&scope, a.bits, false)
		return done(ctx, j.Err())
	case a.quiet:
		return nil
	}
	for _, e := range found.KnownErrors {
		a.complain("%s", e)
	}
	return done(ctx, t.Print(a.stdout))
}

// writeCarved plans the logs, and writes the plan or carries it out.
func (a *app) writeCarved(ctx context.Context, t *report.Carving, file *planFile, o *salvageOptions, keepOut []string) error {
	if t.Stats.Unread > 0 || t.SHA256 == "" {
		t.NotWritten = fmt.Sprintf("%d bytes of %s could not be read, and a plan rests on the SHA-256 of all of them. Copy it with GNU ddrescue, which puts zeros in their place, and scan the copy.", t.Stats.Unread, o.scan)
		t.PlanFile = ""
		return nil
	}
	plan, err := t.Carving.Plan(repair.CarvePlanOptions{Kafsck: version(), Kafka: broker.Version(o.kafka), Now: time.Now()})
	if err != nil {
		return &failure{exitIncomplete, err}
	}
	t.Plan = plan
	if file != nil {
		return file.write(plan)
	}
	t.Done, err = a.applySalvage(ctx, plan, apply.Options{Out: o.out, Link: o.link, Resume: o.resume, KeepOut: keepOut})
	return err
}

// carvedBits: 1 where something is missing, damaged or doubtful, or nothing was found; 2 where not all
// was searched.
func carvedBits(t *repair.Carving) int {
	bits := 0
	if len(t.Logs) == 0 || t.Embedded+t.Lone+t.Loose+t.Amid+t.Damaged > 0 {
		bits |= exitFindings
	}
	for i := range t.Logs {
		if len(t.Logs[i].Holes)+len(t.Logs[i].Doubts) > 0 {
			bits |= exitFindings
		}
	}
	if t.Stats.Unread+t.Stats.Untested+t.Unsorted > 0 || len(t.KnownErrors) > 0 {
		bits |= exitIncomplete
	}
	return bits
}

func carvedBytes(t *repair.Carving) int64 {
	var n int64
	for i := range t.Logs {
		n += t.Logs[i].Bytes
	}
	return n
}

// scanAgain is the command line that writes what was found, with the flags of this one that matter for that.
func scanAgain(cmd *cobra.Command, o *salvageOptions, args []string) string {
	words := append([]string{"kafsck", "salvage", "--scan", o.scan}, carried(cmd, cmd, nil)...)
	for _, p := range args {
		words = append(words, notFlag(p))
	}
	return report.Command(append(words, "--out", "carved")...)
}
