package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"kafsck/check"
	"kafsck/finding"
	"kafsck/report"
)

func newExplainCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [CODE]",
		Short: "What a finding means, how it happens, what Kafka does, what to do",
		Long: `What a finding means, how it happens, what Kafka does with it, and what to do.
Without a CODE all codes are listed.` + exitHelp(
			"0  done"),
		Example: `  kafsck explain
  kafsck explain torn-tail`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var codes []string
			for _, c := range check.Codes() {
				codes = append(codes, string(c.Code))
			}
			return codes, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runExplain(cmd, a, args) },
	}
}

func runExplain(cmd *cobra.Command, a *app, args []string) error {
	codes := check.Codes()
	if len(args) == 1 {
		c, ok := check.Lookup(finding.Code(strings.ToLower(strings.ReplaceAll(args[0], "_", "-"))))
		if !ok {
			e := usagef("there is no finding %q", args[0])
			for _, near := range check.Near(args[0]) {
				e.hint("did you mean \"kafsck explain %s\"?", near)
			}
			return e.hint("kafsck explain lists all codes")
		}
		codes = []check.Code{c}
	}
	switch {
	case a.quiet:
		return nil
	case a.json:
		j := a.jsonWriter("explain")
		j.Codes(codes)
		return done(cmd.Context(), j.Err())
	case len(args) == 1:
		return done(cmd.Context(), report.Explain(a.stdout, codes[0]))
	}
	return done(cmd.Context(), report.ListCodes(a.stdout, codes))
}
