package report

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// private are the fields of Kafka's own records that applications fill: what a consumer
// commits beside an offset, and what the members of a group send each other.
var private = map[string]bool{"metadata": true, "userData": true, "subscription": true, "assignment": true}

// redacted is d with the size and the hash of what applications wrote in place of it. Ids
// and names stay, as they do in the key of a line. nil stays nil.
func redacted(d *Decoded) *Decoded {
	if d == nil || d.Kind != "consumer-offsets" || len(d.Value) == 0 {
		return d
	}
	r := *d
	r.Value = redactFields(d.Value)
	return &r
}

// redactFields replaces every string under a private name; order and everything else stay.
// JSON that does not parse is a bug of ours.
func redactFields(in json.RawMessage) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(in))
	dec.UseNumber()
	var out []byte
	type level struct {
		object, value bool // value: the next token of an object is one
		some          bool
	}
	levels := []level{{}}
	hide := false
	for dec.More() || len(levels) > 1 {
		tok, err := dec.Token()
		if err != nil {
			panic(fmt.Sprintf("report: a decoded record is no JSON: %v", err))
		}
		top := &levels[len(levels)-1]
		if delim, ok := tok.(json.Delim); ok && (delim == '}' || delim == ']') {
			out = append(out, byte(delim))
			levels = levels[:len(levels)-1]
			continue
		}
		switch {
		case top.object && top.value:
			out = append(out, ':')
		case top.some:
			out = append(out, ',')
		}
		top.some = true
		name := top.object && !top.value
		if top.object {
			top.value = !top.value
		}
		if delim, ok := tok.(json.Delim); ok {
			out = append(out, byte(delim))
			levels = append(levels, level{object: delim == '{'})
			continue
		}
		text, isText := tok.(string)
		if isText && !name && hide && text != "" {
			tok = fmt.Sprintf("(%s, sha256 %s)", count(len(text), "byte", "bytes"), sha256Hex([]byte(text)))
		}
		hide = name && private[text]
		b, err := json.Marshal(tok)
		if err != nil {
			panic(fmt.Sprintf("report: %v", err))
		}
		out = append(out, b...)
	}
	return out
}
