package serverlog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
)

// maxLine is how much of a line is looked at, in bytes. Kafka's longest lines of
// interest name the partitions of one request; what matters stands at their front.
const maxLine = 16 << 10

// line is one line of a log.
type line struct {
	n     int64  // from 1
	bytes []byte // without its end; valid until the next call
	// cut: the line is longer than bytes, or the file ends inside it.
	cut bool
}

// lines reads lines of any length in bounded memory.
type lines struct {
	r   *bufio.Reader
	buf []byte
	n   int64
	// long counts lines beyond maxLine.
	long int64
	err  error // of the read that ended the line before
}

// newLines reads a log as it is, or gzipped: the first two bytes tell.
func newLines(r io.Reader) (*lines, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	magic, err := in.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		in = bufio.NewReaderSize(z, 64<<10)
	}
	return &lines{r: in, buf: make([]byte, 0, maxLine)}, nil
}

// next returns the next line; io.EOF at the end, any other error is a failed read. What was
// read of a line before such an error is a line that is cut.
func (l *lines) next() (line, error) {
	if l.err != nil {
		return line{n: l.n + 1}, l.err
	}
	l.buf = l.buf[:0]
	l.n++
	cut, any := false, false
	for {
		chunk, err := l.r.ReadSlice('\n')
		any = any || len(chunk) > 0
		ended := err == nil
		if ended {
			chunk = chunk[:len(chunk)-1]
		}
		if room := maxLine - len(l.buf); len(chunk) > room {
			chunk = chunk[:room]
			cut = true
		}
		l.buf = append(l.buf, chunk...)
		switch {
		case ended:
			if cut {
				l.long++
			}
			return line{n: l.n, bytes: bytes.TrimSuffix(l.buf, []byte{'\r'}), cut: cut}, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case any:
			l.err = err
			if cut {
				l.long++
			}
			return line{n: l.n, bytes: l.buf, cut: true}, nil
		default:
			l.err = err
			return line{n: l.n}, err
		}
	}
}
