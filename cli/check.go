package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"kafsck/finding"
	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/report"
)

// checkOptions are the flags of kafsck check.
type checkOptions struct {
	input inputOptions
	judge judgeOptions
	level levelFlag
	// remote lists the remote segments of partitions.
	remote remoteListFlag
}

// levelFlag is --level.
type levelFlag report.Level

func (f *levelFlag) String() string { return string(*f) }
func (f *levelFlag) Type() string   { return "LEVEL" }

func (f *levelFlag) Set(s string) error {
	switch l := report.Level(s); l {
	case report.LevelFiles, report.LevelBatches, report.LevelRecords:
		*f = levelFlag(l)
		return nil
	}
	return fmt.Errorf("want files, batches or records")
}

func newCheckCommand(a *app) *cobra.Command {
	o := &checkOptions{level: levelFlag(report.LevelBatches)}
	cmd := &cobra.Command{
		Use:   "check PATH...",
		Short: "Damage and inconsistencies: logs, indexes, checkpoints, log directories",
		Long: `Damage and inconsistencies in logs, index files, producer snapshots, checkpoints
and log directories, with what Kafka does on each. What a kill leaves and the next
start repairs is a note.

  --level files    names, sizes and small files; no record is read
  --level batches  every header and CRC, all indexes, all checkpoints (default)
  --level records  every record of every batch as well` + pathHelp + exitHelp(
			"0  nothing at or above --fail-on",
			"1  findings",
			"2  something could not be read, or not decoded for its size (3: both)"),
		Example: `  kafsck check /var/lib/kafka/data
  kafsck check --level records --topic orders copies/
  kafsck explain batch-crc-mismatch`,
		Args: needPaths,
		RunE: func(cmd *cobra.Command, args []string) error { return runCheck(cmd.Context(), a, cmd, args, o) },
	}
	o.input.addFlags(cmd.Flags())
	o.judge.addFlags(cmd.Flags())
	o.judge.addFailOnFlag(cmd.Flags())
	cmd.Flags().Var(&o.remote, "remote-segments", "the remote segments of this partition, such as orders-0=remote.json (JSON, see docs/json.md), where __remote_log_metadata is not among the inputs (repeatable)")
	cmd.Flags().Var(&o.level, "level", "how deep: files, batches or records")
	return cmd
}

func runCheck(ctx context.Context, a *app, cmd *cobra.Command, args []string, o *checkOptions) error {
	c, opt, err := a.inputs(args, &o.input, func() (incident.Options, error) { return o.judge.options(cmd) })
	if err != nil {
		return err
	}
	return checkCase(ctx, a, cmd, c, args, o, opt)
}

// checkCase is runCheck for inputs that are discovered already.
func checkCase(ctx context.Context, a *app, cmd *cobra.Command, c *logdir.Case, args []string, o *checkOptions, opt incident.Options) error {
	var err error
	if opt.RemoteSegments, err = o.remote.read(); err != nil {
		return err
	}
	level := report.Level(o.level)
	opt.Files, opt.Tell = true, true
	opt.Compare, opt.FilesOnly = level != report.LevelFiles, level == report.LevelFiles
	opt.Records = level == report.LevelRecords
	opt.Transactions = level != report.LevelFiles
	opt.NowMs = time.Now().UnixMilli()
	s, err := a.openCase(cmd, c, args, &o.input, opt)
	if err != nil {
		return err
	}
	defer s.close()
	failOn := finding.Severity(o.judge.failOn)
	a.fail(listBits(s.findings, failOn))
	var later []finding.Finding
	return s.give(ctx, answer{
		verb: "check", judged: true,
		bits:  func(p *incident.Partition) int { return findingBits(p, failOn) | undecodedBits(p) },
		whole: func(j *report.JSON) { j.CaseFindings(s.c, s.findings) },
		lines: (*report.JSON).Findings,
		later: func() {
			later = s.inc.LaterFindings()
			s.scope.AddFindings(later)
			a.fail(listBits(later, failOn))
		},
		end: func(j *report.JSON) { j.CaseFindings(s.c, later) },
		text: func() (func(*incident.Partition), func() error) {
			t := &report.Check{Paths: s.paths, Scope: &s.scope, Level: level}
			t.Notes(s.c.Notes)
			t.Errors(s.errors())
			t.Findings("", s.findings)
			return t.Add, func() error {
				t.Findings("", later)
				t.Notes(s.changes())
				t.Errors(s.late)
				return t.Print(a.stdout)
			}
		},
	})
}
