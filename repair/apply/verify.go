package apply

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"kafsck/broker"
	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/repair"
	"kafsck/replica"
	"kafsck/segment"
)

// verify holds the result against the plan: composed files against their sources, findings
// that must be gone, and what a broker makes of it when it starts.
func (x *run) verify(ctx context.Context) error {
	x.countEdits()
	tasks := []func() error{func() error { return x.verifyLosses(ctx) }, func() error { return x.verifyStarts(ctx) }}
	for _, r := range x.l.roots {
		if r.written {
			tasks = append(tasks, func() error { return x.verifyFindings(ctx, r) })
		}
	}
	return parallel(tasks)
}

// composed are the checks of the files that were put together.
func (x *run) composed(ctx context.Context) (tasks []func() error) {
	for _, t := range x.l.files {
		if t.edit != nil && t.edit.Op == repair.Compose {
			tasks = append(tasks, func() error { return x.verifyComposed(ctx, t) })
		}
	}
	return tasks
}

func (x *run) fail(where, format string, args ...any) error {
	return &Failed{Where: where, What: fmt.Sprintf(format, args...)}
}

// verifyComposed reads a composed file back: its pieces are the bytes of their sources, and
// where it is a log they begin and end where its batches do.
func (x *run) verifyComposed(ctx context.Context, t *target) error {
	f, err := openStaged(x.staged(t))
	if err != nil {
		return err
	}
	defer f.Close()
	hash := sha256.New()
	known := t.sum != "" // from the bytes as they were copied
	a, b := make([]byte, chunk), make([]byte, chunk)
	at := int64(0)
	bounds := map[int64]bool{}
	if strings.HasSuffix(t.file, ".log") {
		if err := x.wholePieces(ctx, t); err != nil {
			return err
		}
	}
	for _, p := range t.edit.Pieces {
		bounds[at] = true
		r := x.l.roots[p.Root]
		src, err := r.fsys.Open(r.inside(p.File))
		if err != nil {
			return err
		}
		for done := int64(0); done < p.Length; {
			n := min(p.Length-done, chunk)
			err := readFull(f, a[:n], at)
			if err == nil {
				err = readFull(src, b[:n], p.Position+done)
			}
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				src.Close()
				return err
			}
			if !bytes.Equal(a[:n], b[:n]) {
				src.Close()
				return x.fail(t.name(), "bytes %d to %d are not those of %s", at, at+n, p.File)
			}
			if !known {
				hash.Write(a[:n])
			}
			at += n
			done += n
		}
		src.Close()
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() != at {
		return x.fail(t.name(), "%d bytes, want %d", info.Size(), at)
	}
	if t.size = at; !known {
		t.sum = hex.EncodeToString(hash.Sum(nil))
	}
	delete(bounds, 0)
	if !strings.HasSuffix(t.file, ".log") || len(bounds) == 0 {
		return nil // whether the last batch is whole, the check of the result tells
	}
	n := 0
	for f, err := range segment.Walk(f, at, segment.ScanOptions{}) {
		if err != nil {
			return err
		}
		if n++; n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		delete(bounds, f.Pos)
	}
	for pos := range bounds {
		return x.fail(t.name(), "a piece begins at position %d, in the middle of a batch", pos)
	}
	return nil
}

// wholePieces fails for a piece that begins or ends inside a batch of the file that it is taken from: what
// lies in a record's value may look like a batch, and is none. Of a source that is one file of any kind
// (a disk image) there are no such bounds.
func (x *run) wholePieces(ctx context.Context, t *target) error {
	bounds := map[*repair.PlanInput]map[int64]bool{}
	for _, p := range t.edit.Pieces {
		r := x.l.roots[p.Root]
		in := r.inputs[p.File]
		if r.File || in == nil || p.Position == 0 && p.Length == in.Size {
			continue
		}
		if bounds[in] == nil {
			bounds[in] = map[int64]bool{}
		}
		bounds[in][p.Position], bounds[in][p.Position+p.Length] = true, true
	}
	for in, open := range bounds {
		last := int64(0)
		for at := range open {
			last = max(last, at)
		}
		err := x.walkInput(ctx, x.l.roots[in.Root], in, 0, func(f *segment.Frame) error {
			if f.Kind == segment.Embedded {
				return nil
			}
			delete(open, f.Pos)
			delete(open, f.End())
			if f.End() >= last {
				return io.EOF
			}
			return nil
		})
		if err != nil {
			return err
		}
		for pos := range open {
			return x.fail(t.name(), "a piece of %s begins or ends at position %d, in the middle of a batch", in.File, pos)
		}
	}
	return nil
}

func readFull(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// result opens the result of one root as a case of its own.
func (x *run) result(r *root) (*logdir.Case, error) {
	if x.inPlace {
		return logdir.DiscoverFS(x.overlay(r), filepath.Base(r.host), logdir.Options{})
	}
	at := filepath.Join(x.stage, filepath.FromSlash(r.Name))
	if !r.Partition {
		return logdir.Discover([]string{at}, logdir.Options{})
	}
	var dirs []string
	for _, t := range x.l.files {
		dir, _, _ := strings.Cut(t.file, "/")
		if dir = filepath.Join(at, dir); t.root == r && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return logdir.Discover(dirs, logdir.Options{})
}

// mended are the codes of findings that the actions on a place claim to mend: of a partition,
// or of the log directory where it is "". What an action that was not done, or a finding that
// is left, is about may be there.
func (x *run) mended(r *root, partition string) map[string]string {
	codes := map[string]string{}
	for _, a := range x.l.todo {
		if x.l.roots[a.Root] == r && a.Partition == partition {
			for _, c := range a.Findings {
				codes[c] = a.ID
			}
		}
	}
	for i := range x.l.plan.Actions {
		a := &x.l.plan.Actions[i]
		if x.l.isLeft(a.ID) && x.l.roots[a.Root] == r && a.Partition == partition {
			for _, c := range a.Findings {
				delete(codes, c)
			}
		}
	}
	// Of an action that is not in the plan any more it is not known which findings it was about.
	for i := range x.l.plan.Promises {
		if p := &x.l.plan.Promises[i]; x.l.roots[p.Root] == r && (p.Partition == partition || partition == "") && x.l.isCut(p) {
			clear(codes)
		}
	}
	for _, left := range x.l.plan.Left {
		if (left.Root == nil || *left.Root == r.index) && left.Partition == partition {
			delete(codes, left.Code)
		}
	}
	return codes
}

// isCut reports whether an action that a promise rests on was taken out of the plan.
func (l *layout) isCut(p *repair.Promise) bool {
	return slices.ContainsFunc(p.Actions, func(id string) bool { return l.cut[id] })
}

func (l *layout) isLeft(id string) bool {
	return slices.ContainsFunc(l.left, func(n NotDone) bool { return n.ID == id })
}

// readsRecords reports whether an action on a root claims to mend what only shows inside of batches.
func (x *run) readsRecords(r *root) bool {
	return slices.ContainsFunc(x.l.todo, func(a *repair.Action) bool {
		return x.l.roots[a.Root] == r && slices.Contains(a.Findings, "inner-record-invalid")
	})
}

// verifyFindings checks the partitions that were repaired, at level batches, or records where an action
// asks for it.
func (x *run) verifyFindings(ctx context.Context, r *root) error {
	partitions := map[string]bool{}
	for _, a := range x.l.todo {
		if x.l.roots[a.Root] == r && a.Partition != "" {
			partitions[a.Partition] = true
		}
	}
	for i := range x.l.plan.Promises {
		if p := &x.l.plan.Promises[i]; x.l.roots[p.Root] == r && !x.waits(p) {
			partitions[p.Partition] = true
		}
	}
	c, err := x.result(r)
	if err != nil {
		return err
	}
	defer c.Close()
	if len(c.Errors) > 0 {
		return c.Errors[0]
	}
	inc := incident.Open(c, x.judging(r, partitions))
	if len(inc.Errors) > 0 {
		return inc.Errors[0]
	}
	whole, all := x.mended(r, ""), slices.Clone(inc.Findings())
	for _, f := range all {
		if id := whole[string(f.Code)]; id != "" && f.At.Partition == "" {
			return x.fail(cmp.Or(f.At.File, r.Name), "%s is still there after action %s: %s", f.Code, id, f.Summary)
		}
	}
	for p := range inc.Partitions(ctx) {
		if len(p.Errors) > 0 {
			return p.Errors[0]
		}
		codes := x.mended(r, p.Name)
		all = append(all, p.Findings...)
		for _, f := range p.Findings {
			if id := codes[string(f.Code)]; id != "" {
				return x.fail(cmp.Or(f.At.File, p.Name), "%s is still there after action %s: %s", f.Code, id, f.Summary)
			}
		}
		for _, c := range p.Copies {
			if c.Log == nil || slices.Contains([]replica.State{replica.Deleted, replica.Replaced, replica.Swap, replica.Cleaned}, c.State) {
				continue // files that a start does not read as the log
			}
			if err := x.verifyRecords(r, c.Log); err != nil {
				return err
			}
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return x.verifyNothingNew(ctx, r, all, partitions)
}

// judging is how partitions of a root are looked at.
func (x *run) judging(r *root, partitions map[string]bool) incident.Options {
	return incident.Options{Files: true, Tell: true, Compare: true, Transactions: true, Records: x.readsRecords(r),
		Match: func(topic string, number int32) bool { return partitions[fmt.Sprintf("%s-%d", topic, number)] }}
}

// verifyStarts predicts the start of every broker that has a root in the result, with its
// other disks as they are.
func (x *run) verifyStarts(ctx context.Context) error {
	version, err := broker.ParseVersion(x.l.plan.Kafka)
	if err != nil {
		return nonsense("kafka %q: %v", x.l.plan.Kafka, err)
	}
	seen := map[*root]bool{}
	for _, r := range x.l.roots {
		if !r.written || seen[r] {
			continue
		}
		group := []*root{r}
		for _, o := range x.l.roots {
			if !r.New && !o.New && o != r && r.Broker != nil && o.Broker != nil && *o.Broker == *r.Broker && !o.Source && !r.Partition && !o.Partition {
				group = append(group, o)
			}
		}
		for _, o := range group {
			seen[o] = true
		}
		if err := x.verifyStart(ctx, group, version); err != nil {
			return err
		}
	}
	return nil
}

func (x *run) verifyStart(ctx context.Context, group []*root, version broker.Version) error {
	b := &logdir.Broker{}
	of := map[*logdir.LogDir]*root{}
	told := repair.DoneStart{Broker: group[0].Broker, OK: true, Partitions: []repair.DonePartition{}}
	for _, r := range group {
		var c *logdir.Case
		var err error
		if r.written {
			told.Roots = append(told.Roots, r.Name)
			c, err = x.result(r)
		} else {
			c, err = logdir.Discover([]string{r.Path}, logdir.Options{})
		}
		if c != nil {
			defer c.Close()
		}
		if err == nil && len(c.Errors) > 0 {
			err = c.Errors[0]
		}
		if err != nil {
			return err
		}
		for _, found := range c.Brokers {
			if b.Name == "" {
				b.ID, b.IDKnown, b.IDSource, b.Name, b.ClusterID = found.ID, found.IDKnown, found.IDSource, found.Name, found.ClusterID
			}
			for _, d := range found.Dirs {
				b.Dirs = append(b.Dirs, d)
				of[d] = r
			}
		}
	}
	// Without a clock no producer is forgotten: what a start does does not depend on the day.
	only := x.touches(of)
	if len(x.l.left) > 0 {
		only = nil // what is left may end the start of the whole directory
	}
	started, err := broker.Start(ctx, b, broker.StartOptions{Version: version, Only: only})
	if err != nil {
		return err
	}
	if len(started.Errors) > 0 {
		return started.Errors[0]
	}
	if started.Outcome != broker.OK {
		told.OK, told.Why = false, strings.TrimSpace(started.Where+": "+started.Why)
	}
	for _, d := range started.Dirs {
		if d.Outcome != broker.OK && told.OK {
			told.OK, told.Why = false, strings.TrimSpace(d.Where+": "+d.Why)
		}
	}
	if !told.OK && len(x.l.left) == 0 && len(x.l.plan.Left) == 0 {
		return x.fail(group[0].Name, "the broker would not start on it: %s", told.Why)
	}
	if err := x.verifyOthers(ctx, group, of, started); err != nil {
		return err
	}
	for _, d := range started.Dirs {
		for _, p := range d.Partitions {
			if err := x.verifyPartition(of[d.LogDir], p, &told); err != nil {
				return err
			}
		}
	}
	for i := range x.l.plan.Promises {
		p := &x.l.plan.Promises[i]
		r := x.l.roots[p.Root]
		if !slices.Contains(group, r) || !r.written || x.waits(p) {
			continue
		}
		if !slices.ContainsFunc(told.Partitions, func(s repair.DonePartition) bool { return s.Dir == path.Join(r.Name, p.Dir) }) {
			return x.fail(path.Join(r.Name, p.Dir), "the plan promises a log here, and a start finds none")
		}
	}
	x.done.Starts = append(x.done.Starts, told)
	return nil
}

// touches tells the partitions of which a start has to be predicted: those with an action, and all of
// a root where an action changes for all of them what a broker goes by. Of the others the plan was
// made from the bytes that are there.
func (x *run) touches(of map[*logdir.LogDir]*root) func(*logdir.Partition) bool {
	dirs, lines, all := map[*root]map[string]bool{}, map[*root]map[string]bool{}, map[*root]bool{}
	for _, a := range x.l.todo {
		r := x.l.roots[a.Root]
		if dirs[r] == nil {
			dirs[r], lines[r] = map[string]bool{}, map[string]bool{}
		}
		for i := range a.Edits {
			e := &a.Edits[i]
			top, _, deep := strings.Cut(e.File, "/")
			switch {
			case deep:
				dirs[r][top] = true
				to, _, _ := strings.Cut(e.To, "/")
				dirs[r][to] = true
			case e.Op == repair.Line && e.Line != nil:
				lines[r][fmt.Sprintf("%s-%d", e.Line.Topic, e.Line.Partition)] = true
			case x.l.anyAt(r, e.File) && r.inputs[e.File] == nil: // a folder
				dirs[r][top] = true
			default: // the marker of a clean shutdown, a whole checkpoint file, meta.properties
				all[r] = true
			}
		}
	}
	return func(p *logdir.Partition) bool {
		r := of[p.LogDir]
		return r != nil && r.written && (r.New || all[r] || dirs[r][dirOf(r, p)] || lines[r][p.Name()])
	}
}

// waits: an action on the partition is not done, so that the promise is for another day.
func (x *run) waits(p *repair.Promise) bool {
	if slices.ContainsFunc(p.Actions, x.l.isLeft) {
		return true
	}
	for i := range x.l.plan.Actions {
		a := &x.l.plan.Actions[i]
		if a.Root == p.Root && (a.Partition == p.Partition || a.Dir == p.Dir) && x.l.isLeft(a.ID) {
			return true
		}
	}
	return false
}

// dirOf is the slash path of a partition directory below its root.
func dirOf(r *root, p *logdir.Partition) string {
	if r.Partition {
		return path.Base(cmp.Or(filepath.ToSlash(p.HostPath), p.Root))
	}
	return path.Base(p.Root)
}

// verifyPartition holds what a start makes of one directory against the promise.
func (x *run) verifyPartition(r *root, p *broker.StartedPartition, told *repair.DoneStart) error {
	if !r.written {
		return nil
	}
	dir := dirOf(r, p.Partition)
	name := path.Join(r.Name, dir)
	var promise *repair.Promise
	for i := range x.l.plan.Promises {
		q := &x.l.plan.Promises[i]
		if x.l.roots[q.Root] == r && q.Dir == dir {
			promise = q
		}
	}
	if p.Err != nil {
		return fmt.Errorf("%s: %w", name, p.Err)
	}
	if p.Skipped {
		return nil
	}
	l := p.Loaded
	cut := cuts(l)
	if promise == nil || x.waits(promise) {
		switch {
		case l.Outcome != broker.OK:
			if told.OK {
				x.note("%s was left as it is: a start ends there (%s)", name, l.Why)
			}
			return nil
		case cut != "":
			x.note("%s was left as it is: a start changes it (%s)", name, cut)
			return nil
		case promise == nil:
			return nil
		}
	}
	got := repair.DonePartition{Partition: p.Partition.Name(), Dir: name, LogStartOffset: l.LogStartOffset, LogEndOffset: l.LogEndOffset, Epochs: [][2]int64{}}
	for _, e := range l.Epochs {
		got.Epochs = append(got.Epochs, [2]int64{int64(e.Epoch), e.StartOffset})
	}
	switch {
	case l.Outcome != broker.OK:
		return x.fail(name, "a start ends there: %s", cmp.Or(l.Why, string(l.Outcome)))
	case cut != "":
		return x.fail(name, "a start changes it: %s", cut)
	case x.waits(promise): // what it finds is told, whatever the whole plan promises
	case l.LogStartOffset != promise.LogStartOffset || l.LogEndOffset != promise.LogEndOffset:
		return x.fail(name, "a start finds a log of offsets %d to %d (exclusive), the plan promises %d to %d", l.LogStartOffset, l.LogEndOffset, promise.LogStartOffset, promise.LogEndOffset)
	case !slices.Equal(got.Epochs, promise.Epochs) && len(got.Epochs)+len(promise.Epochs) > 0:
		return x.fail(name, "a start finds the epochs %v, the plan promises %v", got.Epochs, promise.Epochs)
	}
	told.Partitions = append(told.Partitions, got)
	return nil
}

// cuts says what a start takes out of a log, "" nothing.
func cuts(l *broker.Loaded) string {
	for i := range l.Actions {
		a := &l.Actions[i]
		switch a.Action {
		case broker.ActTruncate:
			if a.Bytes == 0 {
				continue
			}
		case broker.ActDelete, broker.ActMarkDeleted:
			if !strings.HasSuffix(a.File, ".log") || a.Replaced || a.Bytes == 0 {
				continue
			}
		default:
			continue
		}
		return fmt.Sprintf("%s of %s, %d bytes: %s", a.Action, a.File, a.Bytes, a.Why)
	}
	return ""
}
