package conformance

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"kafsck/internal/logtest"
	"kafsck/segment"
)

// TestDumpOfDamage damages a small log in every place, and has Kafka and kafsck
// read each result. Up to where Kafka stops they must see the same batches, the
// same checksums that fail, and the same records; and kafsck must not miss a
// batch that Kafka finds sound.
func TestDumpOfDamage(t *testing.T) {
	tool := kafkaDumpLog(t)
	path := filepath.Join(t.TempDir(), logtest.LogName(100))
	kinds := map[segment.FrameKind]int{}
	damaged := 0
	check := func(what string, log []byte) {
		t.Helper()
		if err := os.WriteFile(path, log, 0o600); err != nil {
			t.Fatal(err)
		}
		frames, size := scanFile(t, path)
		for _, f := range frames {
			kinds[f.kind]++
			if f.damage != nil {
				damaged++
			}
		}
		for _, deep := range []bool{false, true} {
			args := []string{"--files", path}
			if deep {
				args = append(args, "--deep-iteration")
			}
			entries, rest := parseDump(t, path, tool.run(t, args...))
			if err := compare(frames, entries, rest, size, deep); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	}

	sound := logtest.Log(t, `
		batch base=100 records=3 epoch=2 ; batch records=2 codec=gzip ; batch records=2 codec=lz4 pid=7 pepoch=1 seq=5
		marker commit pid=7 pepoch=1 ; batch records=1 codec=snappy epoch=4 ; batch records=4 codec=zstd`)
	check("sound", sound)
	random := rand.New(rand.NewPCG(3, 4))
	for i := range sound {
		flipped := slices.Clone(sound)
		bit := random.IntN(8)
		flipped[i] ^= 1 << bit
		check(fmt.Sprintf("bit %d of byte %d flipped", bit, i), flipped)
		check(fmt.Sprintf("cut at %d", i), sound[:i])
		check(fmt.Sprintf("zeros from %d", i), append(slices.Clone(sound[:i]), make([]byte, len(sound)-i)...))
		check(fmt.Sprintf("byte %d left out", i), slices.Delete(slices.Clone(sound), i, i+1))
	}
	if damaged == 0 || kinds[segment.Torn] == 0 || kinds[segment.Zeros] == 0 || kinds[segment.Junk] == 0 {
		t.Errorf("the damage gave only %v, %d frames damaged", kinds, damaged)
	}
	t.Log(kinds, damaged, "damaged")
}
