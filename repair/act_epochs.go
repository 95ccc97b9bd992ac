package repair

import (
	"fmt"
	"slices"
	"strings"

	"kafsck/checkpoint"
	"kafsck/epoch"
	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/replica"
)

// work is one directory of a partition under repair.
type work struct {
	*builder
	t    *target
	p    *incident.Partition
	copy *incident.Copy
	log  *replica.Log
	dir  *logdir.Partition

	epochs  *EpochPlan     // of the log as it lies there
	settled bool           // an action finishes or undoes a swap or a rename of its segments
	mended  map[int64]bool // base offsets of segments whose derived files an action rebuilds
	end     int64          // the log end behind the repair
	start   int64
	lineage epoch.Cache // the epochs behind the repair
}

func (w *work) plan() error {
	w.mended, w.end, w.start = map[int64]bool{}, w.log.LogEndOffset, w.log.LogStartOffset
	before := len(w.builder.plan.Actions)
	var err error
	if w.epochs, err = PlanEpochs(w.ctx, w.p, w.copy, EpochOptions{KeepEmptyTail: true}); err != nil {
		return err
	}
	w.lineage = w.epochs.Cache()
	if err := w.facts(); err != nil {
		return err
	}
	steps := []func() error{w.swaps, w.renames, w.mendLog, w.split, w.rewriteEpochs, w.indexes, w.snapshots, w.leftovers, w.partitionMeta, w.offsets, w.rescan}
	if w.copy.State == replica.Stray {
		steps = nil
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	if len(w.builder.plan.Actions) > before {
		if err := w.transactions(before); err != nil {
			return err
		}
		if err := w.uncommitted(before); err != nil {
			return err
		}
		return w.promise()
	}
	if w.dir.State == logdir.Live { // an action of the log directory may change something of it yet
		w.builder.asIs = append(w.builder.asIs, w.finds())
	}
	return nil
}

func (w *work) facts() error {
	f := &dirFacts{dir: w.dir, start: w.log.LogStartOffset, end: w.log.LogEndOffset, epoch: w.log.Lineage.Latest()}
	if n := len(w.log.Segments); n > 0 {
		f.first, f.last = w.log.Segments[0].BaseOffset, w.log.Segments[n-1].BaseOffset
	}
	w.t.facts = append(w.t.facts, f)
	return w.alone(f)
}

// rewriteEpochs regenerates leader-epoch-checkpoint, where a finding speaks of it and Kafka would
// hold other epochs with the new file.
func (w *work) rewriteEpochs() error {
	list := w.of(w.dir, "epoch-file-malformed", "epoch-file-not-monotonic", "epoch-file-on-legacy-format", "epoch-range-missing", "epoch-start-wrong", "epoch-file-of-sibling", "epoch-batches-missing", "epoch-file-missing")
	if len(list) == 0 {
		return nil
	}
	if a := w.editor("leader-epoch-checkpoint"); a != nil { // it follows from a change of the log
		for _, x := range list {
			if x.answered = true; !slices.Contains(a.Findings, string(x.Code)) {
				a.Findings = append(a.Findings, string(x.Code))
			}
		}
		return nil
	}
	if !w.epochs.Changed {
		return nil
	}
	text := string(checkpoint.FormatEpochs(w.lineage))
	sources := map[Source]bool{}
	for _, e := range w.epochs.Entries {
		sources[e.Source] = true
	}
	var from []string
	for _, s := range []Source{Headers, File, Sibling, Metadata} {
		if sources[s] {
			from = append(from, map[Source]string{Headers: "the headers of all batches", File: "the old file where the batches are gone", Sibling: "other replicas below the last common batch", Metadata: "the cluster metadata"}[s])
		}
	}
	a := Action{
		Kind:  RewriteEpochs,
		Does:  fmt.Sprintf("leader-epoch-checkpoint with %s: %s", plural(len(w.lineage), "entry", "entries"), entries(w.lineage)),
		Why:   fmt.Sprintf("%s; the new file comes from %s (kafsck repair epochs shows each line)", firstSummary(list), strings.Join(from, ", ")),
		Undo:  "the old file is in lost+found",
		Edits: []Edit{{Op: Write, File: file(w.dir, "leader-epoch-checkpoint"), Text: &text}},
	}
	if len(from) == 0 {
		a.Does, a.Why = "leader-epoch-checkpoint without any entry", firstSummary(list)+"; no batch of this log carries an epoch, so the right file has no entry"
	}
	if w.dir.EpochsFile == nil {
		a.Undo = "remove the file: there was none"
	}
	w.add(w.t, w.dir, a, list)
	return nil
}

// edited reports whether an action of this directory edits a file already.
func (w *work) edited(name string) bool { return w.editor(name) != nil }

// editor is the action of this directory that edits a file, nil none.
func (w *work) editor(name string) *Action {
	for i := range w.builder.plan.Actions {
		a := &w.builder.plan.Actions[i]
		if a.Root == w.t.index && slices.ContainsFunc(a.Edits, func(e Edit) bool { return e.File == file(w.dir, name) || e.To == file(w.dir, name) }) {
			return a
		}
	}
	return nil
}

// entries prints epochs and their start offsets, the last ones of many.
func entries(c epoch.Cache) string {
	var out []string
	for i, e := range c {
		if len(c) > 6 && i >= 2 && i < len(c)-3 {
			if i == 2 {
				out = append(out, "…")
			}
			continue
		}
		out = append(out, fmt.Sprintf("%d@%d", e.Epoch, e.StartOffset))
	}
	return strings.Join(out, " ")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// firstSummary is what is wrong, in the words of the worst finding, as the beginning of a sentence.
func firstSummary(list []*found) string {
	worst := list[0]
	for _, x := range list {
		if x.Severity > worst.Severity {
			worst = x
		}
	}
	return strings.TrimSuffix(worst.Summary, ".")
}

// promise is what a start finds, computed from the facts; verified later where the result can be
// built in memory.
func (w *work) promise() error {
	pr := w.finds()
	var err error
	if pr.Records, err = w.records(&pr); err != nil {
		return err
	}
	w.builder.plan.Promises = append(w.builder.plan.Promises, pr)
	return nil
}

// finds is promise without the records, for which the batches are read.
func (w *work) finds() Promise {
	pr := Promise{Root: w.t.index, Dir: base(w.dir), Partition: w.p.Name, LogStartOffset: w.start, LogEndOffset: w.end, Epochs: [][2]int64{}}
	cut := w.epochs.Old.Loaded
	if w.edited("leader-epoch-checkpoint") {
		cut = w.lineage
		if line, _ := logStart(w.dir); line >= 0 && line <= w.end {
			cut = cut.TruncateFromEnd(w.end).TruncateFromStart(line)
		}
	}
	cut = cut.TruncateFromEnd(w.end)
	for _, e := range cut {
		pr.Epochs = append(pr.Epochs, [2]int64{int64(e.Epoch), e.StartOffset})
	}
	return pr
}
