package query

import (
	"encoding/json"
	"math"
	"strconv"
	"time"
)

// Type is what a name stands for.
type Type uint8

// The types. A time is held as milliseconds since 1970.
const (
	Number Type = iota + 1
	Text
	Bool
	Time
	// Open is what is known only when it is read: what stands at a path in a decoded record, a
	// cell of a table. It is read as what it is compared with.
	Open
	null // the literal nil
)

// String is the type in words, as messages have it.
func (t Type) String() string {
	switch t {
	case Number:
		return "a number"
	case Text:
		return "text"
	case Bool:
		return "true or false"
	case Time:
		return "a time"
	case null:
		return "nil"
	}
	return "of no fixed type"
}

// value is what a name stands for on one line; ok false: the line has none.
type value struct {
	n  int64
	s  string
	b  bool
	ok bool
}

func number(n int64) value { return value{n: n, ok: true} }
func text(s string) value  { return value{s: s, ok: true} }
func truth(b bool) value   { return value{b: b, ok: true} }

var absent value

// of reads something decoded as a type; what it cannot be read as is not there.
func of(v any, shown string, as Type) value {
	switch as {
	case Bool:
		if b, ok := v.(bool); ok {
			return truth(b)
		}
	case Number:
		if n, ok := integer(v); ok {
			return number(n)
		}
	case Time:
		switch v := v.(type) {
		case time.Time:
			return number(v.UnixMilli())
		case string:
			if ms, err := parseTime(v); err == nil {
				return number(ms)
			}
		}
		if n, ok := integer(v); ok {
			return number(n)
		}
	case Text:
		switch v := v.(type) {
		case nil:
			return absent
		case string:
			return text(v)
		case time.Time:
			return text(v.UTC().Format(time.RFC3339Nano))
		case bool:
			return text(strconv.FormatBool(v))
		case json.Number:
			return text(v.String())
		case map[string]any, []any:
			return absent
		}
		if n, ok := integer(v); ok && shown == "" {
			return text(strconv.FormatInt(n, 10))
		}
		return text(shown)
	default: // whether it is there
		if v != nil {
			return value{ok: true}
		}
	}
	return absent
}

// integer reads a number; one with a fraction is rounded down, as a size of a table may have it.
func integer(v any) (int64, bool) {
	switch n := v.(type) {
	case int:
		return int64(n), true
	case int8:
		return int64(n), true
	case int16:
		return int64(n), true
	case int32:
		return int64(n), true
	case int64:
		return n, true
	case uint8:
		return int64(n), true
	case uint16:
		return int64(n), true
	case uint32:
		return int64(n), true
	case uint64:
		return int64(min(n, math.MaxInt64)), true
	case float64:
		if f := math.Floor(n); f >= -1<<63 && f < 1<<63 {
			return int64(f), true
		}
	case json.Number:
		if i, err := n.Int64(); err == nil {
			return i, true
		}
		if f, err := n.Float64(); err == nil {
			return integer(f)
		}
	case string:
		// int64 beyond 2⁵³ stands as text in what Kafka's own tools print
		if i, err := strconv.ParseInt(n, 10, 64); err == nil {
			return i, true
		}
	case time.Duration:
		return n.Milliseconds(), true
	}
	return 0, false
}

// length is how many elements a list or an object has.
func length(v any) value {
	switch v := v.(type) {
	case []any:
		return number(int64(len(v)))
	case map[string]any:
		return number(int64(len(v)))
	case string:
		return number(int64(len(v)))
	}
	return absent
}

// timeLayouts are the ways to write a time, in UTC where it names no zone.
var timeLayouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02 15:04:05.999Z07:00", "2006-01-02 15:04Z07:00",
	"2006-01-02T15:04:05.999", "2006-01-02T15:04", "2006-01-02 15:04:05.999", "2006-01-02 15:04", "2006-01-02",
}

type timeError struct{}

func (timeError) Error() string { return "no time" }

// parseTime reads a time as milliseconds since 1970.
func parseTime(s string) (int64, error) {
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UnixMilli(), nil
		}
	}
	return 0, timeError{}
}
