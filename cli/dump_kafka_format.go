package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// dumpFormats are the values of --format.
var dumpFormats = []string{"text", "json", "kafka"}

const kafkaHelp = `
--format kafka prints what kafka-dump-log of Kafka 4.3.1 prints, byte for byte, for the
same FILEs and the same options (below, under their names there), so that a script only
needs another program. Where kafka-dump-log ends with an exception kafsck prints the
same lines up to there, says so on stderr, and goes on; its reports of mismatches and
gaps are followed on stderr by a line of kafsck's where they are false. Secrets in
metadata records are shown, as kafka-dump-log does. Exit code: 2 if something could not
be read, else 0.
`

// addDumpFormat adds --format, and the options of kafka-dump-log, to dump.
func addDumpFormat(a *app, cmd *cobra.Command) {
	var format string
	var k kafkaFlags
	flags := cmd.Flags()
	own := ownFlags(flags)
	flags.StringVar(&format, "format", "text", "output as `FORMAT`: "+strings.Join(dumpFormats, ", ")+" (as kafka-dump-log); json is --json")
	k.addFlags(flags)
	cmd.Long = strings.Replace(cmd.Long, "\nExit codes:", kafkaHelp+"\nExit codes:", 1)
	cmd.Example += "\n  kafsck dump --format kafka --print-data-log --files orders-0/00000000000000000000.log,orders-0/00000000000000000000.index"
	args, run := cmd.Args, cmd.RunE
	cmd.Args = func(cmd *cobra.Command, list []string) error {
		switch {
		case !slices.Contains(dumpFormats, format):
			return usagef("--format %s: want %s", format, strings.Join(dumpFormats, ", "))
		case format == "kafka":
			if name := firstChanged(flags, own); name != "" {
				return usagef("--%s is not for --format kafka, which has the options of kafka-dump-log only", name)
			}
			if a.json {
				return usagef("--json and --format kafka are two formats: leave one out")
			}
			return nil
		case flags.Changed("format") && format == "text" && a.json:
			return usagef("--json and --format text are two formats: leave one out")
		}
		if name := firstChanged(flags, kafkaFlagNames); name != "" {
			return usagef("--%s is an option of kafka-dump-log: it needs --format kafka", name)
		}
		return args(cmd, list)
	}
	cmd.RunE = func(cmd *cobra.Command, list []string) error {
		switch format {
		case "json":
			a.json = true
		case "kafka":
			return runDumpKafka(cmd.Context(), a, list, &k, flags)
		}
		return run(cmd, list)
	}
}

// ownFlags are the flags that are there by now.
func ownFlags(flags *pflag.FlagSet) []string {
	var names []string
	flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

func firstChanged(flags *pflag.FlagSet, names []string) string {
	for _, name := range names {
		if flags.Changed(name) {
			return name
		}
	}
	return ""
}
