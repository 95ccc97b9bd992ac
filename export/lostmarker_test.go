package export

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kafsck/internal/fixture"
	"kafsck/internal/rofs"
)

// TestLostMarker: in a log of a real broker one marker is damaged. Its transaction is what an
// intact .txnindex says of it; without one nobody knows, and a later COMMIT of the producer does
// not commit it.
func TestLostMarker(t *testing.T) {
	const (
		abort  = 3003 // the ABORT marker of producer 4001 at offset 135, of records 123 to 131
		commit = 3081 // the COMMIT marker of producer 4000 at 136, of 132 to 134
		size   = 78
	)
	states := func(damaged int64, change func(dir string)) map[string]string {
		dir := filepath.Join(fixture.Unpack(t, "base"), "B1")
		log := filepath.Join(dir, "tx-0", "00000000000000000100.log")
		if damaged >= 0 {
			b, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			b[damaged+size-3] ^= 4
			if err := os.WriteFile(log, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if change != nil {
			change(filepath.Join(dir, "tx-0"))
		}
		fsys, err := rofs.Dir(dir)
		if err != nil {
			t.Fatal(err)
		}
		l := logOf(t, fsys, 1, "tx-0")
		records, _ := give(t, &Source{Log: l})
		out := map[string]string{}
		for _, r := range records {
			f := strings.Fields(r)
			out[f[0]] = f[len(f)-1]
		}
		return out
	}
	noIndex := func(dir string) {
		if err := os.Remove(filepath.Join(dir, "00000000000000000100.txnindex")); err != nil {
			t.Fatal(err)
		}
	}
	spoilt := func(dir string) {
		name := filepath.Join(dir, "00000000000000000100.txnindex")
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		b[34+9] ^= 1 // producer id of the entry of 135
		b[34+1] = 7  // its version
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	truth := states(-1, nil)
	if truth["123"] != "aborted" || truth["131"] != "aborted" || truth["132"] != "committed" || truth["149"] != "committed" {
		t.Fatalf("the sound log: %v", truth)
	}
	for _, tc := range []struct {
		name    string
		damaged int64
		change  func(string)
		lost    string   // the marker's own offset
		unknown [2]int64 // first and last, -1 none
	}{
		{"ABORT damaged", abort, nil, "135", [2]int64{-1, -1}},
		{"ABORT damaged, no index", abort, noIndex, "135", [2]int64{123, 134}},
		{"ABORT damaged, index damaged", abort, spoilt, "135", [2]int64{123, 134}},
		{"COMMIT damaged", commit, nil, "136", [2]int64{-1, -1}},
		{"no index", -1, noIndex, "", [2]int64{-1, -1}},
	} {
		got := states(tc.damaged, tc.change)
		if _, here := got[tc.lost]; here {
			t.Errorf("%s: the marker was given out", tc.name)
		}
		for o := int64(0); o < 185; o++ {
			at := fmt.Sprint(o)
			want := truth[at]
			switch {
			case at == tc.lost:
				continue
			case tc.unknown[0] >= 0 && o >= tc.unknown[0] && o <= tc.unknown[1]:
				want = "unknown"
			}
			if got[at] != want {
				t.Errorf("%s: offset %d is %q, want %q", tc.name, o, got[at], want)
			}
		}
	}
}

// TestMissingOffsets: offsets that no batch has are told, and where batches overlap both come out.
func TestMissingOffsets(t *testing.T) {
	l := logOf(t, built(t, `broker 1
topic t-0 ; segment 0
batch base=0 records=2 value=a%d
batch base=5 records=3 value=b%d
batch base=6 records=2 value=c%d
batch base=9 records=1 value=d%d`), 1, "t-0")
	var missing []string
	src := &Source{Log: l, Missing: func(from, to int64) { missing = append(missing, fmt.Sprintf("%d-%d", from, to)) }, Overlaps: true}
	got, skipped := give(t, src)
	if want := []string{"0 a0 none", "1 a1 none", "5 b5 none", "6 b6 none", "7 b7 none", "6 c6 none", "7 c7 none", "9 d9 none"}; !slices.Equal(got, want) || len(skipped) > 0 {
		t.Errorf("%v, skipped %v", got, skipped)
	}
	if want := []string{"2-5", "8-9"}; !slices.Equal(missing, want) {
		t.Errorf("missing %v", missing)
	}
	src.Overlaps = false
	if got, skipped = give(t, src); len(got) != 6 || len(skipped) != 1 || skipped[0].From != 6 {
		t.Errorf("without Overlaps %v, skipped %v", got, skipped)
	}
}

// TestBytesBetween: bytes that are no batch are told also where no offset is missing.
func TestBytesBetween(t *testing.T) {
	dir := filepath.Join(fixture.Unpack(t, "base"), "B1")
	log := filepath.Join(dir, "orders-0", "00000000000000000100.log")
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	const first = 2301 // the size of each batch there
	b = slices.Concat(b[:first], []byte(strings.Repeat("x", 100)), b[first:])
	if err := os.WriteFile(log, b, 0o600); err != nil {
		t.Fatal(err)
	}
	fsys, err := rofs.Dir(dir)
	if err != nil {
		t.Fatal(err)
	}
	records, skipped := give(t, &Source{Log: logOf(t, fsys, 1, "orders-0")})
	if len(records) != 300 || len(skipped) != 1 || skipped[0].Position != first || skipped[0].Length != 100 || skipped[0].From != 110 || skipped[0].To != 110 {
		t.Errorf("%d records, skipped %+v", len(records), skipped)
	}
}
