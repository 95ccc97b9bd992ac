package broker

// BecomeLeader is the replica after it was made leader in an epoch: the epoch
// starts at its log end (UnifiedLog.assignEpochStartOffset, called by
// Partition.makeLeader). The high watermark stays what it was. A log of message
// format 0 or 1 keeps no epochs.
//
// Releases before 2.0 write the entry with the leader's first record
// (fixtures/kip279-silent-fork); until then a follower that asks for a newer epoch
// than the leader's last is told nothing and cuts at its high watermark.
func BecomeLeader(s State, epoch int32) State {
	if !s.Legacy && epoch >= 0 {
		s.Epochs = s.Epochs.Assign(epoch, s.LogEnd)
	}
	return s
}
