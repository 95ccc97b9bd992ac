package checkpoint

import (
	"bytes"
	"fmt"

	"kafsck/internal/wire"
)

// PartitionMetadata is a parsed partition.metadata.
type PartitionMetadata struct {
	Version   int
	TopicID   wire.UUID  // zero if it could not be read
	Malformed *Malformed // nil if Kafka accepts the file
}

// ParsePartitionMetadata reads a partition.metadata (PartitionMetadataReadBuffer.read):
//
//	version: 0 NL
//	topic_id: AAAAAAAAAAAAAAAAAAAAAQ        no newline when written by Kafka
//
// Only the first two lines are read, each split at a colon that white space
// follows; what stands before the colon is not looked at. Any version ≥ 0 is
// accepted. A missing line makes Kafka throw NullPointerException, a topic id
// that is no id IllegalArgumentException; both are unchecked.
func ParsePartitionMetadata(b []byte) *PartitionMetadata {
	p := &PartitionMetadata{}
	r := newLineReader(b)
	fail := func(m *Malformed) {
		if p.Malformed == nil {
			p.Malformed = m
		}
	}
	next := func() ([]byte, bool) {
		line, ok, undecodable := r.next()
		if undecodable {
			fail(undecodableAt(b))
		}
		if !ok {
			fail(unchecked(r.line+1, nil, "the line is missing"))
		}
		return line, ok
	}

	line, ok := next()
	if !ok {
		return p
	}
	if value, ok := afterColon(line); !ok {
		fail(malformed(r.line, line, `malformed line: want "version: " and a number`))
	} else if v, ok := parseInt(value); !ok {
		fail(malformed(r.line, line, "malformed line: the version is not a number"))
	} else {
		p.Version = int(v)
		if v < 0 {
			fail(malformed(r.line, line, fmt.Sprintf("unrecognised version %d", v)))
		}
	}

	line, ok = next()
	if !ok {
		return p
	}
	value, ok := afterColon(line)
	if !ok {
		fail(malformed(r.line, line, `malformed line: want "topic_id: " and an id`))
		return p
	}
	id, ok := parseUUID(string(value))
	if !ok {
		fail(unchecked(r.line, line, "the topic id is not a UUID in base64"))
		return p
	}
	p.TopicID = id
	if id.IsZero() {
		fail(malformed(r.line, line, "the topic id is zero"))
	}
	return p
}

// afterColon is line.split(":\\s+")[1] where the result has exactly two parts:
// a separator is a colon and all white space behind it, trailing empty parts are
// dropped.
func afterColon(line []byte) ([]byte, bool) {
	var parts [][]byte
	start := 0
	for i := 0; i < len(line); {
		c := bytes.IndexByte(line[i:], ':')
		if c < 0 {
			break
		}
		c += i
		end := c + 1
		for end < len(line) && javaSpace(line[end]) {
			end++
		}
		if end > c+1 {
			parts = append(parts, line[start:c])
			start = end
		}
		i = end
	}
	parts = append(parts, line[start:])
	for len(parts) > 0 && len(parts[len(parts)-1]) == 0 {
		parts = parts[:len(parts)-1]
	}
	if len(parts) != 2 {
		return nil, false
	}
	return parts[1], true
}

// parseUUID is Uuid.fromString: the text is decoded by Java's URL-safe base64
// decoder, which accepts 16 bytes with or without "==" and skips nothing.
func parseUUID(s string) (wire.UUID, bool) {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_':
		case c == '=' && len(s) == 24 && i >= 22:
		default:
			return wire.UUID{}, false
		}
	}
	id, err := wire.ParseUUID(s)
	return id, err == nil
}
