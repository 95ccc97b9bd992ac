package incident

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"time"

	"kafsck/batch"
	"kafsck/kraft"
	"kafsck/logdir"
	"kafsck/replica"
)

// maxTimelineEpochs bounds the epochs of one copy that get rows: the newest.
const maxTimelineEpochs = 1_000

// maxTimelineGaps bounds the holes of one copy that get rows.
const maxTimelineGaps = 20

// Add takes in what the logs of a partition tell. A failed read is added to the
// partition's errors.
func (t *Timeline) Add(p *Partition) {
	t.names[clusterPartition{p.Cluster, p.Name}] = p.TopicID
	writes := map[write]*TimelineEvent{}
	var order []write
	for _, c := range p.Copies {
		if !c.readable() {
			continue
		}
		list, err := t.writesOf(p, c)
		for _, e := range list {
			k := write{e.Kind, e.Epoch, e.From, e.RawMs}
			if known := writes[k]; known != nil {
				known.Brokers = append(known.Brokers, e.Brokers...)
				continue
			}
			writes[k], order = &e, append(order, k)
		}
		if err == nil {
			err = t.holes(p, c)
		}
		if err != nil {
			p.Errors = append(p.Errors, failedRead(c.Dir, err))
		}
		t.files(p, c)
	}
	for _, k := range order {
		e := writes[k]
		e.Says += " (" + whereSeen(e.Brokers) + ")"
		t.add(*e)
	}
	t.traces(p)
}

// write tells the writes of one epoch apart; replicas of one line have the same.
type write struct {
	kind  string
	epoch int32
	from  int64
	ms    int64
}

func whereSeen(brokers []BrokerRef) string {
	var names []string
	for _, b := range brokers {
		if !slices.Contains(names, b.Name) {
			names = append(names, b.Name)
		}
	}
	if len(names) == 1 {
		return "on broker " + names[0]
	}
	return "on brokers " + listed(names)
}

// writesOf is the first and the last batch of each epoch in one copy, by their largest
// timestamps.
func (t *Timeline) writesOf(p *Partition, c *Copy) ([]TimelineEvent, error) {
	ranges := c.Log.Lineage
	if n := len(ranges); n > maxTimelineEpochs {
		t.note("%s on broker %s has %d epochs; the newest %d have rows", p.Name, c.Broker.Name, n, maxTimelineEpochs)
		ranges = ranges[n-maxTimelineEpochs:]
	}
	var out []TimelineEvent
	for _, r := range ranges {
		for _, end := range []struct {
			kind, says string
			at         int64
		}{{TimeFirstWrite, "first batch", r.From}, {TimeLastWrite, "last batch", r.To - 1}} {
			for b, err := range c.Log.Blocks(end.at, end.at+1) {
				if err != nil {
					return out, err
				}
				if !b.Whole() {
					continue
				}
				e := event(p.Cluster, end.kind)
				e.Partition, e.TopicID, e.Epoch, e.From, e.To, e.rank = p.Name, p.TopicID, r.Epoch, b.Base, b.Next(), rankBatch
				e.Brokers, e.Source = []BrokerRef{c.Broker}, c.Dir
				e.Says = fmt.Sprintf("%s of epoch %d: offsets %s", end.says, r.Epoch, offsetsBetween(b.Base, b.Next()))
				if r.Epoch < 0 {
					e.Says = fmt.Sprintf("%s without a leader epoch: offsets %s", end.says, offsetsBetween(b.Base, b.Next()))
				}
				if c.State != replica.Live {
					e.Says += ", " + string(c.State)
				}
				if b.Attributes.TimestampType() == batch.LogAppendTime {
					t.at(&e, b.MaxTimestamp, BrokerClock, leaderOfEpoch(p.Changes, r.Epoch))
				} else {
					t.at(&e, b.MaxTimestamp, ClientClock, -1)
				}
				out = append(out, e)
				break
			}
		}
	}
	return out, nil
}

// leaderOfEpoch is who led in an epoch by the metadata, -1 unknown.
func leaderOfEpoch(changes []kraft.Change, e int32) int32 {
	for i := range changes {
		if changes[i].LeaderEpoch == e && changes[i].Leader >= 0 {
			return changes[i].Leader
		}
	}
	return -1
}

// holes adds the offsets that a live log of a delete-policy topic misses; their time is
// that of the batch behind them.
func (t *Timeline) holes(p *Partition, c *Copy) error {
	if c.State != replica.Live || p.Ruling.Policy == compactPolicy || c.Log.Sparse {
		return nil
	}
	n := 0
	for _, a := range c.Log.Anomalies.Kept {
		if a.Kind != replica.Gap && a.Kind != replica.SegmentGap || a.To <= c.Log.LogStartOffset {
			continue
		}
		if n++; n > maxTimelineGaps {
			t.note("%s on broker %s has more than %d gaps; the first have rows", p.Name, c.Broker.Name, maxTimelineGaps)
			break
		}
		e := event(p.Cluster, TimeGap)
		e.Partition, e.TopicID, e.From, e.To, e.rank = p.Name, p.TopicID, a.From, a.To, rankBatch
		e.Brokers, e.Source = []BrokerRef{c.Broker}, c.Dir
		e.Says = fmt.Sprintf("offsets %s are missing on broker %s; the time is that of the batch behind them", offsetsBetween(a.From, a.To), c.Broker.Name)
		for b, err := range c.Log.Blocks(a.To, a.To+1) {
			if err != nil {
				return err
			}
			t.at(&e, b.MaxTimestamp, ClientClock, -1)
			break
		}
		t.add(e)
	}
	return nil
}

// files adds the times of a copy's own files.
func (t *Timeline) files(p *Partition, c *Copy) {
	row := func(kind string, f *logdir.File, says string) {
		if f == nil || f.ModTime.IsZero() || t.dirs[c.disk] {
			return
		}
		e := event(p.Cluster, kind)
		e.Partition, e.TopicID, e.Brokers, e.Source, e.Says, e.rank = p.Name, p.TopicID, []BrokerRef{c.Broker}, f.Path, says, rankFile
		t.at(&e, f.ModTime.UnixMilli(), FileClock, idOf(c.Broker))
		t.add(e)
	}
	n := len(c.Log.Segments)
	if n == 0 {
		return
	}
	first, last := c.Log.Segments[0].Log, c.Log.Segments[n-1].Log
	on := " on broker " + c.Broker.Name
	switch c.State {
	case replica.Deleted, replica.Replaced:
		row(TimeSetAside, first, fmt.Sprintf("%s%s was set aside by a truncation, by retention or by the cleaner; a renaming leaves this time alone: it is that of the last write", path.Base(first.Path), on))
		return
	case replica.Live:
	default:
		row(TimeSetAside, last, fmt.Sprintf("%s%s (%s) last written", path.Base(last.Path), on, c.State))
		return
	}
	row(TimeFile, last, fmt.Sprintf("%s%s last written: log end %d", path.Base(last.Path), on, c.Log.LogEndOffset))
	if dir := c.Log.Partition; dir != nil {
		says := "leader-epoch-checkpoint" + on + " written"
		if k := len(c.Log.Checkpoint); k > 0 {
			says += fmt.Sprintf(": newest entry is epoch %d from offset %d", c.Log.Checkpoint[k-1].Epoch, c.Log.Checkpoint[k-1].StartOffset)
		}
		row(TimeCheckpoint, dir.EpochsFile, says)
		row(TimeFile, dir.MetaFile, "partition.metadata"+on+" written: the directory was created")
	}
	if hw := c.Log.HighWatermark; hw != nil {
		row(TimeCheckpoint, c.Log.HighWatermarkFile, fmt.Sprintf("replication-offset-checkpoint%s written: high watermark %d", on, *hw))
	}
}

func idOf(b BrokerRef) int32 {
	if b.Known {
		return b.ID
	}
	return -1
}

// traces adds the losses that left no copy, at the time of the election that their
// epochs ended with.
func (t *Timeline) traces(p *Partition) {
	for i := range p.Losses {
		l := &p.Losses[i]
		if l.Basis != "trace" {
			continue
		}
		e := event(p.Cluster, TimeTrace)
		e.Partition, e.TopicID = p.Name, p.TopicID
		where := "the offsets are not recorded"
		if l.From != nil {
			e.From = *l.From
			where = fmt.Sprintf("offset %d and above", *l.From)
			if l.To != nil {
				e.To = *l.To
				where = "offsets " + offsetsBetween(*l.From, *l.To)
			}
		}
		e.Says = fmt.Sprintf("records are gone and in no copy: %s (committed: %s)", where, l.Committed)
		if len(l.Evidence) > 0 {
			e.Says += ": " + l.Evidence[0].Claim
			e.Source = l.Evidence[0].Source
		}
		if len(l.Epochs) > 0 {
			newest := slices.Max(l.Epochs)
			e.Epoch = newest
			for k := range p.Changes {
				if c := &p.Changes[k]; c.LeaderWritten && c.Leader >= 0 && c.LeaderEpoch > newest {
					if h := t.ids[p.Cluster]; h != nil && h.Log != nil {
						t.at(&e, c.TimeMs, ControllerClock, h.Controller(c.Offset))
						e.Says = "with this election: " + e.Says
					}
					break
				}
			}
		}
		t.add(e)
	}
}

// copyTimes is how close together the times of all files of a disk lie where a copy has
// set them: no broker writes all its files within so little.
const copyTimes = 3 * time.Second

// logDirs adds the files of whole log directories, and finds the disks whose copies
// have lost the files' times.
func (t *Timeline) logDirs() {
	for _, cl := range t.inc.Clusters {
		for _, b := range cl.Brokers {
			d, ref := cl.disks[b], cl.refs[b]
			if why := timesLost(b, d); why != "" {
				t.dirs[d] = true
				t.note("file times of broker %s are left out: %s", ref.Name, why)
				continue
			}
			for _, ld := range b.Dirs {
				for f := range ld.AllFiles() {
					if f.Kind != logdir.KindCleanShutdown || f.ModTime.IsZero() {
						continue
					}
					e := event(cl, TimeFile)
					e.Brokers, e.Source, e.rank = []BrokerRef{ref}, f.Path, rankFile
					e.Says = fmt.Sprintf(".kafka_cleanshutdown on broker %s written: it stopped cleanly", ref.Name)
					t.at(&e, f.ModTime.UnixMilli(), FileClock, idOf(ref))
					t.add(e)
				}
			}
		}
	}
}

// timesLost says why the file times of a broker's disks are those of a copy, "" if
// nothing speaks for it.
func timesLost(b *logdir.Broker, d *disk) string {
	var oldest, newest time.Time
	n := 0
	see := func(f *logdir.File) {
		if f == nil || f.ModTime.IsZero() || f.Mode.IsDir() {
			return
		}
		if n++; n == 1 || f.ModTime.Before(oldest) {
			oldest = f.ModTime
		}
		if f.ModTime.After(newest) {
			newest = f.ModTime
		}
	}
	for _, ld := range b.Dirs {
		for f := range ld.AllFiles() {
			see(f)
		}
		for _, p := range ld.Partitions {
			for f := range p.AllFiles() {
				see(f)
			}
		}
	}
	switch {
	case n >= 4 && newest.Sub(oldest) < copyTimes:
		return fmt.Sprintf("all %d lie within %s, so a copy has set them (cp -p, rsync -t and tar keep them)", n, newest.Sub(oldest).Round(time.Millisecond))
	case n > 0 && d.metadata != nil && d.metadata.EndTimeMs >= 0 && oldest.UnixMilli() > d.metadata.EndTimeMs+time.Minute.Milliseconds():
		return "all are later than the last record of its metadata log, so a copy has set them (cp -p, rsync -t and tar keep them)"
	}
	return ""
}

// note keeps a remark, once.
func (t *Timeline) note(format string, args ...any) {
	if s := fmt.Sprintf(format, args...); !slices.Contains(t.Notes, s) {
		t.Notes = append(t.Notes, s)
	}
}

// Skewed lists the nodes whose clocks were corrected, ascending.
func (o *TimelineOptions) Skewed() []int32 {
	var ids []int32
	for id := range o.Skew {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, cmp.Compare[int32])
	return ids
}
