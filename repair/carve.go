package repair

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"

	"kafsck/epoch"
	"kafsck/logdir"
	"kafsck/segment"
)

// CarveOptions steer Carve.
type CarveOptions struct {
	// File is the path of the file as it was typed; Size its bytes, below 0 not known.
	File string
	Size int64
	// Within names the partition directory that the file is a segment of by its own path and name:
	// "t-0", "" none; WithinID is the topic id beside it.
	Within, WithinID string
	// Known are log directories whose batches tell which partition a carved one is of, nil none.
	Known *logdir.Case
	Match func(topic string, partition int32) bool // of Known; nil all
	// Each is told of everything that is found, as it is found; nil nobody.
	Each func(x *segment.Carved)
	// Progress is told of bytes that were searched.
	Progress func(n int64)
	// Hash also takes the SHA-256 of the file.
	Hash bool
	// Hole tells of holes in the file, as segment.CarveOptions.Hole; nil nobody.
	Hole func(pos int64) (end int64)
}

// Carving is what raw bytes hold: batches, sorted into likely logs.
//
//	file     | A0–9 | garbage | B0–4 | A10–19 | zeros | B5–9 | A0–9 again | C 10–19, other content |
//	pieces     a       .         b      c         .       d       (a)           e
//	logs     log 1: a c      log 2: b d      log 3: e, the same offsets as c with other content
//
// A piece is a run of batches that lie one behind the other and continue each other's offsets. Two
// pieces are put into one log only for a reason that is told: the same batches, an offset that goes
// on exactly where no other piece does as well, a producer's sequence numbers, a damaged batch
// between them whose header joins both. What could go on in several places stays apart.
type Carving struct {
	File   string
	Size   int64  // bytes that were there
	SHA256 string // "" not taken, or a part could not be read
	Stats  segment.CarveStats

	Batches  int64 // with a CRC that verifies, the following ones too
	Messages int64 // of them messages of magic 0 and 1
	Again    int64 // the same batch found another time, of the same log
	Embedded int64 // in the bytes of a damaged batch: images in a value, no data
	Cut      int64 // data in bytes that a damaged batch claims, which ends before them
	Lone     int64 // messages for which nothing speaks but a CRC over few bytes
	Amid     int64 // amid bytes of no batch in which no offset is missing: maybe the content of a value
	Loose    int64 // batches with an offset that may be of another block of the file system
	// Snapshots of the cluster metadata (*.checkpoint) are batches too, with offsets of their own from 0.
	Snapshots, SnapshotBatches int64
	Damaged                    int64 // batches between sound ones, with a CRC that does not verify
	Unread                     []segment.ReadError
	Unsorted                   int64 // batches behind more pieces than are kept

	Logs  []CarvedLog
	Apart []CarvedPiece // embedded and loose batches, lone messages and metadata snapshots: in no log

	// Known counts the batches of the PATHs that were compared, KnownErrors are failed reads there.
	Known       int64
	KnownErrors []logdir.PathError
}

// CarvedLog is a likely partition, or one history of it.
type CarvedLog struct {
	Number int // from 1
	// Partition is its proved name, "" not known; Named says how it is proved.
	Partition, TopicID string
	Named              string
	Proved             int64 // batches that stand in a log of this partition
	// Dir is the partition directory that the log is written to: "orders-0", "carved-2".
	Dir string
	// Place is 0 for the first log of a name, in "salvaged"; others of that name are in places of their own,
	// "salvaged-b" and so on, so that kafsck salvage takes each for a copy of the partition.
	Place int

	From, To     int64 // offsets, To exclusive
	Batches      int64
	Records      int64
	Bytes        int64
	Epochs       epoch.Cache // from the headers
	Codecs       []string
	Magic        [2]int8 // lowest and highest
	First, Last  int64   // largest timestamps of its first and last batch with one, ms; -1 none
	Transactions bool
	Cleaned      int64       // holes between batches inside pieces: compaction, if nothing was lost
	Holes        []CarvedGap // between pieces
	Again        int64       // of its batches that were found more than once
	// Assumed says what puts the pieces together, each a sentence; Doubts what speaks for another
	// reading.
	Assumed, Doubts []string
	Pieces          []CarvedPiece // ascending offsets

	ruling bool  // it has batches of the newest leader's epoch, by the metadata
	led    int64 // of its batches, those in the live log of the leader
}

// CarvedGap is a range of offsets [From, To) that no piece of the log has.
type CarvedGap struct {
	From, To int64
	// Damaged is the position of a damaged batch that stands there, -1 none.
	Damaged, Length int64
}

// CarvedPiece is a run of batches in the file.
type CarvedPiece struct {
	Pos, Len int64 // bytes
	From, To int64 // offsets
	Batches  int64
	// Outer is the damaged batch that claims the bytes, -1 none. Embedded, Lone: see segment.Carved.
	Outer          int64
	Embedded, Lone bool
	Loose          bool // see segment.Carved
	Amid           bool // it may be the content of a value: see Carving.Amid
	Snapshot       bool // a snapshot of the cluster metadata: no log

	of *run
}

// Carve searches a file for batches, and sorts them. r is read once, and in parts again where pieces
// hold the same batches or offsets.
//
// The error is ctx's. What could not be read is in Carving.Unread.
func Carve(ctx context.Context, r io.ReaderAt, opt CarveOptions) (*Carving, error) {
	c := &carving{ctx: ctx, r: r, opt: opt, ids: map[string]string{}, told: &Carving{File: opt.File, Apart: []CarvedPiece{}}}
	hash := sha256.New()
	scan := segment.CarveOptions{Size: opt.Size, Hole: opt.Hole, Progress: opt.Progress, Stats: &c.told.Stats}
	if opt.Hash {
		scan.Tee = func(b []byte) { hash.Write(b) }
	}
	for x, err := range segment.Carve(ctx, r, scan) {
		if err != nil {
			return nil, err
		}
		if opt.Each != nil {
			opt.Each(x)
		}
		c.take(x)
	}
	c.told.Size = c.told.Stats.Bytes
	if opt.Hash && c.told.Stats.Unread == 0 {
		c.told.SHA256 = hex.EncodeToString(hash.Sum(nil))
	}
	c.amid()
	if err := c.names(); err != nil {
		return nil, err
	}
	if err := c.same(); err != nil {
		return nil, err
	}
	c.join()
	c.tell()
	return c.told, ctx.Err()
}
