package segment

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"kafsck/batch"
)

const (
	snapshotHead = 10
	// SnapshotEntrySize is the size of a producer in a .snapshot, in bytes.
	SnapshotEntrySize = 46
	// MaxSnapshot is the size in bytes up to which a .snapshot is read: 1.4 million producers.
	MaxSnapshot = 64 << 20
)

// ProducerSnapshot is a .snapshot: the producers that the broker knew at the offset in the
// file's name, which is the end of that state, exclusive.
//
//	0     2          6          10
//	+-----+----------+----------+----------+----------+ ...
//	|  1  |  CRC-32C |  count   | producer | producer |
//	| ver.| of 6 … end          |          |          |
//	+-----+----------+----------+----------+----------+ ...
//
// Source: org.apache.kafka.storage.internals.log.ProducerStateManager.readSnapshot and
// ProducerSnapshot.json.
type ProducerSnapshot struct {
	Version     int16 // 1
	StoredCRC   uint32
	ComputedCRC uint32 // CRC-32C of the bytes from 6 to the end of the file; 0 of a short file
	Count       int32  // of producers, as written
	// Producers are those that are whole in the file, at most Count; nil where Problem
	// says that version or size are not to be read.
	Producers []ProducerEntry
	// Problem is nil if Kafka reads the file. It deletes one that it does not read, takes the
	// next older snapshot, and reads the log from there on.
	Problem *SnapshotProblem
	// TrailingBytes stand behind Count producers. Kafka ignores them if the CRC verifies.
	TrailingBytes int64
	// CRCWithoutTrailing is the CRC-32C without them: Kafka writes a snapshot over an
	// older one without cutting it, so that the end of a longer one may be left.
	CRCWithoutTrailing uint32
}

// ProducerPos is the position of a producer in a .snapshot, in bytes; number is 0-based.
func ProducerPos(number int) int64 { return snapshotHead + int64(number)*SnapshotEntrySize }

// ProducerEntry is a producer in a .snapshot. Only its last batch is stored.
//
//	0          8   10      14         22      26         34      38         46
//	+----------+---+-------+----------+-------+----------+-------+----------+
//	| producer |ep.| last  |   last   | offset| timestamp| coord.| current  |
//	|    id    |   |sequen.|  offset  | delta |          | epoch | txn first|
//	+----------+---+-------+----------+-------+----------+-------+----------+
type ProducerEntry struct {
	ProducerID            int64
	ProducerEpoch         int16
	LastSequence          int32 // of the last batch; -1 none
	LastOffset            int64 // of the last batch, inclusive; -1 none
	OffsetDelta           int32 // from the first to the last offset of that batch
	Timestamp             int64 // ms: the largest of the last batch, or of the marker
	CoordinatorEpoch      int32 // of the last marker; -1 none
	CurrentTxnFirstOffset int64 // of the open transaction; -1 none
}

// HasBatch reports whether a last batch is known; of a producer of which only a marker
// was seen there is none, and the fields about it mean nothing.
func (e *ProducerEntry) HasBatch() bool { return e.LastOffset >= 0 }

// FirstOffset is the first offset of the last batch.
func (e *ProducerEntry) FirstOffset() int64 { return e.LastOffset - int64(e.OffsetDelta) }

// FirstSequence is the sequence of the first record of the last batch, -1 without one.
func (e *ProducerEntry) FirstSequence() int32 {
	if e.LastSequence == -1 {
		return -1
	}
	return batch.DecrementSequence(e.LastSequence, e.OffsetDelta)
}

// SnapshotProblem says why a .snapshot is not sound.
type SnapshotProblem struct {
	// Kind is
	//	short     less than 10 bytes
	//	version   not 1
	//	crc       the CRC does not verify
	//	count     below 0, or more producers than there are bytes for
	//	too large more than MaxSnapshot bytes. A limit of ours: the file may be sound
	Kind      string
	Position  int64 // in the file, of what is wrong
	Want, Got string
}

func (p *SnapshotProblem) Error() string {
	switch p.Kind {
	case "short":
		return p.Got + ", want " + p.Want
	case "crc":
		return fmt.Sprintf("the CRC does not verify: %s is stored, the bytes give %s", p.Got, p.Want)
	}
	return fmt.Sprintf("%s at position %d: %s, want %s", p.Kind, p.Position, p.Got, p.Want)
}

// Limit reports that a limit of ours was reached: nothing is wrong with the bytes.
func (p *SnapshotProblem) Limit() bool { return p.Kind == "too large" }

// ReadSnapshot reads a .snapshot of size bytes. What can be decoded is, even if the CRC does
// not verify. The first problem in the order of SnapshotProblem.Kind is the one that is told.
//
// The error is nil or a *ReadError; then nothing else is returned.
func ReadSnapshot(r io.ReaderAt, size int64) (*ProducerSnapshot, error) {
	s := new(ProducerSnapshot)
	if size < snapshotHead {
		s.Problem = &SnapshotProblem{Kind: "short", Position: max(size, 0), Want: "at least 10 bytes", Got: fmt.Sprintf("the file has %d bytes", max(size, 0))}
		return s, nil
	}
	var head [snapshotHead]byte
	if _, err := readFull(r, head[:], 0); err != nil {
		return nil, err
	}
	s.Version = int16(binary.BigEndian.Uint16(head[0:]))
	s.StoredCRC = binary.BigEndian.Uint32(head[2:])
	s.Count = int32(binary.BigEndian.Uint32(head[6:]))
	switch {
	case s.Version != 1:
		s.Problem = &SnapshotProblem{Kind: "version", Position: 0, Want: "1", Got: fmt.Sprint(s.Version)}
		return s, nil
	case size > MaxSnapshot:
		s.Problem = &SnapshotProblem{Kind: "too large", Position: MaxSnapshot, Want: fmt.Sprintf("at most %d bytes", MaxSnapshot), Got: fmt.Sprintf("%d bytes", size)}
		return s, nil
	}

	room := (size - snapshotHead) / SnapshotEntrySize
	whole := min(max(int64(s.Count), 0), room)
	end := snapshotHead + whole*SnapshotEntrySize
	if int64(s.Count) == whole {
		s.TrailingBytes = size - end
	}
	if err := s.content(r, head[6:], whole, end, size); err != nil {
		return nil, err
	}
	switch {
	case s.StoredCRC != s.ComputedCRC:
		s.Problem = &SnapshotProblem{Kind: "crc", Position: 2, Want: "0x" + hex32(s.ComputedCRC), Got: "0x" + hex32(s.StoredCRC)}
	case int64(s.Count) != whole:
		s.Problem = &SnapshotProblem{Kind: "count", Position: 6, Want: fmt.Sprintf("0 to %d", room), Got: fmt.Sprint(s.Count)}
	}
	return s, nil
}

// content reads the producers, which end before end, and computes the CRCs. covered are the
// bytes before that the CRC covers.
func (s *ProducerSnapshot) content(r io.ReaderAt, covered []byte, whole, end, size int64) error {
	crc := crc32.Update(0, castagnoli, covered)
	// Memory follows the bytes of the file, not the count: whole producers are there.
	s.Producers = make([]ProducerEntry, 0, whole)
	buf := make([]byte, min(size-snapshotHead, entryBuffer/SnapshotEntrySize*SnapshotEntrySize))
	for pos := int64(snapshotHead); pos < size; {
		stop := size
		if pos < end {
			stop = end
		}
		p := buf[:min(stop-pos, int64(len(buf)))]
		if _, err := readFull(r, p, pos); err != nil {
			return err
		}
		crc = crc32.Update(crc, castagnoli, p)
		if pos < end {
			for b := p; len(b) > 0; b = b[SnapshotEntrySize:] {
				s.Producers = append(s.Producers, producerEntry((*[SnapshotEntrySize]byte)(b)))
			}
		}
		if pos += int64(len(p)); pos == end {
			s.CRCWithoutTrailing = crc
		}
	}
	if end == snapshotHead {
		s.CRCWithoutTrailing = crc32.Update(0, castagnoli, covered)
	}
	s.ComputedCRC = crc
	return nil
}

func producerEntry(b *[SnapshotEntrySize]byte) ProducerEntry {
	return ProducerEntry{
		ProducerID:            int64(be64(b[0:])),
		ProducerEpoch:         int16(binary.BigEndian.Uint16(b[8:])),
		LastSequence:          int32(be32(b[10:])),
		LastOffset:            int64(be64(b[14:])),
		OffsetDelta:           int32(be32(b[22:])),
		Timestamp:             int64(be64(b[26:])),
		CoordinatorEpoch:      int32(be32(b[34:])),
		CurrentTxnFirstOffset: int64(be64(b[38:])),
	}
}
