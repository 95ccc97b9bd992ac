package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"kafsck/finding"
)

func checkText(t *testing.T, c *Check) string {
	t.Helper()
	c.Paths = &Paths{Again: func(verb string, extra ...string) string { return "kafsck " + verb + " x" }}
	c.Scope = &Scope{Brokers: 1, Partitions: 12, Replicas: 12, Segments: 12, Batches: 3, Bytes: 100, BytesVerified: 100}
	var b bytes.Buffer
	if err := c.Print(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func noteOn(partition string) finding.Finding {
	return finding.Finding{Code: "index-not-trimmed", Severity: finding.Note, Count: 2, Summary: "2 index files have their preallocated size", Next: "Nothing.",
		At: finding.Location{Partition: partition, Broker: "1", File: partition + "/x.index", Position: 0, Length: -1, From: -1, To: -1, Epoch: -1}}
}

// The same harmless fact on twelve partitions is one line, and counts as twelve in both
// lines: what is counted is findings, not the files that each is about.
func TestCheckGroups(t *testing.T) {
	c := &Check{Level: LevelBatches}
	for i := range 12 {
		p := fmt.Sprintf("orders-%d", i)
		c.Findings(p, []finding.Finding{noteOn(p)})
	}
	got := checkText(t, c)
	want := `OK       nothing is damaged; 12 notes on what is normal or harmless
note     12 × index-not-trimmed: orders-0 on broker 1, orders-1 on broker 1, orders-2 on broker 1 and 9 more

kafsck explain index-not-trimmed tells more of a code.
Checked: 1 broker, 12 partitions, 12 replicas, 12 segments, 3 batches, 100 bytes (every CRC checked); records
inside batches were not decoded (--level records)
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The worst comes first, many of one code are cut with the command that has all,
// and control bytes of a damaged file do not reach the terminal.
func TestCheckOrder(t *testing.T) {
	c := &Check{Level: LevelRecords}
	c.Findings("t-0", []finding.Finding{noteOn("t-0")})
	for i := range 9 {
		p := fmt.Sprintf("t-%d", i)
		c.Findings(p, []finding.Finding{{Code: "epoch-file-malformed", Severity: finding.Damage, Count: 1, Summary: "cannot be parsed", Kafka: "Stops.", Next: "Repair it.",
			At:       finding.Location{Partition: p, Broker: "1", File: p + "/leader-epoch-checkpoint", Position: -1, Length: -1, From: -1, To: -1, Epoch: -1},
			Evidence: []finding.Evidence{{Claim: "line 1", Got: "\x00\x1b[2J"}}}})
	}
	c.Findings("", []finding.Finding{{Code: "log-start-beyond-end", Severity: finding.Loss, Count: 1, Summary: "deletes all", Next: "Lower it.",
		At: finding.Location{Partition: "t-0", Broker: "2", Position: -1, Length: -1, From: 0, To: 300, Epoch: -1}}})
	got := checkText(t, c)
	if !strings.HasPrefix(got, "10 findings: 1 loss, 9 damage, and 1 note\n") {
		t.Errorf("verdict:\n%s", got)
	}
	at := -1
	for _, s := range []string{"LOSS     log-start-beyond-end\n", "t-0 on broker 2: deletes all\n", "DAMAGE   epoch-file-malformed, 9 findings\n", "t-4 on broker 1: cannot be parsed\n",
		"… and 4 more: kafsck check x\n", "Kafka  Stops.\n", "do     Repair it.\n", "note     index-not-trimmed", "kafsck explain log-start-beyond-end", "record"} {
		i := strings.Index(got, s)
		if i <= at {
			t.Errorf("%q is not where it should be:\n%s", s, got)
		}
		at = i
	}
	if strings.ContainsAny(got, "\x00\x1b") {
		t.Errorf("control bytes: %q", got)
	}
}

// One finding about many places shows some of each log, says how many more there are and how to see
// them, and who has them whole; what a plan mends leads to it.
func TestCheckPlaces(t *testing.T) {
	c := &Check{Level: LevelBatches}
	for i := range 2 {
		f := finding.Finding{Code: "batch-crc-mismatch", Severity: finding.Damage, Count: 20, Summary: "20 batches are bad", Next: "Plan.",
			At: finding.Location{Partition: "t-0", Broker: fmt.Sprint(i + 1), File: "x.log", Position: 0, Length: -1, From: 0, To: 10, Epoch: -1}}
		for k := range 16 {
			f.Evidence = append(f.Evidence, finding.Evidence{Claim: fmt.Sprintf("x.log position %d", k)})
			f.Ranges = append(f.Ranges, finding.Range{From: int64(10 * k), To: int64(10*k + 10)})
		}
		f.Evidence = append(f.Evidence, finding.Evidence{Claim: fmt.Sprintf("offsets 0–159: whole on broker %d", 3+i)})
		c.Findings("t-0", []finding.Finding{f})
	}
	got := checkText(t, c)
	for _, want := range []string{"x.log position 3\n           … and 16 more: kafsck check x names 16 of the 20\n           offsets 0–159: whole on broker 3\n",
		"x.log position 1\n           … and 18 more: kafsck check x names 16 of the 20\n           offsets 0–159: whole on broker 4\n",
		"\nNext: kafsck repair x\n      or, for the longest good log out of several damaged ones: kafsck salvage x\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing:\n%s", want, got)
		}
	}
	if !strings.HasSuffix(got, "kafsck salvage x\n") {
		t.Errorf("the next command is not the last line:\n%s", got)
	}
}

// Advice that differs between the findings of a code stands with each of them.
func TestCheckAdvice(t *testing.T) {
	c := &Check{Level: LevelBatches}
	for i, next := range []string{"Copy it.", "Nothing can repair it."} {
		p := fmt.Sprintf("t-%d", i)
		c.Findings(p, []finding.Finding{{Code: "batch-crc-mismatch", Severity: finding.Damage, Count: 1, Summary: "1 batch is bad", Next: next,
			At: finding.Location{Partition: p, Position: -1, Length: -1, From: -1, To: -1, Epoch: -1}}})
	}
	got := checkText(t, c)
	for _, want := range []string{"t-0: 1 batch is bad\n           do     Copy it.\n", "t-1: 1 batch is bad\n           do     Nothing can repair it.\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing:\n%s", want, got)
		}
	}
}

// The last line does not claim that every record was decoded beside a finding that
// says of some that they were not.
func TestCheckUndecoded(t *testing.T) {
	for code, all := range map[finding.Code]bool{
		"index-not-trimmed": true, "max-timestamp-mismatch": true,
		"records-not-decoded": false, "inner-record-invalid": false, "batch-crc-mismatch": false, "batch-codec-unknown": false,
	} {
		f := noteOn("orders-0")
		f.Code = code
		c := &Check{Level: LevelRecords}
		c.Findings("orders-0", []finding.Finding{f})
		got := strings.Join(strings.Fields(checkText(t, c)), " ")
		if !strings.Contains(got, "; every record decoded") || strings.Contains(got, "decoded except those of batches named above") == all {
			t.Errorf("%s: got\n%s", code, got)
		}
	}
}
