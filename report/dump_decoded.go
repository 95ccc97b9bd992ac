package report

import (
	"encoding/json"

	"kafsck/batch"
	"kafsck/internaltopic"
	"kafsck/kraft"
)

// Decoded is what a record of Kafka's own says: one of an internal topic, of the metadata
// log, or a control record of any log. In JSON it stands under "decoded":
//
//	{"kind":"consumer-offsets","type":"OffsetCommit","typeId":1,"version":3,"tombstone":false,
//	 "state":null,"key":{"group":"g","topic":"t","partition":0},"value":{"offset":42,…}}
type Decoded struct {
	// Kind is what the record was read as, in the words of --as, or "control".
	Kind string
	// Type is Kafka's name, such as OffsetCommit, TOPIC_RECORD or COMMIT; "" unknown. TypeID is
	// the number as written; -1 none.
	Type   string
	TypeID int64
	// Version is that of the value, or of a control record's value; -1 none.
	Version   int64
	Tombstone bool   // the key is there, and the value is null: it deletes
	State     string // the name of the state that Value tells of as a number; "" none
	// Key and Value are the fields by Kafka's names, a JSON object each; nil where there is
	// none or it is not decoded.
	Key, Value json.RawMessage
}

// DecodedTopic is a record of an internal topic; kind is how --as calls the topic's records.
func DecodedTopic(kind string, rec *internaltopic.Record) *Decoded {
	return &Decoded{
		Kind: kind, Type: rec.Name, TypeID: int64(rec.Type), Version: int64(rec.Version), Tombstone: rec.Tombstone, State: rec.State(),
		Key: rec.AppendKeyData(nil), Value: rec.AppendValueData(nil),
	}
}

// DecodedMetadata is a record of the metadata log. undecoded: its fields are not known.
func DecodedMetadata(kind string, rec *kraft.Record, undecoded bool) *Decoded {
	d := &Decoded{Kind: kind, Type: rec.Type(), TypeID: int64(rec.APIKey), Version: int64(rec.Version)}
	if !undecoded {
		d.Value = rec.AppendData(nil)
	}
	return d
}

// controlValue has the fields that the type of a control record has.
type controlValue struct {
	CoordinatorEpoch          *int32         `json:"coordinatorEpoch,omitempty"`
	LeaderID                  *int32         `json:"leaderId,omitempty"`
	Voters                    []controlVoter `json:"voters,omitempty"`
	GrantingVoters            []controlVoter `json:"grantingVoters,omitempty"`
	LastContainedLogTimestamp *int64         `json:"lastContainedLogTimestamp,omitempty"`
	KRaftVersion              *int16         `json:"kRaftVersion,omitempty"`
}

type controlVoter struct {
	ID          int32             `json:"voterId"`
	DirectoryID string            `json:"voterDirectoryId,omitempty"`
	Endpoints   []controlEndpoint `json:"endpoints,omitempty"`
	Versions    *controlVersions  `json:"kRaftVersionFeature,omitempty"`
}

type controlEndpoint struct {
	Name string `json:"name"`
	Host string `json:"host"`
	Port uint16 `json:"port"`
}

type controlVersions struct {
	Min int16 `json:"minSupportedVersion"`
	Max int16 `json:"maxSupportedVersion"`
}

// DecodedControl is a control record that could be decoded.
func DecodedControl(c *batch.Control) *Decoded {
	d := &Decoded{Kind: "control", Type: c.Type.String(), TypeID: int64(c.TypeID), Version: int64(c.ValueVersion)}
	var v controlValue
	switch c.Type {
	case batch.ControlAbort, batch.ControlCommit:
		v.CoordinatorEpoch = &c.CoordinatorEpoch
	case batch.ControlLeaderChange:
		v.LeaderID, v.Voters, v.GrantingVoters = &c.LeaderID, controlVoters(c.Voters, false), controlVoters(c.GrantingVoters, false)
	case batch.ControlSnapshotHeader:
		v.LastContainedLogTimestamp = &c.LastContainedLogTimestamp
	case batch.ControlSnapshotFooter:
	case batch.ControlKRaftVersion:
		v.KRaftVersion = &c.KRaftVersion
	case batch.ControlKRaftVoters:
		v.Voters = controlVoters(c.Voters, true)
	default:
		d.Type, d.Version = "", -1
		return d
	}
	d.Value, _ = json.Marshal(&v) // never fails: strings and numbers
	return d
}

func controlVoters(list []batch.Voter, full bool) []controlVoter {
	var out []controlVoter
	for _, v := range list {
		voter := controlVoter{ID: v.ID}
		if full || !v.DirectoryID.IsZero() {
			voter.DirectoryID = v.DirectoryID.String()
		}
		for _, e := range v.Endpoints {
			voter.Endpoints = append(voter.Endpoints, controlEndpoint(e))
		}
		if full {
			voter.Versions = &controlVersions{v.MinVersion, v.MaxVersion}
		}
		out = append(out, voter)
	}
	return out
}

// MarshalJSON writes every field, null where there is nothing.
func (d *Decoded) MarshalJSON() ([]byte, error) {
	type line struct {
		Kind      string          `json:"kind"`
		Type      *string         `json:"type"`
		TypeID    *int64          `json:"typeId"`
		Version   *int64          `json:"version"`
		Tombstone bool            `json:"tombstone"`
		State     *string         `json:"state"`
		Key       json.RawMessage `json:"key"`
		Value     json.RawMessage `json:"value"`
	}
	known := func(n *int64) *int64 {
		if *n < 0 {
			return nil
		}
		return n
	}
	return json.Marshal(&line{d.Kind, text(d.Type), known(&d.TypeID), known(&d.Version), d.Tombstone, text(d.State), d.Key, d.Value})
}
