package checkpoint

import "strconv"

// OffsetEntry is one line of an offset checkpoint.
type OffsetEntry struct {
	Topic     string // as written; its characters are not checked
	Partition int32  // as written, may be negative
	Offset    int64  // high watermark, recovery point, log start offset or first dirty offset; may be negative
}

// OffsetFile is a parsed offset checkpoint.
type OffsetFile struct {
	Version   int           // 0 if there is no version line or it is no number
	Entries   []OffsetEntry // those that parse, as written; a partition may occur more than once
	Malformed *Malformed    // nil if Kafka accepts the file

	index map[topicPartition]int // position in Entries of the last line of each partition
}

type topicPartition struct {
	topic     string
	partition int32
}

// ParseOffsets reads a replication-offset-, recovery-point-offset-,
// log-start-offset- or cleaner-offset-checkpoint (OffsetCheckpointFile.Formatter).
func ParseOffsets(b []byte) *OffsetFile {
	f := &OffsetFile{index: map[topicPartition]int{}}
	f.Malformed = parseFile(b, &f.Version, func(number int, line []byte) *Malformed {
		token := splitSpace(line, 3)
		if len(token) != 3 {
			return malformed(number, line, "malformed line: want a topic, a partition and an offset")
		}
		partition, ok := parseInt(token[1])
		if !ok {
			return unchecked(number, line, "partition is not a 32-bit number: "+strconv.QuoteToASCII(clip(token[1])))
		}
		offset, ok := parseLong(token[2])
		if !ok {
			return unchecked(number, line, "offset is not a 64-bit number: "+strconv.QuoteToASCII(clip(token[2])))
		}
		e := OffsetEntry{Topic: string(token[0]), Partition: partition, Offset: offset}
		f.index[topicPartition{e.Topic, partition}] = len(f.Entries)
		f.Entries = append(f.Entries, e)
		return nil
	})
	return f
}

// Lookup returns the offset of a partition; of several lines the last one wins,
// as in Kafka. ok is false if no line names the partition.
func (f *OffsetFile) Lookup(topic string, partition int32) (offset int64, ok bool) {
	if f.index == nil { // built by hand rather than by ParseOffsets
		for i := len(f.Entries) - 1; i >= 0; i-- {
			if e := f.Entries[i]; e.Topic == topic && e.Partition == partition {
				return e.Offset, true
			}
		}
		return 0, false
	}
	i, ok := f.index[topicPartition{topic, partition}]
	if !ok {
		return 0, false
	}
	return f.Entries[i].Offset, true
}

// FormatOffsets writes entries as Kafka does on Unix, in the order given.
func FormatOffsets(entries []OffsetEntry) []byte {
	b := []byte("0\n")
	b = strconv.AppendInt(b, int64(len(entries)), 10)
	b = append(b, '\n')
	for _, e := range entries {
		b = append(b, e.Topic...)
		b = append(b, ' ')
		b = strconv.AppendInt(b, int64(e.Partition), 10)
		b = append(b, ' ')
		b = strconv.AppendInt(b, e.Offset, 10)
		b = append(b, '\n')
	}
	return b
}
