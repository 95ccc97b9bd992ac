package report

import (
	"fmt"
	"path"
	"slices"

	"kafsck/broker"
	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/repair"
)

// maxPlaced is for how many log directories of a result the steps are printed.
const maxPlaced = 2

// placing are the steps that put a salvaged log directory to use. Their order is what keeps the result:
// a replica that lacks it and is in the ISR or the ELR is elected as soon as its broker is up, and who
// follows it then cuts the salvaged log (PartitionChangeBuilder, KIP-966; kafka-format.md §6.10).
func placing(p *repair.Plan, dir string) []string {
	read := "ead the records out: "
	for i := range p.Roots {
		if r := &p.Roots[i]; r.New && len(placedIn(p, i)) > 0 {
			read += Command("kafsck", "export", path.Join(dir, r.Name), "--out", "records.jsonl")
			break
		}
	}
	if slices.ContainsFunc(p.Roots, func(r repair.Root) bool { return r.File }) {
		return []string{"R" + read} // of logs out of raw bytes nobody knows whether they are whole
	}
	var out []string
	placed := 0
	for i := range p.Roots {
		r := &p.Roots[i]
		list := placedIn(p, i)
		if !r.New || len(list) == 0 {
			continue
		}
		if r.Broker == nil && !slices.ContainsFunc(list, func(x incident.ElectedPartition) bool { return x.Topic != repair.CarvedTopic }) {
			out = append(out, indented("", "Of which partitions the logs in "+Escape(path.Join(dir, r.Name))+" are is not known: their names are made up, and they are for no broker.")...)
			continue
		}
		if placed++; placed > maxPlaced {
			out = append(out, "And so for the other log directories in "+Escape(dir)+".")
			break
		}
		at := path.Join(dir, r.Name)
		out = append(out, indented("", "To put "+Escape(at)+" in place (the next step only when the one before is done; docs/salvage.md says why):")...)
		var s steps
		placeSteps(&s, p, r, at, list)
		out = append(out, s.out...)
	}
	return append(out, "Or r"+read)
}

// placedIn are the partitions in one of the plan's roots.
func placedIn(p *repair.Plan, root int) []incident.ElectedPartition {
	if p.Salvaged == nil {
		return nil
	}
	var list []incident.ElectedPartition
	for i := range p.Salvaged.Partitions {
		x := &p.Salvaged.Partitions[i]
		if d, err := logdir.ParseDirName(x.Dir); x.Root == root && err == nil {
			list = append(list, incident.ElectedPartition{Name: x.Partition, Topic: d.Topic, Number: d.Partition})
		}
	}
	return list
}

func placeSteps(s *steps, p *repair.Plan, r *repair.Root, at string, list []incident.ElectedPartition) {
	id, who := "N", "the broker that is to lead (N)"
	if r.Broker != nil {
		id = fmt.Sprint(*r.Broker)
		who = "broker " + id
	}
	version, err := broker.ParseVersion(p.Kafka)
	if err != nil {
		version = broker.Latest
	}
	one := len(list) == 1
	pick := func(single, many string) string {
		if one {
			return single
		}
		return many
	}
	controllers := ""
	if !version.Before(2, 8) {
		controllers = " A majority of the controllers must be up: start as many of the stopped ones as that takes as controllers only (process.roles=controller, and the controller listener alone in listeners)."
	}
	s.step("Stop all brokers that have a replica of %s, and leave them stopped. A broker that is stopped is missing in its other partitions too.%s", pick("it", "these partitions"), controllers)
	s.step("On %s move the old %s out of the log directory, and keep %s. Copy %s from %s in, owned by the broker's user, with %s lines of the checkpoint files (docs/salvage.md).",
		who, pick("partition directory", "partition directories"), pick("it", "them"), pick("the new one", "the new ones"), Escape(at), pick("its", "their"))
	s.step("Start broker %s alone, and see who leads. If that is nobody, elect it, whoever is in the ISR or ELR:", id)
	shown := list[:min(len(list), maxPlanPartitions)]
	s.run(describeCommand(shown, version))
	s.run(uncleanCommands(shown, version)...)
	if rest := len(list) - len(shown); rest > 0 {
		s.out = append(s.out, fmt.Sprintf("       … and so for %s", count(rest, "more partition", "more partitions")))
	}
	s.step("It must say Leader: %s, Isr: %s%s. Only then go on: an emptied replica that is still in the ISR or ELR (KIP-966) is elected at once when its broker starts, and broker %s then cuts the salvaged log to nothing.",
		id, id, pick("", " in all of these partitions"), id)
	s.step("On the other brokers, one by one: move their %s aside as well. Where Elr still names the broker, delete .kafka_cleanshutdown from its log directories. Start it, and wait until it is in the ISR.", pick("directory of it", "directories of these partitions"))
}
