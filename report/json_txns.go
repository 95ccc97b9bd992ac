package report

import (
	"kafsck/incident"
	"kafsck/replica"
)

type transactionLine struct {
	Type            string   `json:"type"`
	Partition       string   `json:"partition"`
	TopicID         *string  `json:"topicId"`
	Broker          brokerID `json:"broker"`
	Dir             string   `json:"dir"`
	DirState        string   `json:"dirState"`
	ProducerID      int64    `json:"producerId"`
	ProducerEpoch   int16    `json:"producerEpoch"`
	FirstEpoch      int16    `json:"firstEpoch"`
	State           string   `json:"state"`
	From            *int64   `json:"from"`
	To              *int64   `json:"to"`
	LastOffset      *int64   `json:"lastOffset"`
	Marker          *int64   `json:"marker"`
	MarkerEpoch     *int16   `json:"markerEpoch"`
	Coordinator     *int32   `json:"coordinatorEpoch"`
	TransactionalID *string  `json:"transactionalId"`
	Batches         int64    `json:"batches"`
	Records         int64    `json:"records"`
	FirstTimestamp  *string  `json:"firstTimestamp"`
	FirstMs         *int64   `json:"firstTimestampMs"`
	LastTimestamp   *string  `json:"lastTimestamp"`
	LastMs          *int64   `json:"lastTimestampMs"`
	MarkerTimestamp *string  `json:"markerTimestamp"`
	MarkerMs        *int64   `json:"markerTimestampMs"`
	FromSnapshot    bool     `json:"fromSnapshot"`
	Damaged         bool     `json:"damaged"`
	FromIndex       bool     `json:"fromTxnIndex"`
	DoubtTo         *int64   `json:"doubtTo"`
	File            *string  `json:"file"`
	Position        *int64   `json:"position"`

	// Of an open or hanging one only.
	Basis     *incident.HangingBasis `json:"basis,omitempty"`
	Why       string                 `json:"why,omitempty"`
	Decision  string                 `json:"decision,omitempty"`
	Since     *string                `json:"since,omitempty"`
	SinceMs   *int64                 `json:"sinceMs,omitempty"`
	OpenMs    *int64                 `json:"openMs,omitempty"`
	Uncertain string                 `json:"uncertain,omitempty"`
	Abort     *abortLine             `json:"abort,omitempty"`
}

type abortLine struct {
	Command         []string `json:"command"`
	CommandBefore30 []string `json:"commandBefore30"`
}

type lastStableLine struct {
	Type                string   `json:"type"`
	Partition           string   `json:"partition"`
	TopicID             *string  `json:"topicId"`
	Broker              brokerID `json:"broker"`
	Dir                 string   `json:"dir"`
	DirState            string   `json:"dirState"`
	Offset              int64    `json:"offset"`
	CutByHighWatermark  bool     `json:"cutByHighWatermark"`
	FirstUnstableOffset int64    `json:"firstUnstableOffset"`
	HighWatermark       *int64   `json:"highWatermark"`
	LogStartOffset      int64    `json:"logStartOffset"`
	LogEndOffset        int64    `json:"logEndOffset"`
	Open                int      `json:"open"`
	Hanging             int      `json:"hanging"`
	Committed           int64    `json:"committed"`
	Aborted             int64    `json:"aborted"`
	MarkersAlone        int64    `json:"markersAlone"`
	EpochsMixed         int64    `json:"epochsMixed"`
	CoordinatorBack     int64    `json:"coordinatorEpochBack"`
	UnknownControls     int64    `json:"unknownControlBatches"`
	Overflow            bool     `json:"overflow"`
	CoordinatorUnknown  *string  `json:"coordinatorUnknown"`
}

type markerMissingLine struct {
	Type          string   `json:"type"`
	Partition     string   `json:"partition"`
	TopicID       *string  `json:"topicId"`
	ProducerID    int64    `json:"producerId"`
	ProducerEpoch int16    `json:"producerEpoch"`
	State         string   `json:"state"`
	From          int64    `json:"from"`
	To            int64    `json:"to"`
	Marker        int64    `json:"marker"`
	Has           brokerID `json:"has"`
	Lacks         brokerID `json:"lacks"`
	Open          bool     `json:"open"`
	EndedAt       *int64   `json:"endedAt"`
}

type markerConflictLine struct {
	Type      string       `json:"type"`
	Partition string       `json:"partition"`
	TopicID   *string      `json:"topicId"`
	Marker    int64        `json:"marker"`
	Sides     []markerSide `json:"sides"`
}

type markerSide struct {
	Broker     brokerID `json:"broker"`
	ProducerID int64    `json:"producerId"`
	State      string   `json:"state"`
}

// Transactions writes what a partition's copies hold of transactions: for each copy the open
// ones and its last stable offset, then markers that replicas do not share.
func (j *JSON) Transactions(p *incident.Partition, tx *incident.Transactions) {
	for i := range tx.Copies {
		c := &tx.Copies[i]
		l := lastStableLine{Type: "last-stable", Partition: p.Name, TopicID: text(p.TopicID), Broker: brokerOf(c.Copy.Broker), Dir: c.Copy.Dir, DirState: string(c.Copy.State),
			Offset: c.LastStable, CutByHighWatermark: c.Cut, FirstUnstableOffset: c.FirstUnstable, HighWatermark: c.Copy.Log.HighWatermark,
			LogStartOffset: c.Copy.Log.LogStartOffset, LogEndOffset: c.Copy.Log.LogEndOffset,
			Committed: c.Committed, Aborted: c.Aborted, MarkersAlone: c.MarkerOnly, EpochsMixed: c.Spanned, CoordinatorBack: c.Regressed, UnknownControls: c.Unknown,
			Overflow: c.Overflow, CoordinatorUnknown: text(tx.CoordinatorUnknown)}
		for k := range c.Open {
			x := &c.Open[k]
			if x.Hanging {
				l.Hanging++
			} else {
				l.Open++
			}
			t := transactionOf(p, c.Copy, &x.Transaction, x.TransactionalID)
			t.Since, t.SinceMs = timestamp(x.SinceMs)
			t.State, t.Why, t.Decision, t.OpenMs, t.Uncertain = x.StateText(), x.Why, x.Decision, atLeast0(x.OpenMs), x.Uncertain
			if x.Hanging {
				t.Basis = &x.Basis
				if c.Copy.State == replica.Live && x.Decision != "commit" {
					t.Abort = &abortLine{incident.AbortCommand(p, x), incident.AbortCommandBefore30(p, x)}
				}
			}
			j.Line(t)
		}
		j.Line(l)
	}
	for i := range tx.Missing {
		m := &tx.Missing[i]
		j.Line(markerMissingLine{Type: "marker-missing", Partition: p.Name, TopicID: text(p.TopicID), ProducerID: m.ProducerID, ProducerEpoch: m.ProducerEpoch, State: string(m.State),
			From: m.First, To: m.Marker + 1, Marker: m.Marker, Has: brokerOf(m.Has.Broker), Lacks: brokerOf(m.Lacks.Broker), Open: m.Open, EndedAt: atLeast0(m.EndedAt)})
	}
	for i := range tx.Contrary {
		c := &tx.Contrary[i]
		j.Line(markerConflictLine{"marker-conflict", p.Name, text(p.TopicID), c.Offset, []markerSide{
			{brokerOf(c.A.Broker), c.OfA.ProducerID, string(c.OfA.State)}, {brokerOf(c.B.Broker), c.OfB.ProducerID, string(c.OfB.State)}}})
	}
}

// FinishedTransaction writes one that a marker ended.
func (j *JSON) FinishedTransaction(p *incident.Partition, c *incident.Copy, x *replica.Transaction, transactionalID string) {
	j.Line(transactionOf(p, c, x, transactionalID))
}

func transactionOf(p *incident.Partition, c *incident.Copy, x *replica.Transaction, transactionalID string) transactionLine {
	l := transactionLine{Type: "transaction", Partition: p.Name, TopicID: text(p.TopicID), Broker: brokerOf(c.Broker), Dir: c.Dir, DirState: string(c.State),
		ProducerID: x.ProducerID, ProducerEpoch: x.ProducerEpoch, FirstEpoch: x.FirstEpoch, State: string(x.State), From: atLeast0(x.First),
		LastOffset: atLeast0(x.Last), Marker: atLeast0(x.Marker), Coordinator: atLeast0(x.CoordinatorEpoch), TransactionalID: text(transactionalID),
		Batches: x.Batches, Records: x.Records, FromSnapshot: x.FromSnapshot, Damaged: x.Damaged}
	if x.Marker >= 0 {
		to := x.Marker + 1
		l.To, l.FromIndex = &to, x.FromIndex
		if !x.FromIndex {
			l.MarkerEpoch = &x.MarkerEpoch
		}
	}
	if x.Doubtful() {
		l.DoubtTo = &x.DoubtTo
	}
	l.FirstTimestamp, l.FirstMs = timestamp(x.FirstMs)
	l.LastTimestamp, l.LastMs = timestamp(x.LastMs)
	l.MarkerTimestamp, l.MarkerMs = timestamp(x.MarkerMs)
	if x.Segment >= 0 && x.Segment < len(c.Log.Segments) {
		l.File, l.Position = &c.Log.Segments[x.Segment].Log.Path, &x.Position
	}
	return l
}
