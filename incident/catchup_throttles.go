package incident

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"kafsck/kraft"
)

// ThrottleInForce is a configuration of a replication throttle that the cluster
// metadata hold.
type ThrottleInForce struct {
	Layer  string // "broker" or "topic"
	Entity string // broker id, "" for the default of all; or topic
	Name   string
	Value  string
}

// The configurations of a throttle (KIP-73, KIP-113), by layer.
var throttleConfigs = []struct {
	layer    string
	resource int8
	names    []string
}{
	{"broker", kraft.ResourceBroker, []string{"follower.replication.throttled.rate", "leader.replication.throttled.rate", "replica.alter.log.dirs.io.max.bytes.per.second"}},
	{"topic", kraft.ResourceTopic, []string{"follower.replication.throttled.replicas", "leader.replication.throttled.replicas"}},
}

// ThrottlesInForce are the throttles that the newest metadata hold for the brokers and
// topics of a plan: one of them may be left over from an earlier move.
func (inc *Incident) ThrottlesInForce(p *CatchupPlan) []ThrottleInForce {
	entities := map[string][]string{"broker": {""}}
	add := func(layer, name string) {
		if !slices.Contains(entities[layer], name) {
			entities[layer] = append(entities[layer], name)
		}
	}
	topics := map[string]bool{}
	for i := range p.Followers {
		f := &p.Followers[i]
		add("broker", f.Follower.Name)
		add("broker", f.Leader.Name)
		if !topics[f.Topic] {
			topics[f.Topic] = true
			entities["topic"] = append(entities["topic"], f.Topic)
		}
	}
	out := []ThrottleInForce{}
	for _, cl := range inc.Clusters {
		if cl.Metadata == nil {
			continue
		}
		for _, c := range throttleConfigs {
			for _, entity := range entities[c.layer] {
				for _, name := range c.names {
					if value, ok := cl.Metadata.Config(math.MaxInt64, c.resource, entity, name); ok && value != "" {
						out = append(out, ThrottleInForce{c.layer, entity, name, value})
					}
				}
			}
		}
	}
	return out
}

// RatesInForce are the replication throttles that the metadata hold, as rates. nil holds none.
type RatesInForce struct {
	metadata *kraft.Log
}

// RatesInForce are the throttles of the newest metadata, nil without metadata; also with those of
// several clusters, whose brokers have the same ids.
func (inc *Incident) RatesInForce() *RatesInForce {
	if len(inc.Clusters) != 1 || inc.Clusters[0].Metadata == nil {
		return nil
	}
	return &RatesInForce{inc.Clusters[0].Metadata}
}

// throttleNames are the configurations of each side of a throttle: of the rate, and of the list of
// replicas that it holds for. Moves have none.
var throttleNames = map[string]struct{ rate, list string }{
	"follower": {"follower.replication.throttled.rate", "follower.replication.throttled.replicas"},
	"leader":   {"leader.replication.throttled.rate", "leader.replication.throttled.replicas"},
	"move":     {"replica.alter.log.dirs.io.max.bytes.per.second", ""},
}

// rate is a broker's rate in bytes a second, 0 without one. What is set for the broker goes before the
// default of all (BrokerConfigHandler.processConfigChanges).
func (x *RatesInForce) rate(l link) float64 {
	if x == nil || !l.broker.Known {
		return 0
	}
	for _, entity := range []string{fmt.Sprint(l.broker.ID), ""} {
		value, ok := x.metadata.Config(math.MaxInt64, kraft.ResourceBroker, entity, throttleNames[l.side].rate)
		if !ok {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64); err == nil && n > 0 && n < math.MaxInt64 {
			return float64(n)
		}
		return 0
	}
	return 0
}

// lists reports whether a list of throttled replicas that is set names the broker's replica:
// "0:1,3:2" are partition:broker, "*" is all, "none" nothing (ThrottledReplicaListValidator).
func (x *RatesInForce) lists(l link, topic string, partition int32) bool {
	if x == nil || !l.broker.Known {
		return false
	}
	value, ok := x.metadata.Config(math.MaxInt64, kraft.ResourceTopic, topic, throttleNames[l.side].list)
	if !ok {
		return false
	}
	for word := range strings.SplitSeq(value, ",") {
		if word = strings.TrimSpace(word); word == "*" || word == fmt.Sprintf("%d:%d", partition, l.broker.ID) {
			return true
		}
	}
	return false
}
