package segment

import (
	"context"
	"io"
	"iter"

	"kafsck/batch"
)

// CarveOptions steer Carve.
type CarveOptions struct {
	// Size in bytes; below 0: not known, Carve reads until the end comes.
	Size int64
	// Tee is given all bytes in their order, zeros in the place of what could not be read: to
	// hash them in passing. It runs beside the search and must not keep b.
	Tee func(b []byte)
	// Progress is told of bytes that were searched.
	Progress func(n int64)
	// Stats, if not nil, is filled in by the end.
	Stats *CarveStats

	// Hole, if not nil, is told a position of a file of known Size and says where the hole that it lies
	// in ends: bytes that the file system does not keep and gives as zeros. Without a hole there, or
	// where that is not known, it returns the position. Long holes are then passed over, unread.
	Hole func(pos int64) (end int64)

	reach int // tests: the largest batch in memory, in place of carveReach
}

// CarveStats is what a search has cost, and what it left out.
type CarveStats struct {
	Bytes int64 // searched
	Read  int64 // asked of the reader, retries behind bad sectors too; at most 4 times the file and a little
	Zeros int64 // bytes in long runs of zeros, holes too
	Holes int64 // bytes in holes, which were not read
	// Unread bytes could not be read.
	Unread int64
	// Untested counts positions that look like a header of a batch too large for memory whose CRC
	// was not computed, as that would have read the file too often. Untested positions may hold
	// sound batches. FirstUntested is the first of them.
	Untested      int64
	FirstUntested int64
}

// CarvedKind says what Carve found.
type CarvedKind uint8

const (
	// CarvedBatch is a batch of magic 2 with a CRC that verifies.
	CarvedBatch CarvedKind = iota
	// CarvedMessage is a message of magic 0 or 1 with a CRC that verifies, and a key and a value
	// that fill it.
	CarvedMessage
	// CarvedDamaged is a header between two sound batches that its offset and its length join,
	// with a CRC that does not verify. It is told just before the second of them.
	CarvedDamaged
	// CarvedUnread are bytes that could not be read. Nothing is known of them.
	CarvedUnread
)

// Carved is one thing that Carve found.
type Carved struct {
	Kind     CarvedKind
	Pos, Len int64 // bytes, [Pos, Pos+Len)

	Header batch.Header       // CarvedBatch; of CarvedDamaged as it stands there
	Legacy batch.LegacyHeader // CarvedMessage
	// Raw is the whole batch or message, borrowed until the next step; nil where it is larger
	// than 4 MiB.
	Raw []byte

	// Outer is the position of a damaged batch or message that claims the bytes, -1 none.
	// Embedded: that claim holds, so this is the image of a batch in a record's value, and no
	// data of the log around it. With an Outer and not Embedded the damaged one is cut off
	// before, as far as its records and the bytes behind it tell.
	Outer    int64
	Embedded bool
	// Lone is a message that no other one follows or precedes and that holds none: a CRC over a
	// few bytes proves little.
	Lone bool
	// Loose: base offset and leader epoch, which no CRC covers, lie in front of a multiple of 512, so
	// that they may be of another block of a file system than what follows; and neither the batch
	// before nor the one behind bears the offset out.
	Loose bool
	// Err of CarvedUnread is a *ReadError.
	Err error
}

// End is the position behind it.
func (c *Carved) End() int64 { return c.Pos + c.Len }

// Carve finds the record batches in any bytes: a disk image, a swap partition, a file of which
// nothing is known. Positions are those in r.
//
//	0         4096      8192           12288                      size
//	+---------+---------+---------+----+----+---------+ - - - - - +---
//	| ext4 …  |0000|batch|batch|ba| of another file |zeros … | batch|…
//	+---------+---------+---------+----+----+---------+ - - - - - +---
//	               ^sound ^sound ^torn: its length reaches over      ^sound
//	                              bytes that are not its own
//
// A batch counts when every field of its header has a value that a writer could have written and
// its CRC-32C verifies over the length that it claims: one position in about 2⁷⁰ of random bytes.
// A message of magic 0 or 1 must besides be filled by its key and value. Base offset and leader
// epoch are outside the CRC: see Carved.Loose. What lies inside a
// sound batch belongs to it, and is not looked at: a value may hold a whole segment.
//
//	sound outer    |hdr| record | record: value = |batch|batch| | record |     one batch, nothing inside
//	damaged outer  |hdr| record | record: value = |batch|batch| | reco X |next  2 × embedded, damaged, next
//	torn outer     |hdr| record | re|… other file's block …|batch|batch|…      data: the claim does not hold
//
// The claim of a damaged batch to the bytes behind its header holds if its records frame the
// image on both sides, or if another header that continues its offsets, the end of the file, or
// zeros stand where its length ends; and not if a sound batch lies across that end. What follows
// a sound batch at its end and continues its offset claims bytes too, whatever else is wrong with it.
//
// # Cost
//
// The bytes are read once, in order, 4 MiB ahead. Batches of up to 4 MiB are checked in memory;
// larger ones by reading ahead, which happens to at most twice the file. Where many headers do not
// verify, their CRCs come from those of the window's prefixes,
//
//	CRC(s … e) = CRC(0 … e) xor CRC(0 … s) · x^(8(e-s))    mod the polynomial
//
// so that a file in which every position looks like a header costs a constant time a byte. Memory
// is 16 MiB.
//
// Damage to the medium does not end the search: unreadable bytes are yielded as CarvedUnread and
// passed over, 4 KiB at a time. A non-nil error is that of ctx, and comes last.
func Carve(ctx context.Context, r io.ReaderAt, opt CarveOptions) iter.Seq2[*Carved, error] {
	return func(yield func(*Carved, error) bool) {
		c := newCarver(ctx, r, opt)
		defer c.w.settle()
		if err := c.run(yield); err != nil {
			yield(nil, err)
		}
		if opt.Stats != nil {
			*opt.Stats = c.stats
		}
	}
}
