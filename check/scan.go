package check

import (
	"fmt"
	"strings"

	"kafsck/finding"
	"kafsck/logdir"
)

// toScan is what an unclean start reads of one partition.
type toScan struct {
	dir      *logdir.Partition
	segments int
	bytes    int64
}

// recoveryScan tells how much the next start reads before it serves anything: without
// .kafka_cleanshutdown every log is recovered from the segment that holds its recovery point on
// (LogLoader.recoverLog). The active segments alone are what every unclean start reads, so that
// nothing is said of them.
func recoveryScan(d *logdir.LogDir, s Subject, match Match) []finding.Finding {
	if d.CleanShutdown || d.Bare || d.Partial || d.Incomplete {
		return nil
	}
	var all []toScan
	sum, sealed := toScan{}, 0
	for _, p := range d.Partitions {
		if p.State == logdir.Delete || !match.takes(p.Topic, p.Partition) {
			continue
		}
		x := scanOf(d, p)
		if x.segments == 0 {
			continue
		}
		all = append(all, x)
		sum.segments += x.segments
		sum.bytes += x.bytes
		sealed += x.segments - 1
	}
	if sealed == 0 {
		return nil
	}
	worst := all[0]
	for _, x := range all {
		if x.bytes > worst.bytes {
			worst = x
		}
	}
	file := d.Path
	if d.RecoveryPoints != nil {
		file = d.RecoveryPoints.File.Path
	}
	f := raise("recovery-will-scan", note, s.At(file), fmt.Sprintf("the next start reads %s in %s of %s before it serves them: .kafka_cleanshutdown is not there",
		size(sum.bytes), count(sum.segments, "segment", "segments"), count(len(all), "partition", "partitions")))
	f.Evidence = append(f.Evidence, says("most of it in %s: %s in %s, from its recovery point %d on", worst.dir.Dir, size(worst.bytes), count(worst.segments, "segment", "segments"), recoveryPoint(d, worst.dir)))
	switch {
	case d.RecoveryPoints == nil:
		f.Evidence = append(f.Evidence, says("recovery-point-offset-checkpoint is missing: every recovery point counts as 0"))
	case d.RecoveryPoints.Malformed != nil:
		f.Evidence = append(f.Evidence, says("%s is refused: every recovery point counts as 0", d.RecoveryPoints.File.Path))
	}
	return []finding.Finding{f}
}

// recoveryPoint is the line of a partition as a start takes it: 0 without one.
func recoveryPoint(d *logdir.LogDir, p *logdir.Partition) int64 {
	v, _ := d.RecoveryPoints.Line(p)
	return v
}

// scanOf counts the segments from the one that holds the recovery point on.
func scanOf(d *logdir.LogDir, p *logdir.Partition) toScan {
	x, from := toScan{dir: p}, recoveryPoint(d, p)
	for i := len(p.Segments) - 1; i >= 0; i-- {
		seg := p.Segments[i]
		if seg.Log == nil || seg.Suffix != logdir.NoSuffix {
			continue
		}
		x.segments++
		x.bytes += max(seg.Log.Size, 0)
		if seg.BaseOffset <= from {
			break
		}
	}
	return x
}

// size shows bytes for people, with the binary units that Kafka's configuration uses.
func size(n int64) string {
	if n < 10<<10 {
		return inBytes(n)
	}
	v, unit := float64(n), 0
	for v >= 1024 && unit < 5 {
		v, unit = v/1024, unit+1
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") + " " + []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}[unit]
}
