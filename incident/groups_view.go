package incident

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kafsck/internaltopic"
)

// GroupPosition is where a group stands in a partition, and what it finds there.
type GroupPosition struct {
	Commit
	Meeting Meeting
	// Expired: the commit has an expiry of its own that lies before the newest record of
	// __consumer_offsets: the broker drops it when it next looks.
	Expired bool
	met     bool
}

// GroupView is one group with its positions.
type GroupView struct {
	Cluster *Cluster
	Group   string      // raw
	State   *GroupState // nil: the log holds only committed offsets of it
	// Positions by topic and partition; Pending are commits in transactions without a marker.
	Positions, Pending []GroupPosition
	// Partition of __consumer_offsets, which copy of it was read is in InternalTopic.
	Partition int32
}

// Harmed counts positions that the group cannot simply go on from.
func (v *GroupView) Harmed() int {
	n := 0
	for i := range v.Positions {
		if p := &v.Positions[i]; !p.Deleted && p.Meeting.Harmful() {
			n++
		}
	}
	return n
}

// Live counts positions that are not deleted.
func (v *GroupView) Live() int {
	n := 0
	for i := range v.Positions {
		if !v.Positions[i].Deleted {
			n++
		}
	}
	return n
}

// GroupFilter says which groups and positions are wanted; a nil function takes all.
type GroupFilter struct {
	Group     func(group string) bool
	Partition func(topic string, partition int32) bool
	// OffsetsPartition, if not below 0, takes only groups that live in this partition of
	// __consumer_offsets.
	OffsetsPartition int32
}

// GroupViews is a list of groups; Meet fills in what they find.
type GroupViews []*GroupView

// Views lists groups with their positions as of AsOf, by cluster and name. With a filter on
// partitions, groups without a position left are not among them.
func (g *Groups) Views(f GroupFilter) GroupViews {
	type id struct {
		cluster *Cluster
		group   string
	}
	byID := map[id]*GroupView{}
	var out GroupViews
	view := func(cl *Cluster, group string, partition int32) *GroupView {
		if f.Group != nil && !f.Group(group) || f.OffsetsPartition >= 0 && partition != f.OffsetsPartition {
			return nil
		}
		v := byID[id{cl, group}]
		if v == nil {
			v = &GroupView{Cluster: cl, Group: group, Partition: partition}
			byID[id{cl, group}] = v
			out = append(out, v)
		}
		return v
	}
	for _, s := range g.States {
		if v := view(s.Cluster, s.Group, s.Partition); v != nil && v.State == nil {
			v.State = s
		}
	}
	position := func(c Commit, list func(v *GroupView) *[]GroupPosition) {
		if f.Partition != nil && !f.Partition(c.Topic, c.Partition) {
			return
		}
		if v := view(c.Cluster, c.Group, c.OffsetsPartition); v != nil {
			p := GroupPosition{Commit: c, Expired: !c.Deleted && c.ExpireMs >= 0 && c.ExpireMs < g.newestMs(&c)}
			p.Meeting = c.Meet(nil)
			l := list(v)
			*l = append(*l, p)
		}
	}
	for _, c := range g.AllPositions() {
		position(c, func(v *GroupView) *[]GroupPosition { return &v.Positions })
	}
	for _, c := range g.PendingCommits() {
		position(c, func(v *GroupView) *[]GroupPosition { return &v.Pending })
	}
	if f.Partition != nil {
		out = slices.DeleteFunc(out, func(v *GroupView) bool { return len(v.Positions)+len(v.Pending) == 0 })
	}
	slices.SortStableFunc(out, func(a, b *GroupView) int {
		return cmp.Or(strings.Compare(a.Cluster.ID, b.Cluster.ID), strings.Compare(a.Group, b.Group))
	})
	return out
}

// newestMs is the newest timestamp in the copy that says where c stands.
func (g *Groups) newestMs(c *Commit) int64 {
	for _, p := range g.Partitions {
		if p.Cluster == c.Cluster && p.Number == c.OffsetsPartition && p.From != nil {
			return p.From.NewestMs
		}
	}
	return -1
}

// Wants reports whether some position lies in the partition.
func (vs GroupViews) Wants() func(topic string, partition int32) bool {
	want := map[nameAndNumber]bool{}
	for _, v := range vs {
		for _, list := range [][]GroupPosition{v.Positions, v.Pending} {
			for i := range list {
				want[nameAndNumber{list[i].Topic, list[i].Partition}] = true
			}
		}
	}
	return func(topic string, partition int32) bool { return want[nameAndNumber{topic, partition}] }
}

// Meet holds the positions in p against its log.
func (vs GroupViews) Meet(p *Partition) {
	for _, v := range vs {
		for _, list := range [][]GroupPosition{v.Positions, v.Pending} {
			for i := range list {
				x := &list[i]
				if x.Cluster == p.Cluster && x.Topic == p.Topic && x.Partition == p.Number && !x.Deleted && (!x.met || x.belongs(p)) {
					x.Meeting, x.met = x.Commit.Meet(p), true
				}
			}
		}
	}
}

// defaultOffsetsPartitions is Kafka's default of offsets.topic.num.partitions.
const defaultOffsetsPartitions = 50

// HomeOf is the partition of __consumer_offsets in which a group of the cluster lives, and
// how many partitions that follows from: the metadata's number, or the default of 50 if all
// groups that were found fit it. known is false where neither tells.
func (g *Groups) HomeOf(cl *Cluster, group string) (partition, of int32, known bool) {
	of = g.Total(cl)
	if of == 0 {
		of = defaultOffsetsPartitions
		found := 0
		for _, v := range g.Views(GroupFilter{OffsetsPartition: -1}) {
			if v.Cluster == cl {
				found++
				if internaltopic.PartitionFor(v.Group, of) != v.Partition {
					return 0, 0, false
				}
			}
		}
		if found == 0 {
			return 0, 0, false
		}
	}
	return internaltopic.PartitionFor(group, of), of, true
}

// WhyAbsent says why nothing is known of a group of a cluster: its partition of
// __consumer_offsets is not among the inputs. "" if it is, and the group is not in it.
func (g *Groups) WhyAbsent(cl *Cluster, group string) string {
	have := g.Readable(cl)
	home, of, known := g.HomeOf(cl, group)
	switch {
	case known && slices.Contains(have, home):
		return ""
	case known && g.Total(cl) > 0:
		return fmt.Sprintf("group %s lives in __consumer_offsets-%d (partitions by the metadata: %d), and no copy of that one was read", strconv.Quote(group), home, of)
	case known:
		return fmt.Sprintf("group %s lives in __consumer_offsets-%d if the topic has the default of %d partitions, which the groups found here bear out, and no copy of that one was read", strconv.Quote(group), home, of)
	case len(have) == 0:
		return fmt.Sprintf("no partition of __consumer_offsets is among the inputs, so nothing is known of group %s", strconv.Quote(group))
	}
	return fmt.Sprintf("group %s is in none of the %d partitions of __consumer_offsets that were read; how many there are, and so whether it should be, is not known without the cluster metadata", strconv.Quote(group), len(have))
}
