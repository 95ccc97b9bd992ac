package tui

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/dustin/go-humanize"
)

// filter is what is typed after "/", taken apart. All terms must hold:
//
//	word        some cell contains it; without capitals, in any case
//	!word       no cell does
//	"two words" as one; 'a&&b' too
//	col>=10     comparison of a column (== = != < <= > >=) by number, size or text;
//	            && between terms may be written and means nothing more
//
// A column is named by its head without spaces, in any case. Behind "=" stands a condition
// in the language of --where instead.
type filter struct {
	text  string
	terms []filterTerm
	where *whereFilter
}

// empty tells that everything passes.
func (f *filter) empty() bool { return len(f.terms) == 0 && f.where == nil }

// within is where a word of the filter stands in a cell; to is 0 where none does.
func (f *filter) within(cell string) (from, to int) {
	if f == nil {
		return 0, 0
	}
	folded := strings.ToLower(cell)
	for i := range f.terms {
		t := &f.terms[i]
		if t.not || t.column >= 0 || t.text == "" {
			continue
		}
		in := cell
		if t.fold && len(folded) == len(cell) { // else positions differ
			in = folded
		}
		if at := strings.Index(in, t.text); at >= 0 {
			return at, at + len(t.text)
		}
	}
	return 0, 0
}

type filterTerm struct {
	not    bool
	text   string
	fold   bool
	column int    // -1: any
	op     string // with a column
	number float64
	isNum  bool
}

// parseFilter takes a filter apart; columns are those that can be compared, r is rows like those
// that it is for.
func parseFilter(text string, columns []column, r rows) (*filter, error) {
	if isWhere(text) {
		return parseWhere(text, columns, r)
	}
	f := &filter{text: text}
	words, err := splitWords(text)
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(words); i++ {
		w := words[i]
		if w.text == "&&" && !w.quoted {
			continue
		}
		if (w.text == "||") && !w.quoted {
			return nil, fmt.Errorf("|| is not understood here: all terms must hold; behind = it is")
		}
		// "epoch == 7" with spaces is one term.
		if !w.quoted && i+2 < len(words) && isOperator(words[i+1].text) && columnOf(columns, w.text) >= 0 {
			w.text += words[i+1].text + words[i+2].text
			i += 2
		}
		if w.quoted {
			f.terms = append(f.terms, plainTerm(w.text, w.not))
			continue
		}
		if c, op, value, ok := comparison(w.text, columns); ok {
			t := filterTerm{column: c, op: op, text: value, not: w.not, fold: true}
			t.number, t.isNum = numberOf(value)
			f.terms = append(f.terms, t)
			continue
		}
		f.terms = append(f.terms, plainTerm(w.text, w.not))
	}
	return f, nil
}

func plainTerm(text string, not bool) filterTerm {
	return filterTerm{not: not, text: text, column: -1, fold: !strings.ContainsFunc(text, unicode.IsUpper)}
}

type filterWord struct {
	text        string
	not, quoted bool
}

func splitWords(s string) ([]filterWord, error) {
	var out []filterWord
	for {
		s = strings.TrimLeft(s, " ")
		if s == "" {
			return out, nil
		}
		w := filterWord{}
		if s[0] == '!' && len(s) > 1 && s[1] != '=' {
			w.not, s = true, s[1:]
		} else if s == "!" {
			return out, nil // about to be typed
		}
		if s[0] == '"' || s[0] == '\'' {
			end := strings.IndexByte(s[1:], s[0])
			if end < 0 {
				end = len(s) - 1 // about to be typed
			}
			w.text, w.quoted = s[1:1+end], true
			s = s[min(len(s), end+2):]
		} else {
			end := strings.IndexByte(s, ' ')
			if end < 0 {
				end = len(s)
			}
			w.text, s = s[:end], s[end:]
		}
		if w.text != "" {
			out = append(out, w)
		}
	}
}

var operators = []string{"==", "!=", ">=", "<=", "=", "<", ">"}

func isOperator(s string) bool {
	for _, op := range operators {
		if s == op {
			return true
		}
	}
	return false
}

func comparison(word string, columns []column) (col int, op, value string, ok bool) {
	at := strings.IndexAny(word, "=<>!")
	if at <= 0 {
		return 0, "", "", false
	}
	col = columnOf(columns, word[:at])
	if col < 0 {
		return 0, "", "", false
	}
	for _, op := range operators {
		if rest, found := strings.CutPrefix(word[at:], op); found {
			return col, op, strings.Trim(rest, `"'`), true
		}
	}
	return 0, "", "", false
}

func columnOf(columns []column, name string) int {
	plain := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, " ", "")) }
	for i, c := range columns {
		if c.name != "" && plain(c.name) == plain(name) {
			return i
		}
	}
	return -1
}

// numberOf reads a number or a size ("10", "1.5KiB", "1,000").
func numberOf(s string) (float64, bool) {
	if n, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64); err == nil {
		return n, true
	}
	if s != "" && unicode.IsDigit(rune(s[0])) {
		if n, err := humanize.ParseBytes(s); err == nil {
			return float64(n), true
		}
	}
	return 0, false
}

// matches reports whether a row passes.
func (f *filter) matches(r rows, row int, columns []column) bool {
	if f.where != nil {
		return f.where.matches(r, row)
	}
	for i := range f.terms {
		if f.terms[i].matches(r, row, columns) == f.terms[i].not {
			return false
		}
	}
	return true
}

func (t *filterTerm) matches(r rows, row int, columns []column) bool {
	if t.op != "" {
		return t.compares(r, row)
	}
	for c := range columns {
		if columns[c].quiet {
			continue
		}
		cell := escape(r.Cell(row, c))
		if t.fold {
			cell = strings.ToLower(cell)
		}
		if strings.Contains(cell, t.text) {
			return true
		}
	}
	return false
}

func (t *filterTerm) compares(r rows, row int) bool {
	if t.text == "" {
		return true // about to be typed
	}
	cell := r.Cell(row, t.column)
	var order int
	var value any
	if v, ok := r.(valuedRows); ok {
		value = v.Value(row, t.column)
	}
	n, isNum := asNumber(value)
	if !isNum {
		n, isNum = numberOf(cell)
	}
	switch {
	case t.isNum && isNum:
		order = cmp.Compare(n, t.number)
	case t.isNum:
		return t.op == "!=" // no number is not below any number
	default:
		if when, ok := value.(time.Time); ok {
			cell = when.UTC().Format(time.RFC3339)
		}
		order = cmp.Compare(strings.ToLower(cell), strings.ToLower(t.text))
	}
	switch t.op {
	case "==", "=":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	default:
		return order >= 0
	}
}

func asNumber(v any) (float64, bool) {
	switch n := v.(type) {
	case int:
		return float64(n), true
	case int16:
		return float64(n), true
	case int32:
		return float64(n), true
	case int64:
		return float64(n), true
	case uint64:
		return float64(n), true
	case float64:
		return n, true
	case level:
		return float64(n), true
	}
	return 0, false
}
