package schema

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kafsck/internal/wire"
)

// offsetCommitValue as in group-coordinator/src/main/resources/common/message.
var offsetCommitValue = Message{Name: "OffsetCommitValue", Max: 4, FlexibleSince: 4, Fields: []Field{
	{Name: "offset", Type: Int64},
	{Name: "leaderEpoch", Type: Int32, Since: 3, Default: -1},
	{Name: "metadata", Type: String},
	{Name: "commitTimestamp", Type: Int64},
	{Name: "expireTimestamp", Type: Int64, Since: 1, Before: 2, Default: -1},
	{Name: "topicId", Type: UUID, Since: 4, Tagged: true, Tag: 0},
}}

var transactionLogValue = Message{Name: "TransactionLogValue", Max: 1, FlexibleSince: 1, Fields: []Field{
	{Name: "producerId", Type: Int64},
	{Name: "producerEpoch", Type: Int16},
	{Name: "transactionTimeoutMs", Type: Int32},
	{Name: "transactionStatus", Type: Int8},
	{Name: "transactionPartitions", Type: Nested, Array: true, Nullable: true, Fields: []Field{
		{Name: "topic", Type: String},
		{Name: "partitionIds", Type: Int32, Array: true},
	}},
	{Name: "transactionLastUpdateTimestampMs", Type: Int64},
	{Name: "transactionStartTimestampMs", Type: Int64},
}}

// Bytes written by Kafka's own classes (kafka-format.md §13.5), behind the version.
func TestVectors(t *testing.T) {
	for _, c := range []struct {
		message   *Message
		version   int16
		hex, json string
	}{
		{&offsetCommitValue, 3, "000000000000002a0000000500000000018bcfe56800", `{"offset":42,"leaderEpoch":5,"metadata":"","commitTimestamp":1700000000000}`},
		{&offsetCommitValue, 1, "000000000000002a00000000018bcfe568000000018bcfe56801", `{"offset":42,"metadata":"","commitTimestamp":1700000000000,"expireTimestamp":1700000000001}`},
		{&offsetCommitValue, 4, "000000000000002a00000005010000018bcfe5680000", `{"offset":42,"leaderEpoch":5,"metadata":"","commitTimestamp":1700000000000}`},
		{&transactionLogValue, 0, "0000000000000fa000020000ea6001000000010003666f6f0000000200000000000000010000018bcfe568000000018bcfe56418",
			`{"producerId":4000,"producerEpoch":2,"transactionTimeoutMs":60000,"transactionStatus":1,"transactionPartitions":[{"topic":"foo","partitionIds":[0,1]}],"transactionLastUpdateTimestampMs":1700000000000,"transactionStartTimestampMs":1699999999000}`},
	} {
		b, err := hex.DecodeString(c.hex)
		if err != nil {
			t.Fatal(err)
		}
		r := wire.Make(b)
		s, err := Decode(&r, c.message, c.version)
		if err != nil || r.Remaining() != 0 {
			t.Errorf("%s %d: %v, %d bytes left", c.message.Name, c.version, err, r.Remaining())
			continue
		}
		if got := string(s.AppendJSON(nil)); got != c.json {
			t.Errorf("%s %d:\n got  %s\n want %s", c.message.Name, c.version, got, c.json)
		}
		for n := range b {
			r := wire.Make(b[:n])
			if _, err := Decode(&r, c.message, c.version); err == nil {
				t.Errorf("%s %d cut to %d bytes: no error", c.message.Name, c.version, n)
			}
		}
	}
}

// everything has a field of each kind.
var everything = Message{Name: "Everything", Max: 1, Fields: []Field{
	{Name: "bool", Type: Bool},
	{Name: "int8", Type: Int8},
	{Name: "uint16", Type: Uint16},
	{Name: "float", Type: Float64},
	{Name: "bytes", Type: Bytes, Nullable: true},
	{Name: "names", Type: String, Array: true},
	{Name: "point", Type: Nested, Nullable: true, Fields: []Field{{Name: "x", Type: Int16}}},
	{Name: "secret", Type: Bytes, Secret: true},
	{Name: "tagged", Type: Int32, Tagged: true, Tag: 0, Default: -2},
	{Name: "nullable", Type: Int32, Array: true, Nullable: true, Tagged: true, Tag: 1, Null: true},
	{Name: "taggedPoint", Type: Nested, Nullable: true, Tagged: true, Tag: 2, Null: true, Fields: []Field{{Name: "x", Type: Int16}}},
	{Name: "ids", Type: UUID, Array: true, Since: 1, Tagged: true, Tag: 3},
}}

// body of everything up to the tag section
func body() []byte {
	b := []byte{1, 0xff, 0xff, 0xfe}
	b = binary.BigEndian.AppendUint64(b, math.Float64bits(1.5))
	b = append(b, 3, 'h', 'i') // bytes
	b = append(b, 3, 2, 'a', 1)
	b = append(b, 1, 0, 7, 0) // point, with its empty tag section
	return append(b, 3, 's', 's')
}

func TestKinds(t *testing.T) {
	id := bytes.Repeat([]byte{0xee}, 16)
	b := append(body(), 5, // tags
		0, 4, 0, 0, 0, 9,
		1, 9, 3, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff,
		2, 4, 1, 0, 8, 0,
		3, 17, 2)
	b = append(b, id...)
	b = append(b, 200, 1, 2, 'z', 'z')
	r := wire.Make(b)
	s, err := Decode(&r, &everything, 1)
	if err != nil {
		t.Fatal(err)
	}
	point, ok := s.Struct("point")
	if !ok || point.Int("x") != 7 {
		t.Errorf("point %+v", point)
	}
	want := `{"bool":true,"int8":-1,"uint16":65534,"float":1.5,"bytes":"aGk=","names":["a",""],"point":{"x":7},"secret":"(redacted)","tagged":9,"nullable":[1,-1],"taggedPoint":{"x":8},"ids":["7u7u7u7u7u7u7u7u7u7u7g"]}`
	if got := string(s.AppendJSON(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if d := cmp.Diff([]Tagged{{200, []byte("zz")}}, s.Unknown); d != "" {
		t.Errorf("unknown tags: %s", d)
	}
	if !s.Bool("bool") || s.Int("uint16") != 65534 || s.Float("float") != 1.5 || string(s.Bytes("bytes")) != "hi" || s.Version() != 1 || !s.Has("tagged") {
		t.Errorf("got %+v", s)
	}
	if d := cmp.Diff([]string{"a", ""}, s.Texts("names")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]int32{1, -1}, s.Int32s("nullable")); d != "" {
		t.Error(d)
	}
	if ids := s.UUIDs("ids"); len(ids) != 1 || !bytes.Equal(ids[0][:], id) {
		t.Errorf("ids %v", ids)
	}
	if raw := s.RawInt32s("nullable"); len(raw) != 8 || cap(raw) != 8 {
		t.Errorf("raw %x, capacity %d", raw, cap(raw))
	}
}

func TestDefaultsAndNull(t *testing.T) {
	b := append(body(), 0)
	r := wire.Make(b)
	s, err := Decode(&r, &everything, 0)
	if err != nil {
		t.Fatal(err)
	}
	if s.Int32("tagged") != -2 || s.Has("tagged") || s.Int32s("nullable") != nil || !s.IsNull("nullable") {
		t.Errorf("defaults: %+v", s)
	}
	if ids := s.UUIDs("ids"); ids == nil || len(ids) != 0 {
		t.Errorf("ids %v", ids)
	}
	if _, ok := s.Struct("taggedPoint"); ok {
		t.Error("taggedPoint is there")
	}
	// Nulls on the wire. In version 0 tag 3 is not known yet.
	b = append([]byte{0, 0, 0, 0}, make([]byte, 8)...)
	b = append(b, 0, 1, 0xff, 1, 3, 1, 1, 0, 2, 1, 0, 3, 1, 0)
	r = wire.Make(b)
	s, err = Decode(&r, &everything, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Struct("point"); ok || !s.IsNull("point") || !s.IsNull("bytes") || s.Bytes("bytes") != nil || len(s.Unknown) != 1 {
		t.Errorf("nulls: %+v", s)
	}
	if got := string(s.AppendJSON(nil)); got != `{"bool":false,"int8":0,"uint16":0,"float":0.0,"bytes":null,"names":[],"point":null,"secret":"(redacted)"}` {
		t.Errorf("got %s", got)
	}
}

// TestSizeOfKnownTag: Kafka's dump tool read a PARTITION_CHANGE_RECORD with tag 6 and a size of 69 for
// five bytes, and the tag behind it.
func TestSizeOfKnownTag(t *testing.T) {
	for _, size := range []byte{4, 5, 69} {
		r := wire.Make(append(body(), 1, 0, size, 0, 0, 0, 9))
		if _, err := Decode(&r, &everything, everything.Max); err != nil || r.Remaining() != 0 {
			t.Errorf("size %d: %v, %d bytes left", size, err, r.Remaining())
		}
	}
}

func TestRefusals(t *testing.T) {
	many := Message{Name: "Many", Fields: []Field{{Name: "list", Type: Nested, Array: true, Fields: []Field{{Name: "b", Type: Bool}}}}}
	self := Field{Name: "more", Type: Nested, Nullable: true}
	for range maxDepth + 2 {
		self = Field{Name: "more", Type: Nested, Nullable: true, Fields: []Field{self}}
	}
	deep := Message{Name: "Deep", Fields: []Field{self}}
	lots := append(binary.AppendUvarint(nil, 1<<20), make([]byte, 2<<20)...)
	for _, c := range []struct {
		name    string
		message *Message
		bytes   []byte
		why     string
	}{
		{"null string", &offsetCommitValue, []byte{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0}, "metadata is null"},
		{"null array", &everything, append(body()[:15], 0), "names is null"},
		{"more values than the cap", &many, lots, "values in one message"},
		{"count beyond the bytes", &many, []byte{0xff, 0xff, 0xff, 0xff, 0x0f, 1, 0}, "bytes left"},
		{"depth", &deep, bytes.Repeat([]byte{1}, 64), "nest too deep"},
		{"tag beyond the bytes", &everything, append(body(), 1, 9, 0xff, 1), "tag 9"},
		{"unending varint", &many, bytes.Repeat([]byte{0xff}, 11), ""},
	} {
		r := wire.Make(c.bytes)
		_, err := Decode(&r, c.message, c.message.Max)
		if _, ok := errors.AsType[*wire.Error](err); !ok || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for _, version := range []int16{-1, 5} {
		r := wire.Make(nil)
		if _, err := Decode(&r, &offsetCommitValue, version); !errors.Is(err, ErrVersion) {
			t.Errorf("version %d: %v", version, err)
		}
	}
	// The classic encoding has negative lengths.
	r := wire.Make([]byte{0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0xfe})
	if _, err := Decode(&r, &offsetCommitValue, 0); err == nil || !strings.Contains(err.Error(), "negative length -2") {
		t.Errorf("got %v", err)
	}
}

// A name that is not in the table is a mistake in our code.
func TestUnknownNamePanics(t *testing.T) {
	var s Struct
	for _, f := range []func(){
		func() { s.Int("nothing") },
		func() {
			r := wire.Make(append(body(), 0))
			s, err := Decode(&r, &everything, 0)
			if err != nil {
				t.Fatal(err)
			}
			s.Text("bool")
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		}()
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(append(body(), 0), int16(0))
	f.Add(append(body(), 1, 0, 4, 0, 0, 0, 9), int16(1))
	f.Fuzz(func(t *testing.T, b []byte, version int16) {
		for _, m := range []*Message{&everything, &offsetCommitValue, &transactionLogValue} {
			r := wire.Make(b)
			s, err := Decode(&r, m, version)
			if err == nil != (r.Err() == nil) && !errors.Is(err, ErrVersion) {
				t.Errorf("%v, reader says %v", err, r.Err())
			}
			if text := s.AppendJSON(nil); err == nil && !json.Valid(text) {
				t.Errorf("not JSON: %s", text)
			}
		}
	})
}
