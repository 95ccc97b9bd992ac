package incident

import (
	"cmp"
	"fmt"
	"iter"
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
}

// GroupView is one group with its positions.
type GroupView struct {
	Cluster *Cluster
	Group   string      // raw
	State   *GroupState // nil: the log holds only committed offsets of it
	// Partition of __consumer_offsets, which copy of it was read is in InternalTopic.
	Partition int32

	list                       *viewList
	from, to                   uint32 // its positions in list
	pendingFrom, pendingBehind uint32
}

// viewList holds the positions of all views, in little memory.
type viewList struct {
	store    *commitStore
	newestMs func(*commitRow) int64
	placed   []standing // in the order of the groups; the pending ones behind
	// meetings are the different ones, the first that of a log which is not there. Where Lag
	// is not -1, it follows from the position.
	meetings  []Meeting
	meetingOf map[Meeting]uint32
	byLog     map[nameAndNumber][]uint32 // made when first asked for
}

// standing is a row with the number of what it meets.
type standing struct {
	row          *commitRow
	meeting      uint32
	met, pending bool
}

func (l *viewList) position(i uint32) GroupPosition {
	x := &l.placed[i]
	p := GroupPosition{Commit: l.store.commit(x.row), Meeting: l.meetings[x.meeting]}
	p.Pending = p.Pending || x.pending
	if p.Meeting.Lag >= 0 {
		p.Meeting.Lag = p.Meeting.LogEnd - p.Offset
	}
	p.Expired = !p.Deleted && p.ExpireMs >= 0 && p.ExpireMs < l.newestMs(x.row)
	return p
}

func (l *viewList) meet(x *standing, m Meeting) {
	if m.Lag >= 0 {
		m.Lag = 0
	}
	x.meeting = intern(m, l.meetingOf, &l.meetings)
}

func (l *viewList) each(from, to uint32) iter.Seq[GroupPosition] {
	return func(yield func(GroupPosition) bool) {
		for i := from; i < to; i++ {
			if !yield(l.position(i)) {
				return
			}
		}
	}
}

// Positions by topic and partition, deleted ones among them.
func (v *GroupView) Positions() iter.Seq[GroupPosition] { return v.list.each(v.from, v.to) }

// Pending are commits in transactions without a marker, by topic and partition.
func (v *GroupView) Pending() iter.Seq[GroupPosition] {
	return v.list.each(v.pendingFrom, v.pendingBehind)
}

// Len counts the positions, deleted ones too, and the pending commits.
func (v *GroupView) Len() (positions, pending int) {
	return int(v.to - v.from), int(v.pendingBehind - v.pendingFrom)
}

// count counts positions that are not deleted and that meet what is asked for.
func (v *GroupView) count(is func(m *Meeting) bool) int {
	n := 0
	for i := v.from; i < v.to; i++ {
		if x := &v.list.placed[i]; !x.row.deleted && is(&v.list.meetings[x.meeting]) {
			n++
		}
	}
	return n
}

// Harmed counts positions that the group cannot simply go on from.
func (v *GroupView) Harmed() int { return v.count((*Meeting).Harmful) }

// Live counts positions that are not deleted.
func (v *GroupView) Live() int { return v.count(func(*Meeting) bool { return true }) }

// Absent counts positions into partitions of which no copy is among the inputs.
func (v *GroupView) Absent() int { return v.count(func(m *Meeting) bool { return m.Absent }) }

// Finds counts positions by what they find.
func (v *GroupView) Finds(kind MeetingKind) int {
	return v.count(func(m *Meeting) bool { return m.Kind == kind })
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
	s := g.store
	l := &viewList{store: s, newestMs: g.newestMs, meetingOf: map[Meeting]uint32{}}
	intern((&Commit{}).Meet(nil), l.meetingOf, &l.meetings)
	wanted := func(group string, partition int32) bool {
		return (f.Group == nil || f.Group(group)) && (f.OffsetsPartition < 0 || partition == f.OffsetsPartition)
	}
	wants := func(r *commitRow) bool {
		k := &s.keys[r.key]
		return (f.Partition == nil || f.Partition(s.names.text(k.topic), k.partition)) && wanted(s.names.text(k.group), s.files[r.file].partition)
	}
	view := func(r *commitRow) GroupView {
		k := &s.keys[r.key]
		return GroupView{Cluster: s.clusters[k.cluster], Group: s.names.text(k.group), Partition: s.files[r.file].partition, list: l}
	}
	groups := l.place(s, wants)
	views := make([]GroupView, 0, groups)
	out := make(GroupViews, 0, groups)
	positions := uint32(len(l.placed))
	for from := uint32(0); from < positions; {
		to := from + 1
		for to < positions && s.sameGroup(l.placed[from].row, l.placed[to].row) {
			to++
		}
		v := view(l.placed[from].row)
		v.from, v.to = from, to
		views = append(views, v)
		out = append(out, &views[len(views)-1])
		from = to
	}
	more := map[groupID]*GroupView{} // that have no position
	find := func(v GroupView) *GroupView {
		if i, ok := slices.BinarySearchFunc(views, &v, func(a GroupView, b *GroupView) int { return s.compareViews(&a, b) }); ok {
			return &views[i]
		}
		id := groupID{v.Cluster, v.Group}
		if more[id] == nil {
			more[id] = &v
			out = append(out, &v)
		}
		return more[id]
	}
	for _, st := range g.States {
		if wanted(st.Group, st.Partition) {
			if v := find(GroupView{Cluster: st.Cluster, Group: st.Group, Partition: st.Partition, list: l}); v.State == nil {
				v.State, v.Partition = st, st.Partition
			}
		}
	}
	for i := range s.pending {
		if r := &s.pending[i]; wants(r) {
			v, at := find(view(r)), uint32(len(l.placed))
			if v.pendingFrom == v.pendingBehind {
				v.pendingFrom = at
			}
			l.placed = append(l.placed, standing{row: r, pending: true})
			v.pendingBehind = at + 1
		}
	}
	if f.Partition != nil {
		out = slices.DeleteFunc(out, func(v *GroupView) bool {
			positions, pending := v.Len()
			return positions+pending == 0
		})
	}
	if len(more) > 0 {
		slices.SortStableFunc(out, s.compareViews)
	}
	return out
}

// groupID is a group of a cluster.
type groupID struct {
	cluster *Cluster
	group   string
}

// place takes the positions that are wanted, and counts their groups.
func (l *viewList) place(s *commitStore, wants func(*commitRow) bool) (groups int) {
	n := 0
	for _, r := range s.positions {
		if wants(r) {
			n++
		}
	}
	l.placed = make([]standing, 0, n)
	for _, r := range s.positions {
		if !wants(r) {
			continue
		}
		if n := len(l.placed); n == 0 || !s.sameGroup(l.placed[n-1].row, r) {
			groups++
		}
		l.placed = append(l.placed, standing{row: r})
	}
	return groups
}

func (s *commitStore) sameGroup(a, b *commitRow) bool {
	x, y := &s.keys[a.key], &s.keys[b.key]
	return x.cluster == y.cluster && x.group == y.group
}

// compareViews is the order of commitStore.compare. Clusters without a commit come last.
func (s *commitStore) compareViews(a, b *GroupView) int {
	if a.Cluster != b.Cluster {
		at := func(v *GroupView) int { return slices.Index(append(slices.Clip(s.clusters), v.Cluster), v.Cluster) }
		if c := cmp.Or(strings.Compare(a.Cluster.ID, b.Cluster.ID), cmp.Compare(at(a), at(b))); c != 0 {
			return c
		}
	}
	return strings.Compare(a.Group, b.Group)
}

// newestMs is the newest timestamp in the copy that says where r stands.
func (g *Groups) newestMs(r *commitRow) int64 {
	cl, n := g.store.clusters[g.store.keys[r.key].cluster], g.store.files[r.file].partition
	for _, p := range g.Partitions {
		if p.Cluster == cl && p.Number == n && p.From != nil {
			return p.From.NewestMs
		}
	}
	return -1
}

// logs are the positions by the partition that they lie in.
func (vs GroupViews) logs() map[nameAndNumber][]uint32 {
	if len(vs) == 0 {
		return nil
	}
	l := vs[0].list
	if l.byLog == nil {
		l.byLog = map[nameAndNumber][]uint32{}
		for i := range l.placed {
			n := l.store.log(l.placed[i].row)
			l.byLog[n] = append(l.byLog[n], uint32(i))
		}
	}
	return l.byLog
}

// Wants reports whether some position lies in the partition.
func (vs GroupViews) Wants() func(topic string, partition int32) bool {
	logs := vs.logs()
	return func(topic string, partition int32) bool { return len(logs[nameAndNumber{topic, partition}]) > 0 }
}

// Meet holds the positions in p against its log.
func (vs GroupViews) Meet(p *Partition) {
	for _, i := range vs.logs()[nameAndNumber{p.Topic, p.Number}] {
		l := vs[0].list
		x := &l.placed[i]
		if x.row.deleted || l.store.clusters[l.store.keys[x.row.key].cluster] != p.Cluster {
			continue
		}
		if c := l.store.commit(x.row); !x.met || c.belongs(p) {
			l.meet(x, c.Meet(p))
			x.met = true
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
