package checkpoint

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// EpochEntry is one line of leader-epoch-checkpoint.
type EpochEntry struct {
	Epoch       int32 // leader epoch, ≥ 0 in a file that Kafka accepts
	StartOffset int64 // first offset written in that epoch, ≥ 0 likewise
}

// EpochFile is a parsed leader-epoch-checkpoint.
type EpochFile struct {
	Version   int          // 0 if there is no version line or it is no number
	Entries   []EpochEntry // those that parse, as written: in file order, not put through the cache's rules
	Malformed *Malformed   // nil if Kafka accepts the file
}

// ParseEpochs reads a leader-epoch-checkpoint
// (LeaderEpochCheckpointFile.Formatter, LeaderEpochFileCache's constructor).
//
// An empty file has no entries and is well formed. A number that does not parse
// on an entry line, a negative epoch and a negative start offset make Kafka throw
// unchecked exceptions, the latter two only after the whole file has been read.
func ParseEpochs(b []byte) *EpochFile {
	f := &EpochFile{}
	var negative *Malformed
	f.Malformed = parseFile(b, &f.Version, func(number int, line []byte) *Malformed {
		token := splitSpace(line, 2)
		if len(token) != 2 {
			return malformed(number, line, "malformed line: want an epoch and a start offset")
		}
		epoch, ok := parseInt(token[0])
		if !ok {
			return unchecked(number, line, "epoch is not a 32-bit number: "+strconv.QuoteToASCII(clip(token[0])))
		}
		start, ok := parseLong(token[1])
		if !ok {
			return unchecked(number, line, "start offset is not a 64-bit number: "+strconv.QuoteToASCII(clip(token[1])))
		}
		if negative == nil && (epoch < 0 || start < 0) {
			negative = unchecked(number, line, fmt.Sprintf("negative epoch or start offset: %d %d", epoch, start))
		}
		f.Entries = append(f.Entries, EpochEntry{Epoch: epoch, StartOffset: start})
		return nil
	})
	if f.Malformed == nil {
		f.Malformed = negative
	}
	return f
}

// FormatEpochs writes entries as Kafka does on Unix, in the order given.
func FormatEpochs(entries []EpochEntry) []byte {
	b := []byte("0\n")
	b = strconv.AppendInt(b, int64(len(entries)), 10)
	b = append(b, '\n')
	for _, e := range entries {
		b = strconv.AppendInt(b, int64(e.Epoch), 10)
		b = append(b, ' ')
		b = strconv.AppendInt(b, e.StartOffset, 10)
		b = append(b, '\n')
	}
	return b
}

func validUTF8(b []byte) bool { return utf8.Valid(b) }
