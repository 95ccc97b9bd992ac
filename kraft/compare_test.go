package kraft

import (
	"bytes"
	"path"
	"strings"
	"testing"

	"kafsck/internal/fixture"
)

// TestCompareSnapshots: every snapshot that a real node wrote is what its log tells up to there, and
// bootstrap.checkpoint is whole. One record changed with a right CRC (BR-77) shows in the snapshot
// behind it.
func TestCompareSnapshots(t *testing.T) {
	copies, compared := 0, 0
	for _, name := range []string{"metadata", "kraft39-unclean-election", "reassigned-dirs", "tiered", "cases"} {
		inputs := map[string]*Input{}
		for file, f := range fixture.Tree(t, name) {
			dir, base := path.Split(file)
			if !strings.HasSuffix(dir, "/__cluster_metadata-0/") {
				if base == "bootstrap.checkpoint" {
					if bad, err := VerifySnapshot(File{base, bytes.NewReader(f.Data), int64(len(f.Data))}); err != nil || len(bad) > 0 {
						t.Errorf("%s: %v %v", file, bad, err)
					}
				}
				continue
			}
			if inputs[dir] == nil {
				inputs[dir] = &Input{}
			}
			x := File{base, bytes.NewReader(f.Data), int64(len(f.Data))}
			switch {
			case strings.HasSuffix(base, ".log"):
				inputs[dir].Logs = append(inputs[dir].Logs, x)
			case strings.HasSuffix(base, ".checkpoint"):
				inputs[dir].Snapshots = append(inputs[dir].Snapshots, x)
			}
		}
		for dir, in := range inputs {
			copies++
			if len(in.Snapshots) > 1 {
				compared++
			}
			got, err := CompareSnapshots(*in)
			switch {
			case err != nil:
				t.Errorf("%s: %v", dir, err)
			case dir == "BR-77/b2/__cluster_metadata-0/":
				if len(got) != 1 || got[0].EndOffset != 611 || got[0].Count != 1 || got[0].Examples[0] != "topic-m-0: ELR 16777217 by the log, 1 by the snapshot" {
					t.Errorf("%s: %+v", dir, got)
				}
			case len(got) > 0:
				t.Errorf("%s: %+v", dir, got)
			}
		}
	}
	if copies < 20 || compared < 8 {
		t.Errorf("only %d copies, %d of them with several snapshots", copies, compared)
	}
}

// FuzzCompareSnapshots: whatever the bytes are, a comparison and a verification end, a snapshot that
// is not whole is never compared, and what is whole by itself is found to be.
func FuzzCompareSnapshots(f *testing.F) {
	tree := fixture.Tree(f, "cases")
	node := "BR-79c/__cluster_metadata-0/"
	f.Add(tree[node+"00000000000000000523.log"].Data, tree[node+"00000000000000000534-0000000002.checkpoint"].Data, tree[node+"00000000000000000611-0000000002.checkpoint"].Data)
	f.Add(tree[node+"00000000000000000568.log"].Data, tree["BR-79c/bootstrap.checkpoint"].Data, []byte{})
	f.Fuzz(func(t *testing.T, log, older, newer []byte) {
		file := func(name string, b []byte) File { return File{name, bytes.NewReader(b), int64(len(b))} }
		got, err := CompareSnapshots(Input{
			Logs:      []File{file("00000000000000000523.log", log)},
			Snapshots: []File{file("00000000000000000534-0000000002.checkpoint", older), file("00000000000000000611-0000000002.checkpoint", newer)},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range got {
			content := map[int64][]byte{534: older, 611: newer}[d.EndOffset]
			if bad, err := VerifySnapshot(file(d.Name, content)); err != nil || len(bad) > 0 {
				t.Fatalf("%s was compared, and is not whole: %v %v", d.Name, bad, err)
			}
			if d.Count < len(d.Examples) || len(d.Examples) == 0 || len(d.Examples) > maxSnapshotExamples {
				t.Fatalf("%+v", d)
			}
		}
	})
}
