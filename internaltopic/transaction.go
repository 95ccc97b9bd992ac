package internaltopic

import "strconv"

// TransactionStatus is the state of a transactional id as written
// (org.apache.kafka.coordinator.transaction.TransactionState).
type TransactionStatus int8

// The states. Dead and PrepareEpochFence are never written in normal operation.
const (
	TransactionEmpty TransactionStatus = iota
	TransactionOngoing
	TransactionPrepareCommit
	TransactionPrepareAbort
	TransactionCompleteCommit
	TransactionCompleteAbort
	TransactionDead
	TransactionPrepareEpochFence
)

var transactionStates = [...]string{"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence"}

// String is Kafka's name, or UNKNOWN(n).
func (s TransactionStatus) String() string {
	if s < 0 || int(s) >= len(transactionStates) {
		return "UNKNOWN(" + strconv.Itoa(int(s)) + ")"
	}
	return transactionStates[s]
}

// TopicPartitions are partitions of one topic.
type TopicPartitions struct {
	Topic      string
	Partitions []int32
}

// Transaction is the state of a transactional id from one record on.
type Transaction struct {
	TransactionalID string // raw
	Version         int16  // of the value; -1 deleted
	// Deleted: a tombstone, written when the id expired. The fields below are then zero.
	Deleted    bool
	ProducerID int64
	// PreviousProducerID and NextProducerID are -1 where none is written, and in version 0.
	PreviousProducerID, NextProducerID int64
	ProducerEpoch, NextProducerEpoch   int16 // NextProducerEpoch -1 none
	TimeoutMs                          int32
	Status                             TransactionStatus
	// Partitions are those of the transaction that goes on or is being completed; none
	// when it is complete.
	Partitions []TopicPartitions
	UpdateMs   int64 // of this state, coordinator's clock
	StartMs    int64 // of the transaction, -1 none
	// ClientVersion is the transaction protocol of the client: 0 or 1, and 2 since KIP-890.
	ClientVersion int16
}

// Transaction is the record as the state of a transactional id; ok is false if it is
// something else, or not decoded.
func (rec *Record) Transaction() (t Transaction, ok bool) {
	if rec.Err != nil || !rec.is(TransactionState, 0) {
		return t, false
	}
	t = Transaction{TransactionalID: rec.key.Text("transactionalId"), Version: rec.Version, Deleted: rec.Tombstone}
	if rec.Tombstone {
		return t, true
	}
	v := &rec.value
	t.ProducerID, t.PreviousProducerID, t.NextProducerID = v.Int("producerId"), v.Int("previousProducerId"), v.Int("nextProducerId")
	t.ProducerEpoch, t.NextProducerEpoch = int16(v.Int("producerEpoch")), int16(v.Int("nextProducerEpoch"))
	t.TimeoutMs, t.Status = v.Int32("transactionTimeoutMs"), TransactionStatus(v.Int("transactionStatus"))
	t.UpdateMs, t.StartMs = v.Int("transactionLastUpdateTimestampMs"), v.Int("transactionStartTimestampMs")
	t.ClientVersion = int16(v.Int("clientTransactionVersion"))
	for _, p := range v.Structs("transactionPartitions") {
		t.Partitions = append(t.Partitions, TopicPartitions{p.Text("topic"), p.Int32s("partitionIds")})
	}
	return t, true
}
