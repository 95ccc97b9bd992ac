package repair

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"kafsck/finding"
	"kafsck/logdir"
	"kafsck/manifest"
)

// finish keeps the roots that the plan speaks of, numbers them anew, and hashes what it rests on.
func (b *builder) finish() error {
	for i := range b.plan.Actions {
		a := &b.plan.Actions[i]
		b.roots[a.Root].mended = true
		for _, e := range a.Edits {
			for _, x := range e.Pieces {
				b.roots[x.Root].lent[x.File] = true
			}
		}
	}
	for _, x := range b.asIs {
		if !slices.ContainsFunc(b.plan.Promises, func(o Promise) bool { return o.Root == x.Root && o.Dir == x.Dir }) {
			b.plan.Promises = append(b.plan.Promises, x)
		}
	}
	b.plan.Promises = slices.DeleteFunc(b.plan.Promises, func(x Promise) bool {
		return !slices.ContainsFunc(b.plan.Actions, func(a Action) bool { return a.Root == x.Root && a.changes(&x) })
	})
	old := map[int]*target{}
	for i, t := range b.roots {
		old[i] = t
		if !t.mended && len(t.lent) == 0 {
			t.index = -1
			continue
		}
		if (t.mended || b.salvages) && t.dir.Live && !t.root.New {
			return &Running{Dir: t.dir.Path}
		}
		t.index, t.root.Source = len(b.plan.Roots), !t.mended && !t.root.New
		b.plan.Roots = append(b.plan.Roots, t.root)
	}
	for i := range b.plan.Actions {
		a := &b.plan.Actions[i]
		a.Root = old[a.Root].index
		for j := range a.Edits {
			for k := range a.Edits[j].Pieces {
				x := &a.Edits[j].Pieces[k]
				x.Root = old[x.Root].index
			}
		}
	}
	for i := range b.plan.Promises {
		b.plan.Promises[i].Root = old[b.plan.Promises[i].Root].index
	}
	b.plan.tie()
	for i := range b.plan.Left {
		if r := b.plan.Left[i].Root; r != nil {
			if n := old[*r].index; n >= 0 {
				*r = n
			} else {
				b.plan.Left[i].Root = nil
			}
		}
	}
	return b.hash()
}

// changes reports whether an action works on the partition of a promise, or on its line of a checkpoint.
// A whole directory that goes leaves nothing to promise.
func (a *Action) changes(x *Promise) bool {
	if a.Dir == x.Dir {
		return !slices.ContainsFunc(a.Edits, func(e Edit) bool { return e.Op == Remove && e.File == x.Dir })
	}
	return slices.ContainsFunc(a.Edits, func(e Edit) bool {
		return e.Op == Line && x.Dir == fmt.Sprintf("%s-%d", e.Line.Topic, e.Line.Partition)
	})
}

// tie says of each promise which actions it rests on.
func (p *Plan) tie() {
	for i := range p.Promises {
		x := &p.Promises[i]
		x.Actions = []string{}
		for j := range p.Actions {
			a := &p.Actions[j]
			if a.Root == x.Root && (a.Dir == x.Dir || a.Partition == x.Partition || a.Partition == "" && a.Dir == "") {
				x.Actions = append(x.Actions, a.ID)
			}
		}
	}
}

// hashing is a file to hash.
type hashing struct {
	t    *target
	file manifest.File
	name string // below the root
}

// hash takes every file of the roots that are mended into the inputs, and of the others the files
// that bytes are taken from.
func (b *builder) hash() error {
	var todo []hashing
	var total int64
	for _, t := range b.roots {
		if t.index < 0 || t.root.New {
			continue
		}
		dir, prefix := t.dir.Root, ""
		if t.only != nil {
			dir, prefix = t.only.Root, base(t.only)+"/"
		}
		var failed error
		for _, f := range manifest.Files(t.dir.FS, dir, func(name string, err error) {
			if failed == nil {
				failed = fmt.Errorf("%s: %w", path.Join(t.dir.Path, name), err)
			}
		}) {
			name := f.Path
			if dir != "." {
				name = strings.TrimPrefix(name, dir+"/")
			}
			name = prefix + name
			if !t.mended && !t.lent[name] {
				continue
			}
			if f.Odd != "" {
				b.plan.Left = append(b.plan.Left, Left{Code: "not-copied", Root: &[]int{t.index}[0], File: name, Why: "it is " + f.Odd + ", which is not copied", Next: "look at it by hand"})
				continue
			}
			todo = append(todo, hashing{t, f, name})
			total += f.Size
		}
		if failed != nil {
			return failed
		}
	}
	if b.opt.Hash != nil {
		b.opt.Hash(total)
	}
	b.plan.Inputs = make([]PlanInput, len(todo))
	next := make(chan int)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for range 2 { // as many as read two disks, and as there are cores on a small machine
		wg.Go(func() {
			for i := range next {
				h := &todo[i]
				sum, err := manifest.Sum(b.ctx, h.t.dir.FS, h.file, b.opt.Progress)
				if err != nil {
					mu.Lock()
					if failed == nil {
						failed = fmt.Errorf("%s: %w", path.Join(h.t.dir.Path, h.name), err)
					}
					mu.Unlock()
				}
				b.plan.Inputs[i] = PlanInput{Root: h.t.index, File: h.name, Size: h.file.Size, SHA256: sum}
			}
		})
	}
	for i := range todo {
		mu.Lock()
		stop := failed != nil
		mu.Unlock()
		if stop || b.ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
	if b.ctx.Err() != nil {
		return b.ctx.Err()
	}
	return failed
}

// leave tells of every finding at or above warning that no action answers.
func (b *builder) leave() {
	for _, x := range b.found {
		if x.answered || x.Severity == 0 || b.madeAnew(x) {
			continue
		}
		l := Left{Code: string(x.Code), Partition: x.At.Partition}
		if x.target != nil {
			l.Root = &[]int{x.target.index}[0]
			l.File = below0(x)
		}
		l.Why, l.Next = whyLeft(x)
		if !slices.ContainsFunc(b.plan.Left, func(o Left) bool {
			return o.Code == l.Code && o.Partition == l.Partition && o.File == l.File && (o.Root == nil) == (l.Root == nil) && (o.Root == nil || *o.Root == *l.Root)
		}) {
			b.plan.Left = append(b.plan.Left, l)
		}
	}
}

// madeAnew reports whether an action on the log beside it writes the one file that a finding speaks of
// anew, or takes it out: it answers the finding, and is told of it.
func (b *builder) madeAnew(x *found) bool {
	if x.target == nil || !ofOneFile(x) || !slices.Contains([]string{".index", ".timeindex", ".txnindex", ".snapshot"}, path.Ext(x.At.File)) {
		return false
	}
	name := below0(x)
	for i := range b.plan.Actions {
		a := &b.plan.Actions[i]
		if a.Root != x.target.index || !slices.ContainsFunc(a.Edits, func(e Edit) bool { return (e.Op == Rebuild || e.Op == Remove) && e.File == name }) {
			continue
		}
		// A log that is missing is more than its index.
		if x.Code == "index-orphan" || x.Code == "txn-data-without-marker" || x.Severity >= finding.Loss {
			return false
		}
		if !slices.Contains(a.Findings, string(x.Code)) {
			a.Findings = append(a.Findings, string(x.Code))
		}
		return true
	}
	return false
}

// ofOneFile reports whether all that a finding counts lies in the file that it names.
func ofOneFile(x *found) bool {
	if x.Count > 1 && x.Count > len(x.Evidence) && len(x.Places) < x.Count {
		return false
	}
	return !slices.ContainsFunc(x.Evidence, func(e finding.Evidence) bool { return !strings.HasPrefix(e.Claim, x.At.File) }) &&
		!slices.ContainsFunc(x.Places, func(p finding.Place) bool { return p.File != x.At.File })
}

// below0 is the finding's file below its root.
func below0(x *found) string {
	name := x.At.File
	switch {
	case x.dir != nil && (name == x.dir.Dir || below(name, x.dir.Dir)):
		return path.Join(base(x.dir), name[len(x.dir.Dir):])
	case below(name, x.target.dir.Path) && x.target.dir.Path != ".":
		return name[len(x.target.dir.Path)+1:]
	case name == x.target.dir.Path:
		return ""
	}
	return name
}

// file is a file of a partition directory, as the plan names it.
func file(p *logdir.Partition, name string) string { return base(p) + "/" + name }
