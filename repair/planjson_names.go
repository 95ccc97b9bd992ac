package repair

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// short cuts a word of a plan that is told in a message.
func short(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}

// fieldNames are the names of all fields of a plan, by their lower case.
var fieldNames = sync.OnceValue(func() map[string][]string {
	names, seen := map[string][]string{}, map[reflect.Type]bool{}
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			walk(t.Elem())
		case reflect.Struct:
			if seen[t] {
				return
			}
			seen[t] = true
			for i := range t.NumField() {
				f := t.Field(i)
				if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
					names[strings.ToLower(name)] = append(names[strings.ToLower(name)], name)
				}
				walk(f.Type)
			}
		}
	}
	walk(reflect.TypeFor[Plan]())
	return names
})

// exactNames refuses a name that encoding/json takes for a field although it is spelled in other letters:
// whoever looks for "loses" does not see "LOSES".
func exactNames(b []byte) error {
	names := fieldNames()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var object []bool // of what is open
	name := false     // the next token is a name
	for {
		t, err := d.Token()
		if err != nil {
			return nil // noRepeats has read all of it
		}
		n := len(object) - 1
		if word, ok := t.(string); ok && n >= 0 && object[n] && name {
			name = false
			if like := names[strings.ToLower(word)]; len(like) > 0 && !slices.Contains(like, word) {
				return malformed(fmt.Sprintf("line %d", lineAt(b, d.InputOffset())), "%q is no field: it is written %q", short(word), like[0])
			}
			continue
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			object = append(object, t == json.Delim('{'))
		case json.Delim('}'), json.Delim(']'):
			object = object[:n]
		}
		name = true
	}
}
