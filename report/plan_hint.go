package report

import (
	"slices"

	"kafsck/check"
	"kafsck/finding"
)

// planHint gathers what leads from findings to a plan: whether one may have an action, and of which
// partitions several replicas have damaged logs, so that a salvage may be wanted as well.
type planHint struct {
	planned bool
	records bool // an action needs --level records
	damaged map[string][]string
	several bool
	listed  bool // the gap list of a salvage says already what is missing
}

// broken are the codes of a log of which no part but the damaged one is wrong.
var broken = []finding.Code{"batch-crc-mismatch", "batch-magic-unknown", "log-bytes-unreadable", "log-bytes-zeroed", "segment-gap"}

func (h *planHint) add(f *finding.Finding) {
	if f.Listed {
		h.listed = true
		return
	}
	if !check.Planned(f) {
		return
	}
	h.planned = true
	h.records = h.records || f.Code == "inner-record-invalid"
	if f.Severity < finding.Damage || f.At.Partition == "" || !slices.Contains(broken, f.Code) {
		return
	}
	if h.damaged == nil {
		h.damaged = map[string][]string{}
	}
	key := f.At.TopicID + "/" + f.At.Partition
	if !slices.Contains(h.damaged[key], f.At.Broker) {
		h.damaged[key] = append(h.damaged[key], f.At.Broker)
		h.several = h.several || len(h.damaged[key]) > 1
	}
}

// lines are the next commands, none where no plan has anything to do.
func (h *planHint) lines(p *Paths) []string {
	switch {
	case p.Again == nil:
		return nil
	case !h.planned && h.listed:
		return []string{"Next: " + p.Again("predict", "start") + " (what gaps.json lists, no plan mends)"}
	case !h.planned:
		return nil
	}
	verb := []string{"plan"}
	if h.records {
		verb = append(verb, "--level", "records")
	}
	out := []string{"Next: " + p.Again("repair", append(verb, "--out", "plan.json")...)}
	if h.several {
		out = append(out, "      or, for the longest good log out of several damaged ones: "+p.Again("salvage"))
	}
	return out
}
