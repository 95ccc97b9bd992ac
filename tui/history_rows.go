package tui

import (
	"fmt"
	"strings"

	"kafsck/incident"
)

// historyRows are the changes of a partition.
type historyRows struct{ f *foundHistory }

func (r historyRows) Len() int {
	if r.f == nil {
		return 0
	}
	return len(r.f.x.Changes)
}

func (r historyRows) Severity(row int) level {
	if k, ok := r.f.opened[row]; ok {
		switch r.f.x.Unclean[k].Lost {
		case incident.LostYes, incident.LostMaybe:
			return levelLoss
		case incident.LostUnknown:
			return levelWarning
		}
		return levelNote
	}
	if len(r.f.parted[row]) > 0 {
		return levelWarning
	}
	return levelNone
}

func (r historyRows) Cell(row, col int) string {
	c := &r.f.x.Changes[row]
	switch col {
	case 0:
		return itoa(c.Offset)
	case 1:
		return clock(c.TimeMs)
	case 2:
		return itoa(c.LeaderEpoch)
	case 3:
		if c.Leader < 0 {
			return "none"
		}
		return itoa(c.Leader)
	case 4:
		return idsText(c.ISR)
	case 5:
		text := r.f.words[row]
		if len(r.f.parted[row]) > 0 {
			text += "; made the loss possible"
		}
		if k, ok := r.f.opened[row]; ok && !strings.Contains(text, "unclean") {
			text += fmt.Sprintf("; unclean, lost: %s", r.f.x.Unclean[k].Lost)
		}
		return text
	case 6:
		return idsText(c.ELR)
	case 7:
		return idsText(c.Replicas)
	}
	return itoa(c.PartitionEpoch)
}

func (r historyRows) Value(row, col int) any {
	c := &r.f.x.Changes[row]
	switch col {
	case 0:
		return c.Offset
	case 1:
		return orNil(c.TimeMs)
	case 2:
		return int64(c.LeaderEpoch)
	case 3:
		return int64(c.Leader)
	case 4:
		return int64(len(c.ISR))
	case 8:
		return int64(c.PartitionEpoch)
	}
	return r.Cell(row, col)
}

// JSON is the row as the leadership line of --json.
func (r historyRows) JSON(row int) any {
	c, x := &r.f.x.Changes[row], r.f.x
	return map[string]any{"type": "leadership", "partition": x.Name, "topicId": x.Topic.ID.String(), "leader": c.Leader, "leaderEpoch": c.LeaderEpoch, "isr": c.ISR, "elr": c.ELR,
		"lastKnownElr": c.LastKnownELR, "recovering": c.Recovering, "unclean": c.Unclean, "metadataOffset": c.Offset, "timeMs": c.TimeMs, "time": clock(c.TimeMs)}
}

// noneOr is a number, "none" for 0.
func noneOr(n int) string {
	if n == 0 {
		return "none"
	}
	return comma(int64(n))
}
