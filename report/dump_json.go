package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"kafsck/batch"
	"kafsck/checkpoint"
	"kafsck/logdir"
	"kafsck/segment"
)

// NewDumpJSON prints JSON Lines on out. redact leaves keys, values and header values
// out and gives their sizes and hashes.
func NewDumpJSON(out *JSON, redact bool) Dump {
	return &dumpJSON{out: out, redact: redact}
}

type dumpJSON struct {
	out    *JSON
	redact bool
	at     place
	pos    int64 // position of the last frame
	// ignored: a broker does not look at this file
	ignored bool
}

// place is where something stands; every line about a file begins with it.
type place struct {
	Partition *string  `json:"partition"`
	TopicID   *string  `json:"topicId"`
	Broker    brokerID `json:"broker"`
	File      string   `json:"file"`
}

type batchLine struct {
	Type string `json:"type"`
	place
	Position             int64   `json:"position"`
	Length               int64   `json:"length"`
	From                 int64   `json:"from"`
	To                   int64   `json:"to"`
	CRCOk                bool    `json:"crcOk"`
	Damage               *string `json:"damage"`
	BaseOffset           int64   `json:"baseOffset"`
	BatchLength          int32   `json:"batchLength"`
	PartitionLeaderEpoch int32   `json:"partitionLeaderEpoch"`
	Magic                int8    `json:"magic"`
	CRC                  string  `json:"crc"`
	ComputedCRC          string  `json:"computedCrc,omitempty"`
	Attributes           int16   `json:"attributes"`
	Codec                string  `json:"codec"`
	TimestampType        string  `json:"timestampType"`
	Transactional        bool    `json:"transactional"`
	Control              bool    `json:"control"`
	DeleteHorizon        bool    `json:"deleteHorizon"`
	LastOffsetDelta      int32   `json:"lastOffsetDelta"`
	BaseTimestamp        *string `json:"baseTimestamp"`
	BaseTimestampMs      int64   `json:"baseTimestampMs"`
	MaxTimestamp         *string `json:"maxTimestamp"`
	MaxTimestampMs       int64   `json:"maxTimestampMs"`
	ProducerID           int64   `json:"producerId"`
	ProducerEpoch        int16   `json:"producerEpoch"`
	BaseSequence         int32   `json:"baseSequence"`
	RecordCount          int32   `json:"recordCount"`
}

// frameLine is a stretch that is no batch of magic 2.
type frameLine struct {
	Type string `json:"type"`
	Kind string `json:"kind"`
	place
	Position int64   `json:"position"`
	Length   int64   `json:"length"`
	Damage   *string `json:"damage"`
	// of embedded batches, and of messages of magic 0 and 1 (whose to is offset + 1)
	From        *int64  `json:"from,omitempty"`
	To          *int64  `json:"to,omitempty"`
	LeaderEpoch *int32  `json:"leaderEpoch,omitempty"`
	Magic       *int8   `json:"magic,omitempty"`
	Codec       string  `json:"codec,omitempty"`
	CRC         string  `json:"crc,omitempty"`
	CRCOk       *bool   `json:"crcOk,omitempty"`
	Timestamp   *string `json:"timestamp,omitempty"`
	TimestampMs *int64  `json:"timestampMs,omitempty"`
	// TimestampType of magic 1
	TimestampType string `json:"timestampType,omitempty"`
}

type headerOfRecord struct {
	Key       string         `json:"key"`
	KeyBytes  []byte         `json:"keyBytes,omitempty"` // where key is not UTF-8
	Value     *nullableBytes `json:"value,omitempty"`
	ValueSize *int           `json:"valueSize,omitempty"`
	ValueHash string         `json:"valueSha256,omitempty"`
}

// recordLine is a record; key and value are absent, not null, when redacted.
type recordLine struct {
	Type string `json:"type"`
	place
	Offset        int64            `json:"offset"`
	LeaderEpoch   int32            `json:"leaderEpoch"`
	Timestamp     *string          `json:"timestamp"`
	TimestampMs   int64            `json:"timestampMs"`
	TimestampType string           `json:"timestampType"`
	Key           *nullableBytes   `json:"key,omitempty"`
	KeySize       *int             `json:"keySize,omitempty"`
	KeyHash       string           `json:"keySha256,omitempty"`
	Value         *nullableBytes   `json:"value,omitempty"`
	ValueSize     *int             `json:"valueSize,omitempty"`
	ValueHash     string           `json:"valueSha256,omitempty"`
	Headers       []headerOfRecord `json:"headers"`
	ProducerID    int64            `json:"producerId"`
	ProducerEpoch int16            `json:"producerEpoch"`
	Sequence      int32            `json:"sequence"`
	Transactional bool             `json:"transactional"`
	Control       bool             `json:"control"`
	Position      int64            `json:"batchPosition"`
	CRCOk         *bool            `json:"crcOk,omitempty"` // only where it is false
	ControlType   string           `json:"controlType,omitempty"`
	Coordinator   *int32           `json:"coordinatorEpoch,omitempty"`
	Metadata      json.RawMessage  `json:"metadata,omitempty"`
	Magic         *int8            `json:"magic,omitempty"` // only of formats 0 and 1
	Decoded       *Decoded         `json:"decoded,omitempty"`
	Undecoded     *string          `json:"undecoded,omitempty"` // why something is not decoded
}

// nullableBytes is base64 in JSON, null for nil.
type nullableBytes []byte

func hex32(n uint32) string { return fmt.Sprintf("0x%08x", n) }

func (d *dumpJSON) Err() error { return d.out.Err() }

func (d *dumpJSON) File(f *DumpFile) {
	d.ignored = f.Ignored
	d.at = place{Partition: text(f.Partition), TopicID: text(f.TopicID), File: f.Path}
	if f.Broker != nil {
		d.at.Broker = brokerOf(*f.Broker)
	}
}

func (d *dumpJSON) Frame(f *segment.Frame) {
	d.pos = f.Pos
	if f.Kind == segment.Batch {
		d.batch(f)
		return
	}
	l := frameLine{Type: "frame", Kind: f.Kind.String(), place: d.at, Position: f.Pos, Length: f.Len, Damage: damage(f.Damage)}
	switch {
	case f.Kind == segment.Legacy, f.Kind == segment.Embedded && f.Batch.Raw == nil && f.Batch.Length == 0:
		h := &f.Legacy
		to := h.Offset + 1
		ok := f.Damage == nil
		l.From, l.To, l.Magic, l.Codec, l.CRC, l.CRCOk = &h.Offset, &to, &h.Magic, h.Codec().String(), hex32(h.CRC), &ok
		if h.Magic > 0 {
			l.Timestamp, _ = timestamp(h.Timestamp)
			l.TimestampMs, l.TimestampType = &h.Timestamp, h.TimestampType().String()
		}
	case f.Kind == segment.Embedded:
		h := &f.Batch.Header
		to := h.NextOffset()
		l.From, l.To, l.LeaderEpoch, l.Magic, l.Codec, l.CRC = &h.BaseOffset, &to, &h.PartitionLeaderEpoch, &h.Magic, h.Attributes.Codec().String(), hex32(h.CRC)
	}
	d.out.Line(&l)
}

func damage(err error) *string {
	if err == nil {
		return nil
	}
	s := err.Error()
	return &s
}

func (d *dumpJSON) batch(f *segment.Frame) {
	h := &f.Batch.Header
	l := batchLine{
		Type: "batch", place: d.at, Position: f.Pos, Length: f.Len, From: h.BaseOffset, To: h.NextOffset(), CRCOk: !errors.Is(f.Damage, batch.ErrCRC), Damage: damage(f.Damage),
		BaseOffset: h.BaseOffset, BatchLength: h.Length, PartitionLeaderEpoch: h.PartitionLeaderEpoch, Magic: h.Magic, CRC: hex32(h.CRC),
		Attributes: int16(h.Attributes), Codec: h.Attributes.Codec().String(), TimestampType: h.Attributes.TimestampType().String(),
		Transactional: h.Attributes.Transactional(), Control: h.Attributes.Control(), DeleteHorizon: h.Attributes.DeleteHorizon(),
		LastOffsetDelta: h.LastOffsetDelta, BaseTimestampMs: h.BaseTimestamp, MaxTimestampMs: h.MaxTimestamp,
		ProducerID: h.ProducerID, ProducerEpoch: h.ProducerEpoch, BaseSequence: h.BaseSequence, RecordCount: h.RecordCount,
	}
	l.BaseTimestamp, _ = timestamp(h.BaseTimestamp)
	l.MaxTimestamp, _ = timestamp(h.MaxTimestamp)
	if !l.CRCOk && f.Raw != nil {
		l.ComputedCRC = hex32(f.Batch.ComputedCRC())
	}
	d.out.Line(&l)
}

func (d *dumpJSON) Record(r *DumpRecord) {
	a := r.Frame.Batch.Attributes
	l := recordLine{
		Type: "record", place: d.at, Offset: r.Offset, LeaderEpoch: r.leaderEpoch(),
		TimestampMs: r.Timestamp, TimestampType: r.TimestampType.String(), Headers: make([]headerOfRecord, 0, len(r.Headers)),
		Sequence: r.Sequence, Transactional: a.Transactional(), Control: a.Control(), Position: d.pos, Decoded: r.Decoded, Undecoded: text(r.Why),
	}
	l.ProducerID, l.ProducerEpoch = r.producer()
	if r.Legacy != nil {
		l.Magic = &r.Legacy.Magic
	}
	l.Timestamp, _ = timestamp(r.Timestamp)
	if d.redact {
		l.Decoded = redacted(l.Decoded)
	}
	if d.redact && r.Key != nil {
		l.KeySize, l.KeyHash = sized(r.Key)
	} else {
		l.Key = d.out.long.value(&r.Key)
	}
	if (d.redact || r.Secret) && r.Value != nil {
		l.ValueSize, l.ValueHash = sized(r.Value)
	} else {
		l.Value = d.out.long.value(&r.Value)
	}
	for i := range r.Headers {
		x := &r.Headers[i]
		line := headerOfRecord{Key: x.Key}
		if !utf8.ValidString(x.Key) {
			line.KeyBytes = []byte(x.Key)
		}
		if d.redact && x.Value != nil {
			line.ValueSize, line.ValueHash = sized(x.Value)
		} else {
			line.Value = d.out.long.value(&x.Value)
		}
		l.Headers = append(l.Headers, line)
	}
	if r.badCRC() {
		l.CRCOk = new(bool)
	}
	if c := r.Control; c != nil {
		l.ControlType = c.Type.String()
		if c.Type == batch.ControlAbort || c.Type == batch.ControlCommit {
			l.Coordinator = &c.CoordinatorEpoch
		}
	}
	if r.Metadata != nil {
		l.Metadata, _ = r.Metadata.MarshalJSON() // never fails: see kraft.Record
		if d.redact {
			l.Metadata = redactMetadata(r.Metadata.Type(), l.Metadata)
		}
	}
	d.out.Line(&l)
}

func sized(b []byte) (*int, string) {
	n := len(b)
	return &n, sha256Hex(b)
}

// undecodedLine says why the rest of a batch's records is missing.
type undecodedLine struct {
	Type string `json:"type"`
	place
	Position int64  `json:"batchPosition"`
	Limit    bool   `json:"limit"`
	Why      string `json:"why"`
}

func (d *dumpJSON) Undecoded(why string, limit bool) {
	d.out.Line(&undecodedLine{"undecoded", d.at, d.pos, limit, why})
}

type malformedLine struct {
	Line      int    `json:"line"`
	Text      string `json:"text"`
	Reason    string `json:"reason"`
	Unchecked bool   `json:"unchecked"`
	Kafka     string `json:"kafka"`
}

func (d *dumpJSON) malformedOf(kind string, m *checkpoint.Malformed) *malformedLine {
	r := refused(kind, m, d.ignored)
	if r == nil {
		return nil
	}
	return &malformedLine{r.Line, r.Text, r.Reason, r.Unchecked, r.consequence}
}

type epochFileLine struct {
	Type string `json:"type"`
	place
	Version   int            `json:"version"`
	Entries   [][2]int64     `json:"entries"`
	Malformed *malformedLine `json:"malformed"`
}

func (d *dumpJSON) Epochs(f *checkpoint.EpochFile) {
	l := epochFileLine{"epoch-checkpoint", d.at, f.Version, [][2]int64{}, d.malformedOf("leader-epoch-checkpoint", f.Malformed)}
	for _, e := range f.Entries {
		l.Entries = append(l.Entries, [2]int64{int64(e.Epoch), e.StartOffset})
	}
	d.out.Line(&l)
}

type offsetEntryLine struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
}

type offsetFileLine struct {
	Type string `json:"type"`
	Name string `json:"name"`
	place
	Version   int               `json:"version"`
	Entries   []offsetEntryLine `json:"entries"`
	Malformed *malformedLine    `json:"malformed"`
}

func (d *dumpJSON) Offsets(kind string, f *checkpoint.OffsetFile) {
	l := offsetFileLine{"offset-checkpoint", kind, d.at, f.Version, []offsetEntryLine{}, d.malformedOf(kind, f.Malformed)}
	for _, e := range f.Entries {
		l.Entries = append(l.Entries, offsetEntryLine{e.Topic, e.Partition, e.Offset})
	}
	d.out.Line(&l)
}

func (d *dumpJSON) PartitionMetadata(f *checkpoint.PartitionMetadata) {
	type line struct {
		Type string `json:"type"`
		place
		Version   int            `json:"version"`
		ID        *string        `json:"id"`
		Malformed *malformedLine `json:"malformed"`
	}
	l := line{"partition-metadata", d.at, f.Version, nil, d.malformedOf("partition.metadata", f.Malformed)}
	if !f.TopicID.IsZero() {
		l.ID = text(f.TopicID.String())
	}
	d.out.Line(&l)
}

func (d *dumpJSON) MetaProperties(f *checkpoint.MetaProperties) {
	type line struct {
		Type string `json:"type"`
		place
		Version     int               `json:"version"`
		NodeID      *int32            `json:"nodeId"`
		ClusterID   *string           `json:"clusterId"`
		DirectoryID *string           `json:"directoryId"`
		Properties  map[string]string `json:"properties"`
		Malformed   *malformedLine    `json:"malformed"`
	}
	l := line{"meta-properties", d.at, f.Version, nil, text(f.ClusterID), text(f.DirectoryID), f.Properties, d.malformedOf("meta.properties", f.Malformed)}
	if f.HasNodeID {
		l.NodeID = &f.NodeID
	}
	if l.Properties == nil {
		l.Properties = map[string]string{}
	}
	d.out.Line(&l)
}

func (d *dumpJSON) QuorumState(f *checkpoint.QuorumState) {
	type line struct {
		Type string `json:"type"`
		place
		Version          *int16         `json:"version"`
		ClusterID        *string        `json:"clusterId"`
		LeaderID         *int32         `json:"leaderId"`
		LeaderEpoch      *int32         `json:"leaderEpoch"`
		VotedID          *int32         `json:"votedId"`
		VotedDirectoryID *string        `json:"votedDirectoryId"`
		AppliedOffset    *int64         `json:"appliedOffset"`
		Voters           []int32        `json:"voters"`
		Malformed        *malformedLine `json:"malformed"`
	}
	l := line{Type: "quorum-state", place: d.at, Version: known(f, "data_version", &f.Version), ClusterID: text(f.ClusterID),
		LeaderID: known(f, "leaderId", &f.LeaderID), LeaderEpoch: known(f, "leaderEpoch", &f.LeaderEpoch), VotedID: known(f, "votedId", &f.VotedID),
		AppliedOffset: known(f, "appliedOffset", &f.AppliedOffset), Voters: f.Voters, Malformed: d.malformedOf("quorum-state", f.Malformed)}
	if !f.VotedDirectoryID.IsZero() {
		l.VotedDirectoryID = text(f.VotedDirectoryID.String())
	}
	d.out.Line(&l)
}

// known is a value of a quorum-state, nil if the file does not have it.
func known[T any](f *checkpoint.QuorumState, key string, value *T) *T {
	if !f.Known[key] {
		return nil
	}
	return value
}

func (d *dumpJSON) CleanShutdown(f *checkpoint.CleanShutdown) {
	type line struct {
		Type string `json:"type"`
		place
		BrokerEpoch *int64 `json:"brokerEpoch"`
	}
	l := line{"clean-shutdown", d.at, nil}
	if f.HasBrokerEpoch {
		l.BrokerEpoch = &f.BrokerEpoch
	}
	d.out.Line(&l)
}

func (d *dumpJSON) Other(name, says string) {
	type line struct {
		Type string `json:"type"`
		Name string `json:"name"`
		place
		Says string `json:"says"`
	}
	d.out.Line(&line{"other-file", name, d.at, says})
}

func (d *dumpJSON) Failed(path string, err error) {
	d.out.Line(errorLine{"error", path, err.Error()})
}

func (d *dumpJSON) Notes(notes []logdir.Note) { d.out.Notes(notes) }

func (d *dumpJSON) Note(string, ...any) {}

func (d *dumpJSON) Summary(s *DumpSummary) {
	type line struct {
		Type          string   `json:"type"`
		ExitCode      int      `json:"exitCode"`
		Files         int      `json:"files"`
		Batches       int64    `json:"batches"`
		BadCRC        int64    `json:"batchesBadCrc"`
		Flawed        int64    `json:"batchesFlawed"`
		Records       int64    `json:"records"`
		Shown         int64    `json:"recordsShown"`
		Unknown       int64    `json:"recordsUnknown"`
		Undecoded     int64    `json:"recordsUndecoded"`
		Bytes         int64    `json:"bytes"`
		BytesVerified int64    `json:"bytesVerified"`
		Other         int64    `json:"bytesInNoBatch"`
		Entries       int64    `json:"indexEntriesShown"`
		Errors        int      `json:"errors"`
		NotAsked      []string `json:"kindsNotAsked,omitempty"`
	}
	d.out.Line(line{"summary", s.ExitCode, s.Files, s.Batches, s.BadCRC, s.Flawed, s.Records, s.Shown, s.Unknown, s.Undecoded, s.Bytes, s.Verified, s.Other, s.Entries, s.Failed, s.NotAsked})
}
