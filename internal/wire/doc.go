// Package wire reads Kafka's primitive types from a byte slice.
//
// A [Reader] is a sticky, bounds-checked cursor: the first read that fails is
// remembered with its position, every later read returns a zero value, and the
// caller asks [Reader.Err] once at the end. A decoder written with it reads like
// the table of the format:
//
//	r := wire.Make(b)
//	version := r.Int16()
//	leader := r.Int32()
//	if err := r.Err(); err != nil { … }
//
// Encodings (source: org.apache.kafka.common.utils.ByteUtils and
// org.apache.kafka.common.protocol.types.Type):
//
//	int8 … int64, uint16, uint32, float64   big endian
//	bool                                    one byte, 0 = false, anything else = true
//	varint, varlong                         zig-zag, then groups of 7 bits, lowest first
//	uvarint                                 groups of 7 bits, lowest first
//	uuid                                    16 bytes, text form base64url without padding
//
//	zig-zag:   0  -1   1  -2   2 …          varint 300 → zig-zag 600 → 58 04 (hex: d8 04)
//	           0   1   2   3   4 …                     1|1011000 0|0000100
//
// Byte slices returned by a Reader are borrowed from the slice it was made with.
//
// This package never allocates by a claimed length, never panics on any input,
// and never knows what it decodes.
package wire
