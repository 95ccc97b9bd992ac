package apply

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"kafsck/internal/fixture"
	"kafsck/internal/rofs"
	"kafsck/manifest"
	"kafsck/repair"
	"kafsck/segment"
)

// handPlan is a plan over these directories, with all of their files and no action. The first
// one is written, the others are sources.
func handPlan(t testing.TB, roots ...string) *repair.Plan {
	t.Helper()
	p := &repair.Plan{Type: "repair-plan", Version: repair.PlanVersion, ID: "0123456789abcdef", Made: time.Unix(1700000000, 0).UTC(), Kafsck: "test", Kafka: "4.3"}
	for i, host := range roots {
		p.Roots = append(p.Roots, repair.Root{Name: filepath.Base(host), Path: host, Source: i > 0})
		fsys, err := rofs.Dir(host)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range manifest.Files(fsys, ".", func(name string, err error) { t.Fatal(name, err) }) {
			sum, err := manifest.Sum(t.Context(), fsys, f, nil)
			if err != nil {
				t.Fatal(err)
			}
			p.Inputs = append(p.Inputs, repair.PlanInput{Root: i, File: f.Path, Size: f.Size, SHA256: sum})
		}
		rofs.Close(fsys)
	}
	return p
}

// truncation adds the action that cuts the log of a partition to an offset, with all that a
// broker then needs, to a plan whose root is a log directory.
func truncation(t testing.TB, p *repair.Plan, dir string, offset int64) {
	t.Helper()
	host := p.Roots[0].Path
	a := repair.Action{ID: fmt.Sprintf("a%d", len(p.Actions)+1), Kind: repair.Truncate, Partition: dir, Dir: dir, Findings: []string{}, Does: "cuts", Why: "a test", Undo: "keep the input", Confirm: true, Confirmed: true}
	edit := func(e repair.Edit) { a.Edits = append(a.Edits, e) }
	names, err := filepath.Glob(filepath.Join(host, dir, "0*"))
	if err != nil {
		t.Fatal(err)
	}
	var epochs [][2]int64
	epochOf := func(e int32, from int64) {
		if n := len(epochs); n == 0 || epochs[n-1][0] < int64(e) {
			epochs = append(epochs, [2]int64{int64(e), from})
		}
	}
	end := int64(0)
	for _, host := range names {
		name := filepath.Base(host)
		base, err := strconv.ParseInt(name[:20], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		file := path.Join(dir, name)
		stem := strings.TrimSuffix(file, path.Ext(file))
		switch {
		case path.Ext(name) == ".snapshot":
			if base > offset {
				edit(repair.Edit{Op: repair.Remove, File: file})
			}
			continue
		case path.Ext(name) != ".log":
			if base >= offset {
				edit(repair.Edit{Op: repair.Remove, File: file})
			}
			continue
		case base >= offset:
			edit(repair.Edit{Op: repair.Remove, File: file})
			continue
		}
		log, err := os.ReadFile(host)
		if err != nil {
			t.Fatal(err)
		}
		at := int64(0)
		for f, err := range segment.Scan(bytes.NewReader(log), int64(len(log)), segment.ScanOptions{}) {
			if err != nil || f.Kind != segment.Batch {
				t.Fatal(file, f.Kind, err)
			}
			if f.Batch.LastOffset() >= offset {
				break
			}
			epochOf(f.Batch.PartitionLeaderEpoch, f.Batch.BaseOffset)
			at, end = f.End(), f.Batch.LastOffset()+1
		}
		if at < int64(len(log)) {
			e := repair.Edit{Op: repair.Compose, File: file}
			if at > 0 {
				e.Pieces = []repair.Piece{{Root: 0, File: file, Position: 0, Length: at}}
			}
			edit(e)
			// The indexes of this segment, and the files behind it.
			a.Edits = slices.DeleteFunc(a.Edits, func(e repair.Edit) bool { return strings.HasPrefix(e.File, stem) && e.File != file })
			for _, ext := range []string{".index", ".timeindex", ".txnindex"} {
				e := repair.Edit{Op: repair.Rebuild, File: stem + ext, Logs: []string{file}}
				if s := stem + ".snapshot"; ext == ".txnindex" && base > 0 {
					e.Snapshot = s
				}
				edit(e)
			}
			snap := repair.Edit{Op: repair.Rebuild, File: path.Join(dir, fmt.Sprintf("%020d.snapshot", end)), Logs: []string{file}}
			if base > 0 {
				snap.Snapshot = stem + ".snapshot"
			}
			edit(snap)
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "0\n%d\n", len(epochs))
	for _, e := range epochs {
		fmt.Fprintln(&b, e[0], e[1])
	}
	text := b.String()
	edit(repair.Edit{Op: repair.Write, File: dir + "/leader-epoch-checkpoint", Text: &text})
	topic, number := dir[:strings.LastIndexByte(dir, '-')], dir[strings.LastIndexByte(dir, '-')+1:]
	n, _ := strconv.ParseInt(number, 10, 32)
	zero := int64(0)
	edit(repair.Edit{Op: repair.Line, File: "recovery-point-offset-checkpoint", Line: &repair.OffsetLine{Topic: topic, Partition: int32(n), Offset: &zero}})
	edit(repair.Edit{Op: repair.Line, File: "replication-offset-checkpoint", Line: &repair.OffsetLine{Topic: topic, Partition: int32(n), Offset: &end}})
	if _, err := os.Stat(filepath.Join(host, ".kafka_cleanshutdown")); err == nil {
		edit(repair.Edit{Op: repair.Remove, File: ".kafka_cleanshutdown"})
	}
	a.Loses = []repair.PlanLoss{{From: end, To: end + 1000, HeldBy: []int32{}}}
	p.Actions = append(p.Actions, a)
	p.Promises = append(p.Promises, repair.Promise{Root: 0, Dir: dir, Partition: dir, LogStartOffset: 0, LogEndOffset: end, Epochs: epochs})
}

// transactionsRoot is a log directory in a folder of its own, of which tests may do what they
// like.
func transactionsRoot(t testing.TB) string {
	return filepath.Join(fixture.Unpack(t, "transactions"), "stage3-resolved-clean", "broker-2")
}

// sumTree is every file below a directory with the SHA-256 of its content.
func sumTree(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		if d.IsDir() {
			out[filepath.ToSlash(rel)+"/"] = ""
			return nil
		}
		b, err := os.ReadFile(p)
		sum := sha256.Sum256(b)
		out[filepath.ToSlash(rel)] = hex.EncodeToString(sum[:])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func sameTree(t testing.TB, what string, got, want map[string]string) {
	t.Helper()
	for name, sum := range want {
		if g, ok := got[name]; !ok || g != sum {
			t.Errorf("%s: %s is %q, want %q", what, name, g, sum)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %s is there", what, name)
		}
	}
}

// quick is the disk without waiting for it.
type quick struct{ disk }

func (quick) SyncFile(string) error { return nil }
func (quick) SyncDir(string) error  { return nil }
func (quick) SyncAll(string) error  { return nil }
