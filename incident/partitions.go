package incident

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"kafsck/logdir"
	"kafsck/replica"
)

// Partitions judges every partition, in the order of their names. Work runs
// ahead on all cores; a partition is handed over when it and all before it are
// done. The iteration ends early with ctx.
func (inc *Incident) Partitions(ctx context.Context) iter.Seq[*Partition] {
	return func(yield func(*Partition) bool) {
		ctx, cancel := context.WithCancel(ctx)
		groups := inc.groups()
		results := make([]chan result, len(groups))
		for i := range results {
			results[i] = make(chan result, 1)
		}
		workers := min(inc.opt.workers(), len(groups))
		// A token is taken for each partition begun and given back when it is handed
		// over, so that finished stories do not pile up behind a slow one.
		tokens := make(chan struct{}, 2*max(workers, 1))
		next := make(chan int)
		var wg sync.WaitGroup
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer close(next)
			for i := range groups {
				select {
				case tokens <- struct{}{}:
				case <-ctx.Done():
					return
				}
				select {
				case next <- i:
				case <-ctx.Done():
					return
				}
			}
		}()
		for range workers {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for i := range next {
					var r result
					r.panicked = guard(func() { r.story = inc.judge(ctx, groups[i]) })
					results[i] <- r
				}
			}()
		}
		defer wg.Wait()
		defer cancel()
		for i := range results {
			select {
			case r := <-results[i]:
				if r.panicked != nil {
					panic(r.panicked)
				}
				if ctx.Err() != nil || !yield(r.story) {
					return
				}
				<-tokens
			case <-ctx.Done():
				return
			}
		}
	}
}

// result is a finished story, or the panic that ended it.
type result struct {
	story    *Partition
	panicked *caught
}

// errIncomplete is the error of a copy whose directory could not be listed to
// its end: what is missing from it may be what matters.
var errIncomplete = errors.New("not everything in the directory could be listed")

// read reads every copy of a partition.
func (inc *Incident) read(ctx context.Context, g *group, p *Partition) {
	for _, m := range g.dirs {
		ref, d := g.cluster.refs[m.broker], g.cluster.disks[m.broker]
		sources, err := replica.View(m.dir)
		if odd := m.dir.OddLogs(); err == nil && len(odd) > 0 {
			err = fmt.Errorf("the log is not all there: %s: %w", odd[0].Name, odd[0].Err)
		} else if err == nil && m.dir.Incomplete {
			err = errIncomplete
		}
		if err != nil {
			p.Copies = append(p.Copies, &Copy{Broker: ref, State: replica.State(m.dir.State.String()), Dir: m.dir.Dir, Err: err, disk: d})
			continue
		}
		for _, s := range sources {
			p.Copies = append(p.Copies, &Copy{Broker: ref, State: s.State, Dir: m.dir.Dir, Log: &replica.Log{Source: s}, disk: d})
		}
	}
	var wg sync.WaitGroup
	panics := make([]*caught, len(p.Copies))
	unread := make([][]logdir.PathError, len(p.Copies))
	for i, c := range p.Copies {
		if c.Err != nil {
			continue
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			slots := inc.readSlots()
			slots <- struct{}{}
			defer func() { <-slots }()
			panics[i] = guard(func() {
				c.Log, unread[i], c.Err = inc.readLog(ctx, c.Log.Source, inc.opt.Progress)
			})
		}()
	}
	wg.Wait()
	for _, c := range panics {
		if c != nil {
			panic(c)
		}
	}
	for i := range p.Copies {
		p.Errors = append(p.Errors, unread[i]...)
	}
	order := map[replica.State]int{replica.Live: 0, replica.Deleted: 1, replica.Swap: 2, replica.Replaced: 3, replica.Stray: 4, replica.Delete: 5, replica.Future: 6, replica.Cleaned: 7}
	slices.SortStableFunc(p.Copies, func(a, b *Copy) int {
		return cmp.Or(cmp.Compare(order[a.State], order[b.State]), cmp.Compare(a.Broker.ID, b.Broker.ID), cmp.Compare(a.Broker.Name, b.Broker.Name), cmp.Compare(newest(b), newest(a)), cmp.Compare(end(b), end(a)), cmp.Compare(a.Dir, b.Dir))
	})
	seen := map[BrokerRef]bool{}
	var fragmented []*logdir.Partition
	for i, c := range p.Copies {
		c.Index = i
		if c.Err != nil && ctx.Err() == nil {
			p.Errors = append(p.Errors, failedRead(c.Dir, c.Err))
			if dir := g.dirOf(c); inc.opt.Files && dir != nil && c.State == replica.State(dir.State.String()) && !slices.Contains(fragmented, dir) {
				fragmented = append(fragmented, dir)
				inc.judgeFragments(ctx, p, c, dir)
			}
		}
		if c.State == replica.Live {
			c.Extra = seen[c.Broker]
			seen[c.Broker] = true
		}
	}
}

// newest orders two live directories of one broker: that of the newer leader epoch comes first, which
// a leader has written last, and is the one to keep (see compareTwins).
func newest(c *Copy) int32 {
	if !c.readable() || c.State != replica.Live {
		return -1
	}
	return c.Log.LatestEpoch()
}

// end orders two directories of one broker and of one epoch: the longer one comes first.
func end(c *Copy) int64 {
	if !c.readable() {
		return -1
	}
	return c.Log.LogEndOffset
}
