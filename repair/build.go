package repair

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kafsck/broker"
	"kafsck/finding"
	"kafsck/incident"
	"kafsck/logdir"
)

// BuildOptions steer Build.
type BuildOptions struct {
	Kafsck string         // the version that makes the plan
	Kafka  broker.Version // the release whose start is promised; zero: the newest
	// KafkaNamed: somebody named that release. Else what the directories and the metadata say of it
	// decides, and an error of kind *NeedRelease asks where that is not enough.
	KafkaNamed bool
	Now        time.Time
	// All also plans what the next start of a broker mends by itself, and what is only untidy:
	// findings that are notes.
	All bool
	// Only and Skip are as in Plan.Select; a name that is in no action is an error of kind *Unnamed.
	Only, Skip []string
	// Truncate are cuts that the user asks for. One that cannot be planned is an error of kind *Uncut.
	Truncate []Truncation
	// Rescan are logs that the broker is to read whole at its next start; offset and epoch mean nothing.
	Rescan []Truncation
	// Findings are those of inc.Findings where somebody asked for them already; nil: Build asks.
	Findings []finding.Finding
	// Typed is how the user would type a shown path; nil: the absolute path.
	Typed func(shown string) string
	// Seen is told of every partition as it is judged; nil: nobody.
	Seen func(p *incident.Partition)
	// Hash is told before the inputs are hashed how many bytes that are, Progress of bytes done.
	Hash     func(total int64)
	Progress func(bytes int64)
}

// Running says that a process holds the lock of a log directory that the plan would mend.
type Running struct{ Dir string }

func (r *Running) Error() string {
	return r.Dir + ": a running broker holds the lock: stop it, or plan on a copy"
}

// Build judges all partitions of an incident, which was opened to read the files of log directories
// too, and plans what can be mended. Only what the findings call for is planned; what nothing here
// mends stands in Left.
//
// Errors: a *Running; a failed read; ErrChanging or manifest.ErrChanging where a file was written to
// meanwhile. A partition that could not be read has no action, and its errors are in Partition.Errors.
func Build(ctx context.Context, inc *incident.Incident, opt BuildOptions) (*Plan, error) {
	if opt.Kafka == (broker.Version{}) {
		opt.Kafka = broker.Latest
	}
	b := &builder{ctx: ctx, inc: inc, opt: opt, plan: newPlan(opt), byDir: map[string]*target{}, byPartition: map[string]*logdir.Partition{}, cuts: map[int]bool{}, scans: map[int]bool{}}
	b.targets()
	if err := b.release(); err != nil {
		return nil, err
	}
	if opt.Findings == nil {
		opt.Findings = inc.Findings()
	}
	b.take(opt.Findings)
	for p := range inc.Partitions(ctx) {
		if opt.Seen != nil {
			opt.Seen(p)
		}
		b.take(p.Findings)
		if err := b.partition(p); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err := b.unasked(); err != nil {
		return nil, err
	}
	b.take(inc.LaterFindings())
	if err := b.directories(); err != nil {
		return nil, err
	}
	if err := b.markers(); err != nil {
		return nil, err
	}
	b.reads()
	b.leave()
	if err := b.strays(); err != nil {
		return nil, err
	}
	if err := b.plan.Select(opt.Only, opt.Skip); err != nil {
		return nil, err
	}
	if err := b.finish(); err != nil {
		return nil, err
	}
	return b.plan, b.plan.Validate()
}

func newPlan(opt BuildOptions) *Plan {
	var id [8]byte
	rand.Read(id[:])
	return &Plan{Type: planType, Version: PlanVersion, ID: hex.EncodeToString(id[:]), Made: opt.Now.UTC().Truncate(time.Second), Kafsck: opt.Kafsck, Kafka: opt.Kafka.String(),
		Roots: []Root{}, Inputs: []PlanInput{}, Actions: []Action{}, Left: []Left{}, Promises: []Promise{}}
}

// builder is a plan under way.
type builder struct {
	ctx  context.Context
	inc  *incident.Incident
	opt  BuildOptions
	plan *Plan

	roots       []*target
	byDir       map[string]*target           // by shown path of the log directory, and of its partition directories
	byPartition map[string]*logdir.Partition // by shown path of the partition directory
	found       []*found
	cuts, scans map[int]bool // of BuildOptions.Truncate and Rescan: planned
	salvages    bool         // roots are only sources, and none may be in use
	asIs        []Promise    // of live logs without an action of their own
}

// target is a root under way: a log directory, or a partition directory that was given alone.
type target struct {
	root  Root
	index int // in builder.roots; in the plan once it is finished
	dir   *logdir.LogDir
	only  *logdir.Partition // of a root that is a partition directory

	mended bool            // it has actions
	lent   map[string]bool // files that bytes are taken from
	lines  map[string]bool // "file topic partition": edited by an action
	facts  []*dirFacts     // of the live partitions

	sizes map[*logdir.Partition][]segmentSize // of logs that an action changes: their segments in the result
}

// dirFacts is what lines of checkpoints are held against.
type dirFacts struct {
	dir              *logdir.Partition
	first            int64 // base offset of the first segment
	start, end, last int64 // log start, log end, base offset of the last segment
	epoch            int32 // newest epoch of its batches, -1 none
	// alone, of the lesser one of two live directories of a broker, is all that it has, by who has
	// it as well; compared says that it is known.
	alone    []PlanLoss
	compared bool
}

// found is a finding and where it lies.
type found struct {
	finding.Finding
	target   *target
	dir      *logdir.Partition // nil: of the log directory
	answered bool
}

// targets makes a root of every log directory, and of every partition directory that was given alone.
func (b *builder) targets() {
	for _, br := range b.inc.Case.Brokers {
		for _, d := range br.Dirs {
			parts := slices.Clone(d.Partitions)
			if d.Metadata != nil {
				parts = append(parts, d.Metadata)
			}
			if !d.Partial {
				t := b.target(br, d, d.Path, d.HostPath, nil)
				b.byDir[d.Path] = t
				for _, p := range parts {
					b.byDir[p.Dir], b.byPartition[p.Dir] = t, p
				}
				continue
			}
			for _, p := range parts {
				b.byDir[p.Dir], b.byPartition[p.Dir] = b.target(br, d, p.Dir, p.HostPath, p), p
			}
		}
	}
}

func (b *builder) target(br *logdir.Broker, d *logdir.LogDir, shown, host string, only *logdir.Partition) *target {
	t := &target{index: len(b.roots), dir: d, only: only, lent: map[string]bool{}, lines: map[string]bool{}}
	t.root.Partition = only != nil
	if br.IDKnown {
		t.root.Broker = &br.ID
	}
	if t.root.Path = host; b.opt.Typed != nil {
		t.root.Path = b.opt.Typed(shown)
	}
	if t.root.Path == "" {
		t.root.Path = shown
	}
	t.root.Name = b.name(shown, host, only)
	b.roots = append(b.roots, t)
	return t
}

// name is the twin's path below the output: the shown path, which no two share.
func (b *builder) name(shown, host string, only *logdir.Partition) string {
	name := shown
	if only != nil {
		name = path.Dir(shown)
		if name == "." && b.inc.Case != nil && len(b.inc.Case.Inputs) == 1 {
			return "."
		}
		if name == "." {
			name = only.LogDir.Path
		}
	}
	if name == "." && host != "" {
		name = path.Base(strings.ReplaceAll(host, "\\", "/"))
	}
	if !relative(name) || slices.Contains(reserved, strings.Split(name, "/")[0]) {
		name = "logdir"
	}
	for i := 2; slices.ContainsFunc(b.roots, func(o *target) bool { return o.root.Name == name }); i++ {
		name = fmt.Sprintf("%s-%d", strings.TrimRight(name, "-0123456789"), i)
	}
	return name
}

// base is a partition directory's path below its root: its name, also where it was given without a
// log directory around it.
func base(p *logdir.Partition) string {
	if p.Root != "." {
		return path.Base(p.Root)
	}
	if p.HostPath != "" {
		return filepath.Base(p.HostPath)
	}
	return path.Base(p.Dir)
}

// take files findings under the directory that they are about.
func (b *builder) take(list []finding.Finding) {
	for _, f := range list {
		x := &found{Finding: f}
		for at := f.At.File; x.target == nil; at = path.Dir(at) {
			x.target, x.dir = b.byDir[at], b.byPartition[at]
			if at == "." || at == "/" {
				break
			}
		}
		if x.target != nil && x.dir == nil && f.At.Partition != "" {
			for _, p := range x.target.dir.Partitions {
				if p.Name() == f.At.Partition && p.State == logdir.Live {
					x.dir = p
				}
			}
		}
		b.found = append(b.found, x)
	}
}

// of are the findings of a partition directory with one of the codes, those that call for something:
// notes only where all is asked for.
func (b *builder) of(p *logdir.Partition, codes ...finding.Code) []*found {
	return b.where(func(x *found) bool { return x.dir == p }, codes)
}

// at are the findings of a log directory itself.
func (b *builder) at(t *target, codes ...finding.Code) []*found {
	return b.where(func(x *found) bool { return x.target == t }, codes)
}

func (b *builder) where(match func(*found) bool, codes []finding.Code) []*found {
	var out []*found
	for _, x := range b.found {
		if slices.Contains(codes, x.Code) && (b.opt.All || x.Severity > finding.Note) && match(x) {
			out = append(out, x)
		}
	}
	return out
}

// add numbers an action and files it. The findings that it answers are told by it.
func (b *builder) add(t *target, p *logdir.Partition, a Action, answers []*found) *Action {
	a.ID = fmt.Sprintf("a%d", len(b.plan.Actions)+1)
	a.Root = t.index
	if p != nil {
		a.Partition, a.Dir = p.Name(), base(p)
	}
	if a.Findings == nil {
		a.Findings = []string{}
	}
	for _, x := range answers {
		x.answered = true
		if !slices.Contains(a.Findings, string(x.Code)) {
			a.Findings = append(a.Findings, string(x.Code))
		}
	}
	if a.Loses == nil {
		a.Loses = []PlanLoss{}
	}
	if a.Undo == "" {
		a.Undo = "the input is unchanged; what the result lacks is in lost+found"
	}
	b.plan.Actions = append(b.plan.Actions, a)
	return &b.plan.Actions[len(b.plan.Actions)-1]
}

// partition plans for all directories of a partition.
func (b *builder) partition(p *incident.Partition) error {
	for _, c := range p.Copies {
		if c.Err != nil || c.Log == nil || !Regenerates(c) {
			continue
		}
		dir := c.Log.Partition
		t := b.byDir[c.Dir]
		if t == nil || b.byPartition[c.Dir] != dir {
			continue
		}
		w := &work{builder: b, t: t, p: p, copy: c, log: c.Log, dir: dir}
		if err := w.plan(); err != nil {
			return err
		}
	}
	return nil
}
