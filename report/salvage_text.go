package report

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"kafsck/repair"
)

// Salvage prints what a salvage would do, or did.
type Salvage struct {
	Plan  *repair.Plan
	Done  *repair.Done // nil: nothing was carried out
	Paths *Paths
	Scope *Scope
	File  string // that the plan was written to, "" none
	Args  []string
}

// maxSalvaged, maxGaps and maxCopies are how many partitions, gaps of one and copies are printed.
const (
	maxSalvaged = 12
	maxGaps     = 8
	maxCopies   = 6
)

type salvageLine struct {
	Type string `json:"type"` // "salvaged"
	*repair.SalvagedPartition
}

type salvageDone struct {
	Type  string             `json:"type"` // "salvage"
	Plan  string             `json:"plan"`
	Out   *string            `json:"out"` // null: nothing was written
	Files *repair.DoneFiles  `json:"files"`
	Kept  []repair.Dropped   `json:"kept"`
	Start []repair.DoneStart `json:"starts"`
}

// Salvage writes a line for each partition, and one for the whole.
func (j *JSON) Salvage(p *repair.Plan, d *repair.Done) {
	for i := range p.Salvaged.Partitions {
		j.Line(salvageLine{"salvaged", &p.Salvaged.Partitions[i]})
	}
	l := salvageDone{Type: "salvage", Plan: p.ID, Kept: []repair.Dropped{}, Start: []repair.DoneStart{}}
	if d != nil {
		l.Out, l.Files, l.Start = &d.Out, &d.Files, d.Starts
		l.Kept = append(l.Kept, d.Dropped...)
	}
	j.Line(l)
}

// Print writes the verdict, each partition with its gaps and where its batches come from, what is
// kept, and what to do next.
func (t *Salvage) Print(w io.Writer) error {
	list := t.Plan.Salvaged.Partitions
	out := t.verdict()
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	// Partitions with gaps first: they are what somebody must know of.
	slices.SortStableFunc(order, func(a, b int) int { return troubles(&list[b]) - troubles(&list[a]) })
	for n, i := range order {
		if n == maxSalvaged {
			out = append(out, "", fmt.Sprintf("… and %s more, all in %s", count(len(list)-n, "partition", "partitions"), t.all()))
			break
		}
		out = append(append(out, ""), t.partition(&list[i])...)
	}
	out = append(append(out, ""), t.kept()...)
	out = append(append(out, ""), t.next()...)
	out = append(out, t.Scope.checked())
	_, err := io.WriteString(w, strings.Join(out, "\n")+"\n")
	return err
}

func (t *Salvage) all() string {
	if t.Done != nil {
		return "gaps.json"
	}
	return "--json"
}

func troubles(p *repair.SalvagedPartition) int {
	if p.Root < 0 {
		return 2
	}
	return min(len(p.Gaps), 1)
}

func (t *Salvage) verdict() []string {
	s := t.Plan.Salvaged
	gaps, missing := s.Gaps()
	var batches, size int64
	whole, none := 0, 0
	for i := range s.Partitions {
		p := &s.Partitions[i]
		batches += p.Batches
		size += p.Bytes
		switch {
		case p.Root < 0:
			none++
		case len(p.Gaps) == 0:
			whole++
		}
	}
	label := "SALVAGED  "
	if t.Done == nil {
		label = "CAN BE SALVAGED  "
	}
	if len(s.Partitions) == 0 {
		return indented("NOTHING TO SALVAGE  ", "no copy of a partition among the inputs could be read")
	}
	if none == len(s.Partitions) {
		head := "no copy of " + count(none, "partition", "partitions") + " has a whole batch"
		if s.Apart() {
			head += " of which anything bears the offset out"
		}
		if t.unread() {
			head += " in what could be read"
		}
		if t.Done != nil {
			head += "; what stands in their place lies in " + Escape(path.Join(t.Done.Out, "lost+found"))
		}
		return indented("NOTHING TO SALVAGE  ", head)
	}
	head := fmt.Sprintf("%s of %s in %s (%s)", count(len(s.Partitions)-none, "partition", "partitions"), comma(len(s.Partitions)), count(batches, "batch", "batches"), bytesText(size))
	switch {
	case gaps == 0 && none == 0:
		head += ", no gap"
	case gaps > 0:
		head += fmt.Sprintf("; %s in %s: %s missing", count(gaps, "gap", "gaps"), count(len(s.Partitions)-none-whole, "partition", "partitions"), count(missing, "offset is", "offsets are"))
	}
	if none > 0 {
		head += fmt.Sprintf("; of %s no batch is whole", count(none, "partition", "partitions"))
	}
	head += apart(s, "of another line", func(p *repair.SalvagedPartition) *repair.Apart { return p.Other })
	head += apart(s, "that nothing ties to a line", func(p *repair.SalvagedPartition) *repair.Apart { return p.Unproven })
	head += contradicting(s)
	if t.Done != nil {
		var at []string
		for _, name := range t.results() {
			at = append(at, Escape(path.Join(t.Done.Out, name)))
		}
		head += "; a start on " + some(at) + " finds it so, nothing truncated"
		if !t.Done.Complete() {
			head = strings.TrimSuffix(head, " finds it so, nothing truncated") + " fails, see below"
		}
	}
	return indented(label, head)
}

// none reports whether no partition of the plan has a batch.
func (t *Salvage) none() bool {
	return !slices.ContainsFunc(t.Plan.Salvaged.Partitions, func(p repair.SalvagedPartition) bool { return p.Root >= 0 })
}

// unread reports whether a copy could not be read.
func (t *Salvage) unread() bool {
	return slices.ContainsFunc(t.Plan.Salvaged.Partitions, func(p repair.SalvagedPartition) bool {
		return slices.ContainsFunc(p.Copies, func(c repair.SalvagedOf) bool { return c.Error != "" })
	})
}

// apart tells of whole batches that are not in the result.
func apart(s *repair.Salvaged, what string, of func(*repair.SalvagedPartition) *repair.Apart) string {
	var all repair.Apart
	n := 0
	for i := range s.Partitions {
		if a := of(&s.Partitions[i]); a != nil {
			if n++; n == 1 {
				all = *a
				continue
			}
			all.Batches += a.Batches
			all.Records += a.Records
		}
	}
	if n == 0 {
		return ""
	}
	verb := map[bool]string{true: "is", false: "are"}[all.Batches == 1]
	in := count(all.Records, "record", "records")
	if n == 1 {
		in += ", " + offsets(all.From, all.To)
	}
	return fmt.Sprintf("; %s %s (%s) %s not in it", count(all.Batches, "batch", "batches"), what, in, verb)
}

// contradicted reports whether whole batches are not in the result because others contradict them.
func (t *Salvage) contradicted() bool {
	return slices.ContainsFunc(t.Plan.Salvaged.Partitions, func(p repair.SalvagedPartition) bool { return p.Contradicted != nil })
}

// contradicting tells of whole batches that are not in the result because others contradict them.
func contradicting(s *repair.Salvaged) string {
	var batches, records int64
	at := ""
	n := 0
	for i := range s.Partitions {
		c := s.Partitions[i].Contradicted
		if c == nil {
			continue
		}
		batches += c.Batches
		records += c.Records
		if n++; c.From != nil {
			at = ", " + offsets(*c.From, *c.To)
		}
	}
	if n == 0 {
		return ""
	}
	if n > 1 {
		at = ""
	}
	verb := map[bool]string{true: "is", false: "are"}[batches == 1]
	return fmt.Sprintf("; %s whose offsets others have or deny (%s%s) %s not in it", count(batches, "batch", "batches"), count(records, "record", "records"), at, verb)
}

func (t *Salvage) partition(p *repair.SalvagedPartition) []string {
	name := Escape(p.Partition)
	if p.Root < 0 {
		out := []string{name + "  nothing: " + Escape(p.Why)}
		return append(out, t.copies(p)...)
	}
	if len(t.results()) > 1 {
		name += " in " + Escape(t.Plan.Roots[p.Root].Name)
		if p.TopicID != "" {
			name += ", topic id " + Escape(p.TopicID)
		}
	}
	head := name + "  " + logRange(p.LogStartOffset, p.LogEndOffset)
	if p.Records != nil {
		head += fmt.Sprintf(", %s in %s", count(*p.Records, "record", "records"), count(p.Batches, "batch", "batches"))
	} else {
		head += fmt.Sprintf(", %s of message format 0 or 1", count(p.Batches, "batch", "batches"))
	}
	if len(p.Gaps) == 0 {
		head += ", no gap"
	}
	out := []string{head}
	out = append(out, labelled(2, "line", Escape(p.Why))...)
	out = append(out, t.copies(p)...)
	for i := range p.Gaps {
		if i == maxGaps {
			out = append(out, labelled(2, "", fmt.Sprintf("… and %s more, all in %s", count(len(p.Gaps)-i, "gap", "gaps"), t.all()))...)
			break
		}
		label := ""
		if i == 0 {
			label = count(len(p.Gaps), "gap", "gaps")
		}
		out = append(out, labelled(2, label, t.gap(p, &p.Gaps[i]))...)
	}
	if p.Cleaned > 0 {
		out = append(out, labelled(2, "cleaned", fmt.Sprintf("%s between batches are of compaction: no record is missed there", count(p.Cleaned, "hole", "holes")))...)
	}
	if p.HighWatermark != nil {
		out = append(out, labelled(2, "watermark", fmt.Sprintf("%s: %s", comma(*p.HighWatermark), Escape(p.HighWatermarkWhy)))...)
	} else if p.Batches > 0 {
		out = append(out, labelled(2, "watermark", "none: "+Escape(p.HighWatermarkWhy))...)
	}
	out = append(out, t.open(p)...)
	for _, n := range p.Notes {
		out = append(out, labelled(2, "note", Escape(n))...)
	}
	return out
}

// copies says what the result has of each copy.
func (t *Salvage) copies(p *repair.SalvagedPartition) []string {
	var out []string
	shown := 0
	for i := range p.Copies {
		c := &p.Copies[i]
		if i != p.Line && c.Taken == 0 && c.KeptBytes == 0 && c.Error == "" && len(p.Copies) > 2 {
			continue
		}
		if shown++; shown > maxCopies {
			out = append(out, labelled(2, "", fmt.Sprintf("… and more copies, all in %s", t.all()))...)
			break
		}
		label := ""
		if shown == 1 {
			label = "from"
		}
		out = append(out, labelled(2, label, t.copy(c))...)
	}
	return out
}

func (t *Salvage) copy(c *repair.SalvagedOf) string {
	who := "broker " + Escape(c.Broker)
	if c.State != "live" {
		who += " (" + c.State + ")"
	}
	if c.Error != "" {
		return who + ": could not be read, and nothing is from it: " + Escape(c.Error)
	}
	var words []string
	if c.Taken > 0 {
		words = append(words, count(c.Taken, "batch", "batches"))
	} else if c.SameBytes > 0 {
		words = append(words, "no batch, it has the same")
	} else {
		words = append(words, "no batch")
	}
	for _, x := range []struct {
		n    int64
		what string
	}{{c.Damaged, "damaged"}, {c.Doubles, "double"}} {
		if x.n > 0 {
			words = append(words, comma(x.n)+" "+x.what)
		}
	}
	if x := c.Contradicted; x != nil {
		s := comma(x.Batches) + " whose offsets others have or deny"
		if x.From != nil {
			s += " (" + offsets(*x.From, *x.To) + ")"
		}
		words = append(words, s)
	}
	for what, a := range map[string]*repair.Apart{"of another line": c.Other, "that nothing ties to this line": c.Unproven} {
		if a != nil {
			words = append(words, fmt.Sprintf("%s %s (%s)", comma(a.Batches), what, offsets(a.From, a.To)))
		}
	}
	slices.Sort(words[1:])
	s := who + ": " + strings.Join(words, ", ")
	if c.KeptBytes > 0 {
		s += "; " + bytesText(c.KeptBytes) + " to lost+found"
	}
	return s
}

// gapSays is why a gap is one.
var gapSays = map[repair.GapWhy]string{
	repair.GapDamaged:  "in no copy whole",
	repair.GapMissing:  "in no copy",
	repair.GapUnproven: "nothing proves which line the batches there are of, or their offsets",
	repair.GapTail:     "above the end of every copy on this line",
}

// hasSays is what a copy has in a gap.
var hasSays = map[repair.GapHas]string{
	repair.HasDamage: "damaged", repair.HasNothing: "nothing there", repair.HasOther: "another line", repair.HasUnproven: "batches, unproven",
	repair.HasNotYet: "starts above", repair.HasEnded: "ends below", repair.HasUnread: "could not be read",
}

func (t *Salvage) gap(p *repair.SalvagedPartition, g *repair.Gap) string {
	s := offsets(g.From, g.To)
	switch {
	case g.Before != nil && g.After != nil && *g.Before == *g.After:
		s += fmt.Sprintf(" of epoch %d", *g.Before)
	case g.Before != nil && g.After != nil:
		s += fmt.Sprintf(" between epochs %d and %d", *g.Before, *g.After)
	case g.Before != nil:
		s += fmt.Sprintf(" behind epoch %d", *g.Before)
	case g.After != nil:
		s += fmt.Sprintf(" before epoch %d", *g.After)
	}
	s += ": " + gapSays[g.Why]
	by := map[repair.GapHas][]string{}
	var kinds []repair.GapHas
	for i, h := range g.Has {
		if c := &p.Copies[i]; c.State == "live" || h != repair.HasNotYet && h != repair.HasEnded && h != repair.HasNothing {
			who := Escape(c.Broker)
			if c.State != "live" {
				who += " " + c.State
			}
			if by[h] == nil {
				kinds = append(kinds, h)
			}
			if !slices.Contains(by[h], who) {
				by[h] = append(by[h], who)
			}
		}
	}
	var words []string
	for _, h := range kinds {
		words = append(words, strings.Join(by[h], ", ")+" "+hasSays[h])
	}
	if len(words) > 0 {
		s += " (" + strings.Join(words, "; ") + ")"
	}
	return s
}

// open tells of transactions that lost their end.
func (t *Salvage) open(p *repair.SalvagedPartition) []string {
	var out []string
	if p.OpenCount > 0 && len(p.Open) > 0 {
		byGap := 0
		for _, x := range p.Open {
			if x.Gap {
				byGap++
			}
		}
		s := fmt.Sprintf("%s no end in this log; read_committed consumers stop at offset %s", count(p.OpenCount, "transaction has", "transactions have"), comma(p.Open[0].From))
		if byGap > 0 {
			s += fmt.Sprintf("; the end of %s may have been in a gap", map[bool]string{true: "it", false: comma(byGap) + " of them"}[p.OpenCount == 1])
		}
		out = append(out, labelled(2, "open", s)...)
	}
	if p.Ended > 0 {
		out = append(out, labelled(2, "ended", fmt.Sprintf("%s over a gap: the marker behind it may be that of a later one, and what was aborted in between may read as committed", count(p.Ended, "transaction reaches", "transactions reach")))...)
	}
	return out
}

// kept says what is in lost+found.
func (t *Salvage) kept() []string {
	pieces, size := 0, int64(0)
	by := map[string]int{}
	var whys []string
	for i := range t.Plan.Actions {
		for _, e := range t.Plan.Actions[i].Edits {
			if e.Op != repair.Keep {
				continue
			}
			pieces++
			size += e.Pieces[0].Length
			if by[e.Kept.Why]++; by[e.Kept.Why] == 1 {
				whys = append(whys, e.Kept.Why)
			}
		}
	}
	if pieces == 0 {
		return indented("Not in the result: ", "nothing; every batch that the copies of these partitions hold is in it.")
	}
	where := "lost+found"
	if t.Done != nil {
		where = path.Join(t.Done.Out, "lost+found")
	}
	out := indented("Not in the result: ", fmt.Sprintf("%s in %s, byte for byte in %s:", bytesText(size), count(pieces, "piece", "pieces"), Escape(where)))
	for _, why := range whys {
		out = append(out, indented(fmt.Sprintf("  %6s  ", comma(by[why])), Escape(why))...)
	}
	return out
}

// next is what to do with it.
func (t *Salvage) next() []string {
	switch {
	case t.none():
		return indented("", "Give it other copies of these partitions: replicas on other brokers, older snapshots of the disks, what a broker has set aside. Files full of bytes that are no batch may be encrypted, or another program's. kafsck salvage --scan FILE looks for batches in any file, whatever its name.")
	case len(t.Plan.Actions) == 0:
		return nil
	case t.Done == nil && t.Plan.Salvaged.OffLine() && t.File == "":
		out := []string{"Nothing was written. What is not on this line may have been acknowledged:", "  " + t.Paths.Again("loss"), "  " + t.Paths.Again("export", "--lost", "--out", "lost.jsonl")}
		return append(out, "Next, or with --prefer BROKER for another line:", "  "+t.Paths.Again("salvage", "--out", "salvaged"))
	case t.File != "":
		return []string{"Written: " + Escape(t.File) + ", and nothing else.", "Next: " + Command("kafsck", "repair", "apply", t.File, "--out", "salvaged")}
	case t.Done == nil && t.contradicted():
		return []string{"Nothing was written. Whose offsets others have, with file and position:", "  " + t.Paths.Again("check"), "Next:", "  " + t.Paths.Again("salvage", "--out", "salvaged")}
	case t.Done == nil:
		return []string{"Nothing was written. Next: " + t.Paths.Again("salvage", "--out", "salvaged")}
	}
	var out []string
	if t.Plan.Salvaged.OffLine() {
		out = append(out, "What is not on this line may have been acknowledged:", "  "+t.Paths.Again("loss"), "  "+t.Paths.Again("export", "--lost", "--out", "lost.jsonl"))
	}
	if t.contradicted() {
		out = append(out, indented("", "Whose offsets others have or deny, with file and position: "+Escape(path.Join(t.Done.Out, "lost+found", "manifest.json")))...)
	}
	out = append(out, "Look at the result:")
	for _, name := range t.results() {
		at := path.Join(t.Done.Out, name)
		out = append(out, "  "+Command("kafsck", "check", at), "  "+Command("kafsck", "predict", "start", at))
	}
	return append(out, placing(t.Plan, t.Done.Out)...)
}

// results are the log directories of the result: several where topics of one name, or of two clusters,
// cannot lie in one.
func (t *Salvage) results() (names []string) {
	for i := range t.Plan.Salvaged.Partitions {
		if p := &t.Plan.Salvaged.Partitions[i]; p.Root >= 0 && !slices.Contains(names, t.Plan.Roots[p.Root].Name) {
			names = append(names, t.Plan.Roots[p.Root].Name)
		}
	}
	return names
}
