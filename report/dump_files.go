package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"kafsck/checkpoint"
)

// Text files of a broker as tables.

func (t *dumpText) Epochs(f *checkpoint.EpochFile) {
	t.version(f.Version, len(f.Entries), f.Malformed)
	rows := table{header: []string{">epoch", ">start offset"}}
	for _, e := range f.Entries {
		rows.add(strconv.Itoa(int(e.Epoch)), strconv.FormatInt(e.StartOffset, 10))
	}
	t.table(&rows)
	t.refused("leader-epoch-checkpoint", f.Malformed)
}

// offsetMeaning is the heading of the last column.
var offsetMeaning = map[string]string{
	"replication-offset-checkpoint":    "high watermark",
	"recovery-point-offset-checkpoint": "recovery point",
	"log-start-offset-checkpoint":      "log start offset",
	"cleaner-offset-checkpoint":        "first dirty offset",
}

func (t *dumpText) Offsets(kind string, f *checkpoint.OffsetFile) {
	t.version(f.Version, len(f.Entries), f.Malformed)
	meaning := offsetMeaning[kind]
	if meaning == "" {
		meaning = "offset"
	}
	rows := table{header: []string{"topic", ">partition", ">" + meaning}}
	for _, e := range f.Entries {
		rows.add(valueBare.Show([]byte(e.Topic), t.limit(maxShownValue)), strconv.Itoa(int(e.Partition)), strconv.FormatInt(e.Offset, 10))
	}
	t.table(&rows)
	t.refused(kind, f.Malformed)
}

func (t *dumpText) version(version, entries int, m *checkpoint.Malformed) {
	says := count(entries, "entry", "entries")
	if !unversioned(version, m) {
		says = fmt.Sprintf("version %d, %s", version, says)
	}
	t.line("  " + says)
}

// unversioned tells a file whose first line is not even a version.
func unversioned(version int, m *checkpoint.Malformed) bool {
	return version == 0 && m != nil && m.Line <= 1
}

func (t *dumpText) table(rows *table) {
	if len(rows.rows) == 0 {
		return
	}
	for _, line := range rows.lines("  ") {
		t.line(line)
	}
}

// pairs prints names and values in two columns.
func (t *dumpText) pairs(list ...[2]string) {
	rows := table{header: []string{"", ""}}
	for _, p := range list {
		rows.add(p[0], p[1])
	}
	t.table(&rows)
}

func (t *dumpText) refused(kind string, m *checkpoint.Malformed) {
	r := refused(kind, m, t.ignored)
	if r == nil {
		return
	}
	t.linef("  MALFORMED: line %d: %s", r.Line, Escape(r.Reason))
	if r.Text != "" {
		t.linef("    the line reads %q", r.Text)
	}
	t.linef("    Kafka refuses the file: %s", r.consequence)
}

func (t *dumpText) PartitionMetadata(f *checkpoint.PartitionMetadata) {
	var list [][2]string
	if !unversioned(f.Version, f.Malformed) {
		list = append(list, [2]string{"version", strconv.Itoa(f.Version)})
	}
	if !f.TopicID.IsZero() {
		list = append(list, [2]string{"topic id", f.TopicID.String()})
	}
	t.pairs(list...)
	t.refused("partition.metadata", f.Malformed)
}

func (t *dumpText) MetaProperties(f *checkpoint.MetaProperties) {
	var list [][2]string
	for _, key := range slices.Sorted(maps.Keys(f.Properties)) {
		list = append(list, [2]string{
			valueBare.Show([]byte(key), t.limit(maxShownKey)), valueBare.Show([]byte(f.Properties[key]), t.limit(maxShownValue)),
		})
	}
	if len(list) == 0 {
		t.line("  no properties")
	}
	t.pairs(list...)
	if f.Malformed == nil && !f.HasNodeID {
		t.line("  no node.id or broker.id: a broker does not start with this file")
	}
	t.refused("meta.properties", f.Malformed)
}

func (t *dumpText) QuorumState(f *checkpoint.QuorumState) {
	var list [][2]string
	for _, x := range []struct{ key, name, value string }{
		{"data_version", "version", strconv.Itoa(int(f.Version))},
		{"leaderId", "leader", idOr(f.LeaderID, "unknown")},
		{"leaderEpoch", "raft epoch", strconv.Itoa(int(f.LeaderEpoch))},
		{"votedId", "voted for", idOr(f.VotedID, "nobody")},
	} {
		if f.Known[x.key] {
			list = append(list, [2]string{x.name, x.value})
		}
	}
	if f.ClusterID != "" {
		list = append(list, [2]string{"cluster id", valueBare.Show([]byte(f.ClusterID), t.limit(maxShownValue))})
	}
	if !f.VotedDirectoryID.IsZero() {
		list = append(list, [2]string{"voted directory", f.VotedDirectoryID.String()})
	}
	if f.Known["appliedOffset"] {
		list = append(list, [2]string{"applied offset", strconv.FormatInt(f.AppliedOffset, 10)})
	}
	if f.Known["currentVoters"] {
		ids := ""
		for i, v := range f.Voters {
			if i == 100 && !t.opt.Full {
				ids += fmt.Sprintf(", … (%d)", len(f.Voters))
				break
			}
			if i > 0 {
				ids += ", "
			}
			ids += strconv.Itoa(int(v))
		}
		list = append(list, [2]string{"voters", "[" + ids + "]"})
	}
	t.pairs(list...)
	t.refused("quorum-state", f.Malformed)
}

func idOr(id int32, none string) string {
	if id == -1 {
		return none
	}
	return strconv.Itoa(int(id))
}

func (t *dumpText) CleanShutdown(f *checkpoint.CleanShutdown) {
	t.line("  that this file exists is what says: the log directory was shut down cleanly")
	switch {
	case f.HasBrokerEpoch:
		t.linef("  broker epoch %d", f.BrokerEpoch)
	default:
		t.line("  no broker epoch: empty before Kafka 3.7, and what Kafka cannot parse counts as none")
	}
}

func (t *dumpText) Other(_, says string) {
	for _, line := range indented("  ", says) {
		t.line(line)
	}
}
