package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"kafsck/repair"
	"kafsck/repair/apply"
	"kafsck/report"
)

type repairApplyOptions struct {
	out                 string
	link, resume        bool
	inPlace             bool
	only, skip, confirm []string
}

func newRepairApplyCommand(a *app) *cobra.Command {
	o := &repairApplyOptions{}
	cmd := &cobra.Command{
		Use:   "apply PLAN --out DIR",
		Short: "Carry out a plan into a new directory, and verify the result before it appears",
		Long: `Carry out a plan of repair plan. Every input is read once and held against the
SHA-256 in the plan. The result is a complete log directory for each root of the plan
that has an action: unchanged files are cloned where the file system can share their
blocks, else copied. What an action takes out of a file lies in DIR/lost+found, byte
for byte, with a manifest; DIR/repair.json says what was done, DIR/SHA256SUMS what
there is.

Before DIR appears, the result is checked and its start predicted. Anything but what
the plan promises, with nothing truncated, is a failed repair: then DIR does not
appear, and the result lies in DIR.failed for a look.

An action that takes records away, or is a choice and no proof, is done only when it
is confirmed: with --only or --confirm, or in the plan.

DIR must not exist, and must lie in no input. Inputs are opened read-only and never
changed, but with --in-place: that moves the originals into a folder beside each root,
which must be on the same file system, with a journal; repair undo goes back. Killed at
any moment, the same command goes on, and repair undo goes back; killed before the
first file was moved, nothing was changed. A signal (SIGINT, SIGTERM, SIGHUP) says
what is left.` + exitHelp(
			"0  done: the result is as the plan promises",
			"1  the result is not as the plan promises, or a part of the plan is not done",
			"2  something could not be read or written: --resume goes on",
			"4  refused: an input changed, DIR exists or lies in an input, a broker runs, the plan is nonsense; nothing was written"),
		Example: `  kafsck repair apply plan.json --out repaired
  kafsck repair apply plan.json --out repaired --confirm a3
  kafsck repair apply plan.json --in-place`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("%s needs one PLAN, which kafsck repair plan --out writes", cmd.CommandPath()).hint("%s", cmd.UseLine())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRepairApply(cmd.Context(), a, cmd, args[0], o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.out, "out", "", "the new directory `DIR` to write to; it must not exist")
	f.BoolVar(&o.link, "link", false, "hard links of closed .log files where blocks cannot be shared: a change of one is a change of both")
	f.BoolVar(&o.resume, "resume", false, "go on with what a stopped run left beside DIR")
	f.BoolVar(&o.inPlace, "in-place", false, "change the directories themselves, with a backup and a journal beside each")
	f.StringSliceVar(&o.only, "only", nil, "these actions alone, by `ID` or kind; that confirms them")
	f.StringSliceVar(&o.skip, "skip", nil, "leave these actions out, by `ID` or kind")
	f.StringSliceVar(&o.confirm, "confirm", nil, "confirm these actions, by `ID`")
	return cmd
}

// maxPlan bounds what is read of a plan.
const maxPlan = 1 << 30

func readPlan(name string) (*repair.Plan, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxPlan+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxPlan {
		return nil, usagef("%s is larger than any plan", name)
	}
	p, err := repair.Decode(b)
	if err != nil {
		return nil, &failure{exitRefused, fmt.Errorf("%s: %w; nothing was written", name, err)}
	}
	return p, nil
}

func runRepairApply(ctx context.Context, a *app, cmd *cobra.Command, name string, o *repairApplyOptions) error {
	switch {
	case o.inPlace && (o.out != "" || o.link || o.resume):
		return usagef("--in-place takes neither --out nor --link nor --resume (a stopped run goes on by itself)")
	case !o.inPlace && o.out == "":
		return usagef("repair apply needs --out DIR, a directory that does not exist").hint("%s", cmd.UseLine())
	}
	plan, err := readPlan(name)
	if err != nil {
		return err
	}
	if err := plan.Confirm(o.confirm...); err != nil {
		return usagef("--confirm: %v", err)
	}
	if len(o.only)+len(o.skip) > 0 {
		if err := plan.Select(o.only, o.skip); err != nil {
			return usagef("%v", err)
		}
	}
	a.left = nothingWritten
	if o.inPlace {
		a.left = nothingChanged
	}
	began := time.Now()
	bar := &applyProgress{app: a}
	done, err := apply.Run(ctx, plan, apply.Options{Out: o.out, KeepOut: stillThere(plan.Paths), Link: o.link, Resume: o.resume, InPlace: o.inPlace, Kafsck: version(), Progress: bar.at})
	bar.finish()
	if err != nil {
		return applyFailure(ctx, err)
	}
	a.written(ctx)
	if !done.Complete() {
		a.fail(exitFindings)
	}
	switch {
	case a.json:
		j := a.jsonWriter("repair apply")
		j.Applied(done)
		j.Summary(&report.Scope{Bytes: done.Files.Bytes}, a.bits, false)
		return j.Err()
	case a.quiet:
		return nil
	}
	lasted := time.Since(began)
	t := &report.Applied{Done: done}
	if lasted >= 10*time.Second { // worth a word
		t.Lasted = lasted.Round(time.Second).String()
	}
	return t.Print(a.stdout)
}

// stillThere leaves out the paths of copies that were moved since the plan was made, of which the
// roots of the plan tell where they are now.
func stillThere(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool {
		_, err := os.Stat(p)
		return err != nil
	})
}

// applyFailure gives what ended a repair its exit code.
func applyFailure(ctx context.Context, err error) error {
	if _, ok := errors.AsType[*apply.Refused](err); ok {
		return &failure{exitRefused, err}
	}
	if _, ok := errors.AsType[*apply.Failed](err); ok {
		return &failure{exitFindings, err}
	}
	if ctx.Err() != nil {
		return &failure{exitInterrupted, err}
	}
	return &failure{exitIncomplete, err}
}

// applyProgress draws a bar with the time that is left; how much there is to read is known
// once the plan was held against the names.
type applyProgress struct {
	app  *app
	mu   sync.Mutex
	bar  *progress
	read int64
}

func (p *applyProgress) at(read, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar == nil {
		p.bar = p.app.newProgress(total)
	}
	if read > p.read {
		p.bar.add(read - p.read)
		p.read = read
	}
}

func (p *applyProgress) finish() {
	if p.bar != nil {
		p.bar.finish()
	}
}
