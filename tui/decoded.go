package tui

import (
	"kafsck/batch"
	"kafsck/internaltopic"
)

// topicRecord decodes a record of one of Kafka's own topics; nil in all other topics. why:
// it could not be decoded.
func (d *batchData) topicRecord(r *batch.Record) (out *internaltopic.Decoded, why error) {
	if d.log == nil || d.log.metadata {
		return nil, nil
	}
	topic, ok := internaltopic.TopicOf(d.log.part.Topic)
	if !ok {
		return nil, nil
	}
	rec := topic.Decode(r.Key, r.Value)
	return rec.Decoded(), rec.Err
}
