package check

import (
	"cmp"
	"fmt"

	"github.com/dustin/go-humanize"

	"kafsck/checkpoint"
	"kafsck/finding"
)

// Subject is what the rules need to know of a log beyond its facts.
type Subject struct {
	Partition string // "t-0"
	TopicID   string
	Broker    string
	Compacted bool
	// PolicyKnown: cluster metadata name the cleanup policy; else Compacted is concluded from the files.
	PolicyKnown bool
	// RetentionMs is the topic's retention.ms by the cluster metadata, -1 for ever, 0 unknown.
	RetentionMs int64
}

// At makes a place of which nothing but the names is known.
func (s Subject) At(file string) finding.Location {
	return finding.Location{Partition: s.Partition, TopicID: s.TopicID, Broker: s.Broker, File: file, Position: -1, Length: -1, From: -1, To: -1, Epoch: -1}
}

// raise makes a finding of the table's code. The severity must be one that the
// table gives, so that what is documented is what is raised.
func raise(code finding.Code, severity finding.Severity, at finding.Location, summary string, evidence ...finding.Evidence) finding.Finding {
	return finding.Finding{Code: code, Severity: severity, At: at, Count: 1, Summary: summary, Evidence: evidence, Next: Next(code)}
}

// Next is what to do about a code, as a finding says it.
func Next(code finding.Code) string {
	c, ok := Lookup(code)
	if !ok {
		panic(fmt.Sprintf("check: code %q is not in the table", code))
	}
	return c.Do
}

// says is a piece of evidence without a comparison.
func says(format string, args ...any) finding.Evidence {
	return finding.Evidence{Claim: fmt.Sprintf(format, args...)}
}

// badLine shows the line at which Kafka refuses a file.
func badLine(path string, m *checkpoint.Malformed) finding.Evidence {
	return finding.Evidence{Claim: fmt.Sprintf("%s line %d", path, m.Line), Got: cmp.Or(m.Text, "(nothing)")}
}

// count says how many, "1 segment" or "2,997 segments".
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return humanize.Comma(int64(n)) + " " + many
}

// inBytes says how many, "69,030 bytes".
func inBytes(n int64) string {
	if n == 1 {
		return "1 byte"
	}
	return humanize.Comma(n) + " bytes"
}

// span names the offsets [from, to), shown inclusively.
func span(from, to int64) string {
	if to <= from+1 {
		return fmt.Sprintf("offset %d", from)
	}
	return fmt.Sprintf("offsets %d–%d", from, to-1)
}
