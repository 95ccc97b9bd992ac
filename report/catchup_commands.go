package report

import (
	"fmt"
	"slices"
	"strings"

	"kafsck/broker"
	"kafsck/incident"
)

// ThrottleCommand is a command that sets or removes a part of a throttle.
type ThrottleCommand struct {
	Purpose string // "set" or "remove"
	Layer   string // "broker" (rates) or "topic" (lists of replicas)
	Entity  string // topic, broker id, or "" for the default of all brokers
	Words   []string
}

// maxTopicCommands is how many topics get commands of their own without --all.
const maxTopicCommands = 3

// ThrottleCommands are the commands for a release. A rate does nothing without the
// lists of replicas, and these nothing without a rate (KIP-73); moves between disks
// have a rate alone. Where a rate is too small for the new data they set one that works;
// where none can be told there are no commands.
func ThrottleCommands(p *incident.CatchupPlan, v broker.Version) []ThrottleCommand {
	enough, ok := workingRates(p)
	if !ok {
		return nil
	}
	rates, lists := throttleRates(p, &enough, v), throttleLists(p, &enough)
	var out []ThrottleCommand
	for _, purpose := range []string{"set", "remove"} {
		for _, layer := range []struct {
			name, entities string
			of             []throttled
		}{{"topic", "topics", lists}, {"broker", "brokers", rates}} {
			for _, x := range layer.of {
				words := append(append([]string{"kafka-configs.sh"}, configServer(v)...), "--alter", "--entity-type", layer.entities)
				if x.entity == "" {
					words = append(words, "--entity-default")
				} else {
					words = append(words, "--entity-name", x.entity)
				}
				var names, pairs []string
				for _, c := range x.configs {
					names = append(names, c[0])
					pairs = append(pairs, c[0]+"="+c[1])
				}
				if purpose == "set" {
					words = append(words, "--add-config", strings.Join(pairs, ","))
				} else {
					words = append(words, "--delete-config", strings.Join(names, ","))
				}
				out = append(out, ThrottleCommand{purpose, layer.name, x.entity, words})
			}
		}
	}
	return out
}

// configServer is where kafka-configs.sh sends a change. Before 3.0 it writes to ZooKeeper as well,
// which takes every throttle, also that of a broker that is down.
func configServer(v broker.Version) []string {
	if v.Before(3, 0) {
		return []string{"--zookeeper", "HOST:2181"}
	}
	return []string{"--bootstrap-server", "HOST:9092"}
}

// topicServer is where kafka-topics.sh looks: it knows --bootstrap-server since 2.2.
func topicServer(v broker.Version) []string {
	if v.Before(2, 2) {
		return []string{"--zookeeper", "HOST:2181"}
	}
	return []string{"--bootstrap-server", "HOST:9092"}
}

// workingRates are the rates of a plan, each that new data use up alone replaced by twice what it must
// exceed. ok is false where a replica does not catch up and no rate can be named.
func workingRates(p *incident.CatchupPlan) (r incident.Rates, ok bool) {
	r = p.Rates
	raise := func(rate *float64, least float64) { *rate = max(*rate, 2*least) }
	for i := range p.Brokers {
		b := &p.Brokers[i]
		if b.Never > 0 && len(b.Needs) == 0 {
			return r, false
		}
		for _, n := range b.Needs {
			switch n.Side {
			case "follower":
				raise(&r.Throttle, n.Rate)
			case "leader":
				raise(&r.LeaderThrottle, n.Rate)
			case "move":
				raise(&r.Move, n.Rate)
			}
		}
	}
	return r, true
}

// throttled is a broker or a topic with its configuration, name and value.
type throttled struct {
	entity  string
	configs [][2]string
}

// throttleRates are the rates, for the default of all brokers (entity ""): only the
// broker itself takes a configuration of its own over --bootstrap-server, and the one
// that returns is down (4.3.1: "Timed out waiting for a node assignment"). The lists
// confine them (BrokerConfigHandler.processConfigChanges falls back to the default).
// A move has no list, and its broker runs. Before 3.0 each broker gets its own, in ZooKeeper.
func throttleRates(p *incident.CatchupPlan, r *incident.Rates, v broker.Version) []throttled {
	var out []throttled
	seen := map[[2]string]bool{}
	add := func(entity, name string, rate float64) {
		if k := [2]string{entity, name}; rate > 0 && !seen[k] {
			seen[k] = true
			at := slices.IndexFunc(out, func(x throttled) bool { return x.entity == entity })
			if at < 0 {
				out = append(out, throttled{entity: entity})
				at = len(out) - 1
			}
			out[at].configs = append(out[at].configs, [2]string{name, fmt.Sprintf("%.0f", rate)})
		}
	}
	for i := range p.Followers {
		switch f := &p.Followers[i]; {
		case f.FetchBytes == 0:
		case f.State == incident.FollowerFuture:
			add(f.Follower.Name, "replica.alter.log.dirs.io.max.bytes.per.second", r.Move)
		default:
			follower, leader := "", ""
			if v.Before(3, 0) {
				follower, leader = f.Follower.Name, f.Leader.Name
			}
			add(follower, "follower.replication.throttled.rate", r.Throttle)
			add(leader, "leader.replication.throttled.rate", r.LeaderThrottle)
		}
	}
	return out
}

func throttleLists(p *incident.CatchupPlan, r *incident.Rates) []throttled {
	type replicas struct{ leader, follower []string }
	byTopic := map[string]*replicas{}
	var topics []string
	for i := range p.Followers {
		f := &p.Followers[i]
		if f.FetchBytes == 0 || f.State == incident.FollowerFuture || !f.Follower.Known || !f.Leader.Known {
			continue
		}
		x := byTopic[f.Topic]
		if x == nil {
			x = &replicas{}
			byTopic[f.Topic] = x
			topics = append(topics, f.Topic)
		}
		lead := fmt.Sprintf("%d:%d", f.Number, f.Leader.ID)
		if !slices.Contains(x.leader, lead) {
			x.leader = append(x.leader, lead)
		}
		x.follower = append(x.follower, fmt.Sprintf("%d:%d", f.Number, f.Follower.ID))
	}
	slices.Sort(topics)
	var out []throttled
	for _, topic := range topics {
		t := throttled{entity: topic}
		if r.LeaderThrottle > 0 {
			t.configs = append(t.configs, [2]string{"leader.replication.throttled.replicas", "[" + strings.Join(byTopic[topic].leader, ",") + "]"})
		}
		if r.Throttle > 0 {
			t.configs = append(t.configs, [2]string{"follower.replication.throttled.replicas", "[" + strings.Join(byTopic[topic].follower, ",") + "]"})
		}
		if len(t.configs) > 0 {
			out = append(out, t)
		}
	}
	return out
}

// throttles is how to set and remove the throttle, and how to watch.
func (t *Catchups) throttles() []string {
	follows, moves := false, false
	for i := range t.Plan.Followers {
		if f := &t.Plan.Followers[i]; f.FetchBytes > 0 {
			moves = moves || f.State == incident.FollowerFuture
			follows = follows || f.State != incident.FollowerFuture
		}
	}
	if !follows && !moves {
		return nil
	}
	commands := ThrottleCommands(t.Plan, t.Version)
	if t.short() && !t.All && len(commands) > 0 {
		return indented("", "It is done so soon that it needs no throttle. The commands that set and remove one, and what to watch: --all")
	}
	lists := slices.ContainsFunc(commands, func(c ThrottleCommand) bool { return c.Layer == "topic" })
	set := "Set the throttle:"
	remove := "Remove it when the copies have taken their replica's place:"
	if lists {
		set = "Set the throttle before the broker starts, in both layers: the replicas it holds for, and the rates, as the default of all brokers, since a broker that is down takes no configuration of its own; a rate set for one broker goes before. --add-config replaces a list that is there; look first with --describe."
		if t.Version.Before(3, 0) {
			set = "Set the throttle before the broker starts, in both layers: the replicas it holds for, and the rate of each broker. --add-config replaces a list that is there; look first with --describe."
		}
		remove = "Remove it when all replicas are in the ISR: one that stays slows the next recovery down. kafka-reassign-partitions.sh --verify removes throttles of its own accord, unless --preserve-throttles is given."
	}
	var out []string
	enough, ok := workingRates(t.Plan)
	switch raised := raisedProse(&t.Plan.Rates, &enough); {
	case !ok:
		out = append(out, indented("", "No commands for a throttle: new data use up every budget that is known. Give a greater rate.")...)
	case raised != "":
		out = append(out, indented("", "These commands set what works, twice the rate of new data: "+raised+".")...)
	case len(commands) == 0 && t.limited():
	case len(commands) == 0:
		out = append(out, indented("", "For the time and the commands that set a throttle give --throttle RATE (follower's side), --leader-throttle RATE, or --move-throttle RATE for -future copies.")...)
	}
	for _, part := range []struct{ purpose, head string }{
		{"set", set},
		{"remove", remove},
	} {
		lines, topics := []string{}, 0
		for _, c := range commands {
			if c.Purpose != part.purpose {
				continue
			}
			if c.Layer == "topic" {
				if topics++; topics > maxTopicCommands && !t.All {
					continue
				}
			}
			lines = append(lines, "  "+Command(c.Words...))
		}
		if len(lines) == 0 {
			continue
		}
		out = append(out, indented("", part.head)...)
		out = append(out, lines...)
		if n := topics - maxTopicCommands; n > 0 && !t.All {
			out = append(out, fmt.Sprintf("  … and %s more with --all or --json", count(n, "topic", "topics")))
		}
	}
	if t.Assumed && len(commands) > 0 {
		out = append(out, indented("", "(Before 3.0 the commands are others: give --kafka RELEASE, such as --kafka 2.8.)")...)
	}
	if follows {
		out = append(out, indented("Watch the ISR: ", Command(append(append([]string{"kafka-topics.sh"}, topicServer(t.Version)...), "--describe", "--under-replicated-partitions")...))...)
	}
	return append(out, indented("", "Do not trust offsetLag of kafka-log-dirs.sh: for a replica it is the broker's own high watermark less its own log end, which is 0 "+
		"however far it is behind its leader. Only for a -future copy is it a distance, to the broker's own replica. -1 is not known. It counts offsets, not bytes.")...)
}

// shortCatchup is up to how many seconds nobody throttles.
const shortCatchup = 10

// short reports whether everything is done within shortCatchup, under the rates that are known.
func (t *Catchups) short() bool {
	return !slices.ContainsFunc(t.Plan.Brokers, func(b incident.BrokerCatchup) bool { return !(b.Seconds <= shortCatchup) })
}

// limited reports whether throttles that are set already limit what is to be fetched.
func (t *Catchups) limited() bool {
	return slices.ContainsFunc(t.Plan.Brokers, func(b incident.BrokerCatchup) bool { return b.InForce })
}

// raisedProse names the rates that are set in place of those that are too small.
func raisedProse(was, is *incident.Rates) string {
	var words []string
	for _, x := range []struct {
		name    string
		was, is float64
	}{{"for followers", was.Throttle, is.Throttle}, {"for leaders", was.LeaderThrottle, is.LeaderThrottle}, {"for moves", was.Move, is.Move}} {
		if x.is > x.was {
			words = append(words, rateText(x.is)+" "+x.name)
		}
	}
	return list(words)
}

// inForce tells of throttles that are set.
func (t *Catchups) inForce() []string {
	if len(t.InForce) == 0 {
		return nil
	}
	out := []string{"Set already, by the newest metadata among these inputs:"}
	for i, x := range t.InForce {
		if i == maxInForce && !t.All {
			out = append(out, fmt.Sprintf("  … and %s more with --all or --json", comma(len(t.InForce)-i)))
			break
		}
		entity := x.Layer + " " + Escape(x.Entity)
		if x.Entity == "" {
			entity = "all brokers"
		}
		value := Escape(x.Value)
		if len(value) > 60 {
			value = strings.ToValidUTF8(value[:60], "") + "…"
		}
		out = append(out, fmt.Sprintf("  %s: %s=%s", entity, x.Name, value))
	}
	return out
}
