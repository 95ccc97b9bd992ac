package report

import (
	"fmt"
	"slices"
	"strings"

	"kafsck/incident"
)

// steps are numbered sentences with commands below them.
type steps struct {
	out []string
	n   int
}

func (s *steps) step(format string, args ...any) {
	s.n++
	s.out = append(s.out, indented(fmt.Sprintf("  %d. ", s.n), fmt.Sprintf(format, args...))...)
}

func (s *steps) run(commands ...string) {
	for _, c := range commands {
		s.out = append(s.out, "       "+c)
	}
}

// todo is what to do, once for all partitions.
func (t *Leaders) todo() (out []string) {
	for _, p := range t.plans {
		c := p.Course()
		if !c.Needed() {
			continue
		}
		head := "To do (one order for all partitions; the next step only when the one before is done)"
		if t.Part {
			head = "To do for these partitions alone (others on the same brokers may need another order: ask without --partition and --topic)"
		}
		if len(t.plans) > 1 && p.Cluster.ID != "" {
			head = "To do in cluster " + Escape(p.Cluster.ID)
		}
		var s steps
		t.course(&s, c)
		out = append(append(out, indented("", head)...), s.out...)
	}
	if len(t.unknown.wanted) > 0 {
		var s steps
		t.unknownSteps(&s)
		out = append(append(out, "To do (who leads and who is in the ISR is not known from these inputs)"), s.out...)
	}
	return out
}

func (t *Leaders) course(s *steps, c *incident.Course) {
	for _, x := range c.Conflicts {
		s.out = append(s.out, indented("  CONFLICT ", fmt.Sprintf("%s wants broker %d up before broker %d, others the reverse. In this order broker %d is elected for it, and %s", Escape(x.Name), x.Wanted, x.First, x.First, moreLost(x.More)))...)
	}
	t.before(s)
	if len(c.Unset) > 0 {
		var topics, commands []string
		for _, u := range c.Unset {
			topics = append(topics, Escape(u.Topic)+" ("+u.Source+")")
			if len(commands) < maxPlanCommands {
				commands = append(commands, configCommand(u.Topic, "--add-config", uncleanEnable+"=false"))
			}
		}
		s.step("Set %s to false first for %s. As long as it is true, the controller elects whichever replica is up first, by itself. With no broker up: --bootstrap-controller %s in place of --bootstrap-server (since 3.7).", uncleanEnable, some(topics), controller)
		s.run(commands...)
		s.rest(len(c.Unset))
	}
	t.down(s, c)
	for i := 0; i < len(c.Starts); i++ {
		x := c.Starts[i]
		ids := []int32{x.Broker}
		for len(x.Automatic)+len(x.Unclean) == 0 && i+1 < len(c.Starts) && len(c.Starts[i+1].Automatic)+len(c.Starts[i+1].Unclean) == 0 {
			i++
			ids = append(ids, c.Starts[i].Broker)
		}
		t.start(s, c, x, ids, i)
	}
	if len(t.prefer) > 0 {
		var now []string
		for _, p := range t.prefer {
			now = append(now, fmt.Sprintf("%s from broker %d to broker %d", Escape(p.Name), p.leader, p.wanted))
		}
		s.step("Hand over %s. Both must be up and in the ISR; a preferred election takes the first replica of the assignment, so that one is put first. No data moves.", some(now))
		s.run(preferredCommands(t.prefer[:min(len(t.prefer), maxPlanPartitions)], t.versions[0])...)
	}
	if len(c.Unset) > 0 {
		s.step("When every partition has its leader and the others are back in the ISR, set %s again as it was.", uncleanEnable)
		for i, u := range c.Unset {
			if i == maxPlanCommands {
				break
			}
			if u.Source == "topic config" {
				s.run(configCommand(u.Topic, "--add-config", uncleanEnable+"=true"))
			} else {
				s.run(configCommand(u.Topic, "--delete-config", uncleanEnable))
			}
		}
		s.rest(len(c.Unset))
	}
}

const (
	maxPlanCommands   = 8
	maxPlanPartitions = 200
)

// rest says how many topics the same is to be done for.
func (s *steps) rest(topics int) {
	if topics > maxPlanCommands {
		s.out = append(s.out, fmt.Sprintf("       … and so for %s; all are in --json (leader-plan)", count(topics-maxPlanCommands, "more topic", "more topics")))
	}
}

func moreLost(c incident.Cost) string {
	switch {
	case c.Committed > 0:
		return count(c.Committed, "more committed record is", "more committed records are") + " lost"
	case c.Maybe > 0:
		return count(c.Maybe, "more record is", "more records are") + " lost that may have been committed"
	}
	return "that is worse for it; see its details"
}

// before are the steps that come before any broker is touched.
func (t *Leaders) before(s *steps) {
	if t.repair > 0 {
		s.step("Repair the leader-epoch-checkpoint files that keep the best leader from starting: %s", t.Paths.Again("repair", "epochs", "--out", "DIR"))
	}
	if len(t.save) > 0 {
		slices.SortFunc(t.save, func(a, b incident.BrokerRef) int { return strings.Compare(a.Name, b.Name) })
		s.step("First keep a copy of the directories of %s: what they alone hold is gone once they follow.", brokers(t.save))
		t.save = nil
	}
}

// down tells who must be stopped or stay so, and what becomes of the controllers among them.
func (t *Leaders) down(s *steps, c *incident.Course) {
	var hold []int32
	for _, id := range c.Hold {
		if !slices.Contains(c.Stop, id) {
			hold = append(hold, id)
		}
	}
	tail := " A broker that is stopped is missing in its other partitions too."
	switch {
	case len(c.Stop) > 0 && len(hold) > 0:
		s.step("Stop %s, which %s now, and keep %s stopped: they would be elected instead. Wait until the partitions have no leader: with one the tool does nothing.%s", idList(c.Stop), noun(len(c.Stop), "leads", "lead"), idList(hold), tail)
	case len(c.Stop) > 0:
		s.step("Stop %s, which %s now, and wait until the partitions have no leader: with one the tool does nothing.%s", idList(c.Stop), noun(len(c.Stop), "leads", "lead"), tail)
	case len(hold) > 0:
		s.step("Keep %s stopped: %s would be elected instead.%s", idList(hold), noun(len(hold), "it", "they"), tail)
	}
	if len(c.HeldVoters) == 0 {
		return
	}
	up := len(c.Voters) - len(c.HeldVoters)
	voters := "controllers " + listIDs(c.Voters)
	if up >= c.Majority() {
		s.out = append(s.out, indented("     ", fmt.Sprintf("%s %s too (%s): %d of these must be up, or nothing is elected and no command is answered. Should it be so now, go on: a stopped leader answers no fetch, so nothing is truncated.",
			upperFirst(idList(c.HeldVoters)), noun(len(c.HeldVoters), "is a controller", "are controllers"), voters, c.Majority()))...)
		return
	}
	s.out = append(s.out, indented("     ", fmt.Sprintf("%s %s too (%s), and without a majority of %d nothing is elected and no command is answered. Start as many of them as controllers only: process.roles=controller in their server.properties, and the controller listener alone in listeners; their partitions then stay out.",
		upperFirst(idList(c.HeldVoters)), noun(len(c.HeldVoters), "is a controller", "are controllers"), voters, c.Majority()))...)
}

func listIDs(ids []int32) string {
	var words []string
	for _, id := range ids {
		words = append(words, fmt.Sprint(id))
	}
	return list(words)
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// start is one start, or several after which nothing is elected, with their elections.
func (t *Leaders) start(s *steps, c *incident.Course, x incident.BrokerElections, ids []int32, i int) {
	who := upperFirst("start " + idList(ids))
	if len(x.Automatic)+len(x.Unclean) == 0 {
		s.step("%s: %s as told below.", who, noun(len(ids), "it truncates its log", "each truncates its log"))
		return
	}
	var also []string
	if len(x.Automatic) > 0 {
		also = append(also, fmt.Sprintf("The controller elects it for %s as soon as it is up; no command is needed.", some(escaped(namesOf(x.Automatic)))))
	}
	if len(x.Unclean) > 0 {
		also = append(also, fmt.Sprintf("Elect it for %s with the commands below.", some(escaped(namesOf(x.Unclean)))))
		if slices.ContainsFunc(x.Unclean, func(p incident.ElectedPartition) bool { return t.mayElectItself(c, p) }) {
			also = append(also, uncleanEnable+" is true, so the controller may have done it by itself; then the tool says that nothing was to be elected.")
		}
	}
	s.step("%s. %s", who, strings.Join(also, " "))
	if len(x.Unclean) > 0 {
		shown := x.Unclean[:min(len(x.Unclean), maxPlanPartitions)]
		s.run(uncleanCommands(shown, t.versions[0])...)
		if rest := len(x.Unclean) - len(shown); rest > 0 {
			s.out = append(s.out, fmt.Sprintf("       … and so for %s; all are in --json (leader-plan)", count(rest, "more partition", "more partitions")))
		}
	}
	last := i+1 == len(c.Starts)
	switch {
	case !last:
		s.step("It must say Leader: %d, Isr: %d%s. Only then go on.", x.Broker, x.Broker, inPartitions(x))
	case len(x.Unclean) > 0:
		s.step("It must say Leader: %d, Isr: %d%s. Only then start the others: each truncates its log as told below.", x.Broker, x.Broker, inPartitions(x))
	}
}

// mayElectItself reports whether the topic's setting stays true through the plan.
func (t *Leaders) mayElectItself(c *incident.Course, p incident.ElectedPartition) bool {
	return t.uncleanTopics[p.Topic] && !slices.ContainsFunc(c.Unset, func(u incident.UncleanTopic) bool { return u.Topic == p.Topic })
}

func inPartitions(x incident.BrokerElections) string {
	if len(x.Automatic)+len(x.Unclean) == 1 {
		return ""
	}
	return " in all of these partitions"
}

func escaped(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = Escape(n)
	}
	return out
}

// unknownSteps is for partitions of which no metadata tell who may be elected.
func (t *Leaders) unknownSteps(s *steps) {
	u := &t.unknown
	var all []incident.ElectedPartition
	var wanted []string
	for _, w := range u.wanted {
		all = append(all, w.partitions...)
		wanted = append(wanted, fmt.Sprintf("broker %s for %s", w.broker, some(escaped(namesOf(w.partitions)))))
	}
	s.step("Ask the cluster first. Wanted is %s: where that is the Leader already, nothing is to be done.", list(wanted))
	s.run(describeCommand(all, u.version))
	t.before(s)
	if !u.version.Before(2, 4) {
		s.step("If %s is true for a topic, set it to false before anything is started: the controller would elect whichever replica is up first, by itself.", uncleanEnable)
	}
	for _, w := range u.wanted {
		alone := fmt.Sprintf("Keep every other replica of %s stopped and start broker %s alone. If it is in the ISR it leads at once, without a command.", some(escaped(namesOf(w.partitions))), w.broker)
		commands := uncleanCommands(w.partitions[:min(len(w.partitions), maxPlanPartitions)], u.version)
		switch {
		case u.version.Before(2, 1):
			// A change of the topic alone has no effect before the next election of a controller
			// (Kafka's notable changes in 2.1.0).
			s.step("If the describe says that broker %s is not in the ISR, set this now, before it is started: releases before 2.1 look at it only when a controller is elected.", w.broker)
			for _, topic := range topicsOf(w.partitions) {
				s.run(uncleanConfig(topic, u.version, true))
			}
			s.step("%s", alone)
			s.run(describeCommand(w.partitions, u.version))
			s.step("It must say Leader: %s. Then delete the setting, and only then start the others.", w.broker)
			for _, topic := range topicsOf(w.partitions) {
				s.run(uncleanConfig(topic, u.version, false))
			}
			continue
		case u.version.Before(2, 4):
			alone += " Otherwise set this; delete it (last line) when it is elected:"
		default:
			alone += " Otherwise:"
		}
		s.step("%s", alone)
		s.run(commands...)
		s.step("It must say Leader: %s. Only then start the others: each truncates its log as told below.", w.broker)
	}
}
