package incident_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"kafsck/incident"
	"kafsck/internal/fixture"
	"kafsck/logdir"
)

const metadataLog = "/__cluster_metadata-0/00000000000000000000.log"

// TestOlderCopyReachesBack: brokers 2 and 3 of unclean-election/stage-b have dropped the
// beginning of their metadata logs, broker 1's copy ends at 78 and has it. The answer is
// that of the whole recording: the ISR of offset 61 proves the loss.
func TestOlderCopyReachesBack(t *testing.T) {
	whole := below(fixture.Tree(t, "unclean-election"), "stage-b")
	want := stories(t, incident.Options{}, whole)["unclean-demo-0"]
	const from = "00000000000000000070"
	short := func(brokers ...string) fstest.MapFS {
		tree := below(fixture.Tree(t, "unclean-election"), "stage-b")
		for _, b := range brokers {
			data := string(tree[b+metadataLog].Data)
			f := *tree[b+metadataLog]
			f.Data = []byte(strings.TrimPrefix(data, cutAt(t, data, 70)))
			delete(tree, b+metadataLog)
			tree[b+strings.Replace(metadataLog, "00000000000000000000", from, 1)] = &f
		}
		return tree
	}
	got := stories(t, incident.Options{}, short("broker-2", "broker-3"))["unclean-demo-0"]
	if a, b := lossLines(got.Losses, true), lossLines(want.Losses, true); a != b || !strings.Contains(a, "isr-history") {
		t.Errorf("joined: %s\nwhole: %s", a, b)
	}
	var sources []string
	for _, l := range got.Losses {
		for _, e := range l.Evidence {
			sources = append(sources, e.Source)
		}
	}
	const joined = "the metadata log joined from 2 copies: broker 2's metadata log (broker-2/__cluster_metadata-0), broker 1's metadata log (broker-1/__cluster_metadata-0), metadata offset 61"
	if !slices.Contains(sources, joined) {
		t.Errorf("sources %q", sources)
	}
	// Nobody has the beginning: nothing is proved by an ISR that no copy tells.
	tree := short("broker-2", "broker-3")
	delete(tree, "broker-1"+metadataLog)
	if s := lossLines(stories(t, incident.Options{}, tree)["unclean-demo-0"].Losses, true); strings.Contains(s, "isr-history") {
		t.Errorf("without broker 1's copy: %s", s)
	}
}

// TestMetadataOfRecordings: both copies begin with a snapshot, and node 1's is the newest
// (expected.json); with the files that Kafka has set aside, .deleted, the records go back
// to offset 0 without a gap.
func TestMetadataOfRecordings(t *testing.T) {
	for name, end := range map[string]int64{"kafka-3.9.2": 472, "kafka-4.3.1": 503} {
		inc := openCase(t, incident.Options{}, below(fixture.Tree(t, "metadata"), name+"/stage2-clean"))
		m := inc.Clusters[0].Metadata
		if m.StartOffset != 0 || m.SnapshotEnd != -1 || m.EndOffset != end || len(m.Gaps) > 0 || len(inc.Notes) > 0 || len(inc.Errors) > 0 {
			t.Errorf("%s: offsets %d to %d, gaps %v, notes %v, errors %v", name, m.StartOffset, m.EndOffset, m.Gaps, inc.Notes, inc.Errors)
		}
	}
}

// TestForkedMetadata: broker 1's copy is that of another cluster. The newest copy counts
// alone, as if broker 1 had none, and a note says so.
func TestForkedMetadata(t *testing.T) {
	tree := below(fixture.Tree(t, "unclean-election"), "stage-b")
	tree["broker-1"+metadataLog] = below(fixture.Tree(t, "divergence"), "stage-b")["broker-1"+metadataLog]
	inc := openCase(t, incident.Options{}, tree)
	i := slices.IndexFunc(inc.Notes, func(n logdir.Note) bool { return n.Kind == logdir.NoteMetadata })
	if i < 0 || !strings.Contains(inc.Notes[i].Text, `broker 1's ("broker-1/__cluster_metadata-0") parts from the others at metadata offset `) {
		t.Errorf("notes %v", inc.Notes)
	}
	const newest = "broker 2's metadata log (broker-2/__cluster_metadata-0)"
	if m := inc.Clusters[0].Metadata; m.EndOffset != 215 || len(m.Gaps) > 0 || inc.Clusters[0].MetadataFrom != newest {
		t.Errorf("%d, %v, %s", m.EndOffset, m.Gaps, inc.Clusters[0].MetadataFrom)
	}
	// Copies that are only of different ages do not part.
	if inc := openCase(t, incident.Options{}, below(fixture.Tree(t, "unclean-election"), "stage-b")); len(inc.Notes) > 0 {
		t.Errorf("notes %v", inc.Notes)
	}
}

// TestDamageFilledFromAnotherCopy: what is damaged in the newest copy is taken from another.
func TestDamageFilledFromAnotherCopy(t *testing.T) {
	whole := below(fixture.Tree(t, "unclean-election"), "stage-b")
	want := stories(t, incident.Options{}, whole)["unclean-demo-0"]
	tree := below(fixture.Tree(t, "unclean-election"), "stage-b")
	for _, b := range []string{"broker-2", "broker-3"} {
		changed(t, tree, b+metadataLog, func(s string) string {
			at := len(cutAt(t, s, 61))
			return s[:at+40] + "\xff\xff\xff\xff" + s[at+44:]
		})
	}
	got := stories(t, incident.Options{}, tree)["unclean-demo-0"]
	if a, b := lossLines(got.Losses, true), lossLines(want.Losses, true); a != b {
		t.Errorf("joined: %s\nwhole: %s", a, b)
	}
}
