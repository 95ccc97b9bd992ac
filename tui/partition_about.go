package tui

import (
	"fmt"
	"strings"

	"kafsck/commitment"
	"kafsck/incident"
)

// about is what the screens of one partition share: which one, and its judged story.
type about struct {
	w     *world
	index int
	p     *incident.Partition // nil until judged
	// change is what this screen asks beyond the options of the case, nil nothing.
	change func(*incident.Options)
	begun  bool
	err    error // why there is no story

	// sentence is the verdict of toldOf: a frame must not add up all findings again.
	toldOf    *incident.Partition
	toldLevel level
	sentence  string
}

// verdict is storyVerdict of the partition, worked out once.
func (a *about) verdict() (level, string) {
	if a.toldOf != a.p {
		a.toldOf = a.p
		a.toldLevel, a.sentence = storyVerdict(a.p)
	}
	return a.toldLevel, a.sentence
}

// partition is the index in world.refs.
func (a *about) partition() int { return a.index }

func (a *about) name() string { return a.w.refs[a.index].Name }

// begin is the first work: the kept story if it tells all that is asked for, else
// judging. Asked again, it judges in any case.
func (a *about) begin() work {
	again := a.begun
	a.begun, a.p, a.err = true, nil, nil
	if !again && a.change == nil {
		if p := a.w.story(a.index); p != nil {
			a.p = p
			return nil
		}
	}
	return a.w.judge(a.index, a.change)
}

// take takes the story; false: v is none. What failed is kept for the view.
func (a *about) take(v any) bool {
	if err, ok := v.(error); ok && a.p == nil {
		a.err = err
	}
	p, ok := v.(*incident.Partition)
	if !ok {
		return false
	}
	a.p = p
	if a.change == nil {
		a.w.keep(a.index, p)
	}
	return true
}

// twin is the command of a verb, with its second word and flags, for this partition alone.
func (a *about) twin(verb string, extra ...string) string {
	if a.w.src == nil {
		return ""
	}
	return a.w.command(verb, append(extra, "--partition", a.name())...)
}

// waiting is the view before the story is there.
func (a *about) waiting(st *styles) string {
	if a.err != nil {
		return st.level(levelUnread).Render("Not read: "+escape(a.err.Error())) + "\n" + st.dim.Render("R reads it again.")
	}
	return st.dim.Render("Judging " + escape(a.name()) + " … (ctrl+c stops it, R begins again)")
}

// unread are the failed reads of the story, each a line.
func (a *about) unread(w int, st *styles) []string {
	var out []string
	for i := range a.p.Errors {
		if i == 2 && len(a.p.Errors) > 3 {
			out = append(out, st.level(levelUnread).Render(cut(fmt.Sprintf("E not read: %d more", len(a.p.Errors)-i), w)))
			break
		}
		out = append(out, st.level(levelUnread).Render(cutPath("E not read: ", escape(a.p.Errors[i].Error()), w)))
	}
	return out
}

// copyOf finds the copy that a loss names, nil if it cannot be read.
func copyOf(p *incident.Partition, ref *incident.CopyRef) *incident.Copy {
	var same *incident.Copy
	for _, c := range p.Copies {
		if c.Broker != ref.Broker || c.State != ref.State || c.Err != nil || c.Log == nil {
			continue
		}
		if c.Dir == ref.File || strings.HasPrefix(ref.File, c.Dir+"/") {
			return c
		}
		if same == nil {
			same = c
		}
	}
	return same
}

// openIn opens an offset in a copy, or says why it cannot.
func (a *about) openIn(c *incident.Copy, offset int64, ctl *control) {
	switch {
	case c == nil:
		ctl.warn("no copy among these inputs holds it")
	case c.Err != nil:
		ctl.warn("this copy could not be read: %v", c.Err)
	case c.Log == nil || len(c.Log.Segments) == 0:
		ctl.warn("this copy has no segments")
	default:
		ctl.push(openOffset(a.w, a.p, c, offset))
	}
}

// partitionCommand opens a screen of a partition from anywhere: of the one named, or of
// the one that the present screen is about.
func partitionCommand(name, help string, open func(w *world, index int) screen) screenCommand {
	return screenCommand{name: name, args: "[PARTITION]", help: help,
		complete: func(w *world, arg string) []string { return w.partitionNames(arg) },
		open: func(ctl *control, arg string) (screen, error) {
			i, err := ctl.partitionFor(arg)
			if err != nil {
				return nil, err
			}
			return open(ctl.world(), i), nil
		}}
}

// partitionFor is the index of a named partition, or of the present one for "".
func (c *control) partitionFor(name string) (int, error) {
	w := c.world()
	if w.src == nil {
		return -1, fmt.Errorf("the inputs are not open yet")
	}
	if name != "" {
		if i := w.indexOf(name); i >= 0 {
			return i, nil
		}
		return -1, fmt.Errorf("there is no partition %s", name)
	}
	for i := c.app.at; i >= 0; i-- { // the nearest screen below that is about one
		switch s := c.app.stack[i].screen.(type) {
		case interface{ partition() int }:
			if i := s.partition(); i >= 0 {
				return i, nil
			}
		case *caseScreen:
			if r := s.row(); r >= 0 {
				return r, nil
			}
		}
	}
	if len(w.refs) == 1 {
		return 0, nil
	}
	return -1, fmt.Errorf("which partition? give its name")
}

// storyVerdict is a partition in one sentence: lost or not, who rules and why; raw.
func storyVerdict(p *incident.Partition) (level, string) {
	l, text := lossVerdict(p)
	switch {
	case p.Ruling.Leader == nil:
		text += " Nobody rules: " + p.Ruling.Why + "."
	case p.Ruling.Guess:
		text += fmt.Sprintf(" Broker %s rules, by a guess%s.", p.Ruling.Leader.Name, afterGuess(p.Ruling.Why))
	default:
		text += fmt.Sprintf(" Broker %s rules: %s.", p.Ruling.Leader.Name, p.Ruling.Why)
	}
	return l, text
}

// afterGuess is a reason behind the word guess, which it mostly begins with itself:
// "guess: …" or "guess (no cluster metadata): …".
func afterGuess(why string) string {
	if rest, ok := strings.CutPrefix(why, "guess"); ok {
		return rest
	}
	return ": " + why
}

func lossVerdict(p *incident.Partition) (level, string) {
	s := summarize(p)
	where, holders := lostWhere(p.Losses)
	held := "; no copy here holds them"
	if len(holders) > 0 {
		held = "; still on broker " + listOf(holders)
	}
	switch {
	case len(p.Errors) > 0:
		return levelUnread, fmt.Sprintf("NOT READ: %s; what follows is not complete.", p.Errors[0].Path)
	case s.lost > 0 && s.maybe > 0:
		return levelLoss, fmt.Sprintf("LOST: %s, and %s that may have been committed: %s%s.", countOf(s.lost, "committed record", "committed records"), countOf(s.maybe, "record", "records"), where, held)
	case s.lost > 0:
		return levelLoss, fmt.Sprintf("LOST: %s: %s%s.", countOf(s.lost, "committed record", "committed records"), where, held)
	case s.maybe > 0:
		return levelLoss, fmt.Sprintf("LOST?: %s that may have been committed: %s%s.", countOf(s.maybe, "record", "records"), where, held)
	case s.unsized > 0:
		return levelLoss, fmt.Sprintf("LOST?: records may be gone, how many is not recorded: %s%s.", where, held)
	case !p.Ruling.Judged:
		return levelWarning, "CANNOT TELL whether anything is lost: " + p.Ruling.Reason + "."
	case p.Ruling.Leader == nil && len(p.Candidates) > 0:
		var words []string
		for i := range p.Candidates {
			c := &p.Candidates[i]
			words = append(words, fmt.Sprintf("if broker %s leads: %s", c.Leader.Name, candidateLoses(c.Losses)))
		}
		return levelWarning, "Nothing is lost yet; " + strings.Join(words, "; ") + "."
	case dropped(p) > 0:
		return levelWarning, fmt.Sprintf("No committed record is lost; the log of who rules lacks %s.", countOf(dropped(p), "record that was never committed", "records that were never committed"))
	case s.differ > 0:
		return levelWarning, fmt.Sprintf("Nothing is lost; %s.", countOf(int64(s.differ), "difference between replicas matters", "differences between replicas matter"))
	case s.findings[3] > 0 || s.findings[2] > 0:
		return levelDamage, fmt.Sprintf("Nothing is lost between replicas; %s.", countOf(int64(s.findings[3]+s.findings[2]), "finding of damage or loss", "findings of damage or loss"))
	case s.behind > 0:
		return levelOK, fmt.Sprintf("OK: nothing is lost; %s behind.", countOf(int64(s.behind), "replica is", "replicas are"))
	}
	if len(p.Live()) < 2 {
		return levelOK, "Nothing points to a loss; one live replica alone is here, so there is nothing to compare it with."
	}
	return levelOK, "OK: nothing is lost; the replicas agree."
}

// dropped counts the records that are gone and were never committed.
func dropped(p *incident.Partition) int64 {
	var n int64
	for i := range p.Losses {
		if l := &p.Losses[i]; !l.Counts() && l.Records != nil {
			n += *l.Records
		}
	}
	return n
}

func candidateLoses(list []incident.Loss) string {
	var yes, maybe int64
	unsized := false
	for i := range list {
		l := &list[i]
		switch {
		case !l.Counts():
		case l.Records == nil:
			unsized = true
		case l.Committed == commitment.Yes:
			yes += *l.Records
		default:
			maybe += *l.Records
		}
	}
	switch {
	case yes > 0 && maybe > 0:
		return comma(yes) + " committed records lost, " + comma(maybe) + " more perhaps"
	case yes > 0:
		return countOf(yes, "committed record", "committed records") + " lost"
	case maybe > 0:
		return countOf(maybe, "record", "records") + " lost that may have been committed"
	case unsized:
		return "records lost, how many is not recorded"
	}
	return "nothing lost"
}

// lostWhere is the offsets of the losses that count, at most three ranges, and who holds
// them.
func lostWhere(list []incident.Loss) (where string, holders []string) {
	var words []string
	more := 0
	seen := map[string]bool{}
	for i := range list {
		l := &list[i]
		if !l.Counts() {
			continue
		}
		for _, h := range l.HeldBy {
			if !seen[h.Name] {
				seen[h.Name] = true
				holders = append(holders, h.Name)
			}
		}
		r := lossRange(l)
		switch {
		case len(words) > 0 && words[len(words)-1] == r:
		case len(words) == 3:
			more++
		default:
			words = append(words, r)
		}
	}
	where = "offsets " + strings.Join(words, ", ")
	if len(words) == 1 && !strings.Contains(words[0], "–") && !strings.Contains(words[0], " ") {
		where = "offset " + words[0]
	}
	if more > 0 {
		where += fmt.Sprintf(" and %d more ranges", more)
	}
	return where, holders
}

// lossRange is the offsets of a loss as people read them.
func lossRange(l *incident.Loss) string {
	switch {
	case l.From == nil && l.To == nil:
		return "not recorded"
	case l.From == nil:
		return "up to " + itoa(*l.To-1)
	case l.To == nil:
		return "from " + itoa(*l.From) + " on"
	case !l.ToExact && l.Basis == "trace":
		return span(*l.From, *l.To) + " at least"
	}
	return span(*l.From, *l.To)
}
