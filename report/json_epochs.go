package report

import (
	"slices"

	"kafsck/epoch"
	"kafsck/incident"
)

type epochRangeLine struct {
	Epoch        int32 `json:"epoch"`
	From         int64 `json:"from"`
	To           int64 `json:"to"`
	InBatches    bool  `json:"inBatches"`
	InCheckpoint bool  `json:"inCheckpoint"`
	InMetadata   *bool `json:"inMetadata"`
}

type epochDifferenceLine struct {
	Kind        epoch.DifferenceKind `json:"kind"`
	Epoch       *int32               `json:"epoch"`
	StartOffset *int64               `json:"startOffset"`
	Want        *string              `json:"want"`
	Legitimate  bool                 `json:"legitimate"`
	Reason      string               `json:"reason"`
}

type unparsedLine struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

type epochsLine struct {
	Type           string                `json:"type"`
	Partition      string                `json:"partition"`
	TopicID        *string               `json:"topicId"`
	Broker         brokerID              `json:"broker"`
	Dir            string                `json:"dir"`
	State          string                `json:"state"`
	LogStartOffset int64                 `json:"logStartOffset"`
	LogEndOffset   int64                 `json:"logEndOffset"`
	Truncated      bool                  `json:"truncated"`
	Ranges         []epochRangeLine      `json:"ranges"`
	Checkpoint     [][2]int64            `json:"checkpoint"`
	Malformed      *unparsedLine         `json:"malformed"`
	Loaded         [][2]int64            `json:"loaded"`
	Rebuilt        [][2]int64            `json:"rebuilt"`
	Agree          bool                  `json:"agree"`
	Differences    []epochDifferenceLine `json:"differences"`
	Suspects       []suspectLine         `json:"suspects"`
}

type suspectLine struct {
	From    int64  `json:"from"`
	To      int64  `json:"to"`
	Written string `json:"written"`
	Taken   string `json:"taken"`
}

type epochPairLine struct {
	Type      string      `json:"type"`
	Partition string      `json:"partition"`
	TopicID   *string     `json:"topicId"`
	Brokers   [2]brokerID `json:"brokers"`
	Epoch     *int32      `json:"epoch"`
	CommonEnd int64       `json:"commonEnd"`
	Overlap   bool        `json:"overlap"`
	Parted    bool        `json:"parted"`
	Epochs    []int32     `json:"epochs"`
}

type electionLine struct {
	Type           string  `json:"type"`
	Partition      string  `json:"partition"`
	TopicID        *string `json:"topicId"`
	LeaderEpoch    int32   `json:"leaderEpoch"`
	Leader         int32   `json:"leader"`
	Unclean        bool    `json:"unclean"`
	Unwritten      bool    `json:"unwritten"`
	FromSnapshot   bool    `json:"fromSnapshot"`
	MetadataOffset int64   `json:"metadataOffset"`
	Time           *string `json:"time"`
	TimeMs         *int64  `json:"timeMs"`
}

// Epochs writes the leader epochs of a partition: one line a directory, one a
// pair of live replicas, one an election.
func (j *JSON) Epochs(p *incident.Partition, e *incident.Epochs) {
	for i := range e.Copies {
		c := &e.Copies[i]
		l := epochsLine{Type: "epochs", Partition: p.Name, TopicID: text(p.TopicID), Broker: brokerOf(c.Copy.Broker), Dir: c.Copy.Dir, State: string(c.Copy.State),
			LogStartOffset: c.Copy.Log.LogStartOffset, LogEndOffset: c.Copy.Log.LogEndOffset, Ranges: []epochRangeLine{},
			Rebuilt: numbers(c.Rebuilt), Agree: c.Agree, Differences: []epochDifferenceLine{}, Suspects: []suspectLine{}}
		l.Truncated = max(len(c.Ranges), len(c.Written), len(c.Loaded), len(c.Rebuilt)) > maxEpochs
		for _, r := range c.Ranges[:min(len(c.Ranges), maxEpochs)] {
			l.Ranges = append(l.Ranges, epochRangeLine(r))
		}
		for _, s := range c.Suspects {
			l.Suspects = append(l.Suspects, suspectLine(s))
		}
		if c.Written != nil {
			l.Checkpoint = numbers(c.Written)
		}
		if c.Malformed != nil {
			l.Malformed = &unparsedLine{c.Malformed.Line, c.Malformed.Reason}
		} else {
			l.Loaded = numbers(c.Loaded)
		}
		for _, d := range c.Differences {
			l.Differences = append(l.Differences, epochDifferenceLine{d.Kind, atLeast0(d.Epoch), atLeast0(d.StartOffset), text(d.Want), d.Legitimate, d.Reason})
		}
		j.Line(l)
	}
	for _, x := range e.Pairs {
		l := epochPairLine{Type: "epoch-pair", Partition: p.Name, TopicID: text(p.TopicID), Brokers: [2]brokerID{brokerOf(x.A.Broker), brokerOf(x.B.Broker)},
			Epoch: atLeast0(x.Epoch), CommonEnd: x.Offset, Overlap: x.Overlap, Parted: x.Parted, Epochs: []int32{}}
		if x.Parted {
			l.Epochs = x.Epochs[:]
		}
		j.Line(l)
	}
	for _, x := range e.Elections {
		l := electionLine{Type: "election", Partition: p.Name, TopicID: text(p.TopicID), LeaderEpoch: x.Epoch, Leader: x.Leader, Unclean: x.Unclean,
			Unwritten: slices.Contains(e.Unwritten, x.Epoch), FromSnapshot: x.FromSnapshot, MetadataOffset: x.Offset}
		l.Time, l.TimeMs = timestamp(x.TimeMs)
		j.Line(l)
	}
}

// maxEpochs bounds each list of an epochs line: an election adds one entry, so that
// only a damaged or hostile file has more.
const maxEpochs = 100_000

// numbers writes entries as [epoch, start offset].
func numbers(entries []epoch.Entry) [][2]int64 {
	entries = entries[:min(len(entries), maxEpochs)]
	out := make([][2]int64, len(entries))
	for i, e := range entries {
		out[i] = [2]int64{int64(e.Epoch), e.StartOffset}
	}
	return out
}
