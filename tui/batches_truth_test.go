package tui

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"kafsck/incident"
	"kafsck/internal/fixture"
	"kafsck/replica"
)

// storyOf is a judged partition and the live copy of a broker.
func storyOf(s *sim, name, broker string) (*incident.Partition, *incident.Copy) {
	s.t.Helper()
	i := s.app.world.indexOf(name)
	if i < 0 {
		s.t.Fatalf("there is no partition %s", name)
	}
	p := s.app.world.story(i)
	if p == nil { // not among those that are kept
		p = s.app.world.src.Incident.One(s.t.Context(), s.app.world.refs[i])
	}
	for _, c := range p.Copies {
		if c.Broker.Name == broker && c.State == replica.Live {
			return p, c
		}
	}
	s.t.Fatalf("%s has no live copy on broker %s", name, broker)
	return nil, nil
}

// open pushes a screen and waits for what it reads.
func (s *sim) open(x screen) *sim {
	s.t.Helper()
	s.app.push(x)
	s.push(s.app.commands())
	return s.settle()
}

// truthOf is what the recorder of a fixture knew, as far as it is about logs.
type truthOf struct {
	Stages map[string]struct {
		Brokers map[string]struct {
			Partitions map[string]struct {
				LeaderEpochCheckpoint [][2]int64
				LogStart, LogEnd      int64
				Segments              []struct {
					Base, Size, Batches, Records, FirstBatchBase, LastOffset int64
				}
				BatchEpochRanges []struct{ Epoch, First, Last, Batches int64 }
			}
		}
	}
}

// batchLine is a line of a list of batches: position, offset, last, epoch, records, size.
var batchLine = regexp.MustCompile(`^[›* ].[ ]+(\d+) +(\d+) +(\d+) +(-?\d+) +(\d+) +(\d+) (none|gzip|snappy|lz4|zstd) `)

// shownBatches are the numbers of the batches on the screen.
func shownBatches(s *sim) [][]int64 {
	var out [][]int64
	for _, l := range strings.Split(s.view(), "\n") {
		m := batchLine.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		var row []int64
		for _, x := range m[1:7] {
			n, err := strconv.ParseInt(x, 10, 64)
			if err != nil {
				s.t.Fatal(err)
			}
			row = append(row, n)
		}
		out = append(out, row)
	}
	return out
}

// TestBatchesAreTruth: what the screen shows of each segment is what the recorder knew
// of it (truth.json): number of batches and records, offsets, sizes, epochs.
func TestBatchesAreTruth(t *testing.T) {
	segments := 0
	for _, name := range []string{"unclean-election/stage-b", "epoch-history/stage-c", "divergence/stage-a"} {
		recording, stage, _ := strings.Cut(name, "/")
		var truth truthOf
		if err := json.Unmarshal(fixture.Tree(t, recording)["truth.json"].Data, &truth); err != nil {
			t.Fatal(err)
		}
		s := newSim(t, 160, 120, openFixture(t, name)).settle()
		for broker, b := range truth.Stages[stage].Brokers {
			for partition, want := range b.Partitions {
				p, c := storyOf(s, partition, strings.TrimPrefix(broker, "broker-"))
				if len(c.Log.Segments) != len(want.Segments) {
					t.Fatalf("%s %s: %d segments, want %d", broker, partition, len(c.Log.Segments), len(want.Segments))
				}
				ranges := map[int64][3]int64{}
				for i, x := range want.Segments {
					segments++
					s.open(newBatches(s.app.world, logOf(p, c).to(i), target{}))
					rows := shownBatches(s)
					var records, size int64
					for _, r := range rows {
						records += r[4]
						size += r[5]
						e, seen := ranges[r[3]]
						if !seen {
							e[0] = r[1]
						}
						ranges[r[3]] = [3]int64{e[0], r[2], e[2] + 1}
					}
					what := fmt.Sprintf("%s %s segment %d", broker, partition, x.Base)
					if int64(len(rows)) != x.Batches || records != x.Records || size != x.Size {
						t.Fatalf("%s: shown are %d batches, %d records, %d bytes; want %+v\n%s", what, len(rows), records, size, x, s.view())
					}
					if len(rows) > 0 && (rows[0][1] != x.FirstBatchBase || rows[len(rows)-1][2] != x.LastOffset) {
						t.Errorf("%s: offsets %d to %d, want %+v", what, rows[0][1], rows[len(rows)-1][2], x)
					}
					s.keys("c").sees(countOf(x.Batches, "batch", "batches")+", "+countOf(x.Records, "record", "records"), "all CRCs verify")
					s.keys("z").sees("No fault in this segment")
				}
				for _, r := range want.BatchEpochRanges {
					if got := ranges[r.Epoch]; got != [3]int64{r.First, r.Last, r.Batches} {
						t.Errorf("%s %s epoch %d: %v, want %+v", broker, partition, r.Epoch, got, r)
					}
				}
			}
		}
	}
	if segments < 30 {
		t.Errorf("only %d segments were looked at", segments)
	}
}

// TestEpochFileIsTruth: the column of what is written is the file, and that of what is
// regenerated has the batches' epochs.
func TestEpochFileIsTruth(t *testing.T) {
	var truth truthOf
	if err := json.Unmarshal(fixture.Tree(t, "epoch-history")["truth.json"].Data, &truth); err != nil {
		t.Fatal(err)
	}
	s := newSim(t, 140, 60, openFixture(t, "epoch-history/stage-c")).settle()
	row := regexp.MustCompile(`^[›* ][·n!DL ] +(\d+) +([\d–, ]*?) +(\d+|-) +(\d+|-) +(\d+|-) `)
	for broker, b := range truth.Stages["stage-c"].Brokers {
		for partition, want := range b.Partitions {
			p, c := storyOf(s, partition, strings.TrimPrefix(broker, "broker-"))
			s.open(openSegments(s.app.world, p, c)).keys("E")
			written := map[string]string{}
			for _, l := range strings.Split(s.view(), "\n") {
				if m := row.FindStringSubmatch(l); m != nil && m[3] != "-" {
					written[m[1]] = m[3]
				}
			}
			if len(written) != len(want.LeaderEpochCheckpoint) {
				t.Fatalf("%s %s: %v, want %v\n%s", broker, partition, written, want.LeaderEpochCheckpoint, s.view())
			}
			for _, e := range want.LeaderEpochCheckpoint {
				if written[itoa(e[0])] != itoa(e[1]) {
					t.Errorf("%s %s epoch %d: written %s, want %d", broker, partition, e[0], written[itoa(e[0])], e[1])
				}
			}
		}
	}
}

// TestJumps: to offsets, epochs and times, and from there to the bytes.
func TestJumps(t *testing.T) {
	s := newSim(t, 120, 40, openFixture(t, "epoch-history/stage-c")).settle()
	p, c := storyOf(s, "epochs-0", "1")
	s.open(openSegments(s.app.world, p, c)).keys("enter")
	at := func() *frame { return s.app.top().screen.(*batchesScreen).selected() }
	type jump struct {
		command string
		offset  int64 // that the selected batch must hold
	}
	for _, j := range []jump{{"goto 0", 0}, {"goto 351", 351}, {"goto 179", 179}, {"epoch 5", 180}, {"epoch 16", 350}, {"goto 111", 111}} {
		s.keys(":").text(j.command).keys("enter")
		f := at()
		if f == nil {
			t.Fatalf("%s: nothing is selected\n%s", j.command, s.view())
		}
		if first, last := f.offsets(); j.offset < first || j.offset > last {
			t.Errorf(":%s went to the batch %d–%d", j.command, first, last)
		}
	}
	f := at()
	s.keys(":").text("time " + timeOf(f.head.MaxTimestamp).UTC().Format("2006-01-02T15:04:05.000Z")).keys("enter")
	if got := at(); got.head.MaxTimestamp < f.head.MaxTimestamp || got.head.BaseOffset > f.head.BaseOffset {
		t.Errorf(":time went to %d, want %d", got.head.BaseOffset, f.head.BaseOffset)
	}
	s.keys(":").text("epoch 3").keys("enter").sees("no batch has leader epoch 3; there are 0, 1, 4").keys("esc")
	s.keys(":").text("goto 999999").keys("enter").sees("is not in this log")
	s.open(openOffset(s.app.world, p, c, 200))
	s.sees("record 200", "offsetDelta", "offset 200")
	s.keys("r").sees("── record 200")
}

// TestMarkersAreExplained: an aborted transaction's marker says what it means.
func TestMarkersAreExplained(t *testing.T) {
	s := newSim(t, 100, 40, openFixture(t, "transactions/stage2-clean")).settle()
	found := 0
	for i := range s.app.world.refs {
		p := s.app.world.src.Incident.One(t.Context(), s.app.world.refs[i])
		for _, c := range p.Live() {
			for x, err := range c.Log.Transactions(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if x.State != replica.TransactionAborted || found > 8 {
					continue
				}
				found++
				s.open(openOffset(s.app.world, p, c, x.Marker)).sees("ABORT", "bit 5 control")
				s.keys("r").sees("control record: ABORT", fmt.Sprintf("ends the transaction of producer %d", x.ProducerID))
			}
		}
	}
	if found == 0 {
		t.Error("no aborted transaction was found")
	}
}
