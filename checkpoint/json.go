package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
)

// jsonValue is the text of one JSON value; nil for an absent one. Its methods
// convert the way the Jackson nodes that Kafka uses do.
type jsonValue []byte

var errNoObject = errors.New("not a JSON object")

// parseObject reads the object at the start of b; what follows it is ignored,
// and of a repeated key the last value counts, as in Jackson's readTree.
func parseObject(b []byte) (map[string]jsonValue, error) {
	if t := bytes.TrimLeft(b, " \t\r\n"); len(t) == 0 || t[0] != '{' {
		return nil, errNoObject
	}
	var raw map[string]json.RawMessage
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&raw); err != nil {
		return nil, errNoObject
	}
	out := make(map[string]jsonValue, len(raw))
	for k, v := range raw {
		out[k] = jsonValue(v)
	}
	return out, nil
}

// integer accepts an integer literal that fits 64 bits: no fraction, no exponent.
func (v jsonValue) integer() (int64, bool) {
	var n int64
	if !v.number() || bytes.ContainsAny(v, ".eE") || json.Unmarshal(v, &n) != nil {
		return 0, false
	}
	return n, true
}

func (v jsonValue) number() bool {
	return len(v) > 0 && (v[0] == '-' || v[0] >= '0' && v[0] <= '9')
}

func (v jsonValue) text() (string, bool) {
	var s string
	if len(v) == 0 || v[0] != '"' || json.Unmarshal(v, &s) != nil {
		return "", false
	}
	return s, true
}

func (v jsonValue) null() bool { return string(v) == "null" }

func (v jsonValue) list() ([]json.RawMessage, bool) {
	var l []json.RawMessage
	if len(v) == 0 || v[0] != '[' || json.Unmarshal(v, &l) != nil {
		return nil, false
	}
	return l, true
}

// short is JsonNode.shortValue: numbers are narrowed as Java narrows them, and
// everything that is no number is 0.
func (v jsonValue) short() int16 {
	if !v.number() {
		return 0
	}
	if !bytes.ContainsAny(v, ".eE") {
		if n, ok := new(big.Int).SetString(string(v), 10); ok {
			// The low 16 bits of the two's complement, whatever the size.
			return int16(n.And(n, big.NewInt(0xffff)).Int64())
		}
		return 0
	}
	return int16(narrow(v.float(), math.MinInt32, math.MaxInt32))
}

func (v jsonValue) float() float64 {
	var f float64
	if err := json.Unmarshal(v, &f); err != nil {
		// Out of range: Java reads infinity.
		if strings.HasPrefix(string(v), "-") {
			return math.Inf(-1)
		}
		return math.Inf(1)
	}
	return f
}

// narrow is Java's conversion of a double to an integer type: towards zero,
// saturating.
func narrow(f float64, low, high int64) int64 {
	switch {
	case f <= float64(low):
		return low
	case f >= float64(high):
		return high
	}
	return int64(f)
}
