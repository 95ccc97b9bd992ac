package query

import (
	"kafsck/checkpoint"
	"kafsck/segment"
)

// The kinds of lines of index files, snapshots and the small text files.
var (
	IndexFile = newKind("index-file", "a .index, .timeindex or .txnindex; its entries follow", place("index-file"), []Field{
		str("kind", "index, timeindex, txnindex", func(l *Line) string { return l.IndexKind }),
		num("entries", "up to the last that is not zero", func(l *Line) int64 { return l.Index.Entries }),
		num("unusedEntries", "of zero bytes behind them", func(l *Line) int64 { return l.Index.ZeroEntries }),
		num("remainder", "bytes at the end that are no entry", func(l *Line) int64 { return l.Index.Remainder }),
	})

	IndexEntry = newKind("index-entry", "an entry of a .index", place("index-entry"), entry(segment.IndexEntrySize, func(l *Line) (int64, int64) { return l.Offset.Number, l.Offset.Pos() }), flaws, []Field{
		num("offset", "", func(l *Line) int64 { return l.Offset.Offset }),
		num("logPosition", "position of a batch in the .log", func(l *Line) int64 { return l.Offset.Position }),
		num("relativeOffset", "as written", func(l *Line) int64 { return int64(l.Offset.Relative) }),
	})

	TimeEntry = newKind("time-index-entry", "an entry of a .timeindex", place("time-index-entry"), entry(segment.TimeEntrySize, func(l *Line) (int64, int64) { return l.Time.Number, l.Time.Pos() }), flaws, timeEntryTime, []Field{
		alias("time", "timestamp", timeEntryTime),
		num("offset", "", func(l *Line) int64 { return l.Time.Offset }),
		num("relativeOffset", "as written", func(l *Line) int64 { return int64(l.Time.Relative) }),
	})

	ZeroEntries = newKind("zero-entries", "entries of zero bytes with others behind them", place("zero-entries"), []Field{
		num("entry", "0-based, in the file", func(l *Line) int64 { return l.Zeros.Number }),
		num("position", "in its own file", func(l *Line) int64 { return l.Zeros.Number * l.Zeros.Width }),
		num("length", "bytes", func(l *Line) int64 { return l.Zeros.Count * l.Zeros.Width }),
		num("entries", "how many", func(l *Line) int64 { return l.Zeros.Count }),
	})

	AbortedTxn = newKind("aborted-transaction", "an entry of a .txnindex", place("aborted-transaction"), entry(segment.TxnEntrySize, func(l *Line) (int64, int64) { return l.Aborted.Number, l.Aborted.Pos() }), []Field{
		num("version", "0", func(l *Line) int64 { return int64(l.Aborted.Version) }),
		num("producerId", "", func(l *Line) int64 { return l.Aborted.ProducerID }),
		num("firstOffset", "of its first record", func(l *Line) int64 { return l.Aborted.FirstOffset }),
		num("lastOffset", "of the ABORT marker", func(l *Line) int64 { return l.Aborted.LastOffset }),
		num("lastStableOffset", "", func(l *Line) int64 { return l.Aborted.LastStableOffset }),
		boolean("refused", "Kafka does not read this version", func(l *Line) bool { return l.Aborted.Refused() }),
	})

	Snapshot = newKind("producer-snapshot", "a .snapshot; its producers follow", place("producer-snapshot"), []Field{
		numMaybe("offset", "the end of what it covers", func(l *Line) (int64, bool) { return l.SnapshotAt, l.SnapshotAt >= 0 }),
		num("version", "1", func(l *Line) int64 { return int64(l.Snapshot.Version) }),
		str("crc", "as stored, \"0x…\"", func(l *Line) string { return hex32(l.Snapshot.StoredCRC) }),
		strMaybe("computedCrc", "where it is another one", func(l *Line) string {
			if p := l.Snapshot.Problem; p == nil || p.Kind != "crc" {
				return ""
			}
			return hex32(l.Snapshot.ComputedCRC)
		}),
		num("producers", "as written", func(l *Line) int64 { return int64(l.Snapshot.Count) }),
		num("trailingBytes", "behind them", func(l *Line) int64 { return l.Snapshot.TrailingBytes }),
		boolean("leftBehind", "sound without the trailing bytes", func(l *Line) bool {
			s := l.Snapshot
			return s.Problem != nil && s.Problem.Kind == "crc" && s.TrailingBytes > 0 && s.CRCWithoutTrailing == s.StoredCRC
		}),
		strMaybe("malformed", "why Kafka deletes it: short, version, crc, count; too large: a limit of kafsck", func(l *Line) string {
			if l.Snapshot.Problem == nil {
				return ""
			}
			return l.Snapshot.Problem.Kind
		}),
	})

	Producer = newKind("producer", "a producer of a .snapshot", place("producer"), entry(segment.SnapshotEntrySize, func(l *Line) (int64, int64) { return l.Number, segment.ProducerPos(int(l.Number)) }), producerTime, []Field{
		alias("time", "timestamp", producerTime),
		num("producerId", "", func(l *Line) int64 { return l.Producer.ProducerID }),
		num("producerEpoch", "", func(l *Line) int64 { return int64(l.Producer.ProducerEpoch) }),
		numMaybe("firstOffset", "of its last batch", func(l *Line) (int64, bool) { return l.Producer.FirstOffset(), l.Producer.HasBatch() }),
		numMaybe("lastOffset", "of its last batch", func(l *Line) (int64, bool) { return l.Producer.LastOffset, l.Producer.HasBatch() }),
		num("offsetDelta", "last - first offset", func(l *Line) int64 { return int64(l.Producer.OffsetDelta) }),
		num("firstSequence", "-1 none", func(l *Line) int64 { return int64(l.Producer.FirstSequence()) }),
		num("lastSequence", "-1 none", func(l *Line) int64 { return int64(l.Producer.LastSequence) }),
		num("coordinatorEpoch", "of its last marker; -1 none", func(l *Line) int64 { return int64(l.Producer.CoordinatorEpoch) }),
		numMaybe("openFrom", "first offset of its open transaction", func(l *Line) (int64, bool) {
			return l.Producer.CurrentTxnFirstOffset, l.Producer.CurrentTxnFirstOffset >= 0
		}),
	})

	EpochFile = newKind("epoch-checkpoint", "leader-epoch-checkpoint", place("epoch-checkpoint"), []Field{
		num("version", "", func(l *Line) int64 { return int64(l.Epochs.Version) }),
		num("entries", "how many", func(l *Line) int64 { return int64(len(l.Epochs.Entries)) }),
		malformed(func(l *Line) *checkpoint.Malformed { return l.Epochs.Malformed }),
	})

	OffsetFile = newKind("offset-checkpoint", "one of the four *-offset-checkpoint", place("offset-checkpoint"), []Field{
		str("name", "of the file", func(l *Line) string { return l.Name }),
		num("version", "", func(l *Line) int64 { return int64(l.Offsets.Version) }),
		num("entries", "how many", func(l *Line) int64 { return int64(len(l.Offsets.Entries)) }),
		malformed(func(l *Line) *checkpoint.Malformed { return l.Offsets.Malformed }),
	})

	PartitionFile = newKind("partition-metadata", "partition.metadata", place("partition-metadata"), []Field{
		num("version", "", func(l *Line) int64 { return int64(l.Partition.Version) }),
		strMaybe("id", "topic id", func(l *Line) string {
			if l.Partition.TopicID.IsZero() {
				return ""
			}
			return l.Partition.TopicID.String()
		}),
		malformed(func(l *Line) *checkpoint.Malformed { return l.Partition.Malformed }),
	})

	PropertiesFile = newKind("meta-properties", "meta.properties", place("meta-properties"), []Field{
		num("version", "", func(l *Line) int64 { return int64(l.Properties.Version) }),
		numMaybe("nodeId", "", func(l *Line) (int64, bool) { return int64(l.Properties.NodeID), l.Properties.HasNodeID }),
		strMaybe("clusterId", "", func(l *Line) string { return l.Properties.ClusterID }),
		strMaybe("directoryId", "", func(l *Line) string { return l.Properties.DirectoryID }),
		{Name: "properties", Type: Number, Doc: "how many; properties[\"node.id\"] is one, as text",
			get: func(l *Line) value { return number(int64(len(l.Properties.Properties))) },
			keyed: func(l *Line, key string) value {
				s, ok := l.Properties.Properties[key]
				return value{s: s, ok: ok}
			}},
		malformed(func(l *Line) *checkpoint.Malformed { return l.Properties.Malformed }),
	})

	QuorumFile = newKind("quorum-state", "quorum-state", place("quorum-state"), []Field{
		num("version", "0 or 1", func(l *Line) int64 { return int64(l.Quorum.Version) }),
		strMaybe("clusterId", "", func(l *Line) string { return l.Quorum.ClusterID }),
		num("leaderId", "-1 unknown", func(l *Line) int64 { return int64(l.Quorum.LeaderID) }),
		num("leaderEpoch", "raft epoch", func(l *Line) int64 { return int64(l.Quorum.LeaderEpoch) }),
		renamed("leaderEpoch", num("epoch", "the same as leaderEpoch", func(l *Line) int64 { return int64(l.Quorum.LeaderEpoch) })),
		num("votedId", "-1 nobody", func(l *Line) int64 { return int64(l.Quorum.VotedID) }),
		strMaybe("votedDirectoryId", "", func(l *Line) string {
			if l.Quorum.VotedDirectoryID.IsZero() {
				return ""
			}
			return l.Quorum.VotedDirectoryID.String()
		}),
		num("appliedOffset", "", func(l *Line) int64 { return l.Quorum.AppliedOffset }),
		numMaybe("voters", "how many; nil in version 1", func(l *Line) (int64, bool) { return int64(len(l.Quorum.Voters)), l.Quorum.Voters != nil }),
		malformed(func(l *Line) *checkpoint.Malformed { return l.Quorum.Malformed }),
	})

	ShutdownFile = newKind("clean-shutdown", ".kafka_cleanshutdown", place("clean-shutdown"), []Field{
		numMaybe("brokerEpoch", "", func(l *Line) (int64, bool) { return l.Shutdown.BrokerEpoch, l.Shutdown.HasBrokerEpoch }),
	})

	OtherFile = newKind("other-file", "a file that is known and not decoded", place("other-file"), []Field{
		str("name", "of the file", func(l *Line) string { return l.Name }),
		str("says", "prose", func(l *Line) string { return l.Why }),
	})
)

// entry is where an entry stands in its file.
func entry(width int64, at func(l *Line) (number, pos int64)) []Field {
	return []Field{
		num("entry", "0-based, in the file", func(l *Line) int64 { n, _ := at(l); return n }),
		num("position", "in its own file", func(l *Line) int64 { _, pos := at(l); return pos }),
		num("length", "bytes", func(*Line) int64 { return width }),
	}
}

var flaws = []Field{
	boolean("outOfOrder", "not above the entry before it", func(l *Line) bool { return l.OutOfOrder }),
	strMaybe("damage", "prose; nil: none", func(l *Line) string { return l.Damage }),
}

var (
	timeEntryTime = when("timestamp", "", func(l *Line) int64 { return l.Time.Timestamp })
	producerTime  = when("timestamp", "of its last batch or marker", func(l *Line) int64 { return l.Producer.Timestamp })
)

func malformed(of func(l *Line) *checkpoint.Malformed) Field {
	return strMaybe("malformed", "prose: why Kafka refuses the file", func(l *Line) string {
		if m := of(l); m != nil {
			return m.Reason
		}
		return ""
	})
}

// DumpKinds are all kinds of lines that dump prints, in the order of docs/json.md.
var DumpKinds = []*Kind{
	Batch, Record, LegacyRecord, Message, Embedded, Stretch,
	IndexFile, IndexEntry, TimeEntry, ZeroEntries, AbortedTxn, Snapshot, Producer,
	EpochFile, OffsetFile, PartitionFile, PropertiesFile, QuorumFile, ShutdownFile, OtherFile,
}
