package tui

import (
	"strings"

	"kafsck/commitment"
	"kafsck/incident"
)

// leaderRows are the candidates.
type leaderRows struct {
	p *incident.Partition
	l *incident.Leadership
}

func (r leaderRows) Len() int {
	if r.l == nil {
		return 0
	}
	return len(r.l.Candidates)
}

func (r leaderRows) Severity(row int) level {
	c := &r.l.Candidates[row]
	switch {
	case !c.CanLead():
		return levelDamage
	case c.Lost[commitment.Yes] > 0 || len(c.CutShort) > 0:
		return levelLoss
	case !c.Harmless() || c.Forks() > 0 || c.RepairFirst:
		return levelWarning
	}
	return levelOK
}

func (r leaderRows) Path(row int) string { return r.l.Candidates[row].Copy.Dir }

func (r leaderRows) Cell(row, col int) string {
	c := &r.l.Candidates[row]
	if !c.CanLead() && col > 1 {
		return first(col == 6, "does not start")
	}
	switch col {
	case 0:
		return c.Copy.Broker.Name
	case 1:
		var words []string
		if row < r.l.Best {
			words = append(words, first(r.l.Best == 1, "best")+first(r.l.Best > 1, "equal best"))
		}
		if c.Leads {
			words = append(words, "leads")
		} else if c.Eligible {
			words = append(words, "eligible")
		}
		if c.RepairFirst {
			words = append(words, "repair first")
		}
		return strings.Join(words, ", ")
	case 2:
		return itoa(c.State.LogEnd)
	case 3:
		return comma(c.Lost[commitment.Yes])
	case 4:
		return comma(c.Lost[commitment.Unknown])
	case 5:
		return comma(c.Lost[commitment.No])
	case 6:
		var words []string
		for i := range c.Followers {
			words = append(words, c.Followers[i].Copy.Broker.Name+": "+fateWord(&c.Followers[i]))
		}
		return strings.Join(words, "; ")
	case 7:
		return humanBytes(c.FetchBytes())
	case 8:
		return comma(int64(c.Forks()))
	case 9:
		return comma(int64(c.BrokenCount))
	}
	return itoa(c.Epoch)
}

func (r leaderRows) Value(row, col int) any {
	c := &r.l.Candidates[row]
	switch col {
	case 0:
		if c.Copy.Broker.Known {
			return int64(c.Copy.Broker.ID)
		}
	case 2:
		return c.State.LogEnd
	case 3:
		return c.Lost[commitment.Yes]
	case 4:
		return c.Lost[commitment.Unknown]
	case 5:
		return c.Lost[commitment.No]
	case 7:
		return c.FetchBytes()
	case 8:
		return int64(c.Forks())
	case 9:
		return int64(c.BrokenCount)
	case 10:
		return int64(c.Epoch)
	}
	return r.Cell(row, col)
}

// JSON is the row as the predicted-leader line of --json.
func (r leaderRows) JSON(row int) any {
	c := &r.l.Candidates[row]
	followers := []any{}
	for i := range c.Followers {
		f := &c.Followers[i]
		followers = append(followers, map[string]any{"broker": brokerJSON(f.Copy.Broker), "truncateTo": f.To, "belowHighWatermark": f.BelowHighWatermark, "rebuild": f.Rebuild, "stuck": f.Stuck, "fetchBytes": f.FetchBytes})
	}
	return map[string]any{"type": "predicted-leader", "partition": r.p.Name, "leader": brokerJSON(c.Copy.Broker), "logEndOffset": c.State.LogEnd,
		"lost": c.LostAll(), "lostCommitted": c.Lost[commitment.Yes], "followers": followers}
}

// fateWord is a follower's fate in a word or two.
func fateWord(f *incident.FollowerFate) string {
	switch {
	case f.Offline != "":
		return "does not start"
	case f.Stuck:
		return "stuck"
	case f.Rebuild:
		return "everything"
	case f.To < f.State.LogEnd:
		return "to " + itoa(f.To)
	}
	return "nothing"
}
