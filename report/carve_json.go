package report

import (
	"kafsck/repair"
	"kafsck/segment"
)

// carvedBatchLine is a batch or message that was found in raw bytes, told as it is found.
type carvedBatchLine struct {
	Type           string  `json:"type"` // "carved-batch"
	File           string  `json:"file"`
	Position       int64   `json:"position"`
	Length         int64   `json:"length"`
	Magic          int8    `json:"magic"`
	From           int64   `json:"from"`
	To             int64   `json:"to"`
	Epoch          *int32  `json:"epoch"`
	CRC            string  `json:"crc"`
	Records        *int32  `json:"records"`
	Codec          string  `json:"codec"`
	MaxTimestamp   *string `json:"maxTimestamp"`
	MaxTimestampMs *int64  `json:"maxTimestampMs"`
	ProducerID     int64   `json:"producerId"`
	ProducerEpoch  int16   `json:"producerEpoch"`
	BaseSequence   int32   `json:"baseSequence"`
	Transactional  bool    `json:"transactional"`
	Control        bool    `json:"control"`
	Embedded       bool    `json:"embedded"`
	Outer          *int64  `json:"outer"`
	Lone           bool    `json:"lone"`
	Loose          bool    `json:"loose"`
}

type carvedDamagedLine struct {
	Type     string `json:"type"` // "carved-damaged"
	File     string `json:"file"`
	Position int64  `json:"position"`
	Length   int64  `json:"length"`
	From     int64  `json:"from"`
	Embedded bool   `json:"embedded"`
}

type carvedUnreadLine struct {
	Type     string `json:"type"` // "carved-unread"
	File     string `json:"file"`
	Position int64  `json:"position"`
	Length   int64  `json:"length"`
	Message  string `json:"message"`
}

type carvedLogLine struct {
	Type      string  `json:"type"` // "carved-log"
	Log       int     `json:"log"`
	Partition *string `json:"partition"`
	TopicID   *string `json:"topicId"`
	Named     *string `json:"named"`
	Dir       string  `json:"dir"`

	From         int64      `json:"from"`
	To           int64      `json:"to"`
	Batches      int64      `json:"batches"`
	Records      int64      `json:"records"`
	Bytes        int64      `json:"bytes"`
	Epochs       [][2]int64 `json:"epochs"`
	Magic        [2]int8    `json:"magic"`
	Codecs       []string   `json:"codecs"`
	FirstTime    *string    `json:"firstTimestamp"`
	FirstTimeMs  *int64     `json:"firstTimestampMs"`
	LastTime     *string    `json:"lastTimestamp"`
	LastTimeMs   *int64     `json:"lastTimestampMs"`
	Transactions bool       `json:"transactions"`
	Again        int64      `json:"again"`
	Cleaned      int64      `json:"cleaned"`
	Holes        int        `json:"holes"`
	Pieces       int        `json:"pieces"`
	Assumed      []string   `json:"assumed"`
	Doubts       []string   `json:"doubts"`
}

type carvedPieceLine struct {
	Type     string `json:"type"` // "carved-piece"
	Log      *int   `json:"log"`  // null: in none
	File     string `json:"file"`
	Position int64  `json:"position"`
	Length   int64  `json:"length"`
	From     int64  `json:"from"`
	To       int64  `json:"to"`
	Batches  int64  `json:"batches"`
	Embedded bool   `json:"embedded"`
	Outer    *int64 `json:"outer"`
	Lone     bool   `json:"lone"`
	Loose    bool   `json:"loose"`
	Amid     bool   `json:"amid"`
	Snapshot bool   `json:"snapshot"`
}

type carvedHoleLine struct {
	Type     string `json:"type"` // "carved-hole"
	Log      int    `json:"log"`
	From     int64  `json:"from"`
	To       int64  `json:"to"`
	Position *int64 `json:"damagedPosition"`
	Length   *int64 `json:"damagedLength"`
}

type carvingLine struct {
	Type          string  `json:"type"` // "carving"
	File          string  `json:"file"`
	Bytes         int64   `json:"bytes"`
	SHA256        *string `json:"sha256"`
	BytesRead     int64   `json:"bytesRead"`
	Zeros         int64   `json:"zeroBytes"`
	Holes         int64   `json:"holeBytes"`
	UnreadBytes   int64   `json:"unreadBytes"`
	Batches       int64   `json:"batches"`
	Messages      int64   `json:"messages"`
	Again         int64   `json:"again"`
	Embedded      int64   `json:"embedded"`
	Cut           int64   `json:"insideCutOff"`
	Lone          int64   `json:"lone"`
	Loose         int64   `json:"loose"`
	Amid          int64   `json:"amid"`
	Snapshots     int64   `json:"snapshots"`
	Damaged       int64   `json:"damaged"`
	Untested      int64   `json:"untested"`
	FirstUntested *int64  `json:"firstUntested"`
	Unsorted      int64   `json:"unsorted"`
	KnownBatches  int64   `json:"knownBatches"`
}

// Carved writes what was found, as it is found.
func (j *JSON) Carved(file string, x *segment.Carved) {
	switch x.Kind {
	case segment.CarvedUnread:
		j.Line(carvedUnreadLine{"carved-unread", file, x.Pos, x.Len, x.Err.Error()})
	case segment.CarvedDamaged:
		j.Line(carvedDamagedLine{"carved-damaged", file, x.Pos, x.Len, x.Header.BaseOffset, x.Embedded})
	case segment.CarvedMessage:
		h := &x.Legacy
		l := carvedBatchLine{Type: "carved-batch", File: file, Position: x.Pos, Length: x.Len, Magic: h.Magic, From: h.Offset, To: h.Offset + 1, CRC: hex32(h.CRC), Codec: h.Codec().String(),
			ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1, Embedded: x.Embedded, Outer: atLeast0(x.Outer), Lone: x.Lone, Loose: x.Loose}
		l.MaxTimestamp, l.MaxTimestampMs = timestamp(h.Timestamp)
		j.Line(&l)
	default:
		h := &x.Header
		l := carvedBatchLine{Type: "carved-batch", File: file, Position: x.Pos, Length: x.Len, Magic: h.Magic, From: h.BaseOffset, To: h.NextOffset(), Epoch: &h.PartitionLeaderEpoch, CRC: hex32(h.CRC), Records: &h.RecordCount,
			Codec: h.Attributes.Codec().String(), ProducerID: h.ProducerID, ProducerEpoch: h.ProducerEpoch, BaseSequence: h.BaseSequence,
			Transactional: h.Attributes.Transactional(), Control: h.Attributes.Control(), Embedded: x.Embedded, Outer: atLeast0(x.Outer), Loose: x.Loose}
		l.MaxTimestamp, l.MaxTimestampMs = timestamp(h.MaxTimestamp)
		j.Line(&l)
	}
}

// Carving writes the likely logs with their pieces and holes, what is in none, and the whole.
func (j *JSON) Carving(t *repair.Carving) {
	for i := range t.Logs {
		l := &t.Logs[i]
		x := carvedLogLine{Type: "carved-log", Log: l.Number, Partition: text(l.Partition), TopicID: text(l.TopicID), Named: text(l.Named), Dir: l.Dir, From: l.From, To: l.To,
			Batches: l.Batches, Records: l.Records, Bytes: l.Bytes, Epochs: [][2]int64{}, Magic: l.Magic, Codecs: l.Codecs, Transactions: l.Transactions, Again: l.Again, Cleaned: l.Cleaned,
			Holes: len(l.Holes), Pieces: len(l.Pieces), Assumed: l.Assumed, Doubts: l.Doubts}
		for _, e := range l.Epochs {
			x.Epochs = append(x.Epochs, [2]int64{int64(e.Epoch), e.StartOffset})
		}
		x.FirstTime, x.FirstTimeMs = timestamp(l.First)
		x.LastTime, x.LastTimeMs = timestamp(l.Last)
		j.Line(&x)
		for k := range l.Pieces {
			j.piece(t.File, &l.Number, &l.Pieces[k])
		}
		for _, h := range l.Holes {
			line := carvedHoleLine{Type: "carved-hole", Log: l.Number, From: h.From, To: h.To}
			if h.Damaged >= 0 {
				line.Position, line.Length = &h.Damaged, &h.Length
			}
			j.Line(&line)
		}
	}
	for k := range t.Apart {
		j.piece(t.File, nil, &t.Apart[k])
	}
	s := &t.Stats
	j.Line(carvingLine{"carving", t.File, t.Size, text(t.SHA256), s.Read, s.Zeros, s.Holes, s.Unread, t.Batches, t.Messages, t.Again, t.Embedded, t.Cut, t.Lone, t.Loose, t.Amid, t.Snapshots, t.Damaged, s.Untested, atLeast0(s.FirstUntested), t.Unsorted, t.Known})
}

func (j *JSON) piece(file string, log *int, p *repair.CarvedPiece) {
	j.Line(carvedPieceLine{"carved-piece", log, file, p.Pos, p.Len, p.From, p.To, p.Batches, p.Embedded, atLeast0(p.Outer), p.Lone, p.Loose, p.Amid, p.Snapshot})
}

// CarvedPlan writes what a plan of carved logs came to; d is nil where it was not carried out.
func (j *JSON) CarvedPlan(p *repair.Plan, d *repair.Done) {
	l := salvageDone{Type: "salvage", Plan: p.ID, Kept: []repair.Dropped{}, Start: []repair.DoneStart{}}
	if d != nil {
		l.Out, l.Files, l.Start = &d.Out, &d.Files, d.Starts
		l.Kept = append(l.Kept, d.Dropped...)
	}
	j.Line(l)
}
