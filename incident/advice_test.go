package incident_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"kafsck/finding"
	"kafsck/incident"
	"kafsck/internal/fixture"
)

// only returns the one finding of a code.
func only(t *testing.T, got map[finding.Code][]finding.Finding, code finding.Code) finding.Finding {
	t.Helper()
	if len(got[code]) != 1 {
		t.Fatalf("%d findings %s, want one: %v", len(got[code]), code, got)
	}
	return got[code][0]
}

func claims(f finding.Finding) string {
	var words []string
	for _, e := range f.Evidence {
		words = append(words, e.Claim)
	}
	return strings.Join(words, "\n")
}

func with(tree fstest.MapFS, do change, t *testing.T) fstest.MapFS {
	out := fstest.MapFS{}
	for n, f := range tree {
		out[n] = f
	}
	do(t, out)
	return out
}

// TestAdviceFollowsKafka: what a finding says of a start is what Kafka 4.3.1 did on
// the same directory, and the advice fits it.
func TestAdviceFollowsKafka(t *testing.T) {
	cases := fixture.Tree(t, "cases")
	marker := write(".kafka_cleanshutdown", `{"version":0,"brokerEpoch":-1}`)

	t.Run("torn tail behind a marker", func(t *testing.T) { // the log end falls from 300 to 200
		f := only(t, checked(t, incident.Options{}, with(below(cases, "BR-33a"), marker, t)), "torn-tail")
		if f.Severity != finding.Warning || !strings.Contains(f.Kafka, "the log end may fall to 200") || !strings.HasPrefix(f.Next, "kafsck repair plan cuts") {
			t.Errorf("%+v", f)
		}
	})
	t.Run("less than a header behind a marker", func(t *testing.T) { // the log end stays 300
		f := only(t, checked(t, incident.Options{}, with(below(cases, "BR-33b"), marker, t)), "torn-tail")
		if !strings.Contains(f.Kafka, "The log end is right (300) and no record is lost") || !strings.HasPrefix(f.Next, "kafsck repair plan cuts") {
			t.Errorf("%+v", f)
		}
	})
	t.Run("zeros at the end of a sealed segment", func(t *testing.T) {
		sealed := below(cases, "BR-62/b1")
		bare := func(_ *testing.T, tree fstest.MapFS) { delete(tree, ".kafka_cleanshutdown") }
		scan := func(t *testing.T, tree fstest.MapFS) {
			bare(t, tree)
			write("recovery-point-offset-checkpoint", "0\n1\nkv 0 0\n")(t, tree)
		}
		noIndex := func(_ *testing.T, tree fstest.MapFS) { delete(tree, "kv-0/00000000000000000000.index") }
		for _, tc := range []struct {
			name        string
			do          change
			severity    finding.Severity
			kafka, next string
		}{
			{"marker", func(*testing.T, fstest.MapFS) {}, finding.Warning, "leaves the zeros where they are", "Leave .kafka_cleanshutdown where it is"},                   // the log end stays 300
			{"below the recovery point", bare, finding.Warning, "does not read this segment", "Do not lower or delete the recovery point"},                                // the same
			{"scanned", scan, finding.Damage, "cut the log at offset 100 and delete the 2 segments behind it, with offsets 115–299", "Do not start this broker as it is"}, // the log end falls to 100
			{"without its .index", noIndex, finding.Warning, "keeps what follows", "Nothing for these zeros"},                                                             // §15.1: it is recovered alone
		} {
			f := only(t, checked(t, incident.Options{}, with(sealed, tc.do, t)), "zero-tail")
			if f.Severity != tc.severity || !strings.Contains(f.Kafka, tc.kafka) || !strings.HasPrefix(f.Next, tc.next) {
				t.Errorf("%s: %s: %q, %q", tc.name, f.Severity, f.Kafka, f.Next)
			}
			if strings.Contains(claims(f), "offset") || f.At.From >= 0 || len(f.Ranges) > 0 {
				t.Errorf("%s: no offset is missing on a compacted topic: %+v", tc.name, f)
			}
		}
	})
	t.Run("zeros at the end of the newest segment", func(t *testing.T) { // the start aborts with the marker, and ends at 300 without
		f := only(t, checked(t, incident.Options{}, with(below(cases, "BR-23b"), marker, t)), "zero-tail")
		if !strings.Contains(f.Kafka, "the start aborts") || !strings.HasPrefix(f.Next, "kafsck repair plan cuts the zeros off; with the marker") {
			t.Errorf("%+v", f)
		}
		f = only(t, checked(t, incident.Options{}, with(below(cases, "BR-23b"), func(_ *testing.T, tree fstest.MapFS) { delete(tree, ".kafka_cleanshutdown") }, t)), "zero-tail")
		if !strings.HasPrefix(f.Kafka, "The next start cuts") || !strings.HasPrefix(f.Next, "Nothing for the zeros") {
			t.Errorf("%+v", f)
		}
	})
	t.Run("zeros that begin inside a batch", func(t *testing.T) { // an unclean start ends at 280
		f := only(t, checked(t, incident.Options{}, below(cases, "BR-23a")), "zero-tail")
		if f.At.Position != 18408 || f.At.From != 280 || f.At.To != 300 || !strings.Contains(claims(f), "its log ends at 280") {
			t.Errorf("%+v", f)
		}
	})
	t.Run("old format", func(t *testing.T) { // 4.3.1 keeps the file and its entry
		f := only(t, checked(t, incident.Options{}, below(cases, "BR-06")), "epoch-file-on-legacy-format")
		if !strings.Contains(claims(f), "4.x keeps it") {
			t.Errorf("%+v", f)
		}
	})
	t.Run("a partition listed twice", func(t *testing.T) { // nothing fails
		f := only(t, checked(t, incident.Options{}, below(cases, "BR-41d")), "recovery-point-file-malformed")
		if !strings.HasPrefix(f.Next, "Nothing fails") || strings.Contains(f.Next, "Empty") {
			t.Errorf("%+v", f)
		}
	})
	t.Run("damaged on all replicas", func(t *testing.T) {
		for name, want := range map[string]string{"BR-25a": "No replica among the inputs", "BR-25b": "kafsck repair plan takes"} {
			for _, f := range checked(t, incident.Options{}, below(cases, name))["batch-crc-mismatch"] {
				if !strings.HasPrefix(f.Next, want) {
					t.Errorf("%s: %+v", name, f)
				}
			}
		}
	})
	t.Run("an empty active segment", func(t *testing.T) { // a .timeindex of 0 bytes is no harm
		got := checked(t, incident.Options{FilesOnly: true}, below(cases, "BR-37a"))
		if len(got["zero-capacity-index"]) > 0 {
			t.Errorf("%v", got)
		}
	})
}
