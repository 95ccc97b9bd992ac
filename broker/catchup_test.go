package broker

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// logOf makes extents of batches of 10 offsets and 100 bytes each, in segments that
// begin at the bases given.
func logOf(end int64, bases ...int64) Extents {
	var e Extents
	for i, b := range bases {
		to := end
		if i+1 < len(bases) {
			to = bases[i+1]
		}
		e.Segments = append(e.Segments, Extent{b, (to - b) * 10})
	}
	e.Find = func(offset int64) (Place, bool, error) {
		if offset >= end || len(bases) == 0 {
			return Place{}, false, nil
		}
		offset = max(offset, bases[0])
		i := 0
		for i+1 < len(bases) && bases[i+1] <= offset {
			i++
		}
		base := bases[i] + (offset-bases[i])/10*10
		return Place{Segment: i, Position: (base - bases[i]) * 10, Base: base, Last: base + 9}, true, nil
	}
	return e
}

func state(start, end int64) State { return State{LogStart: start, LogEnd: end} }

func TestPlanCatchup(t *testing.T) {
	leader := logOf(500, 0, 200, 400)
	tests := []struct {
		name             string
		leader, follower State
		from, own        Extents
		to               int64
		want             Catchup
	}{
		{"in sync", state(0, 500), state(0, 500), leader, logOf(500, 0, 300), 500,
			Catchup{Way: InSync, TruncateTo: 500, FetchFrom: 500, FirstBatch: -1, KeptBytes: 5000}},
		{"behind", state(0, 500), state(0, 250), leader, logOf(250, 0), 250,
			// Offsets 250–499 are 25 batches of 100 bytes.
			Catchup{Way: CatchUp, TruncateTo: 250, FetchFrom: 250, FirstBatch: 250, FetchBytes: 2500, KeptBytes: 2500}},
		{"cut inside the first segment, the others deleted", state(0, 500), state(0, 420), leader, logOf(420, 0, 160, 300), 120,
			// 120 of 160 offsets of segment 0 stay: 400 bytes are cut in place. Segments 160
			// (140 offsets) and 300 (120 offsets) are renamed.
			Catchup{Way: CatchUp, TruncateTo: 120, FetchFrom: 120, FirstBatch: 120, FetchBytes: 3800, KeptBytes: 1200, CutBytes: 400, DeletedSegments: []int64{160, 300}, DeletedBytes: 2600}},
		{"a segment that begins at the target stays, emptied", state(0, 500), state(0, 420), leader, logOf(420, 0, 300), 300,
			Catchup{Way: CatchUp, TruncateTo: 300, FetchFrom: 300, FirstBatch: 300, FetchBytes: 2000, KeptBytes: 3000, CutBytes: 1200}},
		{"below the leader's log start", state(300, 500), state(0, 250), logOf(500, 200, 400), logOf(250, 0, 100), 250,
			Catchup{Way: Rebuild, Why: "its log ends at 250, below the leader's log start 300", TruncateTo: 250, FetchFrom: 300, FirstBatch: 300, FirstSegment: 300, LogStart: 300, FetchBytes: 2000, DeletedSegments: []int64{0, 100}, DeletedBytes: 2500}},
		{"the leader's log start lies inside a batch", state(307, 500), state(0, 250), logOf(500, 200, 400), logOf(250, 0), 250,
			Catchup{Way: Rebuild, Why: "its log ends at 250, below the leader's log start 307", TruncateTo: 250, FetchFrom: 307, FirstBatch: 300, FirstSegment: 300, LogStart: 307, FetchBytes: 2000, DeletedSegments: []int64{0}, DeletedBytes: 2500, EmptyDeleted: 307}},
		{"below it only after the truncation", state(300, 500), state(0, 420), logOf(500, 200, 400), logOf(420, 0, 200), 100,
			// 100 offsets of segment 0 are cut in place (1000 bytes), the rest is renamed.
			Catchup{Way: Rebuild, Why: "its log ends at 100, below the leader's log start 300", TruncateTo: 100, FetchFrom: 300, FirstBatch: 300, FirstSegment: 300, LogStart: 300, FetchBytes: 2000, CutBytes: 1000, DeletedSegments: []int64{0, 200}, DeletedBytes: 3200}},
		{"nothing there yet", state(0, 500), state(0, 0), leader, logOf(0), 0,
			Catchup{Way: CatchUp, FirstBatch: 0, FetchBytes: 5000}},
		{"nothing there, and the leader starts higher", state(200, 500), state(0, 0), logOf(500, 200, 400), logOf(0), 0,
			Catchup{Way: Rebuild, Why: "its log ends at 0, below the leader's log start 200", FetchFrom: 200, FirstBatch: 200, FirstSegment: 200, LogStart: 200, FetchBytes: 3000}},
		{"it ends inside a batch of the leader", state(0, 500), state(0, 255), leader, logOf(255, 0), 255,
			Catchup{Way: Stuck, Why: "its log ends at 255, inside the leader's batch 250–259: it refuses a batch that begins below its log end (UnexpectedAppendOffsetException), and the partition is marked as failed", TruncateTo: 255, FetchFrom: 255, FirstBatch: 250, StuckAt: 255, KeptBytes: 2550}},
		{"the first segment lies above the target", state(0, 500), state(300, 420), leader, logOf(420, 300), 100,
			Catchup{Way: CatchUp, TruncateTo: 100, FetchFrom: 100, FirstBatch: 100, FirstSegment: 100, LogStart: 100, FetchBytes: 4000, DeletedSegments: []int64{300}, DeletedBytes: 1200}},
	}
	for _, tt := range tests {
		if tt.want.EmptyDeleted == 0 {
			tt.want.EmptyDeleted = -1
		}
		if tt.want.StuckAt == 0 {
			tt.want.StuckAt = -1
		}
		tt.want.FetchTo = 500
		got, err := PlanCatchup(tt.leader, tt.follower, tt.from, tt.own, Truncation{CutTo: tt.to})
		if err != nil {
			t.Fatal(err)
		}
		if !equalCatchup(got, tt.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", tt.name, got, tt.want)
		}
	}
}

func equalCatchup(a, b Catchup) bool {
	if !slices.Equal(a.DeletedSegments, b.DeletedSegments) {
		return false
	}
	a.DeletedSegments, b.DeletedSegments = nil, nil
	return a.sans() == b.sans()
}

// sans is a catchup without its list, to be compared.
func (c Catchup) sans() [14]any {
	return [14]any{c.Way, c.Why, c.TruncateTo, c.FetchFrom, c.FetchTo, c.FirstBatch, c.FirstSegment, c.LogStart, c.FetchBytes, c.StuckAt, c.CutBytes, c.DeletedBytes, c.EmptyDeleted, c.KeptBytes}
}

// A bad batch in the leader's log stops every follower below it, and none above.
func TestPlanCatchupStopsAtObstacle(t *testing.T) {
	from := logOf(500, 0, 200, 400)
	from.Obstacles = []Obstacle{{Segment: 1, Position: 500, Offset: 250, Why: "a batch with a wrong CRC at offset 250"}}
	got, err := PlanCatchup(state(0, 500), state(0, 210), from, logOf(210, 0), Truncation{CutTo: 210})
	if err != nil {
		t.Fatal(err)
	}
	// Offsets 210–249: 4 batches of 100 bytes.
	if got.Way != Stuck || got.StuckAt != 250 || got.FetchBytes != 400 {
		t.Errorf("got %+v", got)
	}
	if got, err = PlanCatchup(state(0, 500), state(0, 260), from, logOf(260, 0), Truncation{CutTo: 260}); err != nil || got.Way != CatchUp || got.FetchBytes != 2400 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestCatchUpTimes(t *testing.T) {
	inf := math.Inf(1)
	const mib = 1 << 20
	tests := []struct {
		name    string
		flows   []Flow
		budgets []float64
		moment  float64
		want    []Arrival
	}{
		// 2^40 / 2^20 = 2^20 s = 12 d 3 h 16 min 16 s; in 60 s, 60 MiB.
		{"1 TiB at 1 MiB/s", []Flow{{1 << 40, 0, []int{0}}}, []float64{mib}, 60, []Arrival{{1 << 20, 60 * mib}}},
		// 2^20 s / 50 = 20,971.52 s = 5 h 49 min 31.52 s.
		{"1 TiB at 50 MiB/s", []Flow{{1 << 40, 0, []int{0}}}, []float64{50 * mib}, 60, []Arrival{{20971.52, 3000 * mib}}},
		// 1000 B at 10 B/s while 2 B/s arrive: 1000 / (10 - 2) = 125 s. By 150 s: 125 s at
		// 10 B/s, then 25 s at 2 B/s = 1300 B.
		{"new data", []Flow{{1000, 2, []int{0}}}, []float64{10}, 150, []Arrival{{125, 1300}}},
		{"new data as fast as the budget", []Flow{{1000, 10, []int{0}}}, []float64{10}, 50, []Arrival{{inf, 500}}},
		// Follower 10 B/s, leader 4 B/s: the slower decides, 1000 / 4.
		{"two budgets", []Flow{{1000, 0, []int{0, 1}}}, []float64{10, 4}, 0, []Arrival{{250, 0}}},
		// Two share 10 B/s: 5 each. The first is done after 100/5 = 20 s. The second has
		// 400-100 = 300 left, at 10 B/s: 30 s more. In all (100+400)/10 = 50 s.
		{"shared", []Flow{{100, 0, []int{0}}, {400, 0, []int{0}}}, []float64{10}, 30, []Arrival{{20, 100}, {50, 200}}},
		// The same with 1 B/s of new data each. First: 100/(5-1) = 25 s. Second: 400-100 =
		// 300 left, 10 - 1 (the first one's new data) - 1 = 8 B/s: 37.5 s more. In all
		// 500/(10-2) = 62.5 s.
		{"shared, with new data", []Flow{{100, 1, []int{0}}, {400, 1, []int{0}}}, []float64{10}, 0, []Arrival{{25, 0}, {62.5, 0}}},
		// Follower 10 B/s (budget 0). Leader a 2 B/s (1), leader b without limit (2). The
		// first gets 2, the other what is left, 8: 100/2 = 50 s, 400/8 = 50 s.
		{"what one cannot use", []Flow{{100, 0, []int{0, 1}}, {400, 0, []int{0, 2}}}, []float64{10, 2, inf}, 0, []Arrival{{50, 0}, {50, 0}}},
		// Three flows, 12 B/s, new data 5 B/s each: 4 each, nobody gains.
		{"all too slow", []Flow{{10, 5, []int{0}}, {20, 5, []int{0}}, {0, 5, []int{0}}}, []float64{12}, 0, []Arrival{{inf, 0}, {inf, 0}, {0, 0}}},
		// 12 B/s, new data 5 and 0: 6 each. The second is done after 60/6 = 10 s, the first
		// has gained 10 of 100 by then, and goes on at 12-5 = 7 B/s: 90/7 s more.
		{"different rates", []Flow{{100, 5, []int{0}}, {60, 0, []int{0}}}, []float64{12}, 0, []Arrival{{10 + 90.0/7, 0}, {10, 0}}},
		{"no budget", []Flow{{100, 0, []int{0}}}, []float64{inf}, 0, []Arrival{{0, 100}}},
	}
	for _, tt := range tests {
		got := CatchUpTimes(tt.flows, tt.budgets, tt.moment)
		for i := range tt.want {
			if !near(got[i].Seconds, tt.want[i].Seconds) || !near(got[i].Fetched, tt.want[i].Fetched) {
				t.Errorf("%s: flow %d: got %+v, want %+v", tt.name, i, got[i], tt.want[i])
			}
		}
	}
}

func near(a, b float64) bool { return a == b || math.Abs(a-b) <= 1e-9*math.Abs(b) }

// What holds whatever the flows: nobody is faster than each of its budgets alone
// allows, and where all share one budget B and their new data leave some of it, all are
// done after (sum of what they lack) / (B - sum of new data), as no byte of the budget
// is wasted.
func TestCatchUpTimesHold(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		budgets := []float64{1 + random.Float64()*1000, 1 + random.Float64()*1000, math.Inf(1)}
		flows := make([]Flow, 1+random.IntN(12))
		one := random.IntN(2) == 0
		var lack, write float64
		for i := range flows {
			flows[i] = Flow{Bytes: 1 + random.Int64N(10000), Write: float64(random.IntN(4)) * 10, Through: []int{0}}
			if !one {
				flows[i].Through = [][]int{{0}, {1}, {0, 1}, {0, 2}}[random.IntN(4)]
			}
			lack += float64(flows[i].Bytes)
			write += flows[i].Write
		}
		moment := random.Float64() * 100
		got := CatchUpTimes(flows, budgets, moment)
		var last, fetched float64
		for i, f := range flows {
			least := 0.0
			for _, b := range f.Through {
				if budgets[b] <= f.Write {
					least = math.Inf(1)
				}
				least = max(least, float64(f.Bytes)/(budgets[b]-f.Write))
			}
			if got[i].Seconds < least*(1-1e-9) {
				t.Fatalf("flow %d of %+v, %v: %v, at least %v", i, flows, budgets, got[i], least)
			}
			last = max(last, got[i].Seconds)
			fetched += got[i].Fetched
		}
		if !one {
			continue
		}
		want := lack / (budgets[0] - write)
		if write >= budgets[0] {
			want = math.Inf(1)
		}
		if math.Abs(last-want) > 1e-6*want && !(math.IsInf(last, 1) && math.IsInf(want, 1)) {
			t.Fatalf("%+v, %v: all done after %v, want %v", flows, budgets, last, want)
		}
		if moment < want && write < budgets[0] && math.Abs(fetched-budgets[0]*moment) > 1e-6*fetched {
			t.Fatalf("%+v, %v: %v fetched in %v s", flows, budgets, fetched, moment)
		}
	}
}
