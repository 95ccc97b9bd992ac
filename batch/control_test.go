package batch

import (
	"reflect"
	"testing"

	"kafsck/internal/wire"
)

// controls decodes the control records of a batch.
func controls(t *testing.T, raw []byte) []Control {
	t.Helper()
	v := mustView(t, raw)
	if !v.Attributes.Control() {
		t.Fatal("not a control batch")
	}
	recs, err := records(t, v, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []Control
	for _, r := range recs {
		c, err := ParseControl(r.Key, r.Value)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

func TestParseControlVectors(t *testing.T) {
	for _, c := range []struct {
		vector string
		want   Control
	}{
		{"v2_abort", Control{Type: ControlAbort, CoordinatorEpoch: 9}},
		{"v2_commit", Control{Type: ControlCommit, TypeID: 1, CoordinatorEpoch: 9}},
		{"leader_change", Control{Type: ControlLeaderChange, TypeID: 2, LeaderID: 1,
			Voters: []Voter{{ID: 1}, {ID: 2}}, GrantingVoters: []Voter{{ID: 1}}}},
	} {
		if got := controls(t, vector(t, c.vector)); !reflect.DeepEqual(got, []Control{c.want}) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.vector, got, c.want)
		}
	}
}

func TestParseControlLaterVersions(t *testing.T) {
	dir, err := wire.ParseUUID("hF7bEvJ3TEm5wvFBX5mlPw")
	if err != nil {
		t.Fatal(err)
	}
	const uuid = "845edb12f2774c49b9c2f1415f99a53f"
	for _, c := range []struct {
		name, key, value string
		want             Control
	}{
		{"marker of a later version, with more behind it", "00030001", "0007 00000005 ffff",
			Control{Type: ControlCommit, TypeID: 1, Version: 3, ValueVersion: 7, CoordinatorEpoch: 5}},
		{"longer key", "000000000102", "0000 00000005", Control{CoordinatorEpoch: 5}},
		// LeaderChangeMessage version 1 adds the directory ids; tags 0 and 9 are unknown.
		{"leader change 1", "00000002", "0001 00000007 02 00000007 " + uuid + " 00 01 02 00 01 ff 09 02 abcd",
			Control{Type: ControlLeaderChange, TypeID: 2, ValueVersion: 1, LeaderID: 7, Voters: []Voter{{ID: 7, DirectoryID: dir}}}},
		{"snapshot footer", "00000004", "0000 00", Control{Type: ControlSnapshotFooter, TypeID: 4}},
		{"unknown type, empty value", "00000063", "", Control{Type: 99, TypeID: 99}},
		{"negative type", "0000ffff", "", Control{Type: -1, TypeID: -1}},
	} {
		got, err := ParseControl(unhex(t, c.key), unhex(t, c.value))
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v, %v\nwant %+v", c.name, got, err, c.want)
		}
	}
}

func TestParseControlDamage(t *testing.T) {
	for _, c := range []struct{ name, key, value, want string }{
		{"no key", "", "", "control key at byte 0: got int16"},
		{"key cut", "000000", "", "control key at byte 2: got int16"},
		{"negative key version", "ffff0000", "0000 00000001", "control key version at byte 0: want at least 0, got -1"},
		{"no value", "00000000", "", "control value at byte 0: got int16"},
		{"negative value version", "00000000", "ffff 00000001", "control value version at byte 0: want at least 0, got -1"},
		{"marker cut", "00000001", "0000 000000", "control value at byte 2: got int32"},
		{"null voters", "00000002", "0000 00000001 00", "control value at byte 7: got array of -1 elements, 0 bytes left"},
		{"more voters than bytes", "00000002", "0000 00000001 ffffffff0f 00000001", "got array of 4294967294 elements, 4 bytes left"},
		{"voter cut", "00000002", "0000 00000001 02 0000", "control value at byte 7: got int32"},
		{"tags cut", "00000004", "0000 05 00", "control value at byte 4: got varint"},
		{"endless tags", "00000004", "0000 ffffffff0f", "control value at byte 7: got varint"},
		{"null name", "00000006", "0000 02 00000001 00000000000000000000000000000000 02 00 01 0000", "got bytes: negative length -1"},
	} {
		_, err := ParseControl(unhex(t, c.key), unhex(t, c.value))
		wantError(t, err, ErrRecord, c.want)
		if t.Failed() {
			t.Fatal(c.name)
		}
	}
}

func TestControlTypeNames(t *testing.T) {
	for n, want := range map[ControlType]string{0: "ABORT", 1: "COMMIT", 2: "LEADER_CHANGE", 3: "SNAPSHOT_HEADER",
		4: "SNAPSHOT_FOOTER", 5: "KRAFT_VERSION", 6: "KRAFT_VOTERS", 7: "UNKNOWN(7)", -1: "UNKNOWN(-1)"} {
		if n.String() != want {
			t.Errorf("%d: %s, want %s", int16(n), n, want)
		}
	}
}
