package report

import (
	"fmt"
	"slices"
	"strings"

	"kafsck/commitment"
	"kafsck/diff"
	"kafsck/finding"
	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/replica"
)

// Scope counts what was looked at and what was found, for the last line of every
// output.
type Scope struct {
	Brokers, Partitions, Replicas, Segments int
	Batches, Bytes, BytesVerified           int64

	Findings    [finding.Loss + 1]int // facts by severity
	Divergences int                   // those that matter
	Behind      int                   // followers that have not fetched everything: normal
	Losses      map[commitment.Grade]int
	NotJudged   int // partitions of which it cannot be told
	Errors      int
	// MetadataLogs are directories of the cluster's metadata that were read; no count has them.
	MetadataLogs int

	WithoutMetadata int            // partitions without cluster metadata
	Guessed         int            // partitions whose leader is a guess
	Compared        int            // partitions of which at least two live directories were read
	Absent          map[int32]bool // brokers with replicas by the metadata whose disks are not among the inputs
}

// Add counts a partition. absent are the brokers that have a replica of it by
// the metadata and none among the inputs.
func (s *Scope) Add(p *incident.Partition, absent []int32) {
	s.Partitions++
	live := 0
	for _, c := range p.Copies {
		if !isAside(c.State) {
			s.Replicas++
		}
		switch {
		case c.Err != nil: // what could be read of it
			s.Segments += c.Fragments.Segments
			s.Batches += c.Fragments.Batches
			s.Bytes += c.Fragments.Bytes
			s.BytesVerified += c.Fragments.BytesVerified
		case c.Log != nil:
			s.Segments += len(c.Log.Segments)
			s.Batches += c.Log.Batches
			s.Bytes += c.Log.Bytes
			s.BytesVerified += c.Log.BytesVerified
		}
	}
	for _, c := range p.Copies {
		if c.State == replica.Live && c.Err == nil {
			live++
		}
	}
	if live > 1 && !p.Ruling.Removed {
		s.Compared++
	}
	s.AddFindings(p.Findings)
	for i := range p.Divergences {
		switch d := &p.Divergences[i]; {
		case Matters(d):
			s.Divergences++
		case d.Kind == diff.Behind:
			s.Behind++
		}
	}
	if s.Losses == nil {
		s.Losses = map[commitment.Grade]int{}
	}
	for i := range p.Losses {
		s.Losses[p.Losses[i].Committed]++
	}
	if !p.Ruling.Judged {
		s.NotJudged++
	}
	if p.Ruling.Guess {
		s.Guessed++
	}
	if p.Cluster.Metadata == nil {
		s.WithoutMetadata++
	}
	for _, id := range absent {
		if s.Absent == nil {
			s.Absent = map[int32]bool{}
		}
		s.Absent[id] = true
	}
	s.Errors += len(p.Errors)
}

// AddFindings counts findings.
func (s *Scope) AddFindings(list []finding.Finding) {
	for i := range list {
		s.Findings[list[i].Severity] += list[i].Count
	}
}

// Matters reports whether a divergence is more than a normal state of a healthy
// cluster, or of disks copied one after the other.
func Matters(d *incident.Divergence) bool {
	return d.Kind != diff.Behind && d.Kind != diff.Compaction && !d.CopiedLater
}

type summaryLine struct {
	Type          string `json:"type"`
	ExitCode      int    `json:"exitCode"`
	Brokers       int    `json:"brokers"`
	Partitions    int    `json:"partitions"`
	Replicas      int    `json:"replicas"`
	Segments      int    `json:"segments"`
	Batches       int64  `json:"batches"`
	Bytes         int64  `json:"bytes"`
	BytesVerified int64  `json:"bytesVerified"`
	Errors        int    `json:"errors"`
}

type judgedSummaryLine struct {
	summaryLine
	NotJudged   int            `json:"notJudged"`
	Divergences int            `json:"divergences"`
	Losses      map[string]int `json:"losses"`
	Findings    map[string]int `json:"findings"`
}

// Summary ends JSON output. Judged says that partitions were judged, not only
// listed.
func (j *JSON) Summary(s *Scope, exitCode int, judged bool) {
	l := judgedSummaryLine{summaryLine: summaryLine{"summary", exitCode, s.Brokers, s.Partitions, s.Replicas, s.Segments, s.Batches, s.Bytes, s.BytesVerified, s.Errors}}
	if !judged {
		j.Line(l.summaryLine)
		return
	}
	l.NotJudged, l.Divergences, l.Losses, l.Findings = s.NotJudged, s.Divergences, map[string]int{}, map[string]int{}
	for _, g := range []commitment.Grade{commitment.Yes, commitment.Unknown, commitment.No} {
		l.Losses[string(g)] = s.Losses[g]
	}
	for sev, n := range s.Findings {
		l.Findings[finding.Severity(sev).String()] = n
	}
	j.Line(l)
}

type noteLine struct {
	Type    string   `json:"type"`
	Kind    string   `json:"kind"`
	Paths   []string `json:"paths"`
	Message string   `json:"message"`
}

// Notes writes what a reader of the result should know about the inputs.
func (j *JSON) Notes(notes []logdir.Note) {
	for _, n := range notes {
		paths := slices.Clone(n.Paths)
		if paths == nil {
			paths = []string{}
		}
		j.Line(noteLine{"note", n.Kind.String(), paths, n.Text})
	}
}

// checked is the line that states the scope.
func (s *Scope) checked() string { return strings.Join(indented("", s.seen()), "\n") }

func (s *Scope) seen() string {
	line := fmt.Sprintf("Checked: %s, %s, %s, %s, %s, %s", count(s.Brokers, "broker", "brokers"), count(s.Partitions, "partition", "partitions"),
		count(s.Replicas, "replica", "replicas"), count(s.Segments, "segment", "segments"), count(s.Batches, "batch", "batches"), count(s.Bytes, "byte", "bytes"))
	switch rest := s.Bytes - s.BytesVerified; {
	case s.Batches == 0 && s.Partitions == 0 && s.MetadataLogs > 0:
		return line + "; beside these " + count(s.MetadataLogs, "copy of the metadata log", "copies of the metadata log")
	case s.Batches == 0:
		return line
	case rest == 0:
		return line + " (every CRC checked)"
	default:
		return line + fmt.Sprintf(" (every CRC checked; %s not part of any batch)", count(rest, "byte is", "bytes are"))
	}
}
