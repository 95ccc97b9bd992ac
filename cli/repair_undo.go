package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"kafsck/repair/apply"
	"kafsck/report"
)

func newRepairUndoCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "undo DIR|JOURNAL",
		Short: "Go back to what was there before repair apply --in-place",
		Long: `Put the originals of an in-place repair back, in all directories of that run. DIR is
the directory that was repaired, or the folder with its originals (DIR.kafsck-ID); a
JOURNAL lies in that folder. Also a run that was stopped half-way is reversed, and an
undo that was stopped goes on.

It refuses when something has written to the directory since (a broker that ran on the
result would lose what it wrote), when an original is missing or not what was moved
aside, and when the directory or its backup was moved. Then nothing is changed.` + exitHelp(
			"0  done: everything is as it was before the repair",
			"2  something could not be read or written: the same command goes on",
			"4  refused: a broker runs, or has run, on the directory; another kafsck does; an original is missing; there is no journal"),
		Example: `  kafsck repair undo /var/lib/kafka/data`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("%s needs the directory that was repaired in place, or its journal", cmd.CommandPath()).hint("%s", cmd.UseLine())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runRepairUndo(cmd.Context(), a, args[0]) },
	}
}

type undoneLine struct {
	Type  string   `json:"type"` // "repair-undone"
	Plan  string   `json:"plan"`
	Roots []string `json:"roots"`
	Files int      `json:"files"`
	Taken int      `json:"takenOut"` // files that the repair had added
}

// files counts in words: "1 file was", "2 files were".
func files(n int) string {
	if n == 1 {
		return "1 file was"
	}
	return fmt.Sprintf("%d files were", n)
}

func runRepairUndo(ctx context.Context, a *app, path string) error {
	a.left = nothingChanged
	u, err := apply.Undo(ctx, path)
	if err != nil {
		return applyFailure(ctx, err)
	}
	a.written(ctx)
	switch {
	case a.json:
		j := a.jsonWriter("repair undo")
		j.Line(undoneLine{"repair-undone", u.Plan, u.Roots, u.Files, u.Taken})
		j.Summary(&report.Scope{}, a.bits, false)
		return j.Err()
	case a.quiet:
		return nil
	}
	var did []string
	if u.Files > 0 {
		did = append(did, files(u.Files)+" put back")
	}
	if u.Taken > 0 {
		did = append(did, files(u.Taken)+" taken out that the repair had added")
	}
	if len(did) == 0 {
		fmt.Fprintf(a.stdout, "NOTHING TO UNDO  the repair of plan %s had been stopped before it moved a file; what it had made is removed\n", u.Plan)
		return nil
	}
	fmt.Fprintf(a.stdout, "UNDONE  the repair of plan %s: %s\n", u.Plan, strings.Join(did, ", "))
	for _, r := range u.Roots {
		fmt.Fprintf(a.stdout, "  %s\n", report.Escape(r))
	}
	return nil
}
