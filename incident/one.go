package incident

import "context"

// Ref names a partition before it is judged.
type Ref struct {
	Name    string // "t-0"
	Topic   string
	Number  int32
	TopicID string // Kafka's text form, "" unknown
	Cluster *Cluster
	// Brokers have a directory of it among the inputs, in the order of Cluster.Brokers.
	Brokers []BrokerRef
}

// Refs lists the selected partitions in the order of Partitions. Nothing is read.
func (inc *Incident) Refs() []Ref {
	groups := inc.groups()
	out := make([]Ref, len(groups))
	for i, g := range groups {
		out[i] = g.ref()
	}
	return out
}

func (g *group) ref() Ref {
	r := Ref{Name: g.name, Topic: g.topic, Number: g.number, Cluster: g.cluster}
	if !g.id.IsZero() {
		r.TopicID = g.id.String()
	}
	for _, m := range g.dirs {
		b := g.cluster.refs[m.broker]
		if n := len(r.Brokers); n == 0 || r.Brokers[n-1] != b {
			r.Brokers = append(r.Brokers, b)
		}
	}
	return r
}

// One judges a single partition, nil if there is none of that name and id (or it is not
// selected), or if ctx ends.
func (inc *Incident) One(ctx context.Context, want Ref) *Partition {
	for _, g := range inc.groups() {
		r := g.ref()
		if r.Name != want.Name || r.TopicID != want.TopicID || r.Cluster.ID != want.Cluster.ID {
			continue
		}
		p := inc.judge(ctx, g)
		if ctx.Err() != nil {
			return nil
		}
		return p
	}
	return nil
}

// With is the same inputs under other options, without reading the metadata again. It
// does not wait for what the other one reads, and what was read of Kafka's own topics is
// not shared.
func (inc *Incident) With(change func(*Options)) *Incident {
	other := &Incident{Case: inc.Case, Clusters: inc.Clusters, Errors: inc.Errors, Notes: inc.Notes, opt: inc.opt, lines: inc.lines}
	change(&other.opt)
	other.slots = newReadSlots(&other.opt)
	other.txns = other.TransactionJudge(TransactionOptions{})
	return other
}

// Brokers are all brokers of the inputs as they are referred to, in the order of the
// clusters.
func (inc *Incident) Brokers() []BrokerRef {
	var out []BrokerRef
	for _, cl := range inc.Clusters {
		for _, b := range cl.Brokers {
			out = append(out, cl.refs[b])
		}
	}
	return out
}
