package repair

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kafsck/broker"
	"kafsck/logdir"
)

// CarvePlanOptions steer Carving.Plan.
type CarvePlanOptions struct {
	Kafsck string
	Kafka  broker.Version
	Now    time.Time
}

// Plan writes every log into a partition directory of its own: whole batches, unchanged, at their
// offsets. There is no log directory around them, as nothing in the file says of which broker they
// are. Embedded batches and lone messages go to lost+found.
//
//	disk.img, a source                          OUT/salvaged/
//	  | piece | piece |      | piece |   --->     orders-0/  00000000000000000000.log  .index …
//	     orders-0  log 2       orders-0           carved-0/  00000000000000000512.log  .index …
//
// It needs the SHA-256 of the file, so that all of it must have been read.
func (t *Carving) Plan(opt CarvePlanOptions) (*Plan, error) {
	if t.SHA256 == "" {
		return nil, fmt.Errorf("%s: without all of its bytes there is no SHA-256, and without that no plan", t.File)
	}
	p := newPlan(BuildOptions{Kafsck: opt.Kafsck, Now: opt.Now, Kafka: opt.Kafka})
	name := filepath.Base(t.File)
	source := Root{Name: sourceName(name), Path: t.File, Source: true, File: true}
	p.Roots = []Root{{Name: "salvaged", New: true, Partition: true}, source}
	p.Inputs = []PlanInput{{Root: 1, File: name, Size: t.Size, SHA256: t.SHA256}}
	p.Salvaged = &Salvaged{Type: "salvage", Version: 1, Partitions: []SalvagedPartition{}}
	ids := t.topicIDs()
	for i := range t.Logs {
		l := &t.Logs[i]
		n := l.newLog(name, t.SHA256, ids)
		root := 0
		if l.Place > 0 { // the source is root 1
			for root = l.Place + 1; len(p.Roots) <= root; {
				p.Roots = append(p.Roots, Root{Name: placeName(len(p.Roots) - 1), New: true, Partition: true})
			}
		}
		a := Action{ID: fmt.Sprintf("a%d", len(p.Actions)+1), Kind: SalvageLog, Root: root, Partition: l.Dir, Dir: l.Dir, Findings: []string{}, Loses: []PlanLoss{},
			Does:  fmt.Sprintf("%s of %s, offsets %d–%d, from %s", plural(int(l.Batches), "batch", "batches"), l.what(), l.From, l.To-1, plural(len(l.Pieces), "place", "places")),
			Why:   "their CRCs verify; " + l.because(),
			Undo:  "nothing of the input was changed",
			Edits: n.edits(true)}
		p.Actions = append(p.Actions, a)
		p.Promises = append(p.Promises, n.promise(root))
		p.Salvaged.Partitions = append(p.Salvaged.Partitions, l.salvaged(t.File, root))
	}
	if keep := t.keep(p, name); len(keep) > 0 {
		p.Actions = append(p.Actions, Action{ID: fmt.Sprintf("a%d", len(p.Actions)+1), Kind: SalvageLog, Findings: []string{}, Loses: []PlanLoss{}, Edits: keep,
			Does: plural(len(keep), "run", "runs") + " of batches that are no data of a log here go to lost+found",
			Why:  "they are snapshots of the cluster metadata, or lie in the bytes of damaged batches, or nothing bears out their offsets, or nothing but a CRC over few bytes speaks for them", Undo: "nothing of the input was changed"})
	}
	p.tie()
	if err := p.nameByContent(); err != nil {
		return nil, err
	}
	return p, p.Validate()
}

// sourceName is the name of the file among the roots of the plan, and in lost+found.
func sourceName(name string) string {
	if !relative(name) || strings.HasPrefix(name, "salvaged") || slices.Contains(reserved, name) {
		return "scanned"
	}
	return name
}

func (l *CarvedLog) what() string {
	if l.Partition != "" {
		return l.Partition
	}
	return fmt.Sprintf("log %d", l.Number)
}

func (l *CarvedLog) because() string {
	switch {
	case l.Named != "":
		return l.Named
	case len(l.Pieces) == 1:
		return "they lie one behind the other; of which partition they are is not known"
	}
	return "they go on from each other; of which partition they are is not known"
}

// topicIDs are the ids of the topics by the names that the PATHs gave.
func (t *Carving) topicIDs() map[string]string {
	ids := map[string]string{}
	for i := range t.Logs {
		l := &t.Logs[i]
		if d, err := logdir.ParseDirName(l.Dir); err == nil && l.Partition == l.Dir && l.TopicID != "" {
			ids[d.Topic] = l.TopicID
		}
	}
	return ids
}

// newLog lays the pieces of a log into segments. sum is the SHA-256 of the file. An id that is made up
// is one for all directories of a topic: different ones would be an error of ours.
func (l *CarvedLog) newLog(file, sum string, ids map[string]string) newLog {
	d, _ := logdir.ParseDirName(l.Dir)
	n := newLog{Topic: d.Topic, Partition: d.Partition, Epochs: l.Epochs, Start: l.From, End: l.To}
	if n.TopicID = l.TopicID; l.Partition != l.Dir || n.TopicID == "" {
		n.TopicID = madeUpID(sum, d.Topic) // without one a broker calls the directory a stray one
		if id := ids[d.Topic]; id != "" && l.Partition == l.Dir {
			n.TopicID = id
		}
	}
	for _, p := range l.Pieces {
		r := p.of
		n.Snapshots = n.Snapshots || r.producers
		k := len(n.Segments)
		if k == 0 || n.Segments[k-1].Size+p.Len > maxSegmentBytes || p.To-n.Segments[k-1].Base > math.MaxInt32 {
			n.Segments = append(n.Segments, newSegment{Base: p.From})
			k++
		}
		s := &n.Segments[k-1]
		s.Size += p.Len
		s.Markers = s.Markers || r.markers
		if j := len(s.Pieces); j > 0 && s.Pieces[j-1].Position+s.Pieces[j-1].Length == p.Pos {
			s.Pieces[j-1].Length += p.Len
		} else {
			s.Pieces = append(s.Pieces, Piece{Root: 1, File: file, Position: p.Pos, Length: p.Len})
		}
	}
	return n
}

// salvaged is the log in the gap list.
func (l *CarvedLog) salvaged(file string, root int) SalvagedPartition {
	s := SalvagedPartition{Partition: l.Dir, TopicID: l.TopicID, Root: root, Dir: l.Dir, Line: -1, Why: "carved from " + file + "; " + l.because(), LogStartOffset: l.From, LogEndOffset: l.To,
		Batches: l.Batches, Bytes: l.Bytes, Epochs: [][2]int64{}, Copies: []SalvagedOf{}, Gaps: []Gap{}, Cleaned: int(l.Cleaned), Open: []OpenTxn{}, Notes: slices.Concat(l.Assumed, l.Doubts)}
	if l.Partition != l.Dir || l.TopicID == "" {
		s.Notes = append(s.Notes, "the topic id in partition.metadata is made up: a broker needs one")
	}
	if l.Magic[0] == 2 {
		records := l.Records
		s.Records = &records
	}
	for _, e := range l.Epochs {
		s.Epochs = append(s.Epochs, [2]int64{int64(e.Epoch), e.StartOffset})
	}
	for _, h := range l.Holes {
		g := Gap{From: h.From, To: h.To, Why: GapMissing, Has: []GapHas{}}
		if h.Damaged >= 0 {
			g.Why = GapDamaged
		}
		s.Gaps = append(s.Gaps, g)
	}
	return s
}

// keep saves what is in no log.
func (t *Carving) keep(p *Plan, name string) []Edit {
	var out []Edit
	for i := range t.Apart {
		a := &t.Apart[i]
		x := Piece{Root: 1, File: name, Position: a.Pos, Length: a.Len}
		k := &Kept{From: &a.From, To: &a.To, Why: fmt.Sprintf("embedded: it lies in the bytes of a damaged batch at position %d, so it is the image of a batch in a value", a.Outer)}
		if a.Snapshot {
			k.Why = "a snapshot of the cluster metadata, which is no log"
		}
		if a.Loose {
			k.Why = "its offset may be that of another block of a file system, and no batch before or behind bears it out"
		}
		if a.Amid {
			k.Why = "it may be the content of a value: it lies amid bytes that belong to no batch, and no offset is missing there"
		}
		if a.Lone {
			k.Why = "a message of the old formats that no other one follows or precedes: a CRC over few bytes proves little"
		}
		out = append(out, Edit{Op: Keep, File: KeptAs(&p.Roots[1], x, t.Size), Pieces: []Piece{x}, Kept: k})
	}
	return out
}
