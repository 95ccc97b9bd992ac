package kraft

import (
	"fmt"
	"strconv"

	"kafsck/internal/schema"
)

// Exact returns an error if DecodeRecord was more generous than Kafka 4.3.1: a version newer than
// the newest known one, or the layout that FeatureLevelRecord had in 3.0 to 3.2.
func (r *Record) Exact() error {
	if r.kind == nil {
		return ErrUnknownType
	}
	if r.Version > uint32(r.kind.message.Max) {
		return fmt.Errorf("%s version %d: %w", r.kind.message.Name, r.Version, schema.ErrVersion)
	}
	if r.APIKey == keyFeatureLevel && !r.body.Names("featureLevel") {
		return fmt.Errorf("%s: the layout of 3.0", r.kind.message.Name)
	}
	return nil
}

// AppendKafkaJSON writes the record as kafka-dump-log --cluster-metadata-decoder does, secrets
// included (MarshalJSON replaces them).
func (r *Record) AppendKafkaJSON(b []byte) []byte {
	b = append(append(b, `{"type":"`...), r.Type()...)
	b = strconv.AppendUint(append(b, `","version":`...), uint64(r.Version), 10)
	b = r.body.AppendPlainJSON(append(b, `,"data":`...))
	return append(b, '}')
}
