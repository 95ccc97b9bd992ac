package export

import (
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"kafsck/batch"
)

// A Parquet file has one row for each record; docs/export.md describes the columns. The
// names are those of the JSON lines.
//
//	record: partition, topicId, broker, …, offset, …, key?, value?
//	        headers[]: key (bytes), value?
//	        lost?: committed, acknowledged, cause, mark, markOffset?, duplicateBy?
//
// row and redactedRow list their columns one by one: a struct that both embed makes the same schema,
// but parquet.Read then takes missing optional columns of it for present ones.
type row struct {
	Partition        string      `parquet:"partition,dict"`
	TopicID          *string     `parquet:"topicId,optional,dict"`
	Broker           *int32      `parquet:"broker,optional"`
	BrokerName       *string     `parquet:"brokerName,optional,dict"`
	File             string      `parquet:"file,dict"`
	BatchPosition    int64       `parquet:"batchPosition"`
	Magic            int32       `parquet:"magic"`
	Codec            string      `parquet:"codec,dict"`
	Offset           int64       `parquet:"offset"`
	LeaderEpoch      int32       `parquet:"leaderEpoch"`
	TimestampMs      int64       `parquet:"timestampMs"`
	TimestampType    string      `parquet:"timestampType,dict"`
	Key              *[]byte     `parquet:"key,optional"`
	Value            *[]byte     `parquet:"value,optional"`
	Headers          []headerRow `parquet:"headers,list"`
	ProducerID       int64       `parquet:"producerId"`
	ProducerEpoch    int32       `parquet:"producerEpoch"`
	Sequence         int32       `parquet:"sequence"`
	Transactional    bool        `parquet:"transactional"`
	TransactionState string      `parquet:"transactionState,dict"`
	Control          bool        `parquet:"control"`
	ControlType      *string     `parquet:"controlType,optional,dict"`
	CoordinatorEpoch *int32      `parquet:"coordinatorEpoch,optional"`
	WrittenOffset    *int64      `parquet:"writtenOffset,optional"`
	WrittenEpoch     *int32      `parquet:"writtenLeaderEpoch,optional"`
	Lost             *lostRow    `parquet:"lost,optional"`
}

type headerRow struct {
	Key   []byte  `parquet:"key"`
	Value *[]byte `parquet:"value,optional"`
}

type lostRow struct {
	Committed    string  `parquet:"committed,dict"`
	Acknowledged string  `parquet:"acknowledged,dict"`
	Cause        string  `parquet:"cause,dict"`
	Mark         string  `parquet:"mark,dict"`
	MarkOffset   *int64  `parquet:"markOffset,optional"`
	DuplicateBy  *string `parquet:"duplicateBy,optional,dict"`
}

// redactedKey is the key in a file's metadata that says that it is redacted.
const redactedKey = "kafsck.redacted"

// A row group is written when its records have groupBytes bytes, or groupRows of them.
const (
	groupBytes = 16 << 20
	groupRows  = 100_000
)

// Parquet writes records as a Parquet file.
type Parquet struct {
	w      rowWriter
	put    func() error // writes row, without its payload where the file is redacted
	bytes  int64
	rows   int
	row    [1]row
	hidden [1]redactedRow
	// what the pointers of row point at
	headers []headerRow
	lost    lostRow
}

// rowWriter is a parquet.GenericWriter of either row.
type rowWriter interface {
	Flush() error
	Close() error
}

// NewParquet writes a file to out. made names the program and its version. redact leaves keys,
// values and header values out: their sizes and SHA-256 stay.
func NewParquet(out io.Writer, made string, redact bool) *Parquet {
	p := &Parquet{}
	options := []parquet.WriterOption{
		parquet.Compression(&parquet.Snappy),
		parquet.PageBufferSize(1 << 20),
		parquet.SkipPageBounds("value"), parquet.SkipPageBounds("key"),
		parquet.KeyValueMetadata("kafsck.version", made),
		parquet.KeyValueMetadata("kafsck.schema", "1"),
	}
	if redact {
		w := parquet.NewGenericWriter[redactedRow](out, append(options, parquet.KeyValueMetadata(redactedKey, "true"))...)
		p.w, p.put = w, func() error {
			p.hidden[0].take(&p.row[0])
			_, err := w.Write(p.hidden[:])
			return err
		}
		return p
	}
	w := parquet.NewGenericWriter[row](out, options...)
	p.w, p.put = w, func() error {
		_, err := w.Write(p.row[:])
		return err
	}
	return p
}

// Write adds a record.
func (p *Parquet) Write(r *Record) error {
	x := &p.row[0]
	*x = row{Partition: text(r.Partition), File: text(r.File), BatchPosition: r.Position, Magic: int32(r.Magic), Codec: r.Codec.String(),
		Offset: r.Offset, LeaderEpoch: r.LeaderEpoch, TimestampMs: r.Timestamp, TimestampType: r.TimestampType.String(),
		ProducerID: r.ProducerID, ProducerEpoch: int32(r.ProducerEpoch), Sequence: r.Sequence, Transactional: r.Transactional,
		TransactionState: string(r.State), Control: r.Control}
	if r.TopicID != "" {
		x.TopicID = &r.TopicID
	}
	if r.Broker >= 0 {
		x.Broker = &r.Broker
	} else {
		name := text(r.BrokerName)
		x.BrokerName = &name
	}
	if r.Key != nil {
		x.Key = &r.Key
	}
	if r.Value != nil {
		x.Value = &r.Value
	}
	if r.ControlType != "" {
		x.ControlType = &r.ControlType
	}
	if r.Coordinator >= 0 {
		x.CoordinatorEpoch = &r.Coordinator
	}
	if r.Misread {
		x.WrittenOffset, x.WrittenEpoch = &r.WrittenOffset, &r.WrittenEpoch
	}
	size := int64(len(r.Key)+len(r.Value)) + 64
	p.headers = p.headers[:0]
	for i := range r.Headers {
		h := &r.Headers[i]
		y := headerRow{Key: []byte(h.Key)}
		if h.Value != nil {
			y.Value = &h.Value
		}
		p.headers = append(p.headers, y)
		size += int64(len(h.Key)+len(h.Value)) + 16
	}
	x.Headers = p.headers
	if l := r.Lost; l != nil {
		p.lost = lostRow{Committed: l.Committed, Acknowledged: l.Acknowledged, Cause: l.Cause, Mark: string(l.Mark.Kind)}
		if l.Mark.Offset >= 0 {
			p.lost.MarkOffset = &l.Mark.Offset
		}
		if l.Mark.By != "" {
			p.lost.DuplicateBy = &l.Mark.By
		}
		x.Lost = &p.lost
	}
	if err := p.put(); err != nil {
		return err
	}
	p.bytes += size
	p.rows++
	if p.bytes >= groupBytes || p.rows >= groupRows {
		p.bytes, p.rows = 0, 0
		return p.w.Flush()
	}
	return nil
}

// Close ends the file. It does not close what it writes to.
func (p *Parquet) Close() error { return p.w.Close() }

// text is s for a column of text, which must be UTF-8.
func text(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return fmt.Sprintf("%q", s)
}

// ReadParquet returns the records of a file that Parquet wrote, all at once: for small ones.
// Origin is not set. ErrRedacted: the file has no keys and values.
func ReadParquet(in io.ReaderAt, size int64) ([]*Record, error) {
	f, err := parquet.OpenFile(in, size)
	if err != nil {
		return nil, err
	}
	if _, redacted := f.Lookup(redactedKey); redacted {
		return nil, ErrRedacted
	}
	rows, err := parquet.Read[row](in, size)
	if err != nil {
		return nil, err
	}
	out := make([]*Record, 0, len(rows))
	for i := range rows {
		x := &rows[i]
		r := &Record{Place: Place{Partition: x.Partition, TopicID: or(x.TopicID, ""), BrokerName: or(x.BrokerName, ""), Broker: or(x.Broker, -1), File: x.File, Position: x.BatchPosition}, Magic: int8(x.Magic),
			Offset: x.Offset, WrittenOffset: or(x.WrittenOffset, x.Offset), LeaderEpoch: x.LeaderEpoch, WrittenEpoch: or(x.WrittenEpoch, x.LeaderEpoch), Misread: x.WrittenOffset != nil,
			Timestamp: x.TimestampMs, Key: bytesOf(x.Key), Value: bytesOf(x.Value), ProducerID: x.ProducerID, ProducerEpoch: int16(x.ProducerEpoch), Sequence: x.Sequence,
			Transactional: x.Transactional, State: TransactionState(x.TransactionState), Control: x.Control, ControlType: or(x.ControlType, ""), Coordinator: or(x.CoordinatorEpoch, -1)}
		if r.TimestampType, err = timestampTypeOf(x.TimestampType); err != nil {
			return nil, fmt.Errorf("row %d: %w", i, err)
		}
		r.Codec = codecOf(x.Codec)
		for _, h := range x.Headers {
			r.Headers = append(r.Headers, batch.RecordHeader{Key: string(h.Key), Value: bytesOf(h.Value)})
		}
		if l := x.Lost; l != nil {
			r.Lost = &Lost{Committed: l.Committed, Acknowledged: l.Acknowledged, Cause: l.Cause, Mark: Mark{Kind: MarkKind(l.Mark), Offset: or(l.MarkOffset, -1), By: or(l.DuplicateBy, "")}}
		}
		out = append(out, r)
	}
	return out, nil
}
