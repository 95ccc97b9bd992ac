package report

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// private are the fields of Kafka's own records that are redacted, by kind of log: what a consumer
// commits beside an offset, what the members of a group send each other, and in the cluster's
// metadata who uses it: users, and the values of configurations.
var private = map[string]map[string]bool{
	"consumer-offsets": {"metadata": true, "userData": true, "subscription": true, "assignment": true},
}

// privateOf are those of the cluster's metadata, by type of record.
var privateOf = map[string]map[string]bool{
	"USER_SCRAM_CREDENTIAL_RECORD":        {"name": true},
	"REMOVE_USER_SCRAM_CREDENTIAL_RECORD": {"name": true},
	"DELEGATION_TOKEN_RECORD":             {"owner": true, "requester": true, "renewers": true},
	"ACCESS_CONTROL_ENTRY_RECORD":         {"principal": true},
	"CLIENT_QUOTA_RECORD":                 {"entityName": true},
	"CONFIG_RECORD":                       {"value": true},
}

// redacted is d with the size and the hash of what applications and users wrote in place of it. Ids
// and names of Kafka's own things stay, as they do in the key of a line. nil stays nil.
func redacted(d *Decoded) *Decoded {
	if d == nil || len(d.Value) == 0 {
		return d
	}
	names := private[d.Kind]
	if d.Kind == "metadata-log" {
		names = privateOf[d.Type]
	}
	if names == nil {
		return d
	}
	r := *d
	r.Value = redactFields(d.Value, names)
	return &r
}

// redactMetadata is redacted for a metadata record as kafka-dump-log shows it.
func redactMetadata(kind string, in json.RawMessage) json.RawMessage {
	if names := privateOf[kind]; names != nil {
		return redactFields(in, names)
	}
	return in
}

// redactFields replaces every string under a private name, alone or in a list; order and everything
// else stay. JSON that does not parse is a bug of ours.
func redactFields(in json.RawMessage, names map[string]bool) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(in))
	dec.UseNumber()
	var out []byte
	type level struct {
		object, value bool // value: the next token of an object is one
		some          bool
		hide          bool // what comes next stands under a private name
	}
	levels := []level{{}}
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
			levels = append(levels, level{object: delim == '{', hide: delim == '[' && top.hide})
			continue
		}
		text, isText := tok.(string)
		if isText && !name && top.hide && text != "" && text != "(redacted)" {
			tok = fmt.Sprintf("(%s, sha256 %s)", count(len(text), "byte", "bytes"), sha256Hex([]byte(text)))
		}
		if name {
			top.hide = names[text]
		}
		b, err := json.Marshal(tok)
		if err != nil {
			panic(fmt.Sprintf("report: %v", err))
		}
		out = append(out, b...)
	}
	return out
}
