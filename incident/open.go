package incident

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"kafsck/internal/wire"
	"kafsck/kraft"
	"kafsck/logdir"
)

// Incident is all inputs of one run, with the cluster metadata read.
type Incident struct {
	Case     *logdir.Case
	Clusters []*Cluster
	Errors   []logdir.PathError // failed reads of metadata
	opt      Options
}

// Cluster is the brokers that belong together.
type Cluster struct {
	ID      string // cluster.id, "" unknown
	Brokers []*logdir.Broker
	// Metadata is the newest readable copy of the metadata log, nil without one.
	Metadata     *kraft.Log
	MetadataFrom string // the broker and path it was read from
	disks        map[*logdir.Broker]*disk
	refs         map[*logdir.Broker]BrokerRef
}

// disk is what is known of when a broker's directories were copied.
type disk struct {
	metadata *kraft.Log // its own copy, nil without one
	newest   time.Time  // newest file time
}

// checkpointInterval is how far replication-offset-checkpoint may lag
// (replica.high.watermark.checkpoint.interval.ms, default).
const checkpointInterval = 5 * time.Second

// Open reads the metadata of every disk and sorts brokers into clusters.
func Open(c *logdir.Case, opt Options) *Incident {
	inc := &Incident{Case: c, opt: opt}
	byID := map[string]*Cluster{}
	for _, b := range c.Brokers {
		cl := byID[b.ClusterID]
		if cl == nil {
			cl = &Cluster{ID: b.ClusterID, disks: map[*logdir.Broker]*disk{}, refs: map[*logdir.Broker]BrokerRef{}}
			byID[b.ClusterID] = cl
			inc.Clusters = append(inc.Clusters, cl)
		}
		cl.Brokers = append(cl.Brokers, b)
	}
	inc.joinUnknown()
	for _, cl := range inc.Clusters {
		inc.readMetadata(cl)
	}
	return inc
}

// joinUnknown puts brokers without a cluster id with the only known cluster.
func (inc *Incident) joinUnknown() {
	unknown := slices.IndexFunc(inc.Clusters, func(c *Cluster) bool { return c.ID == "" })
	if unknown < 0 || len(inc.Clusters) != 2 {
		return
	}
	known := inc.Clusters[1-unknown]
	known.Brokers = append(known.Brokers, inc.Clusters[unknown].Brokers...)
	inc.Clusters = []*Cluster{known}
}

func (inc *Incident) readMetadata(cl *Cluster) {
	for i, b := range cl.Brokers {
		d := &disk{}
		cl.disks[b] = d
		ref := BrokerRef{ID: b.ID, Known: b.IDKnown, Name: b.Name}
		if b.IDKnown {
			ref.Name = fmt.Sprint(b.ID)
		} else {
			ref.ID = int32(-1000 - i) // never equal to a real id
		}
		cl.refs[b] = ref
		for _, ld := range b.Dirs {
			if ld.NewestModTime.After(d.newest) {
				d.newest = ld.NewestModTime
			}
			if ld.Metadata == nil {
				continue
			}
			log, err := readMetadataLog(ld.Metadata)
			if err != nil {
				inc.Errors = append(inc.Errors, logdir.PathError{Path: ld.Metadata.Dir, Err: err})
				continue
			}
			if log.Batches == 0 {
				continue
			}
			if d.metadata == nil || newer(log, d.metadata) {
				d.metadata = log
			}
			if cl.Metadata == nil || newer(log, cl.Metadata) {
				cl.Metadata, cl.MetadataFrom = log, "broker "+ref.Name+"'s metadata log ("+ld.Metadata.Dir+")"
			}
		}
	}
}

// newer orders metadata copies: raft epoch, end offset, and of equal ones the
// one with less damage.
func newer(a, b *kraft.Log) bool {
	return cmp.Or(cmp.Compare(a.RaftEpoch, b.RaftEpoch), cmp.Compare(a.EndOffset, b.EndOffset), cmp.Compare(len(b.Damaged), len(a.Damaged))) > 0
}

// readMetadataLog opens the segments and snapshots of a __cluster_metadata
// directory.
func readMetadataLog(p *logdir.Partition) (*kraft.Log, error) {
	// A replay with a hole in it would end at some older leader.
	if odd := p.OddLogs(); len(odd) > 0 {
		return nil, fmt.Errorf("the log is not all there: %s: %w", odd[0].Name, odd[0].Err)
	}
	var in kraft.Input
	var open []io.Closer
	defer func() {
		for _, c := range open {
			c.Close()
		}
	}()
	add := func(list *[]kraft.File, f *logdir.File) error {
		r, err := f.Open()
		if err != nil {
			return err
		}
		open = append(open, r)
		*list = append(*list, kraft.File{Name: f.Name, R: r, Size: f.Size})
		return nil
	}
	for _, s := range p.Segments {
		if s.Log != nil && s.Suffix == logdir.NoSuffix {
			if err := add(&in.Logs, s.Log); err != nil {
				return nil, err
			}
		}
	}
	for _, f := range p.Snapshots {
		if strings.HasSuffix(f.Name, ".checkpoint") {
			if err := add(&in.Snapshots, f); err != nil {
				return nil, err
			}
		}
	}
	return kraft.Read(in)
}

// group is the directories of one partition.
type group struct {
	cluster *Cluster
	name    string
	topic   string
	number  int32
	id      wire.UUID // zero when unknown
	dirs    []member
}

type member struct {
	broker *logdir.Broker
	dir    *logdir.Partition
}

// groups sorts all partition directories by topic id, else by name: two ids
// under one name are two topics, and a directory without an id joins the only id
// of its name.
func (inc *Incident) groups() []*group {
	var out []*group
	for _, cl := range inc.Clusters {
		type key struct {
			id     wire.UUID
			topic  string
			number int32
		}
		byKey := map[key]*group{}
		var nameless []member
		put := func(id wire.UUID, m member) {
			topic := m.dir.Topic
			k := key{id: id, number: m.dir.Partition}
			if id.IsZero() {
				k.topic = topic
			}
			g := byKey[k]
			if g == nil {
				g = &group{cluster: cl, topic: topic, number: m.dir.Partition, id: id}
				byKey[k] = g
				out = append(out, g)
			}
			if m.dir.State == logdir.Live || len(topic) > len(g.topic) { // set-aside names may be cut short
				g.topic = topic
			}
			g.dirs = append(g.dirs, m)
		}
		for _, b := range cl.Brokers {
			for _, ld := range b.Dirs {
				for _, p := range ld.Partitions {
					if inc.opt.Match != nil && !inc.opt.Match(p.Topic, p.Partition) {
						continue
					}
					if p.HasTopicID {
						put(p.TopicID, member{b, p})
					} else {
						nameless = append(nameless, member{b, p})
					}
				}
			}
		}
		for _, m := range nameless {
			var ids []wire.UUID
			for _, g := range byKey {
				if !g.id.IsZero() && g.topic == m.dir.Topic && !slices.Contains(ids, g.id) {
					ids = append(ids, g.id)
				}
			}
			if len(ids) == 1 {
				put(ids[0], m)
			} else {
				put(wire.UUID{}, m)
			}
		}
	}
	for _, g := range out {
		g.name = fmt.Sprintf("%s-%d", g.topic, g.number)
	}
	slices.SortStableFunc(out, func(a, b *group) int {
		return cmp.Or(strings.Compare(a.topic, b.topic), cmp.Compare(a.number, b.number), strings.Compare(a.id.String(), b.id.String()))
	})
	return out
}
