package conformance

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"kafsck/broker"
	"kafsck/checkpoint"
	"kafsck/epoch"
)

// The follower's dialogue with its leader, played with the answers of Kafka's own
// LeaderEpochFileCache on both sides, against broker.Truncate. The offsets are few, so that
// one script a cache asks for everything that either side may ever want to know.
const (
	lastOffset = 14 // greatest log end
	lastEpoch  = 7
)

// kafkaCache is what Kafka's cache answers: after truncateFromEnd(end) the newest epoch and
// endOffsetFor of every epoch, for every end.
type kafkaCache struct {
	latest [lastOffset + 1]int32 // -1: empty
	ends   [lastOffset + 1][lastEpoch + 1][2]int64
}

func (c *kafkaCache) endOffsetFor(e int32, end int64) (int32, int64) {
	a := c.ends[end][e]
	return int32(a[0]), a[1]
}

// askAll makes the script of a cache: from the log end downwards, cut, then ask for every
// epoch.
func askAll(lines []epoch.Entry, end int64) *epochScript {
	s := &epochScript{File: string(checkpoint.FormatEpochs(lines)), Ops: [][]any{}}
	for at := end; at >= 0; at-- {
		s.Ops = append(s.Ops, []any{"truncateFromEnd", at})
		for e := int32(0); e <= lastEpoch; e++ {
			s.Ops = append(s.Ops, []any{"endOffsetFor", e, at})
		}
	}
	return s
}

func answers(t *testing.T, raw json.RawMessage, end int64) *kafkaCache {
	t.Helper()
	var a struct {
		Results []struct {
			Result any
			Cache  entries
		}
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	c := &kafkaCache{}
	i := 0
	for at := end; at >= 0; at-- {
		c.latest[at] = -1
		if n := len(a.Results[i].Cache); n > 0 {
			c.latest[at] = int32(a.Results[i].Cache[n-1][0])
		}
		i++
		for e := range lastEpoch + 1 {
			pair, ok := a.Results[i].Result.([]any)
			if !ok || len(pair) != 2 {
				t.Fatalf("endOffsetFor: %v", a.Results[i].Result)
			}
			c.ends[at][e] = [2]int64{int64(pair[0].(float64)), int64(pair[1].(float64))}
			i++
		}
	}
	return c
}

// side is one replica of a pair.
type side struct {
	broker.State
	kafka *kafkaCache
}

// meet is the dialogue of a follower since 2.8, or of 2.0 to 2.7 (kafka-format.md §6.2, §6.3,
// §6.6): where it ends, whether it started anew, whether it is stuck.
func meet(era broker.Era, leader, follower *side) (end int64, rebuild, stuck bool) {
	end = follower.LogEnd
	last := follower.kafka.latest[end]
	if last < 0 {
		end = min(follower.HighWatermark, end)
	}
	cut := func(to int64) {
		end = to
		last = follower.kafka.latest[end]
	}
	agree := func(e int32, leaderEnd int64) bool { // whether both know epoch e
		mine, myEnd := follower.kafka.endOffsetFor(e, end)
		switch {
		case myEnd < 0:
			cut(min(leaderEnd, end))
		case mine != e:
			cut(min(myEnd, end))
			return false
		default:
			cut(min(myEnd, leaderEnd, end))
		}
		return true
	}
	for era == broker.KIP279 && last >= 0 {
		e, leaderEnd := leader.kafka.endOffsetFor(last, leader.LogEnd)
		if leaderEnd < 0 {
			cut(min(follower.HighWatermark, end))
			break
		}
		if agree(e, leaderEnd) {
			break
		}
	}
	for {
		refused := end < leader.LogStart || end > leader.LogEnd
		if era == broker.FetchEra && last >= 0 && !rebuild {
			e, leaderEnd := leader.kafka.endOffsetFor(last, leader.LogEnd)
			switch {
			case e < 0 || leaderEnd < 0 || end < leader.LogStart:
				refused = true
			case e < last || leaderEnd < end:
				agree(e, leaderEnd)
				continue
			}
		}
		switch {
		case !refused:
			return end, rebuild, false
		case leader.LogEnd < end:
			cut(leader.LogEnd)
		case leader.LogStart > end:
			end, last, rebuild = leader.LogStart, -1, true
		default:
			return end, rebuild, true
		}
	}
}

// TestTruncateAgainstKafkasCache: each of 80 random replicas as the leader of each other,
// which makes 6,320 pairs, in two eras. Caches are mostly as brokers write them; some are
// empty, some are those of another log.
func TestTruncateAgainstKafkasCache(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 6))
	var sides []*side
	var scripts []any
	common := randomLines(random)
	for range 80 {
		s := &side{}
		s.LogEnd = random.Int64N(lastOffset + 1)
		s.LogStart = max(0, random.Int64N(s.LogEnd+1)-random.Int64N(lastOffset))
		s.HighWatermark = s.LogStart + random.Int64N(s.LogEnd-s.LogStart+1)
		lines := common // two that were written by the same leaders, for a while
		switch random.IntN(8) {
		case 0:
			lines = nil
		case 1, 2, 3:
			lines = randomLines(random)
		case 4, 5:
			common = randomLines(random)
		}
		s.Epochs = epoch.Load(lines).TruncateFromEnd(s.LogEnd)
		sides = append(sides, s)
		scripts = append(scripts, askAll(lines, s.LogEnd))
	}
	for i, raw := range oracle(t, []string{"epochs"}, scripts) {
		sides[i].kafka = answers(t, raw, sides[i].LogEnd)
	}
	outcomes := map[string]int{}
	pairs := 0
	for _, leader := range sides {
		for _, follower := range sides {
			if leader == follower {
				continue
			}
			pairs++
			for _, era := range []broker.Era{broker.FetchEra, broker.KIP279} {
				end, rebuild, stuck := meet(era, leader, follower)
				got := broker.Truncate(era, leader.State, follower.State)
				switch {
				case got.To != end || got.Rebuild != rebuild || got.Stuck != stuck:
					t.Errorf("era %d, leader %+v, follower %+v: Kafka's caches give %d (rebuild %t, stuck %t), kafsck %+v", era, leader.State, follower.State, end, rebuild, stuck, got)
				case stuck:
					outcomes["stuck"]++
				case rebuild:
					outcomes["rebuild"]++
				case end < follower.LogEnd:
					outcomes["cut"]++
				default:
					outcomes["nothing"]++
				}
			}
		}
	}
	t.Logf("%d pairs: %v", pairs, outcomes)
	for _, o := range []string{"stuck", "rebuild", "cut", "nothing"} {
		if outcomes[o] < 100 {
			t.Errorf("only %d pairs end with %s", outcomes[o], o)
		}
	}
}

// randomLines is a leader-epoch-checkpoint whose epochs and starts grow.
func randomLines(random *rand.Rand) (lines []epoch.Entry) {
	e, offset := random.Int32N(3), random.Int64N(3)
	for range random.IntN(6) {
		if e > lastEpoch {
			break
		}
		lines = append(lines, epoch.Entry{Epoch: e, StartOffset: offset})
		e += 1 + random.Int32N(2)
		offset += 1 + random.Int64N(4)
	}
	return lines
}
