package incident

import (
	"context"
	"fmt"

	"github.com/dustin/go-humanize"

	"kafsck/batch"
	"kafsck/check"
	"kafsck/replica"
)

// Looking for the bit that explains a CRC mismatch costs a second reading of the
// damaged batches, at most these many of each log.
const (
	maxExplained      = 64
	maxExplainedBytes = 64 << 20
)

// explainChecksums looks for a single flipped bit behind each CRC mismatch, and
// tells batches of which only the magic byte is wrong from the others.
func explainChecksums(ctx context.Context, l *replica.Log) error {
	if l.Anomalies.Counts[replica.BadChecksum] == 0 {
		return nil
	}
	tried, bytes := 0, int64(0)
	for i := range l.Anomalies.Kept {
		a := &l.Anomalies.Kept[i]
		if a.Kind != replica.BadChecksum || a.Detail != "" {
			continue
		}
		if bytes+a.Length > maxExplainedBytes {
			continue
		}
		if tried++; tried > maxExplained || ctx.Err() != nil {
			break
		}
		bytes += a.Length
		raw, err := l.ReadRaw(a.Segment, a.Position, a.Length, nil)
		if err != nil {
			return err
		}
		explainChecksum(l, a, raw)
	}
	return ctx.Err()
}

func explainChecksum(l *replica.Log, a *replica.Anomaly, raw []byte) {
	flip, ok := batch.FindFlip(raw)
	if len(raw) >= batch.HeaderSize && raw[16] == 2 {
		v, _ := batch.ParseView(raw) // a wrong length is told below
		a.Want, a.Got = fmt.Sprintf("0x%08x", v.ComputedCRC()), fmt.Sprintf("0x%08x", v.CRC)
	}
	switch {
	case ok:
		a.Detail = fmt.Sprintf("one flipped bit explains it: position %d, bit %d of %s", a.Position+flip.Position, flip.Bit, place(raw, flip))
		return
	case len(raw) < batch.HeaderSize:
		return
	}
	v, _ := batch.ParseView(raw) // what it refuses is what is asked for here
	whole := v.CRC == v.ComputedCRC()
	switch {
	case whole && v.Magic > 2:
		l.Anomalies.Counts[a.Kind]--
		a.Kind = check.UnknownMagic
		l.Anomalies.Counts[a.Kind]++
		a.Want, a.Got = "magic 2", fmt.Sprintf("magic %d at position %d", v.Magic, a.Position+16)
	case whole && v.Size() != int64(len(raw)):
		a.Detail = fmt.Sprintf("the length field at position %d is wrong, the rest is whole", a.Position+8)
		a.Want, a.Got = fmt.Sprint(len(raw)-batch.LogOverhead), fmt.Sprint(v.Length)
	}
}

// place names what a flipped bit belongs to.
func place(raw []byte, f batch.Flip) string {
	switch {
	case f.Field == "records":
		return fmt.Sprintf("the records, %s bytes behind the header", humanize.Comma(f.Position-batch.HeaderSize))
	case f.Field == "crc":
		return "the stored CRC itself"
	}
	return f.Field
}
