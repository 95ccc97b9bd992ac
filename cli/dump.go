package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"kafsck/report"
)

type dumpOptions struct {
	input     inputOptions
	records   bool
	indexes   bool
	offsets   offsetRange
	positions byteRange
	times     timeRange
	epochs    epochRange
	where     whereText
	values    valueFormat
	full      bool
	strict    bool
	as        dumpKind
}

func newDumpCommand(a *app) *cobra.Command {
	opt := dumpOptions{offsets: everyOffset, values: valueFormat(report.ValueAuto)}
	cmd := &cobra.Command{
		Use:   "dump FILE|PATH...",
		Short: "Show what is in log segments, index files and checkpoint files",
		Long: `Show what is in the files of a broker: each batch of a log segment on a line, with
--records each record below its batch; each entry of an index file or a producer
snapshot on a line; and the text files as tables.

A FILE is shown whatever else lies beside it. A PATH is a partition directory or a
log directory, of which every .log file and every text file is shown, and with
--indexes the index files and producer snapshots too.

Bytes in a segment that are no batch are shown as what they are: zeros, the torn
end of a batch, junk, or a whole batch that is not part of the log. The unused rest
of a preallocated index file is counted.

Of several ranges all must hold. What has no offset, position or time of its own
is in no such range: a .index has no times, a .timeindex no positions. A batch has
the times from that of its first record to the largest; with --records each record
counts.

` + whereHelp() + knownFiles() + exitHelp(
			"0  done; the zeros or the torn batch that a kill leaves at the end of a log are no findings",
			"1  a CRC does not verify, bytes or records cannot be decoded, an index file does not end with an entry\n     or has a value below 0, or Kafka would refuse a file",
			"2  something could not be read, is no file that dump knows, or is beyond a limit of kafsck (3: both)"),
		Example: `  kafsck dump broker-1/orders-0
  kafsck dump --records --offsets 100..199 broker-1/orders-0/00000000000000000000.log
  kafsck dump --records --json orders-0 | jq -r 'select(.type == "record") | .value'
  kafsck dump --records broker-1/__cluster_metadata-0
  kafsck dump broker-1/orders-0/00000000000000000000.index
  kafsck dump --epochs 7.. --where 'codec == "zstd" && producerId == 4000' broker-1/orders-0
  kafsck dump --records --where 'header("trace") == "a17" || value == nil' broker-1/orders-0
  kafsck dump --indexes --times 2026-11-30T01:52:00Z..2026-11-30T01:53:00Z broker-1/orders-0`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("%s needs a FILE or PATH", cmd.CommandPath()).hint("%s", cmd.UseLine())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runDump(cmd.Context(), a, args, &opt)
		},
	}
	flags := cmd.Flags()
	opt.input.addFlags(flags)
	flags.BoolVar(&opt.records, "records", false, "show the records of each batch")
	flags.BoolVar(&opt.indexes, "indexes", false, "of a PATH, show also .index, .timeindex, .txnindex and .snapshot files")
	flags.Var(&opt.offsets, "offsets", "only batches, records and entries with offsets `A..B`, both included; A.., ..B or N")
	flags.Var(&opt.positions, "positions", "only what touches the bytes `A..B` of the .log: batches, and entries of its .index")
	flags.Var(&opt.times, "times", "only batches, records and entries with timestamps `A..B`: RFC 3339 or milliseconds")
	flags.Var(&opt.epochs, "epochs", "only batches and records of the leader epochs `A..B`, both included; A.., ..B or N")
	flags.Var(&opt.where, "where", "only lines of which this `EXPR` holds: 'codec == \"zstd\" && offset >= 1000'; see below")
	flags.Var(&opt.values, "value-format", "how keys and values are shown: "+joinFormats(", ")+"; JSON has base64")
	flags.BoolVar(&opt.full, "full", false, "do not cut long keys, values and lists")
	flags.BoolVar(&opt.strict, "strict", false, "exit 1 for records of a type or version that kafsck does not know, and name each")
	flags.Var(&opt.as, "as", "decode every FILE as this `KIND`, whatever its name: "+kindNames(", "))
	addDumpFormat(a, cmd)
	return cmd
}

// selective tells that some partitions of a PATH were asked for, or a range.
func (o *dumpOptions) selective() bool {
	return len(o.input.topics) > 0 || len(o.input.partitions) > 0 || o.ranged()
}

// runDump prints every file that args name.
func runDump(ctx context.Context, a *app, args []string, opt *dumpOptions) error {
	where, err := newWhereFilter(opt)
	if err != nil {
		return err
	}
	d := newDumper(a, opt)
	d.where = where
	d.args(ctx, args)
	return d.finish(ctx)
}

// newDumper begins the output.
func newDumper(a *app, opt *dumpOptions) *dumper {
	d := &dumper{a: a, opt: opt}
	w := a.stdout
	if a.quiet {
		w = io.Discard
	}
	if a.json && !a.quiet {
		d.out = report.NewDumpJSON(a.jsonWriter("dump"), opt.values == valueFormat(report.ValueRedacted))
	} else {
		d.out = report.NewDumpText(w, report.DumpTextOptions{Values: report.ValueFormat(opt.values), Full: opt.full})
	}
	return d
}

// finish ends the output with its summary.
func (d *dumper) finish(ctx context.Context) error {
	if ctx.Err() != nil {
		return errInterrupted
	}
	if d.sum.Files == 0 && d.sum.Failed == 0 {
		d.a.complain("nothing to show here")
		d.a.complain("%s", knownFiles())
		d.a.fail(exitIncomplete)
	}
	if d.sum.Files > 0 && (d.where != nil && !d.named || d.where == nil && d.opt.ranged() && d.sum.Batches == 0 && d.sum.Entries == 0) {
		if d.indexes || d.opt.positions.set || d.opt.times.set || d.opt.epochs.set || d.where != nil {
			d.out.Note("Nothing matches %s", d.opt.ranges())
		} else {
			d.out.Note("No batch holds any of the offsets %s.", d.opt.offsets.String())
		}
	}
	if notes := d.changed.notes(); len(notes) > 0 {
		d.out.Notes(notes)
	}
	for _, f := range d.changed.failed {
		d.failed(f.Path, f.Err)
	}
	d.sum.NotAsked = d.where.notAsked()
	d.where.tell(d.out)
	d.sum.ExitCode = d.a.bits
	d.out.Summary(&d.sum)
	err := d.out.Err()
	if errors.Is(err, syscall.EPIPE) {
		return nil // the reader has seen enough
	}
	return err
}

// offsetRange is the value of --offsets, both ends included.
type offsetRange struct{ first, last int64 }

var everyOffset = offsetRange{math.MinInt64, math.MaxInt64}

func (r *offsetRange) String() string {
	if *r == everyOffset {
		return ""
	}
	if r.first == r.last {
		return strconv.FormatInt(r.first, 10)
	}
	var b strings.Builder
	if r.first != math.MinInt64 {
		fmt.Fprint(&b, r.first)
	}
	b.WriteString("..")
	if r.last != math.MaxInt64 {
		fmt.Fprint(&b, r.last)
	}
	return b.String()
}

func (r *offsetRange) Type() string { return "range" }

// Set parses A..B, A.., ..B and N.
func (r *offsetRange) Set(s string) error {
	from, to, isRange := strings.Cut(s, "..")
	next := everyOffset
	bound := func(text string, to *int64) error {
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("%q is no offset; want A..B (both included), A.., ..B or N", text)
		}
		*to = n
		return nil
	}
	if from != "" || !isRange {
		if err := bound(from, &next.first); err != nil {
			return err
		}
	}
	switch {
	case !isRange:
		next.last = next.first
	case to != "":
		if err := bound(to, &next.last); err != nil {
			return err
		}
	}
	if next.first > next.last {
		return fmt.Errorf("%d comes after %d", next.first, next.last)
	}
	*r = next
	return nil
}

// meets reports whether any offset of first … last, both included, is in the range.
func (r *offsetRange) meets(first, last int64) bool { return first <= r.last && last >= r.first }

// valueFormat is the value of --value-format.
type valueFormat report.ValueFormat

func (f *valueFormat) String() string { return string(*f) }
func (f *valueFormat) Type() string   { return "format" }

func (f *valueFormat) Set(s string) error {
	if !slices.Contains(report.ValueFormats, report.ValueFormat(s)) {
		return fmt.Errorf("want %s", joinFormats(", "))
	}
	*f = valueFormat(s)
	return nil
}

func joinFormats(sep string) string {
	names := make([]string, len(report.ValueFormats))
	for i, f := range report.ValueFormats {
		names[i] = string(f)
	}
	return strings.Join(names, sep)
}
