package incident

import (
	"slices"

	"kafsck/finding"
)

// SalvageGap is offsets [From, To) that a salvage found in no copy.
type SalvageGap struct {
	From, To int64
	// Unproven: some copy had batches there, of which nothing proved that they belong.
	Unproven bool
}

// salvaged says of gaps in a log which kafsck salvage made, and named in its gap list, just that: the
// records are missing, but to look for them among the copies again is no use. Gaps that the list does
// not name are told as in any other log.
func (j *judgement) salvaged() {
	for _, c := range j.p.Copies {
		if c.Log == nil {
			continue
		}
		gaps := j.inc.opt.Salvaged[c.Log.Partition.HostPath]
		if len(gaps) == 0 {
			continue
		}
		for i := range j.p.Findings {
			if f := &j.p.Findings[i]; f.At.Broker == c.Broker.Name && (f.Code == "offset-gap" || f.Code == "segment-gap") {
				known(f, gaps)
			}
		}
	}
}

// known rewords a finding about gaps if the list has them all.
func known(f *finding.Finding, gaps []SalvageGap) {
	if len(f.Ranges) == 0 || f.Count > len(gaps) {
		return
	}
	unproven := false
	for _, r := range f.Ranges {
		i := slices.IndexFunc(gaps, func(g SalvageGap) bool { return g.From <= r.From && r.To <= g.To })
		if i < 0 {
			return
		}
		unproven = unproven || gaps[i].Unproven
	}
	said := "as gaps.json says: in no copy whole"
	if unproven {
		said = "as gaps.json says: in no copy, or nothing proves that what a copy has there belongs here"
	}
	f.Summary += ", " + said
	f.Listed = true
	f.Next = "Nothing that kafsck salvage was given has these records: gaps.json beside the directory says what each copy has there. Should another copy turn up, salvage anew with it."
}
