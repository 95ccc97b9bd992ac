package export

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"kafsck/batch"
	"kafsck/internal/fixture"
	"kafsck/internal/rofs"
)

// abc and nothing are SHA-256 digests of FIPS 180-4's examples: of "abc" and of no byte at all.
const (
	abc     = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

func abcRecord() *Record {
	return &Record{Place: Place{Partition: "t-0", Broker: 1, File: "t-0/x.log"}, Magic: 2, Offset: 7, WrittenOffset: 7, Timestamp: 1, TimestampType: batch.CreateTime, Key: nil, Value: []byte("abc"),
		Headers:    []batch.RecordHeader{{Key: "trace", Value: []byte("abc")}, {Key: "empty", Value: []byte{}}, {Key: "null"}},
		ProducerID: -1, ProducerEpoch: -1, Sequence: -1, State: None, Coordinator: -1}
}

// TestRedactedLine: sizes and hashes in place of bytes, null stays null, and nobody takes what is
// missing for null.
func TestRedactedLine(t *testing.T) {
	var b bytes.Buffer
	w := NewJSONL(&b)
	w.Redact = true
	r := abcRecord()
	if err := w.Write(r); err != nil {
		t.Fatal(err)
	}
	want := `,"key":null,"valueSize":3,"valueSha256":"` + abc + `","headers":[{"key":"trace","valueSize":3,"valueSha256":"` + abc + `"},{"key":"empty","valueSize":0,"valueSha256":"` + nothing + `"},{"key":"null","value":null}],`
	if !strings.Contains(b.String(), want) || strings.Contains(b.String(), `"value":"`) {
		t.Errorf("got %s\nwant %s", b.String(), want)
	}
	for _, err := range ReadJSONL(bytes.NewReader(ended(b.Bytes()))) {
		if !errors.Is(err, ErrRedacted) || !strings.Contains(err.Error(), "offset 7") {
			t.Errorf("it is read as if it had a value: %v", err)
		}
	}
	b.Reset()
	r.Key, r.Value, r.Headers = []byte("abc"), nil, nil
	if err := w.Write(r); err != nil {
		t.Fatal(err)
	}
	if want := `,"keySize":3,"keySha256":"` + abc + `","value":null,"headers":[],`; !strings.Contains(b.String(), want) {
		t.Errorf("got %s\nwant %s", b.String(), want)
	}
}

// columns are the fields of a row but for those of the payload.
func columns(t *testing.T, row any) map[string]any {
	t.Helper()
	b, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	for _, payload := range []string{"Key", "Value", "Headers", "KeySize", "KeySHA256", "ValueSize", "ValueSHA256"} {
		delete(out, payload)
	}
	return out
}

// TestRedactedParquet holds the rows of a redacted file against the whole file of the same
// recording: all columns but the payload are the same.
func TestRedactedParquet(t *testing.T) {
	fsys, err := rofs.Dir(filepath.Join(fixture.Unpack(t, "transactions"), "stage1-killed"))
	if err != nil {
		t.Fatal(err)
	}
	l := logOf(t, fsys, 2, "tx-orders-0")
	var plain, hidden bytes.Buffer
	a, b := NewParquet(&plain, "test", false), NewParquet(&hidden, "test", true)
	n := 0
	write := func(r *Record) {
		t.Helper()
		for _, w := range []*Parquet{a, b} {
			if err := w.Write(r); err != nil {
				t.Fatal(err)
			}
		}
		n++
	}
	for r, err := range (&Source{Log: l, At: Place{Partition: "tx-orders-0", Broker: 2}}).Everything().Records(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		write(r)
	}
	odd := abcRecord()
	odd.Lost = &Lost{"yes", "all", "unknown", Mark{Duplicate, 4, "content"}}
	write(odd)
	for _, w := range []*Parquet{a, b} {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := parquet.Read[row](bytes.NewReader(plain.Bytes()), int64(plain.Len()))
	if err != nil {
		t.Fatal(err)
	}
	got, err := parquet.Read[redactedRow](bytes.NewReader(hidden.Bytes()), int64(hidden.Len()))
	if err != nil || len(got) != n || len(whole) != n {
		t.Fatalf("%d and %d rows, want %d: %v", len(whole), len(got), n, err)
	}
	size := func(n *int64) int64 { return or(n, -1) }
	length := func(v *[]byte) int64 {
		if v == nil {
			return -1
		}
		return int64(len(*v))
	}
	for i := range got {
		x, y := &whole[i], &got[i]
		if d := cmp.Diff(columns(t, x), columns(t, y)); d != "" {
			t.Fatalf("row %d (-whole +redacted):\n%s", i, d)
		}
		if length(x.Key) != size(y.KeySize) || length(x.Value) != size(y.ValueSize) || len(x.Headers) != len(y.Headers) || (y.KeySize == nil) != (y.KeySHA256 == nil) {
			t.Fatalf("row %d: sizes %d, %d, %d headers", i, size(y.KeySize), size(y.ValueSize), len(y.Headers))
		}
	}
	last := &got[n-1]
	if last.KeySHA256 != nil || or(last.ValueSHA256, "") != abc || string(last.Headers[0].Key) != "trace" || or(last.Headers[0].ValueSHA256, "") != abc || or(last.Headers[1].ValueSHA256, "") != nothing || last.Headers[2].ValueSize != nil {
		said, _ := json.Marshal(last)
		t.Errorf("%s", said)
	}
	f, err := parquet.OpenFile(bytes.NewReader(hidden.Bytes()), int64(hidden.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range f.Schema().Columns() {
		if name := c[len(c)-1]; name == "value" || name == "key" && len(c) == 1 {
			t.Errorf("a column %v", c)
		}
	}
	if _, err := ReadParquet(bytes.NewReader(hidden.Bytes()), int64(hidden.Len())); !errors.Is(err, ErrRedacted) {
		t.Errorf("it is read as if it had values: %v", err)
	}
	if bytes.Contains(hidden.Bytes(), []byte("tx-app-2")) {
		t.Error("a key of the recording is in the file")
	}
}
