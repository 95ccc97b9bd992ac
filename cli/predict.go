package cli

import "github.com/spf13/cobra"

func newPredictCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "predict",
		Short: "What Kafka would do next: at its start, under another leader, while catching up",
		Long: `What Kafka would do with these files, before it does it: what a broker deletes
and cuts at its next start, what is lost under each leader, and how long a
follower takes to catch up. Nothing is ever performed.`,
		Args: noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPredictStartCommand(a), newPredictLeaderCommand(a), newPredictCatchupCommand(a))
	return cmd
}
