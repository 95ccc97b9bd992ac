package report

import (
	"strconv"

	"kafsck/batch"
	"kafsck/internal/javatext"
)

// appendControl writes what Kafka prints of a control record behind its metadata.
func appendControl(b []byte, r *batch.Record) ([]byte, error) {
	c, err := batch.ParseControl(r.Key, r.Value)
	if err != nil {
		return b, err
	}
	switch c.Type {
	case batch.ControlAbort, batch.ControlCommit:
		b = append(append(b, " endTxnMarker: "...), c.Type.String()...)
		return field(b, " coordinatorEpoch: ", int64(c.CoordinatorEpoch)), nil
	case batch.ControlLeaderChange:
		b = field(append(b, " LeaderChange: {"...), `"version":`, int64(c.ValueVersion))
		b = field(b, `,"leaderId":`, int64(c.LeaderID))
		b = appendVoters(append(b, `,"voters":`...), c.Voters, c.ValueVersion)
		b = appendVoters(append(b, `,"grantingVoters":`...), c.GrantingVoters, c.ValueVersion)
		return append(b, '}'), nil
	case batch.ControlSnapshotHeader:
		b = field(append(b, " SnapshotHeader {"...), `"version":`, int64(c.ValueVersion))
		return append(field(b, `,"lastContainedLogTimestamp":`, c.LastContainedLogTimestamp), '}'), nil
	case batch.ControlSnapshotFooter:
		return append(field(append(b, " SnapshotFooter {"...), `"version":`, int64(c.ValueVersion)), '}'), nil
	case batch.ControlKRaftVersion:
		b = field(append(b, " KRaftVersion {"...), `"version":`, int64(c.ValueVersion))
		return append(field(b, `,"kRaftVersion":`, int64(c.KRaftVersion)), '}'), nil
	case batch.ControlKRaftVoters:
		b = field(append(b, " KRaftVoters {"...), `"version":`, int64(c.ValueVersion))
		return append(appendFullVoters(append(b, `,"voters":`...), c.Voters), '}'), nil
	}
	return append(field(append(b, " controlType: UNKNOWN"...), "(", int64(c.TypeID)), ')'), nil
}

func appendVoters(b []byte, voters []batch.Voter, version int16) []byte {
	b = append(b, '[')
	for i := range voters {
		if i > 0 {
			b = append(b, ',')
		}
		b = field(append(b, '{'), `"voterId":`, int64(voters[i].ID))
		if version >= 1 {
			b = append(b, `,"voterDirectoryId":"`...)
			b = append(append(b, voters[i].DirectoryID.String()...), '"')
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

func appendFullVoters(b []byte, voters []batch.Voter) []byte {
	b = append(b, '[')
	for i := range voters {
		v := &voters[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = field(append(b, '{'), `"voterId":`, int64(v.ID))
		b = append(append(append(b, `,"voterDirectoryId":"`...), v.DirectoryID.String()...), `","endpoints":[`...)
		for j, e := range v.Endpoints {
			if j > 0 {
				b = append(b, ',')
			}
			b = javatext.AppendJSON(append(b, `{"name":`...), []byte(e.Name))
			b = javatext.AppendJSON(append(b, `,"host":`...), []byte(e.Host))
			b = strconv.AppendUint(append(b, `,"port":`...), uint64(e.Port), 10)
			b = append(b, '}')
		}
		b = field(b, `],"kRaftVersionFeature":{"minSupportedVersion":`, int64(v.MinVersion))
		b = append(field(b, `,"maxSupportedVersion":`, int64(v.MaxVersion)), "}}"...)
	}
	return append(b, ']')
}
