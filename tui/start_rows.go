package tui

import (
	"strings"

	"kafsck/broker"
	"kafsck/incident"
)

// startRow is a broker, or a partition directory on it.
type startRow struct {
	broker *incident.BrokerStart
	dir    *broker.StartedDir
	part   *broker.StartedPartition // nil: the broker itself
	id     string                   // topic id
	level  level
	off    int64 // bytes that go off logs; of a broker, of those listed below it
	// Of a broker, of what is listed below it:
	actions, reads int64
}

func (x startRow) key() string {
	if x.part == nil {
		return ""
	}
	return x.part.Partition.Name() + " " + x.id
}

// start is what a judged partition knows of this directory, nil: not judged.
func (x startRow) start(p *incident.Partition) *incident.PartitionStart {
	if p == nil {
		return nil
	}
	for _, ps := range p.Starts {
		if ps.StartedPartition == x.part {
			return ps
		}
	}
	return nil
}

type startRows struct {
	w    *world
	list []startRow
}

func startRowsOf(w *world, starts *incident.Starts, only string, judged map[string]*incident.Partition) startRows {
	r := startRows{w: w}
	for _, b := range starts.Brokers {
		head := startRow{broker: b, level: levelOK}
		if b.Outcome != broker.OK {
			head.level = levelDamage
		}
		if len(b.Errors) > 0 {
			head.level = levelUnread
		}
		r.list = append(r.list, head)
		at := len(r.list) - 1
		for _, d := range b.Dirs {
			list := d.Partitions
			if d.Metadata != nil && only == "" {
				list = append([]*broker.StartedPartition{d.Metadata}, list...)
			}
			for _, p := range list {
				if only != "" && p.Partition.Name() != only {
					continue
				}
				x := startRow{broker: b, dir: d, part: p}
				if p.Partition.HasTopicID {
					x.id = p.Partition.TopicID.String()
				}
				x.judge(judged[x.key()])
				if x.level < levelUnread {
					r.list[at].level = max(r.list[at].level, x.level)
				}
				sum := &r.list[at]
				sum.off += x.off
				if p.Loaded != nil {
					sum.actions += int64(len(p.Actions))
					sum.reads += p.ScanBytes
				}
				r.list = append(r.list, x)
			}
		}
	}
	return r
}

// judge sets how bad the start of a directory is, as far as it is known.
func (x *startRow) judge(p *incident.Partition) {
	x.level = levelOK
	if x.part.Err != nil || x.part.Loaded == nil {
		x.level = levelUnread
		return
	}
	for i := range x.part.Actions {
		if a := &x.part.Actions[i]; takesOff(a) {
			x.off += a.Bytes
			if a.From < a.ToOffset && !a.Replaced {
				x.level = levelWarning
			} else {
				x.level = max(x.level, levelNote)
			}
		}
	}
	if x.part.Stray != "" {
		x.level = max(x.level, levelWarning)
	}
	if x.part.Outcome == broker.DirOffline || x.part.Outcome == broker.BrokerAborts {
		x.level = levelDamage
	}
	ps := x.start(p)
	if ps == nil {
		return
	}
	for i := range ps.Gone {
		if ps.Gone[i].Counts() {
			x.level = max(x.level, levelLoss)
		}
	}
	if ps.Follows != nil && len(ps.Follows.Lost) > 0 || ps.BelowWatermark.From < ps.BelowWatermark.To {
		x.level = levelLoss
	}
}

// takesOff reports whether an action takes bytes off a log.
func takesOff(a *broker.Action) bool {
	switch a.Action {
	case broker.ActTruncate, broker.ActDelete, broker.ActMarkDeleted:
		return a.Bytes > 0 && (strings.HasSuffix(a.File, ".log") || strings.HasSuffix(a.File, ".log.deleted"))
	}
	return false
}

func (r startRows) Len() int               { return len(r.list) }
func (r startRows) Severity(row int) level { return r.list[row].level }

func (r startRows) Path(row int) string {
	if x := r.list[row]; x.part != nil {
		return r.w.typed(x.part.Partition.Dir)
	}
	return ""
}

func (r startRows) Cell(row, col int) string {
	x := r.list[row]
	if col == 0 {
		return x.broker.Broker.Name
	}
	if x.part == nil {
		switch col {
		case 1:
			return "(the broker)"
		case 3:
			return string(x.broker.Outcome)
		case 6:
			if x.off > 0 {
				return humanBytes(x.off)
			}
		case 7:
			return comma(x.actions)
		case 9:
			return humanBytes(x.reads)
		case 10:
			return countOf(int64(len(x.broker.Dirs)), "log directory", "log directories")
		}
		return ""
	}
	p := x.part
	switch col {
	case 1:
		return p.Partition.Name()
	case 2:
		return p.Partition.State.String()
	case 3:
		if p.Stray != "" {
			return "stray"
		}
		if p.Err != nil {
			return "not read"
		}
		return string(p.Outcome)
	case 10:
		return p.Partition.Dir
	}
	if p.Loaded == nil {
		return "?"
	}
	switch col {
	case 6:
		if x.off == 0 {
			return ""
		}
		return humanBytes(x.off)
	case 7:
		return comma(int64(len(p.Actions)))
	case 9:
		return humanBytes(p.ScanBytes)
	}
	if p.Outcome == broker.DirOffline || p.Outcome == broker.BrokerAborts {
		return "-"
	}
	switch col {
	case 4:
		return itoa(p.LogStartOffset)
	case 5:
		return itoa(p.LogEndOffset)
	}
	return itoa(p.RecoveryPoint)
}

func (r startRows) Value(row, col int) any {
	x := r.list[row]
	if col == 0 && x.broker.Broker.Known {
		return int64(x.broker.Broker.ID)
	}
	if x.part == nil {
		switch col {
		case 6:
			return x.off
		case 7:
			return x.actions
		case 9:
			return x.reads
		case 4, 5, 8:
			return nil
		}
	}
	if x.part == nil || x.part.Loaded == nil || col < 4 || col > 9 {
		return r.Cell(row, col)
	}
	switch col {
	case 4:
		return x.part.LogStartOffset
	case 5:
		return x.part.LogEndOffset
	case 6:
		return x.off
	case 7:
		return int64(len(x.part.Actions))
	case 9:
		return x.part.ScanBytes
	}
	return x.part.RecoveryPoint
}

// JSON is the row as the predicted-start line of --json.
func (r startRows) JSON(row int) any {
	x := r.list[row]
	out := map[string]any{"type": "predicted-start", "broker": brokerJSON(x.broker.Broker), "outcome": x.broker.Outcome}
	if x.part == nil {
		return out
	}
	out["partition"], out["dir"], out["outcome"] = x.part.Partition.Name(), x.part.Partition.Dir, x.part.Outcome
	if x.part.Loaded == nil {
		return out
	}
	actions := []any{}
	for _, a := range x.part.Actions {
		actions = append(actions, map[string]any{"action": a.Action, "file": a.File, "position": a.Position, "from": a.From, "to": a.ToOffset, "bytes": a.Bytes, "why": a.Why})
	}
	out["logStartOffset"], out["logEndOffset"], out["recoveryPoint"], out["actions"] = x.part.LogStartOffset, x.part.LogEndOffset, x.part.RecoveryPoint, actions
	return out
}
