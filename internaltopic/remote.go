package internaltopic

import (
	"fmt"
	"strconv"
	"strings"

	"kafsck/internal/schema"
	"kafsck/internal/wire"
)

// RemoteState is the state of a copy in the remote tier as written
// (org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState).
type RemoteState int8

// The states of a segment. Those of a partition's deletion are marked (0), started (1) and
// finished (2): RemotePartitionDeleteState.
const (
	RemoteCopyStarted RemoteState = iota
	RemoteCopyFinished
	RemoteDeleteStarted
	RemoteDeleteFinished
)

var remoteStates = [...]string{"COPY_SEGMENT_STARTED", "COPY_SEGMENT_FINISHED", "DELETE_SEGMENT_STARTED", "DELETE_SEGMENT_FINISHED"}

// String is Kafka's name, or UNKNOWN(n).
func (s RemoteState) String() string {
	if s < 0 || int(s) >= len(remoteStates) {
		return "UNKNOWN(" + strconv.Itoa(int(s)) + ")"
	}
	return remoteStates[s]
}

// EpochStart is the start of a leader epoch within a remote segment.
type EpochStart struct {
	Epoch int32
	Start int64 // offset
}

// RemoteEvent is a record of __remote_log_metadata: a segment's copy with all its facts, a
// new state of one, or a new state of the deletion of a partition's remote log.
type RemoteEvent struct {
	Topic     string
	TopicID   wire.UUID
	Partition int32
	SegmentID wire.UUID // zero if the event is about the partition
	// Segment: the facts are there, From to Epochs and TxnIndexEmpty. An update has none.
	Segment bool
	// PartitionDelete: the event is about the partition's deletion, and State one of
	// RemotePartitionDeleteState.
	PartitionDelete bool
	From, To        int64 // offsets [From, To); To is the endOffset as written + 1
	MaxTimestampMs  int64 // of its records
	SizeBytes       int32
	Epochs          []EpochStart // ascending
	TxnIndexEmpty   bool
	CustomMetadata  []byte // of the storage plugin; nil none
	BrokerID        int32  // that wrote the event
	EventMs         int64
	State           RemoteState
}

// RemoteEvent is the record as an event of a topic's remote log; ok is false if it is not
// decoded.
func (rec *Record) RemoteEvent() (e RemoteEvent, ok bool) {
	if rec.Err != nil || !rec.is(RemoteLogMetadata, apiRemoteSegment, apiRemoteSegmentUpdate, apiRemotePartitionDelete) {
		return e, false
	}
	v := &rec.value
	e.BrokerID, e.EventMs = v.Int32("brokerId"), v.Int("eventTimestampMs")
	partition := v
	if rec.Type != apiRemotePartitionDelete {
		id, _ := v.Struct("remoteLogSegmentId")
		e.SegmentID, partition = id.UUID("id"), &id
		e.State = RemoteState(v.Int("remoteLogSegmentState"))
		if !v.IsNull("customMetadata") {
			e.CustomMetadata = append([]byte{}, v.Bytes("customMetadata")...)
		}
	} else {
		e.PartitionDelete, e.State = true, RemoteState(v.Int("remotePartitionDeleteState"))
	}
	e.place(partition)
	if rec.Type == apiRemoteSegment {
		e.Segment = true
		e.From, e.MaxTimestampMs, e.SizeBytes = v.Int("startOffset"), v.Int("maxTimestampMs"), v.Int32("segmentSizeInBytes")
		if e.To = v.Int("endOffset"); e.To < 1<<63-1 {
			e.To++
		}
		e.TxnIndexEmpty = v.Bool("txnIndexEmpty")
		for _, s := range v.Structs("segmentLeaderEpochs") {
			e.Epochs = append(e.Epochs, EpochStart{s.Int32("leaderEpoch"), s.Int("offset")})
		}
	}
	return e, true
}

func (e *RemoteEvent) place(s *schema.Struct) {
	p, _ := s.Struct("topicIdPartition")
	e.Topic, e.TopicID, e.Partition = p.Text("name"), p.UUID("id"), p.Int32("partition")
}

var deleteStates = [...]string{"DELETE_PARTITION_MARKED", "DELETE_PARTITION_STARTED", "DELETE_PARTITION_FINISHED"}

// StateName is Kafka's name of the state, or UNKNOWN(n).
func (e *RemoteEvent) StateName() string {
	switch {
	case !e.PartitionDelete:
		return e.State.String()
	case e.State >= 0 && int(e.State) < len(deleteStates):
		return deleteStates[e.State]
	}
	return "UNKNOWN(" + strconv.Itoa(int(e.State)) + ")"
}

// String is the event as kafka-dump-log --remote-log-metadata-decoder shows it.
func (e *RemoteEvent) String() string {
	partition := fmt.Sprintf("%s:%s-%d", e.TopicID, e.Topic, e.Partition)
	if e.PartitionDelete {
		state := e.StateName()
		return fmt.Sprintf("RemotePartitionDeleteMetadata{topicPartition=%s, state=%s, eventTimestampMs=%d, brokerId=%d}", partition, state, e.EventMs, e.BrokerID)
	}
	id := fmt.Sprintf("RemoteLogSegmentId{topicIdPartition=%s, id=%s}", partition, e.SegmentID)
	custom := "Optional.empty"
	if e.CustomMetadata != nil {
		custom = fmt.Sprintf("Optional[CustomMetadata{%d bytes}]", len(e.CustomMetadata))
	}
	if !e.Segment {
		return fmt.Sprintf("RemoteLogSegmentMetadataUpdate{remoteLogSegmentId=%s, customMetadata=%s, state=%s, eventTimestampMs=%d, brokerId=%d}", id, custom, e.State, e.EventMs, e.BrokerID)
	}
	var epochs []string
	for _, s := range e.Epochs {
		epochs = append(epochs, fmt.Sprintf("%d=%d", s.Epoch, s.Start))
	}
	return fmt.Sprintf("RemoteLogSegmentMetadata{remoteLogSegmentId=%s, startOffset=%d, endOffset=%d, brokerId=%d, maxTimestampMs=%d, eventTimestampMs=%d, "+
		"segmentLeaderEpochs={%s}, segmentSizeInBytes=%d, customMetadata=%s, state=%s, txnIdxEmpty=%t}",
		id, e.From, e.To-1, e.BrokerID, e.MaxTimestampMs, e.EventMs, strings.Join(epochs, ", "), e.SizeBytes, custom, e.State, e.TxnIndexEmpty)
}
