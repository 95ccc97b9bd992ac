package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kafsck/commitment"
	"kafsck/incident"
	"kafsck/internal/outfile"
	"kafsck/logdir"
	"kafsck/report"
	"kafsck/segment"
)

type exportOptions struct {
	input     inputOptions
	judge     judgeOptions
	out       string
	format    exportFormat
	from      string
	fromSet   bool
	offsets   offsetRange
	times     timeRange
	epochs    epochRange
	where     whereText
	committed bool
	lost      bool
	against   string
	grades    gradeFlag
	redact    bool
}

// exportFormat is --format.
type exportFormat string

const (
	formatJSONL   exportFormat = "jsonl"
	formatParquet exportFormat = "parquet"
)

func (f *exportFormat) String() string { return string(*f) }
func (f *exportFormat) Type() string   { return "format" }

func (f *exportFormat) Set(s string) error {
	if x := exportFormat(s); x == formatJSONL || x == formatParquet {
		*f = x
		return nil
	}
	return errors.New("want jsonl or parquet")
}

// gradeFlag is --grade: grades of losses, separated by commas.
type gradeFlag []commitment.Grade

func (f *gradeFlag) Type() string { return "grades" }

func (f *gradeFlag) String() string {
	var words []string
	for _, g := range *f {
		words = append(words, string(g))
	}
	return strings.Join(words, ",")
}

func (f *gradeFlag) Set(s string) error {
	for _, word := range strings.Split(s, ",") {
		g := commitment.Grade(strings.TrimSpace(word))
		if g != commitment.Yes && g != commitment.Unknown && g != commitment.No {
			return errors.New("want some of yes, unknown and no, such as yes,unknown")
		}
		*f = append(*f, g)
	}
	return nil
}

func newExportCommand(a *app) *cobra.Command {
	o := &exportOptions{offsets: everyOffset}
	cmd := &cobra.Command{
		Use:   "export PATH... [--out FILE|DIR]",
		Short: "Get records out, losing nothing: JSON Lines or Parquet; with --lost those that the leader's log lacks",
		Long: `Get the records of partitions out with all that their log says of them: offset,
leader epoch, timestamp and its type, key, value, headers, producer id, epoch and
sequence, and what became of their transaction. Null and empty are told apart, the
order and the bytes of header keys are kept, control records are there and marked.

Of several replicas of a partition one is exported: that of the leader, else of the
broker that --from names. A batch that is damaged is named with its file, position
and offsets; everything else is exported. Records below the log start offset were
deleted for clients: only --offsets takes what is left of them.

--lost exports the records that "kafsck loss" finds in copies, each with its grade,
and says of each how it stands to the new log (the leader's, or that in --against):
absent; superseded by a newer record of its key, at which offset; or there already,
at which offset. docs/export.md tells how to put them back with a standard client.

--redact leaves keys, values and header values out, as dump --value-format redacted
does: their sizes and SHA-256 stand in their place, all else is as it is. Such a file
can be handed on and compared; nothing can be put back from it.

Without --out JSON Lines go to standard output and the report to standard error. A
FILE that ends with .parquet is one; an existing empty folder, or a name that ends
with /, gets a file for each partition. What is written appears when it is whole:
after an error or an interrupt there is no file.

` + whereHelp() + strings.TrimPrefix(pathHelp, "\n\n") + exitHelp(
			"0  exported all that was asked for",
			"1  something is damaged, missing, or lost without a copy here, or with --committed its",
			"   transaction's end is not known, and was not exported; all the rest was",
			"2  something could not be read, or of a partition nothing can be told: then nothing is written (3: both)",
			"4  the output exists, or lies below a PATH"),
		Example: `  kafsck export copies/broker-2/orders-0 > orders-0.jsonl
  kafsck export --topic orders --committed --out orders/ copies/
  kafsck export --partition orders-3 --from 2 --out orders-3.parquet copies/
  kafsck export --lost --out lost.jsonl copies/
  kafsck export --lost --grade yes,unknown --against fresh/broker-2 --out lost.jsonl copies/
  kafsck export --lost --redact --out lost-redacted.jsonl copies/
  kafsck export --times 2026-11-30T01:00:00Z..2026-11-30T02:00:00Z --where 'key == "order-17"' copies/`,
		Args: needPaths,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.fromSet = cmd.Flags().Changed("from")
			return runExport(cmd.Context(), a, cmd, args, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.out, "out", "", "write to the new `FILE`, or one file for each partition into the new DIR/")
	f.Var(&o.format, "format", "jsonl or parquet; by the name of FILE, else jsonl")
	f.StringVar(&o.from, "from", "", "export the replica of this `BROKER`, by id or folder, not the leader's")
	o.input.addFlags(f)
	f.Var(&o.offsets, "offsets", "only records with offsets `A..B`, both included; A.., ..B or N")
	f.Var(&o.times, "times", "only records with timestamps `A..B`: RFC 3339 or milliseconds")
	f.Var(&o.epochs, "epochs", "only records of the leader epochs `A..B`, both included; A.., ..B or N")
	f.Var(&o.where, "where", "only records of which this `EXPR` holds")
	f.BoolVar(&o.committed, "committed", false, "only what a read_committed consumer gets: no aborted or open transactions, no control records, up to the last stable offset")
	f.BoolVar(&o.lost, "lost", false, "only records that the leader's log lacks and a copy has")
	f.StringVar(&o.against, "against", "", "with --lost: the new log is that in `LEADER_DIR`, and its broker the leader")
	f.Var(&o.grades, "grade", "with --lost: only losses with these answers to \"was it committed\": yes,unknown,no")
	f.BoolVar(&o.redact, "redact", false, "leave keys, values and header values out; their sizes and SHA-256 stay")
	o.judge.addFlags(f)
	o.judge.addGradeFlags(f)
	return cmd
}

// check refuses what cannot be meant, and settles the format.
func (o *exportOptions) check() error {
	switch {
	case !o.lost && o.against != "":
		return usagef("--against is for --lost")
	case !o.lost && len(o.grades) > 0:
		return usagef("--grade is for --lost")
	case o.fromSet && o.from == "":
		return usagef("--from wants a broker, by id or folder")
	case o.lost && o.fromSet:
		return usagef("--from is not for --lost, which takes each record from a copy that has it")
	}
	if o.format == "" {
		o.format = formatJSONL
		if strings.HasSuffix(o.out, ".parquet") {
			o.format = formatParquet
		}
	}
	if o.format == formatParquet && o.out == "" {
		return usagef("Parquet is not for standard output").hint("give --out FILE")
	}
	return nil
}

func runExport(ctx context.Context, a *app, cmd *cobra.Command, args []string, o *exportOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	opt, err := o.judge.options(cmd)
	if err != nil {
		return err
	}
	inputs := slices.Clone(args)
	if o.against != "" {
		if _, err := os.Stat(o.against); err != nil {
			return fmt.Errorf("--against %s: %w", o.against, segment.PlainCause(err))
		}
		if !slices.ContainsFunc(args, func(p string) bool { return o.against == p || within(o.against, p) }) {
			inputs = append(inputs, o.against)
		}
	}
	t := &exportTarget{app: a, format: o.format, redact: o.redact}
	defer t.discard()
	if o.out != "" {
		a.left = nothingWritten
	}
	if err := t.open(o.out, inputs); err != nil {
		return err
	}
	c, err := a.discover(inputs, o.input.brokers)
	if err != nil {
		return err
	}
	return exportCase(ctx, a, cmd, c, args, o, opt, t)
}

// within reports whether a path is or lies below a directory, symbolic links resolved.
func within(path, dir string) bool {
	host, err := realPath(path)
	root, err2 := realPath(dir)
	return err == nil && err2 == nil && (host == root || strings.HasPrefix(host, root+string(os.PathSeparator)))
}

// exporter is one run of export.
type exporter struct {
	*session
	o       *exportOptions
	from    []*logdir.Broker // that --from names; nil none
	target  *exportTarget
	judge   *incident.TransactionJudge
	where   *exportWhere
	against string // host path
	text    report.Export
	lines   *report.JSON // of --json beside --out; nil: none
}

// exportCase is runExport for inputs that are discovered already.
func exportCase(ctx context.Context, a *app, cmd *cobra.Command, c *logdir.Case, args []string, o *exportOptions, opt incident.Options, t *exportTarget) error {
	x := &exporter{o: o, target: t}
	var err error
	if x.where, err = newExportWhere(o.where); err != nil {
		c.Close()
		return err
	}
	if o.against != "" {
		if err := x.takeAgainst(c, &opt); err != nil {
			c.Close()
			return err
		}
	}
	opt.Transactions, opt.Compare = true, o.lost
	s, err := a.openCase(cmd, c, args, &o.input, opt)
	if err != nil {
		return err
	}
	defer s.close()
	x.session = s
	if o.fromSet {
		if x.from, err = s.brokerOf("--from", o.from, &o.input); err != nil {
			return err
		}
	}
	x.judge = s.inc.TransactionJudge(incident.TransactionOptions{})
	x.text = report.Export{Out: o.out, Lost: o.lost, Redacted: o.redact, Next: func(p string) string { return s.paths.Again("check", "--partition", p) }}
	if err := x.target.begin(x); err != nil {
		return err
	}
	for p := range s.inc.Partitions(ctx) {
		if err := x.partition(ctx, p); err != nil {
			s.progress.finish()
			if ctx.Err() != nil {
				return errInterrupted
			}
			for _, e := range p.Errors {
				a.complain("%s", e)
			}
			return x.nothing(err)
		}
	}
	s.progress.finish()
	if ctx.Err() != nil {
		return errInterrupted
	}
	if len(x.text.Untold) > 0 || len(c.Errors) > 0 || len(s.inc.Errors) > 0 {
		s.explainErrors()
		a.fail(exitIncomplete)
		if len(x.text.Untold) > 0 && t.writes() {
			for _, u := range x.text.Untold {
				a.complain("%s", u)
			}
			how := "name the replica with --from BROKER, or choose the others with --topic and --partition"
			if o.lost {
				how = "name their leaders with --leader, or choose the others with --topic and --partition"
			}
			return x.nothing(fmt.Errorf("of these partitions nothing can be told (%d): %s", len(x.text.Untold), how))
		}
	}
	return x.finish()
}

// nothing ends a run that got nowhere.
func (x *exporter) nothing(err error) error {
	if _, usage := errors.AsType[*usageError](err); usage {
		return err
	}
	if errors.Is(err, outfile.ErrExists) {
		return &failure{exitRefused, err}
	}
	if x.target.writes() {
		err = fmt.Errorf("%w; nothing was written", err)
	}
	if f, ok := errors.AsType[*failure](err); ok {
		return &failure{f.bits, err}
	}
	return &failure{exitIncomplete, err}
}

// finish ends the output and tells what is in it.
func (x *exporter) finish() error {
	a := x.app
	for _, p := range x.text.List {
		if p.SkippedN+p.MissingN+p.Undecided.Records+p.Overlaps.Records > 0 || p.Against != nil && p.Against.NoCopy+p.Against.Untold > 0 {
			a.fail(exitFindings)
		}
	}
	if err := x.target.commit(x); err != nil {
		return x.nothing(err)
	}
	a.finished = true
	switch {
	case a.quiet:
		return nil
	case !x.target.writes(): // the lines are on standard output
		if a.json {
			return nil
		}
		return x.text.Print(a.stderr)
	case x.lines != nil:
		x.lines.ExportSummary(a.bits, x.text.List, x.scope.Errors, x.o.redact)
		return x.lines.Err()
	}
	return x.text.Print(a.stdout)
}
