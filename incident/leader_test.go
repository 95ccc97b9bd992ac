package incident_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"kafsck/broker"
	"kafsck/commitment"
	"kafsck/epoch"
	"kafsck/incident"
	"kafsck/internal/fixture"
)

func predictWith(version string) incident.Options {
	v, err := broker.ParseVersion(version)
	if err != nil {
		panic(err)
	}
	return incident.Options{Leadership: &incident.LeaderOptions{Version: v}}
}

func candidateOf(t *testing.T, p *incident.Partition, name string) *incident.Candidacy {
	t.Helper()
	if p == nil || p.Leadership == nil {
		t.Fatalf("no prediction: %+v", p)
	}
	for i := range p.Leadership.Candidates {
		if c := &p.Leadership.Candidates[i]; c.Copy.Broker.Name == name {
			return c
		}
	}
	t.Fatalf("%s: broker %s is no candidate", p.Name, name)
	return nil
}

func followerOf(t *testing.T, c *incident.Candidacy, name string) *incident.FollowerFate {
	t.Helper()
	for i := range c.Followers {
		if f := &c.Followers[i]; f.Copy.Broker.Name == name {
			return f
		}
	}
	t.Fatalf("broker %s is no follower of broker %s", name, c.Copy.Broker.Name)
	return nil
}

// TestLeadersOfFixtures: in every stage of every recording, what is lost under each
// replica is what expected.json says (ifElected), and under the ruling leader what loss
// says. A follower since 2.8 that is not cut by its high watermark ends where both logs
// hold the same.
func TestLeadersOfFixtures(t *testing.T) {
	for _, name := range append(slices.Clone(fixture.Names), "hw-truncation-loss", "hw-truncation-oldformat") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := fixture.Tree(t, name)
			for stage, s := range readExpected(t, tree).Stages {
				got := stories(t, predictWith("4"), below(tree, stage))
				for part, want := range s.Partitions {
					p := got[part]
					if p == nil || p.Leadership == nil {
						if p == nil || !p.Ruling.Removed {
							t.Errorf("%s %s: no prediction", stage, part)
						}
						continue
					}
					if want.Leader == nil {
						for id, w := range want.IfElected {
							c := candidateOf(t, p, id)
							if g, w := lossLines(c.Losses, false), wantedLosses(w.Losses, false); g != w {
								t.Errorf("%s %s: if %s led\n got  %s\n want %s", stage, part, id, g, w)
							}
						}
					}
					for i := range p.Leadership.Candidates {
						sane(t, stage+" "+part, p, &p.Leadership.Candidates[i])
					}
				}
			}
		})
	}
}

func sane(t *testing.T, where string, p *incident.Partition, c *incident.Candidacy) {
	t.Helper()
	if c.CannotLead != "" || c.Copy.Log.LogEndOffset != c.State.LogEnd {
		t.Errorf("%s: broker %s: %q, end %d of %d", where, c.Copy.Broker.Name, c.CannotLead, c.State.LogEnd, c.Copy.Log.LogEndOffset)
	}
	var sum int64
	for _, n := range c.Lost {
		sum += n
	}
	for _, l := range c.Losses {
		sum -= *l.Records
	}
	if sum != 0 {
		t.Errorf("%s: broker %s: the grades do not add up: %v", where, c.Copy.Broker.Name, c.Lost)
	}
	for i := range c.Followers {
		f := &c.Followers[i]
		var common int64 = -1
		for _, d := range p.Divergences {
			a, b := d.A.Broker.Name, d.B.Broker.Name
			if (a == c.Copy.Broker.Name && b == f.Copy.Broker.Name || b == c.Copy.Broker.Name && a == f.Copy.Broker.Name) && d.Kind == "epoch-fork" && d.EqualFrom == nil {
				common = d.CommonEnd
			}
		}
		if common >= 0 && f.How == broker.CutByEpoch && f.To != common {
			t.Errorf("%s: broker %s under broker %s is cut at %d, they have %d in common", where, f.Copy.Broker.Name, c.Copy.Broker.Name, f.To, common)
		}
		if f.To > f.State.LogEnd && !f.Rebuild || f.Again > f.ThrownAway || f.FetchBytes < 0 || f.Stuck {
			t.Errorf("%s: broker %s under broker %s: %+v", where, f.Copy.Broker.Name, c.Copy.Broker.Name, f)
		}
		if f.ThrownAway > 0 && f.Again == 0 && len(c.Losses) == 0 && !f.Rebuild {
			// Thrown away and nowhere else: that is a loss, whatever its grade, unless the
			// topic is compacted.
			if p.Ruling.Policy == "delete" && p.Retried == 0 && c.CopiedLater == 0 {
				t.Errorf("%s: broker %s under broker %s drops %d records, and nothing is lost", where, f.Copy.Broker.Name, c.Copy.Broker.Name, f.ThrownAway)
			}
		}
	}
}

// TestLeadersOfUncleanElection: what the recorded brokers really did is the second half.
func TestLeadersOfUncleanElection(t *testing.T) {
	p := stories(t, predictWith("4"), below(fixture.Tree(t, "unclean-election"), "stage-b"))["unclean-demo-0"]
	one, two := candidateOf(t, p, "1"), candidateOf(t, p, "2")
	if one.Lost[commitment.Yes] != 20 || one.LostAll() != 20 || two.Lost[commitment.Yes] != 100 || two.LostAll() != 100 {
		t.Errorf("lost: 1 %v, 2 %v; want 20 and 100", one.Lost, two.Lost)
	}
	l := p.Leadership
	if l.Recommended() != one || l.Best != 1 || l.Safe() || l.Epoch != 2 || two.Epoch != 2 || one.Epoch != 4 {
		t.Errorf("recommended %v of %d, epoch %d", l.Recommended().Copy.Broker, l.Best, l.Epoch)
	}
	// logs/broker-1.log: "Truncating partition unclean-demo-0 with TruncationState(offset=100".
	f := followerOf(t, two, "1")
	if f.To != 100 || f.ThrownAway != 100 || f.Again != 0 || !f.BelowHighWatermark || f.FetchBytes != 352 || f.Base != -1 {
		t.Errorf("%+v", f)
	}
}

// TestLeadersOfReplicaRebuild: stage-b shows what the follower did.
func TestLeadersOfReplicaRebuild(t *testing.T) {
	p := stories(t, predictWith("4"), below(fixture.Tree(t, "replica-rebuild"), "stage-a"))["d1.rebuild-0"]
	f := followerOf(t, candidateOf(t, p, "2"), "3")
	// 00000000000000000000.log.deleted has 63,920 bytes, 00000000000000000600.log 21,327.
	if !f.Rebuild || f.To != 607 || f.Base != 600 || f.ThrownAway != 300 || f.ThrownAwayBytes != 63920 || f.FetchBytes != 21327 || f.BelowHighWatermark {
		t.Errorf("%+v", f)
	}
	if l := p.Leadership; l.Best != 2 || l.Recommended().Copy.Broker.ID != 2 || !l.Safe() {
		t.Errorf("recommended %v of %d", l.Recommended().Copy.Broker, l.Best)
	}
	// Broker 3 was down: what it lacks is lost with it as leader.
	if n := candidateOf(t, p, "3").Lost[commitment.Yes]; n != 93 {
		t.Errorf("broker 3 as leader loses %d of the 93 readable records", n)
	}
}

// TestLeadersOfSilentFork: 1.1.1 truncated nothing and kept its own records (its log says
// "Truncating to 70 has no effect"); since KIP-279 it would have cut them off.
func TestLeadersOfSilentFork(t *testing.T) {
	tree := below(fixture.Tree(t, "kip279-silent-fork"), "stage-b")
	for version, want := range map[string]string{
		"0.10": "70 [epoch-fork offsets 50–69]", "1.1": "70 [epoch-fork offsets 50–69]", "2.0": "50 []", "2.7": "50 []", "2.8": "50 []", "4.3": "50 []",
	} {
		f := followerOf(t, candidateOf(t, stories(t, predictWith(version), tree)["fork279-0"], "1"), "2")
		var kept []string
		for _, k := range f.Kept {
			kept = append(kept, fmt.Sprintf("%s offsets %d–%d", k.Kind, k.From, k.To-1))
		}
		if got := fmt.Sprint(f.To, " ", kept); got != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
	// In stage-c the fork is there for good: the newest epoch is the same.
	tree = below(fixture.Tree(t, "kip279-silent-fork"), "stage-c")
	f := followerOf(t, candidateOf(t, stories(t, predictWith("4.3"), tree)["fork279-0"], "1"), "2")
	if f.To != 115 || len(f.Kept) != 1 || f.Kept[0].From != 50 || f.Kept[0].To != 70 {
		t.Errorf("%+v", f)
	}
}

// TestLeadersOfPairs: where Kafka 4.3.1's own epoch cache cuts the followers of the
// constructed replica sets (testdata pairs, field kafka). It was asked with the files as they
// are: nobody was started, the leader has no new epoch, and a follower without epochs, which
// would first cut at its high watermark, cuts nothing.
func TestLeadersOfPairs(t *testing.T) {
	tree := fixture.Tree(t, "pairs")
	var all struct {
		Cases []struct {
			ID, Partition string
			Leader        *int32
			Kafka         map[string]struct{ LogEnd, TruncateTo int64 }
		} `json:"cases"`
	}
	if err := json.Unmarshal(tree["cases.json"].Data, &all); err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, c := range all.Cases {
		if len(c.Kafka) == 0 || c.Leader == nil {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			p := stories(t, predictWith("4"), below(tree, c.ID))[c.Partition]
			leader := candidateOf(t, p, fmt.Sprint(*c.Leader))
			for id, want := range c.Kafka {
				f := followerOf(t, leader, id)
				if f.State.LogEnd != want.LogEnd {
					t.Errorf("broker %s ends at %d, for Kafka at %d", id, f.State.LogEnd, want.LogEnd)
				}
				follower := asItIs(f.Copy)
				if len(follower.Epochs) == 0 {
					follower.HighWatermark = follower.LogEnd
				}
				if got := broker.Truncate(broker.FetchEra, asItIs(leader.Copy), follower); got.To != want.TruncateTo {
					t.Errorf("broker %s is cut at %d, by Kafka at %d", id, got.To, want.TruncateTo)
				}
				asked++
			}
		})
	}
	if asked < 50 {
		t.Errorf("only %d followers", asked)
	}
}

// asItIs is a replica whose broker was not started.
func asItIs(c *incident.Copy) broker.State {
	return broker.State{LogStart: c.Log.LogStartOffset, LogEnd: c.Log.LogEndOffset, Epochs: c.Log.Loaded.TruncateFromEnd(c.Log.LogEndOffset)}
}

// rebuild is what a repair from headers alone writes.
func rebuild(_ context.Context, _ *incident.Partition, c *incident.Copy) (epoch.Cache, error) {
	return c.Log.Lineage.Rebuild(), nil
}

// TestLeadersWithoutEpochs: a leader without its epoch file answers for the log end of its
// election, and the follower keeps a fork that regenerated epochs would have cut off.
func TestLeadersWithoutEpochs(t *testing.T) {
	tree := below(fixture.Tree(t, "unclean-election"), "stage-b")
	for name := range tree {
		if strings.HasSuffix(name, "broker-1/unclean-demo-0/leader-epoch-checkpoint") {
			delete(tree, name)
		}
	}
	// After a kill the start would recover the epochs with the segment.
	tree["broker-1/.kafka_cleanshutdown"] = &fstest.MapFile{Data: []byte(`{"version":0,"brokerEpoch":21}`)}
	opt := predictWith("4")
	opt.Leadership.Regenerate = rebuild
	f := followerOf(t, candidateOf(t, stories(t, opt, tree)["unclean-demo-0"], "1"), "2")
	if f.To != 120 || len(f.Kept) != 1 || f.Kept[0].From != 100 || f.Kept[0].To != 120 {
		t.Errorf("as it is: %+v", f)
	}
	if o := f.Otherwise; o == nil || o.To != 100 || len(o.Kept) != 0 {
		t.Errorf("regenerated: %+v", f.Otherwise)
	}
	opt.Leadership.Repaired = true
	f = followerOf(t, candidateOf(t, stories(t, opt, tree)["unclean-demo-0"], "1"), "2")
	if f.To != 100 || len(f.Kept) != 0 || f.Otherwise == nil || f.Otherwise.To != 120 || len(f.Otherwise.Kept) != 1 {
		t.Errorf("with the repair: %+v", f)
	}
}

// TestLeadersOfLostMarker: without the last COMMIT marker the transaction stays open, and
// read_committed consumers stop where it begins (truth.json: producer 0, offsets 130 to 132).
func TestLeadersOfLostMarker(t *testing.T) {
	recorded := below(fixture.Tree(t, "transactions"), "stage2-clean")
	tree := fstest.MapFS{}
	for name, f := range recorded {
		rest, ok := strings.CutPrefix(name, "broker-2/")
		if !ok || !strings.HasPrefix(rest, "tx-orders-0/") {
			continue
		}
		tree["broker-1/"+rest] = f
		if strings.HasSuffix(rest, "00000000000000000122.log") {
			f = &fstest.MapFile{Data: f.Data[:1325], Mode: f.Mode, ModTime: f.ModTime} // the marker begins there
		}
		tree["broker-2/"+rest] = f
	}
	p := stories(t, predictWith("4"), tree)["tx-orders-0"]
	c := candidateOf(t, p, "2")
	if c.BrokenCount != 1 || c.Broken[0].ProducerID != 0 || c.Broken[0].First != 130 || c.Broken[0].Marker != 132 || c.Broken[0].State != "committed" {
		t.Errorf("%+v", c.Broken)
	}
	if whole := candidateOf(t, p, "1"); whole.BrokenCount != 0 || p.Leadership.Recommended() != whole {
		t.Errorf("recommended %+v", p.Leadership.Recommended().Copy.Broker)
	}
}
