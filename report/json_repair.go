package report

import (
	"kafsck/epoch"
	"kafsck/repair"
)

type repairInputLine struct {
	Path   string  `json:"path"`
	Size   *int64  `json:"size"`
	SHA256 *string `json:"sha256"`
}

// epochRepairLine is one regenerated leader-epoch-checkpoint.
type epochRepairLine struct {
	Type         string            `json:"type"`
	Partition    string            `json:"partition"`
	TopicID      *string           `json:"topicId"`
	Broker       brokerID          `json:"broker"`
	Dir          string            `json:"dir"`
	State        string            `json:"state"`
	LogStart     int64             `json:"logStartOffset"`
	LogEnd       int64             `json:"logEndOffset"`
	Changed      bool              `json:"changed"`
	Written      *string           `json:"written"`
	Old          *[][2]int64       `json:"old"`
	OldMalformed *string           `json:"oldMalformed"`
	OldLoaded    *[][2]int64       `json:"oldLoaded"`
	New          [][2]int64        `json:"new"`
	Unknown      []string          `json:"unknown"`
	Notes        []string          `json:"notes"`
	Inputs       []repairInputLine `json:"inputs"`
}

type epochEntryLine struct {
	Type        string        `json:"type"`
	Partition   string        `json:"partition"`
	TopicID     *string       `json:"topicId"`
	Broker      brokerID      `json:"broker"`
	Dir         string        `json:"dir"`
	Epoch       int32         `json:"epoch"`
	StartOffset int64         `json:"startOffset"`
	Source      repair.Source `json:"source"`
	Sibling     brokerID      `json:"sibling"`
	InOld       bool          `json:"inOld"`
	Said        string        `json:"said"`
}

type refusedEntryLine struct {
	Type        string        `json:"type"`
	Partition   string        `json:"partition"`
	TopicID     *string       `json:"topicId"`
	Broker      brokerID      `json:"broker"`
	Dir         string        `json:"dir"`
	Epoch       int32         `json:"epoch"`
	StartOffset int64         `json:"startOffset"`
	Source      repair.Source `json:"source"`
	Sibling     brokerID      `json:"sibling"`
	Why         string        `json:"why"`
}

func pairs(c epoch.Cache) [][2]int64 {
	out := make([][2]int64, 0, len(c))
	for _, e := range c {
		out = append(out, [2]int64{int64(e.Epoch), e.StartOffset})
	}
	return out
}

// RepairedEpochs writes one regenerated file: the file, its entries, what was
// refused. written is its path below the output directory, "" when it was not
// written.
func (j *JSON) RepairedEpochs(p *repair.EpochPlan, written string) {
	l := epochRepairLine{Type: "epoch-repair", Partition: p.Partition, TopicID: text(p.TopicID), Broker: brokerOf(p.Broker), Dir: p.Dir, State: string(p.State),
		LogStart: p.LogStart, LogEnd: p.LogEnd, Changed: p.Changed, Written: text(written), New: pairs(p.Cache()), Unknown: append([]string{}, p.Unknown...), Notes: append([]string{}, p.Notes...), Inputs: []repairInputLine{}}
	if !p.Old.Absent {
		old := pairs(p.Old.Written)
		l.Old = &old
		if p.Old.Malformed != nil {
			l.OldMalformed = text(p.Old.Malformed.String())
		} else {
			loaded := pairs(p.Old.Loaded)
			l.OldLoaded = &loaded
		}
	}
	for _, in := range p.Inputs {
		l.Inputs = append(l.Inputs, repairInputLine{in.Path, atLeast0(in.Size), text(in.SHA256)})
	}
	j.Line(l)
	changes := p.Changes()
	for _, e := range p.Entries {
		x := epochEntryLine{Type: "epoch-entry", Partition: p.Partition, TopicID: text(p.TopicID), Broker: brokerOf(p.Broker), Dir: p.Dir,
			Epoch: e.Epoch, StartOffset: e.StartOffset, Source: e.Source, Said: e.Said}
		if e.Broker != nil {
			x.Sibling = brokerOf(*e.Broker)
		}
		for _, c := range changes {
			x.InOld = x.InOld || c.Entry == e.Entry && c.Op == ' '
		}
		j.Line(x)
	}
	for _, r := range p.Refused {
		x := refusedEntryLine{Type: "refused-entry", Partition: p.Partition, TopicID: text(p.TopicID), Broker: brokerOf(p.Broker), Dir: p.Dir,
			Epoch: r.Epoch, StartOffset: r.StartOffset, Source: r.Source, Why: r.Why}
		if r.Broker != nil {
			x.Sibling = brokerOf(*r.Broker)
		}
		j.Line(x)
	}
}
