package report

import (
	"bytes"
	"encoding/json"
	"testing"

	"kafsck/batch"
	"kafsck/segment"
)

// TestLongValues: a line with values that are written piece by piece says what one with
// short values says.
func TestLongValues(t *testing.T) {
	key, value, header := bytes.Repeat([]byte("k"), longValue), bytes.Repeat([]byte{0, 0xff, 0x80}, longValue/2), bytes.Repeat([]byte("h"), longValue+1)
	for _, x := range [][3][]byte{{key, value, header}, {[]byte("k"), value, nil}, {nil, nil, header}, {key, []byte{}, []byte("h")}, {nil, nil, nil}} {
		var out bytes.Buffer
		j := NewJSON(&out, "dump", "")
		out.Reset()
		d := NewDumpJSON(j, false)
		for range 2 { // what the first one left must not be in the second
			out.Reset()
			d.Record(&DumpRecord{Frame: &segment.Frame{Kind: segment.Batch}, Record: &batch.Record{Key: x[0], Value: x[1], Headers: []batch.RecordHeader{{Key: "a", Value: x[2]}, {Key: "b", Value: x[1]}}}})
		}
		var got struct {
			Key, Value []byte
			Headers    []struct{ Value []byte }
		}
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		same := func(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }
		if !same(got.Key, x[0]) || !same(got.Value, x[1]) || len(got.Headers) != 2 || !same(got.Headers[0].Value, x[2]) || !same(got.Headers[1].Value, x[1]) {
			t.Errorf("values of %d, %d and %d bytes came out as others", len(x[0]), len(x[1]), len(x[2]))
		}
		if n := bytes.Count(out.Bytes(), []byte("\n")); n != 1 {
			t.Errorf("%d lines", n)
		}
	}
}
