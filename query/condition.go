package query

import (
	"slices"

	"github.com/expr-lang/expr/vm"
)

// Condition is an expression that was checked against kinds of lines. It holds no state: each
// goroutine asks it through a Matcher of its own.
type Condition struct {
	text    string
	program *vm.Program
	slots   []slot
	asked   map[*Kind]bool
	lacks   map[*Kind]string // kinds that are not asked, with the first name that they lack
	batch   bool             // see OfBatch
}

// slot is a value that the program looks at.
type slot struct {
	name  string // in the program
	has   string // in the program: whether there is one; "" it does not ask
	as    Type
	field map[*Kind]*Field
	key   string // of a field with keys
	keyed bool
	path  []any // string or int, into a document
	count bool  // the number of elements of what stands there
	among value // with a list there: whether this is in it
	in    bool
}

// Text is the expression as it was typed.
func (c *Condition) Text() string { return c.text }

// Asks tells whether lines of a kind have all that the condition names. Lines of other kinds
// never match.
func (c *Condition) Asks(k *Kind) bool { return c.asked[k] }

// Lacks is the first name in the condition that lines of a kind do not have, "" if it is asked
// of them.
func (c *Condition) Lacks(k *Kind) string { return c.lacks[k] }

// OfBatch tells that the answer is the same for all records of a batch.
func (c *Condition) OfBatch() bool { return c.batch }

// Matcher asks a condition of one line after the other. It is for one goroutine.
type Matcher struct {
	c    *Condition
	vm   vm.VM
	env  map[string]any
	last []value
	docs []doc

	// Failed counts lines that the condition could not be asked of; Err is why the first could not.
	Failed int64
	Err    error
}

// doc is what a field was decoded to for the line that is looked at.
type doc struct {
	field *Field
	v     any
}

// maxElements bounds what the program may hold at once, in elements of lists. It has none but those
// that are written in it.
const maxElements = 10_000

// Matcher begins to ask.
func (c *Condition) Matcher() *Matcher {
	m := &Matcher{c: c, env: make(map[string]any, 2*len(c.slots)), last: make([]value, len(c.slots))}
	m.vm.MemoryBudget = maxElements
	for i := range c.slots {
		m.put(&c.slots[i], absent)
	}
	return m
}

// Match tells whether a line fulfils the condition.
func (m *Matcher) Match(l *Line) bool {
	c := m.c
	if !c.asked[l.Kind] {
		return false
	}
	m.docs = m.docs[:0]
	for i := range c.slots {
		s := &c.slots[i]
		v := m.read(s, l)
		if v != m.last[i] {
			m.put(s, v)
			m.last[i] = v
		}
	}
	out, err := m.vm.Run(c.program, m.env)
	if err != nil {
		if m.Failed++; m.Err == nil {
			m.Err = err
		}
		return false
	}
	is, _ := out.(bool)
	return is
}

// put gives the program a value. Numbers are int there, the only type that expr compares
// quickly; the machines that kafsck is for have 64 bits.
func (m *Matcher) put(s *slot, v value) {
	switch s.as {
	case Bool:
		m.env[s.name] = v.b
	case Text:
		m.env[s.name] = v.s
	default:
		m.env[s.name] = int(v.n)
	}
	if s.has != "" {
		m.env[s.has] = v.ok
	}
}

// read is the value of a slot on a line.
func (m *Matcher) read(s *slot, l *Line) value {
	f := s.field[l.Kind]
	switch {
	case s.keyed:
		return f.keyed(l, s.key)
	case f.open == nil:
		return f.get(l)
	case len(s.path) == 0:
		return f.open(l, s.as)
	}
	at := at(m.document(f, l), s.path)
	switch {
	case s.in:
		list, ok := at.([]any)
		return value{b: ok && slices.ContainsFunc(list, func(v any) bool { return of(v, "", s.as.element(s)) == s.among }), ok: ok}
	case s.count:
		return length(at)
	}
	return of(at, "", s.as)
}

// element is the type of what a list is searched for.
func (t Type) element(s *slot) Type {
	if s.among.s != "" {
		return Text
	}
	return Number
}

func (m *Matcher) document(f *Field, l *Line) any {
	for _, d := range m.docs {
		if d.field == f {
			return d.v
		}
	}
	v := f.inside(l)
	m.docs = append(m.docs, doc{f, v})
	return v
}

// at follows a path into a document; nil where it leads nowhere.
func at(v any, path []any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, _ := v.(map[string]any)
			v = object[step]
		case int:
			list, _ := v.([]any)
			if step < 0 || step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}
