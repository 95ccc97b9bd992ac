package internaltopic

import (
	"fmt"

	"kafsck/internal/schema"
	"kafsck/internal/wire"
)

// The blobs of consumers in a classic group (ConsumerProtocol):
//
//	subscription | version, int16 | topics | user data | since 1: owned partitions | 2: generation | 3: rack |
//	assignment   | version, int16 | assigned partitions | user data |
//
// A version newer than the newest known is read like that one, as Kafka does; what follows
// is not looked at.
var (
	protocolPartitions   = fields{{Name: "topic", Type: text}, {Name: "partitions", Type: int32s, Array: true}}
	protocolSubscription = schema.Message{Name: "ConsumerProtocolSubscription", Max: 3, FlexibleSince: schema.Never, Fields: fields{
		{Name: "topics", Type: text, Array: true},
		{Name: "userData", Type: blob, Nullable: true, Null: true},
		{Name: "ownedPartitions", Type: nested, Array: true, Since: 1, Fields: protocolPartitions},
		{Name: "generationId", Type: int32s, Since: 2, Default: -1},
		{Name: "rackId", Type: text, Nullable: true, Since: 3, Null: true},
	}}
	protocolAssignment = schema.Message{Name: "ConsumerProtocolAssignment", Max: 3, FlexibleSince: schema.Never, Fields: fields{
		{Name: "assignedPartitions", Type: nested, Array: true, Fields: protocolPartitions},
		{Name: "userData", Type: blob, Nullable: true, Null: true},
	}}
)

func decodeProtocol(b []byte, m *schema.Message) (schema.Struct, error) {
	r := wire.Make(b)
	version := r.Int16()
	if err := r.Err(); err != nil {
		return schema.Struct{}, fmt.Errorf("%s: %w", m.Name, err)
	}
	s, err := schema.Decode(&r, m, min(version, m.Max))
	if err != nil {
		return s, fmt.Errorf("%s: %w", m.Name, err)
	}
	return s, nil
}

// decodeProtocol reads what the member subscribed to and was assigned. A member that has not
// been assigned anything yet has an empty assignment.
func (m *ClassicMember) decodeProtocol() {
	if len(m.Subscription) > 0 {
		s, err := decodeProtocol(m.Subscription, &protocolSubscription)
		if err != nil {
			m.ProtocolErr = err
		} else {
			m.Topics = s.Texts("topics")
		}
	}
	if len(m.Assignment) > 0 {
		a, err := decodeProtocol(m.Assignment, &protocolAssignment)
		if err != nil {
			m.ProtocolErr = err
			return
		}
		for _, p := range a.Structs("assignedPartitions") {
			m.Assigned = append(m.Assigned, AssignedPartitions{Topic: p.Text("topic"), Partitions: p.Int32s("partitions")})
		}
	}
}
