package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kafsck/finding"
	"kafsck/logdir"
)

// Broker judges the log directories of one broker against each other. Two
// directories of one partition are judged with the partition, whose logs must be
// compared.
func Broker(b *logdir.Broker, name string, match Match) []finding.Finding {
	s := Subject{Broker: name}
	var out []finding.Finding
	out = append(out, foreignCleanerLines(b, s, match)...)
	out = append(out, metadataTwice(b, s)...)
	clusters := map[string][]string{}
	for _, d := range b.Dirs {
		if d.Meta == nil {
			continue
		}
		if id := d.Meta.ClusterID; id != "" {
			clusters[id] = append(clusters[id], d.Path)
		}
	}
	if len(clusters) > 1 {
		f := raise("cluster-id-mismatch", damage, s.At(""), "log directories of one broker belong to different clusters")
		for _, id := range slices.Sorted(maps.Keys(clusters)) {
			f.Evidence = append(f.Evidence, says("%s: cluster.id=%s", strings.Join(clusters[id], ", "), id))
		}
		out = append(out, f)
	}
	return out
}

// metadataTwice: KafkaRaftServer finds the metadata log in one directory, metadata.log.dir, and
// refuses another one (MetaPropertiesEnsemble.verifyNonConflictingMetadataLogDirs).
func metadataTwice(b *logdir.Broker, s Subject) []finding.Finding {
	var list []*logdir.Partition
	for _, d := range b.Dirs {
		if d.Metadata != nil {
			list = append(list, d.Metadata)
		}
	}
	if len(list) < 2 {
		return nil
	}
	f := raise("duplicate-partition-dirs", damage, s.At(list[1].Dir), fmt.Sprintf("broker %s has %d directories of the metadata log", s.Broker, len(list)))
	for _, p := range list[:min(len(list), maxExamples)] {
		f.Evidence = append(f.Evidence, says("%s: %s, %s", p.Dir, count(len(p.Segments), "segment", "segments"), count(len(p.Snapshots), "snapshot", "snapshots")))
	}
	f.Kafka = "Refuses to start with a second metadata log (Found unexpected metadata location)."
	f.Next = "kafsck history shows what each tells. Keep the one in metadata.log.dir, else in the first of log.dirs, if it is the newer one, and move the other out of the log directory."
	return []finding.Finding{f}
}

// foreignCleanerLines finds cleaner positions of partitions that lie on another
// disk of the broker.
func foreignCleanerLines(b *logdir.Broker, s Subject, match Match) []finding.Finding {
	var out []finding.Finding
	for _, d := range b.Dirs {
		f := d.CleanerOffsets
		if f == nil || f.Malformed != nil || d.Partial || d.Incomplete {
			continue
		}
		have := directories(d)
		var evidence []finding.Evidence
		n := 0
		for _, e := range f.Entries {
			if have[topicPartition{e.Topic, e.Partition}] || !match.takes(e.Topic, e.Partition) {
				continue
			}
			if other := liveElsewhere(b, d, e.Topic, e.Partition); other != nil {
				if n++; n <= maxExamples {
					evidence = append(evidence, says("%s: %s-%d %d, but the directory is %s", f.File.Path, e.Topic, e.Partition, e.Offset, other.Dir))
				}
			}
		}
		if n > 0 {
			x := raise("cleaner-checkpoint-for-foreign-partition", warning, s.At(f.File.Path), "cleaner-offset-checkpoint has "+count(n, "line for a partition that lies", "lines for partitions that lie")+" on another disk of the broker", evidence...)
			x.Count = n
			out = append(out, x)
		}
	}
	return out
}

func liveElsewhere(b *logdir.Broker, d *logdir.LogDir, topic string, partition int32) *logdir.Partition {
	for _, other := range b.Dirs {
		if other == d {
			continue
		}
		for _, p := range other.Partitions {
			if p.State == logdir.Live && p.Topic == topic && p.Partition == partition {
				return p
			}
		}
	}
	return nil
}

// Case judges the inputs as a whole: brokers that should belong together and do
// not. known reports whether cluster metadata among the inputs know a topic by its
// name; then they, not a comparison, tell which directory is the wrong one.
func Case(c *logdir.Case, match Match, known func(topic string) bool) []finding.Finding {
	var out []finding.Finding
	out = append(out, clusterIDs(c, match)...)
	out = append(out, nodeIDs(c)...)
	out = append(out, directoryIDs(c)...)
	out = append(out, topicIDs(c, match, known)...)
	return out
}

// clusterIDs: the same topic id under two cluster ids means one topic whose
// brokers disagree. Inputs of two clusters without a common topic are two
// clusters.
func clusterIDs(c *logdir.Case, match Match) []finding.Finding {
	type holder struct {
		cluster string
		meta    *logdir.File
		broker  string
	}
	byTopic := map[string][]holder{}
	for p := range c.AllPartitions() {
		m := p.LogDir.Meta
		if p.State != logdir.Live || !p.HasTopicID || m == nil || m.ClusterID == "" || !match.takes(p.Topic, p.Partition) {
			continue
		}
		id := p.TopicID.String()
		h := holder{m.ClusterID, p.LogDir.MetaFile, p.LogDir.Broker.String()}
		if !slices.Contains(byTopic[id], h) {
			byTopic[id] = append(byTopic[id], h)
		}
	}
	n := 0
	var all []holder
	for _, id := range slices.Sorted(maps.Keys(byTopic)) {
		list := byTopic[id]
		brokers := map[string]bool{}
		for _, h := range list {
			brokers[h.broker] = true
		}
		if len(brokers) < 2 || !slices.ContainsFunc(list, func(h holder) bool { return h.cluster != list[0].cluster }) {
			continue
		}
		n++
		for _, h := range list {
			if !slices.Contains(all, h) {
				all = append(all, h)
			}
		}
	}
	if n == 0 {
		return nil
	}
	counts := map[string]int{}
	for _, h := range all {
		counts[h.cluster]++
	}
	// The fewest are the odd ones.
	slices.SortStableFunc(all, func(a, b holder) int { return cmp.Compare(counts[a.cluster], counts[b.cluster]) })
	at := Subject{Broker: all[0].broker}.At(all[0].meta.Path)
	f := raise("cluster-id-mismatch", damage, at, fmt.Sprintf("brokers with replicas of %s name %d different clusters", count(n, "common topic", "common topics"), len(counts)))
	for _, h := range all[:min(len(all), maxExamples)] {
		f.Evidence = append(f.Evidence, says("%s: cluster.id=%s", h.meta.Path, h.cluster))
	}
	return []finding.Finding{f}
}

// topicIDs finds live directories of one partition name, on brokers of one
// cluster, that carry different topic ids.
func topicIDs(c *logdir.Case, match Match, known func(string) bool) []finding.Finding {
	type name struct{ topic, cluster string }
	byName := map[name][]*logdir.Partition{}
	var order []name
	for p := range c.AllPartitions() {
		if p.State != logdir.Live || !p.HasTopicID || !match.takes(p.Topic, p.Partition) || known(p.Topic) {
			continue
		}
		k := name{p.Topic, p.LogDir.Broker.ClusterID}
		if byName[k] == nil {
			order = append(order, k)
		}
		byName[k] = append(byName[k], p)
	}
	var out []finding.Finding
	for _, k := range order {
		list := byName[k]
		byID := map[string]int{}
		for _, p := range list {
			byID[p.TopicID.String()]++
		}
		if len(byID) < 2 {
			continue
		}
		slices.SortStableFunc(list, func(a, b *logdir.Partition) int {
			return cmp.Compare(byID[a.TopicID.String()], byID[b.TopicID.String()])
		})
		odd := list[0]
		at := Subject{Partition: odd.Name(), TopicID: odd.TopicID.String(), Broker: odd.LogDir.Broker.String()}.At(odd.MetaFile.Path)
		f := raise("topic-id-mismatch", damage, at, fmt.Sprintf("directories of topic %s carry %d different topic ids", k.topic, len(byID)))
		seen := map[string]bool{}
		for _, p := range list {
			if id := p.TopicID.String(); !seen[id] && len(f.Evidence) < maxExamples {
				seen[id] = true
				f.Evidence = append(f.Evidence, says("%s: topic_id %s (%s in all)", p.MetaFile.Path, id, count(byID[id], "directory", "directories")))
			}
		}
		out = append(out, f)
	}
	return out
}
