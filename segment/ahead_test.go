package segment_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kafsck/internal/logtest"
	"kafsck/segment"
)

// TestReadAhead: the frames are the same, whatever is damaged and however large batches are.
func TestReadAhead(t *testing.T) {
	logs := damagedLogs(t)
	logs["many"] = bytes.Repeat(imageLog(t), 300)
	logs["large"] = bytes.Repeat(logtest.Log(t, "batch size=3000 ; batch size=300000 ; batch size=700 ; batch size=1500000"), 3)
	logs["zeros"] = append(bytes.Repeat(imageLog(t), 20), append(make([]byte, 50000), imageLog(t)...)...)
	rng := rand.New(rand.NewPCG(3, 4))
	rounds := 40
	if testing.Short() {
		rounds = 8
	}
	for name, log := range logs {
		for range rounds {
			for _, size := range []int{4096, 10000, 0} {
				opt := segment.ScanOptions{BufferSize: size, NextOffset: 100, From: rng.Int64N(2) * int64(rng.IntN(len(log)))}
				plain := describeAll(scan(t, log, opt))
				opt.ReadAhead = true
				if ahead := describeAll(scan(t, log, opt)); !slices.Equal(plain, ahead) {
					t.Fatalf("%s, buffer %d, from %d:\n%s\nelse\n%s", name, size, opt.From, strings.Join(ahead, "\n"), strings.Join(plain, "\n"))
				}
			}
			log = bytes.Clone(log)
			log[rng.IntN(len(log))] ^= 1 << rng.IntN(8)
		}
	}
}

// TestReadAheadFaults: what cannot be read is an error at the same place as without.
func TestReadAheadFaults(t *testing.T) {
	log := bytes.Repeat(imageLog(t), 12)
	for _, partial := range []bool{false, true} {
		for bad := int64(0); bad < int64(len(log)); bad += 7 {
			var ends [2]int64
			for i, ahead := range []bool{false, true} {
				var failed error
				for f, err := range segment.Scan(badDisk{log, bad, partial, errBad}, int64(len(log)), segment.ScanOptions{BufferSize: 4096, ReadAhead: ahead}) {
					if failed = err; err == nil {
						ends[i] = f.End()
					}
				}
				if !errors.Is(failed, errBad) {
					t.Fatalf("byte %d: %v", bad, failed)
				}
			}
			if ends[0] != ends[1] || ends[0] > bad {
				t.Fatalf("byte %d: frames end at %d, with read-ahead at %d", bad, ends[0], ends[1])
			}
		}
	}
}

// TestRunsTile: runs and frames tell of the same batches, and all bytes are there.
func TestRunsTile(t *testing.T) {
	for name, log := range damagedLogs(t) {
		log = bytes.Repeat(log, 60)
		frames := scan(t, log, segment.ScanOptions{NextOffset: 100})
		i := 0
		for run, err := range segment.Runs(bytes.NewReader(log), int64(len(log)), segment.ScanOptions{NextOffset: 100}) {
			if err != nil {
				t.Fatal(err)
			}
			if (run.Odd == nil) == (len(run.Sound) == 0) {
				t.Fatalf("%s: neither or both", name)
			}
			if run.Odd != nil {
				if describe(*run.Odd) != describe(frames[i]) {
					t.Fatalf("%s: frame %d is %s", name, i, describe(*run.Odd))
				}
				i++
			}
			for k := range run.Sound {
				var f segment.Frame
				run.Frame(k, &f)
				if describe(f) != describe(frames[i]) || !bytes.Equal(run.Raw(k), frames[i].Raw) || run.Sound[k].Pos != frames[i].Pos {
					t.Fatalf("%s: frame %d is %s", name, i, describe(f))
				}
				i++
			}
		}
		if i != len(frames) {
			t.Fatalf("%s: %d of %d frames", name, i, len(frames))
		}
	}
}
