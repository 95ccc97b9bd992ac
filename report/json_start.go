package report

import (
	"kafsck/broker"
	"kafsck/incident"
	"kafsck/logdir"
)

type brokerStartLine struct {
	Type        string         `json:"type"`
	Broker      brokerID       `json:"broker"`
	Kafka       string         `json:"kafka"`
	KafkaDoubts []string       `json:"kafkaDoubts"`
	Outcome     string         `json:"outcome"`
	Why         *string        `json:"why"`
	File        *string        `json:"file"`
	Order       *string        `json:"order"`
	BeforeLogs  bool           `json:"beforeLogs"`
	Stops       bool           `json:"stops"`
	AskedStrays bool           `json:"strayChecked"`
	Dirs        []startDirPart `json:"dirs"`
}

type startDirPart struct {
	Dir           string   `json:"dir"`
	Outcome       string   `json:"outcome"`
	Why           *string  `json:"why"`
	File          *string  `json:"file"`
	Clean         bool     `json:"clean"`
	MarkerRemoved bool     `json:"markerRemoved"`
	Reached       bool     `json:"reached"`
	Ignored       []string `json:"ignored"`
	ScanBytes     int64    `json:"scanBytes"`
}

type startLine struct {
	Type               string       `json:"type"`
	Partition          string       `json:"partition"`
	TopicID            *string      `json:"topicId"`
	Broker             brokerID     `json:"broker"`
	Dir                string       `json:"dir"`
	Outcome            string       `json:"outcome"`
	Why                *string      `json:"why"`
	Reached            bool         `json:"reached"`
	LoadOutcome        *string      `json:"loadOutcome"`
	Stray              *string      `json:"stray"`
	Unsure             *string      `json:"unsure"`
	LogStartOffset     *int64       `json:"logStartOffset"`
	LogEndOffset       *int64       `json:"logEndOffset"`
	RecoveryPoint      *int64       `json:"recoveryPoint"`
	HighWatermark      *int64       `json:"highWatermark"`
	LastStableOffset   *int64       `json:"lastStableOffset"`
	Epochs             [][2]int64   `json:"epochs"`
	EpochFileRewritten bool         `json:"epochFileRewritten"`
	Segments           [][2]int64   `json:"segments"`
	ScanBytes          int64        `json:"scanBytes"`
	Actions            []actionPart `json:"actions"`
	Lost               []lostPart   `json:"lost"`
	Cut                *cutPart     `json:"cut"`
	BelowHighWatermark *[2]int64    `json:"belowHighWatermark"`
	TopicDeleted       bool         `json:"topicDeleted"`
	Follows            *followsPart `json:"follows"`
	LeaderAway         *brokerID    `json:"leaderAway"`
	Leaderless         bool         `json:"leaderless"`
}

type cutPart struct {
	Bytes    int64 `json:"bytes"`
	Records  int64 `json:"records"`
	Zeros    int64 `json:"zeros"`
	Torn     int64 `json:"torn"`
	Replaced int64 `json:"replaced"`
}

type followsPart struct {
	Leader     brokerID           `json:"leader"`
	Guess      bool               `json:"guess"`
	TruncateTo int64              `json:"truncateTo"`
	Rebuild    bool               `json:"rebuild"`
	Lost       []followerLostPart `json:"lost"`
}

type actionPart struct {
	Action   string  `json:"action"`
	File     string  `json:"file"`
	To       *string `json:"renamedTo"`
	Position *int64  `json:"position"`
	From     *int64  `json:"from"`
	ToOffset *int64  `json:"to"`
	Bytes    int64   `json:"bytes"`
	Why      string  `json:"why"`
}

type lostPart struct {
	File      string     `json:"file"`
	State     string     `json:"state"`
	Action    string     `json:"action"`
	From      int64      `json:"from"`
	To        int64      `json:"to"`
	Records   int64      `json:"records"`
	Committed string     `json:"committed"`
	HeldBy    []brokerID `json:"heldBy"`
}

// BrokerStart writes what becomes of a broker, and of its metadata log.
func (j *JSON) BrokerStart(s *incident.BrokerStart) {
	l := brokerStartLine{Type: "predicted-broker-start", Broker: brokerOf(s.Broker), Kafka: s.Version.String(), KafkaDoubts: append([]string{}, s.Cluster.Contradicts(s.Version)...), Outcome: string(s.Outcome), Why: text(s.Why), File: text(s.Where), Order: text(s.Order),
		BeforeLogs: s.BeforeLogs, Stops: s.Outcome == broker.BrokerAborts || s.LastDir(), AskedStrays: s.Asked, Dirs: []startDirPart{}}
	if s.Outcome == broker.OK && len(s.Errors) > 0 {
		l.Outcome = "unknown" // something that decides about it could not be read
	}
	for _, d := range s.Dirs {
		p := startDirPart{Dir: d.LogDir.Path, Outcome: string(d.Outcome), Why: text(d.Why), File: text(d.Where), Clean: d.Clean, MarkerRemoved: d.Marker && !s.BeforeLogs, Reached: d.Reached, Ignored: []string{}}
		p.Ignored = append(p.Ignored, d.Ignored...)
		for _, sp := range d.Partitions {
			if sp.Loaded != nil {
				p.ScanBytes += sp.ScanBytes
			}
		}
		l.Dirs = append(l.Dirs, p)
	}
	j.Line(l)
	for _, d := range s.Dirs {
		if d.Metadata != nil && d.Metadata.Loaded != nil {
			m := startLineOf(d.Metadata, true)
			m.Partition, m.Broker = d.Metadata.Partition.Name(), brokerOf(s.Broker)
			m.Outcome = string(d.Metadata.Loaded.Outcome)
			if s.Outcome == broker.BrokerAborts {
				m.Outcome, m.Why = string(broker.BrokerAborts), text(s.Why)
			}
			j.Line(m)
		}
	}
}

// Start writes what the next start does to the directories of a partition.
func (j *JSON) Start(p *incident.Partition) {
	for _, ps := range p.Starts {
		if ps.Loaded == nil {
			continue // a failed read: an error line tells
		}
		l := startLineOf(ps.StartedPartition, ps.Dir.Reached)
		l.Partition, l.TopicID, l.Broker = p.Name, text(p.TopicID), brokerOf(ps.Start.Broker)
		for i := range ps.Gone {
			g := &ps.Gone[i]
			x := lostPart{File: g.File, State: string(g.State), Action: g.Action.Action, From: g.From, To: g.To, Records: g.Records, Committed: string(g.Committed), HeldBy: []brokerID{}}
			for _, b := range g.HeldBy {
				x.HeldBy = append(x.HeldBy, brokerOf(b))
			}
			l.Lost = append(l.Lost, x)
		}
		l.after(ps)
		j.Line(l)
	}
}

// after fills in what the records of the partition say of the start, and what comes next.
func (l *startLine) after(ps *incident.PartitionStart) {
	if c := ps.Cut; c.Bytes > 0 || c.Replaced > 0 {
		l.Cut = &cutPart{c.Bytes, c.Records, c.Zeros, c.Torn, c.Replaced}
	}
	if s := ps.BelowWatermark; s.From < s.To {
		l.BelowHighWatermark = &[2]int64{s.From, s.To}
	}
	l.TopicDeleted, l.Leaderless = ps.RemovedAt >= 0, ps.Unled
	if f := ps.Follows; f != nil {
		l.Follows = &followsPart{brokerOf(f.Leader), f.Guess, f.To, f.Rebuild, followerLost(f.Lost)}
	}
	if ps.LeaderAway != nil {
		away := brokerOf(*ps.LeaderAway)
		l.LeaderAway = &away
	}
}

func startLineOf(sp *broker.StartedPartition, reached bool) startLine {
	load := string(sp.Loaded.Outcome)
	l := startLine{Type: "predicted-start", Dir: sp.Partition.Dir, Outcome: string(sp.Outcome), Why: text(sp.Why), Reached: reached, LoadOutcome: &load, Stray: text(sp.Stray), Unsure: text(sp.Unsure),
		EpochFileRewritten: sp.EpochFileRewritten, ScanBytes: sp.ScanBytes, Actions: []actionPart{}, Lost: []lostPart{}}
	if sp.Partition.HasTopicID {
		id := sp.Partition.TopicID.String()
		l.TopicID = &id
	}
	for _, x := range sp.Actions {
		l.Actions = append(l.Actions, actionOf(sp.Partition, x))
	}
	if o := sp.Loaded.Outcome; o == broker.DirOffline || o == broker.BrokerAborts {
		return l // the offsets mean nothing
	}
	l.LogStartOffset, l.LogEndOffset, l.RecoveryPoint = &sp.LogStartOffset, &sp.LogEndOffset, &sp.RecoveryPoint
	l.HighWatermark, l.LastStableOffset = &sp.HighWatermark, &sp.LastStableOffset
	l.Epochs, l.Segments = numbers(sp.Epochs), [][2]int64{}
	for _, s := range sp.Segments {
		l.Segments = append(l.Segments, [2]int64{s.Base, s.Size})
	}
	return l
}

func actionOf(p *logdir.Partition, x broker.Action) actionPart {
	a := actionPart{Action: x.Action, File: below(p, x.File), Bytes: x.Bytes, Why: x.Why}
	if x.To != "" {
		to := below(p, x.To)
		a.To = &to
	}
	if x.Action == broker.ActTruncate {
		a.Position = &x.Position
	}
	if x.From < x.ToOffset {
		a.From, a.ToOffset = &x.From, &x.ToOffset
	}
	return a
}

// below is the shown path of a file in a partition directory.
func below(p *logdir.Partition, name string) string {
	switch {
	case name == ".":
		return p.Dir
	case p.Dir == "." || p.Dir == "":
		return name
	}
	return p.Dir + "/" + name
}
