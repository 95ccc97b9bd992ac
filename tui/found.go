package tui

import "kafsck/finding"

// foundFinding is what is kept of every finding: a healthy cluster of 100,000
// partitions has half a million notes. The finding itself is kept as long as there is
// room (keepBytes); what is not kept is judged again when it is opened.
type foundFinding struct {
	code     finding.Code // the constant of the check, not a copy
	broker   string
	full     *finding.Finding // nil: not kept
	from     int64            // offset, -1 unknown
	position int64            // byte, -1 unknown
	part     int32            // index of world.refs, -1 none
	nth      int32            // in that partition's list
	count    int32
	severity finding.Severity
}

// keepBytes bounds what whole findings take: notes get a quarter of it.
const keepBytes = 48 << 20

const notKept = "not kept in memory: enter judges the partition again and shows it"

// addFinding takes a finding in. It is copied: a list is not kept for one of its entries.
func (w *world) addFinding(part, nth int, f *finding.Finding) {
	found := &foundFinding{
		code: f.Code, broker: w.internBroker(f.At.Broker), from: f.At.From, position: f.At.Position,
		part: int32(part), nth: int32(nth), count: int32(min(max(f.Count, 1), 1<<30)), severity: f.Severity,
	}
	size := findingSize(f)
	room := keepBytes
	if f.Severity == finding.Note {
		room /= 4
	}
	if part < 0 || w.keptBytes+size <= room {
		own := *f
		found.full = &own
		w.keptBytes += size
	}
	w.findings = append(w.findings, found)
}

func findingSize(f *finding.Finding) int {
	n := 300 + len(f.Summary) + len(f.Kafka) + len(f.Next) + len(f.At.File) + len(f.At.Partition)
	for _, e := range f.Evidence {
		n += 48 + len(e.Claim) + len(e.Want) + len(e.Got)
	}
	return n
}

// internBroker gives one string for each broker.
func (w *world) internBroker(name string) string {
	for i := range w.brokers {
		if w.brokers[i].Name == name {
			return w.brokers[i].Name
		}
	}
	return name
}

// partitionOf is the name of the partition that a finding is about, "" none. Findings
// without a partition of their own are always kept whole.
func (w *world) partitionOf(f *foundFinding) string {
	if f.part < 0 {
		return f.full.At.Partition
	}
	return w.refs[f.part].Name
}

// full is the finding itself, nil if it is not kept.
func (w *world) full(f *foundFinding) *finding.Finding {
	if f.full != nil {
		return f.full
	}
	if p := w.story(int(f.part)); p != nil {
		return f.among(p.Findings)
	}
	return nil
}

// among finds f in a list that was judged again.
func (f *foundFinding) among(list []finding.Finding) *finding.Finding {
	same := func(g *finding.Finding) bool {
		return g.Code == f.code && g.At.Broker == f.broker && g.At.From == f.from && g.At.Position == f.position
	}
	if int(f.nth) < len(list) && same(&list[f.nth]) {
		return &list[f.nth]
	}
	for i := range list {
		if same(&list[i]) {
			return &list[i]
		}
	}
	return nil
}
