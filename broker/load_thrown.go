package broker

import (
	"errors"
	"fmt"
)

// thrown is an exception that Kafka throws while it loads a directory: a fact about the files, and
// no failure of ours. Who catches it decides what becomes of the broker.
type thrown struct {
	kind     exception
	class    string // Kafka's or Java's name of it
	file     string // base name, "" for none
	position int64  // byte in file, -1 for the file as a whole
	what     string // what is wrong, without file and position
}

// exception tells exceptions apart as far as somebody catches them.
type exception uint8

const (
	unchecked        exception = iota // nobody: the broker does not start
	ioException                       // LogManager: the log directory goes offline. LogLoader.recoverLog: the segment is emptied
	corruptRecord                     // CorruptRecordException, InvalidRecordException. LogSegment.recover: the log is cut there
	invalidOffset                     // InvalidOffsetException. LogLoader.recoverLog: the segment is emptied
	corruptIndex                      // CorruptIndexException. LogLoader.loadSegmentFiles: the segment is recovered
	storageException                  // KafkaStorageException: the log directory goes offline, whoever asked
	overflow                          // LogSegmentOffsetOverflowException. LogLoader: the segment is split
)

func (t *thrown) Error() string {
	switch {
	case t.file == "":
		return fmt.Sprintf("%s (%s)", t.what, t.class)
	case t.position < 0:
		return fmt.Sprintf("%s: %s (%s)", t.file, t.what, t.class)
	}
	return fmt.Sprintf("%s at position %d: %s (%s)", t.file, t.position, t.what, t.class)
}

// throws reports whether err is an exception of one of the kinds.
func throws(err error, kinds ...exception) bool {
	var t *thrown
	if !errors.As(err, &t) {
		return false
	}
	for _, k := range kinds {
		if t.kind == k {
			return true
		}
	}
	return false
}

func throwAt(k exception, class, file string, position int64, format string, args ...any) error {
	return &thrown{kind: k, class: class, file: file, position: position, what: fmt.Sprintf(format, args...)}
}

func throw(k exception, class, file, format string, args ...any) error {
	return throwAt(k, class, file, -1, format, args...)
}
