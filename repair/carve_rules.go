package repair

import (
	"cmp"
	"fmt"

	"kafsck/incident"
	"kafsck/logdir"
)

// ruler is who leads a partition by the metadata among the PATHs.
type ruler struct {
	leader int32 // -1 nobody
	epoch  int32 // of the newest leader
}

// rulers asks the metadata of the PATHs who leads the partitions, by the names that known gives them.
// What is uncertain there is left out.
func (c *carving) rulers() map[string]ruler {
	out := map[string]ruler{}
	if c.opt.Known == nil {
		return out
	}
	byID := map[string]ruler{}
	for _, cl := range incident.Open(c.opt.Known, incident.Options{}).Clusters {
		if cl.Metadata == nil {
			continue
		}
		for id, p := range cl.Metadata.Partitions {
			last := &p.Changes[len(p.Changes)-1]
			if t := cl.Metadata.Topics[id.Topic]; t == nil || last.Uncertain {
				continue
			}
			byID[fmt.Sprintf("%s-%d", id.Topic, id.Partition)] = ruler{last.Leader, last.LeaderEpoch}
		}
	}
	for name, id := range c.ids {
		if d, err := logdir.ParseDirName(plainName(name, id)); err == nil {
			if r, ok := byID[fmt.Sprintf("%s-%d", id, d.Partition)]; ok && id != "" {
				out[name] = r
			}
		}
	}
	return out
}

// plainName is a name without the topic id that tells it from another topic of the same name.
func plainName(name, id string) string {
	if suffix := " of topic " + id; len(name) > len(suffix) && name[len(name)-len(suffix):] == suffix {
		return name[:len(name)-len(suffix)]
	}
	return name
}

// led counts, for each piece, the batches that stand in the live log of the broker that leads the
// partition.
func (c *carving) led(p *logdir.Partition, name string, tally map[*run]int64) {
	if p.State != logdir.Live {
		return
	}
	for _, b := range c.opt.Known.Brokers {
		if !b.IDKnown {
			continue
		}
		for _, d := range b.Dirs {
			if d != p.LogDir {
				continue
			}
			for r, n := range tally {
				if r.live == nil {
					r.live = map[string]map[int32]int64{}
				}
				if r.live[name] == nil {
					r.live[name] = map[int32]int64{}
				}
				r.live[name][b.ID] = min(max(r.live[name][b.ID], n), r.batches)
			}
		}
	}
}

// rule decides which of several logs of one name is the partition's own history, by the metadata: the
// one with batches of the newest leader's epoch, else the one of which the leader's own log has most.
// Metadata that are older than some log here decide nothing.
func (c *carving) rule() {
	rulers := c.rulers()
	newest, logs := map[string]int32{}, map[string]int{}
	for i := range c.told.Logs {
		l := &c.told.Logs[i]
		newest[l.Partition] = max(newest[l.Partition], l.Epochs.Latest())
		logs[l.Partition]++
	}
	for i := range c.told.Logs {
		l := &c.told.Logs[i]
		r, ok := rulers[l.Partition]
		if !ok || l.Partition == "" || newest[l.Partition] > r.epoch {
			continue
		}
		for _, p := range l.Pieces {
			l.led += p.of.live[l.Partition][r.leader]
		}
		if l.Epochs.Latest() == r.epoch {
			l.ruling = true
			if logs[l.Partition] > 1 {
				l.Named += fmt.Sprintf("; of the logs with this name it is the one with batches of leader epoch %d, the newest by the metadata", r.epoch)
			}
		}
	}
	for i := range c.told.Logs {
		l := &c.told.Logs[i]
		if l.led == 0 || l.ruling || logs[l.Partition] < 2 {
			continue
		}
		first := true // the leader's log has more of it than of the others
		for k := range c.told.Logs {
			if o := &c.told.Logs[k]; k != i && o.Partition == l.Partition && (o.ruling || o.ledShare() >= l.ledShare()) {
				first = false
			}
		}
		if first {
			l.Named += fmt.Sprintf("; of the logs with this name it is the one that the log of broker %d has most of, the leader by the metadata", rulers[l.Partition].leader)
		}
	}
}

// ledShare is how much of a log is in the live log of the partition's leader.
func (l *CarvedLog) ledShare() float64 { return float64(l.led) / float64(max(l.Batches, 1)) }

// byRule orders logs of one name.
func byRule(a, b *CarvedLog) int {
	return cmp.Or(cmp.Compare(b2i(b.ruling), b2i(a.ruling)), cmp.Compare(b.ledShare(), a.ledShare()), cmp.Compare(b.share(), a.share()), cmp.Compare(b.Bytes, a.Bytes))
}
