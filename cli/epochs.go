package cli

import (
	"context"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/report"
)

type epochsOptions struct {
	input inputOptions
	all   bool
	ascii bool
}

func newEpochsCommand(a *app) *cobra.Command {
	o := &epochsOptions{}
	cmd := &cobra.Command{
		Use:   "epochs PATH...",
		Short: "Leader epochs of each replica: batches, checkpoint file, metadata; every disagreement named",
		Long: `Show the leader epochs of each partition, replica by replica: which offsets
carry which epoch by the batch headers, what leader-epoch-checkpoint says, what
Kafka makes of that file when it loads it, and who was elected when by the
cluster metadata. Every disagreement is named with its likely cause, and whether
a healthy broker leaves such a one behind. Partitions that agree are summed up;
--all shows them too.` + pathHelp + exitHelp(
			"0  every leader-epoch-checkpoint fits its log, and the replicas agree or are merely behind",
			"1  a leader-epoch-checkpoint does not fit its log, replicas parted (from some offset on they carry different",
			"   epochs), or a batch carries an epoch that nothing bears out",
			"2  something could not be read (3: both)"),
		Example: `  kafsck epochs copies/
  kafsck epochs --all --partition orders-3 broker-1/ broker-2/`,
		Args: needPaths,
		RunE: func(cmd *cobra.Command, args []string) error { return runEpochs(cmd.Context(), a, cmd, args, o) },
	}
	o.input.addFlags(cmd.Flags())
	cmd.Flags().BoolVar(&o.all, "all", false, "every partition in full, and every epoch")
	cmd.Flags().BoolVar(&o.ascii, "ascii", false, "bars of plain ASCII characters (as where the locale is not UTF-8)")
	return cmd
}

func runEpochs(ctx context.Context, a *app, cmd *cobra.Command, args []string, o *epochsOptions) error {
	c, err := a.discover(args, o.input.brokers)
	if err != nil {
		return err
	}
	return epochsCase(ctx, a, cmd, c, args, o)
}

// epochsCase is runEpochs for inputs that are discovered already.
func epochsCase(ctx context.Context, a *app, cmd *cobra.Command, c *logdir.Case, args []string, o *epochsOptions) error {
	s, err := a.openCase(cmd, c, args, &o.input, incident.Options{})
	if err != nil {
		return err
	}
	defer s.close()
	var e *incident.Epochs // of the partition at hand
	bits := func(p *incident.Partition) int {
		e = p.Epochs()
		for _, failed := range e.Errors {
			same := func(x logdir.PathError) bool { return x.Path == failed.Path }
			if !slices.ContainsFunc(p.Errors, same) { // the judgement may have met it too
				p.Errors = append(p.Errors, failed)
				if !slices.ContainsFunc(s.c.Errors, same) {
					s.scope.Errors++
				}
			}
		}
		return epochsBits(e)
	}
	return s.give(ctx, answer{
		verb: "epochs", bits: bits,
		lines: func(j *report.JSON, p *incident.Partition) { j.Epochs(p, e) },
		text: func() (func(*incident.Partition), func() error) {
			t := &report.Epochs{Paths: s.paths, Scope: &s.scope, All: o.all, Width: columns(a.rawOut), ASCII: o.ascii || !utf8Locale()}
			return func(p *incident.Partition) { t.Add(p, e) }, func() error { s.explainErrors(); return t.Print(a.stdout) }
		},
	})
}

// epochsBits: a file that does not fit its log, batches whose epoch nothing bears
// out, or replicas that parted.
func epochsBits(e *incident.Epochs) int {
	if slices.ContainsFunc(e.Copies, func(c incident.CopyEpochs) bool { return !c.Agree || c.SuspectCount > 0 }) ||
		slices.ContainsFunc(e.Pairs, func(p incident.EpochPair) bool { return p.Parted }) {
		return exitFindings
	}
	return 0
}

// columns is the width of the terminal that out is, else 80.
func columns(out io.Writer) int {
	if f, ok := out.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return min(max(w, 40), 400)
		}
	}
	return 80
}

// utf8Locale reports whether the locale's characters are UTF-8, as POSIX looks it
// up: the first of these variables that is set decides.
func utf8Locale() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(os.Getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}
