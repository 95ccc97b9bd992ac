package internaltopic

import (
	"cmp"

	"kafsck/internal/wire"
)

// OffsetCommit is a committed offset of a group, or its deletion.
type OffsetCommit struct {
	Group, Topic string // raw: any bytes
	Partition    int32
	Version      int16 // of the value, -1 deleted
	// Deleted: a tombstone. The fields below are then -1 or zero.
	Deleted bool
	// Offset is the next one that the group will read.
	Offset int64
	// LeaderEpoch is that of the last record that was read, at most Offset - 1; -1 unknown:
	// versions below 3 have none, and most clients send none.
	LeaderEpoch int32
	Metadata    string
	CommitMs    int64 // broker's clock, ms; of version 0 the same
	// ExpireMs is when the broker drops the commit, ms; -1: by offsets.retention.minutes.
	ExpireMs int64
	TopicID  wire.UUID // since version 4, not in transactional commits; zero unknown
}

// OffsetCommit is the record as a committed offset; ok is false if it is something else, or
// not decoded.
func (rec *Record) OffsetCommit() (c OffsetCommit, ok bool) {
	if rec.Err != nil || !rec.is(ConsumerOffsets, typeLegacyOffsetCommit, typeOffsetCommit) {
		return c, false
	}
	c = OffsetCommit{Group: rec.key.Text("group"), Topic: rec.key.Text("topic"), Partition: rec.key.Int32("partition"),
		Version: rec.Version, Deleted: rec.Tombstone, Offset: -1, LeaderEpoch: -1, CommitMs: -1, ExpireMs: -1}
	if rec.Tombstone {
		return c, true
	}
	v := &rec.value
	c.Offset, c.LeaderEpoch, c.Metadata = v.Int("offset"), v.Int32("leaderEpoch"), v.Text("metadata")
	c.CommitMs, c.ExpireMs, c.TopicID = v.Int("commitTimestamp"), v.Int("expireTimestamp"), v.UUID("topicId")
	return c, true
}

// GroupID is the group that a record of __consumer_offsets or __share_group_state is
// about; "" if the key is not decoded.
func (rec *Record) GroupID() string {
	if !rec.KeyDecoded || rec.Topic != ConsumerOffsets && rec.Topic != ShareGroupState {
		return ""
	}
	for _, name := range []string{"groupId", "group"} {
		if rec.key.Names(name) {
			return rec.key.Text(name)
		}
	}
	return ""
}

// PartitionFor is the partition of a coordinator's topic with n partitions in which all
// records of a group or transactional id stand (GroupMetadataManager.partitionFor,
// TransactionStateManager.partitionFor): the hash of Java's String.hashCode, its absolute
// value as Utils.abs takes it, modulo n. n must be above 0.
func PartitionFor(id string, n int32) int32 {
	var hash int32
	for _, r := range id {
		if r > 0xffff { // two UTF-16 code units
			r -= 0x10000
			hash = 31*hash + 0xd800 + r>>10
			r = 0xdc00 + r&0x3ff
		}
		hash = 31*hash + r
	}
	if hash == -1<<31 {
		return 0
	}
	return max(hash, -hash) % cmp.Or(n, 1)
}
