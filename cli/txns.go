package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/replica"
	"kafsck/report"
)

type txnsOptions struct {
	input      inputOptions
	judge      judgeOptions
	all        bool
	producers  producerFlag
	ids        globFlag
	states     stateFlag
	maxTimeout time.Duration
}

// producerFlag is --producer-id, repeatable.
type producerFlag []int64

func (f *producerFlag) String() string { return "" }
func (f *producerFlag) Type() string   { return "N" }

func (f *producerFlag) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("want a number from 0 on")
	}
	*f = append(*f, n)
	return nil
}

// stateFlag is --state, repeatable.
type stateFlag []string

func (f *stateFlag) String() string { return "" }
func (f *stateFlag) Type() string   { return "STATE" }

func (f *stateFlag) Set(s string) error {
	switch s {
	case "open", "hanging", "committed", "aborted":
		*f = append(*f, s)
		return nil
	}
	return fmt.Errorf("want open, hanging, committed or aborted")
}

func newTxnsCommand(a *app) *cobra.Command {
	o := &txnsOptions{maxTimeout: incident.MaxTransactionTimeout}
	cmd := &cobra.Command{
		Use:   "txns PATH...",
		Short: "Transactions of each replica: open, hanging, committed, aborted; the last stable offset",
		Long: `Show the transactions of each partition, replica by replica: which are open and
since when, which hang (nothing will end them, and read-committed consumers stop at
their first offset for ever), where the last stable offset is, and markers that one
replica has and another lacks. Finished transactions are counted; --all lists them.

What the coordinator knows stands in __transaction_state: with the log directories of
the brokers that hold its partitions among the PATHs, a hanging transaction is told
from one that is merely open, and has its transactional id. Without it only time can
tell: no transaction stays open for longer than transaction.max.timeout.ms.` + pathHelp + exitHelp(
			"0  no transaction hangs; open ones alone are normal",
			"1  a transaction hangs, or a replica lacks a marker that another has",
			"2  something could not be read (3: both)"),
		Example: `  kafsck txns copies/
  kafsck txns --topic orders --all copies/
  kafsck txns --state hanging --json copies/
  kafsck txns --transactional-id 'billing-*' copies/`,
		Args: needPaths,
		RunE: func(cmd *cobra.Command, args []string) error { return runTxns(cmd.Context(), a, cmd, args, o) },
	}
	f := cmd.Flags()
	o.input.addFlags(f)
	o.judge.addFlags(f)
	f.BoolVar(&o.all, "all", false, "finished transactions, too, and partitions with nothing else")
	f.Var(&o.producers, "producer-id", "only transactions of this producer id (repeatable)")
	f.Var(&o.ids, "transactional-id", "only transactions of transactional ids that match, such as 'billing-*' (repeatable)")
	f.Var(&o.states, "state", "only open, hanging, committed or aborted ones; the last two are listed as with --all (repeatable)")
	f.DurationVar(&o.maxTimeout, "max-transaction-timeout", o.maxTimeout, "transaction.max.timeout.ms of the brokers is `DURATION`")
	return cmd
}

// filtered reports whether only some transactions were asked for.
func (o *txnsOptions) filtered() bool { return len(o.producers)+len(o.ids)+len(o.states) > 0 }

// finished reports whether finished transactions are listed.
func (o *txnsOptions) finished() bool {
	if len(o.states) > 0 {
		return slices.Contains(o.states, "committed") || slices.Contains(o.states, "aborted")
	}
	return o.all
}

func (o *txnsOptions) keeps(state string, x *replica.Transaction, id string) bool {
	return (len(o.producers) == 0 || slices.Contains(o.producers, x.ProducerID)) &&
		(len(o.states) == 0 || slices.Contains(o.states, state)) &&
		(len(o.ids) == 0 || id != "" && o.ids.match(id))
}

func runTxns(ctx context.Context, a *app, cmd *cobra.Command, args []string, o *txnsOptions) error {
	if o.maxTimeout <= 0 {
		return usagef("--max-transaction-timeout %s: want a time above 0, such as 15m", o.maxTimeout)
	}
	c, opt, err := a.inputs(args, &o.input, func() (incident.Options, error) { return o.judge.options(cmd) })
	if err != nil {
		return err
	}
	return txnsCase(ctx, a, cmd, c, args, o, opt)
}

// txnsCase is runTxns for inputs that are discovered already.
func txnsCase(ctx context.Context, a *app, cmd *cobra.Command, c *logdir.Case, args []string, o *txnsOptions, opt incident.Options) error {
	opt.Transactions = true
	s, err := a.openCase(cmd, c, args, &o.input, opt)
	if err != nil {
		return err
	}
	defer s.close()
	judge := s.inc.TransactionJudge(incident.TransactionOptions{MaxTimeout: o.maxTimeout})
	var tx *incident.Transactions // of the partition at hand
	told := 0                     // failed reads of __transaction_state
	fail := func(p *incident.Partition, list ...logdir.PathError) {
		for _, e := range list {
			if !slices.ContainsFunc(p.Errors, func(x logdir.PathError) bool { return x.Error() == e.Error() }) {
				p.Errors = append(p.Errors, e)
				s.scope.Errors++
			}
		}
	}
	bits := func(p *incident.Partition) int {
		tx = judge.Judge(ctx, p)
		fail(p, tx.Errors...)
		fail(p, judge.Errors()[told:]...)
		told = len(judge.Errors())
		if o.filtered() {
			tx.Keep(o.keeps)
		}
		if tx.Counts() {
			return exitFindings
		}
		return 0
	}
	// each calls f for every finished transaction of a copy that is asked for, until f is done.
	each := func(p *incident.Partition, c *incident.Copy, f func(x *replica.Transaction, id string) bool) {
		for x, err := range c.Log.Transactions(ctx) {
			if err != nil {
				if ctx.Err() == nil {
					fail(p, logdir.PathError{Path: c.Dir, Err: err})
					a.fail(exitIncomplete)
				}
				return
			}
			if x.State == replica.TransactionOpen {
				return // the finished ones come first
			}
			id := judge.TransactionalID(ctx, p, x.ProducerID)
			if o.keeps(string(x.State), &x, id) && !f(&x, id) {
				return
			}
		}
	}
	return s.give(ctx, answer{
		verb: "txns", bits: bits,
		lines: func(j *report.JSON, p *incident.Partition) {
			if o.finished() {
				for i := range tx.Copies {
					c := tx.Copies[i].Copy
					each(p, c, func(x *replica.Transaction, id string) bool {
						j.FinishedTransaction(p, c, x, id)
						return j.Err() == nil
					})
				}
			}
			j.Transactions(p, tx)
		},
		text: func() (func(*incident.Partition), func() error) {
			t := &report.Txns{Paths: s.paths, Scope: &s.scope, All: o.all, Filtered: o.filtered()}
			add := func(p *incident.Partition) {
				var finished []report.Finished
				if o.finished() {
					finished = finishedOf(tx, func(c *incident.Copy, f func(x *replica.Transaction, id string) bool) { each(p, c, f) })
				}
				t.Add(p, tx, finished)
			}
			return add, func() error { s.explainErrors(); return t.Print(a.stdout) }
		},
	})
}

// finishedOf lists the finished transactions of each copy. Live replicas that hold the same
// are listed once.
func finishedOf(tx *incident.Transactions, each func(*incident.Copy, func(*replica.Transaction, string) bool)) []report.Finished {
	var out []report.Finished
	for i := range tx.Copies {
		c := tx.Copies[i].Copy
		if !tx.Copies[i].Any() || slices.ContainsFunc(out, func(f report.Finished) bool { return f.Copy.Log.SameBlocks(c.Log) }) {
			continue
		}
		f, ids := report.Finished{Copy: c}, map[int64]string{}
		f.ID = func(producer int64) string { return ids[producer] }
		each(c, func(x *replica.Transaction, id string) bool {
			if len(f.List) == report.MaxFinished {
				f.More++
				return true
			}
			f.List = append(f.List, *x)
			ids[x.ProducerID] = id
			return true
		})
		out = append(out, f)
	}
	return out
}
