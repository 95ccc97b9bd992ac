package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/repair"
	"kafsck/repair/apply"
	"kafsck/report"
)

func newRepairCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "repair",
		Short: "Write correct files beside damaged ones, in a new directory",
		Long: `Write correct files for what is damaged, into a new directory. Inputs are opened
read-only and never changed; putting a file in place is left to you.`,
		Args: noCommand,
		RunE: func(cmd *cobra.Command, args []string) error {
			return usagef("repair needs to know what").hint("kafsck repair plan PATH... --out plan.json").hint("kafsck repair epochs PATH --out DIR")
		},
	}
	cmd.AddCommand(newRepairEpochsCommand(a))
	cmd.AddCommand(newRepairPlanCommand(a))
	cmd.AddCommand(newRepairApplyCommand(a))
	cmd.AddCommand(newRepairUndoCommand(a))
	refuseArgs(cmd)
	return cmd
}

type repairEpochsOptions struct {
	input    inputOptions
	out      string
	with     []string
	source   string
	keepTail bool
	changed  bool
}

func newRepairEpochsCommand(a *app) *cobra.Command {
	o := &repairEpochsOptions{}
	cmd := &cobra.Command{
		Use:   "epochs PATH --out DIR [--with PATH...]",
		Short: "Regenerate leader-epoch-checkpoint from the batches",
		Long: `Regenerate leader-epoch-checkpoint from the batch headers of all segments, merged
with what headers cannot know: entries of the old file, and of other replicas,
for offsets whose batches were cleaned, expired or moved to remote storage. An
entry of another replica is taken only below the last batch that both logs hold,
and never where this log's batches carry another epoch; whatever is refused is
named. A replica's file is never copied whole.

PATH is a partition directory, a log directory, or a folder of brokers. Replicas
below PATH serve each other as witnesses; --with adds more.

Only checkpoints are written: DIR/t-0/leader-epoch-checkpoint, for a folder of
brokers DIR/broker-1/t-0/leader-epoch-checkpoint. DIR must not exist. One is
written for every partition directory, also where the old file is right; with
--changed only where Kafka would hold other epochs with the old file than with
the new one.

Inputs are opened read-only and never changed.` + exitHelp(
			"0  done: the files were written, or with --changed all are right as they are",
			"2  something could not be read: then nothing is written, unless no checkpoint rests on it; or a name cannot be written",
			"4  refused: DIR exists or lies inside an input, a broker runs on PATH, an input changed since or while it was read"),
		Example: `  kafsck repair epochs copies/broker-1/orders-0 --out repaired --with copies/broker-2
  kafsck repair epochs copies/ --out repaired --partition 'orders-*'
  kafsck repair epochs copies/broker-1/orders-0 --out repaired --source headers`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("%s needs one PATH: a partition directory, a log directory, or a folder of brokers", cmd.CommandPath()).hint("%s", cmd.UseLine())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runRepairEpochs(cmd.Context(), a, cmd, args, o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.out, "out", "", "the new directory `DIR` to write to; it must not exist")
	f.StringArrayVar(&o.with, "with", nil, "other replicas as witnesses: directories as in `PATH` (repeatable)")
	f.StringVar(&o.source, "source", "merge", "take entries from the `headers` alone, or merge the old file and other replicas")
	f.BoolVar(&o.keepTail, "keep-empty-tail", false, "keep the entry of a leader that has written nothing (it starts at the log end)")
	f.BoolVar(&o.changed, "changed", false, "write only the files that Kafka would hold other epochs with")
	o.input.addFlags(f)
	return cmd
}

func runRepairEpochs(ctx context.Context, a *app, cmd *cobra.Command, args []string, o *repairEpochsOptions) error {
	switch {
	case o.out == "":
		return usagef("repair epochs needs --out DIR, a directory that does not exist").hint("%s", cmd.UseLine())
	case o.source != "merge" && o.source != "headers":
		return usagef("--source %s: want headers or merge", o.source)
	case o.source == "headers" && len(o.with) > 0:
		return usagef("--source headers takes nothing from other replicas: leave --with out")
	}
	if info, err := os.Stat(args[0]); err == nil && !info.IsDir() {
		return usagef("%s is a file: the checkpoint belongs to a partition directory", args[0])
	}
	a.left = nothingWritten
	inputs := slices.Concat(args, o.with)
	var keepOut []string
	for _, in := range inputs {
		if host, err := realPath(in); err == nil {
			keepOut = append(keepOut, host)
		}
	}
	if err := apply.MayCreate(o.out, keepOut); err != nil {
		return outcome(err)
	}
	c, err := a.discover(inputs, o.input.brokers)
	if err != nil {
		return err
	}
	return repairEpochsCase(ctx, a, cmd, c, args, o, keepOut)
}

// realPath is the absolute path without symbolic links, as logdir gives it.
func realPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// outcome gives a refusal its exit code.
func outcome(err error) error {
	if _, ok := errors.AsType[*apply.Refused](err); ok {
		return &failure{exitRefused, err}
	}
	return &failure{exitIncomplete, err}
}

// repairEpochsCase is runRepairEpochs for inputs that are discovered already. args
// is the PATH, and keepOut begins with where it lies.
func repairEpochsCase(ctx context.Context, a *app, cmd *cobra.Command, c *logdir.Case, args []string, o *repairEpochsOptions, keepOut []string) error {
	t := &repairTargets{root: keepOut[0]}
	in := o.input
	in.partitions = t.selected(c, &o.input)
	if len(in.partitions) == 0 {
		c.Close()
		if len(c.Errors) > 0 {
			return &failure{exitIncomplete, c.Errors[0]}
		}
		if len(o.input.topics)+len(o.input.partitions) == 0 {
			return fmt.Errorf("no partition directory to repair in %s", args[0])
		}
		return usagef("no partition directory of %s matches --topic and --partition", args[0])
	}
	s, err := a.openCase(cmd, c, args, &in, incident.Options{})
	if err != nil {
		return err
	}
	defer s.close()
	opt := repair.EpochOptions{HeadersOnly: o.source == "headers", KeepEmptyTail: o.keepTail}
	var files []report.RepairedFile
	var aside []logdir.PathError // told, but no checkpoint rests on it
	unread := slices.DeleteFunc(s.errors(), func(e logdir.PathError) bool {
		if outside(c, &in, e.Path) {
			return true
		}
		beside := noPart(c, e.Path)
		if beside {
			aside = append(aside, e)
		}
		return beside
	})
	for p := range s.partitions(ctx, func(*incident.Partition) int { return 0 }) {
		unread = append(unread, p.Errors...)
		if len(unread) > 0 {
			continue
		}
		for _, cp := range p.Copies {
			if cp.Log == nil || !repair.Regenerates(cp) || !t.holds(cp.Log.Partition) {
				continue
			}
			plan, err := repair.PlanEpochs(ctx, p, cp, opt)
			if err != nil {
				unread = append(unread, logdir.PathError{Path: cp.Dir, Err: err})
				break
			}
			plan.Notes = append(plan.Notes, liveWitnesses(plan)...)
			files = append(files, s.paths.RepairedFile(p, plan))
		}
	}
	s.progress.finish()
	if ctx.Err() != nil {
		return errInterrupted
	}
	var stop error
	switch {
	case len(unread) > 0 && !slices.ContainsFunc(unread, func(e logdir.PathError) bool { return !repair.Changed(e.Err) }):
		files, a.bits = nil, a.bits&^exitIncomplete
		stop = &failure{exitRefused, errors.New("an input changed while it was read; nothing was written")}
	case len(unread) > 0:
		a.fail(exitIncomplete)
		files = nil
		stop = &failure{exitIncomplete, errors.New("nothing was written: not everything could be read")}
	default:
		var unwritable []logdir.PathError
		files, unwritable = t.writable(files)
		if aside = append(aside, unwritable...); len(aside) > 0 {
			a.fail(exitIncomplete)
		}
		if err := t.write(o, append(keepOut, around(c)...), files); err != nil {
			stop = outcome(err)
		} else {
			ctx = a.written(ctx)
		}
	}
	return a.printRepairedEpochs(ctx, s, files, append(aside, unread...), stop, o.out)
}

func (a *app) printRepairedEpochs(ctx context.Context, s *session, files []report.RepairedFile, unread []logdir.PathError, stop error, out string) error {
	if f, ok := errors.AsType[*failure](stop); ok {
		a.fail(f.bits)
		for i := range files {
			files[i].Written = ""
		}
	}
	if !a.json || stop == nil {
		for _, e := range unread {
			a.complain("%s", e)
		}
	}
	switch {
	case a.json:
		j := a.jsonWriter("repair epochs")
		j.Notes(s.c.Notes)
		j.Errors(unread)
		for i := range files {
			j.RepairedEpochs(files[i].Plan, files[i].Written)
		}
		if stop != nil {
			j.Errors([]logdir.PathError{{Path: out, Err: stop}})
		}
		j.Summary(&s.scope, a.bits, false)
		if err := done(ctx, j.Err()); err != nil {
			return err
		}
		return stop
	case stop != nil || a.quiet:
		return stop
	}
	t := &report.RepairedEpochs{Paths: s.paths, Scope: &s.scope, Out: out, Files: files}
	return done(ctx, t.Print(a.stdout))
}

// around are the folders in which the partition directories lie: log directories,
// where a broker stumbles over a foreign one, even if only a partition was given.
func around(c *logdir.Case) []string {
	var out []string
	for p := range c.AllPartitions() {
		if dir := filepath.Dir(p.HostPath); p.HostPath != "" && !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	return out
}

// repairTargets are the partition directories below PATH, and what their files are
// called below the output directory.
type repairTargets struct {
	root string // PATH without symbolic links, "" for a tree that is not on disk
}

// holds reports whether a partition directory lies below PATH.
func (t *repairTargets) holds(p *logdir.Partition) bool {
	_, ok := t.below(p)
	return ok
}

func (t *repairTargets) below(p *logdir.Partition) (string, bool) {
	if p.HostPath == "" {
		return p.Dir, true
	}
	rel, err := filepath.Rel(t.root, p.HostPath)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	if rel == "." {
		rel = filepath.Base(p.HostPath)
	}
	return filepath.ToSlash(rel), true
}

// selected names the partitions that have a directory below PATH and that the
// flags select.
func (t *repairTargets) selected(c *logdir.Case, in *inputOptions) globFlag {
	var names globFlag
	for p := range c.AllPartitions() {
		if !in.selects(p.Topic, p.Partition) || !t.holds(p) || p.State == logdir.Delete {
			continue
		}
		if !slices.Contains(names, p.Name()) {
			names = append(names, p.Name())
		}
	}
	return names
}

// liveWitnesses says which other directories a plan rests on while a broker may
// write to them.
func liveWitnesses(p *repair.EpochPlan) []string {
	var out []string
	own := p.Inputs[0].Partition.LogDir
	for _, in := range p.Inputs {
		if d := in.Partition.LogDir; d != own && d.Live {
			note := fmt.Sprintf("a running broker holds the lock on %s, from which epochs may be taken: its files go on changing", d.Path)
			if !slices.Contains(out, note) {
				out = append(out, note)
			}
		}
	}
	return out
}

// writable drops files whose names cannot be written below an output directory: that
// takes names that are UTF-8.
func (t *repairTargets) writable(files []report.RepairedFile) (kept []report.RepairedFile, unwritable []logdir.PathError) {
	for _, f := range files {
		name, _ := t.below(f.Plan.Inputs[0].Partition)
		if fs.ValidPath(name) {
			kept = append(kept, f)
			continue
		}
		unwritable = append(unwritable, logdir.PathError{Path: f.Plan.Dir, Err: errors.New("its name is not UTF-8, so no file was written for it; give it as a PATH under another name")})
	}
	return kept, unwritable
}

// write has the files written that should be, and notes their names.
func (t *repairTargets) write(o *repairEpochsOptions, keepOut []string, files []report.RepairedFile) error {
	var list []apply.File
	for i := range files {
		p := files[i].Plan
		if !p.Changed && o.changed {
			continue
		}
		dir, ok := t.below(p.Inputs[0].Partition)
		if !ok {
			panic(fmt.Sprintf("repair: %s is no target", p.Dir))
		}
		files[i].Written = dir + "/leader-epoch-checkpoint"
		list = append(list, apply.File{Name: files[i].Written, Plan: p})
	}
	if len(list) == 0 {
		return nil
	}
	return apply.Epochs(o.out, keepOut, list)
}

// noPart reports whether a path is a link that was not followed, under a name that
// is nothing to a broker: no partition, and no file that says something of one.
func noPart(c *logdir.Case, path string) bool {
	is := func(f *logdir.File) bool {
		return f.Path == path && f.Link && (f.Kind == logdir.KindOther || f.Kind == logdir.KindTemporary)
	}
	for _, b := range c.Brokers {
		for _, d := range b.Dirs {
			if slices.ContainsFunc(d.Unknown, func(f *logdir.File) bool {
				_, err := logdir.ParseDirName(f.Name)
				return err != nil && is(f)
			}) {
				return true
			}
			for _, p := range d.Partitions {
				if slices.ContainsFunc(p.Unknown, is) {
					return true
				}
			}
		}
	}
	return false
}

// outside reports whether a path lies in a partition directory that is not
// selected: what cannot be read there does not matter.
func outside(c *logdir.Case, in *inputOptions, path string) bool {
	for p := range c.AllPartitions() {
		if !in.selects(p.Topic, p.Partition) && (path == p.Dir || strings.HasPrefix(path, p.Dir+"/")) {
			return true
		}
	}
	return false
}
