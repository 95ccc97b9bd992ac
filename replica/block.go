package replica

import "kafsck/batch"

// Flaw marks what is wrong with a block. Several can be set.
type Flaw uint8

const (
	// BadCRC: the stored CRC is not that of the bytes.
	BadCRC Flaw = 1 << iota
	// Unreadable: bytes stand here that are no batch; the offsets are those that
	// the neighbours leave open.
	Unreadable
	// SuspectBase: the base offset, which the CRC does not cover, contradicts both
	// neighbours; Base and Last are what the neighbours say.
	SuspectBase
	// SuspectEpoch: the leader epoch, which the CRC does not cover, contradicts its
	// neighbours and no witness supports it; Epoch is what the neighbours say.
	SuspectEpoch
	// Misplaced: the block starts below the end of those before it, so that its place
	// in the order of offsets is taken already.
	Misplaced
)

// Block is one batch (or one legacy message, or one unreadable stretch) of a
// log: enough to compare logs without their payload. It owns its memory.
type Block struct {
	Base, Last int64 // offsets, both inclusive, corrected where a flaw says so
	Epoch      int32 // leader epoch, corrected where a flaw says so; -1 unknown
	Flaws      Flaw

	WrittenBase   int64 // as the header says
	WrittenEpoch  int32
	CRC           uint32 // as the header says
	Codec         batch.Codec
	Attributes    batch.Attributes // of a message only codec and timestamp type
	Records       int32            // record count of the header; -1 unknown
	MaxTimestamp  int64            // ms since 1970, -1 none
	ProducerID    int64            // -1 none
	ProducerEpoch int16
	BaseSequence  int32
	Legacy        bool // message format 0 or 1
	Magic         int8 // the message format, 0 to 2

	spanWritten int64 // offsets that the header claims

	Segment  int   // index into Log.Segments
	Position int64 // byte position in that segment's file
	Length   int64 // bytes
}

// Next returns the exclusive end offset.
func (b *Block) Next() int64 { return b.Last + 1 }

// Whole reports whether the block's records can be believed where they stand: a
// wrong base offset or epoch leaves the records themselves intact.
func (b *Block) Whole() bool { return b.Flaws&(BadCRC|Unreadable|Misplaced) == 0 }

// SameRecords reports whether two blocks hold the same bytes under the CRC at
// the same offsets. The epoch may differ.
func (b *Block) SameRecords(o *Block) bool {
	return b.Whole() && o.Whole() && b.Base == o.Base && b.Last == o.Last && b.CRC == o.CRC && b.Length == o.Length
}

// Same reports whether two blocks are the same batch, epoch included, and
// neither has a flaw.
func (b *Block) Same(o *Block) bool {
	return b.Flaws == 0 && o.Flaws == 0 && b.Epoch == o.Epoch && b.SameRecords(o)
}

// Control reports whether the block is a control batch.
func (b *Block) Control() bool { return !b.Legacy && b.Attributes.Control() }

// LastSequence returns the sequence number of the last record, -1 without one.
func (b *Block) LastSequence() int32 {
	if b.BaseSequence < 0 {
		return -1
	}
	return batch.IncrementSequence(b.BaseSequence, int32(b.Last-b.Base))
}
