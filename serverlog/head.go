package serverlog

import (
	"bytes"
	"strings"
	"time"
)

// head is what stands before a message, and the message.
type head struct {
	timeMs int64 // -1 unknown
	zoned  bool  // the time carries its own zone
	// context is the inside of Kafka's bracket before the text ("UnifiedLog
	// partition=t-0, dir=/d"), "" without one.
	context string
	message string // context and text
	text    string
}

// headBytes bounds the search for time and level.
const headBytes = 256

var levels = [][]byte{[]byte("TRACE"), []byte("DEBUG"), []byte("INFO"), []byte("WARN"), []byte("WARNING"), []byte("ERROR"), []byte("FATAL")}

// parseHead takes a line apart. ok is false for what is no beginning of a message:
// stack traces, continuation lines, other programs' output.
func parseHead(b []byte, zone *time.Location) (h head, ok bool) {
	if len(b) > 0 && b[0] == '{' {
		return parseJSON(b, zone)
	}
	front := b[:min(len(b), headBytes)]
	at, found := levelIn(front)
	times := front
	if found {
		times = front[:at]
	}
	h.timeMs, h.zoned, _ = timeIn(times, zone)
	if !found {
		var end int
		if _, _, end = timeIn(front, zone); end == 0 {
			return head{}, false
		}
		at = end
	}
	h.setMessage(string(b[at:]))
	return h, h.message != ""
}

// setMessage skips what layouts put between level and message, and splits off
// Kafka's context.
func (h *head) setMessage(s string) {
	for range 8 {
		s = strings.TrimLeft(s, " \t|:-]")
		switch {
		case s == "":
			h.message, h.text = "", ""
			return
		case s[0] == '[' && !isContext(s[1:]):
			// A thread's name; but [topic,0] begins no message.
			end := strings.IndexByte(s, ']')
			if end < 0 {
				h.message, h.text = s, s
				return
			}
			s = s[end+1:]
			continue
		case s[0] == '(':
			end := strings.IndexByte(s, ')')
			if end < 0 {
				h.message, h.text = s, s
				return
			}
			s = s[end+1:]
			continue
		}
		if word, rest, found := strings.Cut(s, " "); found && isLogger(word) {
			s = rest
			continue
		}
		break
	}
	h.message = s
	h.text = s
	if s[0] != '[' {
		return
	}
	// A log directory may hold any byte, also a bracket: the context ends where text
	// follows.
	for _, end := range []string{"] ", "]: ", "], ", "]:"} {
		if before, after, found := strings.Cut(s, end); found && (h.context == "" || len(before)-1 < len(h.context)) {
			h.context, h.text = before[1:], after
		}
	}
	// A thread's name in brackets may look like a context; the true one stands closer to
	// the text, perhaps behind a logger's name.
	t := strings.TrimLeft(h.text, " -:")
	if word, rest, found := strings.Cut(t, " "); found && isLogger(word) {
		t = strings.TrimLeft(rest, " -:")
	}
	if h.context != "" && len(t) > 1 && t[0] == '[' && isContext(t[1:]) {
		h.context = ""
		h.setMessage(t)
	}
}

// contexts are the beginnings of the bracket that Kafka's classes put before their
// text (LogContext, and logIdent before it).
var contexts = []string{
	"UnifiedLog ", "Log ", "LogLoader ", "LocalLog ", "MergedLog ", "Partition ", "ReplicaFetcher ", "ReplicaFetcherThread-", "ReplicaAlterLogDirsThread",
	"Broker id=", "Broker ", "Controller ", "QuorumController ", "KafkaServer ", "Kafka Server ", "BrokerServer ", "ControllerServer ", "SharedServer ", "KafkaRaftServer ",
	"ReplicaManager ", "ReplicaFetcherManager ", "BrokerLifecycleManager ", "BrokerMetadataPublisher", "RaftManager ", "ProducerStateManager ", "LeaderEpochFileCache ", "LeaderEpochCache ",
	"GroupCoordinator ", "TransactionCoordinator ", "Partition state machine", "PartitionStateMachine ", "OfflinePartitionLeaderSelector",
}

func isContext(s string) bool {
	for _, c := range contexts {
		if strings.HasPrefix(s, c) {
			return true
		}
	}
	return false
}

// isLogger tells names such as kafka.log.Log or state.change.logger.
func isLogger(s string) bool {
	s = strings.TrimSuffix(s, ":")
	return strings.HasPrefix(s, "kafka.") || strings.HasPrefix(s, "org.apache.kafka.") || s == "state.change.logger"
}

// levelIn finds the end of the first level word.
func levelIn(b []byte) (end int, ok bool) {
	for i := 0; i < len(b); i++ {
		if b[i] < 'A' || b[i] > 'Z' || i > 0 && isLetter(b[i-1]) {
			continue
		}
		for _, l := range levels {
			if e := i + len(l); bytes.HasPrefix(b[i:], l) && (e == len(b) || !isLetter(b[e])) {
				return e, true
			}
		}
	}
	return 0, false
}

func isLetter(c byte) bool { return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// timeIn finds the first time in b, or the first with a zone, and where it ends.
func timeIn(b []byte, zone *time.Location) (ms int64, zoned bool, end int) {
	ms = -1
	for i := 0; i+19 <= len(b); i++ {
		if b[i+4] != '-' || b[i+7] != '-' || i > 0 && isDigit(b[i-1]) {
			continue
		}
		m, z, n := parseTime(b[i:], zone)
		if n == 0 {
			continue
		}
		if end == 0 || z {
			ms, zoned, end = m, z, i+n
		}
		if z {
			return ms, zoned, end
		}
		i += n - 1
	}
	return ms, zoned, end
}

// parseTime reads YYYY-MM-DD, a blank or T, HH:MM:SS, a fraction and a zone. n is
// its length, 0 when there is no such time.
func parseTime(b []byte, zone *time.Location) (ms int64, zoned bool, n int) {
	const shape = "0000-00-00 00:00:00"
	for i := range len(shape) {
		switch {
		case shape[i] == '0' && !isDigit(b[i]):
			return 0, false, 0
		case shape[i] == ' ' && b[i] != ' ' && b[i] != 'T':
			return 0, false, 0
		case (shape[i] == '-' || shape[i] == ':') && b[i] != shape[i]:
			return 0, false, 0
		}
	}
	two := func(at int) int { return int(b[at]-'0')*10 + int(b[at+1]-'0') }
	year := two(0)*100 + two(2)
	month, day, hour, minute, second := two(5), two(8), two(11), two(14), two(17)
	if year < 1970 || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60 {
		return 0, false, 0
	}
	n = len(shape)
	nanos := 0
	if n < len(b) && (b[n] == '.' || b[n] == ',') && n+1 < len(b) && isDigit(b[n+1]) {
		n++
		for scale := 100_000_000; n < len(b) && isDigit(b[n]); n++ {
			nanos += int(b[n]-'0') * scale
			scale /= 10
		}
	}
	if n < len(b) && b[n] == 'Z' {
		zone, zoned, n = time.UTC, true, n+1
	} else if z, k := parseZone(b[n:]); k > 0 {
		zone, zoned, n = z, true, n+k
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, nanos, zone)
	return t.UnixMilli(), zoned, n
}

// parseZone reads +HH:MM, +HHMM and +HH.
func parseZone(b []byte) (*time.Location, int) {
	if len(b) < 3 || b[0] != '+' && b[0] != '-' || !isDigit(b[1]) || !isDigit(b[2]) {
		return nil, 0
	}
	seconds := (int(b[1]-'0')*10 + int(b[2]-'0')) * 3600
	n := 3
	m := b[3:]
	if len(m) > 0 && m[0] == ':' {
		m = m[1:]
	}
	if len(m) >= 2 && isDigit(m[0]) && isDigit(m[1]) {
		seconds += (int(m[0]-'0')*10 + int(m[1]-'0')) * 60
		n = len(b) - len(m) + 2
	}
	if seconds > 18*3600 {
		return nil, 0
	}
	if b[0] == '-' {
		seconds = -seconds
	}
	return time.FixedZone("", seconds), n
}

// ParseZone reads a time zone as a user names it: UTC, an offset such as +02:00, or
// a name of the zone database of this machine.
func ParseZone(s string) (*time.Location, error) {
	if s == "Z" || strings.EqualFold(s, "utc") {
		return time.UTC, nil
	}
	if z, n := parseZone([]byte(s)); n == len(s) && n > 0 {
		return z, nil
	}
	return time.LoadLocation(s)
}

var messageKeys = [][]byte{[]byte(`"message":`), []byte(`"msg":`), []byte(`"@message":`), []byte(`"log":`)}

// parseJSON reads a line of a JSON layout, or of a container runtime that wraps
// lines in JSON ("log").
func parseJSON(b []byte, zone *time.Location) (head, bool) {
	for _, key := range messageKeys {
		at := bytes.Index(b, key)
		if at < 0 {
			continue
		}
		rest := bytes.TrimLeft(b[at+len(key):], " ")
		if len(rest) == 0 || rest[0] != '"' {
			continue
		}
		text, end := unquote(rest[1:])
		outer, zoned, _ := timeIn(b[:at], zone)
		if outer < 0 {
			outer, zoned, _ = timeIn(rest[end:], zone)
		}
		var h head
		h.timeMs = -1
		if len(text) > 0 && text[0] != '{' {
			if inner, ok := parseHead(text, zone); ok && inner.timeMs >= 0 {
				h = inner
			} else {
				h.setMessage(string(text))
			}
		}
		if h.timeMs < 0 || zoned && !h.zoned {
			h.timeMs, h.zoned = outer, zoned
		}
		return h, h.message != ""
	}
	return head{}, false
}

// unquote reads a JSON string up to its closing quote. end is where it ends in b,
// after the quote.
func unquote(b []byte) (text []byte, end int) {
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			return text, i + 1
		case '\\':
			if i++; i == len(b) {
				return text, i
			}
			switch c := b[i]; c {
			case 'n', 't', 'r', 'b', 'f':
				text = append(text, ' ')
			case 'u':
				text = append(text, '?')
				i = min(i+4, len(b)-1)
			default:
				text = append(text, c)
			}
		default:
			text = append(text, b[i])
		}
	}
	return text, len(b)
}
