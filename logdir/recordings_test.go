package logdir

import (
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kafsck/internal/rofs"
)

// expectedReplicas reads partition, broker, state and directory of every replica, by stage.
func expectedReplicas(t *testing.T) map[string][]string {
	f, err := os.Open("testdata/replicas.txt")
	must(t, err)
	defer f.Close()
	want := map[string][]string{}
	stage := ""
	for sc := lineScanner(f); sc.Scan(); {
		if s, ok := strings.CutPrefix(sc.Text(), "== "); ok {
			stage = s
			continue
		}
		want[stage] = append(want[stage], sc.Text())
	}
	return want
}

// TestRecordedReplicas: every recorded stage has exactly the replicas that expected.json names.
func TestRecordedReplicas(t *testing.T) {
	want := expectedReplicas(t)
	for _, r := range recordings(t) {
		c, err := DiscoverFS(rofs.FromFS(r.tree), path.Base(r.name), Options{})
		must(t, err)
		var got []string
		for p := range c.AllPartitions() {
			got = append(got, strings.Join([]string{p.Name(), p.LogDir.Broker.String(), p.State.String(), p.Dir}, " "))
		}
		slices.Sort(got)
		slices.Sort(want[r.name])
		if diff := cmp.Diff(want[r.name], got); diff != "" {
			t.Errorf("%s: replicas (-want +got):\n%s", r.name, diff)
		}
		if len(c.Errors)+len(c.Notes)+len(c.Unknown) > 0 {
			t.Errorf("%s: a real broker's directory must raise nothing:\n%s", r.name, summary(c))
		}
		for _, b := range c.Brokers {
			if b.IDSource != "meta.properties" {
				t.Errorf("%s: broker %s known by %s", r.name, b, b.IDSource)
			}
		}
	}
}

// TestRecordedFiles: every file is in exactly one place, and each segment's files have its base
// offset in their names.
func TestRecordedFiles(t *testing.T) {
	for _, r := range recordings(t) {
		c, err := DiscoverFS(rofs.FromFS(r.tree), "x", Options{})
		must(t, err)
		got := map[string][]string{}
		for _, b := range c.Brokers {
			for _, d := range b.Dirs {
				for f := range d.AllFiles() {
					got[path.Dir(f.Path)] = append(got[path.Dir(f.Path)], f.Name)
				}
				parts := slices.Clone(d.Partitions)
				if d.Metadata != nil {
					parts = append(parts, d.Metadata)
				}
				for _, p := range parts {
					for f := range p.AllFiles() {
						got[p.Dir] = append(got[p.Dir], f.Name)
					}
					checkPlaces(t, r, p)
				}
			}
		}
		for dir, files := range r.files {
			slices.Sort(files)
			if diff := cmp.Diff(files, got[dir]); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", r.name, dir, diff)
			}
			delete(got, dir)
		}
		for dir := range got {
			t.Errorf("%s: %s is not in the recording", r.name, dir)
		}
	}
}

func checkPlaces(t *testing.T, r recording, p *Partition) {
	t.Helper()
	places := map[string]int{}
	count := func(files ...*File) {
		for _, f := range files {
			if f != nil {
				places[f.Name]++
			}
		}
	}
	logs := 0
	for _, s := range p.Segments {
		count(s.Log, s.Index, s.TimeIndex, s.TxnIndex, s.Snapshot)
		if s.Log != nil {
			logs++
		}
		for _, f := range []*File{s.Log, s.Index, s.TimeIndex, s.TxnIndex, s.Snapshot} {
			if f == nil {
				continue
			}
			if n, err := strconv.ParseInt(f.Name[:20], 10, 64); err != nil || n != s.BaseOffset {
				t.Errorf("%s: %s is in segment %d", r.name, f.Path, s.BaseOffset)
			}
		}
	}
	count(p.EpochsFile, p.MetaFile, p.QuorumStateFile)
	count(p.Snapshots...)
	count(p.DeletedSnapshots...)
	count(p.Unknown...)
	wantLogs := 0
	for _, f := range r.files[p.Dir] {
		if places[f] != 1 {
			t.Errorf("%s: %s/%s is in %d places", r.name, p.Dir, f, places[f])
		}
		if strings.HasSuffix(strings.TrimSuffix(strings.TrimSuffix(f, ".deleted"), ".swap"), ".log") {
			wantLogs++
		}
	}
	if logs != wantLogs {
		t.Errorf("%s: %s has %d segments with a .log, want %d", r.name, p.Dir, logs, wantLogs)
	}
	if len(p.Unknown) > 0 {
		t.Errorf("%s: %s: unknown file %s: %s", r.name, p.Dir, p.Unknown[0].Name, p.Unknown[0].Why)
	}
}

// TestKilledBetweenTwoRenames: fixtures/reassigned-dirs stage-b, where the broker was killed with
// 1912.log.swap and 1912.index.swap beside 1912.timeindex.cleaned.
func TestKilledBetweenTwoRenames(t *testing.T) {
	for _, r := range recordings(t) {
		if r.name != "reassigned-dirs/stage-b" {
			continue
		}
		c, err := DiscoverFS(rofs.FromFS(r.tree), "stage-b", Options{})
		must(t, err)
		for p := range c.AllPartitions() {
			if p.Topic != "rd-compact" {
				continue
			}
			for _, s := range p.Segments {
				if s.Suffix != Swap {
					continue
				}
				got := map[string]string{}
				for what, f := range map[string]*File{"log": s.Log, "index": s.Index, "timeindex": s.TimeIndex} {
					if f != nil {
						got[what] = f.Name
					}
				}
				want := map[string]string{
					"log":       "00000000000000001912.log.swap",
					"index":     "00000000000000001912.index.swap",
					"timeindex": "00000000000000001912.timeindex.cleaned",
				}
				if !maps.Equal(got, want) {
					t.Errorf("got %v, want %v", got, want)
				}
				if SuffixOf(s.TimeIndex.Name) != Cleaned || s.TimeIndex.Suffix != Cleaned {
					t.Errorf("the timeindex lost its own suffix")
				}
				return
			}
		}
	}
	t.Error("no .swap segment found")
}
