package query

import (
	"slices"
	"strings"
)

// Field is a name that a condition may use.
type Field struct {
	Name string
	Type Type
	// Maybe: some lines of the kind have none. Such a line equals only nil: it is neither below
	// nor above anything, contains nothing, and a missing true-or-false is neither.
	Maybe bool
	Doc   string // what it is, units and ranges; "" if the name says all
	// As is the name of the JSON field that this one is short for, or that it spells another
	// way; "" if the JSON line has it under Name.
	As string

	get func(l *Line) value
	// open reads a field of type Open as what it is compared with.
	open func(l *Line, as Type) value
	// inside gives the document that a path leads into (decoded.group): such a name stands for
	// nothing in it alone but that it is there.
	inside func(l *Line) any
	// keyed gives what stands under a key: headers["trace"].
	keyed func(l *Line, key string) value
}

// Kind is a kind of line: the names that all its lines have.
type Kind struct {
	Name   string // what type and kind of the JSON line say, such as "batch", "frame legacy"
	Doc    string
	Fields []Field

	names map[string]int
	fold  bool // names are heads of columns, written without spaces in any case
}

// field finds a name, nil if lines of this kind have no such thing.
func (k *Kind) field(name string) *Field {
	if k.fold {
		name = folded(name)
	}
	if i, ok := k.names[name]; ok {
		return &k.Fields[i]
	}
	return nil
}

func folded(name string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '_' || r == '-' {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// newKind makes a kind of lists of fields.
func newKind(name, doc string, lists ...[]Field) *Kind {
	k := &Kind{Name: name, Doc: doc, names: map[string]int{}}
	for _, f := range slices.Concat(lists...) {
		if _, twice := k.names[f.Name]; twice {
			panic("query: " + name + " has " + f.Name + " twice")
		}
		k.names[f.Name] = len(k.Fields)
		k.Fields = append(k.Fields, f)
	}
	return k
}

// Ways to make fields.

func num(name, doc string, get func(l *Line) int64) Field {
	return Field{Name: name, Type: Number, Doc: doc, get: func(l *Line) value { return number(get(l)) }}
}

func numMaybe(name, doc string, get func(l *Line) (int64, bool)) Field {
	return Field{Name: name, Type: Number, Maybe: true, Doc: doc, get: func(l *Line) value {
		n, ok := get(l)
		return value{n: n, ok: ok}
	}}
}

func str(name, doc string, get func(l *Line) string) Field {
	return Field{Name: name, Type: Text, Doc: doc, get: func(l *Line) value { return text(get(l)) }}
}

// strMaybe is text of which "" says that there is none.
func strMaybe(name, doc string, get func(l *Line) string) Field {
	return Field{Name: name, Type: Text, Maybe: true, Doc: doc, get: func(l *Line) value {
		s := get(l)
		return value{s: s, ok: s != ""}
	}}
}

// bytesMaybe is text of bytes that may be null.
func bytesMaybe(name, doc string, get func(l *Line) []byte) Field {
	return Field{Name: name, Type: Text, Maybe: true, Doc: doc, get: func(l *Line) value {
		b := get(l)
		return value{s: string(b), ok: b != nil}
	}}
}

func boolean(name, doc string, get func(l *Line) bool) Field {
	return Field{Name: name, Type: Bool, Doc: doc, get: func(l *Line) value { return truth(get(l)) }}
}

// when is a time: NAME, which compares with times, and NAMEMs, a number.
func when(name, doc string, get func(l *Line) int64) []Field {
	return []Field{
		{Name: name, Type: Time, Maybe: true, Doc: doc, get: func(l *Line) value {
			ms := get(l)
			return value{n: ms, ok: ms >= 0}
		}},
		num(name+"Ms", "the same in ms since 1970; -1 none", get),
	}
}

// alias is another name for one of the fields before it.
func alias(name string, of string, lists ...[]Field) Field {
	for _, f := range slices.Concat(lists...) {
		if f.Name == of {
			f.Name, f.As, f.Doc = name, of, "the same as "+of
			return f
		}
	}
	panic("query: no field " + of)
}

// renamed marks fields that the JSON line does not have, or not always.
func renamed(as string, f Field) Field {
	f.As = as
	return f
}

// Without is the kind for a reader that does not have some of its fields.
func (k *Kind) Without(names ...string) *Kind {
	return newKind(k.Name, k.Doc, slices.DeleteFunc(slices.Clone(k.Fields), func(f Field) bool { return slices.Contains(names, f.Name) }))
}
