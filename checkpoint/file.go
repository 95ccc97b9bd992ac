package checkpoint

import (
	"fmt"
	"math"
)

// parseFile reads the common layout (CheckpointFile.CheckpointReadBuffer.read):
//
//	version NL count NL *( entry NL )
//
// entry parses one entry line of valid UTF-8, keeps what it says and returns
// nil, or returns what is wrong with it. The first failure in Kafka's order is
// returned; after it the rest is still read for its entries.
func parseFile(b []byte, version *int, entry func(number int, line []byte) *Malformed) *Malformed {
	r := newLineReader(b)
	var first *Malformed
	fail := func(m *Malformed) {
		if first == nil && m != nil {
			first = m
		}
	}
	next := func() ([]byte, bool) {
		line, ok, undecodable := r.next()
		if undecodable {
			fail(undecodableAt(b))
		}
		return line, ok
	}

	line, ok := next()
	if !ok {
		return first
	}
	last := line
	if v, ok := parseInt(line); !ok {
		fail(malformed(r.line, line, "malformed line: the version is not a number"))
	} else {
		*version = int(v)
		if v != 0 {
			fail(malformed(r.line, line, fmt.Sprintf("unrecognised version %d, expected 0", v)))
		}
	}

	line, ok = next()
	if !ok {
		return first
	}
	last = line
	count, counted := parseInt(line)
	switch {
	case !counted:
		fail(malformed(r.line, line, "malformed line: the number of entries is not a number"))
	case count < 0:
		// new ArrayList(count) throws IllegalArgumentException.
		fail(unchecked(r.line, line, fmt.Sprintf("negative number of entries: %d", count)))
	case count > math.MaxInt32-2:
		// new ArrayList(count) throws OutOfMemoryError whatever the heap:
		// the array would exceed the size limit of the virtual machine.
		fail(unchecked(r.line, line, fmt.Sprintf("number of entries exceeds what a Java array can hold: %d", count)))
	}

	var lines int64
	for {
		line, ok = next()
		if !ok {
			break
		}
		last = line
		lines++
		if !validUTF8(line) {
			continue
		}
		fail(entry(r.line, line))
	}
	if counted && int64(count) != lines {
		fail(malformed(r.line, last, fmt.Sprintf("expected %d entries, found %d", count, lines)))
	}
	return first
}
