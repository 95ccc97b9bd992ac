package incident_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"kafsck/incident"
	"kafsck/internal/fixture"
)

// TestRenamed changes broker ids, topic names and directory names everywhere, in
// the cluster metadata too, and expects the same answers: nothing may hang on a
// name.
func TestRenamed(t *testing.T) {
	for _, name := range fixture.Names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := fixture.Tree(t, name)
			e := readExpected(t, tree)
			for _, stage := range stages(t, tree) {
				topics := map[string]bool{}
				for part := range e.Stages[stage].Partitions {
					part, _, _ = strings.Cut(part, "#")
					topics[part[:strings.LastIndex(part, "-")]] = true
				}
				got := stories(t, incident.Options{}, rename(t, below(tree, stage), topics))
				for part, want := range e.Stages[stage].Partitions {
					at := strings.LastIndex(part, "-")
					p := got[other(part[:at])+part[at:]]
					if p == nil {
						t.Errorf("%s: %s is not found as %s", stage, part, other(part[:at])+part[at:])
						continue
					}
					shift(&want)
					want.Replicas = nil // their directories have other names
					for _, line := range compare(name, p, &want) {
						if !strings.HasPrefix(line, "replicas") {
							t.Errorf("%s %s: %s", stage, part, line)
						}
					}
				}
			}
		})
	}
}

const idShift = 40

// other is the new name of a topic, of the same length; internal topics keep
// theirs.
func other(topic string) string {
	if strings.HasPrefix(topic, "__") {
		return topic
	}
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return 'a' + (r-'a'+13)%26
		case '0' <= r && r <= '9':
			return '0' + (r-'0'+5)%10
		}
		return r
	}, topic)
}

func shift(p *expectedPartition) {
	if p.Leader != nil {
		*p.Leader += idShift
	}
	for i := range p.Eligible {
		p.Eligible[i] += idShift
	}
	losses := func(list []expectedLoss) {
		for i := range list {
			for k := range list[i].HeldBy {
				list[i].HeldBy[k] += idShift
			}
		}
	}
	losses(p.Losses)
	for i := range p.Divergences {
		for k := range p.Divergences[i].Sides {
			p.Divergences[i].Sides[k].Broker += idShift
		}
	}
	moved := map[string]struct {
		Losses []expectedLoss `json:"losses"`
	}{}
	for id, x := range p.IfElected {
		losses(x.Losses)
		var n int
		fmt.Sscan(id, &n)
		moved[fmt.Sprint(n+idShift)] = x
	}
	p.IfElected = moved
}

// rename returns a stage under other names.
func rename(t *testing.T, stage fstest.MapFS, topics map[string]bool) fstest.MapFS {
	t.Helper()
	names := slices.Collect(maps.Keys(topics))
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
	id := regexp.MustCompile(`(?m)^(node|broker)\.id=(\d+)`)
	out := fstest.MapFS{}
	for name, f := range stage {
		changed := *f
		switch base := path.Base(name); {
		case base == "meta.properties":
			changed.Data = id.ReplaceAllFunc(f.Data, func(m []byte) []byte {
				key, value, _ := bytes.Cut(m, []byte("="))
				var n int
				fmt.Sscan(string(value), &n)
				return fmt.Appendf(nil, "%s=%d", key, n+idShift)
			})
		case strings.HasSuffix(base, "-offset-checkpoint"):
			lines := strings.Split(string(f.Data), "\n")
			for i, l := range lines {
				if topic, rest, ok := strings.Cut(l, " "); ok {
					lines[i] = other(topic) + " " + rest
				}
			}
			changed.Data = []byte(strings.Join(lines, "\n"))
		case strings.Contains(name, "__cluster_metadata-0") && (strings.HasSuffix(base, ".log") || strings.HasSuffix(base, ".checkpoint")):
			changed.Data = renameBatches(t, f.Data, func(_, value []byte) { renameRecord(value, names) })
		case strings.Contains(name, "__consumer_offsets-") && strings.HasSuffix(base, ".log"):
			changed.Data = renameBatches(t, f.Data, func(key, _ []byte) { renameCommit(key, names) })
		}
		parts := strings.Split(name, "/")
		for i, base := range parts[:len(parts)-1] {
			parts[i] = renameDir(base, names)
		}
		out[strings.Join(parts, "/")] = &changed
	}
	return out
}

// renameDir is the new name of a directory.
func renameDir(base string, names []string) string {
	if number, ok := strings.CutPrefix(base, "broker-"); ok {
		return "host" + strings.Repeat("x", len(number)) + number
	}
	for _, n := range names {
		if strings.HasPrefix(base, n+"-") {
			return other(n) + base[len(n):]
		}
	}
	return base
}

// renameBatches changes the records of a copy of an uncompressed log, in place, and sets
// the CRC of each batch.
func renameBatches(t *testing.T, data []byte, change func(key, value []byte)) []byte {
	t.Helper()
	out := bytes.Clone(data)
	for pos := 0; pos+61 <= len(out); {
		size := 12 + int(int32(binary.BigEndian.Uint32(out[pos+8:])))
		if size < 61 || pos+size > len(out) {
			break // a torn or preallocated tail
		}
		b := out[pos : pos+size]
		if binary.BigEndian.Uint16(b[21:])&0x20 == 0 { // no control batch
			p := 61
			for range binary.BigEndian.Uint32(b[57:]) {
				length := zigzag(b, &p)
				end := p + length
				p++ // attributes
				zigzag(b, &p)
				zigzag(b, &p)
				var key, value []byte
				if n := zigzag(b, &p); n > 0 {
					key = b[p : p+n]
					p += n
				}
				if n := zigzag(b, &p); n > 0 {
					value = b[p : p+n]
				}
				change(key, value)
				p = end
			}
		}
		binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
		pos += size
	}
	return out
}

func uvarint(b []byte, p *int) int {
	v, n := binary.Uvarint(b[*p:])
	*p += n
	return int(v)
}

func zigzag(b []byte, p *int) int {
	v, n := binary.Varint(b[*p:])
	*p += n
	return int(v)
}

// renameCommit changes the topic in the key of an offset commit: type 0 or 1, group,
// topic, partition.
func renameCommit(key []byte, names []string) {
	if len(key) < 4 || binary.BigEndian.Uint16(key) > 1 {
		return
	}
	topic := key[4+int(binary.BigEndian.Uint16(key[2:])):]
	for _, n := range names {
		if int(binary.BigEndian.Uint16(topic)) == len(n) && string(topic[2:2+len(n)]) == n {
			copy(topic[2:], other(n))
		}
	}
}

// renameRecord changes one metadata record in place (layouts: kafka's
// common/metadata/*.json).
func renameRecord(v []byte, names []string) {
	p := 0
	uvarint(v, &p) // frame version
	kind := uvarint(v, &p)
	version := uvarint(v, &p)
	id := func() {
		if n := int32(binary.BigEndian.Uint32(v[p:])); n >= 0 {
			binary.BigEndian.PutUint32(v[p:], uint32(n+idShift))
		}
		p += 4
	}
	list := func() {
		for n := uvarint(v, &p) - 1; n > 0; n-- {
			id()
		}
	}
	tags := func(f func(tag int)) {
		for n := uvarint(v, &p); n > 0; n-- {
			tag := uvarint(v, &p)
			size := uvarint(v, &p)
			end := p + size
			f(tag)
			p = end
		}
	}
	switch kind {
	case 0, 1, 7, 8, 17: // registrations, fencing
		id()
	case 2, 4: // topic, configuration
		for _, n := range names {
			if at := bytes.Index(v, []byte(n)); at >= 0 && int(v[at-1]) == len(n)+1 {
				copy(v[at:], other(n))
				break
			}
		}
	case 3: // partition
		p += 4 + 16
		for range 4 {
			list()
		}
		id()
		p += 8
		if version >= 1 {
			for n := uvarint(v, &p) - 1; n > 0; n-- {
				p += 16
			}
		}
		tags(func(tag int) {
			if tag == 1 || tag == 2 {
				list()
			}
		})
	case 5: // partition change
		p += 4 + 16
		tags(func(tag int) {
			switch tag {
			case 0, 2, 3, 4, 6, 7:
				list()
			case 1:
				id()
			}
		})
	}
}
