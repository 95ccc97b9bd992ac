package incident

import (
	"fmt"
	"slices"
	"strings"

	"kafsck/kraft"
)

// Happened tells a change of a partition in words, against the state before it; prev
// is nil for the first. u is the change's own entry among the unclean elections, nil
// if it is none.
func Happened(prev, c *kraft.Change, u *UncleanElection) string {
	var words []string
	say := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	switch {
	case c.FromSnapshot && prev == nil:
		say("the oldest known state, from a snapshot")
	case c.FromSnapshot:
		say("what a snapshot has after a gap")
	case prev == nil && c.Uncertain:
		say("the first record behind a gap")
	case prev == nil:
		say("created")
	}
	if c.Uncertain && prev != nil {
		say("behind a gap, so the epoch may be wrong")
	}
	if !c.FromSnapshot {
		words = append(words, leadership(prev, c, u)...)
	}
	if prev == nil {
		return strings.Join(words, "; ")
	}
	left, joined := difference(prev.ISR, c.ISR)
	if len(left) > 0 && !c.FromSnapshot {
		say("%s left the ISR", numbersOf(left))
	}
	if len(joined) > 0 && !c.FromSnapshot {
		say("%s joined the ISR", numbersOf(joined))
	}
	words = append(words, replicasOf(prev, c)...)
	if prev.Recovering && !c.Recovering {
		say("the leader has recovered from the unclean election")
	}
	if len(words) == 0 {
		switch {
		case !slices.Equal(prev.ELR, c.ELR) || !slices.Equal(prev.LastKnownELR, c.LastKnownELR):
			words = append(words, eligibleOf(prev, c))
		case !slices.Equal(prev.Directories, c.Directories):
			say("log directories assigned")
		default:
			say("nothing but the partition epoch")
		}
	}
	return strings.Join(words, "; ")
}

// leadership tells who leads now, where the record says so.
func leadership(prev, c *kraft.Change, u *UncleanElection) []string {
	switch {
	case !c.LeaderWritten && u == nil:
		return nil
	case c.Leader < 0 && prev != nil && prev.Leader >= 0:
		return []string{fmt.Sprintf("nobody leads: broker %d is gone", prev.Leader)}
	case c.Leader < 0:
		return []string{"nobody leads"}
	case u != nil && u.Before == nil:
		return []string{fmt.Sprintf("broker %d elected UNCLEANLY, by its recovery state", c.Leader)}
	case u != nil:
		last := ""
		if u.SameLeader {
			last = ", the same that led last"
		}
		return []string{fmt.Sprintf("broker %d elected UNCLEANLY%s: not in the ISR, not in the ELR", c.Leader, last)}
	case prev == nil:
		return []string{fmt.Sprintf("broker %d leads", c.Leader)}
	case prev.Leader == c.Leader:
		return []string{fmt.Sprintf("broker %d goes on in a new epoch", c.Leader)}
	case !slices.Contains(prev.ISR, c.Leader) && slices.Contains(prev.ELR, c.Leader):
		return []string{fmt.Sprintf("broker %d elected, from the ELR", c.Leader)}
	}
	return []string{fmt.Sprintf("broker %d elected", c.Leader)}
}

// eligibleOf tells how the eligible leader replicas changed.
func eligibleOf(prev, c *kraft.Change) string {
	left, joined := difference(prev.ELR, c.ELR)
	switch {
	case len(c.ELR) == 0 && len(left) == 1:
		return fmt.Sprintf("ELR emptied: %s is no longer eligible to lead", numbersOf(left))
	case len(c.ELR) == 0 && len(left) > 1:
		return fmt.Sprintf("ELR emptied: %s are no longer eligible to lead", numbersOf(left))
	case len(left)+len(joined) == 0:
		return fmt.Sprintf("last known ELR is now %s", ids(c.LastKnownELR))
	}
	var words []string
	if len(left) > 0 {
		words = append(words, fmt.Sprintf("%s left the ELR", numbersOf(left)))
	}
	if len(joined) > 0 {
		words = append(words, fmt.Sprintf("%s joined the ELR", numbersOf(joined)))
	}
	return strings.Join(words, "; ")
}

// Happened tells change i of a partition in words, and why where another record says so.
func (h *History) Happened(p *PartitionHistory, i int) string {
	var prev *kraft.Change
	if i > 0 {
		prev = &p.Changes[i-1]
	}
	c := &p.Changes[i]
	said := Happened(prev, c, p.UncleanAt(i))
	if prev != nil && len(prev.ELR) > 0 && len(c.ELR) == 0 && h.minISRSet(p.Topic.Name, prev.Offset, c) {
		said += " (min.insync.replicas was changed)"
	}
	return said
}

// minISRSet reports whether min.insync.replicas of the topic, of a broker or of the cluster
// was written in the batch of a change, behind metadata offset from: the controller clears
// the ELR with it (KIP-966).
func (h *History) minISRSet(topic string, from int64, at *kraft.Change) bool {
	for i := range h.Log.Configs {
		c := &h.Log.Configs[i]
		if c.Name == "min.insync.replicas" && !c.FromSnapshot && c.TimeMs == at.TimeMs && c.Offset > from && c.Offset < at.Offset && (c.ResourceType != kraft.ResourceTopic || c.ResourceName == topic) {
			return true
		}
	}
	return false
}

// replicasOf tells of a reassignment.
func replicasOf(prev, c *kraft.Change) []string {
	var words []string
	moved := !slices.Equal(prev.Replicas, c.Replicas)
	busy, was := len(c.Adding)+len(c.Removing) > 0, len(prev.Adding)+len(prev.Removing) > 0
	switch {
	case busy && !was:
		words = append(words, fmt.Sprintf("reassignment begins: replicas %v, adding %v, removing %v", c.Replicas, c.Adding, c.Removing))
	case was && !busy:
		words = append(words, fmt.Sprintf("reassignment over: replicas %v", c.Replicas))
	case moved:
		words = append(words, fmt.Sprintf("replicas are now %v", c.Replicas))
	}
	return words
}

func numbersOf(ids []int32) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = fmt.Sprint(id)
	}
	if len(words) == 1 {
		return "broker " + words[0]
	}
	return "brokers " + listed(words)
}

// Says tells an event in words.
func (e *MetadataEvent) Says() string {
	value := func() string {
		if e.Value == nil {
			return "deleted"
		}
		return "= " + *e.Value
	}
	words := ""
	switch e.Kind {
	case TopicCreated:
		words = "topic " + e.Topic + " created"
		if e.FromSnapshot {
			words = "topic " + e.Topic + " exists"
		}
	case TopicDeleted:
		words = "topic " + e.Topic + " deleted"
	case ConfigSet:
		of := "cluster default"
		switch e.Resource {
		case "topic":
			of = "topic " + e.Topic
		case "broker":
			of = fmt.Sprintf("broker %d", e.Broker)
		}
		words = of + ": " + e.Name + " " + value()
	case FeatureSet:
		words = "feature " + e.Name + " " + value()
	case ControllerElected:
		words = fmt.Sprintf("controller %d becomes the active one", e.Broker)
	case BrokerRegistered:
		words = fmt.Sprintf("broker %d registered: its process started", e.Broker)
		if e.FromSnapshot {
			words = fmt.Sprintf("broker %d is registered", e.Broker)
		}
	case BrokerUnregistered:
		words = fmt.Sprintf("broker %d unregistered", e.Broker)
	case BrokerFenced:
		words = fmt.Sprintf("broker %d fenced: its heartbeats stopped, or it shut down", e.Broker)
	case BrokerUnfenced:
		words = fmt.Sprintf("broker %d unfenced: it serves again", e.Broker)
	case BrokerShutdownBegins:
		words = fmt.Sprintf("broker %d begins a controlled shutdown", e.Broker)
	case BrokerDirsChanged:
		words = fmt.Sprintf("broker %d reports other log directories", e.Broker)
	case MetadataGap:
		words = fmt.Sprintf("metadata offsets %s are in no copy", offsetsBetween(e.Offset, e.To))
	}
	if e.FromSnapshot {
		words += " (from a snapshot: so at this time or before)"
	}
	return words
}

// offsetsBetween prints [from, to) inclusively.
func offsetsBetween(from, to int64) string {
	if to <= from+1 {
		return fmt.Sprint(from)
	}
	return fmt.Sprintf("%d–%d", from, to-1)
}
