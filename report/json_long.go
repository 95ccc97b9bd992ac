package report

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
)

// longValue is the size in bytes from which a key or a value goes to the output piece by piece:
// the encoder would hold its text several times over, and one record may have 64 MiB.
const longValue = 1 << 20

// longValues stand in a line as marks, which are no foreign bytes but by chance of 1 in 2^192.
type longValues struct {
	mark []byte // 24 bytes: 32 characters in base64, and no padding
	list [][]byte
}

// value is b as a member of a line, or a mark for it.
func (l *longValues) value(b *[]byte) *nullableBytes {
	if len(*b) < longValue {
		return (*nullableBytes)(b)
	}
	if l.mark == nil {
		l.mark = make([]byte, 24)
		rand.Read(l.mark) // never fails
	}
	l.list = append(l.list, *b)
	return (*nullableBytes)(&l.mark)
}

// write writes a line with the values in the place of their marks.
func (l *longValues) write(line []byte, write func([]byte)) {
	mark := base64.StdEncoding.AppendEncode(nil, l.mark)
	const chunk = 48 << 10 // a multiple of 3
	text := make([]byte, 0, base64.StdEncoding.EncodedLen(chunk))
	for _, b := range l.list {
		before, after, _ := bytes.Cut(line, mark)
		write(before)
		for len(b) > 0 {
			n := min(len(b), chunk)
			write(base64.StdEncoding.AppendEncode(text, b[:n]))
			b = b[n:]
		}
		line = after
	}
	write(line)
	l.list = l.list[:0]
}
