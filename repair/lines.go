package repair

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"kafsck/checkpoint"
)

// EditLines sets or takes out lines of an offset checkpoint. All other lines stay as they are,
// byte for byte, and in their order; only the count on the second line follows. A line that
// stands twice, of which Kafka takes the last, becomes one at the place of the first.
//
//	0             0
//	3             3
//	kv 0 812      kv 0 812
//	t 0 300   ->  t 0 280        t 0 = 280
//	kv 1 77       kv 1 77
//
// A file that is not there, or empty, begins anew. One that Kafka refuses is not edited: the
// error says so.
func EditLines(content []byte, edits []OffsetLine) ([]byte, error) {
	f := checkpoint.ParseOffsets(content)
	if f.Malformed != nil {
		return nil, fmt.Errorf("not edited, Kafka refuses it: %s", f.Malformed)
	}
	// A file that Kafka accepts has one line for each entry behind the first two.
	lines := splitLines(content)
	if len(lines) > 2 {
		lines = lines[2:]
	} else {
		lines = nil
	}
	if len(lines) != len(f.Entries) {
		return nil, fmt.Errorf("not edited: %d lines for %d entries", len(lines), len(f.Entries))
	}
	done := make([]bool, len(edits))
	var out []string
	for i, e := range f.Entries {
		at := -1
		for j := range edits {
			if edits[j].Topic == e.Topic && edits[j].Partition == e.Partition {
				at = j
			}
		}
		switch {
		case at < 0:
			out = append(out, lines[i])
		case edits[at].Offset != nil && !done[at]:
			out = append(out, edits[at].text())
		}
		if at >= 0 {
			done[at] = true
		}
	}
	for j := range edits {
		if !done[j] && edits[j].Offset != nil {
			out = append(out, edits[j].text())
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "0\n%d\n", len(out))
	for _, l := range out {
		b.WriteString(l + "\n")
	}
	return b.Bytes(), nil
}

func (l *OffsetLine) text() string {
	return l.Topic + " " + strconv.Itoa(int(l.Partition)) + " " + strconv.FormatInt(*l.Offset, 10)
}

// splitLines splits as java.io.BufferedReader does: at LF, CR and CR LF.
func splitLines(b []byte) []string {
	s := strings.ReplaceAll(strings.ReplaceAll(string(b), "\r\n", "\n"), "\r", "\n")
	if s = strings.TrimSuffix(s, "\n"); s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}
