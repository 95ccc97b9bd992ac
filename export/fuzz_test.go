package export

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kafsck/batch"
)

// ended puts the line behind records that says that they are all there.
func ended(b []byte) []byte { return append(b, `{"type":"summary"}`+"\n"...) }

// FuzzJSONL holds that a record comes back from its line as it was, whatever its bytes, and
// that the line is one line of printable ASCII or of runes that print.
func FuzzJSONL(f *testing.F) {
	f.Add([]byte("k"), []byte(nil), []byte("\xff\x00"), []byte{}, "h", int64(1), int64(-1), int32(0), byte(0))
	f.Add([]byte(nil), []byte{}, []byte(nil), []byte("v"), "\xc3\x28\u202e\"\\", int64(1)<<60, int64(1)<<62, int32(-1), byte(0xff))
	f.Fuzz(func(t *testing.T, key, value, headerKey, headerValue []byte, name string, offset, ms int64, epoch int32, bits byte) {
		on := func(bit int) bool { return bits>>bit&1 != 0 }
		if on(0) {
			key = nil
		}
		if on(1) {
			value = nil
		}
		if on(2) {
			headerValue = nil
		}
		r := Record{Place: Place{Partition: "t-0", Broker: -1, BrokerName: "folder", File: "t-0/x.log", Position: offset}, Magic: 2, Codec: batch.LZ4,
			Offset: offset, WrittenOffset: offset, LeaderEpoch: epoch, WrittenEpoch: epoch, Timestamp: ms, TimestampType: batch.LogAppendTime, Key: key, Value: value,
			Headers:    []batch.RecordHeader{{Key: string(headerKey), Value: headerValue}, {Key: string(headerKey), Value: []byte{}}, {Key: name}},
			ProducerID: ms, ProducerEpoch: int16(epoch), Sequence: epoch, Transactional: on(3), State: Aborted, Control: on(4), Coordinator: -1}
		if on(5) {
			r.Lost = &Lost{"yes", "all", "unknown", Mark{Duplicate, max(offset, 0), "content"}}
		}
		if on(6) {
			r.Misread, r.WrittenOffset, r.WrittenEpoch = true, ms, -1
		}
		if on(7) {
			r.TopicID, r.Broker, r.BrokerName, r.Magic = "AAAA", 7, "", 1
		}
		var b bytes.Buffer
		if err := NewJSONL(&b).Write(&r); err != nil {
			t.Fatal(err)
		}
		if n := bytes.IndexByte(b.Bytes(), '\n'); n != b.Len()-1 || bytes.ContainsAny(b.Bytes()[:n], "\x00\x1b\r\x7f") {
			t.Fatalf("not one clean line: %q", b.Bytes())
		}
		n := 0
		for got, err := range ReadJSONL(bytes.NewReader(ended(b.Bytes()))) {
			if err != nil {
				t.Fatal(err)
			}
			n++
			if d := cmp.Diff(&r, got); d != "" {
				t.Fatal(d)
			}
		}
		if n != 1 {
			t.Fatalf("%d records", n)
		}
		hidden := NewJSONL(&b)
		hidden.Redact = true
		b.Reset()
		if err := hidden.Write(&r); err != nil {
			t.Fatal(err)
		}
		if n := bytes.IndexByte(b.Bytes(), '\n'); n != b.Len()-1 || bytes.Contains(b.Bytes(), []byte(`"value":"`)) {
			t.Fatalf("redacted: %q", b.Bytes())
		}
		for _, err := range ReadJSONL(bytes.NewReader(ended(b.Bytes()))) { // the second header has an empty value
			if !errors.Is(err, ErrRedacted) {
				t.Fatalf("redacted, and read: %v", err)
			}
		}
	})
}

// FuzzReadJSONL holds that the reader takes any bytes, and writes what it took as lines that
// read the same.
func FuzzReadJSONL(f *testing.F) {
	f.Add([]byte(`{"type":"record","offset":1,"timestampType":"CreateTime","headers":[{"key":"a","value":null}]}` + "\n" + `{"type":"summary"}`))
	f.Add([]byte("{}\n[]\n\"\""))
	f.Fuzz(func(t *testing.T, in []byte) {
		for r, err := range ReadJSONL(bytes.NewReader(in)) {
			if err != nil {
				return
			}
			var b bytes.Buffer
			if err := NewJSONL(&b).Write(r); err != nil {
				t.Fatal(err)
			}
			for again, err := range ReadJSONL(bytes.NewReader(ended(b.Bytes()))) {
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(r.Key, again.Key) || !bytes.Equal(r.Value, again.Value) || r.Offset != again.Offset || len(r.Headers) != len(again.Headers) {
					t.Fatalf("%+v is written and read as %+v", r, again)
				}
			}
		}
	})
}

// TestCutShort: lines without the summary are told to be not all.
func TestCutShort(t *testing.T) {
	var b bytes.Buffer
	if err := NewJSONL(&b).Write(&Record{}); err != nil {
		t.Fatal(err)
	}
	var last error
	for _, err := range ReadJSONL(&b) {
		last = err
	}
	if last != ErrNotWhole {
		t.Errorf("%v", last)
	}
}
