package broker

import (
	"math/rand/v2"
	"testing"

	"kafsck/epoch"
)

func entries(pairs ...int64) epoch.Cache {
	var c epoch.Cache
	for i := 0; i < len(pairs); i += 2 {
		c = append(c, epoch.Entry{Epoch: int32(pairs[i]), StartOffset: pairs[i+1]})
	}
	return c
}

// TestTruncate is the table of kafka-format.md §13.6, but for one cell: it has 9 for
// "leader lost its cache" under KIP-101. Releases up to 1.1 do not answer for an epoch
// below their first one (§5.3), so that the follower cuts at its high watermark.
func TestTruncate(t *testing.T) {
	for _, tc := range []struct {
		name                     string
		leader                   epoch.Cache
		leaderEnd                int64
		follower                 epoch.Cache
		end, watermark           int64
		fetch, kip279, kip101, h int64
		stuck                    bool
	}{
		{"clean lag", entries(0, 0, 1, 10), 20, entries(0, 0), 8, 5, 8, 8, 8, 5, false},
		{"classic divergence", entries(0, 0, 1, 8), 12, entries(0, 0), 10, 5, 8, 8, 8, 5, false},
		{"leader has epoch gap", entries(0, 0, 4, 20), 30, entries(0, 0, 2, 15, 3, 18), 25, 10, 15, 15, 20, 10, false},
		{"leader lacks follower's epoch", entries(1, 0, 5, 12), 15, entries(1, 0, 3, 6), 14, 4, 6, 6, 12, 4, false},
		{"follower newer than leader", entries(0, 0, 2, 5), 9, entries(0, 0, 3, 7), 9, 4, 9, 4, 4, 4, true},
		{"follower cache empty", entries(0, 0, 2, 5), 9, nil, 9, 4, 4, 4, 4, 4, false},
		{"leader lost its cache", entries(7, 9), 9, entries(0, 0, 5, 6), 9, 4, 9, 9, 4, 4, false},
		{"same epoch, follower longer", entries(0, 0, 1, 5), 9, entries(0, 0, 1, 5), 11, 4, 9, 9, 9, 4, false},
		{"multi round", entries(0, 0, 1, 4, 3, 6, 9, 20), 25, entries(0, 0, 2, 5, 4, 8, 8, 12), 16, 2, 4, 4, 16, 2, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for era, want := range map[Era]int64{FetchEra: tc.fetch, KIP279: tc.kip279, KIP101: tc.kip101, HighWatermarkEra: tc.h} {
				got := Truncate(era, State{LogEnd: tc.leaderEnd, Epochs: tc.leader}, State{LogEnd: tc.end, HighWatermark: tc.watermark, Epochs: tc.follower})
				if got.To != want || got.Rebuild || got.Stuck != (tc.stuck && era == FetchEra) {
					t.Errorf("era %d: %+v, want %d", era, got, want)
				}
				if n := len(got.Epochs); n > 0 && got.Epochs[n-1].StartOffset >= got.To {
					t.Errorf("era %d: cache %v reaches the end %d", era, got.Epochs, got.To)
				}
			}
		})
	}
}

// TestTruncateMultiRound: three diverging answers and the one that agrees
// (kafka-format.md §13.6, in detail).
func TestTruncateMultiRound(t *testing.T) {
	got := Truncate(FetchEra, State{LogEnd: 25, Epochs: entries(0, 0, 1, 4, 3, 6, 9, 20)}, State{LogEnd: 16, HighWatermark: 2, Epochs: entries(0, 0, 2, 5, 4, 8, 8, 12)})
	if got.Rounds != 4 || got.How != CutByEpoch {
		t.Errorf("%+v", got)
	}
}

// TestTruncateOutOfRange is kafka-format.md §6.6.
func TestTruncateOutOfRange(t *testing.T) {
	for _, tc := range []struct {
		name             string
		leader, follower State
		want             Truncation
	}{
		// fixtures/replica-rebuild: "Truncate fully and start at offset 607".
		{"follower ends below the leader's start", State{LogStart: 607, LogEnd: 700, Epochs: entries(0, 607)}, State{LogEnd: 300, HighWatermark: 300, Epochs: entries(0, 0)},
			Truncation{To: 607, How: CutByRebuild, Rebuild: true}},
		{"no epochs, follower longer", State{LogEnd: 60, Legacy: true}, State{LogEnd: 100, HighWatermark: 80, Legacy: true}, Truncation{To: 60, How: CutByLeaderEnd}},
		{"no epochs, below the start", State{LogStart: 50, LogEnd: 60, Legacy: true}, State{LogEnd: 40, HighWatermark: 40, Legacy: true}, Truncation{To: 50, How: CutByRebuild, Rebuild: true}},
		{"unknown epoch, follower longer", State{LogEnd: 60, Epochs: entries(0, 0)}, State{LogEnd: 100, Epochs: entries(0, 0, 3, 80)}, Truncation{To: 60, How: CutByLeaderEnd}},
		{"empty leader, new epoch", State{Epochs: entries(4, 0)}, State{LogEnd: 160, HighWatermark: 160, Epochs: entries(0, 0)}, Truncation{To: 0, How: CutByEpoch}},
		{"empty follower", State{LogEnd: 160, Epochs: entries(0, 0)}, State{}, Truncation{To: 0, How: CutByHighWatermark}},
		{"empty follower, leader starts late", State{LogStart: 7, LogEnd: 160, Epochs: entries(0, 7)}, State{}, Truncation{To: 7, How: CutByRebuild, Rebuild: true}},
		{"watermark lost with the epochs", State{LogStart: 0, LogEnd: 160, Epochs: entries(0, 0)}, State{LogStart: 20, LogEnd: 100, HighWatermark: 20}, Truncation{To: 20, How: CutByHighWatermark}},
	} {
		got := Truncate(FetchEra, tc.leader, tc.follower)
		if got.To != tc.want.To || got.How != tc.want.How || got.Rebuild != tc.want.Rebuild || got.Stuck {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

func TestBecomeLeader(t *testing.T) {
	got := BecomeLeader(State{LogEnd: 200, Epochs: entries(0, 0, 2, 100)}, 4)
	if len(got.Epochs) != 3 || got.Epochs[2] != (epoch.Entry{Epoch: 4, StartOffset: 200}) {
		t.Errorf("%v", got.Epochs)
	}
	// A leader that wrote nothing gives way (LeaderEpochFileCache.maybeTruncateNonMonotonicEntries).
	got = BecomeLeader(State{LogEnd: 200, Epochs: entries(0, 0, 2, 200)}, 4)
	if len(got.Epochs) != 2 || got.Epochs[1].Epoch != 4 {
		t.Errorf("%v", got.Epochs)
	}
	if got := BecomeLeader(State{LogEnd: 200, Legacy: true}, 4); len(got.Epochs) != 0 {
		t.Errorf("old message format: %v", got.Epochs)
	}
}

// line is a log as leaders wrote it: the epoch of each offset.
type line []int32

func (l line) cache() epoch.Cache {
	var c epoch.Cache
	for i, e := range l {
		if len(c) == 0 || c.Latest() != e {
			c = c.Assign(e, int64(i))
		}
	}
	return c
}

func (l line) common(o line) int64 {
	n := 0
	for n < len(l) && n < len(o) && l[n] == o[n] {
		n++
	}
	return int64(n)
}

// grow appends records of later and later leaders, no epoch of which another line has.
func (l line) grow(random *rand.Rand, next *int32) line {
	out := append(line(nil), l...)
	for range random.IntN(4) {
		*next += 1 + random.Int32N(2)
		for range random.IntN(6) {
			out = append(out, *next)
		}
	}
	return out
}

// TestTruncateStopsAtTheCommonPrefix: with complete caches a follower since 2.8 keeps
// exactly what it has in common with its leader, one of 2.0 to 2.7 nothing more
// (KIP-279; kafka-format.md §6.4). The epochs of two lines differ where they do, as no
// controller gives one epoch to two leaders.
func TestTruncateStopsAtTheCommonPrefix(t *testing.T) {
	random := rand.New(rand.NewPCG(279, 101))
	silent := 0
	for range 100_000 {
		var next int32
		common := line(nil).grow(random, &next)
		a := common[:random.IntN(len(common)+1)].grow(random, &next)
		b := common[:random.IntN(len(common)+1)].grow(random, &next)
		leader := BecomeLeader(State{LogEnd: int64(len(a)), Epochs: a.cache()}, next+1)
		follower := State{LogEnd: int64(len(b)), HighWatermark: random.Int64N(int64(len(b)) + 1), Epochs: b.cache()}
		want := a.common(b)
		if got := Truncate(FetchEra, leader, follower); len(b) > 0 && got.To != want {
			t.Fatalf("leader %v, follower %v: cut at %d, they have %d in common", a, b, got.To, want)
		}
		if got := Truncate(KIP279, leader, follower); len(b) > 0 && got.To > want {
			t.Fatalf("KIP-279: leader %v, follower %v: cut at %d, they have %d in common", a, b, got.To, want)
		}
		if Truncate(KIP101, leader, follower).To > want {
			silent++
		}
	}
	if silent < 1000 {
		t.Errorf("KIP-101 kept other records in %d cases only", silent)
	}
}

// FuzzTruncate: whatever the caches say, Truncate ends, and the follower ends where the
// leader can serve it, or is stuck.
func FuzzTruncate(f *testing.F) {
	f.Add([]byte{0, 0, 1, 10}, []byte{0, 0}, int64(0), int64(20), int64(0), int64(8), int64(5), uint8(3))
	f.Add([]byte{0, 0, 2, 5}, []byte{0, 0, 3, 7}, int64(9), int64(3), int64(0), int64(9), int64(4), uint8(3))
	f.Fuzz(func(t *testing.T, l, fo []byte, leaderStart, leaderEnd, start, end, watermark int64, era uint8) {
		cache := func(b []byte) (c epoch.Cache) {
			for i := 0; i+1 < len(b); i += 2 {
				c = append(c, epoch.Entry{Epoch: int32(int8(b[i])), StartOffset: int64(int8(b[i+1]))})
			}
			return c
		}
		leader := State{LogStart: leaderStart, LogEnd: leaderEnd, Epochs: epoch.Load(cache(l))}
		follower := State{LogStart: start, LogEnd: end, HighWatermark: watermark, Epochs: epoch.Load(cache(fo))}
		got := Truncate(Era(era%4), leader, follower)
		switch {
		case got.Stuck:
		case got.To < leaderStart || got.To > leaderEnd:
			t.Errorf("leader [%d, %d), follower ends at %d", leaderStart, leaderEnd, got.To)
		case got.To > end && !got.Rebuild:
			t.Errorf("the follower grew from %d to %d", end, got.To)
		}
	})
}
