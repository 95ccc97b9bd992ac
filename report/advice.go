package report

import (
	"fmt"
	"slices"
	"strings"

	"kafsck/diff"
	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/replica"
)

// keep is which brokers must not be started, and why.
type keep struct {
	brokers []incident.BrokerRef
	leaders []incident.BrokerRef
	// guess: some leader is one; may: nothing tells that the brokers are recent enough
	// to truncate by leader epoch for certain.
	guess, may bool
}

func (k *keep) merge(o *keep) {
	for _, b := range o.brokers {
		if !slices.Contains(k.brokers, b) {
			k.brokers = append(k.brokers, b)
		}
	}
	for _, b := range o.leaders {
		if !slices.Contains(k.leaders, b) {
			k.leaders = append(k.leaders, b)
		}
	}
	k.guess, k.may = k.guess || o.guess, k.may || o.may
}

func (k *keep) prose() string {
	if len(k.brokers) == 0 {
		return ""
	}
	it, cuts, gone := "it starts as a follower", "it truncates its log", " and these records are gone"
	if k.may {
		cuts, gone = "it may truncate its log", ", and these records would be gone"
	}
	if len(k.brokers) > 1 {
		it, cuts = "they start as followers", strings.Replace(strings.Replace(cuts, "it truncates its log", "they truncate their logs", 1), "it may truncate its log", "they may truncate their logs", 1)
	}
	until := ""
	if k.guess {
		until = " until it is certain who leads"
	}
	return fmt.Sprintf("Keep %s stopped%s: if %s of %s, %s%s.", brokers(k.brokers), until, it, brokers(k.leaders), cuts, gone)
}

// advice is what must be done before anything is started again, and only what is
// true of these disks.
func (p *Paths) advice(x *incident.Partition) (stop keep, save []string) {
	for i := range x.Losses {
		l := &x.Losses[i]
		if !l.Counts() {
			continue
		}
		for _, c := range l.Copies {
			switch c.State {
			case replica.Live:
				if truncates(x, c.Broker, l) {
					stop.merge(&keep{[]incident.BrokerRef{c.Broker}, []incident.BrokerRef{*x.Ruling.Leader}, x.Ruling.Guess, x.Cluster.Metadata == nil})
				}
			case replica.Deleted, replica.Replaced, replica.Swap, replica.Delete:
				line := "Save " + Escape(c.File) + " of broker " + Escape(c.Broker.Name) + ": " + fate(c.State) + "."
				if !slices.Contains(save, line) {
					save = append(save, line)
				}
			}
		}
	}
	return stop, save
}

func fate(s replica.State) string {
	switch s {
	case replica.Delete:
		return "a running broker deletes this directory"
	case replica.Deleted:
		return "it waits for deletion, and a start deletes it at once"
	}
	return "a start drops it"
}

// truncates reports whether a start of broker b as a follower of the ruling
// leader would cut l off its log: the two logs part at or below it and do not
// meet again.
func truncates(x *incident.Partition, b incident.BrokerRef, l *incident.Loss) bool {
	if x.Ruling.Leader == nil || l.From == nil || b == *x.Ruling.Leader {
		return false
	}
	for i := range x.Divergences {
		d := &x.Divergences[i]
		if d.A.Broker != b && d.B.Broker != b || d.EqualFrom != nil {
			continue
		}
		if (d.Kind == diff.EpochFork || d.Kind == diff.LeaderBehind) && d.From <= *l.From && *l.From < d.To {
			return true
		}
	}
	return false
}

// next is the command that shows the records of the first loss that somebody
// holds, "" without one.
func (p *Paths) next(x *incident.Partition) string {
	for _, grade := range counted {
		for i := range x.Losses {
			l := &x.Losses[i]
			if l.Committed != grade || l.From == nil || l.To == nil {
				continue
			}
			for _, c := range l.Copies {
				if files := holding(x, c, *l.From, *l.To); len(files) > 0 {
					words := []string{"kafsck", "dump", "--offsets", fmt.Sprintf("%d..%d", *l.From, *l.To-1), "--records"}
					for _, f := range files {
						words = append(words, p.Typed(f.Path))
					}
					return Command(words...)
				}
			}
		}
	}
	return ""
}

// holding returns the segment files of a copy in which [from, to) lies, at most
// the first three.
func holding(x *incident.Partition, ref incident.CopyRef, from, to int64) []*logdir.File {
	for _, c := range x.Copies {
		if c.Err != nil || c.Log == nil || c.Broker != ref.Broker || c.State != ref.State || len(c.Log.Segments) == 0 {
			continue
		}
		if isAside(c.State) && c.Log.Segments[0].Log.Path != ref.File || !isAside(c.State) && c.Dir != ref.File {
			continue
		}
		var files []*logdir.File
		for i, s := range c.Log.Segments {
			last := i+1 == len(c.Log.Segments)
			if s.BaseOffset < to && (last || c.Log.Segments[i+1].BaseOffset > from) && len(files) < 3 {
				files = append(files, s.Log)
			}
		}
		return files
	}
	return nil
}
