package internaltopic

import (
	"encoding/base64"
	"strconv"

	"kafsck/internal/javatext"
	"kafsck/internal/schema"
)

// appendGroupJSON writes a GroupMetadataValue as kafka-dump-log does: with subscription and
// assignment decoded where the protocol type is "consumer", else in base64
// (OffsetsMessageParser).
func (rec *Record) appendGroupJSON(b []byte) []byte {
	v := &rec.value
	b = append(b, `{"protocolType":`...)
	b = appendText(b, v, "protocolType")
	b = append(b, `,"generation":`...)
	b = strconv.AppendInt(b, v.Int("generation"), 10)
	b = append(b, `,"protocol":`...)
	b = appendText(b, v, "protocol")
	b = append(b, `,"leader":`...)
	b = appendText(b, v, "leader")
	if v.Has("currentStateTimestamp") {
		b = append(b, `,"currentStateTimestamp":`...)
		b = strconv.AppendInt(b, v.Int("currentStateTimestamp"), 10)
	}
	b = append(b, `,"members":[`...)
	consumer := v.Text("protocolType") == "consumer"
	for i, m := range v.Structs("members") {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendMemberJSON(b, &m, consumer)
	}
	return append(b, "]}"...)
}

func appendMemberJSON(b []byte, m *schema.Struct, consumer bool) []byte {
	b = append(b, `{"memberId":`...)
	b = appendText(b, m, "memberId")
	if m.Has("groupInstanceId") {
		b = append(b, `,"groupInstanceId":`...)
		b = appendText(b, m, "groupInstanceId")
	}
	for _, name := range []string{"clientId", "clientHost"} {
		b = append(b, `,"`+name+`":`...)
		b = appendText(b, m, name)
	}
	for _, name := range []string{"rebalanceTimeout", "sessionTimeout"} {
		if m.Has(name) {
			b = append(b, `,"`+name+`":`...)
			b = strconv.AppendInt(b, m.Int(name), 10)
		}
	}
	b = append(b, `,"subscription":`...)
	b = appendProtocol(b, m.Bytes("subscription"), &protocolSubscription, consumer)
	b = append(b, `,"assignment":`...)
	b = appendProtocol(b, m.Bytes("assignment"), &protocolAssignment, consumer)
	return append(b, '}')
}

// appendProtocol writes a blob decoded, or in base64 if it is no consumer's or cannot be.
func appendProtocol(b, raw []byte, m *schema.Message, consumer bool) []byte {
	if consumer && len(raw) > 0 {
		if s, err := decodeProtocol(raw, m); err == nil {
			return s.AppendJSON(b)
		}
	}
	return appendJSONString(b, base64.StdEncoding.EncodeToString(raw))
}

func appendText(b []byte, s *schema.Struct, name string) []byte {
	if s.IsNull(name) {
		return append(b, "null"...)
	}
	return appendJSONString(b, s.Text(name))
}

func appendJSONString(b []byte, s string) []byte { return javatext.AppendJSON(b, []byte(s)) }
