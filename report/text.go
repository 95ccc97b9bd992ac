package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"kafsck/incident"
)

// width is where prose is wrapped, whatever the terminal, so that the same
// inputs give the same text everywhere.
const width = 110

// comma prints a number with thousands separators.
func comma[N int | int32 | int64](n N) string { return humanize.Comma(int64(n)) }

// count prints a number with its noun.
func count[N int | int32 | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return comma(n) + " " + many
}

// span prints the half-open range [from, to) inclusively: "100–199". Offsets
// have no thousands separators: they are pasted into other tools.
func span(from, to int64) string {
	if to <= from+1 {
		return fmt.Sprint(from)
	}
	return fmt.Sprintf("%d–%d", from, to-1)
}

// offsets is span with its noun.
func offsets(from, to int64) string {
	if to == from+1 {
		return fmt.Sprint("offset ", from)
	}
	return "offsets " + span(from, to)
}

// list joins words as a sentence does: "1, 2 and 3".
func list(words []string) string {
	switch n := len(words); n {
	case 0:
		return ""
	case 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
}

// brokers names brokers with their noun: "brokers 1 and 3".
func brokers(refs []incident.BrokerRef) string {
	var names []string
	tier := ""
	for _, b := range refs {
		if b.IsRemoteTier() {
			tier = "the remote tier"
		} else if name := Escape(b.Name); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	words := "brokers " + list(names)
	switch {
	case len(names) == 0 && tier != "":
		return tier
	case len(names) == 1:
		words = "broker " + names[0]
	}
	if tier != "" {
		words += " and " + tier
	}
	return words
}

// epochs prints leader epochs with their noun.
func epochs(es []int32) string {
	if len(es) == 0 {
		return "no leader epoch"
	}
	words := make([]string, len(es))
	for i, e := range es {
		words[i] = fmt.Sprint(e)
	}
	if len(words) == 1 {
		return "epoch " + words[0]
	}
	if len(words) > 6 {
		words = append(words[:5], fmt.Sprintf("%d more", len(words)-5))
	}
	return "epochs " + list(words)
}

const (
	dayFormat    = "2006-01-02"
	secondFormat = "15:04:05"
)

// clock prints a timestamp in UTC.
func clock(ms int64) string {
	return time.UnixMilli(ms).UTC().Format(dayFormat+" "+secondFormat) + "Z"
}

// clocks prints a range of time, inclusive at both ends.
func clocks(from, to int64) string {
	a, b := time.UnixMilli(from).UTC(), time.UnixMilli(to).UTC()
	switch {
	case from < 0 || to < 0:
		return ""
	case a.Unix() == b.Unix():
		return clock(from)
	case a.Format(dayFormat) == b.Format(dayFormat):
		return a.Format(dayFormat+" "+secondFormat) + "–" + b.Format(secondFormat) + "Z"
	}
	return clock(from) + " – " + clock(to)
}

// indented wraps prose: the first line begins with first, the others with as
// many spaces as first is wide. A word is never cut.
func indented(first, prose string) []string {
	indent := strings.Repeat(" ", min(utf8.RuneCountInString(first), width/2))
	var out []string
	line, empty := first, true
	for _, word := range strings.Fields(prose) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			out = append(out, line)
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	return append(out, strings.TrimRight(line, " "))
}

// labelled is a row of a block of proof: a label in a column of its own.
func labelled(indent int, label, prose string) []string {
	return indented(strings.Repeat(" ", indent)+fmt.Sprintf("%-*s ", labelWidth-1, label), prose)
}

const labelWidth = 14

// table aligns cells in columns two spaces apart; a column whose header starts
// with '>' is aligned right.
type table struct {
	header []string
	rows   [][]string
	notes  map[int][]string // lines below a row
	// wrap: the last column is prose, which is wrapped where the line would get too wide.
	wrap bool
}

func (t *table) add(cells ...string) {
	for i := range cells[:max(len(cells)-1, 0)] {
		cells[i] = clipped(cells[i], maxCell)
	}
	t.rows = append(t.rows, cells)
}

// maxCell is how wide a cell gets that others stand behind: foreign names can be 32 KiB
// long, and --json has them whole.
const maxCell = 120

// clipped cuts text to n characters, and shows that it did.
func clipped(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// note puts a line below the last row.
func (t *table) note(line string) {
	if t.notes == nil {
		t.notes = map[int][]string{}
	}
	t.notes[len(t.rows)-1] = append(t.notes[len(t.rows)-1], line)
}

func (t *table) lines(indent string) []string {
	widths := make([]int, len(t.header))
	right := make([]bool, len(t.header))
	names := make([]string, len(t.header))
	for i, h := range t.header {
		names[i], right[i] = strings.CutPrefix(h, ">")
		widths[i] = utf8.RuneCountInString(names[i])
		for _, r := range t.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(r[i]))
		}
	}
	line := func(cells []string) string {
		var b strings.Builder
		b.WriteString(indent)
		for i, c := range cells {
			if i > 0 {
				b.WriteString("  ")
			}
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			if right[i] {
				b.WriteString(pad + c)
			} else {
				b.WriteString(c + pad)
			}
		}
		return strings.TrimRight(b.String(), " ")
	}
	var out []string
	if slices.ContainsFunc(names, func(n string) bool { return n != "" }) {
		out = append(out, line(names))
	}
	wrapped := func(cells []string) []string {
		last := len(cells) - 1
		if whole := line(cells); !t.wrap || utf8.RuneCountInString(whole) <= width || strings.TrimSpace(cells[last]) == "" {
			return []string{whole}
		}
		cells = slices.Clone(cells)
		prose := cells[last]
		cells[last] = "|" // holds the place
		first := strings.TrimSuffix(line(cells), "|")
		if utf8.RuneCountInString(first) > width/2+10 {
			return append([]string{strings.TrimRight(first, " ")}, indented(indent+strings.Repeat(" ", 8), prose)...)
		}
		return indented(first, prose)
	}
	for i, r := range t.rows {
		out = append(out, wrapped(r)...)
		for _, n := range t.notes[i] {
			out = append(out, indent+"  "+n)
		}
	}
	return out
}

// Paths turns what is shown into what a user can type.
type Paths struct {
	// Typed gives the path of a shown one as the user would type it.
	Typed func(shown string) string
	// Again gives the command line of another verb over the same inputs; extra words
	// stand before the PATHs.
	Again func(verb string, extra ...string) string
	// Ambiguous names partitions that exist under several topic ids or clusters.
	Ambiguous map[string]bool
	// ServerLogs: the brokers' text logs were given.
	ServerLogs bool
	// Mixed says which brokers are of which cluster, "" where all are of one.
	Mixed string
}

// label names a partition, with its topic id where the name alone could mean
// another.
func (p *Paths) label(x *incident.Partition) string {
	name := Escape(x.Name)
	if p.Ambiguous[x.Name] {
		if p.Mixed != "" && x.Cluster.ID != "" {
			return name + " (cluster " + Escape(x.Cluster.ID) + ")"
		}
		name += " (" + cmp.Or(prefixed("topic id ", x.TopicID), prefixed("cluster ", Escape(x.Cluster.ID)), "topic id unknown") + ")"
	}
	return name
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}
