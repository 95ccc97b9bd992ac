package conformance

import (
	"slices"

	"kafsck/repair"
)

// changeRoles stops broker 1 and writes to all partitions; then broker 1 comes back as the follower.
func (r *liveRun) changeRoles() {
	t, c := r.t, r.cluster
	t.Helper()
	first := c.nodes[0].id
	// What each replica has now: what it had, and behind that what the leader had.
	now := map[int]map[string][]liveRecord{}
	for _, n := range c.nodes {
		now[n.id] = map[string][]liveRecord{}
		for _, x := range r.topics {
			leader, own := r.at[x.Name][r.leads[x.Name]], r.at[x.Name][n.id]
			// A follower's log starts where the leader's does, at the latest.
			now[n.id][x.Name] = slices.DeleteFunc(slices.Clone(r.logs[n.id][x.Name]), func(l liveRecord) bool { return l.offset < leader.start })
			for _, l := range r.logs[r.leads[x.Name]][x.Name] {
				if l.offset >= own.end {
					now[n.id][x.Name] = append(now[n.id][x.Name], l)
				}
			}
			own.end = leader.end
			r.at[x.Name][n.id] = own
		}
	}
	c.stop(first)
	led := c.inSync(r.topics, r.open)
	r.step("one stopped")
	c.client.ask(map[string]any{"do": "produce", "servers": c.servers(), "topics": led, "count": 12, "prefix": "after the repair ", "codec": "lz4"})
	c.start(first)
	c.inSync(r.topics, r.open)
	r.step("in sync again")
	r.compareLogs(atTheChange)
	for _, n := range c.nodes {
		c.stop(n.id)
	}
	r.compareLogs(atTheEnd)
	r.step("all stopped")

	for _, n := range c.nodes {
		logs := exported(t, r.kafsck, r.folder(n.id))
		for _, x := range r.topics {
			want, got := now[n.id][x.Name], logs[x.Name]
			if len(got) != len(want)+12 {
				r.wrong(x.Name, "broker %d has %d records of %s at the end, want %d and 12", n.id, len(got), x.Name, len(want))
				continue
			}
			r.kept += len(got)
			for i := range want {
				if want[i].text != got[i].text {
					r.wrong(x.Name, "broker %d, %s: record %d\nwas %.300s\nis  %.300s", n.id, x.Name, i, want[i].text, got[i].text)
					break
				}
			}
		}
	}
}

// Offsets below which a case has the records of its healthy base; others have them all, or (-1) none.
var truthEnds = map[string]int64{"BR-06": -1, "BR-57a": -1, "BR-50b": -1, "BR-16": 295}

// compareTruth holds the results against what lay in the healthy logs: every record is there that
// the plan did not name as lost.
func (r *liveRun) compareTruth() {
	t := r.t
	t.Helper()
	for _, x := range r.cases {
		if x.name == "healthy" || truthEnds[x.name] < 0 {
			continue
		}
		for _, topic := range []string{"orders", "tx", "kv"} {
			name := x.topicPrefix() + topic
			leader, ok := r.leads[name]
			if !ok {
				continue
			}
			has := map[int64]string{}
			for _, c := range r.logs[leader][name] {
				has[c.offset] = c.text
			}
			for _, c := range r.logs[1]["healthy-"+topic] {
				if end := truthEnds[x.name]; end > 0 && c.offset >= end {
					continue
				}
				text, ok := has[c.offset]
				switch {
				case ok && text != c.text:
					t.Errorf("%s: record %.300s, healthy %.300s", name, text, c.text)
				case !ok && !x.lost(name+"-0", c.offset):
					t.Errorf("%s: record %d is gone, and no action names it", name, c.offset)
				}
			}
		}
	}
}

// lost reports whether an action that was carried out names an offset as lost, or cuts the torn batch
// that it was in.
func (x *liveCase) lost(partition string, offset int64) bool {
	if x.mended.done == nil {
		return false
	}
	plan := x.mended.done.Plan
	for _, a := range plan.Actions {
		if a.Partition != partition || !slices.Contains(x.mended.done.Carried, a.ID) {
			continue
		}
		if slices.ContainsFunc(a.Loses, func(l repair.PlanLoss) bool { return l.From <= offset && offset < l.To }) {
			return true
		}
		if a.Kind == repair.CutTail && slices.ContainsFunc(plan.Promises, func(p repair.Promise) bool { return p.Partition == partition && p.LogEndOffset <= offset }) {
			return true
		}
	}
	return false
}
