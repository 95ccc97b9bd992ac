package query

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/checker"
	"github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/optimizer"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/types"
)

// Bounds of an expression. What is allowed in it is decided at each operator once and has no
// loops, so that they bound the time for a line, too.
const (
	MaxText  = 4096 // bytes
	maxNodes = 500
)

// Compile checks an expression against the names of kinds. An error is an *Error.
func Compile(expression string, kinds []*Kind) (c *Condition, err error) {
	defer func() {
		if r := recover(); r != nil { // expr's own: an expression must never take the program down
			c, err = nil, &Error{Text: expression, To: len(expression), Message: fmt.Sprintf("this expression cannot be compiled: %v", r)}
		}
	}()
	if strings.TrimSpace(expression) == "" {
		return nil, &Error{Text: expression, To: len(expression), Message: "the expression is empty"}
	}
	if len(expression) > MaxText {
		return nil, &Error{Text: expression[:MaxText], From: MaxText, To: MaxText, Message: fmt.Sprintf("an expression has at most %d bytes", MaxText)}
	}
	if !utf8.ValidString(expression) {
		expression = strings.ToValidUTF8(expression, "�")
	}
	config := conf.CreateNew()
	for name := range config.Builtins { // so that each function comes as a call, ours or not
		config.Disabled[name] = true
	}
	config.MaxNodes = maxNodes
	tree, err := parser.ParseWithConfig(expression, config)
	if err != nil {
		return nil, parseError(expression, err)
	}
	w := rewriter{text: expression, kinds: kinds}
	top, err := w.condition(tree.Node)
	if err != nil {
		return nil, err
	}
	tree.Node = top
	c = &Condition{text: expression, slots: w.slots, asked: map[*Kind]bool{}, lacks: map[*Kind]string{}, batch: true}
	if err := w.askedOf(c); err != nil {
		return nil, err
	}
	env := types.Map{}
	for i := range w.slots {
		s := &w.slots[i]
		switch s.as {
		case Bool:
			env[s.name] = types.Bool
		case Text:
			env[s.name] = types.String
		default:
			env[s.name] = types.Int
		}
		if s.has != "" {
			env[s.has] = types.Bool
		}
	}
	config = conf.New(env)
	config.Expect = reflect.Bool
	if _, err := checker.Check(tree, config); err != nil {
		return nil, w.of(err)
	}
	if err := optimizer.Optimize(&tree.Node, config); err != nil {
		return nil, w.of(err)
	}
	if c.program, err = compiler.Compile(tree, config); err != nil {
		return nil, w.of(err)
	}
	return c, nil
}

// askedOf finds the kinds of lines that have all the names.
func (w *rewriter) askedOf(c *Condition) error {
	for _, k := range w.kinds {
		for _, u := range w.used {
			if k.field(u.name) == nil {
				c.lacks[k] = u.name
				break
			}
		}
		if c.lacks[k] == "" {
			c.asked[k] = true
		}
	}
	for _, u := range w.used {
		f := Record.field(u.name)
		c.batch = c.batch && f != nil && perBatch[u.name]
	}
	if len(c.asked) > 0 {
		return nil
	}
	// The shortest front part of the names that no kind has together.
	for n := range w.used {
		if !slices.ContainsFunc(w.kinds, func(k *Kind) bool {
			return !slices.ContainsFunc(w.used[:n+1], func(u use) bool { return k.field(u.name) == nil })
		}) {
			return w.fail(w.used[n].node, "no kind of line has %s together with %s", w.used[n].name, strings.Join(names(w.used[:n]), ", "))
		}
	}
	return &Error{Text: w.text, To: len(w.text), Message: "there is nothing to ask"}
}

func names(list []use) []string {
	out := make([]string, len(list))
	for i, u := range list {
		out[i] = u.name
	}
	return out
}

// perBatch are the names of a record that are the same for all of its batch.
var perBatch = func() map[string]bool {
	own := map[string]bool{"time": true}
	for _, f := range slices.Concat(recordFields, recordTime) {
		own[f.Name] = true
	}
	m := map[string]bool{}
	for _, f := range Record.Fields {
		m[f.Name] = !own[f.Name]
	}
	return m
}()

// Error is why an expression cannot be used, and where.
type Error struct {
	Text     string // the expression
	From, To int    // bytes in Text that it is about; equal at its end
	Message  string
	Names    []string // that exist, the nearest first; nil where the name is not the trouble
}

func (e *Error) Error() string {
	return fmt.Sprintf("column %d: %s", utf8.RuneCountInString(e.Text[:e.From])+1, e.Message)
}

// Pointer is the expression and, on a second line, carets under what the error is about. show makes
// foreign text safe to be shown.
func (e *Error) Pointer(show func(string) string) (expression, carets string) {
	before, at, after := e.Text[:e.From], e.Text[e.From:e.To], e.Text[e.To:]
	const room = 60
	if n := utf8.RuneCountInString(before); n > room { // the end of what stands before it
		before = "…" + string([]rune(before)[n-room:])
	}
	if n := utf8.RuneCountInString(at); n > room {
		at, after = string([]rune(at)[:room]), "…"
	}
	if n := utf8.RuneCountInString(after); n > room {
		after = string([]rune(after)[:room]) + "…"
	}
	before, at, after = show(before), show(at), show(after)
	return before + at + after, strings.Repeat(" ", utf8.RuneCountInString(before)) + strings.Repeat("^", max(utf8.RuneCountInString(at), 1))
}

// fail is an error about a node.
func (w *rewriter) fail(n ast.Node, format string, args ...any) *Error {
	return located(w.text, n.Location(), fmt.Sprintf(format, args...))
}

// of is what expr says of a tree of ours.
func (w *rewriter) of(err error) error { return parseError(w.text, err) }

func located(text string, l file.Location, message string) *Error {
	e := &Error{Text: text, Message: message}
	e.From, e.To = byteAt(text, l.From), byteAt(text, max(l.To, l.From+1))
	return e
}

// byteAt is where the n-th character begins.
func byteAt(text string, n int) int {
	for i := range text {
		if n <= 0 {
			return i
		}
		n--
	}
	return len(text)
}

func parseError(text string, err error) *Error {
	var at *file.Error
	if !errors.As(err, &at) {
		return &Error{Text: text, To: len(text), Message: err.Error()}
	}
	e := located(text, at.Location, at.Message)
	switch {
	case strings.HasPrefix(at.Message, "compilation failed: expression exceeds maximum allowed nodes"):
		e.From, e.To = 0, len(text)
		e.Message = fmt.Sprintf("the expression is too long: at most %d names, values and operators", maxNodes)
	case strings.Contains(at.Message, "unexpected end of expression") || strings.HasPrefix(at.Message, "unexpected token EOF"):
		e.From, e.To = len(text), len(text)
		e.Message = "the expression ends too early"
	case strings.HasPrefix(at.Message, "invalid ") && strings.Contains(at.Message, " literal: "):
		e.badNumber()
	case strings.HasPrefix(at.Message, `unexpected token Operator("=")`):
		e.Message = "= is not known here; == compares"
	case strings.HasPrefix(at.Message, "unexpected token "):
		e.Message = fmt.Sprintf("unexpected %s", strings.TrimPrefix(text[e.From:e.To], " "))
	}
	return e
}

// badNumber says what is wrong with a number that expr cannot read. Its place is behind it there, and
// its words are those of Go's strconv.
func (e *Error) badNumber() {
	_, rest, _ := strings.Cut(e.Message, `parsing "`)
	number, why, ok := strings.Cut(rest, `": `)
	if !ok {
		e.Message = "this is no number"
		return
	}
	if at := strings.LastIndex(e.Text[:e.To], number); at >= 0 { // not with _ between the digits
		e.From, e.To = at, at+len(number)
	}
	switch {
	case why != "value out of range":
		e.Message = number + " is no number"
	case strings.Contains(e.Message, " float "):
		e.Message = number + " is too large"
	default:
		e.Message = fmt.Sprintf("%s is too large: the largest whole number is %d, that of an offset, too", number, int64(math.MaxInt64))
	}
}
