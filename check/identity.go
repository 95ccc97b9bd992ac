package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kafsck/finding"
	"kafsck/internal/wire"
	"kafsck/logdir"
)

// identified yields the log directories whose meta.properties could be read and parsed.
func identified(c *logdir.Case) []*logdir.LogDir {
	var out []*logdir.LogDir
	for _, b := range c.Brokers {
		for _, d := range b.Dirs {
			if d.Meta != nil && d.Meta.Malformed == nil {
				out = append(out, d)
			}
		}
	}
	return out
}

// nodeIDs finds disks of one broker that name different nodes (MetaPropertiesEnsemble.verify). Two
// ids mean two brokers, so that something must say that the directories are one broker's: they lie
// in one folder, their own names only name disks, and the folder is a broker's by its name, or the
// one has the metadata log that the other, alone, would lack.
func nodeIDs(c *logdir.Case) []finding.Finding {
	folders := map[string][]*logdir.LogDir{}
	numbered := map[string]bool{}
	withLog := map[int32]bool{} // nodes that have a metadata log somewhere
	for _, d := range identified(c) {
		if d.Metadata != nil {
			withLog[d.Meta.NodeID] = true
		}
		if folder, n, ok := d.Disk(); ok && d.Meta.HasNodeID {
			folders[folder] = append(folders[folder], d)
			numbered[folder] = n
		}
	}
	var out []finding.Finding
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		list := folders[folder]
		of := map[int32]int{}
		kraft, lack := false, false
		for _, d := range list {
			of[d.Meta.NodeID]++
			kraft = kraft || d.Meta.Version >= 1 && d.Metadata != nil
			lack = lack || d.Meta.Version >= 1 && !withLog[d.Meta.NodeID]
		}
		if len(of) < 2 || !numbered[folder] && !(kraft && lack) {
			continue
		}
		// The odd one is the rarer one, and of equals the one without the metadata log.
		slices.SortStableFunc(list, func(a, b *logdir.LogDir) int {
			return cmp.Or(cmp.Compare(of[a.Meta.NodeID], of[b.Meta.NodeID]), compareBool(a.Metadata != nil, b.Metadata != nil))
		})
		odd := list[0]
		f := raise("node-id-mismatch", damage, Subject{Broker: odd.Broker.String()}.At(odd.MetaFile.Path), fmt.Sprintf("log directories in one broker's folder name %d different nodes", len(of)))
		for _, d := range list[:min(len(list), maxExamples)] {
			f.Evidence = append(f.Evidence, says("%s: node id %d, cluster.id %s, %s", d.MetaFile.Path, d.Meta.NodeID, cmp.Or(d.Meta.ClusterID, "(none)"), count(len(d.Partitions), "partition directory", "partition directories")))
		}
		out = append(out, f)
	}
	return out
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// directoryIDs judges directory.id: reserved ones, one id on several directories, and directories
// without one beside others (MetaPropertiesEnsemble.verify, KafkaRaftServer.initializeLogDirs;
// between nodes ClusterControlManager.registerBroker). Two directories of one node with one id are
// most often two copies of one disk; only where they lie side by side as disks do is it said.
func directoryIDs(c *logdir.Case) []finding.Finding {
	var out []finding.Finding
	byID := map[string][]*logdir.LogDir{}
	for _, d := range identified(c) {
		id := strings.TrimRight(d.Meta.DirectoryID, "=")
		if id == "" {
			continue
		}
		if u, err := wire.ParseUUID(id); err == nil && reservedDirectory(u) {
			out = append(out, raise("directory-id", damage, Subject{Broker: d.Broker.String()}.At(d.MetaFile.Path), fmt.Sprintf("directory.id %s is one of those that Kafka keeps for itself", id),
				finding.Evidence{Claim: d.MetaFile.Path, Want: "a random id", Got: id}))
			continue
		}
		byID[id] = append(byID[id], d)
	}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		if f := sharedDirectoryID(id, byID[id]); f != nil {
			out = append(out, *f)
		}
	}
	for _, b := range c.Brokers {
		out = append(out, missingDirectoryID(b)...)
	}
	return out
}

func sharedDirectoryID(id string, list []*logdir.LogDir) *finding.Finding {
	last := list[len(list)-1]
	severity, summary, kafka := warning, "", ""
	for _, d := range list[:len(list)-1] {
		a, _, disk := d.Disk()
		b, _, alsoDisk := last.Disk()
		switch {
		case d.Broker == last.Broker:
			severity, summary = damage, fmt.Sprintf("%s of broker %s have one directory.id", count(len(list), "directory", "directories"), d.Broker)
		case d.Meta.HasNodeID && last.Meta.HasNodeID && d.Meta.NodeID != last.Meta.NodeID && d.Meta.ClusterID == last.Meta.ClusterID:
			severity, summary = damage, fmt.Sprintf("log directories of %s have one directory.id", count(len(nodesOf(list)), "node", "different nodes"))
			kafka = "The controller refuses to register a broker with a directory that another broker has registered (InvalidRegistrationException)."
		case disk && alsoDisk && a == b && summary == "":
			summary = fmt.Sprintf("two directories that look like disks of broker %s have one directory.id: a disk that was cloned, or two copies of one disk", d.Broker)
		default:
			continue
		}
	}
	if summary == "" {
		return nil
	}
	f := raise("directory-id", severity, Subject{Broker: last.Broker.String()}.At(last.MetaFile.Path), summary)
	f.Count, f.Kafka = len(list), kafka
	for _, d := range list[:min(len(list), maxExamples)] {
		f.Evidence = append(f.Evidence, says("%s: node id %d, directory.id %s", d.MetaFile.Path, d.Meta.NodeID, id))
	}
	return &f
}

func nodesOf(list []*logdir.LogDir) map[int32]bool {
	out := map[int32]bool{}
	for _, d := range list {
		out[d.Meta.NodeID] = true
	}
	return out
}

// missingDirectoryID: 3.7 and later write one at the start. Without any the release is older.
func missingDirectoryID(b *logdir.Broker) []finding.Finding {
	var with, without []*logdir.LogDir
	for _, d := range b.Dirs {
		switch {
		case d.Meta == nil || d.Meta.Malformed != nil:
		case d.Meta.DirectoryID == "":
			without = append(without, d)
		default:
			with = append(with, d)
		}
	}
	if len(with) == 0 || len(without) == 0 {
		return nil
	}
	f := raise("directory-id", note, Subject{Broker: b.String()}.At(without[0].MetaFile.Path), count(len(without), "log directory has", "log directories have")+" no directory.id, others of the broker have one",
		says("%s: no directory.id; %s: %s", without[0].MetaFile.Path, with[0].MetaFile.Path, with[0].Meta.DirectoryID))
	f.Count = len(without)
	f.Kafka = "3.7 and later write a new one at the start."
	f.Next = "Nothing."
	return []finding.Finding{f}
}

// reservedDirectory: DirectoryId.reserved; MIGRATING, UNASSIGNED and LOST are among these.
func reservedDirectory(u wire.UUID) bool {
	for _, b := range u[:15] {
		if b != 0 {
			return false
		}
	}
	return u[15] < 100
}
