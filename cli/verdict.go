package cli

import (
	"iter"
	"maps"
	"slices"
	"strconv"

	"kafsck/finding"
	"kafsck/incident"
	"kafsck/report"
)

// divergenceBits: any difference but a follower merely behind, cleaning at
// different times, and a disk copied later.
func divergenceBits(p *incident.Partition) int {
	for i := range p.Divergences {
		if report.Matters(&p.Divergences[i]) {
			return exitFindings
		}
	}
	return 0
}

// lossBits: any loss graded yes or unknown; where nobody leads, one under every replica
// that can be elected. Where one of those is not among the inputs it cannot be told.
func lossBits(p *incident.Partition) int {
	for i := range p.Losses {
		if p.Losses[i].Counts() {
			return exitFindings
		}
	}
	switch {
	case !report.AllLose(p):
		return 0
	case len(report.EligibleElsewhere(p)) > 0:
		return exitIncomplete
	}
	return exitFindings
}

// findingBits: any finding at or above a severity.
func findingBits(p *incident.Partition, failOn finding.Severity) int {
	return listBits(p.Findings, failOn)
}

func listBits(list []finding.Finding, failOn finding.Severity) int {
	for i := range list {
		if list[i].Severity >= failOn {
			return exitFindings
		}
	}
	return 0
}

// undecodedBits: batches that decompress to more than is decoded. What their records are is not
// known, so that a check that was asked to read every record is not complete.
func undecodedBits(p *incident.Partition) int {
	for i := range p.Findings {
		if p.Findings[i].Code == "records-not-decoded" {
			return exitIncomplete
		}
	}
	return 0
}

// judgedBits: a partition of which it cannot be told.
func judgedBits(p *incident.Partition) int {
	if !p.Ruling.Judged {
		return exitIncomplete
	}
	return 0
}

func itoa(n int32) string { return strconv.Itoa(int(n)) }

// sorted iterates over a map in the order of its keys.
func sorted[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}
