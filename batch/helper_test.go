package batch

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"os"
	"strings"
	"sync"
	"testing"
)

var vectors = sync.OnceValues(func() (map[string][]byte, error) {
	text, err := os.ReadFile("testdata/vectors.txt")
	if err != nil {
		return nil, err
	}
	m := map[string][]byte{}
	for line := range strings.Lines(string(text)) {
		name, digits, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || name == "#" {
			continue
		}
		if m[name], err = hex.DecodeString(digits); err != nil {
			return nil, err
		}
	}
	return m, nil
})

// vector returns a copy of a batch or message that Kafka's own classes wrote.
func vector(t testing.TB, name string) []byte {
	t.Helper()
	m, err := vectors()
	if err != nil {
		t.Fatal(err)
	}
	if m[name] == nil {
		t.Fatalf("no vector %s", name)
	}
	return append([]byte(nil), m[name]...)
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mustView(t testing.TB, raw []byte) View {
	t.Helper()
	v, err := ParseView(raw)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// wrap makes a batch around a payload: offset 0, timestamp 0, no producer.
func wrap(c Codec, count int32, payload []byte) []byte {
	b := make([]byte, HeaderSize, HeaderSize+len(payload))
	b = append(b, payload...)
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-LogOverhead))
	b[16] = 2
	binary.BigEndian.PutUint16(b[21:], uint16(c))
	binary.BigEndian.PutUint32(b[23:], uint32(count-1))
	for i := 43; i < 57; i++ {
		b[i] = 0xff
	}
	binary.BigEndian.PutUint32(b[57:], uint32(count))
	seal(b)
	return b
}

// seal writes the CRC that belongs to b.
func seal(b []byte) {
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
}

// records collects copies of what Records yields, and the error that ends it.
func records(t testing.TB, v View, d *Decompressor) ([]Record, error) {
	t.Helper()
	var all []Record
	var end error
	for rec, err := range v.Records(d) {
		if end != nil {
			t.Fatalf("iteration went on after %v", end)
		}
		if err != nil {
			end = err
			continue
		}
		rec.Key = clone(rec.Key)
		rec.Value = clone(rec.Value)
		headers := rec.Headers
		rec.Headers = nil
		for _, h := range headers {
			rec.Headers = append(rec.Headers, RecordHeader{Key: h.Key, Value: clone(h.Value)})
		}
		all = append(all, rec)
	}
	return all, end
}

// clone keeps the difference between null and empty.
func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}

// wantError checks that err is an *Error of the kind, with text in its message.
func wantError(t testing.TB, err, kind error, text string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, kind) {
		t.Errorf("error %v, want an *Error wrapping %v", err, kind)
		return
	}
	if !strings.Contains(err.Error(), text) {
		t.Errorf("error %q does not say %q", err, text)
	}
}
