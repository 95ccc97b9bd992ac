package conformance

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"kafsck/internal/logtest"
)

// evil is text that drives a terminal which believes it: title, colour, cursor, a device
// control string, 8-bit controls, bidirectional marks, bells. It holds no slash and no
// zero byte, so that it can name a directory.
const evil = "E\x1b]7777;owned\x07\x1b[31;43;9m\x1b[777;777H\x1bPq\x1b\\\u009b2J\u0090x\u202eelif\u2066\u200f\r\b\x7f"

// evilShown is how all of it begins on a screen.
const evilShown = `E\x1b]7777;owned`

// kafkaString is a string as Kafka's own topics hold it: int16 length, then the bytes.
func kafkaString(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...)
}

// hostileDir is a broker whose every text is evil: names of topics and files, keys,
// values, headers, groups, members, clients, transactional ids.
func (lab *browserLab) hostileDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(lab.data, "hostile")
	put := func(content []byte, path ...string) {
		name := filepath.Join(append([]string{dir}, path...)...)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const log = "00000000000000000000.log"
	put([]byte("version=1\nnode.id=1\ncluster.id="+evil+"\n"), "broker-1", "meta.properties")
	records := []logtest.Record{
		{Timestamp: logtest.T0, Key: []byte(evil), Value: []byte(evil), Headers: []logtest.Header{{Key: evil, Value: []byte(evil)}}},
		{Timestamp: logtest.T0 + 1, Key: []byte(evil), Value: []byte(`{"` + evil[:1] + `":"` + "\u202e\u009b31m" + `"}`)},
	}
	put(logtest.Batch{Records: records}.Encode(), "broker-1", evil+"-0", log)
	put([]byte(evil), "broker-1", evil+"-0", evil+".txt")
	put([]byte("0\n1\n0 0 "+evil+"\n"), "broker-1", evil+"-0", "leader-epoch-checkpoint")

	group := kafkaString([]byte{0, 2}, evil)
	member := []byte{0, 3} // GroupMetadataValue, version 3
	member = kafkaString(member, "consumer")
	member = binary.BigEndian.AppendUint32(member, 1)     // generation
	member = kafkaString(kafkaString(member, evil), evil) // protocol, leader
	member = binary.BigEndian.AppendUint64(member, logtest.T0)
	member = binary.BigEndian.AppendUint32(member, 1) // members
	member = kafkaString(member, evil)
	member = append(member, 0xff, 0xff)                   // no group.instance.id
	member = kafkaString(kafkaString(member, evil), evil) // client id, host
	member = binary.BigEndian.AppendUint64(member, 60_000<<32|45_000)
	member = binary.BigEndian.AppendUint64(member, 0) // no subscription, no assignment
	commit := kafkaString(kafkaString([]byte{0, 1}, evil), evil)
	commit = binary.BigEndian.AppendUint32(commit, 0)
	offset := binary.BigEndian.AppendUint64([]byte{0, 3}, 1) // OffsetCommitValue, version 3
	offset = binary.BigEndian.AppendUint32(offset, 0)
	offset = kafkaString(offset, evil)
	offset = binary.BigEndian.AppendUint64(offset, logtest.T0)
	put(logtest.Batch{Records: []logtest.Record{{Timestamp: logtest.T0, Key: group, Value: member}, {Timestamp: logtest.T0, Key: commit, Value: offset}}}.Encode(), "broker-1", "__consumer_offsets-0", log)

	txn := kafkaString([]byte{0, 0}, evil)
	state := binary.BigEndian.AppendUint64([]byte{0, 0}, 7) // TransactionLogValue, version 0
	state = append(state, 0, 0)
	state = binary.BigEndian.AppendUint32(state, 60_000)
	state = append(state, 1)                        // Ongoing
	state = binary.BigEndian.AppendUint32(state, 1) // partitions
	state = kafkaString(state, evil)
	state = binary.BigEndian.AppendUint32(state, 1)
	state = binary.BigEndian.AppendUint32(state, 0)
	state = binary.BigEndian.AppendUint64(state, logtest.T0)
	state = binary.BigEndian.AppendUint64(state, logtest.T0)
	put(logtest.Batch{Records: []logtest.Record{{Timestamp: logtest.T0, Key: txn, Value: state}}}.Encode(), "broker-1", "__transaction_state-0", log)
	return "hostile"
}

// testHostile walks through every screen of a directory full of evil text, and looks at
// what the program wrote to its terminal, byte for byte.
func (lab *browserLab) testHostile(t *testing.T) {
	t.Parallel()
	dir := lab.hostileDir(t)
	raw := filepath.Join(t.TempDir(), "raw")
	// The program begins when the pipe is there.
	x := lab.start(t, 120, 40, "sh", "-c", `read go; exec "$@"`, "sh", lab.kafsck, "tui", dir)
	x.tmux("pipe-pane", "-o", "cat > '"+raw+"'")
	x.press("Enter")
	x.until("the overview", func(s string) bool {
		return strings.Contains(s, evilShown) && !strings.Contains(s, "so far") && strings.Contains(s, "/3")
	})
	step := func(keys ...string) {
		for _, k := range keys {
			before := x.screen()
			x.press(k)
			x.becomesOther(before)
		}
	}
	// G: Kafka's own topics stand before it in the list.
	for _, walk := range [][]string{
		{"G", "Enter", "Enter", "r", "Tab", "x", "Escape", "?", "Escape", "b"},
		{"O", "Enter", "Enter", "r", "j"}, {"O", "g", "j", "Enter", "Enter", "r"}, {"O", "G", "Enter", "d"},
		{"O", "G", "Enter", "L"}, {"O", "Enter", "C"}, {"O", "Enter", "S", "x", "Escape"}, {"O", "Enter", "H"}, {"O", "Enter", "T"}, {"O", "Enter", "i"}, {"O", "Enter", "c", "x", "Escape", "E", "b", "b"},
		{"O", "Enter", "c", "Tab", "Enter", "b"}, {"O", "Enter", "c", "Tab", "G", "Enter"}, {"F", "Enter", "Enter", "x", "Escape"}, {"O", "M"},
		{"O", ":", "h", "i", "s", "t", "o", "r", "y", " ", "Tab", "Escape"}, {"O", "/", "o", "w", "n", "e", "d", "Enter", "Escape"},
	} {
		step(walk...)
	}
	evilSeen := strings.Count(x.screen(), evilShown)
	x.press("q")
	x.tmuxGone()

	out, err := os.ReadFile(raw)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(out, []byte(evilShown)); n < 30 || evilSeen == 0 {
		t.Errorf("the evil text was on the screens %d times: too seldom to prove anything", n)
	}
	checkTame(t, out)
}

// becomesOther waits for a change; some keys change nothing, which is no fault here.
func (x *terminal) becomesOther(before string) {
	for range 60 {
		if x.screen() != before {
			return
		}
	}
}

// tmuxGone waits until the server has ended with its program.
func (x *terminal) tmuxGone() {
	x.t.Helper()
	x.waitFor("the end of the program", func() bool {
		_, err := os.Stat(x.socket)
		return err != nil || !x.alive()
	})
}

// ours are the sequences that the program writes itself: colours of the 16, cursor,
// erasing, modes.
var ours = regexp.MustCompile(`^\x1b\[(?:\??[0-9;]*)[A-Za-z]`)

// checkTame goes through raw output. What the terminal acts on must be our own.
func checkTame(t *testing.T, out []byte) {
	t.Helper()
	around := func(i int) []byte { return out[max(i-40, 0):min(i+40, len(out))] }
	for i := 0; i < len(out); {
		r, n := utf8.DecodeRune(out[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			t.Fatalf("byte %d is no text: %q", i, around(i))
		case r == 0x1b:
			m := ours.Find(out[i:])
			if m == nil || strings.Contains(string(m), "31;43;9") || strings.Contains(string(m), "777") {
				t.Fatalf("byte %d: an escape sequence that is not ours: %q", i, around(i))
			}
			n = len(m)
		case r == '\n' || r == '\r' && i+1 < len(out):
		case r < 0x20 && r != '\b' || r >= 0x7f && r < 0xa0 || unicode.Is(unicode.Cf, r):
			t.Fatalf("byte %d: a control character %U: %q", i, r, around(i))
		}
		i += n
	}
}
