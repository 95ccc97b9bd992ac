package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"kafsck/export"
	"kafsck/incident"
	"kafsck/internal/fixture"
	"kafsck/internal/rofs"
	"kafsck/logdir"
)

// exported are the records that export gives of paths, by partition, as a consumer tells them;
// control records are left out.
func exported(t *testing.T, args ...string) (byPartition map[string][]consumed, list []*export.Record) {
	t.Helper()
	code, out, errs := kafsck(append([]string{"export"}, args...)...)
	if code != 0 {
		t.Fatalf("%v: exit code %d: %s", args, code, errs)
	}
	byPartition = map[string][]consumed{}
	for r, err := range export.ReadJSONL(strings.NewReader(out)) {
		if err != nil {
			t.Fatal(err)
		}
		one := *r
		list = append(list, &one)
		if r.Control {
			continue
		}
		c := consumed{Offset: r.Offset, Timestamp: r.Timestamp, TimestampType: r.TimestampType.String(), LeaderEpoch: &one.LeaderEpoch, Headers: []consumedHeader{}}
		if r.LeaderEpoch == -1 {
			c.LeaderEpoch = nil // as consumers say it
		}
		c.Key, c.Value = base64Of(t, r.Key), base64Of(t, r.Value)
		for _, h := range r.Headers {
			c.Headers = append(c.Headers, consumedHeader{h.Key, base64Of(t, h.Value)})
		}
		byPartition[r.Partition] = append(byPartition[r.Partition], c)
	}
	return byPartition, list
}

// base64Of is how JSON tells bytes; nil for null.
func base64Of(t *testing.T, b []byte) *string {
	t.Helper()
	if b == nil {
		return nil
	}
	quoted, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	s := strings.Trim(string(quoted), `"`)
	return &s
}

// TestExportTellsWhatConsumersRead holds what export gives against what Kafka's own consumers
// were given of the same logs, read_uncommitted and read_committed.
func TestExportTellsWhatConsumersRead(t *testing.T) {
	for _, c := range []struct {
		recording, answers, file, logs string
		committed                      bool
		least                          int
	}{
		{"codecs", "codecs", "consumer/codec-*.jsonl*", "stage1-killed/broker-1", false, 190},
		{"codecs", "codecs", "consumer/codec-*.jsonl*", "stage2-clean/broker-1", true, 700},
		{"old-formats", "old-formats", "consumer/stage2-0.10.2.2/*", "stage2-0.10.2.2/broker-4", false, 20},
		{"old-formats", "old-formats", "consumer/stage3-2.4.1-format-0.10.2/*", "stage3-2.4.1-format-0.10.2/broker-4", true, 20},
		{"old-formats", "old-formats", "consumer/stage5-2.8.2-client-4.3.1/life_*.jsonl", "stage5-2.8.2/broker-4", false, 3000},
		{"transactions", "consumers", "transactions/consumer/before-kill/read_committed/*", "stage1-killed/broker-2", true, 70},
		{"transactions", "consumers", "transactions/consumer/after-recovery/read_committed/*", "stage2-clean/broker-2", true, 70},
		{"transactions", "consumers", "transactions/consumer/stage3-resolved/read_committed/*", "stage3-resolved-clean/broker-2", true, 90},
		{"transactions", "consumers", "transactions/consumer/before-kill/read_uncommitted/*", "stage1-killed/broker-2", false, 120},
		{"compaction", "consumers", "compaction/consumer/stage1/compact-t*.read_uncommitted.jsonl", "stage1-clean/broker-1", false, 40},
		{"compaction", "consumers", "compaction/consumer/stage2-leader-uncleaned/compact-txn.read_committed.jsonl", "stage2-killed/broker-3", true, 50},
	} {
		if leftToTheFullRun(c.recording) {
			continue
		}
		t.Run(c.logs+" "+filepath.Base(filepath.Dir(c.file)), func(t *testing.T) {
			t.Parallel()
			dir, answers := fixture.Unpack(t, c.recording), fixture.Unpack(t, c.answers)
			files, err := filepath.Glob(filepath.Join(answers, c.file))
			if err != nil || len(files) == 0 {
				t.Fatal(c.file, err)
			}
			args := []string{filepath.Join(dir, c.logs)}
			if c.committed {
				args = append(args, "--committed")
			}
			got, _ := exported(t, args...)
			compared := 0
			for _, file := range files {
				for partition, want := range consumersView(t, file) {
					if _, err := os.Stat(filepath.Join(dir, c.logs, partition)); os.IsNotExist(err) {
						continue // not copied here
					}
					if d := cmp.Diff(want, got[partition]); d != "" {
						t.Errorf("%s (-consumer +export):\n%.3000s", filepath.Base(file), d)
					}
					compared += len(want)
				}
			}
			if compared < c.least {
				t.Errorf("%d records were compared", compared)
			}
		})
	}
}

// TestExportTellsTransactions holds the states of the records against what the clients of the
// recording intended (truth.json: facts.events).
func TestExportTellsTransactions(t *testing.T) {
	t.Parallel()
	dir := fixture.Unpack(t, "transactions")
	data, err := os.ReadFile(filepath.Join(dir, "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	var truth struct {
		Facts struct {
			Events []struct {
				Op       string
				Send     [][]json.RawMessage
				Intended string
			}
		}
	}
	if err := json.Unmarshal(data, &truth); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, e := range truth.Facts.Events {
		for _, send := range e.Send {
			var topic string
			var partition, offset int64
			if json.Unmarshal(send[0], &topic) != nil || json.Unmarshal(send[1], &partition) != nil || json.Unmarshal(send[2], &offset) != nil {
				t.Fatalf("%s", send)
			}
			want[fmt.Sprintf("%s-%d/%d", topic, partition, offset)] = e.Intended
		}
	}
	if len(want) < 80 {
		t.Fatalf("%d events were understood", len(want))
	}
	_, list := exported(t, filepath.Join(dir, "stage1-killed"), "--topic", "tx*")
	met := 0
	for _, r := range list {
		intended, ok := want[fmt.Sprintf("%s/%d", r.Partition, r.Offset)]
		if !ok || r.Control {
			continue
		}
		met++
		said := string(r.State)
		if said == "none" {
			said = "non-transactional"
		}
		if said == "hanging" {
			said = "open"
		}
		if intended, _, _ = strings.Cut(intended, " ("); said != intended {
			t.Errorf("%s offset %d: %s, want %s", r.Partition, r.Offset, said, intended)
		}
	}
	if met < 80 {
		t.Errorf("%d records were met", met)
	}
}

// TestExportLostIsWhatLossFound: the records of an old leader's copy, all of them
// acknowledged and none readable after it came back (truth.json).
func TestExportLostIsWhatLossFound(t *testing.T) {
	t.Parallel()
	dir := fixture.Unpack(t, "unclean-election")
	data, err := os.ReadFile(filepath.Join(dir, "acks.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	acked := map[string]int64{} // offset by value
	for line := range strings.Lines(string(data)) {
		var a struct {
			Value  string
			Offset *int64
		}
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatal(err)
		}
		if a.Offset != nil {
			acked[a.Value] = *a.Offset
		}
	}
	_, list := exported(t, "--lost", filepath.Join(dir, "stage-b"))
	if len(list) != 100 {
		t.Fatalf("%d records", len(list))
	}
	for i, r := range list {
		if r.Offset != int64(100+i) || acked[string(r.Value)] != r.Offset || r.Broker != 1 || r.LeaderEpoch != 0 {
			t.Errorf("offset %d of broker %d: value %q, acknowledged at %d", r.Offset, r.Broker, r.Value, acked[string(r.Value)])
		}
		if want := (export.Lost{Committed: "yes", Acknowledged: "unknown", Cause: "unclean-election", Mark: export.Mark{Kind: export.Absent, Offset: -1}}); r.Lost == nil || *r.Lost != want {
			t.Errorf("offset %d: %+v", r.Offset, r.Lost)
		}
	}
	// The new leader's directory of a later copy is the same log, and it alone is no loss.
	_, list = exported(t, "--lost", "--against", filepath.Join(dir, "stage-c", "broker-2"), filepath.Join(dir, "stage-b", "broker-1"))
	if len(list) != 100 {
		t.Errorf("against stage-c: %d records", len(list))
	}
	_, list = exported(t, "--lost", "--grade", "unknown,no", filepath.Join(dir, "stage-b"))
	if len(list) != 0 {
		t.Errorf("--grade unknown,no: %d records", len(list))
	}
}

// TestExportCountsWhatLossCounts: for every recording and stage with losses that a copy holds,
// export gives as many records as loss counts.
func TestExportCountsWhatLossCounts(t *testing.T) {
	for _, name := range []string{"unclean-election", "unclean-three-replicas", "kraft39-unclean-election", "divergence", "below-hw-clean", "hw-truncation-none", "epoch-history", "zk-unclean-election"} {
		if leftToTheFullRun(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := fixture.Unpack(t, name)
			stages, err := filepath.Glob(filepath.Join(dir, "*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, stage := range stages {
				if info, err := os.Stat(stage); err != nil || !info.IsDir() {
					continue
				}
				code, out, _ := kafsck("loss", "--json", stage)
				if code&exitIncomplete != 0 || code > 3 {
					continue
				}
				want := map[string]int64{}
				for line := range strings.Lines(out) {
					var l struct {
						Type, Partition, Basis string
						Records                *int64
					}
					if err := json.Unmarshal([]byte(line), &l); err == nil && l.Type == "loss" && l.Basis == "copy" {
						want[l.Partition] += *l.Records
					}
				}
				got := map[string]int64{}
				code, out, errs := kafsck("export", "--lost", stage)
				if code > 3 || code&exitIncomplete != 0 && !strings.Contains(errs, "no leader") {
					t.Errorf("%s: exit code %d: %s", stage, code, errs)
				}
				for r, err := range export.ReadJSONL(strings.NewReader(out)) {
					if err != nil {
						t.Fatal(err)
					}
					got[r.Partition]++
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("%s (-loss +export):\n%s", filepath.Base(stage), d)
				}
			}
		})
	}
}

// TestExportLeavesNoFileBehind lets every read of a recording fail in turn: whatever is asked for,
// there is a whole file, or none and an error that says so.
func TestExportLeavesNoFileBehind(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(fixture.Unpack(t, "unclean-election"), "stage-b")
	out := t.TempDir()
	n := 0
	names := namesBelow(t, dir)
	if testing.Short() {
		names = sampled(names, 7)
	}
	for _, lost := range []bool{false, true} {
		for _, name := range names {
			for _, op := range []string{"open", "read"} {
				for nth := range 4 { // which of the reads of the file fails
					whole, err := rofs.Dir(dir)
					if err != nil {
						t.Fatal(err)
					}
					asked := 0
					faulty := rofs.Fault(whole, func(o, n string, pos, length int64) error {
						if o == op && n == name {
							if asked++; asked > nth {
								return syscall.EIO
							}
						}
						return nil
					})
					c, err := logdir.DiscoverFS(faulty, "x", logdir.Options{})
					if err != nil {
						t.Fatal(err)
					}
					n++
					file := filepath.Join(out, fmt.Sprintf("%d.jsonl", n))
					var stdout, errs bytes.Buffer
					a := &app{stdout: &stdout, stderr: &errs}
					code := a.guard(func() int {
						o := &exportOptions{offsets: everyOffset, lost: lost, out: file, format: formatJSONL}
						target := &exportTarget{app: a, format: o.format}
						defer target.discard()
						if err := target.open(file, nil); err != nil {
							return a.explain(err)
						}
						if err := exportCase(context.Background(), a, &cobra.Command{}, c, []string{"x"}, o, incident.Options{}, target); err != nil {
							return a.explain(err)
						}
						return a.bits
					})
					data, readErr := os.ReadFile(file)
					switch {
					case asked <= nth: // never asked for
						if code != 0 || readErr != nil {
							t.Errorf("nothing fails, lost %v: exit code %d, %v\n%s", lost, code, readErr, errs.String())
						}
					case code&exitIncomplete == 0 || code > 3:
						t.Errorf("%s %d of %s fails, lost %v: exit code %d\n%s%s", op, nth, name, lost, code, stdout.String(), errs.String())
					case readErr == nil:
						// What was not needed could not be read: then all records are there.
						want := 120
						if lost {
							want = 100
						}
						if got := bytes.Count(data, []byte(`{"type":"record"`)); got != want || !bytes.Contains(data, []byte(`{"type":"summary"`)) {
							t.Errorf("%s %d of %s fails, lost %v: a file with %d records\n%s%s", op, nth, name, lost, got, stdout.String(), errs.String())
						}
					default:
						if !strings.Contains(errs.String(), "nothing was written") {
							t.Errorf("%s %d of %s fails, lost %v: %s", op, nth, name, lost, errs.String())
						}
					}
					if asked <= nth {
						break
					}
				}
			}
		}
	}
	left, err := filepath.Glob(filepath.Join(out, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestExportParquetIsTheSame holds the Parquet of a recording against its JSON lines.
func TestExportParquetIsTheSame(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(fixture.Unpack(t, "transactions"), "stage1-killed")
	file := filepath.Join(t.TempDir(), "all.parquet")
	if code, _, errs := kafsck("export", "--out", file, dir); code != 0 {
		t.Fatal(code, errs)
	}
	_, want := exported(t, dir)
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	got, err := export.ReadParquet(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	for i := range want {
		if d := cmp.Diff(want[i], got[i]); d != "" {
			t.Fatalf("record %d (-JSON +Parquet):\n%s", i, d)
		}
	}
	if !slices.ContainsFunc(got, func(r *export.Record) bool { return r.Control }) {
		t.Error("no control record")
	}
}
