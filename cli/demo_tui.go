package cli

import (
	"context"

	"kafsck/incident"
	"kafsck/logdir"
)

// demoTour is shown over the first screen: the incident and the keys that lead through
// it, on one small screen.
var demoTour = []string{
	"A recorded incident: topic unclean-demo, brokers 1 and 2, acks=all. Broker 1 went on alone and acknowledged offsets 100–199, died, and broker 2, whose log ended at 100, was forced to lead: an unclean election.",
	"",
	"  F        the findings; enter shows one and the bytes that it is about",
	"  enter    the partition: both logs by leader epoch, where they part",
	"  O        back here, from wherever you are; esc goes one step back, ] forward",
	"  /        filter a list as you type; z shows only faults; s sorts",
	"  :        commands; tab completes them",
	"  x        the kafsck command for what you see; y copies it",
	"  ?        all keys, R reads again, ctrl+c stops reading, q quits",
	"",
	"Nothing is ever written to the inputs. The commands that x shows work after \"kafsck demo --extract unclean-election\".",
	"",
	"enter closes this and begins",
}

// demoBrowse opens the browser on the embedded incident.
func demoBrowse(ctx context.Context, a *app) error {
	acks, err := demoAcks()
	if err != nil {
		return err
	}
	return a.browse(ctx, browse{
		cmd: newTUICommand(a), args: []string{demoName}, input: &inputOptions{}, judge: incident.Options{Acks: acks}, tour: demoTour,
		discover: func() (*logdir.Case, error) { return demoCase() },
	})
}
