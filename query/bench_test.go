package query

import "testing"

// BenchmarkMatch is the time for a batch or record, once its condition is compiled.
func BenchmarkMatch(b *testing.B) {
	for _, bm := range []struct {
		name, text string
		line       *Line
	}{
		{"three", `epoch == 7 && codec == "zstd" && offset >= 1000`, aBatch()},
		{"offset", `offset >= 1000`, aBatch()},
		{"producer", `producerId == 4000 && transactional`, aBatch()},
		{"time", `time > "2026-10-29T12:00Z"`, aBatch()},
		{"value", `value contains "amount"`, aRecord()},
		{"metadata", `metadata.data.partitionId == 3`, aRecord()},
	} {
		b.Run(bm.name, func(b *testing.B) {
			c, err := Compile(bm.text, DumpKinds)
			if err != nil {
				b.Fatal(err)
			}
			m := c.Matcher()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				bm.line.Frame.Batch.Header.BaseOffset = int64(1000 + i)
				bm.line.Frame.Batch.Header.MaxTimestamp++
				if !m.Match(bm.line) {
					b.Fatal("no match")
				}
			}
		})
	}
}
