package checkpoint

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
)

type verdict struct {
	kind    string
	content []byte
	want    string // as printed by testdata/Verdicts.java
}

func readVerdicts(t testing.TB) []verdict {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "verdicts-4.3.1.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	var out []verdict
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		content, err := strconv.Unquote(f[1])
		if err != nil {
			t.Fatalf("%s: %v", f[1], err)
		}
		out = append(out, verdict{f[0], []byte(content), f[2]})
	}
	return out
}

// TestVerdicts compares with what Kafka's own classes made of each file.
func TestVerdicts(t *testing.T) {
	counts := map[string]int{}
	for _, v := range readVerdicts(t) {
		want := v.want
		if !strings.HasPrefix(want, "ok") {
			want, _, _ = strings.Cut(want, " ")
		}
		counts[v.kind]++
		if got := judge(v.kind, v.content); got != want {
			t.Errorf("%s %q:\n kafka %s\n got   %s", v.kind, v.content, v.want, got)
		}
	}
	for _, kind := range []string{"epochs", "offsets", "partition", "meta", "quorum", "clean"} {
		if counts[kind] < 100 {
			t.Errorf("%s: only %d cases", kind, counts[kind])
		}
	}
}

// TestBuffering: invalid UTF-8 further down hides an unchecked exception only if
// Kafka's reader meets it in the same buffer of 8192 characters. The verdicts
// were printed by testdata/Verdicts.java.
func TestBuffering(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"same buffer", "0\n1\nx 5\n\xff", "io"},
		{"cut sequence at the end", "0\n1\nx 5\n\xe2", "unchecked"},
		{"trailing space over a buffer", "0\n1\n1 5" + strings.Repeat(" ", 9000) + "\n\xff", "io"},
		{"two-byte characters within a buffer", "0\n2\nx 1\n" + strings.Repeat("é", 4090) + "\n\xff", "io"},
		{"two-byte characters over a buffer", "0\n2\nx 1\n" + strings.Repeat("é", 9000) + "\n\xff", "unchecked"},
		{"many lines", "0\n2\n" + strings.Repeat("1 5\n", 2045) + "x\xff\n", "io"},
	} {
		if got := judge("epochs", []byte(c.content)); got != c.want {
			t.Errorf("%s: got %s, Kafka %s", c.name, got, c.want)
		}
	}
}

// judge prints a file the way testdata/Verdicts.java does, "io" and "unchecked"
// without the name of the exception.
func judge(kind string, b []byte) string {
	says := func(m *Malformed, content string) string {
		switch {
		case m == nil:
			return "ok" + content
		case m.Unchecked:
			return "unchecked"
		}
		return "io"
	}
	var s strings.Builder
	switch kind {
	case "epochs":
		f := ParseEpochs(b)
		for _, e := range f.Entries {
			fmt.Fprintf(&s, " %d:%d", e.Epoch, e.StartOffset)
		}
		return says(f.Malformed, s.String())
	case "offsets":
		f := ParseOffsets(b)
		seen := map[string]int64{}
		for _, e := range f.Entries {
			seen[fmt.Sprintf("%s:%d", escape(e.Topic), e.Partition)], _ = f.Lookup(e.Topic, e.Partition)
		}
		for _, k := range sortedKeys(seen) {
			fmt.Fprintf(&s, " %s:%d", k, seen[k])
		}
		return says(f.Malformed, s.String())
	case "partition":
		p := ParsePartitionMetadata(b)
		return says(p.Malformed, fmt.Sprintf(" %d %s", p.Version, p.TopicID))
	case "meta":
		m := ParseMetaProperties(b)
		id, dir, own := "-", "-", []string{"broker.id", "node.id"}[m.Version&1]
		if _, ok := m.Properties[own]; ok && m.HasNodeID {
			id = strconv.Itoa(int(m.NodeID))
		}
		if u, ok := parseUUID(m.DirectoryID); ok {
			dir = u.String()
		}
		fmt.Fprintf(&s, " %d %s %s %s", m.Version, id, escape(m.ClusterID), dir)
		for _, k := range sortedKeys(m.Properties) {
			fmt.Fprintf(&s, " %s=%s", escape(k), escape(m.Properties[k]))
		}
		return says(m.Malformed, s.String())
	case "quorum":
		q := ParseQuorumState(b)
		fmt.Fprintf(&s, " %d %d ", q.LeaderEpoch, q.LeaderID)
		switch {
		case q.VotedID == -1:
			s.WriteString("-")
		case q.VotedDirectoryID.IsZero():
			fmt.Fprintf(&s, "%d/-", q.VotedID)
		default:
			fmt.Fprintf(&s, "%d/%s", q.VotedID, q.VotedDirectoryID)
		}
		return says(q.Malformed, s.String())
	case "clean":
		if c := ParseCleanShutdown(b); c.HasBrokerEpoch {
			return fmt.Sprintf("ok %d", c.BrokerEpoch)
		}
		return "ok -"
	}
	panic(kind)
}

func escape(s string) string {
	var b strings.Builder
	for _, c := range utf16.Encode([]rune(s)) {
		if c < 128 && c > 32 && c != '%' {
			b.WriteByte(byte(c))
		} else {
			fmt.Fprintf(&b, "%%%04x", c)
		}
	}
	return b.String()
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return slices.Clip(keys)
}
