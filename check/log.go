package check

import (
	"fmt"

	"kafsck/finding"
	"kafsck/replica"
)

// Subject is what the rules need to know of a log beyond its facts.
type Subject struct {
	Partition string // "t-0"
	TopicID   string
	Broker    string
	Compacted bool
}

// maxExamples bounds the examples in the evidence of one finding.
const maxExamples = 4

// rule turns anomalies of one kind into one finding.
type rule struct {
	kind     replica.AnomalyKind
	code     finding.Code
	severity func(*replica.Log, Subject) (s finding.Severity, ok bool)
	summary  func(n int) string
	next     string
}

func always(s finding.Severity) func(*replica.Log, Subject) (finding.Severity, bool) {
	return func(*replica.Log, Subject) (finding.Severity, bool) { return s, true }
}

// tailSeverity: after a kill a torn or zero tail is normal, and the next start
// cuts it. With a clean shutdown marker Kafka does not look, so the tail stays
// (LogLoader recovers segments only after an unclean shutdown), which should
// never happen.
func tailSeverity(l *replica.Log, _ Subject) (finding.Severity, bool) {
	if l.State == replica.Live && l.Partition.LogDir.CleanShutdown {
		return finding.Warning, true
	}
	return finding.Note, true
}

// gapSeverity: the cleaner leaves gaps on compacted topics; elsewhere offsets
// are dense (markers of transactions occupy offsets too). Files set aside are
// pieces of a log and may leave gaps between them.
func gapSeverity(l *replica.Log, s Subject) (finding.Severity, bool) {
	if s.Compacted || l.Sparse || l.State != replica.Live && l.State != replica.Future {
		return 0, false
	}
	return finding.Damage, true
}

var rules = []rule{
	{replica.BadChecksum, "batch-crc-mismatch", always(finding.Damage),
		func(n int) string {
			return count(n, "batch has a CRC that does not match its bytes", "batches have CRCs that do not match their bytes")
		},
		"compare with the other replicas (kafsck diff); a broker that recovers this segment cuts the log here"},
	{replica.JunkBytes, "log-bytes-unreadable", always(finding.Damage),
		func(n int) string {
			return count(n, "stretch of bytes is no batch", "stretches of bytes are no batches")
		},
		"compare with the other replicas (kafsck diff); a broker that recovers this segment cuts the log here"},
	{replica.ZeroHole, "log-bytes-zeroed", always(finding.Damage),
		func(n int) string {
			return count(n, "stretch of zero bytes has batches behind it", "stretches of zero bytes have batches behind them")
		},
		"compare with the other replicas (kafsck diff); a broker that recovers this segment cuts the log here"},
	{replica.ZeroTail, "zero-tail", tailSeverity,
		func(n int) string {
			return count(n, "segment ends in zero bytes: preallocated, or not written before a crash", "segments end in zero bytes")
		},
		"nothing to do: an unclean start cuts it"},
	{replica.TornTail, "torn-tail", tailSeverity,
		func(n int) string {
			return count(n, "segment ends in a batch that was not written to its end", "segments end in batches that were not written to their end")
		},
		"nothing to do: an unclean start cuts it"},
	{replica.BaseOutOfLine, "base-offset-out-of-line", always(finding.Damage),
		func(n int) string {
			return count(n, "batch has a base offset that contradicts both neighbours; no CRC covers it", "batches have base offsets that contradict both neighbours; no CRC covers them")
		},
		"compare with the other replicas (kafsck diff)"},
	{replica.EpochOutOfLine, "epoch-out-of-line", always(finding.Damage),
		func(n int) string {
			return count(n, "batch has a leader epoch that no witness supports; no CRC covers it", "batches have leader epochs that no witness supports; no CRC covers them")
		},
		"compare with the other replicas (kafsck diff); do not let this log rebuild leader-epoch-checkpoint"},
	{replica.Backwards, "duplicate-offsets", always(finding.Damage),
		func(n int) string {
			return count(n, "batch starts below the end of the one before it", "batches start below the end of those before them")
		},
		"compare with the other replicas (kafsck diff)"},
	{replica.Gap, "offset-gap", gapSeverity,
		func(n int) string {
			return count(n, "gap in the offsets of a log that is not compacted", "gaps in the offsets of a log that is not compacted")
		},
		"compare with the other replicas (kafsck diff)"},
	{replica.SegmentGap, "segment-gap", gapSeverity,
		func(n int) string {
			return count(n, "gap between the offsets of two segments of a log that is not compacted", "gaps between the offsets of segments of a log that is not compacted")
		},
		"look for the missing segment among set-aside files and on the other replicas (kafsck diff)"},
	{replica.EmbeddedBatch, "embedded-batch", always(finding.Note),
		func(n int) string {
			return count(n, "whole batch lies inside damaged bytes; it is not part of the log", "whole batches lie inside damaged bytes; they are not part of the log")
		},
		"nothing to do"},
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Log judges the anomalies of one log.
func Log(l *replica.Log, s Subject) []finding.Finding {
	var out []finding.Finding
	for _, r := range rules {
		n := l.Anomalies.Counts[r.kind]
		if n == 0 {
			continue
		}
		severity, ok := r.severity(l, s)
		if !ok {
			continue
		}
		if l.State != replica.Live && l.State != replica.Future && severity > finding.Warning {
			severity = finding.Warning // nothing reads these files again but a person
		}
		f := finding.Finding{Code: r.code, Severity: severity, Count: n, Summary: r.summary(n), Next: r.next}
		for _, a := range l.Anomalies.Kept {
			if a.Kind != r.kind {
				continue
			}
			if f.At.File == "" {
				f.At = finding.Location{Partition: s.Partition, TopicID: s.TopicID, Broker: s.Broker, File: l.Segments[a.Segment].Log.Path,
					Position: a.Position, Length: a.Length, From: a.From, To: a.To, Epoch: a.Epoch}
			}
			if len(f.Evidence) < maxExamples {
				f.Evidence = append(f.Evidence, finding.Evidence{Claim: claim(l, a), Want: a.Want, Got: a.Got})
			}
		}
		out = append(out, f)
	}
	return out
}

func claim(l *replica.Log, a replica.Anomaly) string {
	where := fmt.Sprintf("%s position %d, %d bytes", l.Segments[a.Segment].Log.Path, a.Position, a.Length)
	switch {
	case a.From >= 0 && a.To-a.From == 1:
		where += fmt.Sprintf(", offset %d", a.From)
	case a.From >= 0 && a.To > a.From:
		where += fmt.Sprintf(", offsets %d–%d", a.From, a.To-1)
	}
	if a.Detail != "" {
		where += ": " + a.Detail
	}
	return where
}
