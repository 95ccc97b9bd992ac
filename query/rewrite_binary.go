package query

import (
	"github.com/expr-lang/expr/ast"
)

// binary rewrites an operator between two parts.
func (w *rewriter) binary(n *ast.BinaryNode) (term, error) {
	op := n.Operator
	switch op {
	case "&&", "and", "||", "or":
		l, err := w.condition(n.Left)
		if err != nil {
			return term{}, err
		}
		r, err := w.condition(n.Right)
		if err != nil {
			return term{}, err
		}
		return w.isTrue(n, op, l, r), nil
	case "in":
		return w.in(n)
	case "==", "!=", "<", "<=", ">", ">=":
		return w.comparison(n)
	case "contains", "startsWith", "endsWith", "matches":
		return w.texts(n)
	case "+", "-", "*", "/", "%":
		return w.arithmetic(n)
	}
	return term{}, w.fail(n, "there is no operator %s here", op)
}

func (w *rewriter) isTrue(n ast.Node, op string, l, r ast.Node) term {
	return term{node: at2(&ast.BinaryNode{Operator: op, Left: l, Right: r}, n), source: n, typ: Bool}
}

func (w *rewriter) both(n *ast.BinaryNode) (l, r term, err error) {
	if l, err = w.term(n.Left); err != nil {
		return
	}
	r, err = w.term(n.Right)
	return
}

// comparison rewrites == != < <= > >=.
func (w *rewriter) comparison(n *ast.BinaryNode) (term, error) {
	l, r, err := w.both(n)
	if err != nil {
		return term{}, err
	}
	equality := n.Operator == "==" || n.Operator == "!="
	if l.typ == null || r.typ == null {
		if !equality {
			return term{}, w.fail(n, "nil is neither above nor below anything; == and != tell whether there is a value")
		}
		if l.typ == null {
			l, r = r, l
		}
		return w.isNil(n, l), nil
	}
	if l, r, err = w.unify(n, l, r); err != nil {
		return term{}, err
	}
	if l.typ == Bool && !equality {
		return term{}, w.fail(n, "true and false are only equal or not")
	}
	c := at2(&ast.BinaryNode{Operator: n.Operator, Left: l.node, Right: r.node}, n)
	c = w.present(c, append(l.absent, r.absent...), n.Operator != "!=")
	return term{node: c, source: n, typ: Bool}, nil
}

// isNil tells whether there is no value.
func (w *rewriter) isNil(n *ast.BinaryNode, t term) term {
	is := n.Operator == "=="
	if t.typ == Open {
		t = w.resolve(t, Open)
	}
	if len(t.absent) == 0 { // it is always there
		return term{node: at2(&ast.BoolNode{Value: (t.typ == null) == is}, n), source: n, typ: Bool}
	}
	has := w.present(at2(&ast.BoolNode{Value: true}, n), t.absent, true)
	if is {
		has = at2(&ast.UnaryNode{Operator: "!", Node: has}, n)
	}
	return term{node: has, source: n, typ: Bool}
}

// unify makes two parts comparable: what is open takes the type of the other, and a text
// beside a time is read as one.
func (w *rewriter) unify(n ast.Node, l, r term) (term, term, error) {
	switch {
	case l.typ == Open && r.typ == Open:
		l, r = w.resolve(l, Text), w.resolve(r, Text)
	case l.typ == Open:
		l = w.resolve(l, r.typ)
	case r.typ == Open:
		r = w.resolve(r, l.typ)
	}
	for _, pair := range [2][2]*term{{&l, &r}, {&r, &l}} {
		if t, other := pair[0], pair[1]; t.typ == Time && other.typ == Text {
			s, ok := other.node.(*ast.StringNode)
			if !ok {
				return l, r, w.fail(n, "%s, %s", describe(w, l), describe(w, r))
			}
			ms, err := w.time(s)
			if err != nil {
				return l, r, err
			}
			other.node, other.typ = ms, Time
		}
	}
	numeric := func(t Type) bool { return t == Number || t == Time }
	if l.typ != r.typ && !(numeric(l.typ) && numeric(r.typ)) {
		at := r.source
		if l.literal && !r.literal {
			at = l.source
		}
		return l, r, w.fail(at, "%s, %s: they are never equal", describe(w, l), describe(w, r))
	}
	return l, r, nil
}

// texts rewrites contains, startsWith, endsWith, matches.
func (w *rewriter) texts(n *ast.BinaryNode) (term, error) {
	if n.Operator == "matches" {
		if err := w.pattern(n.Right); err != nil {
			return term{}, err
		}
	}
	l, r, err := w.both(n)
	if err != nil {
		return term{}, err
	}
	l, r = w.resolve(l, Text), w.resolve(r, Text)
	for _, t := range []term{l, r} {
		if t.typ != Text {
			return term{}, w.fail(t.source, "%s; %s is for text", describe(w, t), n.Operator)
		}
	}
	c := at2(&ast.BinaryNode{Operator: n.Operator, Left: l.node, Right: r.node}, n)
	return term{node: w.present(c, append(l.absent, r.absent...), true), source: n, typ: Bool}, nil
}

// arithmetic rewrites + - * / %. There is no division of whole numbers by a zero that
// only a line brings.
func (w *rewriter) arithmetic(n *ast.BinaryNode) (term, error) {
	l, r, err := w.both(n)
	if err != nil {
		return term{}, err
	}
	l, r = w.resolve(l, Number), w.resolve(r, Number)
	for _, t := range []term{l, r} {
		if t.typ != Number && t.typ != Time {
			return term{}, w.fail(t.source, "%s; %s is for numbers", describe(w, t), n.Operator)
		}
	}
	out := term{node: at2(&ast.BinaryNode{Operator: n.Operator, Left: l.node, Right: r.node}, n), source: n, typ: Number,
		float: l.float || r.float || n.Operator == "/", absent: append(l.absent, r.absent...)}
	switch {
	case n.Operator == "/":
		if d, ok := written(r.node); ok && d == 0 {
			return term{}, w.fail(r.source, "nothing can be divided by 0")
		}
	case n.Operator == "%":
		if d, ok := r.node.(*ast.IntegerNode); !ok || d.Value <= 0 || l.float {
			return term{}, w.fail(n, "%% takes whole numbers, at the right one above 0 that is written out")
		}
	case (n.Operator == "+" || n.Operator == "-") && (l.typ == Time) != (r.typ == Time):
		out.typ = Time
	}
	return out, nil
}

// written is the value of numbers that are written out, false if a line is asked for one.
func written(n ast.Node) (float64, bool) {
	switch n := n.(type) {
	case *ast.IntegerNode:
		return float64(n.Value), true
	case *ast.FloatNode:
		return n.Value, true
	case *ast.UnaryNode:
		v, ok := written(n.Node)
		if n.Operator == "-" {
			v = -v
		}
		return v, ok
	case *ast.BinaryNode:
		l, okLeft := written(n.Left)
		r, okRight := written(n.Right)
		ok := okLeft && okRight
		switch n.Operator {
		case "+":
			return l + r, ok
		case "-":
			return l - r, ok
		case "*":
			return l * r, ok
		case "/":
			return l / r, ok
		}
	}
	return 0, false
}

// in rewrites x in [1, 2], x in 1..5, and 3 in metadata.data.isr.
func (w *rewriter) in(n *ast.BinaryNode) (term, error) {
	switch right := n.Right.(type) {
	case *ast.ArrayNode:
		return w.inList(n, right)
	case *ast.BinaryNode:
		if right.Operator == ".." {
			low, err := w.comparison(at2(&ast.BinaryNode{Operator: ">=", Left: n.Left, Right: right.Left}, n).(*ast.BinaryNode))
			if err != nil {
				return term{}, err
			}
			high, err := w.comparison(at2(&ast.BinaryNode{Operator: "<=", Left: n.Left, Right: right.Right}, n).(*ast.BinaryNode))
			if err != nil {
				return term{}, err
			}
			return w.isTrue(n, "&&", low.node, high.node), nil
		}
	case *ast.MemberNode, *ast.ChainNode:
		r, err := w.term(n.Right)
		if err != nil {
			return term{}, err
		}
		if r.typ == Open && len(r.open.path) > 0 {
			s := r.open
			switch l := n.Left.(type) {
			case *ast.IntegerNode:
				s.among = number(int64(l.Value))
			case *ast.StringNode:
				if s.among = text(l.Value); l.Value == "" {
					return term{}, w.fail(l, "in looks for a text that is not empty")
				}
			default:
				return term{}, w.fail(l, "what is looked for in %s is written out: a number or a text", w.source(n.Right))
			}
			s.in, s.as = true, Bool
			return w.valueOf(s, true, n), nil
		}
	}
	return term{}, w.fail(n.Right, "in takes a list [1, 2], a range 1..5, or a list in a decoded record")
}

func (w *rewriter) inList(n *ast.BinaryNode, list *ast.ArrayNode) (term, error) {
	l, err := w.term(n.Left)
	if err != nil {
		return term{}, err
	}
	out := &ast.ArrayNode{}
	for _, e := range list.Nodes {
		r, err := w.term(e)
		if err != nil {
			return term{}, err
		}
		if !r.literal || r.typ == null {
			return term{}, w.fail(e, "in a list stand values that are written out")
		}
		if l, r, err = w.unify(e, l, r); err != nil {
			return term{}, err
		}
		out.Nodes = append(out.Nodes, r.node)
	}
	if len(out.Nodes) == 0 {
		return term{node: at2(&ast.BoolNode{}, n), source: n, typ: Bool}, nil
	}
	c := at2(&ast.BinaryNode{Operator: "in", Left: l.node, Right: at2(out, list)}, n)
	return term{node: w.present(c, l.absent, true), source: n, typ: Bool}, nil
}
