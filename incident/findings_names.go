package incident

import (
	"fmt"
	"slices"
	"strings"

	"kafsck/finding"
	"kafsck/internal/wire"
	"kafsck/logdir"
)

const (
	// UnifiedLog.assignTopicId.
	copiedIDKafka = "Goes by the name of a directory. When the partition is to lead or follow under the topic's own id, the log that carries another one refuses it (InconsistentTopicIdException)."
	copiedIDNext  = "Find out which topic the records belong to (kafsck dump --records). In the copy that will be started give the other directory the id of its own topic: a replica of the same name on another broker has it."
)

// maxNames bounds the directories that one finding names.
const maxNames = 5

// copiedIDs finds topic ids that directories of several topics carry. Of ids that the metadata know
// remark tells, partition by partition.
func (inc *Incident) copiedIDs(cl *Cluster) []finding.Finding {
	byID := map[wire.UUID][]*logdir.Partition{}
	var order []wire.UUID
	for _, b := range cl.Brokers {
		for _, d := range b.Dirs {
			for _, p := range d.Partitions {
				switch {
				case !p.HasTopicID || p.TopicCut || p.State != logdir.Live && p.State != logdir.Future:
					continue
				case inc.opt.Match != nil && !inc.opt.Match(p.Topic, p.Partition):
					continue
				case cl.Metadata != nil && cl.Metadata.Topics[p.TopicID] != nil:
					continue
				}
				if byID[p.TopicID] == nil {
					order = append(order, p.TopicID)
				}
				byID[p.TopicID] = append(byID[p.TopicID], p)
			}
		}
	}
	var out []finding.Finding
	for _, id := range order {
		list := byID[id]
		var names []string
		for _, p := range list {
			if !slices.Contains(names, p.Topic) {
				names = append(names, p.Topic)
			}
		}
		if len(names) < 2 {
			continue
		}
		slices.Sort(names)
		told := names[:min(len(names), maxNames)]
		text := listed(told)
		if n := len(names) - len(told); n > 0 {
			text = fmt.Sprintf("%s and %d more", strings.Join(told, ", "), n)
		}
		odd := list[len(list)-1]
		f := finding.Finding{Code: "topic-id-mismatch", Severity: finding.Damage, Count: 1, Kafka: copiedIDKafka, Next: copiedIDNext,
			At:      finding.Location{Partition: odd.Name(), TopicID: id.String(), Broker: cl.refs[odd.LogDir.Broker].Name, File: odd.MetaFile.Path, Position: -1, Length: -1, From: -1, To: -1, Epoch: -1},
			Summary: fmt.Sprintf("directories of %d topics carry one topic id, %s (%s): partition.metadata was copied or edited", len(names), id, text)}
		for _, name := range told {
			of, first := 0, (*logdir.Partition)(nil)
			for _, p := range list {
				if p.Topic == name {
					of++
					if first == nil {
						first = p
					}
				}
			}
			e := says("%s: topic_id %s", first.MetaFile.Path, id)
			if of > 1 {
				e.Claim += fmt.Sprintf(" (%d directories of %s)", of, name)
			}
			f.Evidence = append(f.Evidence, e)
		}
		out = append(out, f)
	}
	return out
}
