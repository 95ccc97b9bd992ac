package conformance

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"kafsck/checkpoint"
	"kafsck/epoch"
)

// epochScript is one request of the mode "epochs".
type epochScript struct {
	File string   `json:"file"`
	Ops  [][]any  `json:"ops"`
	want []string // what kafsck says after each operation
}

// play makes a script of a file and operations, with what package epoch answers.
func play(lines []epoch.Entry, ops [][]any) *epochScript {
	s := &epochScript{File: string(checkpoint.FormatEpochs(lines)), Ops: ops}
	cache := epoch.Load(checkpoint.ParseEpochs([]byte(s.File)).Entries)
	disk := slices.Clone(lines)
	s.want = append(s.want, fmt.Sprint(ofCache(cache)))
	for _, op := range ops {
		number := func(i int) int64 {
			switch n := op[i].(type) {
			case int32:
				return int64(n)
			case int64:
				return n
			}
			panic(fmt.Sprintf("%T", op[i]))
		}
		var result string
		before := cache
		switch op[0] {
		case "assign":
			cache = cache.Assign(int32(number(1)), number(2))
		case "truncateFromEnd":
			cache = cache.TruncateFromEnd(number(1))
		case "truncateFromStart":
			cache = cache.TruncateFromStart(number(1))
		case "endOffsetFor":
			at, end := cache.EndOffsetFor(int32(number(1)), number(2))
			result = fmt.Sprintf("[%d %d] ", at, end)
		case "epochForOffset":
			result = "OptionalInt.empty "
			if at := cache.EpochFor(number(1)); at >= 0 {
				result = fmt.Sprintf("OptionalInt[%d] ", at)
			}
		case "entriesInRange":
			result = fmt.Sprint(ofCache(cache.EntriesInRange(number(1), number(2))), " ")
		case "reload":
			cache = epoch.Load(disk)
		}
		// The file is written when an operation changed the cache.
		if op[0] != "reload" && !slices.Equal(before, cache) {
			disk = cache
		}
		s.want = append(s.want, result+fmt.Sprint(ofCache(cache)))
	}
	return s
}

// TestEpochCache plays 10,000 random scripts on Kafka's LeaderEpochFileCache and on
// package epoch: files in any order, assignment, truncation at both ends, the
// questions that replicas and remote storage ask, and reading the file again.
func TestEpochCache(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	var scripts []*epochScript
	for range 10_000 {
		scripts = append(scripts, makeScript(random))
	}
	compareScripts(t, scripts)
}

// TestEpochCacheVectors is the same with every vector of kafka-format.md §5.2 to
// §5.6 and §13.6.
func TestEpochCacheVectors(t *testing.T) {
	of := func(pairs ...int64) []epoch.Entry {
		var out []epoch.Entry
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, epoch.Entry{Epoch: int32(pairs[i]), StartOffset: pairs[i+1]})
		}
		return out
	}
	asked := func(end int64, epochs ...int32) (ops [][]any) {
		for _, e := range epochs {
			ops = append(ops, []any{"endOffsetFor", e, end})
		}
		return ops
	}
	all := []int32{-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	scripts := []*epochScript{
		play(of(0, 0, 3, 50, 2, 60, 5, 40), nil),
		play(of(1, 0, 1, 10, 2, 20), nil),
		play(of(1, 10, 2, 10, 3, 20), nil),
		play(of(3, 20, 1, 0, 2, 10), nil),
		play(of(0, 0, 2, 50, 6, 90), [][]any{{"assign", int32(3), int64(200)}}),
		play(of(0, 0, 2, 50, 5, 100), asked(150, all...)),
		play(of(2, 60, 3, 200), asked(500, all...)),
		play(nil, asked(500, all...)),
		play(of(0, 0, 2, 50, 3, 200), [][]any{{"truncateFromStart", int64(0)}, {"truncateFromStart", int64(60)}, {"truncateFromStart", int64(200)}, {"truncateFromStart", int64(900)}, {"reload"}}),
		play(of(0, 0, 7, 300, 8, 400), [][]any{{"truncateFromEnd", int64(400)}, {"truncateFromEnd", int64(250)}, {"reload"}}),
		play(of(0, 0, 2, 50, 5, 100), [][]any{{"entriesInRange", int64(60), int64(100)}, {"entriesInRange", int64(-1), int64(100)}, {"epochForOffset", int64(0)}, {"epochForOffset", int64(70)}}),
	}
	// §13.6: each cache with its log end is asked for every epoch.
	for _, v := range []struct {
		cache []epoch.Entry
		end   int64
	}{
		{of(0, 0, 1, 10), 20}, {of(0, 0), 8}, {of(0, 0, 1, 8), 12}, {of(0, 0), 10}, {of(0, 0, 4, 20), 30}, {of(0, 0, 2, 15, 3, 18), 25}, {of(1, 0, 5, 12), 15},
		{of(1, 0, 3, 6), 14}, {of(0, 0, 2, 5), 9}, {of(0, 0, 3, 7), 9}, {of(7, 9), 9}, {of(0, 0, 5, 6), 9}, {of(0, 0, 1, 5), 11}, {of(0, 0, 1, 4, 3, 6, 9, 20), 25},
		{of(0, 0, 2, 5, 4, 8, 8, 12), 16},
	} {
		ops := asked(v.end, all...)
		for _, cut := range []int64{12, 8, 5, 4} {
			ops = append(append(ops, []any{"truncateFromEnd", cut}), asked(cut, all...)...)
		}
		scripts = append(scripts, play(v.cache, ops))
	}
	compareScripts(t, scripts)
}

func compareScripts(t *testing.T, scripts []*epochScript) {
	t.Helper()
	var requests []any
	for _, s := range scripts {
		if s.Ops == nil {
			s.Ops = [][]any{}
		}
		requests = append(requests, s)
	}
	wrong := 0
	for i, raw := range oracle(t, []string{"epochs"}, requests) {
		var answer struct {
			Loaded  entries
			Results []struct {
				Result any
				Cache  entries
			}
		}
		if err := json.Unmarshal(raw, &answer); err != nil {
			t.Fatalf("%v: %s", err, raw)
		}
		got := []string{fmt.Sprint(answer.Loaded)}
		for _, r := range answer.Results {
			line := fmt.Sprint(r.Cache)
			if r.Result != nil {
				line = fmt.Sprint(r.Result, " ", line)
			}
			got = append(got, line)
		}
		if want := scripts[i].want; !slices.Equal(got, want) {
			if wrong++; wrong <= 5 {
				t.Errorf("file %q, operations %v\nKafka:  %q\nkafsck: %q", scripts[i].File, scripts[i].Ops, got, want)
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d scripts", wrong, len(scripts))
	}
}

func makeScript(random *rand.Rand) *epochScript {
	var lines []epoch.Entry
	for range random.IntN(6) {
		lines = append(lines, epoch.Entry{Epoch: random.Int32N(8), StartOffset: random.Int64N(100)})
	}
	if random.IntN(3) > 0 { // mostly as brokers write them
		slices.SortFunc(lines, func(a, b epoch.Entry) int { return int(a.Epoch) - int(b.Epoch) })
		for i := range lines {
			lines[i].StartOffset = int64(i*10) + random.Int64N(15)
		}
	}
	var ops [][]any
	for range random.IntN(10) {
		e, offset := random.Int32N(10), random.Int64N(110)
		switch random.IntN(14) {
		case 0, 1, 2:
			ops = append(ops, []any{"assign", e, offset})
		case 3, 4:
			ops = append(ops, []any{"truncateFromEnd", offset})
		case 5, 6:
			ops = append(ops, []any{"truncateFromStart", offset})
		case 7, 8:
			ops = append(ops, []any{"endOffsetFor", e - 1, int64(200)})
		case 9, 10:
			ops = append(ops, []any{"epochForOffset", offset})
		case 11, 12:
			ops = append(ops, []any{"entriesInRange", offset - 1, offset + random.Int64N(60)})
		case 13:
			ops = append(ops, []any{"reload"})
		}
	}
	return play(lines, ops)
}
