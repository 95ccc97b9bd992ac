// Package schema decodes Kafka's generated messages from tables.
//
// A [Message] lists the fields of a message in wire order, as Kafka's JSON
// schemas do (clients/src/main/resources/common/message, metadata/src/main/
// resources/common/metadata); [Decode] reads one version of it into a [Struct].
//
// The flexible encoding (KIP-482):
//
//	struct  | field | field | … | n tags, uvarint | tag, uvarint | size, uvarint | payload | …
//	string  | length + 1, uvarint; 0 = null | bytes
//	bytes   | length + 1, uvarint; 0 = null | bytes
//	array   | count + 1, uvarint; 0 = null  | element | …
//	struct? | -1 = null, else 1, int8       | struct        as a field
//	struct? | 0 = null, else 1, uvarint     | struct        as the payload of a tag
//
// The classic encoding, of versions below the first flexible one:
//
//	string  | length, int16; -1 = null      | bytes
//	bytes   | length, int32; -1 = null      | bytes
//	array   | count, int32; -1 = null       | element | …
//
// Numbers are big endian. A field whose versions exclude the one decoded is not on
// the wire; a tagged field with its default value is left out. Tags that the table
// does not name are skipped by their size and kept; the size of one that it names is
// not looked at, as by Kafka's generated readers.
//
// A Struct borrows from the bytes it was read from. Lengths and counts are compared
// with the bytes that are there before anything is allocated, and the number of
// values of one message is capped.
//
// This package never opens a file, knows no message itself, and never guesses:
// what does not fit the table is an error with its position.
//
// Source: org.apache.kafka.message.MessageDataGenerator and the readers it writes.
package schema
