package report

import (
	"fmt"
	"io"
	"strings"

	"kafsck/check"
)

// Explain writes what there is to say about one code.
func Explain(w io.Writer, c check.Code) error {
	lines := []string{string(c.Code), ""}
	row := func(label, prose string) { lines = append(lines, labelled(0, label, prose)...) }
	var names []string
	for _, s := range c.Severities {
		names = append(names, s.String())
	}
	severity := strings.Join(names, " or ")
	if c.When != "" {
		severity += ": " + c.When
	}
	row("severity", severity)
	row("scope", string(c.Scope))
	lines = append(lines, "")
	row("meaning", c.Meaning)
	row("how", c.How)
	row("Kafka", c.Kafka)
	row("do", c.Do)
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

// ListCodes writes all codes with their severities and the first sentence of what
// they mean.
func ListCodes(w io.Writer, codes []check.Code) error {
	t := table{header: []string{"code", "severity", "scope"}}
	for _, c := range codes {
		severity := c.Severities[0].String()
		if n := len(c.Severities); n > 1 {
			severity += " … " + c.Severities[n-1].String()
		}
		t.add(string(c.Code), severity, string(c.Scope))
		t.note(firstSentence(c.Meaning))
	}
	lines := append(t.lines(""), "", fmt.Sprintf("%d codes; kafsck explain CODE tells all of one.", len(codes)))
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

func firstSentence(s string) string {
	if i := strings.Index(s, ". "); i >= 0 {
		return s[:i+1]
	}
	return s
}
