package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"kafsck/internal/fixture"
)

// TestManySegments: 20,000 segments at level files take seconds, not minutes.
func TestManySegments(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 40,000 files")
	}
	dir := filepath.Join(fixture.Unpack(t, "cases"), "BR-32")
	read := func(kind string) []byte {
		data, err := os.ReadFile(filepath.Join(dir, "orders-0", "00000000000000000100."+kind))
		if err != nil {
			t.Fatal(err)
		}
		return data[:min(len(data), 2301)] // one batch is enough
	}
	log, index := read("log"), read("index")[:8]
	const partitions, segments = 10, 2000
	for p := 1; p <= partitions; p++ {
		of := filepath.Join(dir, fmt.Sprintf("orders-%d", p))
		if err := os.Mkdir(of, 0o755); err != nil {
			t.Fatal(err)
		}
		for s := range segments {
			name := filepath.Join(of, fmt.Sprintf("%020d.", 100*s))
			for kind, data := range map[string][]byte{"log": log, "index": index} {
				if err := os.WriteFile(name+kind, data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	begun := time.Now()
	code, out, errs := kafsck("check", "--json", "--level", "files", dir)
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("took %v", took)
	}
	all := lines(t, out)
	if n := fmt.Sprint(all[len(all)-1]["segments"]); n != "20003" || errs != "" || code > 1 {
		t.Errorf("exit code %d, %s segments: %s", code, n, errs)
	}
}
