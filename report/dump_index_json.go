package report

import "kafsck/segment"

// Index files and snapshots as JSON Lines.

type indexFileLine struct {
	Type string `json:"type"`
	place
	Kind      string `json:"kind"`
	Entries   int64  `json:"entries"`
	Unused    int64  `json:"unusedEntries"`
	Remainder int64  `json:"remainder"`
}

func (d *dumpJSON) Index(x *DumpIndex) {
	d.out.Line(&indexFileLine{"index-file", d.at, x.Kind, x.Entries, x.ZeroEntries, x.Remainder})
}

// entryAt is where an entry stands in its file.
type entryAt struct {
	Entry    int64 `json:"entry"`
	Position int64 `json:"position"`
	Length   int64 `json:"length"`
}

type indexEntryLine struct {
	Type string `json:"type"`
	place
	entryAt
	Offset      int64   `json:"offset"`
	LogPosition int64   `json:"logPosition"`
	Relative    int32   `json:"relativeOffset"`
	OutOfOrder  bool    `json:"outOfOrder"`
	Damage      *string `json:"damage"`
}

func (d *dumpJSON) IndexEntry(e *segment.OffsetEntry, flaw EntryFlaw) {
	d.out.Line(&indexEntryLine{"index-entry", d.at, entryAt{e.Number, e.Pos(), segment.IndexEntrySize}, e.Offset, e.Position, e.Relative, flaw.OutOfOrder, text(flaw.Damage)})
}

type timeEntryLine struct {
	Type string `json:"type"`
	place
	entryAt
	Timestamp   *string `json:"timestamp"`
	TimestampMs int64   `json:"timestampMs"`
	Offset      int64   `json:"offset"`
	Relative    int32   `json:"relativeOffset"`
	OutOfOrder  bool    `json:"outOfOrder"`
	Damage      *string `json:"damage"`
}

func (d *dumpJSON) TimeEntry(e *segment.TimeEntry, flaw EntryFlaw) {
	l := timeEntryLine{"time-index-entry", d.at, entryAt{e.Number, e.Pos(), segment.TimeEntrySize}, nil, e.Timestamp, e.Offset, e.Relative, flaw.OutOfOrder, text(flaw.Damage)}
	l.Timestamp, _ = timestamp(e.Timestamp)
	d.out.Line(&l)
}

type zeroEntriesLine struct {
	Type string `json:"type"`
	place
	entryAt
	Entries int64 `json:"entries"`
}

func (d *dumpJSON) ZeroEntries(number, n, width int64) {
	d.out.Line(&zeroEntriesLine{"zero-entries", d.at, entryAt{number, number * width, n * width}, n})
}

type abortedTxnLine struct {
	Type string `json:"type"`
	place
	entryAt
	Version          int16 `json:"version"`
	ProducerID       int64 `json:"producerId"`
	FirstOffset      int64 `json:"firstOffset"`
	LastOffset       int64 `json:"lastOffset"`
	LastStableOffset int64 `json:"lastStableOffset"`
	Refused          bool  `json:"refused"`
}

func (d *dumpJSON) AbortedTxn(e *segment.AbortedTxn) {
	d.out.Line(&abortedTxnLine{"aborted-transaction", d.at, entryAt{e.Number, e.Pos(), segment.TxnEntrySize}, e.Version, e.ProducerID, e.FirstOffset, e.LastOffset, e.LastStableOffset, e.Refused()})
}

type snapshotProblemLine struct {
	Kind     string `json:"kind"`
	Position int64  `json:"position"`
	Want     string `json:"want"`
	Got      string `json:"got"`
	Limit    bool   `json:"limit"`
}

type snapshotLine struct {
	Type string `json:"type"`
	place
	Offset      *int64               `json:"offset"`
	Version     int16                `json:"version"`
	CRC         string               `json:"crc"`
	ComputedCRC string               `json:"computedCrc,omitempty"`
	Producers   int32                `json:"producers"`
	Trailing    int64                `json:"trailingBytes"`
	LeftBehind  bool                 `json:"leftBehind,omitempty"`
	Malformed   *snapshotProblemLine `json:"malformed"`
}

func (d *dumpJSON) Snapshot(s *DumpSnapshot) {
	l := snapshotLine{
		Type: "producer-snapshot", place: d.at, Offset: atLeast0(s.Offset), Version: s.Version, CRC: hex32(s.StoredCRC), Producers: s.Count, Trailing: s.TrailingBytes,
		LeftBehind: leftBehind(s.ProducerSnapshot),
	}
	if p := s.Problem; p != nil {
		l.Malformed = &snapshotProblemLine{p.Kind, p.Position, p.Want, p.Got, p.Limit()}
		if p.Kind == "crc" {
			l.ComputedCRC = hex32(s.ComputedCRC)
		}
	}
	d.out.Line(&l)
}

type producerLine struct {
	Type string `json:"type"`
	place
	entryAt
	ProducerID       int64   `json:"producerId"`
	ProducerEpoch    int16   `json:"producerEpoch"`
	FirstOffset      *int64  `json:"firstOffset"`
	LastOffset       *int64  `json:"lastOffset"`
	OffsetDelta      int32   `json:"offsetDelta"`
	FirstSequence    int32   `json:"firstSequence"`
	LastSequence     int32   `json:"lastSequence"`
	Timestamp        *string `json:"timestamp"`
	TimestampMs      int64   `json:"timestampMs"`
	CoordinatorEpoch int32   `json:"coordinatorEpoch"`
	OpenFrom         *int64  `json:"openFrom"`
}

func (d *dumpJSON) Producer(number int, e *segment.ProducerEntry) {
	l := producerLine{
		Type: "producer", place: d.at, entryAt: entryAt{int64(number), segment.ProducerPos(number), segment.SnapshotEntrySize},
		ProducerID: e.ProducerID, ProducerEpoch: e.ProducerEpoch, OffsetDelta: e.OffsetDelta, FirstSequence: e.FirstSequence(), LastSequence: e.LastSequence,
		TimestampMs: e.Timestamp, CoordinatorEpoch: e.CoordinatorEpoch, OpenFrom: atLeast0(e.CurrentTxnFirstOffset),
	}
	l.Timestamp, _ = timestamp(e.Timestamp)
	if e.HasBatch() {
		first, last := e.FirstOffset(), e.LastOffset
		l.FirstOffset, l.LastOffset = &first, &last
	}
	d.out.Line(&l)
}
