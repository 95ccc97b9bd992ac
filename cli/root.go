package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kafsck/check"
)

const pathHelp = `

A PATH is a log directory, a partition directory, a folder of several (one per
broker), or a single .log file. Inputs are opened read-only and never changed.`

// exitHelp ends a command's help with its exit codes.
func exitHelp(lines ...string) string {
	return "\n\nExit codes:\n  " + strings.Join(lines, "\n  ") + "\n  64 bad usage, 70 a bug of ours, 130 interrupted (143 by SIGTERM, 129 by SIGHUP)"
}

func newRootCommand(a *app) *cobra.Command {
	o := &triageOptions{}
	cmd := &cobra.Command{
		Use:   "kafsck PATH...",
		Short: "Read copied Kafka log directories and tell what happened to the data",
		Long: `kafsck reads copied Kafka log directories and tells what happened to the data:
what is damaged, how replicas differ, which records are lost, whether they had
been committed, and who still has them. No cluster and no JVM are needed.

With PATHs and no command it looks at all of this and gives a verdict of at most
20 lines.` + pathHelp + exitHelp(
			"0  nothing at or above --fail-on; replicas agree or a follower is merely behind",
			"1  findings, differences, loss",
			"2  incomplete: something could not be read, or cannot be told (3: both)",
			"4  repair refused for safety: the output exists, a broker runs, an input changed"),
		Example: `  kafsck copies/                      verdict over a folder with one folder per broker
  kafsck loss copies/                 what is lost, in full
  kafsck diff --topic orders copies/  how the replicas of a topic differ
  kafsck check copies/                what is damaged, with what Kafka does on it and what to do
  kafsck epochs copies/               do the leader epochs agree, on disk and between replicas
  kafsck history copies/              who led when, with which in-sync replicas
  kafsck predict start copies/broker-1
                                      what a broker does to these files at its next start
  kafsck predict leader copies/       who should lead, and what that costs
  kafsck repair epochs copies/broker-1/orders-0 --out repaired
                                      a correct leader-epoch-checkpoint, in a new directory
  kafsck ls /var/lib/kafka/data       what lies in a log directory`,
		Version:       version(),
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := pathsOrHint(cmd, args); err != nil {
				return err
			}
			return runTriage(cmd.Context(), a, cmd, args, o)
		},
	}
	cmd.SetVersionTemplate("kafsck {{.Version}}\n")
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		e := usagef("%s", flagComplaint(err))
		if near := nearFlag(cmd, err); near != "" {
			e.hint("did you mean --%s?", near)
		}
		return e.hint("%s --help", cmd.CommandPath())
	})
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.SuggestionsMinimumDistance = 2

	cmd.PersistentFlags().BoolVar(&a.json, "json", false, "JSON Lines instead of text (docs/json.md)")
	cmd.PersistentFlags().BoolVarP(&a.quiet, "quiet", "q", false, "the exit code and errors only")
	o.input.addFlags(cmd.Flags())
	o.judge.addFlags(cmd.Flags())
	o.judge.addGradeFlags(cmd.Flags())
	o.judge.addAllFlag(cmd.Flags())
	o.judge.addFailOnFlag(cmd.Flags())

	cmd.AddCommand(newLsCommand(a), newCheckCommand(a), newDiffCommand(a), newLossCommand(a), newEpochsCommand(a), newHistoryCommand(a), newTxnsCommand(a), newGroupsCommand(a), newPredictCommand(a), newDumpCommand(a), newRepairCommand(a), newSalvageCommand(a), newManifestCommand(a), newExportCommand(a), newExplainCommand(a), newDemoCommand(a), newTUICommand(a), newCompletionCommand(a))
	cmd.SetHelpCommand(newHelpCommand())
	refuseArgs(cmd)
	ownDefaults(cmd)
	return cmd
}

// flagComplaint is what is wrong with a flag, in the words of a user: a number that does
// not parse is told without the name of the function that tried.
func flagComplaint(err error) string {
	number, ok := errors.AsType[*strconv.NumError](err)
	if !ok {
		return err.Error()
	}
	said, _, _ := strings.Cut(err.Error(), ": strconv.")
	if errors.Is(number.Err, strconv.ErrRange) {
		return said + ": the number is too large"
	}
	return said + ": want a number"
}

// nearFlag is the flag that an unknown one is a slip of, "" without one.
func nearFlag(cmd *cobra.Command, err error) string {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || len(unknown.GetSpecifiedName()) < 3 {
		return ""
	}
	name, best := unknown.GetSpecifiedName(), ""
	least := max(2, len(name)/4) + 1
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if d := check.Edits(name, f.Name); d < least && !f.Hidden {
			least, best = d, f.Name
		}
	})
	return best
}

// noCommand refuses a word behind a command that only has others below it.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	e := usagef("there is no command %q", strings.TrimPrefix(cmd.CommandPath(), "kafsck ")+" "+args[0])
	cmd.SuggestionsMinimumDistance = 2
	for _, s := range cmd.SuggestionsFor(args[0]) {
		e.hint("did you mean \"%s %s\"?", cmd.CommandPath(), s)
	}
	return e.hint("%s --help", cmd.CommandPath())
}

// ownDefaults leaves the saying of a default to the help texts that say it themselves.
func ownDefaults(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if strings.Contains(f.Usage, "(default") {
			f.DefValue = ""
		}
	})
	for _, sub := range cmd.Commands() {
		ownDefaults(sub)
	}
}

// refuseArgs makes bad usage of whatever a command's argument rule refuses.
func refuseArgs(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		refuseArgs(sub)
		rule := sub.Args
		if rule == nil {
			continue
		}
		sub.Args = func(cmd *cobra.Command, args []string) error {
			err := rule(cmd, args)
			if _, ok := errors.AsType[*usageError](err); ok || err == nil {
				return err
			}
			return usagef("%s: %v", cmd.CommandPath(), err).hint("%s --help", cmd.CommandPath())
		}
	}
}

// newHelpCommand is cobra's, except that a topic that does not exist is bad
// usage.
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			of, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usagef("help: there is no command %q", strings.Join(args, " ")).hint("kafsck --help lists the commands")
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		},
	}
}

// pathsOrHint refuses a first word that is neither a command nor an existing
// path: a mistyped command must not look like a path without findings.
func pathsOrHint(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("no PATH given").hint("kafsck PATH...  looks at log directories and gives a verdict").hint("kafsck --help   lists the commands")
	}
	first := args[0]
	if _, err := os.Lstat(first); err == nil || !os.IsNotExist(err) {
		return nil // what is there and cannot be read is told as such
	}
	e := usagef("%q is neither a command nor an existing path", first)
	for _, s := range cmd.SuggestionsFor(first) {
		e.hint("did you mean \"kafsck %s\"?", s)
	}
	if dir := nearest(first); dir != "" {
		e.hint("%s exists, what lies below it does not", dir)
	}
	return e.hint("kafsck --help lists the commands")
}

// nearest is the longest existing folder of a path that does not exist, "" when
// the path has no folder.
func nearest(path string) string {
	for dir := filepath.Dir(path); dir != "." && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err == nil {
			return fmt.Sprintf("%q", dir)
		}
	}
	return ""
}
