package segment

import (
	"errors"
	"fmt"
	"io/fs"

	"kafsck/batch"
)

// FrameKind says what a frame is.
type FrameKind uint8

const (
	// Batch is a record batch of magic 2 (3 and above are read like it, as Kafka does).
	Batch FrameKind = iota
	// Legacy is one message of magic 0 or 1; a compressed wrapper is one message.
	Legacy
	// Zeros is a run of zero bytes where a header should be: the preallocated or never
	// flushed end of the file, or a hole. Bytes 0x00 inside a batch are not meant. It
	// may take up to 11 zero bytes of a damaged header behind it.
	Zeros
	// Torn is the end of the file: a header that claims more bytes than there are, with no
	// later batch behind it, or 17 bytes and less, which Kafka ignores.
	Torn
	// Junk is what lies between the place where the chain broke and where it goes on.
	Junk
	// Embedded is a batch with a CRC that verifies, found while searching, that cannot
	// be part of the log: its offsets do not fit, or it lies inside a damaged batch.
	Embedded
)

var kindNames = [...]string{"batch", "legacy", "zeros", "torn", "junk", "embedded"}

// String returns the kind's name in lower case.
func (k FrameKind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Frame is a stretch of the file. Frames of one scan tile it.
type Frame struct {
	Kind     FrameKind
	Pos, Len int64 // bytes in the file, [Pos, Pos+Len)

	// Claimed is the size in bytes, 12 + length field, that the header at Pos claims, as
	// Kafka would read it. It differs from Len where the length is damaged or the batch
	// torn, and may be negative. 0 for Zeros, and where no header was expected (Junk
	// behind other Junk) or fewer than 12 bytes are left.
	Claimed int64

	// Batch is set for Batch and, unless it is a message, Embedded. Header.Length is what
	// the bytes say, right or not. Raw is the whole frame, or nil if it is larger than MaxRaw.
	Batch batch.View
	// Legacy is set for Legacy, and for an Embedded message: then Batch.Raw is nil.
	Legacy batch.LegacyHeader
	// Raw is the whole frame for Batch, Embedded and Legacy (nil above MaxRaw), nil for
	// the other kinds. Borrowed until the next step of the iteration.
	Raw []byte

	// Damage is nil or a *batch.Error; its Pos counts from the frame's first byte.
	//
	//	Batch     ErrCRC     the CRC does not verify
	//	          ErrLength  it verifies over Len bytes, not over Claimed: only the length is damaged
	//	          ErrMagic   it verifies as magic 2, but the magic byte is another one
	//	Legacy    ErrCRC
	//	Torn      ErrLength
	//	Junk      what was wrong with the header at Pos: ErrLength, ErrCRC or ErrMagic; ErrNoBatch
	//	          where none was expected; ErrBudget
	//	Zeros, Embedded: nil
	Damage error
}

// End is the position behind the frame.
func (f *Frame) End() int64 { return f.Pos + f.Len }

var (
	// ErrNoBatch: no header with sane values stands here.
	ErrNoBatch = errors.New("no batch")
	// ErrBudget: the search for the next batch was given up, because it would have read
	// the file too often. The frame may hold sound batches.
	ErrBudget = errors.New("search given up")
)

// ReadError is a failed read: nothing is known about the bytes. It is never damage and
// never wraps a sentinel of package batch or of this one.
type ReadError struct {
	Path     string // empty if the reader has no name; Scan does not know it
	Op       string // "read", "open"
	Pos, Len int64  // the bytes that could not be read; Len may be larger than what failed
	// Err is what the reader said, or io.ErrUnexpectedEOF if the file is shorter than its
	// size said: it was cut while it was read.
	Err error
}

func (e *ReadError) Error() string {
	name := e.Path
	if name != "" {
		name += ": "
	}
	if e.Op != "read" {
		return fmt.Sprintf("%s%s: %v", name, e.Op, e.Err)
	}
	return fmt.Sprintf("%s%s %d bytes at position %d: %v", name, e.Op, e.Len, e.Pos, e.Err)
}

func (e *ReadError) Unwrap() error { return e.Err }

// PlainCause takes the paths out of an error that is told with the path that a user
// knows: those in it are relative to the tree that was opened.
func PlainCause(err error) error {
	if re, ok := errors.AsType[*ReadError](err); ok {
		plain := *re
		plain.Path, plain.Err = "", PlainCause(re.Err)
		return &plain
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		if pe.Op == "read" {
			return pe.Err
		}
		return fmt.Errorf("%s: %w", pe.Op, pe.Err)
	}
	return err
}
