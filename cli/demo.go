package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"

	"github.com/spf13/cobra"

	"kafsck/commitment"
	"kafsck/finding"
	"kafsck/incident"
	"kafsck/internal/demodata"
	"kafsck/internal/outfile"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/report"
)

// demoName is what the embedded directories are called in the demo's commands.
const demoName = "unclean-election"

func newDemoCommand(a *app) *cobra.Command {
	var extract string
	var browse bool
	cmd := &cobra.Command{
		Use:   "demo [--extract DIR | --tui]",
		Short: "A recorded incident, told with kafsck's answers",
		Long: `Tell an incident that was recorded from a real Kafka 4.3.1 cluster: an unclean
leader election that cost 100 acknowledged records. The brokers' directories are
part of this program, and every answer is computed from them as it is printed.

With --extract the directories are written to DIR, to try the commands on. With
--tui they are browsed on the terminal, and a tour of one screen says how.
With --json the demo is the JSON Lines of "kafsck loss" on them.` + exitHelp(
			"0  done",
			"4  DIR exists and is not empty"),
		Example: `  kafsck demo
  kafsck demo --tui
  kafsck demo --extract unclean-election && kafsck unclean-election`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch extracted := cmd.Flags().Changed("extract"); {
			case extracted && browse:
				return usagef("--extract and --tui are two things; give one of them")
			case extracted:
				return runExtract(a, extract)
			case browse:
				return demoBrowse(cmd.Context(), a)
			}
			return runDemo(cmd.Context(), a)
		},
	}
	cmd.Flags().BoolVar(&browse, "tui", false, "browse it on the terminal, with a tour")
	cmd.Flags().StringVar(&extract, "extract", "", "write the recorded directories to `DIR`")
	return cmd
}

const demoStory = `
An incident, recorded from a real Kafka 4.3.1 cluster. Topic unclean-demo has one partition on brokers 1 and 2
and min.insync.replicas=1; broker 3 only keeps the metadata. All producers used acks=all.
  1. Broker 1 leads. 100 records are acknowledged; both brokers have them: offsets 0–99.
  2. Broker 2 is killed. Alone in the ISR, broker 1 acknowledges 100 more: offsets 100–199.
  3. Broker 1 is killed, broker 2 comes back. Its log ends at 100, so it may not lead: the partition is offline.
  4. Somebody forces an unclean election. Broker 2 leads and appends 20 new records: offsets 100–119.
Then, with broker 1 still down, the three disks were copied. These are kafsck's answers, computed from the copies now:
`

const (
	demoSaysTriage = "The verdict: acknowledged records are missing from the leader's log. Broker 1's disk still holds them."
	demoSaysDiff   = "Why: from offset 100 on, the two logs were written under different leaders and hold different records."
	demoSaysLoss   = "The same, checked against what the producers were told: their log of acknowledgements agrees."
)

// demoStep is a command of the demo.
type demoStep struct {
	says string
	line string
	run  func(ctx context.Context, sub *app, c *logdir.Case) error
}

// runDemo tells the incident. Its exit code is 0: that records were lost is the story.
func runDemo(ctx context.Context, a *app) error {
	acks, err := demoAcks()
	if err != nil {
		return err
	}
	if a.json {
		return demoJSON(ctx, a, acks)
	}
	d := &report.Demo{}
	d.Story(demoStory)
	for _, step := range demoSteps(acks) {
		c, err := demoCase()
		if err != nil {
			return err
		}
		var out bytes.Buffer
		// Exit bits and progress of a step are its own.
		sub := &app{stdin: a.stdin, stdout: &out, stderr: a.stderr, rawOut: &out, rawErr: io.Discard}
		if err := step.run(ctx, sub, c); err != nil {
			return err
		}
		d.Command(step.says, step.line, out.Bytes())
	}
	acked, err := demoAcked(ctx, acks)
	if err != nil {
		return err
	}
	d.Lesson(int64(len(acks.Of(demoPartition, 0, math.MaxInt64))), acked, report.Command("kafsck", "demo", "--extract", demoName))
	if a.quiet {
		return nil
	}
	return d.Print(a.stdout)
}

const demoPartition = "unclean-demo-0"

func demoAcks() (*commitment.AckLog, error) {
	f, err := demodata.Recording().Open(demodata.Acks)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return commitment.ReadAcks(f, demoName+"/"+demodata.Acks, false)
}

func demoCase() (*logdir.Case, error) {
	return logdir.DiscoverFS(rofs.FromFS(demodata.Recording()), demoName, logdir.Options{})
}

// demoSteps are the commands of the demo, as newXCommand would run them on the
// directories on disk.
func demoSteps(acks *commitment.AckLog) []demoStep {
	in := []string{demoName}
	return []demoStep{
		{demoSaysTriage, report.Command("kafsck", demoName), func(ctx context.Context, sub *app, c *logdir.Case) error {
			o := &triageOptions{judge: judgeOptions{failOn: severityFlag(finding.Warning)}}
			return triageCase(ctx, sub, newRootCommand(sub), c, in, o, incident.Options{})
		}},
		{demoSaysDiff, report.Command("kafsck", "diff", demoName), func(ctx context.Context, sub *app, c *logdir.Case) error {
			return diffCase(ctx, sub, newDiffCommand(sub), c, in, &diffOptions{}, incident.Options{})
		}},
		{demoSaysLoss, report.Command("kafsck", "loss", "--acks", acks.Name, demoName), func(ctx context.Context, sub *app, c *logdir.Case) error {
			cmd := newLossCommand(sub)
			if err := cmd.ParseFlags([]string{"--acks", acks.Name}); err != nil {
				return err
			}
			return lossCase(ctx, sub, cmd, c, in, &lossOptions{}, incident.Options{Acks: acks})
		}},
	}
}

// demoAcked counts the lost records that a producer was told are safe.
func demoAcked(ctx context.Context, acks *commitment.AckLog) (int64, error) {
	s, err := demoSession(&app{stdout: io.Discard, stderr: io.Discard, rawErr: io.Discard, quiet: true}, acks)
	if err != nil {
		return 0, err
	}
	defer s.close()
	acked := int64(0)
	for p := range s.partitions(ctx, lossBits) {
		for i := range p.Losses {
			if l := &p.Losses[i]; l.Acknowledged == commitment.AckedAll && l.Records != nil {
				acked += *l.Records
			}
		}
	}
	return acked, nil
}

// demoJSON is loss --json on the embedded directories, with exit code 0.
func demoJSON(ctx context.Context, a *app, acks *commitment.AckLog) error {
	s, err := demoSession(a, acks)
	if err != nil {
		return err
	}
	defer s.close()
	noBits := func(*incident.Partition) int { return 0 }
	if a.quiet {
		return s.endQuiet(ctx, noBits)
	}
	j := a.jsonWriter("demo")
	for p := range s.partitions(ctx, noBits) {
		j.Ruling(p)
		j.Losses(p)
	}
	return s.endJSON(ctx, j, true)
}

func demoSession(sub *app, acks *commitment.AckLog) (*session, error) {
	c, err := demoCase()
	if err != nil {
		return nil, err
	}
	return sub.openCase(newLossCommand(sub), c, []string{demoName}, &inputOptions{}, incident.Options{Compare: true, Acks: acks})
}

// runExtract writes the recorded directories to dir.
func runExtract(a *app, dir string) error {
	if a.json {
		return usagef("demo --extract has no JSON output")
	}
	if dir == "" {
		return usagef("--extract needs the name of a directory to write")
	}
	err := extractDemo(dir)
	a.finished = err == nil
	if err != nil {
		if errors.Is(err, outfile.ErrExists) {
			return &failure{exitRefused, fmt.Errorf("%s exists and is not empty; nothing was written", dir)}
		}
		return &failure{exitIncomplete, err}
	}
	if a.quiet {
		return nil
	}
	dir = notFlag(dir)
	in := func(words ...string) string { return report.Command(append([]string{"kafsck"}, words...)...) }
	acks := dir + "/" + demodata.Acks
	for _, line := range []string{
		fmt.Sprintf("Wrote broker-1, broker-2, broker-3 and %s to %s. Try:", demodata.Acks, report.Escape(dir)),
		"  " + in(dir),
		"  " + in("diff", dir),
		"  " + in("loss", "--acks", acks, "--acks-complete", dir),
		"  " + in("dump", "--records", "--offsets", "95..104", dir+"/broker-1/"+demoPartition, dir+"/broker-2/"+demoPartition),
	} {
		if _, err := fmt.Fprintln(a.stdout, line); err != nil {
			return err
		}
	}
	return nil
}

func extractDemo(dir string) error {
	out, err := outfile.NewDir(dir)
	if err != nil {
		return err
	}
	defer out.Discard()
	recording := demodata.Recording()
	err = fs.WalkDir(recording, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		f, err := recording.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		return out.WriteFile(name, f, info.ModTime())
	})
	if err != nil {
		return err
	}
	return out.Commit()
}
