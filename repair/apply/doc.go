// Package apply carries out plans of package repair: the only writer of log data
// in kafsck.
//
//	layout.go   the plan as files: where each byte of the result comes from, what no file holds
//	inputs.go   refuse?   names, sizes, locks
//	copy.go     one pass over each input: SHA-256, unchanged and composed files, lost+found
//	rebuild.go  texts; indexes and snapshots from the logs of the result
//	verify.go   composed files, findings that must be gone, a start as promised
//	run.go      a new directory, by one rename
//	hold.go     one run at a time: the stage, or the directories themselves
//	inplace.go  the directories themselves: journal, originals aside, new files in
//	undo.go     and back
//	unchanged.go  refuse?   originals that are missing, a broker that ran since
//	system.go   every operation that changes the file system
//	epochs.go   [Epochs]: leader-epoch-checkpoint files alone, for "repair epochs"
//
// It decides nothing, touches no path that is not in a plan, and overwrites nothing. Only
// an in-place repair changes an input, by moving it aside. What is not complete and
// verified never appears under the name that was asked for.
package apply
