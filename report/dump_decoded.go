package report

import (
	"encoding/json"

	"kafsck/batch"
	"kafsck/internaltopic"
	"kafsck/kraft"
)

// Decoded is what a record of Kafka's own says: one of an internal topic, of the metadata
// log, or a control record of any log.
type Decoded = internaltopic.Decoded

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
