package query

import (
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/expr-lang/expr/ast"
)

// rewriter turns what expr parsed into a program over slots: names become values of one line,
// times become milliseconds, and a comparison asks first whether its values are there. Anything
// that is not in its switch statements is not part of the language.
type rewriter struct {
	text  string
	kinds []*Kind
	slots []slot
	used  []use
}

// use is a name in the expression.
type use struct {
	name string
	node ast.Node
}

// term is a part of the expression with its type.
type term struct {
	node    ast.Node // of the program; nil of type Open
	source  ast.Node
	typ     Type
	float   bool
	literal bool
	absent  []int // slots that may have no value
	open    slot  // of type Open: what becomes a slot when its type is known
	keyed   bool  // a count of what has keys, such as headers
}

func at2(n, source ast.Node) ast.Node {
	n.SetLocation(source.Location())
	return n
}

// condition rewrites what must be true or false.
func (w *rewriter) condition(n ast.Node) (ast.Node, error) {
	t, err := w.term(n)
	if err != nil {
		return nil, err
	}
	if t.typ == Open {
		t = w.resolve(t, Bool)
	}
	if t.typ != Bool {
		return nil, w.fail(n, "this is %s, not a condition; compare it with something", t.typ)
	}
	return w.present(t.node, t.absent, true), nil
}

// present makes a comparison hold only (or else also) where its values are there.
func (w *rewriter) present(n ast.Node, absent []int, must bool) ast.Node {
	for _, i := range slices.Backward(absent) {
		has := at2(&ast.IdentifierNode{Value: w.has(i)}, n)
		if must {
			n = at2(&ast.BinaryNode{Operator: "&&", Left: has, Right: n}, n)
		} else {
			n = at2(&ast.BinaryNode{Operator: "||", Left: at2(&ast.UnaryNode{Operator: "!", Node: has}, n), Right: n}, n)
		}
	}
	return n
}

func (w *rewriter) has(i int) string {
	s := &w.slots[i]
	s.has = "has" + s.name
	return s.has
}

// slot finds or makes a slot.
func (w *rewriter) slot(s slot) int {
	for i := range w.slots {
		o := &w.slots[i]
		if o.as == s.as && o.key == s.key && o.keyed == s.keyed && o.count == s.count && o.in == s.in && o.among == s.among &&
			slices.Equal(o.path, s.path) && sameFields(o.field, s.field) {
			return i
		}
	}
	s.name = "v" + strconv.Itoa(len(w.slots))
	w.slots = append(w.slots, s)
	return len(w.slots) - 1
}

func sameFields(a, b map[*Kind]*Field) bool {
	for k, f := range a {
		if b[k] != f {
			return false
		}
	}
	return len(a) == len(b)
}

// valueOf is a term for a slot.
func (w *rewriter) valueOf(s slot, maybe bool, source ast.Node) term {
	i := w.slot(s)
	t := term{node: at2(&ast.IdentifierNode{Value: w.slots[i].name}, source), source: source, typ: s.as}
	if maybe {
		t.absent = []int{i}
	}
	return t
}

// resolve gives something open its type.
func (w *rewriter) resolve(t term, as Type) term {
	if t.typ != Open {
		return t
	}
	s := t.open
	s.as = as
	return w.valueOf(s, true, t.source)
}

// term rewrites any part.
func (w *rewriter) term(n ast.Node) (term, error) {
	lit := func(typ Type) (term, error) { return term{node: n, source: n, typ: typ, literal: true}, nil }
	switch n := n.(type) {
	case *ast.NilNode:
		return lit(null)
	case *ast.BoolNode:
		return lit(Bool)
	case *ast.IntegerNode:
		return lit(Number)
	case *ast.FloatNode:
		return term{node: n, source: n, typ: Number, float: true, literal: true}, nil
	case *ast.StringNode:
		return lit(Text)
	case *ast.IdentifierNode:
		return w.name(n)
	case *ast.ChainNode:
		return w.term(n.Node)
	case *ast.MemberNode:
		return w.member(n)
	case *ast.CallNode:
		return w.call(n)
	case *ast.BuiltinNode:
		return term{}, w.noFunction(n, n.Name)
	case *ast.UnaryNode:
		return w.unary(n)
	case *ast.BinaryNode:
		return w.binary(n)
	}
	return term{}, w.fail(n, "this is not part of the language of conditions")
}

// name rewrites a name.
func (w *rewriter) name(n *ast.IdentifierNode) (term, error) {
	s, typ, maybe, err := w.lookup(n, n.Value)
	if err != nil {
		return term{}, err
	}
	if typ == Open {
		return term{source: n, typ: Open, open: s}, nil
	}
	s.as = typ
	t := w.valueOf(s, maybe, n)
	for _, f := range s.field {
		t.keyed = t.keyed || f.keyed != nil
	}
	return t, nil
}

// lookup finds the fields of a name.
func (w *rewriter) lookup(n ast.Node, name string) (s slot, typ Type, maybe bool, err error) {
	s.field = map[*Kind]*Field{}
	for _, k := range w.kinds {
		if f := k.field(name); f != nil {
			s.field[k] = f
			typ = f.Type
			maybe = maybe || f.Maybe
		}
	}
	if typ == 0 {
		e := w.fail(n, "there is no name %s", name)
		e.Names = nearest(name, w.kinds)
		return s, 0, false, e
	}
	if !slices.ContainsFunc(w.used, func(u use) bool { return u.name == name }) {
		w.used = append(w.used, use{name, n})
	}
	return s, typ, maybe, nil
}

// member rewrites decoded.group, headers["name"].
func (w *rewriter) member(n *ast.MemberNode) (term, error) {
	var path []any
	at := ast.Node(n)
	for {
		if c, ok := at.(*ast.ChainNode); ok {
			at = c.Node
			continue
		}
		m, ok := at.(*ast.MemberNode)
		if !ok {
			break
		}
		switch p := m.Property.(type) {
		case *ast.StringNode:
			path = append(path, p.Value)
		case *ast.IntegerNode:
			path = append(path, p.Value)
		default:
			return term{}, w.fail(m.Property, "in brackets stands a text or a number")
		}
		at = m.Node
	}
	slices.Reverse(path)
	root, ok := at.(*ast.IdentifierNode)
	if !ok {
		return term{}, w.fail(at, "this is not part of the language of conditions")
	}
	s, _, _, err := w.lookup(root, root.Value)
	if err != nil {
		return term{}, err
	}
	key, isText := path[0].(string)
	inside := true
	for _, f := range s.field {
		if f.keyed != nil && len(path) == 1 && isText {
			s.key, s.keyed, s.as = key, true, Text
			return w.valueOf(s, true, n), nil
		}
		inside = inside && f.inside != nil
	}
	if !inside {
		return term{}, w.fail(n, "%s has nothing in it to name", root.Value)
	}
	s.path = path
	return term{source: n, typ: Open, open: s}, nil
}

// functions are all that there are, with what they take.
var functions = map[string]string{
	"header":   `header("name"): the value of the last header of that name, as text`,
	"date":     `date("2026-10-29T12:00Z"): a time`,
	"duration": `duration("90s"): ms; times can be added to and subtracted from`,
	"len":      `len(value): characters of a text, elements of a list`,
	"lower":    `lower(key): the text in small letters`,
	"upper":    `upper(key): the text in capitals`,
	"trim":     `trim(value): the text without blanks around it`,
}

func (w *rewriter) noFunction(n ast.Node, name string) error {
	list := make([]string, 0, len(functions))
	for f := range functions {
		list = append(list, f+"()")
	}
	sort.Strings(list)
	return w.fail(n, "there is no function %s(); there are %s", name, strings.Join(list, ", "))
}

// call rewrites a function.
func (w *rewriter) call(n *ast.CallNode) (term, error) {
	callee, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		return term{}, w.fail(n, "this is not part of the language of conditions")
	}
	name := callee.Value
	if functions[name] == "" {
		return term{}, w.noFunction(n, name)
	}
	if len(n.Arguments) != 1 {
		return term{}, w.fail(n, "%s takes one value: %s", name, functions[name])
	}
	arg := n.Arguments[0]
	switch name {
	case "header", "date", "duration":
		s, ok := arg.(*ast.StringNode)
		if !ok {
			return term{}, w.fail(arg, "%s takes a text: %s", name, functions[name])
		}
		return w.written(n, name, s)
	}
	t, err := w.term(arg)
	if err != nil {
		return term{}, err
	}
	if name == "len" {
		switch {
		case t.typ == Open && len(t.open.path) > 0:
			t.open.count = true
			return w.resolve(t, Number), nil
		case t.keyed:
			return t, nil
		}
	}
	t = w.resolve(t, Text)
	if t.typ != Text {
		return term{}, w.fail(arg, "%s takes text, this is %s", name, t.typ)
	}
	t.node = at2(&ast.BuiltinNode{Name: name, Arguments: []ast.Node{t.node}}, n)
	t.source, t.literal = n, false
	if name == "len" {
		t.typ = Number
	}
	return t, nil
}

// written rewrites a function of a literal.
func (w *rewriter) written(n *ast.CallNode, name string, arg *ast.StringNode) (term, error) {
	switch name {
	case "header":
		return w.member(at2(&ast.MemberNode{Node: at2(&ast.IdentifierNode{Value: "headers"}, n), Property: arg}, n).(*ast.MemberNode))
	case "date":
		ms, err := w.time(arg)
		if err != nil {
			return term{}, err
		}
		return term{node: ms, source: n, typ: Time, literal: true}, nil
	}
	d, err := time.ParseDuration(arg.Value)
	if err != nil {
		return term{}, w.fail(arg, "%q is no duration; want 90s, 15m, 2h30m", arg.Value)
	}
	return term{node: at2(&ast.IntegerNode{Value: int(d.Milliseconds())}, n), source: n, typ: Number, literal: true}, nil
}

// time reads a literal as a time.
func (w *rewriter) time(s *ast.StringNode) (ast.Node, error) {
	ms, err := parseTime(s.Value)
	if err != nil {
		return nil, w.fail(s, "%q is no time; want RFC 3339, such as \"2026-10-29T12:00Z\" or \"2026-10-29\"", s.Value)
	}
	return at2(&ast.IntegerNode{Value: int(ms)}, s), nil
}

func (w *rewriter) unary(n *ast.UnaryNode) (term, error) {
	switch n.Operator {
	case "!", "not":
		t, err := w.term(n.Node)
		if err != nil {
			return term{}, err
		}
		t = w.resolve(t, Bool)
		if t.typ != Bool {
			return term{}, w.fail(n.Node, "%s is %s; %s negates a condition: write %s (…)", w.source(n.Node), t.typ, n.Operator, n.Operator)
		}
		t.node, t.source, t.literal = at2(&ast.UnaryNode{Operator: "!", Node: t.node}, n), n, false
		return t, nil
	case "-", "+":
		t, err := w.term(n.Node)
		if err != nil {
			return term{}, err
		}
		if t = w.resolve(t, Number); t.typ != Number {
			return term{}, w.fail(n.Node, "%s is %s, not a number", w.source(n.Node), t.typ)
		}
		t.node, t.source = at2(&ast.UnaryNode{Operator: n.Operator, Node: t.node}, n), n
		return t, nil
	}
	return term{}, w.fail(n, "there is no operator %s here", n.Operator)
}

// source is how a part was typed.
func (w *rewriter) source(n ast.Node) string {
	e := w.fail(n, "")
	if s := w.text[e.From:e.To]; len(s) < 40 {
		return s
	}
	return "this"
}

func describe(w *rewriter, t term) string {
	return fmt.Sprintf("%s is %s", w.source(t.source), t.typ)
}

// pattern checks a regular expression; Go's take time linear in the text.
func (w *rewriter) pattern(n ast.Node) error {
	s, ok := n.(*ast.StringNode)
	if !ok {
		return w.fail(n, "matches takes a pattern that is written out")
	}
	if _, err := regexp.Compile(s.Value); err != nil {
		return w.fail(n, "%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return nil
}
