package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"kafsck/batch"
	"kafsck/internal/fixture"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/segment"
)

// TestOldRecordsAreTruth: the records of messages and wrappers of formats 0 and 1 are those
// that kafka-dump-log printed of the recorded files, and the fields of each cover its bytes
// without a gap.
func TestOldRecordsAreTruth(t *testing.T) {
	tree := fixture.Tree(t, "old-formats")
	compared, inside := 0, 0
	for _, stage := range []string{"stage1-0.9.0.1", "stage2-0.10.2.2", "stage3-2.4.1-format-0.10.2"} {
		logs := fstest.MapFS{}
		for name, f := range tree {
			if strings.HasPrefix(name, stage+"/") {
				logs[name] = f
			}
		}
		c, err := logdir.DiscoverFS(rofs.FromFS(logs), "tree", logdir.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for p := range c.AllPartitions() {
			dump, ok := tree["dump-4.3.1/"+stage+"/broker-4/"+p.Name()+".txt"]
			if !ok {
				continue
			}
			var got, want []string
			for line := range strings.Lines(string(dump.Data)) {
				if rest, ok := strings.CutPrefix(line, "| "); ok && strings.Contains(line, " isValid: ") {
					want = append(want, strings.TrimSpace(rest))
				}
			}
			for _, x := range p.Segments {
				if x.Log == nil || !strings.HasSuffix(x.Log.Path, ".log") { // dumped were live files only
					continue
				}
				lines, wrapped := oldLines(t, logAround(p, x.Log), x.Log.Size)
				got, inside = append(got, lines...), inside+wrapped
			}
			compared += len(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s %s: %d records, dumped %d", stage, p.Name(), len(got), len(want))
				for i := range min(len(got), len(want)) {
					if got[i] != want[i] {
						t.Errorf("got  %s\nwant %s", got[i], want[i])
						break
					}
				}
			}
		}
	}
	if compared < 2000 || inside < 500 {
		t.Errorf("%d records compared, %d of them in wrappers", compared, inside)
	}
}

// oldLines reads all messages of a file, as kafka-dump-log prints their records; inside is how
// many of them lie in a wrapper.
func oldLines(t *testing.T, l *logFiles, size int64) (out []string, inside int) {
	for pos := int64(0); pos < size; {
		d, ok := readBatch(l, target{atPosition, pos}, []int64{pos})(t.Context()).(*batchData)
		if !ok {
			t.Fatalf("%s: nothing at %d", l.file().Path, pos)
		}
		if pos = d.frame.end(); d.frame.kind != segment.Legacy {
			continue
		}
		if d.problem != "" {
			t.Errorf("%s at %d: %s", d.file, d.frame.pos, d.problem)
		}
		for i := range d.records {
			old, ok := d.oldRecord(i)
			r, _ := d.record(i)
			from, to := d.recordRange(i)
			at := from
			for _, f := range d.fieldsOf(i) {
				if d.compressed && (f.from != at || f.level == levelDamage) {
					t.Fatalf("%s, offset %d: field %+v begins elsewhere than at %d, or is damaged", d.file, r.Offset, f, at)
				}
				at = f.to
			}
			if d.compressed {
				if inside++; at != to {
					t.Errorf("%s, offset %d: the fields end at %d, the record at %d", d.file, r.Offset, at, to)
				}
			}
			line := fmt.Sprintf("offset: %d %v: %d keySize: %d valueSize: %d isValid: %v crc: %d", r.Offset, d.timestampType(i), r.Timestamp,
				sizeOrNull(r.Key), sizeOrNull(r.Value), batch.CheckLegacyCRC(old.Raw) == nil, old.CRC)
			if r.Key != nil {
				line += " key: " + string(r.Key)
			}
			if r.Value != nil {
				line += " payload: " + string(r.Value)
			}
			if out = append(out, strings.TrimSpace(line)); !ok {
				t.Errorf("%s, offset %d: malformed", d.file, r.Offset)
			}
		}
	}
	return out, inside
}

func sizeOrNull(b []byte) int {
	if b == nil {
		return -1
	}
	return len(b)
}
