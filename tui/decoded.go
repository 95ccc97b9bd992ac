package tui

import (
	"encoding/json"

	"kafsck/batch"
	"kafsck/internaltopic"
)

// topicDecoded is a record of one of Kafka's own topics as dump --json has it under
// "decoded".
type topicDecoded struct {
	Kind      string          `json:"kind"`
	Type      *string         `json:"type"`
	TypeID    *int64          `json:"typeId"`
	Version   *int64          `json:"version"`
	Tombstone bool            `json:"tombstone"`
	State     *string         `json:"state"`
	Key       json.RawMessage `json:"key"`
	Value     json.RawMessage `json:"value"`
}

// topicKinds are the topics in the words of dump --as.
var topicKinds = map[internaltopic.Topic]string{
	internaltopic.ConsumerOffsets:   "consumer-offsets",
	internaltopic.TransactionState:  "transaction-state",
	internaltopic.ShareGroupState:   "share-group-state",
	internaltopic.RemoteLogMetadata: "remote-log-metadata",
}

// MarshalJSON writes every field, null where there is nothing.
func (d *topicDecoded) MarshalJSON() ([]byte, error) {
	type plain topicDecoded
	return json.Marshal((*plain)(d))
}

// topicRecord decodes a record of one of Kafka's own topics; nil in all other topics. why:
// it could not be decoded.
func (d *batchData) topicRecord(r *batch.Record) (out *topicDecoded, why error) {
	if d.log == nil || d.log.metadata {
		return nil, nil
	}
	topic, ok := internaltopic.TopicOf(d.log.part.Topic)
	if !ok {
		return nil, nil
	}
	rec := topic.Decode(r.Key, r.Value)
	text := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	number := func(n int64) *int64 {
		if n < 0 {
			return nil
		}
		return &n
	}
	return &topicDecoded{
		Kind: topicKinds[topic], Type: text(rec.Name), TypeID: number(int64(rec.Type)), Version: number(int64(rec.Version)), Tombstone: rec.Tombstone, State: text(rec.State()),
		Key: rec.AppendKeyData(nil), Value: rec.AppendValueData(nil),
	}, rec.Err
}
