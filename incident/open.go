package incident

import (
	"cmp"
	"fmt"
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
	// Notes are what a reader should know of the inputs beside the directories.
	Notes []logdir.Note
	opt   Options
	slots chan struct{} // of its own, taken while a log is read; nil: readSlots

	internal lazyInternal // what Kafka's own topics say
	lines    serverLines  // what the brokers' own logs say
	later    laterLines
	space    spaceSigns
	txns     *TransactionJudge
}

// Cluster is the brokers that belong together.
type Cluster struct {
	ID      string // cluster.id, "" unknown
	Brokers []*logdir.Broker
	// Metadata is the history that the readable copies of the metadata log tell together;
	// of copies that contradict each other, the newest alone; nil without a copy.
	Metadata     *kraft.Log
	MetadataFrom string // for people: whose copies, and where
	copies       []metadataDir
	joined       func() joinedMetadata // of all copies; reads them once
	joinTold     bool                  // its failed reads are among Incident.Errors
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
		inc.joinMetadata(cl)
	}
	inc.takeServerLogs()
	inc.txns = inc.TransactionJudge(TransactionOptions{})
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

// group is the directories of one partition.
type group struct {
	cluster *Cluster
	name    string
	topic   string
	number  int32
	id      wire.UUID // zero when unknown
	dirs    []member
}

// cut reports whether the name of the topic may be only the beginning of it.
func (g *group) cut() bool {
	return !slices.ContainsFunc(g.dirs, func(m member) bool { return !m.dir.TopicCut })
}

type member struct {
	broker *logdir.Broker
	dir    *logdir.Partition
}

// groups sorts all partition directories by name and topic id: two ids under one name are two
// topics, and two names under one id are two partitions to Kafka, which goes by the name
// (LogManager.loadLog); their id was copied. A directory without an id joins the only id of its name,
// and one whose name may be cut short the name under its id that begins so.
func (inc *Incident) groups() []*group {
	var out []*group
	for _, cl := range inc.Clusters {
		type key struct {
			id     wire.UUID
			topic  string
			number int32
		}
		byKey := map[key]*group{}
		var nameless, cut []member
		put := func(id wire.UUID, topic string, m member) {
			k := key{id, topic, m.dir.Partition}
			g := byKey[k]
			if g == nil {
				g = &group{cluster: cl, topic: topic, number: m.dir.Partition, id: id}
				byKey[k] = g
				out = append(out, g)
			}
			g.dirs = append(g.dirs, m)
		}
		for _, b := range cl.Brokers {
			for _, ld := range b.Dirs {
				for _, p := range ld.Partitions {
					if inc.opt.Match != nil && !inc.opt.Match(p.Topic, p.Partition) {
						continue
					}
					switch {
					case !p.HasTopicID:
						nameless = append(nameless, member{b, p})
					case p.TopicCut:
						cut = append(cut, member{b, p})
					default:
						put(p.TopicID, p.Topic, member{b, p})
					}
				}
			}
		}
		for _, m := range cut {
			topic := m.dir.Topic
			for k := range byKey {
				if k.id == m.dir.TopicID && k.number == m.dir.Partition && strings.HasPrefix(k.topic, m.dir.Topic) {
					topic = max(topic, k.topic) // of several, one and the same in every run
				}
			}
			put(m.dir.TopicID, topic, m)
		}
		idsOf := map[string][]wire.UUID{} // of each topic
		for _, g := range byKey {
			if !g.id.IsZero() && !slices.Contains(idsOf[g.topic], g.id) {
				idsOf[g.topic] = append(idsOf[g.topic], g.id)
			}
		}
		for _, m := range nameless {
			if ids := idsOf[m.dir.Topic]; len(ids) == 1 {
				put(ids[0], m.dir.Topic, m)
			} else {
				put(wire.UUID{}, m.dir.Topic, m)
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
