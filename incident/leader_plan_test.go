package incident_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"kafsck/broker"
	"kafsck/incident"
	"kafsck/internal/fixture"
)

// TestPlanOfDivergence: in stage-b broker 1 must be up before broker 2 for one topic, and must
// not be elected for another, whose unclean.leader.election.enable is true. stage-c shows that
// the controller did elect it there.
func TestPlanOfDivergence(t *testing.T) {
	var plans incident.Plans
	for _, p := range stories(t, predictWith("4"), below(fixture.Tree(t, "divergence"), "stage-b")) {
		plans.Add(p)
	}
	if len(plans) != 1 {
		t.Fatalf("%d plans", len(plans))
	}
	c := plans[0].Course()
	var topics, starts []string
	for _, u := range c.Unset {
		topics = append(topics, u.Topic+" "+u.Source)
	}
	for _, s := range c.Starts {
		var names []string
		for _, p := range slices.Concat(s.Unclean, s.Automatic) {
			names = append(names, p.Name)
		}
		slices.Sort(names)
		starts = append(starts, fmt.Sprint(s.Broker, names))
	}
	if got, want := fmt.Sprint(topics, c.Stop, starts), "[div-multi topic config div-unclean-shorter topic config] [3] [1 [div-multi-0 div-unclean-longer-0] 2 [div-unclean-shorter-0] 3 []]"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if len(c.Conflicts) > 0 {
		t.Errorf("conflicts %+v", c.Conflicts)
	}
}

// TestGroupsOfTheLineThatStays: "billing" committed 180 in epoch 0 (loss of stage-b says so);
// brokers 1 and 2 hold all of it, broker 3 ends at 130.
func TestGroupsOfTheLineThatStays(t *testing.T) {
	p := stories(t, predictWith("4"), below(fixture.Tree(t, "unclean-three-replicas"), "stage-a"))["orders-0"]
	for id, want := range map[string]int{"1": 0, "2": 0, "3": 1} {
		if c := candidateOf(t, p, id); len(c.Groups) != want {
			t.Errorf("broker %s: %+v", id, c.Groups)
		}
	}
}

// TestLeadersWithoutTheLastLeader: broker 1 led before the unclean election and holds
// offsets 100 to 199.
func TestLeadersWithoutTheLastLeader(t *testing.T) {
	tree := below(fixture.Tree(t, "unclean-election"), "stage-b")
	for name := range tree {
		if strings.HasPrefix(name, "broker-1/") {
			delete(tree, name)
		}
	}
	l := stories(t, predictWith("4"), tree)["unclean-demo-0"].Leadership
	if !l.Open() || l.Safe() || len(l.Absent) != 1 || !l.Absent[0].Holds {
		t.Errorf("%+v", l.Absent)
	}
}

// TestLeadersCutShort: broker 1's high watermark is 200, and its second batch is cut.
func TestLeadersCutShort(t *testing.T) {
	tree := below(fixture.Tree(t, "unclean-election"), "stage-b")
	log := tree["broker-1/unclean-demo-0/00000000000000000000.log"]
	tree["broker-1/unclean-demo-0/00000000000000000000.log"] = &fstest.MapFile{Data: bytes.Clone(log.Data[:2500]), Mode: log.Mode, ModTime: log.ModTime}
	p := stories(t, predictWith("4"), tree)["unclean-demo-0"]
	for _, id := range []string{"1", "2"} {
		if c := candidateOf(t, p, id); len(c.CutShort) != 1 || c.CutShort[0].LogEnd != 100 || c.CutShort[0].HighWatermark != 200 {
			t.Errorf("broker %s: %+v", id, c.CutShort)
		}
	}
	if p.Leadership.Safe() {
		t.Error("safe")
	}
}

// TestLeadersWithMalformedEpochs: with a regenerated file broker 1 starts, and is the best
// leader as ever.
func TestLeadersWithMalformedEpochs(t *testing.T) {
	tree := below(fixture.Tree(t, "unclean-election"), "stage-b")
	tree["broker-1/unclean-demo-0/leader-epoch-checkpoint"] = &fstest.MapFile{Data: []byte("0\none\n0 0\n")}
	opt := predictWith("4")
	opt.Leadership.Regenerate = rebuild
	p := stories(t, opt, tree)["unclean-demo-0"]
	one := candidateOf(t, p, "1")
	if one.CannotLead == "" || !one.RepairFirst || one.LostAll() != 20 || p.Leadership.Recommended() != one || p.Leadership.Safe() {
		t.Errorf("%+v", one)
	}
	if f := followerOf(t, one, "2"); f.To != 100 || f.Offline != "" {
		t.Errorf("%+v", f)
	}
}

// TestLeadersOfUnnamedRelease: kip279-silent-fork was recorded with 1.1.1, where the answer is
// another one; the directories tell only that the brokers know ZooKeeper.
func TestLeadersOfUnnamedRelease(t *testing.T) {
	tree := below(fixture.Tree(t, "kip279-silent-fork"), "stage-a")
	l := stories(t, predictWith("4"), tree)["fork279-0"].Leadership
	if l.Hint == nil || !l.EraMatters || !l.Version.Before(4, 0) {
		t.Errorf("%v %+v %v", l.Version, l.Hint, l.EraMatters)
	}
	opt := predictWith("1.1")
	opt.Leadership.VersionGiven = true
	if l = stories(t, opt, tree)["fork279-0"].Leadership; l.Hint != nil || l.EraMatters || l.Version != (broker.Version{Major: 1, Minor: 1}) {
		t.Errorf("%v %+v %v", l.Version, l.Hint, l.EraMatters)
	}
	// metadata.version 21 is that of 3.9 (recorded with 3.9.2).
	for _, p := range stories(t, predictWith("4.3"), below(fixture.Tree(t, "kraft39-unclean-election"), "stage-b")) {
		if l = p.Leadership; l.Version != (broker.Version{Major: 3, Minor: 9}) || l.EraMatters {
			t.Errorf("%s: %v %+v", p.Name, l.Version, l.Hint)
		}
	}
}
