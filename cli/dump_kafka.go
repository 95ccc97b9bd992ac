package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"kafsck/internal/rofs"
	"kafsck/internaltopic"
	"kafsck/report"
	"kafsck/segment"
)

// kafkaFlags are the options of kafka-dump-log, under its names.
type kafkaFlags struct {
	files                           []string
	deep, print, skipMetadata       bool
	verifyOnly, sanityOnly          bool
	maxMessageSize, maxBytes        int32
	offsets, transactions, metadata bool
	remote, share                   bool
	keyDecoder, valueDecoder        string
}

// kafkaFlagNames are the flags that mean something with --format kafka only.
var kafkaFlagNames = []string{
	"files", "deep-iteration", "print-data-log", "skip-record-metadata", "verify-index-only", "index-sanity-check", "max-message-size", "max-bytes",
	"offsets-decoder", "transaction-log-decoder", "cluster-metadata-decoder", "remote-log-metadata-decoder", "share-group-state-decoder",
	"key-decoder-class", "value-decoder-class",
}

const kafkaDecoderPackage = "org.apache.kafka.tools.api."

func (k *kafkaFlags) addFlags(flags *pflag.FlagSet) {
	const only = "with --format kafka: "
	flags.StringArrayVar(&k.files, "files", nil, only+"the `FILES` to dump, separated by commas; the same as FILE...")
	flags.BoolVar(&k.deep, "deep-iteration", false, only+"a line for each record, too")
	flags.BoolVar(&k.print, "print-data-log", false, only+"keys and values of the records, too")
	flags.BoolVar(&k.skipMetadata, "skip-record-metadata", false, only+"of the records only keys and values")
	flags.BoolVar(&k.verifyOnly, "verify-index-only", false, only+"hold index files against the log, do not print their entries")
	flags.BoolVar(&k.sanityOnly, "index-sanity-check", false, only+"of index files only the check that a broker does when it starts")
	flags.Int32Var(&k.maxMessageSize, "max-message-size", 5<<20, only+"`BYTES` to look for a batch in at the position of an index entry")
	flags.Int32Var(&k.maxBytes, "max-bytes", math.MaxInt32, only+"read the first `BYTES` of a log")
	flags.BoolVar(&k.offsets, "offsets-decoder", false, only+"records of __consumer_offsets as JSON")
	flags.BoolVar(&k.transactions, "transaction-log-decoder", false, only+"records of __transaction_state as JSON")
	flags.BoolVar(&k.metadata, "cluster-metadata-decoder", false, only+"records of __cluster_metadata as JSON")
	flags.BoolVar(&k.remote, "remote-log-metadata-decoder", false, only+"records of __remote_log_metadata as text")
	flags.BoolVar(&k.share, "share-group-state-decoder", false, only+"records of __share_group_state as JSON")
	flags.StringVar(&k.keyDecoder, "key-decoder-class", kafkaDecoderPackage+string(report.StringDecoder), only+"`CLASS` that decodes keys")
	flags.StringVar(&k.valueDecoder, "value-decoder-class", kafkaDecoderPackage+string(report.StringDecoder), only+"`CLASS` that decodes values")
}

// options makes those of the printer, or says what is wrong with the command line.
func (k *kafkaFlags) options(flags *pflag.FlagSet) (report.KafkaOptions, error) {
	opt := report.KafkaOptions{SkipMetadata: k.skipMetadata}
	for _, c := range []struct {
		class, flag string
		to          *report.KafkaDecoder
	}{{k.keyDecoder, "key-decoder-class", &opt.Parser.Key}, {k.valueDecoder, "value-decoder-class", &opt.Parser.Value}} {
		d := report.KafkaDecoder(strings.TrimPrefix(c.class, kafkaDecoderPackage))
		if !slices.Contains(report.KafkaDecoders, d) || string(d) == c.class {
			var known []string
			for _, d := range report.KafkaDecoders {
				known = append(known, kafkaDecoderPackage+string(d))
			}
			return opt, usagef("--%s %s: kafsck does not have this class", c.flag, c.class).hint("it has %s", strings.Join(known, ", "))
		}
		*c.to = d
	}
	if k.maxBytes < 0 || k.maxMessageSize < 0 {
		return opt, usagef("--max-bytes and --max-message-size cannot be below 0")
	}
	switch p := &opt.Parser; { // in this order, as Kafka
	case k.offsets:
		p.Topic = internaltopic.ConsumerOffsets
	case k.transactions:
		p.Topic = internaltopic.TransactionState
	case k.metadata:
		p.Metadata = true
	case k.remote:
		p.Topic = internaltopic.RemoteLogMetadata
	case k.share:
		p.Topic = internaltopic.ShareGroupState
	}
	opt.Contents = k.print || opt.Parser.Topic != 0 || opt.Parser.Metadata || flags.Changed("key-decoder-class") || flags.Changed("value-decoder-class")
	return opt, nil
}

// kafkaDump is one run of dump --format kafka: what kafka-dump-log prints, and a line on stderr
// wherever that would have ended with an exception, or says what is not so.
type kafkaDump struct {
	a    *app
	k    *kafkaFlags
	out  *report.Kafka
	deep bool

	mismatches, nonConsecutive kafkaReports
	timeMismatches, timeOrder  kafkaReports
	notFound                   kafkaReports
}

// runDumpKafka prints FILEs.
func runDumpKafka(ctx context.Context, a *app, args []string, k *kafkaFlags, flags *pflag.FlagSet) error {
	opt, err := k.options(flags)
	if err != nil {
		return err
	}
	names := slices.Clone(args)
	for _, list := range k.files {
		names = append(names, javaSplit(list)...)
	}
	if len(names) == 0 {
		return usagef("kafsck dump --format kafka needs a FILE, or --files FILE,FILE")
	}
	var w io.Writer = a.stdout
	var terminal *terminalText
	switch {
	case a.quiet:
		w = io.Discard
	case isTerminal(a.rawOut):
		terminal = &terminalText{w: w}
		w = terminal
	}
	d := &kafkaDump{a: a, k: k, out: report.NewKafka(w, opt), deep: k.deep || opt.Contents}
	if opt.Contents && (opt.Parser.Key == report.DefaultDecoder || opt.Parser.Value == report.DefaultDecoder) {
		d.say("DefaultDecoder: kafka-dump-log prints where the bytes lie in its memory, kafsck prints them in base64")
	}
	for _, name := range names {
		if d.stopped(ctx) {
			break
		}
		d.file(ctx, javaPath(name))
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	if !d.stopped(ctx) {
		d.reports()
	}
	err = d.out.Flush()
	if terminal != nil {
		if err == nil {
			err = terminal.Flush()
		}
		if terminal.escaped {
			d.say(`control characters are shown as \x1b and the like on a terminal; a pipe or a file gets them as kafka-dump-log writes them`)
		}
	}
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

func (d *kafkaDump) stopped(ctx context.Context) bool { return ctx.Err() != nil || d.out.Err() != nil }

// javaSplit is String.split(","): empty strings at the end are dropped.
func javaSplit(list string) []string {
	parts := strings.Split(list, ",")
	for len(parts) > 1 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	return parts
}

// javaPath is the path that java.io.File keeps: no repeated slashes, none at the end.
func javaPath(p string) string {
	for strings.Contains(p, "//") {
		p = strings.ReplaceAll(p, "//", "/")
	}
	if len(p) > 1 {
		p = strings.TrimSuffix(p, "/")
	}
	return p
}

// absolute is File.getAbsolutePath: the working directory before a relative path, and nothing else.
func absolute(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	dir, err := filepath.Abs(".")
	if err != nil {
		return p
	}
	return strings.TrimSuffix(dir, "/") + "/" + p
}

// file prints one file by what follows the last dot of its name.
func (d *kafkaDump) file(ctx context.Context, path string) {
	d.out.Line("Dumping ", path)
	name := path[strings.LastIndexByte(path, '/')+1:]
	suffix := ""
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		suffix = name[i:]
	}
	switch suffix {
	case ".log", ".checkpoint":
		d.log(ctx, path, name)
	case ".index":
		d.index(ctx, path, name)
	case ".timeindex":
		d.timeIndex(ctx, path, name)
	case ".snapshot":
		d.snapshot(path)
	case ".txnindex":
		d.txnIndex(path)
	default:
		d.stderr("Ignoring unknown file " + path)
	}
}

// stderr writes a line of kafka-dump-log, say one of ours; the lines before are out by then.
func (d *kafkaDump) stderr(line string) {
	d.flush()
	fmt.Fprintln(d.a.stderr, line)
}

func (d *kafkaDump) say(format string, args ...any) {
	d.flush()
	d.a.complain(format, args...)
}

func (d *kafkaDump) flush() {
	d.out.Flush()
	if w, ok := d.a.stdout.(interface{ Flush() error }); ok {
		w.Flush()
	}
}

// threw tells where kafka-dump-log would have ended with an exception. kafsck goes on.
func (d *kafkaDump) threw(path, format string, args ...any) {
	d.out.CutLine()
	d.say("%s: kafka-dump-log ends here with an exception, kafsck goes on: %s", path, fmt.Sprintf(format, args...))
	d.a.fail(exitIncomplete)
}

// unread tells of a file that could not be read.
func (d *kafkaDump) unread(path string, err error) {
	d.out.CutLine()
	d.say("%s: %s", path, segment.PlainCause(err))
	d.a.fail(exitIncomplete)
}

// open opens a file that the user named; size is that of now.
func (d *kafkaDump) open(path string) (f rofs.File, size int64, err error) {
	dir, err := rofs.Dir(filepath.Dir(path))
	if err != nil {
		return nil, 0, err
	}
	defer rofs.Close(dir)
	if f, err = dir.Open(filepath.Base(path)); err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// baseOffset is the number before the first dot of a file's name, as Kafka reads it.
func baseOffset(name string) (int64, error) {
	first, _, _ := strings.Cut(name, ".")
	n, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the name does not begin with an offset: %q", first)
	}
	return n, nil
}

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
