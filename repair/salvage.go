package repair

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"kafsck/broker"
	"kafsck/incident"
	"kafsck/logdir"
)

// SalvageOptions steer Salvage.
type SalvageOptions struct {
	Kafsck string         // the version that makes the plan
	Kafka  broker.Version // the release whose start is promised
	Now    time.Time
	// Prefer are the brokers among the inputs, copies of one, whose line is followed wherever they have
	// a whole batch; nil none.
	Prefer []*logdir.Broker
	// Typed is how the user would type a shown path; nil: the absolute path.
	Typed func(shown string) string
	// Seen is told of every partition before it is salvaged; nil: nobody.
	Seen func(p *incident.Partition)
	// Hash is told before the inputs are hashed how many bytes that are, Progress of bytes done.
	Hash     func(total int64)
	Progress func(bytes int64)
}

// Salvaged is the gap list of a salvage: gaps.json.
type Salvaged struct {
	Type       string              `json:"type"`    // "salvage"
	Version    int                 `json:"version"` // 1
	Partitions []SalvagedPartition `json:"partitions"`
}

// SalvagedPartition is what became of one partition.
type SalvagedPartition struct {
	Partition string `json:"partition"`
	TopicID   string `json:"topicId"` // "" unknown
	Root      int    `json:"root"`    // index of Plan.Roots, -1: nothing could be salvaged
	Dir       string `json:"dir"`     // below the root
	// Line is the index in Copies of the copy whose line the result follows, -1 none; Why says why
	// that one, in a sentence.
	Line int    `json:"line"`
	Why  string `json:"why"`
	// LogStartOffset and LogEndOffset of the result, the latter exclusive.
	LogStartOffset int64 `json:"logStartOffset"`
	LogEndOffset   int64 `json:"logEndOffset"`
	Batches        int64 `json:"batches"`
	// Records that the headers claim; nil of message formats 0 and 1, which do not.
	Records *int64       `json:"records"`
	Bytes   int64        `json:"bytes"`
	Epochs  [][2]int64   `json:"epochs"` // epoch, start offset
	Copies  []SalvagedOf `json:"copies"`
	// Other, Unproven and Contradicted are those of the copies together, each batch once; nil none.
	Other        *Apart        `json:"otherLine"`
	Unproven     *Apart        `json:"unproven"`
	Contradicted *Contradicted `json:"contradicted"`
	Gaps         []Gap         `json:"gaps"`
	// Cleaned counts the holes between batches that compaction explains; no record is missed there.
	Cleaned int `json:"cleaned"`
	// HighWatermark is the line that the result has, nil none; HighWatermarkWhy says where it is from.
	HighWatermark    *int64 `json:"highWatermark"`
	HighWatermarkWhy string `json:"highWatermarkWhy"`
	// Open are the transactions without an end, the first ones of OpenCount by first offset.
	Open      []OpenTxn `json:"open"`
	OpenCount int       `json:"openCount"`
	// Ended counts transactions that reach over a gap and end behind it: the marker may be that of
	// a later transaction, so that records which were aborted may read as committed.
	Ended int      `json:"endedBehindGap"`
	Notes []string `json:"notes"`
}

// SalvagedOf is one copy of the partition and what the result has from it.
type SalvagedOf struct {
	Broker string `json:"broker"`
	State  string `json:"state"` // as of replica
	Dir    string `json:"dir"`   // shown path
	From   int64  `json:"from"`  // offsets of its whole batches [From, To)
	To     int64  `json:"to"`
	// Batches, Bytes that the result has from it, and that it holds as well as the result.
	Taken      int64 `json:"taken"`
	TakenBytes int64 `json:"takenBytes"`
	SameBytes  int64 `json:"sameBytes"`
	// KeptBytes go to lost+found. Of its batches Damaged are so, Doubles stand in it more than once; those
	// of Contradicted and Apart are whole and not in the result, nil none.
	KeptBytes    int64         `json:"keptBytes"`
	Damaged      int64         `json:"damaged"`
	Doubles      int64         `json:"doubles"`
	Contradicted *Contradicted `json:"contradicted"`
	Other        *Apart        `json:"otherLine"` // other batches than the result has, or behind such
	Unproven     *Apart        `json:"unproven"`  // nothing shows on which line they are
	// Error: it could not be read, and nothing is from it.
	Error string `json:"error,omitempty"`
}

// Apart counts whole batches of a copy that are not in the result: offsets [From, To) span them.
type Apart struct {
	Batches int64 `json:"batches"`
	Records int64 `json:"records"` // that the headers claim
	From    int64 `json:"from"`
	To      int64 `json:"to"`
}

func (a *Apart) add(z *zone) *Apart {
	if a == nil {
		a = &Apart{From: z.from, To: z.to}
	}
	a.Batches += z.blocks
	a.Records += z.records
	a.From, a.To = min(a.From, z.from), max(a.To, z.to)
	return a
}

// Apart reports whether whole batches of some copy are not in the result: of another line, of none that
// can be proven, or such as others contradict.
func (s *Salvaged) Apart() bool {
	return s.OffLine() || slices.ContainsFunc(s.Partitions, func(p SalvagedPartition) bool { return p.Contradicted != nil })
}

// OffLine reports whether whole batches are of another line than the result, or of none that can be proven.
func (s *Salvaged) OffLine() bool {
	return slices.ContainsFunc(s.Partitions, func(p SalvagedPartition) bool {
		return slices.ContainsFunc(p.Copies, func(c SalvagedOf) bool { return c.Other != nil || c.Unproven != nil })
	})
}

// GapWhy says why offsets are in no batch of the result.
type GapWhy string

// The reasons.
const (
	GapDamaged  GapWhy = "damaged"  // bytes stood there, in none of the copies whole
	GapMissing  GapWhy = "missing"  // no copy has anything there
	GapUnproven GapWhy = "unproven" // a copy has batches there that nothing ties to this line
	GapTail     GapWhy = "tail"     // above the end: something tells that the log once reached further
)

// Gap is a range of offsets [From, To) without a batch.
type Gap struct {
	From   int64  `json:"from"`
	To     int64  `json:"to"`
	Before *int32 `json:"epochBefore"` // leader epoch of the batch before it, nil none
	After  *int32 `json:"epochAfter"`
	Why    GapWhy `json:"why"`
	// Has says of each copy what it has there, in the order of Copies.
	Has []GapHas `json:"has"`
}

// GapHas says what a copy has in a gap.
type GapHas string

// What a copy can have.
const (
	HasDamage   GapHas = "damaged"
	HasNothing  GapHas = "nothing"   // its batches around it are there
	HasOther    GapHas = "otherLine" // whole batches of another line
	HasUnproven GapHas = "unproven"
	HasNotYet   GapHas = "below-start"
	HasEnded    GapHas = "above-end"
	HasUnread   GapHas = "unread" // a failed read
)

// OpenTxn is a transaction without an end in the result.
type OpenTxn struct {
	ProducerID int64 `json:"producerId"`
	Epoch      int16 `json:"producerEpoch"`
	From       int64 `json:"from"`
	// Gap: a gap lies behind its beginning, in which its end may have been.
	Gap bool `json:"gap"`
}

// maxOpenTold bounds the transactions that are told.
const maxOpenTold = 100

// Gaps counts gaps and the offsets in them.
func (s *Salvaged) Gaps() (gaps int, offsets int64) {
	for i := range s.Partitions {
		for _, g := range s.Partitions[i].Gaps {
			gaps++
			offsets += g.To - g.From
		}
	}
	return gaps, offsets
}

// topicName is what a broker accepts in a checkpoint and makes directories of. Source:
// org.apache.kafka.common.internals.Topic.validate.
var topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

var errNoTopic = errors.New("no topic of Kafka has such a name, so it was left out; give a copy of the directory the name that it had (letters, digits, '.', '_', '-'), and salvage that")

// Salvage puts the longest good log of each partition together out of all copies among the inputs:
// the batches of one line, whole and unchanged, at their offsets. The plan writes them into a new
// log directory and keeps in lost+found what is not in it: damaged bytes, batches of other lines,
// doubles. See salvage_line.go for how the line is chosen and what proves that a batch is on it.
//
// The incident need not compare. Errors: a *Running; a failed read; ErrChanging or manifest.ErrChanging
// where a file was written to meanwhile. A copy that could not be read gives nothing, and Partition.Errors has why.
func Salvage(ctx context.Context, inc *incident.Incident, opt SalvageOptions) (*Plan, error) {
	if opt.Kafka == (broker.Version{}) {
		opt.Kafka = broker.Latest
	}
	build := BuildOptions{Kafsck: opt.Kafsck, Kafka: opt.Kafka, Now: opt.Now, Typed: opt.Typed, Hash: opt.Hash, Progress: opt.Progress}
	b := &builder{ctx: ctx, inc: inc, opt: build, plan: newPlan(build), byDir: map[string]*target{}, byPartition: map[string]*logdir.Partition{}, salvages: true}
	b.plan.Salvaged = &Salvaged{Type: "salvage", Version: 1, Partitions: []SalvagedPartition{}}
	b.targets()
	s := &salvage{builder: b, opt: opt}
	for p := range inc.Partitions(ctx) {
		named := topicName.MatchString(p.Topic)
		if !named && len(p.Copies) > 0 {
			p.Errors = append(p.Errors, logdir.PathError{Path: p.Copies[0].Dir, Err: errNoTopic})
		}
		if opt.Seen != nil {
			opt.Seen(p)
		}
		if !named {
			continue
		}
		if err := s.partition(p); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	s.directories()
	if err := b.finish(); err != nil {
		return nil, err
	}
	for i := range b.plan.Salvaged.Partitions {
		if x := &b.plan.Salvaged.Partitions[i]; x.Root >= 0 {
			x.Root = b.roots[x.Root].index
		}
	}
	if err := b.plan.nameByContent(); err != nil {
		return nil, err
	}
	return b.plan, b.plan.Validate()
}

// salvage is a salvage under way.
type salvage struct {
	*builder
	opt SalvageOptions
	new []*newRoot
}

// newRoot is a log directory of the result.
type newRoot struct {
	*target
	cluster *incident.Cluster
	meta    *logdir.LogDir // whose meta.properties it gets, nil none
	dirs    map[string]bool
	unclean bool // the marker of a clean shutdown would be a lie
}

// root finds a log directory for a partition directory of this name: partitions of other clusters,
// and of other topics of the same name, get one of their own.
func (s *salvage) root(p *incident.Partition, line *source) *newRoot {
	var bare bool
	d := line.log.Partition.LogDir
	meta := s.metaOf(p, line)
	bare = meta == nil
	for _, r := range s.new {
		if r.cluster == p.Cluster && !r.dirs[p.Name] && r.root.Partition == bare {
			return r
		}
	}
	r := &newRoot{cluster: p.Cluster, dirs: map[string]bool{}, meta: meta,
		target: &target{index: len(s.roots), dir: d, lent: map[string]bool{}, lines: map[string]bool{}}}
	r.target.root = Root{Name: "salvaged", New: true, Partition: bare}
	for i := 2; slices.ContainsFunc(s.roots, func(o *target) bool {
		return o.root.Name == r.target.root.Name || below(o.root.Name, r.target.root.Name)
	}); i++ {
		r.target.root.Name = fmt.Sprintf("salvaged-%d", i)
	}
	if meta != nil {
		id := meta.Meta.NodeID
		r.target.root.Broker = &id
	}
	s.roots = append(s.roots, r.target)
	s.new = append(s.new, r)
	return r
}

// metaOf is a log directory whose meta.properties can be that of the result: that of the line, else
// one of a copy in the same cluster.
func (s *salvage) metaOf(p *incident.Partition, line *source) *logdir.LogDir {
	good := func(d *logdir.LogDir) bool {
		return d != nil && d.Meta != nil && d.Meta.Malformed == nil && d.Meta.HasNodeID && d.Meta.ClusterID != ""
	}
	if d := line.log.Partition.LogDir; good(d) {
		return d
	}
	for _, c := range p.Copies {
		if c.Log != nil && good(c.Log.Partition.LogDir) {
			return c.Log.Partition.LogDir
		}
	}
	return nil
}

// directories writes what belongs to the log directories themselves.
func (s *salvage) directories() {
	for _, r := range s.new {
		if r.root.Partition {
			continue
		}
		m := r.meta.Meta
		a := Action{Kind: WriteDirectory, Does: fmt.Sprintf("meta.properties with node %d and cluster %s, without a directory.id", m.NodeID, m.ClusterID),
			Why: fmt.Sprintf("they are those of %s; the broker gives the directory a directory.id of its own", r.meta.Path), Undo: "nothing of the inputs was changed",
			Edits: directoryEdits(m.Version, m.NodeID, m.ClusterID, !r.unclean)}
		if !r.unclean {
			a.Does += ", and the marker of a clean shutdown"
			a.Why += "; indexes, producer snapshots and recovery points fit the logs, so that a start reads nothing again"
		}
		s.add(r.target, nil, a, nil)
		if f := r.meta.MetaFile; f != nil {
			s.lend(r.meta, f)
		}
	}
}

// lend makes a file of a log directory an input of the plan, because the result rests on what it says.
func (s *salvage) lend(d *logdir.LogDir, f *logdir.File) {
	if t := s.byDir[d.Path]; t != nil && t.only == nil && t.dir == d && f != nil && f.Err == nil {
		t.lent[path.Base(f.Name)] = true
	}
}

// lendFile makes a file of a partition directory an input.
func (s *salvage) lendFile(p *logdir.Partition, f *logdir.File) {
	if t := s.byDir[p.Dir]; t != nil && f != nil && f.Err == nil {
		t.lent[file(p, f.Name)] = true
	}
}

// partition salvages one partition.
func (s *salvage) partition(p *incident.Partition) error {
	w := &salvaging{salvage: s, p: p, told: SalvagedPartition{Partition: p.Name, TopicID: p.TopicID, Root: -1, Line: -1, Dir: p.Name,
		Epochs: [][2]int64{}, Copies: []SalvagedOf{}, Gaps: []Gap{}, Open: []OpenTxn{}, Notes: []string{}}}
	w.compacted = w.cleans()
	if !w.gather() {
		return nil
	}
	defer w.release()
	err := w.run()
	if err != nil {
		return err
	}
	s.plan.Salvaged.Partitions = append(s.plan.Salvaged.Partitions, w.told)
	return nil
}

// cleans reports whether something besides batches with fewer records than offsets says that the topic is
// compacted: such batches may be wrong ones.
func (w *salvaging) cleans() bool {
	return w.p.Ruling.Policy == "compact" && w.p.Ruling.PolicySource != "batches"
}

// who names a copy for people.
func (x *source) who() string {
	name := "broker " + x.copy.Broker.Name
	switch s := string(x.copy.State); s {
	case "live":
	case "future", "delete", "stray":
		name += " (-" + s + ")"
	default:
		name += " (." + s + ")"
	}
	return name
}

func (w *salvaging) note(format string, args ...any) {
	if s := fmt.Sprintf(format, args...); !slices.Contains(w.told.Notes, s) {
		w.told.Notes = append(w.told.Notes, s)
	}
}

func listed(names []string) string {
	if len(names) > 4 {
		names = append(names[:3:3], fmt.Sprintf("%d more", len(names)-3))
	}
	return strings.ReplaceAll(join(names), "broker broker", "broker")
}
