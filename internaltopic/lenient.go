package internaltopic

import (
	"fmt"

	"kafsck/internal/schema"
	"kafsck/internal/wire"
)

// DecodeAsKafka is Decode as kafka-dump-log 4.3.1 reads records of the topics that have keys:
// bytes behind a message are not looked at, and layouts of early releases under the same
// version are not known (CoordinatorRecordSerde). kafsck itself takes both seriously.
func (t Topic) DecodeAsKafka(key, value []byte) Record {
	rec := t.Decode(key, value)
	kind := t.types()[rec.Type]
	if t == RemoteLogMetadata || key == nil || kind == nil {
		return rec
	}
	r := wire.Make(key)
	r.Int16() // the type
	if rec.key, rec.Err = schema.Decode(&r, &kind.key, 0); rec.Err != nil {
		rec.KeyDecoded, rec.Err = false, fmt.Errorf("%s: %w", kind.key.Name, rec.Err)
		return rec
	}
	rec.KeyDecoded = true
	if rec.Tombstone {
		return rec
	}
	r = wire.Make(value)
	rec.Version = r.Int16()
	if rec.Err = r.Err(); rec.Err == nil {
		rec.value, rec.Err = schema.Decode(&r, &kind.value, rec.Version)
	}
	if rec.Err != nil {
		rec.Err = fmt.Errorf("%s: %w", kind.value.Name, rec.Err)
	}
	return rec
}
