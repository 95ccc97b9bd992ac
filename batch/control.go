package batch

import (
	"errors"

	"kafsck/internal/wire"
)

// ControlType is the type of a control record as written in its key; Kafka skips those
// it does not know (org.apache.kafka.common.record.ControlRecordType).
type ControlType int16

// The types known up to Kafka 4.3.
const (
	ControlAbort          ControlType = 0 // transaction marker
	ControlCommit         ControlType = 1 // transaction marker
	ControlLeaderChange   ControlType = 2 // and the rest: KRaft
	ControlSnapshotHeader ControlType = 3
	ControlSnapshotFooter ControlType = 4
	ControlKRaftVersion   ControlType = 5
	ControlKRaftVoters    ControlType = 6
)

// String is Kafka's name, or "UNKNOWN(n)".
func (t ControlType) String() string {
	switch t {
	case ControlAbort:
		return "ABORT"
	case ControlCommit:
		return "COMMIT"
	case ControlLeaderChange:
		return "LEADER_CHANGE"
	case ControlSnapshotHeader:
		return "SNAPSHOT_HEADER"
	case ControlSnapshotFooter:
		return "SNAPSHOT_FOOTER"
	case ControlKRaftVersion:
		return "KRAFT_VERSION"
	case ControlKRaftVoters:
		return "KRAFT_VOTERS"
	}
	return "UNKNOWN(" + itoa(t) + ")"
}

// Control is what a control record says. Fields of other types are zero.
type Control struct {
	Type         ControlType
	TypeID       int16 // the same as written
	Version      int16 // of the key
	ValueVersion int16 // of the value

	CoordinatorEpoch int32 // ABORT, COMMIT

	LeaderID       int32   // LEADER_CHANGE
	Voters         []Voter // LEADER_CHANGE, KRAFT_VOTERS
	GrantingVoters []Voter // LEADER_CHANGE

	LastContainedLogTimestamp int64 // SNAPSHOT_HEADER, ms
	KRaftVersion              int16 // KRAFT_VERSION
}

// Voter is a member of the metadata quorum.
type Voter struct {
	ID          int32
	DirectoryID wire.UUID  // zero in version 0 of LEADER_CHANGE
	Endpoints   []Endpoint // KRAFT_VOTERS
	MinVersion  int16      // KRAFT_VOTERS, kraft.version supported by the voter, inclusive
	MaxVersion  int16      // inclusive
}

// Endpoint is where a voter listens.
type Endpoint struct {
	Name, Host string
	Port       uint16
}

// ParseControl reads the key and value of a record from a batch whose attributes say
// Control. Nothing is borrowed from them.
//
//	key    | version | type  |           int16 each; later versions are read as 0
//	value  | version | coordinator epoch |                  markers: int16, int32
//	value  | version | fields in Kafka's flexible encoding, tagged fields last |  KRaft
//
// A type that is not known is not an error: its value is not looked at. Bytes after the
// known fields are ignored, as Kafka does. Otherwise the error is an *Error wrapping
// ErrRecord, with a position in the key or value that its Field names; the Control holds
// what was read before it.
//
// Sources: ControlRecordType.parse, EndTransactionMarker, ControlRecordUtils, and the
// schemas LeaderChangeMessage, SnapshotHeaderRecord, SnapshotFooterRecord,
// KRaftVersionRecord and VotersRecord.
func ParseControl(key, value []byte) (Control, error) {
	var c Control
	k := wire.Make(key)
	c.Version = k.Int16()
	c.TypeID = k.Int16()
	c.Type = ControlType(c.TypeID)
	if err := controlFault("control key", k.Err()); err != nil {
		return Control{}, err
	}
	if c.Version < 0 {
		return c, &Error{Field: "control key version", Want: "at least 0", Got: itoa(c.Version), Err: ErrRecord}
	}
	if c.Type < ControlAbort || c.Type > ControlKRaftVoters {
		return c, nil
	}
	r := wire.Make(value)
	c.ValueVersion = r.Int16()
	if r.Err() == nil && c.ValueVersion < 0 {
		return c, &Error{Field: "control value version", Want: "at least 0", Got: itoa(c.ValueVersion), Err: ErrRecord}
	}
	switch c.Type {
	case ControlAbort, ControlCommit:
		c.CoordinatorEpoch = r.Int32()
	case ControlLeaderChange:
		c.LeaderID = r.Int32()
		c.Voters = readVoters(&r, c.ValueVersion >= 1)
		c.GrantingVoters = readVoters(&r, c.ValueVersion >= 1)
		skipTags(&r)
	case ControlSnapshotHeader:
		c.LastContainedLogTimestamp = r.Int64()
		skipTags(&r)
	case ControlSnapshotFooter:
		skipTags(&r)
	case ControlKRaftVersion:
		c.KRaftVersion = r.Int16()
		skipTags(&r)
	case ControlKRaftVoters:
		c.Voters = readFullVoters(&r)
		skipTags(&r)
	}
	return c, controlFault("control value", r.Err())
}

func controlFault(field string, err error) error {
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return &Error{Pos: e.Pos, Field: field, Got: e.What, Err: ErrRecord}
	}
	return nil
}

// readVoters reads the voters of a LeaderChangeMessage.
func readVoters(r *wire.Reader, directories bool) []Voter {
	var voters []Voter
	for range arrayLength(r) {
		v := Voter{ID: r.Int32()}
		if directories {
			v.DirectoryID = r.UUID()
		}
		skipTags(r)
		if r.Err() != nil {
			break
		}
		voters = append(voters, v)
	}
	return voters
}

// readFullVoters reads the voters of a VotersRecord.
func readFullVoters(r *wire.Reader) []Voter {
	var voters []Voter
	for range arrayLength(r) {
		v := Voter{ID: r.Int32(), DirectoryID: r.UUID()}
		for range arrayLength(r) {
			e := Endpoint{Name: compactString(r), Host: compactString(r), Port: r.Uint16()}
			skipTags(r)
			if r.Err() != nil {
				break
			}
			v.Endpoints = append(v.Endpoints, e)
		}
		v.MinVersion = r.Int16()
		v.MaxVersion = r.Int16()
		skipTags(r)
		skipTags(r)
		if r.Err() != nil {
			break
		}
		voters = append(voters, v)
	}
	return voters
}

// arrayLength reads the length of a compact array: n+1, where 0 (null) fails because no
// array here may be null. No element is smaller than five bytes, so a length above what
// is left is a lie that need not be followed.
func arrayLength(r *wire.Reader) int64 {
	n := int64(r.Uvarint()) - 1
	if r.Err() != nil {
		return 0
	}
	if n < 0 || n > r.Remaining() {
		r.Fail("array of " + itoa(n) + " elements, " + itoa(r.Remaining()) + " bytes left")
		return 0
	}
	return n
}

func compactString(r *wire.Reader) string {
	return string(r.Bytes(int64(r.Uvarint()) - 1))
}

// skipTags passes over tagged fields, which later versions may have added.
func skipTags(r *wire.Reader) {
	n := int64(r.Uvarint())
	for i := int64(0); i < n && r.Err() == nil; i++ {
		r.Uvarint()
		r.Skip(int64(r.Uvarint()))
	}
}
