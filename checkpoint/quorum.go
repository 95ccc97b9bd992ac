package checkpoint

import (
	"fmt"
	"math"

	"kafsck/internal/wire"
)

// QuorumState is a parsed quorum-state: what a KRaft node remembers of the last
// election it took part in.
type QuorumState struct {
	Version          int16 // data_version: 0, or 1 with kraft.version 1
	ClusterID        string
	LeaderID         int32     // -1 unknown
	LeaderEpoch      int32     // raft epoch
	VotedID          int32     // -1 has not voted in LeaderEpoch
	VotedDirectoryID wire.UUID // version 1; zero if absent
	AppliedOffset    int64     // version 0; always 0 in practice
	Voters           []int32   // version 0: the static voters; nil in version 1
	Malformed        *Malformed
	// Known has the keys, such as "leaderId", whose values could be read; the fields of all others
	// have the defaults that ParseQuorumState names.
	Known map[string]bool
}

// ParseQuorumState reads a quorum-state (FileQuorumStateStore.readStateFromFile,
// QuorumStateDataJsonConverter): one JSON object on the first line; what follows
// the object, and further lines, are not looked at.
//
//	{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1}],"data_version":0}
//	{"leaderId":1,"leaderEpoch":2,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}
//
// Every refusal is an unchecked exception. Fields that could not be read have
// the defaults -1, -1, -1 (ids and epoch), 0 and empty.
func ParseQuorumState(b []byte) *QuorumState {
	q := &QuorumState{LeaderID: -1, LeaderEpoch: -1, VotedID: -1, Known: map[string]bool{}}
	r := newLineReader(b)
	line, ok, undecodable := r.next()
	fail := func(reason string) {
		if q.Malformed == nil {
			q.Malformed = unchecked(1, line, reason)
		}
	}
	if undecodable {
		q.Malformed = undecodableAt(b)
		q.Malformed.Unchecked = true
	}
	if !ok {
		fail("the file is empty")
		return q
	}
	object, err := parseObject(line)
	if err != nil {
		fail(err.Error())
		return q
	}
	version, present := object["data_version"]
	if !present {
		fail("data_version is missing")
	} else if q.Version = version.short(); q.Version < 0 || q.Version > 1 {
		fail(fmt.Sprintf("data_version %d is not supported", q.Version))
	}
	q.Known["data_version"] = present && version.number()

	// missing asks for a key and says so if it is mandatory in this version.
	get := func(key string, mandatory bool) (jsonValue, bool) {
		v, ok := object[key]
		if !ok && mandatory {
			fail(key + " is missing")
		}
		return v, ok
	}
	integer := func(key string, mandatory bool, low, high int64, to func(int64)) {
		if v, ok := get(key, mandatory); ok {
			n, ok := v.integer()
			if !ok || n < low || n > high {
				fail(key + " is not an integer of the right size")
				return
			}
			to(n)
			q.Known[key] = true
		}
	}
	if v, ok := get("clusterId", q.Version <= 0); ok {
		if q.ClusterID, ok = v.text(); !ok {
			fail("clusterId is not a string")
		}
		q.Known["clusterId"] = ok
	}
	int32Field := func(key string, to *int32) {
		integer(key, true, math.MinInt32, math.MaxInt32, func(n int64) { *to = int32(n) })
	}
	int32Field("leaderId", &q.LeaderID)
	int32Field("leaderEpoch", &q.LeaderEpoch)
	int32Field("votedId", &q.VotedID)
	if v, ok := get("votedDirectoryId", q.Version >= 1); ok {
		s, ok := v.text()
		if id, valid := parseUUID(s); ok && valid {
			q.VotedDirectoryID, q.Known["votedDirectoryId"] = id, true
		} else {
			fail("votedDirectoryId is not a UUID in base64")
		}
	}
	integer("appliedOffset", q.Version <= 0, math.MinInt64, math.MaxInt64, func(n int64) { q.AppliedOffset = n })
	if v, ok := get("currentVoters", q.Version <= 0); ok {
		q.readVoters(v, fail)
	}
	return q
}

func (q *QuorumState) readVoters(v jsonValue, fail func(string)) {
	list, ok := v.list()
	if !ok {
		fail("currentVoters is not an array")
		return
	}
	q.Known["currentVoters"] = true
	for _, e := range list {
		voter, err := parseObject(e)
		if err != nil {
			fail("a voter is not an object")
			continue
		}
		id, ok := voter["voterId"].integer()
		if !ok || id < math.MinInt32 || id > math.MaxInt32 {
			fail("a voter has no voterId")
			continue
		}
		q.Voters = append(q.Voters, int32(id))
	}
}
