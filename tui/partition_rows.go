package tui

import (
	"fmt"
	"strings"

	"kafsck/epoch"
	"kafsck/finding"
	"kafsck/incident"
	"kafsck/replica"
)

var copyColumns = []column{
	{name: "broker"}, {name: "state"}, {name: "log start", right: true}, {name: "log end", right: true}, {name: "high watermark", right: true},
	{name: "epochs", max: 24}, {name: "segments", right: true}, {name: "size", right: true}, {name: "worst finding", max: 40, grow: true}, {name: "directory", max: 80},
}

const (
	copyBroker = iota
	copyState
	copyStart
	copyEnd
	copyWatermark
	copyEpochs
	copySegments
	copySize
	copyWorst
	copyDir
)

// copyRows are the copies of a partition.
type copyRows struct {
	w     *world
	p     *incident.Partition
	lanes []lane
	worst []*finding.Finding // of each copy, nil none
}

func newCopyRows(w *world, p *incident.Partition, lanes []lane) copyRows {
	r := copyRows{w: w, p: p, lanes: lanes}
	for _, c := range p.Copies {
		r.worst = append(r.worst, worstFinding(p, c))
	}
	return r
}

func (r copyRows) Len() int {
	if r.p == nil {
		return 0
	}
	return len(r.p.Copies)
}

func (r copyRows) Severity(row int) level { return r.lanes[row].level }

func (r copyRows) Path(row int) string { return r.w.typed(r.p.Copies[row].Dir) }

func (r copyRows) Cell(row, col int) string {
	c := r.p.Copies[row]
	switch col {
	case copyBroker:
		return c.Broker.Name
	case copyState:
		if c.Extra {
			return string(c.State) + " (second)"
		}
		return string(c.State)
	case copyWorst:
		if c.Err != nil {
			return "not read: " + c.Err.Error()
		}
		if f := r.worst[row]; f != nil {
			return f.Severity.String() + " " + string(f.Code)
		}
		return ""
	case copyDir:
		return c.Dir
	}
	if c.Log == nil || c.Err != nil {
		return "?"
	}
	switch col {
	case copyStart:
		return itoa(c.Log.LogStartOffset)
	case copyEnd:
		return itoa(c.Log.LogEndOffset)
	case copyWatermark:
		if c.Log.HighWatermark == nil {
			return "none"
		}
		return itoa(*c.Log.HighWatermark)
	case copyEpochs:
		return epochsText(c.Log.Lineage)
	case copySegments:
		return comma(int64(len(c.Log.Segments)))
	}
	return humanBytes(c.Log.Bytes)
}

// epochsText lists the epochs of a log, the newest last; of many the first and the last.
func epochsText(l epoch.Lineage) string {
	var words []string
	for i, r := range l {
		if len(l) > 7 && i == 3 {
			words = append(words, "…")
		}
		if len(l) > 7 && i >= 3 && i < len(l)-3 {
			continue
		}
		name := "none"
		if r.Epoch >= 0 {
			name = itoa(r.Epoch)
		}
		words = append(words, name)
	}
	return strings.Join(words, " ")
}

func (r copyRows) Value(row, col int) any {
	c := r.p.Copies[row]
	if col == copyBroker && c.Broker.Known {
		return int64(c.Broker.ID)
	}
	if col == copyWorst {
		return r.lanes[row].level
	}
	if col < copyStart || col > copySize {
		return r.Cell(row, col)
	}
	if c.Log == nil || c.Err != nil {
		return nil
	}
	switch col {
	case copyStart:
		return c.Log.LogStartOffset
	case copyEnd:
		return c.Log.LogEndOffset
	case copyWatermark:
		if c.Log.HighWatermark == nil {
			return nil
		}
		return *c.Log.HighWatermark
	case copySegments:
		return int64(len(c.Log.Segments))
	case copySize:
		return c.Log.Bytes
	}
	return r.Cell(row, col)
}

// Level colours the worst finding.
func (r copyRows) Level(row, col int) level {
	if col == copyWorst && r.lanes[row].level >= levelNote {
		return r.lanes[row].level
	}
	return levelNone
}

// JSON is the row as the replica line of --json.
func (r copyRows) JSON(row int) any {
	c := r.p.Copies[row]
	out := map[string]any{"type": "replica", "partition": r.p.Name, "topicId": nil, "broker": brokerJSON(c.Broker), "dir": c.Dir, "state": c.State}
	if r.p.TopicID != "" {
		out["topicId"] = r.p.TopicID
	}
	if c.Err != nil || c.Log == nil {
		return out
	}
	g := c.Log
	out["logStartOffset"], out["logStartSource"], out["logEndOffset"] = g.LogStartOffset, g.LogStartSource, g.LogEndOffset
	out["highWatermark"], out["recoveryPoint"] = g.HighWatermark, g.RecoveryPoint
	out["bytes"], out["segments"] = g.Bytes, len(g.Segments)
	return out
}

// brokerJSON is a broker in JSON: its number, else its name.
func brokerJSON(b incident.BrokerRef) any {
	if b.Known {
		return b.ID
	}
	return b.Name
}

// findingOf reports whether a finding concerns a copy.
func findingOf(c *incident.Copy, f *finding.Finding) bool {
	if f.At.Broker != c.Broker.Name {
		return false
	}
	if f.At.File == "" {
		return c.State == replica.Live && !c.Extra
	}
	return f.At.File == c.Dir || strings.HasPrefix(f.At.File, c.Dir+"/") || c.State == replica.Live && !c.Extra && !strings.Contains(f.At.File, "/"+lastName(c.Dir)+"/")
}

func lastName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// worstFinding is the worst finding of a copy, nil without one.
func worstFinding(p *incident.Partition, c *incident.Copy) *finding.Finding {
	var worst *finding.Finding
	for i := range p.Findings {
		f := &p.Findings[i]
		if findingOf(c, f) && (worst == nil || f.Severity > worst.Severity) {
			worst = f
		}
	}
	return worst
}

// copyLevel is how bad a copy is.
func copyLevel(p *incident.Partition, c *incident.Copy) level {
	if c.Err != nil {
		return levelUnread
	}
	if f := worstFinding(p, c); f != nil {
		return levelOf(f.Severity)
	}
	return levelOK
}

// brokerNames joins the names of brokers.
func brokerNames(list []incident.BrokerRef) string {
	var words []string
	for i, b := range list {
		if i == 6 {
			words = append(words, fmt.Sprintf("%d more", len(list)-i))
			break
		}
		words = append(words, b.Name)
	}
	return strings.Join(words, ", ")
}

// idsText joins broker ids.
func idsText(list []int32) string {
	words := make([]string, len(list))
	for i, id := range list {
		words[i] = itoa(id)
	}
	return "[" + strings.Join(words, ", ") + "]"
}
