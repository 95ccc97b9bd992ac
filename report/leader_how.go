package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"kafsck/broker"
	"kafsck/incident"
)

const (
	bootstrap  = "HOST:9092"
	controller = "HOST:9093"
	zookeeper  = "ZOOKEEPER:2181"

	uncleanEnable = "unclean.leader.election.enable"
)

// electionCommands are the commands that make a partition's recommended replica its leader,
// when the right brokers are up. They are complete, but for the host.
func electionCommands(x *incident.Partition) []string {
	l := x.Leadership
	me := []incident.ElectedPartition{{Name: x.Name, Topic: x.Topic, Number: x.Number}}
	switch l.Election() {
	case incident.Preferred:
		return preferredCommands([]preferredElection{preferredOf(x)}, l.Version)
	case incident.Unclean:
		return uncleanCommands(me, l.Version)
	}
	return []string{}
}

// describeCommand shows who leads; of many topics, of all. kafka-topics.sh speaks to brokers
// since 2.2 (KIP-377).
func describeCommand(list []incident.ElectedPartition, v broker.Version) string {
	words := []string{"kafka-topics.sh", "--bootstrap-server", bootstrap, "--describe"}
	if v.Before(2, 2) {
		words = []string{"kafka-topics.sh", "--zookeeper", zookeeper, "--describe"}
	}
	if topics := topicsOf(list); len(topics) == 1 {
		words = append(words, "--topic", topics[0])
	}
	return Command(words...)
}

func topicsOf(list []incident.ElectedPartition) (out []string) {
	for _, p := range list {
		if !slices.Contains(out, p.Topic) {
			out = append(out, p.Topic)
		}
	}
	return out
}

// electCommands is one election, of one partition or of a list in a file.
func electCommands(kind, file string, list []incident.ElectedPartition) []string {
	tool := []string{"kafka-leader-election.sh", "--bootstrap-server", bootstrap, "--election-type", kind}
	if len(list) == 1 {
		return []string{Command(append(tool, "--topic", list[0].Topic, "--partition", fmt.Sprint(list[0].Number))...)}
	}
	var words []string
	for _, p := range list {
		words = append(words, fmt.Sprintf(`{"topic":%s,"partition":%d}`, quoted(p.Topic), p.Number))
	}
	return []string{"echo " + ShellWord(`{"partitions":[`+strings.Join(words, ",")+`]}`) + " > " + file, Command(append(tool, "--path-to-json-file", file)...)}
}

func quoted(topic string) string {
	b, err := json.Marshal(topic)
	if err != nil {
		panic(err) // a string always is
	}
	return string(b)
}

// uncleanCommands elect what is alive. kafka-leader-election.sh is of 2.4 (KIP-460); before
// that the configuration of the topic makes the controller do it.
func uncleanCommands(list []incident.ElectedPartition, v broker.Version) (out []string) {
	if !v.Before(2, 4) {
		return append(electCommands("unclean", "elect.json", list), describeCommand(list, v))
	}
	for _, topic := range topicsOf(list) {
		out = append(out, uncleanConfig(topic, v, true))
	}
	out = append(out, describeCommand(list, v))
	for _, topic := range topicsOf(list) {
		out = append(out, uncleanConfig(topic, v, false))
	}
	return out
}

// uncleanConfig sets or deletes the topic's configuration, through ZooKeeper.
func uncleanConfig(topic string, v broker.Version, set bool) string {
	words := []string{"kafka-configs.sh", "--zookeeper", zookeeper, "--entity-type", "topics", "--entity-name", topic, "--alter"}
	if set {
		return Command(append(words, "--add-config", uncleanEnable+"=true")...)
	}
	return Command(append(words, "--delete-config", uncleanEnable)...)
}

// configCommand alters a topic's configuration since 2.5.
func configCommand(topic string, change ...string) string {
	return Command(append([]string{"kafka-configs.sh", "--bootstrap-server", bootstrap, "--alter", "--entity-type", "topics", "--entity-name", topic}, change...)...)
}

// preferredElection is a partition that another replica of the ISR is to lead.
type preferredElection struct {
	incident.ElectedPartition
	wanted, leader int32
	// order is the assignment with the wanted one first, nil if it is that already.
	order []int32
}

func preferredOf(x *incident.Partition) preferredElection {
	l := x.Leadership
	p := preferredElection{ElectedPartition: incident.ElectedPartition{Name: x.Name, Topic: x.Topic, Number: x.Number}, wanted: l.Recommended().Copy.Broker.ID, leader: l.Leader}
	if len(l.Replicas) > 0 && l.Replicas[0] != p.wanted {
		p.order = append([]int32{p.wanted}, idsWithout(l.Replicas, p.wanted)...)
	}
	return p
}

// preferredCommands elect the first of the assignment, and put the wanted replica there first.
func preferredCommands(list []preferredElection, v broker.Version) (out []string) {
	var orders []string
	var all []incident.ElectedPartition
	for _, p := range list {
		all = append(all, p.ElectedPartition)
		if p.order != nil {
			orders = append(orders, fmt.Sprintf(`{"topic":%s,"partition":%d,"replicas":[%s]}`, quoted(p.Topic), p.Number, joinIDs(p.order, ",")))
		}
	}
	if len(orders) > 0 {
		plan := `{"version":1,"partitions":[` + strings.Join(orders, ",") + `]}`
		out = append(out, "echo "+ShellWord(plan)+" > first.json", Command("kafka-reassign-partitions.sh", "--bootstrap-server", bootstrap, "--reassignment-json-file", "first.json", "--execute"))
	}
	return append(append(out, electCommands("preferred", "preferred.json", all)...), describeCommand(all, v))
}

func idsWithout(list []int32, id int32) []int32 {
	return slices.DeleteFunc(slices.Clone(list), func(x int32) bool { return x == id })
}

func joinIDs(list []int32, sep string) string {
	words := make([]string, len(list))
	for i, x := range list {
		words[i] = fmt.Sprint(x)
	}
	return strings.Join(words, sep)
}
