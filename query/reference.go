package query

import (
	"fmt"
	"slices"
	"strings"
)

// Reference is the table of all names of dump's lines, in Markdown, for docs/where.md. A name that
// is described differently in different kinds of lines has several rows.
func Reference() string {
	type row struct {
		name, typ, doc string
		kinds          []string
	}
	var rows []*row
	for _, k := range DumpKinds {
		for _, f := range k.Fields {
			doc := f.Doc
			if f.As != "" && !strings.Contains(doc, f.As) {
				doc = strings.TrimPrefix(fmt.Sprintf("%s (in JSON: %s)", doc, f.As), " ")
			}
			if f.Maybe && !strings.Contains(doc, "nil") {
				doc = strings.TrimPrefix(doc+"; nil: none", "; ")
			}
			i := slices.IndexFunc(rows, func(r *row) bool { return r.name == f.Name && r.doc == doc })
			if i < 0 {
				i = len(rows)
				rows = append(rows, &row{name: f.Name, typ: f.Type.String(), doc: doc})
			}
			rows[i].kinds = append(rows[i].kinds, k.Name)
		}
	}
	slices.SortStableFunc(rows, func(a, b *row) int { return strings.Compare(strings.ToLower(a.name), strings.ToLower(b.name)) })
	var b strings.Builder
	b.WriteString("| name | is | of | |\n|---|---|---|---|\n")
	for _, r := range rows {
		kinds := strings.Join(r.kinds, ", ")
		if len(r.kinds) == len(DumpKinds) {
			kinds = "all"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.name, strings.TrimPrefix(r.typ, "a "), kinds, r.doc)
	}
	b.WriteString("\n| function | |\n|---|---|\n")
	for _, f := range slices.Sorted(functionTexts) {
		call, what, _ := strings.Cut(f, ": ")
		fmt.Fprintf(&b, "| `%s` | %s |\n", call, what)
	}
	return b.String()
}

func functionTexts(yield func(string) bool) {
	for _, text := range functions {
		if !yield(text) {
			return
		}
	}
}

// Names are those of a kind, in the order of its fields.
func (k *Kind) Names() []string {
	out := make([]string, len(k.Fields))
	for i, f := range k.Fields {
		out[i] = f.Name
	}
	return out
}
