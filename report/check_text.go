package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"kafsck/finding"
	"kafsck/incident"
	"kafsck/logdir"
)

// Level is how deep a check looks.
type Level string

// The levels, each with all of those before it.
const (
	LevelFiles   Level = "files"
	LevelBatches Level = "batches"
	LevelRecords Level = "records"
)

// Check gathers findings for text: all of one code and severity are one group, so
// that the same harmless fact on a hundred partitions is one line.
type Check struct {
	Paths *Paths
	Scope *Scope
	Level Level

	groups []*checkGroup
	index  map[checkKey]*checkGroup
	plan   planHint
	errors []logdir.PathError
	notes  []string
	counts [finding.Loss + 1]int // findings by severity
}

type checkKey struct {
	severity finding.Severity
	code     finding.Code
}

type checkGroup struct {
	key   checkKey
	n     int // findings
	shown []checkItem
}

// checkItem is one finding with the label of its partition.
type checkItem struct {
	label string
	f     finding.Finding
}

// shownOf is how many findings of a group are shown with their proof: more of the
// same helps nobody on a terminal, and --json has all.
func shownOf(s finding.Severity) int {
	if s == finding.Note {
		return 3
	}
	return 5
}

// Notes takes in what is to be said of the inputs themselves.
func (t *Check) Notes(notes []logdir.Note) {
	for _, n := range notes {
		t.notes = append(t.notes, Escape(n.Text))
	}
}

// Errors takes in what could not be read.
func (t *Check) Errors(list []logdir.PathError) { t.errors = append(t.errors, list...) }

// Add takes in one partition. Nothing of it is kept but findings.
func (t *Check) Add(p *incident.Partition) {
	t.Errors(p.Errors)
	t.Findings(t.Paths.label(p), p.Findings)
}

// Findings takes in findings of one partition, or with an empty label such as name
// theirs themselves.
func (t *Check) Findings(label string, list []finding.Finding) {
	for i := range list {
		f := list[i]
		key := checkKey{f.Severity, f.Code}
		g := t.index[key]
		if g == nil {
			if t.index == nil {
				t.index = map[checkKey]*checkGroup{}
			}
			g = &checkGroup{key: key}
			t.index[key] = g
			t.groups = append(t.groups, g)
		}
		g.n++
		t.plan.add(&f)
		t.counts[f.Severity]++
		if len(g.shown) < shownOf(f.Severity) {
			g.shown = append(g.shown, checkItem{cmp.Or(label, Escape(f.At.Partition)), f})
		}
	}
}

// Print writes verdict, findings, scope and what to ask next.
func (t *Check) Print(w io.Writer) error {
	slices.SortStableFunc(t.groups, func(a, b *checkGroup) int {
		return cmp.Or(cmp.Compare(b.key.severity, a.key.severity), strings.Compare(string(a.key.code), string(b.key.code)))
	})
	lines := t.verdict()
	for _, e := range t.errors {
		lines = append(lines, indented("NOT READ ", Escape(e.Path)+": "+Escape(e.Err.Error()))...)
	}
	for _, g := range t.groups {
		if g.key.severity == finding.Note {
			lines = append(lines, g.note()...)
			continue
		}
		lines = append(lines, "")
		lines = append(lines, t.group(g)...)
	}
	for _, n := range t.notes {
		lines = append(lines, indented("note     ", n)...)
	}
	lines = append(lines, "")
	lines = append(lines, t.bottom()...)
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

// verdict counts what was found, worst first.
func (t *Check) verdict() []string {
	var words []string
	n := 0
	for s := finding.Loss; s >= finding.Warning; s-- {
		if c := t.counts[s]; c > 0 {
			n += c
			words = append(words, fmt.Sprintf("%s %s", comma(c), severityNoun(s, c)))
		}
	}
	notes := t.counts[finding.Note]
	switch {
	case n > 0:
		line := fmt.Sprintf("%s: %s", count(n, "finding", "findings"), strings.Join(words, ", "))
		if notes > 0 {
			line += ", and " + count(notes, "note", "notes")
		}
		return indented("", line)
	case len(t.errors) > 0:
		return indented("", "nothing was found in what could be read")
	case t.has("records-not-decoded"):
		return indented("", "nothing was found in what could be decoded")
	}
	line := "nothing is damaged"
	if t.Level == LevelFiles {
		line = "names, sizes and small files are as they should be"
	}
	if notes > 0 {
		line += fmt.Sprintf("; %s on what is normal or harmless", count(notes, "note", "notes"))
	}
	return indented("OK       ", line)
}

func severityNoun(s finding.Severity, n int) string {
	if s == finding.Warning && n != 1 {
		return "warnings"
	}
	return s.String()
}

var severityWords = [...]string{"note", "WARNING", "DAMAGE", "LOSS"}

const checkIndent = 9

// group shows the findings of one code: what is the same for all of them once.
func (t *Check) group(g *checkGroup) []string {
	pad := strings.Repeat(" ", checkIndent)
	head := string(g.key.code)
	if g.n > 1 {
		head += fmt.Sprintf(", %s findings", comma(g.n))
	}
	lines := []string{fmt.Sprintf("%-*s%s", checkIndent, severityWords[g.key.severity], head)}
	kafka, next := "", ""
	for i := range g.shown {
		it := &g.shown[i]
		lines = append(lines, indented(pad, it.where()+Escape(it.summary()))...)
		lines = append(lines, it.proof(i > 0, t.Paths.Again("check", "--json"))...)
		if k := kafkaDoes(&it.f); k != kafka {
			kafka = k
			if i > 0 || g.differ() {
				lines = append(lines, checkRow(checkIndent+2, "Kafka", k)...)
			}
		}
		if it.f.Next != next {
			next = it.f.Next
			if !g.sameAdvice() {
				lines = append(lines, checkRow(checkIndent+2, "do", next)...)
			}
		}
	}
	if rest := g.n - len(g.shown); rest > 0 {
		lines = append(lines, fmt.Sprintf("%s… and %s: %s", pad, comma(rest)+" more", t.Paths.Again("check", "--json")))
	}
	if !g.differ() {
		lines = append(lines, checkRow(checkIndent, "Kafka", kafka)...)
	}
	if g.sameAdvice() {
		lines = append(lines, checkRow(checkIndent, "do", next)...)
	}
	return lines
}

// checkRow is a row with a label in a column of its own.
func checkRow(indent int, label, prose string) []string {
	return indented(fmt.Sprintf("%*s%-6s ", indent, "", label), Escape(prose))
}

// differ reports whether Kafka does different things about the findings shown.
func (g *checkGroup) differ() bool {
	return slices.ContainsFunc(g.shown, func(x checkItem) bool { return kafkaDoes(&x.f) != kafkaDoes(&g.shown[0].f) })
}

// sameAdvice reports whether the same is to be done about all findings shown.
func (g *checkGroup) sameAdvice() bool {
	return !slices.ContainsFunc(g.shown, func(x checkItem) bool { return x.f.Next != g.shown[0].f.Next })
}

// where says what a finding is about, with a colon.
func (it *checkItem) where() string {
	broker := ""
	if it.f.At.Broker != "" {
		broker = "broker " + Escape(it.f.At.Broker)
	}
	switch {
	case it.label == "" && broker == "":
		return ""
	case it.label == "":
		return broker + ": "
	case broker == "":
		return it.label + ": "
	}
	return it.label + " on " + broker + ": "
}

func (it *checkItem) summary() string {
	return strings.TrimPrefix(it.f.Summary, it.f.At.Partition+": ")
}

// proof is the place and the evidence, which mostly names the place itself; short shows fewer places.
// more is the command that shows all.
func (it *checkItem) proof(short bool, more string) []string {
	pad := strings.Repeat(" ", checkIndent+2)
	f := &it.f
	var lines []string
	named := f.At.File == "" || slices.ContainsFunc(f.Evidence, func(e finding.Evidence) bool { return strings.Contains(e.Claim, f.At.File) })
	if !named {
		place := Escape(f.At.File)
		if f.At.Position >= 0 {
			place += fmt.Sprintf(" position %d", f.At.Position)
		}
		if f.At.From >= 0 && f.At.To > f.At.From {
			place += ", " + offsets(f.At.From, f.At.To)
		}
		lines = append(lines, indented(pad, place)...)
	}
	// The places first, as many as fit, then what is said of all of them.
	places, said := split(f)
	most := len(places)
	switch {
	case short && f.Count <= 1:
		most = 1
	case short:
		most = maxPlacesMore
	case f.Count > maxPlacesShown:
		most = maxPlacesShown
	}
	most = min(most, len(places))
	for i := range places[:most] {
		lines = append(lines, indented(pad, claimed(&places[i]))...)
	}
	switch {
	case f.Count > most && len(places) > most:
		line := "… and " + comma(f.Count-most) + " more: " + more
		if known := max(len(places), len(f.Places)); f.Count > known {
			line += fmt.Sprintf(" names %d of the %s", known, comma(f.Count))
		}
		lines = append(lines, pad+line)
	case f.Count > most && most > 1:
		lines = append(lines, pad+"… "+comma(f.Count)+" in all")
	}
	for i := range said {
		lines = append(lines, indented(pad, claimed(&said[i]))...)
	}
	return lines
}

const (
	maxPlacesShown = 4 // places of the first finding of a group
	maxPlacesMore  = 2 // of each further one
)

// split parts the evidence of a finding into its places, which are of one file each, and what is
// said beside them.
func split(f *finding.Finding) (places, said []finding.Evidence) {
	for _, e := range f.Evidence {
		if len(f.Ranges) > 0 && (strings.HasPrefix(e.Claim, "offset ") || strings.HasPrefix(e.Claim, "offsets ")) {
			said = append(said, e)
		} else {
			places = append(places, e)
		}
	}
	return places, said
}

// claimed is a piece of evidence as a sentence.
func claimed(e *finding.Evidence) string {
	s := Escape(e.Claim)
	switch {
	case e.Want != "" && e.Got != "":
		s += ": expected " + Escape(e.Want) + ", found " + Escape(e.Got)
	case e.Got != "":
		s += ": " + clip(Escape(e.Got))
	case e.Want != "":
		s += ": expected " + Escape(e.Want)
	}
	return s
}

// clip shortens what may be long. Of a damaged line the beginning is enough to find it; what was
// made for a reader fits.
func clip(s string) string {
	most := 200
	if !strings.Contains(s, " ") {
		most = 60 // it is not prose, and no line can be broken in it
	}
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// note is the one line, more or less, of a harmless fact.
func (g *checkGroup) note() []string {
	first := &g.shown[0]
	if g.n == 1 {
		return indented(fmt.Sprintf("%-*s", checkIndent, "note"), string(g.key.code)+": "+first.where()+Escape(first.summary())+first.file())
	}
	var where []string
	for i := range g.shown {
		if w := strings.TrimSuffix(g.shown[i].where(), ": "); w != "" && !slices.Contains(where, w) {
			where = append(where, w)
		}
	}
	line := fmt.Sprintf("%s × %s: %s", comma(g.n), g.key.code, strings.Join(where, ", "))
	if g.n > len(g.shown) {
		line += fmt.Sprintf(" and %s more", comma(g.n-len(g.shown)))
	}
	return indented(fmt.Sprintf("%-*s", checkIndent, "note"), line)
}

// file names the file that a note is about, and how many more there are.
func (x *checkItem) file() string {
	switch {
	case x.f.At.File == "":
		return ""
	case x.f.Count > 1:
		return fmt.Sprintf(" (%s and %d more)", Escape(x.f.At.File), x.f.Count-1)
	}
	return " (" + Escape(x.f.At.File) + ")"
}

// bottom says how far the answer goes, and how to ask on.
func (t *Check) bottom() []string {
	var out []string
	if len(t.groups) > 0 {
		out = append(out, fmt.Sprintf("kafsck explain %s tells more of a code.", t.groups[0].key.code))
	}
	next := t.plan.lines(t.Paths)
	if t.Level != LevelFiles && t.Scope.Guessed > 0 && t.Scope.Compared > 0 {
		out = append(out, limits(t.Scope)...)
	}
	said := t.Scope.checked() + "; records inside batches were not decoded (--level records)"
	switch t.Level {
	case LevelFiles:
		said = fmt.Sprintf("Checked: %s, %s, %s, %s: names, sizes and small files only; no record was read, %s of .log files are not verified (--level batches)",
			count(t.Scope.Brokers, "broker", "brokers"), count(t.Scope.Partitions, "partition", "partitions"), count(t.Scope.Replicas, "replica", "replicas"),
			count(t.Scope.Segments, "segment", "segments"), count(t.Scope.Bytes, "byte", "bytes"))
	case LevelRecords:
		said = t.Scope.checked() + "; every record decoded"
		if t.undecoded() {
			said += " except those of batches named above"
		}
	}
	return append(append(out, indented("", said)...), next...)
}

// has reports whether there is a finding of a code.
func (t *Check) has(code finding.Code) bool {
	return slices.ContainsFunc(t.groups, func(g *checkGroup) bool { return g.key.code == code })
}

// undecoded says whether a finding names batches whose records were not read: their
// CRC is wrong, what is inside is damaged, or they decompress to too much.
func (t *Check) undecoded() bool {
	return slices.ContainsFunc(t.groups, func(g *checkGroup) bool {
		switch g.key.code {
		case "batch-crc-mismatch", "leader-batch-bad-followers-stuck", "batch-magic-unknown", "batch-codec-unknown",
			"inner-record-invalid", "lz4-header-checksum-wrong", "records-not-decoded":
			return true
		}
		return false
	})
}
