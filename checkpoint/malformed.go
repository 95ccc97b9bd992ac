package checkpoint

import "strings"

// maxText bounds Malformed.Text, in bytes: a line may be as long as the file.
const maxText = 256

// Malformed says why Kafka refuses a file, at the first place where it does.
type Malformed struct {
	Line      int    // 1-based; the last line of the file when what is wrong is the file as a whole
	Text      string // that line as it stands, without its terminator, at most 256 bytes; may be invalid UTF-8
	Reason    string // for people
	Unchecked bool   // Kafka throws an unchecked exception or an error, which most callers do not catch, instead of an IOException
}

// String gives line, reason and text in one line.
func (m *Malformed) String() string {
	var b strings.Builder
	b.WriteString("line ")
	b.WriteString(itoa(int64(m.Line)))
	b.WriteString(": ")
	b.WriteString(m.Reason)
	return b.String()
}

func malformed(line int, text []byte, reason string) *Malformed {
	return &Malformed{Line: line, Text: clip(text), Reason: reason}
}

func unchecked(line int, text []byte, reason string) *Malformed {
	return &Malformed{Line: line, Text: clip(text), Reason: reason, Unchecked: true}
}

func clip(b []byte) string {
	if len(b) > maxText {
		b = b[:maxText]
	}
	return string(b)
}
