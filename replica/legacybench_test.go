package replica

import (
	"testing"

	"kafsck/internal/logtest"
)

// legacyLog is a log of magic 1: single messages, or wrappers of 20.
func legacyLog(size int, codec logtest.Codec) []byte {
	value := make([]byte, 130)
	var out []byte
	for o := int64(0); len(out) < size; {
		var list []logtest.Message
		for range 20 {
			list = append(list, logtest.Message{Magic: 1, Offset: o, Timestamp: o, Key: []byte("key"), Value: value})
			o++
		}
		if codec != logtest.None {
			out = append(out, logtest.Wrapper(codec, list...).Encode()...)
			continue
		}
		for _, m := range list {
			out = append(out, m.Encode()...)
		}
	}
	return out
}

func BenchmarkReadLegacySingle(b *testing.B)    { benchRead(b, legacyLog(16<<20, logtest.None)) }
func BenchmarkReadLegacyWrapper(b *testing.B)   { benchRead(b, legacyLog(4<<20, logtest.LZ4)) }
func BenchmarkRecordsLegacySingle(b *testing.B) { benchRecords(b, legacyLog(16<<20, logtest.None)) }
func BenchmarkRecordsLegacyWrapper(b *testing.B) {
	benchRecords(b, legacyLog(1<<20, logtest.LZ4))
}

// TestLegacyAllocations: no allocation per message in a pass over a log of magic 1.
func TestLegacyAllocations(t *testing.T) {
	data := legacyLog(1<<20, logtest.None)
	messages := len(data) / 167
	src := benchSource(t, data)
	n := testing.AllocsPerRun(2, func() {
		if l, err := Read(t.Context(), src, Options{}); err != nil || l.Batches < int64(messages) {
			t.Fatal(err)
		}
	})
	if n > float64(messages)/10 {
		t.Errorf("%v allocations for %d messages", n, messages)
	}
}
