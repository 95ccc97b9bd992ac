package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"kafsck/commitment"
)

// maxLines is how long a triage may get: what fits on a small terminal.
const maxLines = 20

// Print writes the verdict. bits are the exit bits that it leads to.
func (t *Triage) Print(w io.Writer, bits int) error {
	slices.SortStableFunc(t.items, func(a, b item) int {
		if a.class != b.class {
			return int(a.class) - int(b.class)
		}
		switch {
		case a.sum.records > b.sum.records:
			return -1
		case a.sum.records < b.sum.records:
			return 1
		}
		return 0
	})
	if t.Scope.Partitions == 0 && t.Scope.MetadataLogs == 0 {
		t.items = append(t.items, item{class: classCannotTell, word: "CANNOT TELL", group: "nothing", prose: "anything: no partition directory (NAME-NUMBER) and no cluster metadata are among these inputs"})
	}
	var top []string
	if quiet := len(t.items) == 0 || t.items[0].class >= classWarning; bits == 0 && quiet {
		top = indented(fmt.Sprintf("%-6s", "OK")+" ", t.allClear())
	} else if quiet || t.items[0].class == classNoLeader {
		t.items = slices.Insert(t.items, t.firstNote(), item{class: classNote, prose: "Apart from that: " + t.allClear()})
	}
	bottom := t.bottom()
	advice := t.advice()
	room := maxLines - len(top) - len(bottom) - len(advice)
	lines := append(top, t.fit(room)...)
	lines = append(lines, advice...)
	lines = append(lines, bottom...)
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

func (t *Triage) firstNote() int {
	i := slices.IndexFunc(t.items, func(it item) bool { return it.class == classNote })
	if i < 0 {
		return len(t.items)
	}
	return i
}

// allClear says what was not found, and how far that goes.
func (t *Triage) allClear() string {
	said := "nothing is lost, nothing is damaged"
	if len(t.Scope.Absent) > 0 {
		said = "nothing is lost as far as these inputs tell, nothing is damaged"
	}
	switch {
	case t.Scope.Partitions == 0:
		return "cluster metadata only (" + count(t.Scope.MetadataLogs, "metadata log", "metadata logs") + "): nothing is damaged there; no partition is among these inputs, so nothing can be said about records"
	case t.Scope.Compared == 0:
		said = "nothing is damaged; one replica of each partition is among these inputs, so nothing was compared"
	case t.Scope.Compared < t.Scope.Partitions:
		said += fmt.Sprintf(", and the replicas agree (%s had nothing to compare with)", count(t.Scope.Partitions-t.Scope.Compared, "partition", "partitions"))
	default:
		said += ", and the replicas agree"
	}
	if t.Scope.Behind > 0 {
		said += fmt.Sprintf(" (%s not fetched everything yet, which is normal)", count(t.Scope.Behind, "follower has", "followers have"))
	}
	if n := t.Scope.Losses[commitment.No]; n > 0 {
		said += "; see the note on records that were never committed"
	}
	return said
}

// fit lays out the items in room lines: every group of items gets its headline,
// and what is left of the room goes to their proof, worst first. Nothing is left
// out in silence.
func (t *Triage) fit(room int) []string {
	var all []string
	for i := range t.items {
		all = append(append(all, t.items[i].head()...), t.items[i].body...)
	}
	if len(all) <= room {
		return all
	}
	groups := t.groups()
	heads := make([][]string, len(groups))
	used := 0
	for i, g := range groups {
		heads[i] = g[0].head()
		if len(g) > 1 {
			heads[i] = indented(t.groupHead(g))
		}
		if i > 0 && used+len(heads[i]) >= room {
			rest := 0
			for _, g := range groups[i:] {
				rest += len(g)
			}
			return append(slices.Concat(heads[:i]...), fmt.Sprintf("… and %s: %s", count(rest, "more thing", "more things"), t.moreOf(groups[i][0].class)))
		}
		used += len(heads[i])
	}
	left := room - used
	var lines []string
	for i, g := range groups {
		later := 0 // groups that should get some room as well
		for _, o := range groups[i+1:] {
			if len(o) > 1 || len(o[0].body) > 0 {
				later++
			}
		}
		inner := t.inner(g, left-2*min(later, 2))
		if len(g) > 1 && len(inner) == 0 { // nothing follows its colon
			word, prose := t.groupHead(g)
			head := indented(word, prose+placesOf(g))
			if len(head) > len(heads[i])+max(left, 0) || placesOf(g) == "" {
				head = indented(word, strings.TrimSuffix(prose, ":"))
			}
			left -= len(head) - len(heads[i])
			heads[i] = head
		}
		lines = append(append(lines, heads[i]...), inner...)
		left -= len(inner)
	}
	return lines
}

// inner is what stands below the headline of a group, in at most room lines.
func (t *Triage) inner(g []item, room int) []string {
	more := fmt.Sprintf("%*s… more: %s", bodyIndent, "", t.moreOf(g[0].class))
	if len(g) == 1 {
		switch body := g[0].body; {
		case len(body) <= room:
			return body
		case room < 2:
			return nil // the headline stands alone, and Next says where the rest is
		default:
			return append(slices.Clone(body[:room-1]), more)
		}
	}
	var lines []string
	for i := range g {
		row := indented(fmt.Sprintf("%*s", bodyIndent, ""), cmp.Or(g[i].short, g[i].prose))
		last := i+1 == len(g)
		if len(lines)+len(row) > room || !last && len(lines)+len(row) == room {
			if room < 1 {
				return nil
			}
			return append(lines, fmt.Sprintf("%*s… and %s: %s", bodyIndent, "", comma(len(g)-i)+" more", t.moreOf(g[0].class)))
		}
		lines = append(lines, row...)
	}
	return lines
}

func (t *Triage) moreOf(c class) string {
	if verb := more[c]; verb != "" {
		return t.Paths.Again(verb)
	}
	return t.Paths.Again("", "--json")
}

// groups splits the items into runs of one class and group.
func (t *Triage) groups() [][]item {
	var out [][]item
	index := map[string]int{}
	for _, it := range t.items {
		key := fmt.Sprint(it.class, it.group)
		i, ok := index[key]
		if !ok {
			i = len(out)
			index[key] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], it)
	}
	return out
}

// groupHead sums up several items on one line.
func (t *Triage) groupHead(g []item) (word, prose string) {
	first, n := g[0], len(g)
	var s sum
	for _, it := range g {
		s.add(it.sum)
	}
	switch first.class {
	case classLost:
		prose = s.number("committed ") + " in " + count(n, "partition", "partitions") + ":"
	case classMaybeLost:
		prose = s.number("") + " that may have been committed, in " + count(n, "partition", "partitions") + ":"
	case classLosesAnyway:
		prose = count(n, "partition has", "partitions have") + " no known leader; whoever is elected, records are lost:"
	case classDiffer:
		prose = count(n, "partition has", "partitions have") + " replicas that are not the same:"
	case classNotRead:
		prose = count(n, "path", "paths") + " could not be read:"
	case classCannotTell:
		prose = "whether anything of " + count(n, "partition", "partitions") + " is lost:"
	case classNoLeader:
		prose = count(n, "partition has", "partitions have") + " no known leader; nothing is lost yet, and who is elected decides:"
	case classNote:
		prose = count(n, "note", "notes") + " of one kind:"
	default:
		prose = fmt.Sprintf("%s (%s):", count(n, "finding", "findings"), first.group)
	}
	return fmt.Sprintf("%-6s ", first.word), prose
}

// placesOf names what findings of one code are about: partitions, or the brokers themselves.
func placesOf(g []item) string {
	const most = 3
	var where []string
	for i := range g {
		if w := g[i].where; w != "" && !slices.Contains(where, w) {
			where = append(where, w)
		}
	}
	switch n := len(where) - most; {
	case len(where) == 0:
		return ""
	case n > 0:
		return " " + strings.Join(where[:most], ", ") + " and " + comma(n) + " more"
	}
	return " " + list(where)
}

// advice gathers what must be done before anything is started.
func (t *Triage) advice() []string {
	var stop keep
	var all []string
	for i := range t.items {
		stop.merge(&t.items[i].stop)
		for _, a := range t.items[i].save {
			if !slices.Contains(all, a) {
				all = append(all, a)
			}
		}
	}
	const most = 2
	if len(all) > most {
		rest := len(all) - most + 1
		all = append(all[:most-1], fmt.Sprintf("… and save %s before anything is started: %s", count(rest, "more file", "more files"), t.Paths.Again("loss")))
	}
	var out []string
	if line := stop.prose(); line != "" {
		out = indented("", line)
	}
	for _, a := range all {
		out = append(out, indented("", a)...)
	}
	return out
}

// bottom is what holds for all of it: limits, scope, the next command.
func (t *Triage) bottom() []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, indented("", fmt.Sprintf(format, args...))...) }
	if t.elsewhere > 0 {
		say("One broker's data alone: %s led by brokers that are not among these inputs, so losses there cannot be told.", count(t.elsewhere, "partition is", "partitions are"))
	}
	if t.leaderless > 0 {
		one, many := "partition has", "partitions have"
		if slices.ContainsFunc(t.items, func(it item) bool { return it.class == classNoLeader || it.class == classLosesAnyway }) {
			one, many = "other partition has", "other partitions have"
		}
		say("%s no leader, as after a clean stop; whoever is elected, nothing is lost there.", count(t.leaderless, one, many))
	}
	if t.removed > 0 {
		say("%s to a topic that was deleted: nothing there is a loss.", count(t.removed, "partition belongs", "partitions belong"))
	}
	if t.retried > 0 {
		say("%s at another offset again, written by an idempotent retry: no loss.", count(t.retried, "record stands", "records stand"))
	}
	if n := len(t.noteOrder); n > 0 {
		first := t.notes[t.noteOrder[0]]
		line := Escape(first.summaries[0])
		switch len(first.summaries) {
		case 1:
		case 2:
			line += "; " + Escape(first.summaries[1])
		default:
			line += "; and others"
		}
		if first.n > 1 {
			line = fmt.Sprintf("%s × %s (%s)", comma(first.n), t.noteOrder[0], line)
		}
		if n > 1 {
			line += fmt.Sprintf(", and %s", count(n-1, "other kind of note", "other kinds of notes"))
		}
		say("Harmless: %s; all are in --json.", line)
	}
	out = append(out, limits(t.Scope)...)
	checked := t.Scope.seen()
	if t.Scope.Batches > 0 && !slices.ContainsFunc(t.items, func(it item) bool { return it.class < classWarning }) {
		checked += "; records inside batches were not decoded (kafsck check --level records)"
	}
	out = append(out, indented("", checked)...)
	if len(t.items) == 0 && t.Scope.Partitions == 0 {
		return append(out, "Next: "+t.Paths.Again("history"))
	}
	plan := t.plan.lines(t.Paths)
	worse := slices.ContainsFunc(t.items, func(it item) bool { return it.class < classDamaged && !it.mended })
	if len(plan) > 0 && !worse {
		return append(out, plan...)
	}
	for _, it := range t.items {
		next := it.next
		if verb := more[it.class]; next == "" && verb != "" {
			next = t.Paths.Again(verb)
		}
		if next != "" {
			out = append(out, "Next: "+next)
			if len(plan) > 0 { // the worst is no damage, and there is some
				out = append(out, strings.Replace(plan[0], "Next: ", "Then: ", 1))
			}
			break
		}
	}
	return out
}

// limits says how far the answer goes.
func limits(s *Scope) []string {
	var out []string
	if s.WithoutMetadata > 0 {
		line := "Without cluster metadata (__cluster_metadata-0) a loss that left no copy cannot be seen"
		if s.Guessed > 0 {
			line += ", and leaders are guesses"
		}
		out = append(out, indented("", line+".")...)
	}
	if len(s.Absent) > 0 {
		ids := slices.Sorted(maps.Keys(s.Absent))
		out = append(out, indented("", "By the metadata there are replicas on "+idList(ids)+" too, which are not among these inputs.")...)
	}
	return out
}
