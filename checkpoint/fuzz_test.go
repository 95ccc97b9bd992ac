package checkpoint

import (
	"bytes"
	"slices"
	"testing"
	"unicode/utf8"

	"kafsck/internal/fixture"
)

func seed(f *testing.F, kind string) {
	for i, v := range readVerdicts(f) {
		if v.kind == kind && i%5 == 0 {
			f.Add(v.content)
		}
	}
	for _, file := range recordedFiles[kind] {
		fixture.Seeds(f, file, func(b []byte) { f.Add(b) })
	}
}

// recordedFiles are the files of each kind that brokers wrote.
var recordedFiles = map[string][]string{
	"epochs":    {"leader-epoch-checkpoint"},
	"offsets":   {"replication-offset-checkpoint", "recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "cleaner-offset-checkpoint"},
	"partition": {"partition.metadata"},
	"meta":      {"meta.properties"},
	"quorum":    {"quorum-state"},
	"clean":     {".kafka_cleanshutdown"},
}

// checkMalformed: what is said about a refusal is bounded and points into the file.
func checkMalformed(t *testing.T, b []byte, m *Malformed) {
	t.Helper()
	if m == nil {
		return
	}
	if m.Line < 1 || m.Line > countLines(b)+1 || len(m.Text) > maxText || m.Reason == "" {
		t.Errorf("malformed: %+v of %d lines", m, countLines(b))
	}
}

func FuzzParseEpochs(f *testing.F) {
	seed(f, "epochs")
	f.Fuzz(func(t *testing.T, b []byte) {
		got := ParseEpochs(b)
		checkMalformed(t, b, got.Malformed)
		if len(got.Entries) > len(b)/3 {
			t.Errorf("%d entries of %d bytes", len(got.Entries), len(b))
		}
		if got.Malformed == nil {
			again := ParseEpochs(FormatEpochs(got.Entries))
			if again.Malformed != nil || !slices.Equal(got.Entries, again.Entries) {
				t.Errorf("%v, again %v %v", got.Entries, again.Entries, again.Malformed)
			}
		}
	})
}

func FuzzParseOffsets(f *testing.F) {
	seed(f, "offsets")
	f.Fuzz(func(t *testing.T, b []byte) {
		got := ParseOffsets(b)
		checkMalformed(t, b, got.Malformed)
		for _, e := range got.Entries {
			if _, ok := got.Lookup(e.Topic, e.Partition); !ok || !utf8.ValidString(e.Topic) {
				t.Errorf("entry %+v", e)
			}
		}
		if got.Malformed == nil {
			again := ParseOffsets(FormatOffsets(got.Entries))
			if again.Malformed != nil && !slices.ContainsFunc(got.Entries, func(e OffsetEntry) bool { return e.Topic == "" }) {
				t.Errorf("again: %v", again.Malformed)
			}
			if again.Malformed == nil && !slices.Equal(got.Entries, again.Entries) {
				t.Errorf("%v, again %v", got.Entries, again.Entries)
			}
		}
	})
}

func FuzzParsePartitionMetadata(f *testing.F) {
	seed(f, "partition")
	f.Fuzz(func(t *testing.T, b []byte) {
		got := ParsePartitionMetadata(b)
		checkMalformed(t, b, got.Malformed)
		if got.Malformed == nil && (got.Version < 0 || got.TopicID.IsZero()) {
			t.Errorf("accepted %+v", got)
		}
	})
}

func FuzzParseMetaProperties(f *testing.F) {
	seed(f, "meta")
	f.Fuzz(func(t *testing.T, b []byte) {
		got := ParseMetaProperties(b)
		checkMalformed(t, b, got.Malformed)
		if got.Malformed == nil && got.Version == 1 && !got.HasNodeID {
			t.Error("accepted version 1 without an id")
		}
	})
}

func FuzzParseQuorumState(f *testing.F) {
	seed(f, "quorum")
	f.Fuzz(func(t *testing.T, b []byte) {
		got := ParseQuorumState(b)
		checkMalformed(t, b, got.Malformed)
		if got.Malformed != nil && !got.Malformed.Unchecked {
			t.Error("no refusal of this file is an IOException")
		}
		if got.Malformed == nil && (got.Version < 0 || got.Version > 1 || !bytes.Contains(b, []byte("{"))) {
			t.Errorf("accepted %+v", got)
		}
	})
}

func FuzzParseCleanShutdown(f *testing.F) {
	seed(f, "clean")
	f.Fuzz(func(t *testing.T, b []byte) {
		got := ParseCleanShutdown(b)
		if got.HasBrokerEpoch && len(b) == 0 {
			t.Error("an empty file has no epoch")
		}
	})
}
