package report

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"kafsck/broker"
	"kafsck/commitment"
	"kafsck/incident"
	"kafsck/logdir"
)

// startTotals adds up what a broker's start takes away.
type startTotals struct {
	dirs, quiet  int // partition directories, and those of which nothing of value changes
	cut          incident.CutTotals
	cutAt        string // the partition of the first cut, and its offsets
	harmless     incident.CutTotals
	empty        int // .deleted logs of 0 bytes that are removed
	stray        int
	scan         int64
	recovered    int // segments
	indexes      int // files built anew
	unfilled     int // time indexes made and left empty
	lost         int64
	lostCounted  bool // the ruling log lacks some of them
	save         []savedFile
	onPurpose    []savedFile // of topics that were deleted
	purpose      int64       // records in them
	unreadable   int
	expiredFiles int // .deleted logs whose records are expired, cleaned away, or still in a live log
	expiredBytes int64
	replaced     int      // segments whose place a finished compaction takes
	missing      []string // what was committed and is missing after a cut
	hidden       []string // partitions with the offsets that nobody reads after the start
	keep         keepStopped
	leaderAway   int // live replicas whose leader's log is not among the inputs
	replicated   int // live replicas of partitions that may have others
}

// keepStopped is what a broker throws away as a follower after its start.
type keepStopped struct {
	where      []string // partitions with their offsets
	leaders    []incident.BrokerRef
	guess      bool
	lost       map[commitment.Grade]int64
	partitions int
}

// savedFile is a file to copy before the start, with what it holds.
type savedFile struct {
	shown   string
	deletes bool
	gone    []incident.GoneRecords
}

// Takes reports whether a load takes bytes of a log away: a cut, or a segment of the log that is
// deleted with something in it. Files that were set aside before do not count.
func Takes(sp *broker.StartedPartition) bool {
	return slices.ContainsFunc(sp.Actions, func(x broker.Action) bool {
		switch x.Action {
		case broker.ActTruncate, broker.ActMarkDeleted, broker.ActDelete:
			return x.Bytes > 0 && strings.HasSuffix(x.File, ".log")
		}
		return false
	})
}

// TakesValue reports whether a start takes away of a partition directory what may be of value: records
// with a file, a part of the log that is more than zeros, the directory itself; or leads to a loss as
// soon as the broker follows, or somebody is elected.
func TakesValue(ps *incident.PartitionStart) bool {
	return len(ps.Gone) > 0 || ps.Hidden.From < ps.Hidden.To || ps.Stray != "" || ps.Unled ||
		slices.ContainsFunc(ps.Actions, func(x broker.Action) bool { return isValue(ps, x) && x.Action != broker.ActSplit }) ||
		ps.Follows != nil && len(counting(ps.Follows.Lost)) > 0
}

// Add takes in the directories of one partition. Nothing of it is kept but text and numbers.
func (t *Starts) Add(x *incident.Partition) {
	if t.parts == nil {
		t.parts, t.totals = map[*incident.BrokerStart][]partitionRow{}, map[*incident.BrokerStart]*startTotals{}
	}
	for _, ps := range x.Starts {
		sum := t.total(ps.Start)
		sum.dirs++
		if ps.Loaded == nil {
			sum.unreadable++
			t.parts[ps.Start] = append(t.parts[ps.Start], partitionRow{rank: rankUnread, cells: []string{t.rowName(x, ps), "not read", "?", "?", "?", "?"}, notes: []string{"not read: " + Escape(fmt.Sprint(ps.Err))}})
			continue
		}
		if ps.Unled && !slices.Contains(t.unled, t.Paths.label(x)) {
			t.unled = append(t.unled, t.Paths.label(x))
		}
		if n := len(x.Changes); ps.Partition.State == logdir.Live && (n == 0 || len(x.Changes[n-1].Replicas) != 1) {
			sum.replicated++
		}
		sum.add(ps, t.Paths.label(x))
		if row, tells := t.row(x, ps); tells || ps.Hidden.From < ps.Hidden.To || t.All {
			t.parts[ps.Start] = append(t.parts[ps.Start], row)
		} else {
			sum.quiet++
		}
	}
}

func (t *Starts) total(b *incident.BrokerStart) *startTotals {
	if t.totals == nil {
		t.parts, t.totals = map[*incident.BrokerStart][]partitionRow{}, map[*incident.BrokerStart]*startTotals{}
	}
	if t.totals[b] == nil {
		t.totals[b] = &startTotals{keep: keepStopped{lost: map[commitment.Grade]int64{}}}
	}
	return t.totals[b]
}

func (s *startTotals) add(ps *incident.PartitionStart, label string) {
	s.scan += ps.ScanBytes
	if ps.LeaderAway != nil {
		s.leaderAway++
	}
	var recovered []string // a segment may be read twice
	for _, x := range ps.Actions {
		switch x.Action {
		case broker.ActRecover:
			if !slices.Contains(recovered, x.File) {
				recovered = append(recovered, x.File)
			}
		case broker.ActRebuildIndex, broker.ActRebuildTxnIndex:
			s.indexes++
		case broker.ActDelete:
			switch {
			case x.Replaced && ps.Compacted && strings.HasSuffix(x.File, ".log"):
				s.replaced++
			case strings.HasSuffix(x.File, ".log.deleted") && x.Bytes == 0:
				s.empty++
			case strings.HasSuffix(x.File, ".log.deleted") && !slices.ContainsFunc(ps.Gone, func(g incident.GoneRecords) bool { return path.Base(g.File) == x.File }):
				s.expiredFiles++
				s.expiredBytes += x.Bytes
			}
		}
	}
	s.recovered += len(recovered)
	s.unfilled += unfilled(ps)
	s.addCut(ps, label)
	if ps.Stray != "" {
		s.stray++
	}
	if f := ps.Follows; f != nil && len(counting(f.Lost)) > 0 {
		s.keep.add(f, label)
	}
	if ps.BelowWatermark.From < ps.BelowWatermark.To {
		s.missing = append(s.missing, label+": "+watermarkShort(ps))
	}
	if h := ps.Hidden; h.From < h.To {
		s.hidden = append(s.hidden, fmt.Sprintf("%s ends at offset %d then, and nobody reads its offsets %d–%d any more: they stay in its files, and new records take their offsets", label, h.From, h.From, h.To-1))
	}
	for _, g := range ps.Gone {
		if !g.Counts() {
			continue
		}
		shown := g.File
		if ps.Partition.State == logdir.Delete {
			shown = ps.Partition.Dir // all of it goes
		}
		list := &s.save
		if ps.RemovedAt >= 0 {
			list = &s.onPurpose
			s.purpose += g.Records
		} else {
			s.lost += g.Records
			s.lostCounted = s.lostCounted || g.Lost
		}
		i := slices.IndexFunc(*list, func(f savedFile) bool { return f.shown == shown })
		if i < 0 {
			i = len(*list)
			*list = append(*list, savedFile{shown: shown, deletes: g.Action.Action != broker.ActTruncate})
		}
		(*list)[i].gone = append((*list)[i].gone, g)
	}
}

// addCut adds what the start takes off a log.
func (s *startTotals) addCut(ps *incident.PartitionStart, label string) {
	c := ps.Cut
	// Where the log could not be read its actions are all that is known.
	if c.Bytes = max(c.Bytes, cutBytes(ps)); c.Bytes == 0 {
		return
	}
	sum := &s.cut
	if zerosAlone(ps) {
		sum = &s.harmless
	} else if s.cut.Logs == 0 {
		s.cutAt = label
		for _, x := range ps.Actions {
			if x.From < x.ToOffset && x.Action == broker.ActTruncate {
				s.cutAt += ", " + offsets(x.From, x.ToOffset)
				break
			}
		}
	}
	sum.Logs++
	sum.Bytes += c.Bytes
	sum.Records += c.Records
	sum.Zeros += c.Zeros
	sum.Torn += c.Torn
	sum.Damaged += c.Damaged
}

func (k *keepStopped) add(f *incident.Follows, label string) {
	k.partitions++
	lost := counting(f.Lost)
	k.where = append(k.where, label+": "+ranges(lost))
	for _, g := range lost {
		k.lost[g.Committed] += g.Records
	}
	if !slices.Contains(k.leaders, f.Leader) {
		k.leaders = append(k.leaders, f.Leader)
	}
	k.guess = k.guess || f.Guess
}
