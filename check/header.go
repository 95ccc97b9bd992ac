package check

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"

	"kafsck/finding"
	"kafsck/replica"
)

// headerRules judge what the header of a batch claims although its CRC is right.
var headerRules = []rule{
	{replica.HeaderImpossible, is("batch-header-impossible", damage), plural("batch has a header that contradicts itself", "batches have headers that contradict themselves")},
	{replica.AttributesUnknown, is("batch-attributes-unknown", note), plural("batch has attribute bits that Kafka does not use", "batches have attribute bits that Kafka does not use")},
	{replica.TimestampNegative, is("timestamp-negative", warning), plural("batch has a negative timestamp", "batches have negative timestamps")},
}

// defaultRetention is retention.ms where nobody says otherwise: log.retention.hours=168.
const defaultRetention = 7 * 24 * time.Hour

// future judges stamps that lie ahead of the clock. Deletion by time stops at the first
// segment that is too young (UnifiedLog.deleteOldSegments), so all behind it are held too.
func (v *view) future() []finding.Finding {
	n := v.log.Anomalies.Counts[replica.FutureTimestamp]
	if n == 0 {
		return nil
	}
	severity := warning
	if v.s.Compacted || v.log.State != replica.Live && v.log.State != replica.Future || v.s.RetentionMs < 0 {
		severity = note // nothing waits for its time
	}
	var f finding.Finding
	examples := 0
	for _, a := range v.log.Anomalies.Kept {
		if a.Kind != replica.FutureTimestamp {
			continue
		}
		ms, err := strconv.ParseInt(a.Got, 10, 64)
		if err != nil {
			ms = v.log.MaxTimestamp
		}
		where := fmt.Sprintf("%s: largest timestamp %s (%d)", v.file(a), date(ms), ms)
		if a.From >= 0 {
			where = fmt.Sprintf("%s position %d, %s: largest timestamp %s (%d); %s", v.file(a), a.Position, span(a.From, a.To), date(ms), ms, a.Detail)
		}
		if examples++; examples == 1 {
			at := v.s.At(v.file(a))
			at.Position, at.Length, at.From, at.To, at.Epoch = a.Position, a.Length, a.From, a.To, a.Epoch
			f = raise("future-timestamp", severity, at, count(n, "segment has a timestamp in the future", "segments have timestamps in the future"), says("%s", where))
			f.Count = n
			if severity == warning {
				f.Summary += v.heldSince(a.Segment, ms, &f)
			}
			continue
		}
		if examples <= maxExamples {
			f.Evidence = append(f.Evidence, says("%s", where))
		}
	}
	if examples == 0 {
		return nil
	}
	return []finding.Finding{f}
}

// heldSince says until when deletion by time waits for a segment, and what waits with it.
func (v *view) heldSince(segment int, ms int64, f *finding.Finding) string {
	retention, from := v.s.RetentionMs, "retention.ms of the topic is %s"
	if retention == 0 {
		retention, from = defaultRetention.Milliseconds(), "with %s, the default of retention.ms: the topic's is not known"
	}
	waiting := int64(0)
	for _, s := range v.log.Segments[segment:] {
		waiting += s.Log.Size
	}
	release := "the end of time"
	if ms <= math.MaxInt64-retention {
		release = date(ms + retention)
	}
	behind := len(v.log.Segments) - segment - 1
	held := "the segment"
	if behind > 0 {
		held += fmt.Sprintf(" and %s behind it", count(behind, "segment", "segments"))
	}
	f.Evidence = append(f.Evidence, says(from+"; held back: %s; with tiered storage the copies in remote storage wait as well", span64(retention), held))
	return fmt.Sprintf(": deletion by time waits until %s and holds back %s", release, inBytes(waiting))
}

// span64 shows a duration in ms in days where it is whole days.
func span64(ms int64) string {
	const day = 24 * 3600 * 1000
	if ms%day == 0 {
		return count(int(ms/day), "day", "days")
	}
	return humanize.Comma(ms) + " ms"
}

// date shows a timestamp in ms.
func date(ms int64) string {
	t := time.UnixMilli(ms).UTC()
	if t.Year() > 9999 || t.Year() < 0 {
		return fmt.Sprintf("year %d", t.Year())
	}
	return t.Format("2006-01-02 15:04:05Z")
}

// recordsMissing: on a topic that the metadata call not compacted, batches have a record for each
// offset (LogValidator), unless it was compacted once.
func (v *view) recordsMissing() []finding.Finding {
	if !v.log.Sparse || v.s.Compacted || !v.s.PolicyKnown || v.log.State != replica.Live {
		return nil
	}
	return []finding.Finding{raise("records-missing-in-batches", note, v.s.At(v.log.Partition.Dir), "batches have fewer records than offsets, on a topic that is not compacted")}
}
