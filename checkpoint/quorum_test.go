package checkpoint

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestQuorumStateKnown: what a quorum-state has, and nothing that it does not have.
func TestQuorumStateKnown(t *testing.T) {
	for content, want := range map[string]string{
		"":                          "",
		"garbage":                   "",
		`[{"leaderId":1}]`:          "",
		`{}`:                        "",
		`{"leaderId":1,`:            "",
		`{"leaderId":1}`:            "leaderId",
		`{"leaderId":"1"}`:          "",
		`{"leaderId":99999999999}`:  "",
		`{"data_version":"x"}`:      "",
		`{"clusterId":null}`:        "",
		`{"votedDirectoryId":"no"}`: "",
		`{"currentVoters":7}`:       "",
		`{"leaderEpoch":4,"votedId":-1,"currentVoters":[],"data_version":7}`: "currentVoters data_version leaderEpoch votedId",
	} {
		q := ParseQuorumState([]byte(content))
		if q.Malformed == nil {
			t.Errorf("%s: well formed", content)
		}
		if got := known(q); got != want {
			t.Errorf("%s: known are %q, want %q", content, got, want)
		}
	}
	for file, want := range map[string]string{
		"quorum-state-v0": "appliedOffset clusterId currentVoters data_version leaderEpoch leaderId votedId",
		"quorum-state-v1": "data_version leaderEpoch leaderId votedDirectoryId votedId",
	} {
		if got := known(ParseQuorumState(readFile(t, file))); got != want {
			t.Errorf("%s: known are %q, want %q", file, got, want)
		}
	}
}

func known(q *QuorumState) string {
	maps.DeleteFunc(q.Known, func(_ string, is bool) bool { return !is })
	return strings.Join(slices.Sorted(maps.Keys(q.Known)), " ")
}
