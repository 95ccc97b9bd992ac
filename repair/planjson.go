package repair

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// Malformed is a plan that is none, or one that was edited into nonsense. Nothing of it may be
// carried out.
type Malformed struct {
	// Place says where: "line 12", "action a3, edit 2, file t-0/0.log".
	Place string
	Why   string
}

func (m *Malformed) Error() string { return "the plan, " + m.Place + ": " + m.Why }

func malformed(place, format string, args ...any) error {
	return &Malformed{Place: place, Why: fmt.Sprintf(format, args...)}
}

// Encode is the plan as the indented document that Decode reads.
func (p *Plan) Encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(p); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Decode reads a plan and validates it. Fields that a plan does not have are refused, since a
// word that is spelled wrong would be an order that is not obeyed; so are fields given twice.
// The error is a *Malformed.
func Decode(b []byte) (*Plan, error) {
	if !utf8.Valid(b) {
		return nil, malformed("line "+fmt.Sprint(lineAt(b, firstInvalid(b))), "not UTF-8")
	}
	if err := noRepeats(b); err != nil {
		return nil, err
	}
	if err := exactNames(b); err != nil {
		return nil, err
	}
	// The version first: a plan of another one has other fields.
	var head struct {
		Type    string `json:"type"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, jsonError(b, err, 0)
	}
	switch {
	case head.Type != planType:
		return nil, malformed("type", "%q is no %q", short(head.Type), planType)
	case head.Version != PlanVersion:
		return nil, malformed("version", "%d, but this kafsck knows version %d: use the kafsck that made it, or make a new plan", head.Version, PlanVersion)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	p := new(Plan)
	if err := d.Decode(p); err != nil {
		return nil, jsonError(b, err, d.InputOffset())
	}
	return p, p.Validate()
}

const planType = "repair-plan"

// jsonError gives an error of encoding/json its line.
func jsonError(b []byte, err error, at int64) error {
	why := err.Error()
	if x, ok := errors.AsType[*json.SyntaxError](err); ok {
		at, why = x.Offset, "no JSON: "+x.Error()
	}
	if x, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		at, why = x.Offset, fmt.Sprintf("%s: want %s, is a %s", x.Field, x.Type, x.Value)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		at, why = int64(len(b)), "it ends too early: cut short?"
	}
	return malformed(fmt.Sprintf("line %d", lineAt(b, at)), "%s", why)
}

// lineAt is the number of the line that holds byte at, from 1.
func lineAt(b []byte, at int64) int {
	return bytes.Count(b[:min(max(at, 0), int64(len(b)))], []byte{'\n'}) + 1
}

func firstInvalid(b []byte) int64 {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n <= 1 {
			return int64(i)
		}
		i += n
	}
	return int64(len(b))
}

// noRepeats refuses an object with one name twice, of which encoding/json takes the last while a
// reader sees the first, and anything behind the document.
func noRepeats(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	type level struct {
		object bool
		name   bool // the next token of an object is a name
		names  map[string]bool
	}
	var open []level
	for {
		t, err := d.Token()
		if err == io.EOF && len(open) == 0 {
			return nil
		}
		if err != nil {
			return jsonError(b, err, d.InputOffset())
		}
		n := len(open) - 1
		if n >= 0 && open[n].object && open[n].name {
			if name, ok := t.(string); ok {
				if open[n].names[name] {
					return malformed(fmt.Sprintf("line %d", lineAt(b, d.InputOffset())), "%q stands twice in one object", name)
				}
				open[n].names[name] = true
				open[n].name = false
				continue
			}
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			open = append(open, level{object: t == json.Delim('{'), name: true, names: map[string]bool{}})
			continue
		case json.Delim('}'), json.Delim(']'):
			open = open[:n]
		}
		if n = len(open) - 1; n >= 0 {
			open[n].name = true
			continue
		}
		if _, err := d.Token(); err != io.EOF {
			return malformed(fmt.Sprintf("line %d", lineAt(b, d.InputOffset())), "something follows the plan")
		}
		return nil
	}
}
