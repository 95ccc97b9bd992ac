package tui

// screenCommands are the screens that can be opened from anywhere by name. Every kind
// of screen that makes sense without another one below it has its line here.
func screenCommands() []screenCommand {
	return []screenCommand{
		caseCommand,
		findingsCommand,
		segmentsCommand,
		partitionScreenCommand,
		diffCommand,
		lossCommand,
		leaderCommand,
		startCommand,
		historyCommand,
		metadataCommand,
		txnsCommand,
	}
}
