package kraft

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"kafsck/internal/wire"
)

// Vectors written by Kafka's own MetadataRecordSerde (kafka-format.md §13.5).
var vectors = []struct{ name, hex, json string }{
	{"topic", "01020004666f6f845edb12f2774c49b9c2f1415f99a53f00",
		`{"type":"TOPIC_RECORD","version":0,"data":{"name":"foo","topicId":"hF7bEvJ3TEm5wvFBX5mlPw"}}`},
	{"partition 0", "01030000000000845edb12f2774c49b9c2f1415f99a53f04000000010000000200000003030000000100000002010100000001000000040000000900",
		`{"type":"PARTITION_RECORD","version":0,"data":{"partitionId":0,"topicId":"hF7bEvJ3TEm5wvFBX5mlPw","replicas":[1,2,3],"isr":[1,2],"removingReplicas":[],"addingReplicas":[],"leader":1,"leaderEpoch":4,"partitionEpoch":9}}`},
	{"partition 2", "01030200000000845edb12f2774c49b9c2f1415f99a53f0200000001010101ffffffff000000040000000902845edb12f2774c49b9c2f1415f99a53f030001010105020000000102050200000001",
		`{"type":"PARTITION_RECORD","version":2,"data":{"partitionId":0,"topicId":"hF7bEvJ3TEm5wvFBX5mlPw","replicas":[1],"isr":[],"removingReplicas":[],"addingReplicas":[],"leader":-1,"leaderRecoveryState":1,"leaderEpoch":4,"partitionEpoch":9,"directories":["hF7bEvJ3TEm5wvFBX5mlPw"],"eligibleLeaderReplicas":[1],"lastKnownElr":[1]}}`},
	{"partition change 0", "01050000000000845edb12f2774c49b9c2f1415f99a53f0200050200000002010400000002",
		`{"type":"PARTITION_CHANGE_RECORD","version":0,"data":{"partitionId":0,"topicId":"hF7bEvJ3TEm5wvFBX5mlPw","isr":[2],"leader":2}}`},
	{"partition change 2", "01050200000000845edb12f2774c49b9c2f1415f99a53f060001010104ffffffff0501010605020000000207050200000003081102845edb12f2774c49b9c2f1415f99a53f",
		`{"type":"PARTITION_CHANGE_RECORD","version":2,"data":{"partitionId":0,"topicId":"hF7bEvJ3TEm5wvFBX5mlPw","isr":[],"leader":-1,"leaderRecoveryState":1,"directories":["hF7bEvJ3TEm5wvFBX5mlPw"],"eligibleLeaderReplicas":[2],"lastKnownElr":[3]}}`},
	{"remove topic", "010900845edb12f2774c49b9c2f1415f99a53f00", `{"type":"REMOVE_TOPIC_RECORD","version":0,"data":{"topicId":"hF7bEvJ3TEm5wvFBX5mlPw"}}`},
	{"config", "0104000204666f6f146d696e2e696e73796e632e7265706c69636173023200",
		`{"type":"CONFIG_RECORD","version":0,"data":{"resourceType":2,"resourceName":"foo","name":"min.insync.replicas","value":"2"}}`},
	{"feature", "010c00116d657461646174612e76657273696f6e001400", `{"type":"FEATURE_LEVEL_RECORD","version":0,"data":{"name":"metadata.version","featureLevel":20}}`},
	{"registration change", "01110000000002000000000000004d01000101", `{"type":"BROKER_REGISTRATION_CHANGE_RECORD","version":0,"data":{"brokerId":2,"brokerEpoch":77,"fenced":1}}`},
	{"fence", "01070000000002000000000000004d00", `{"type":"FENCE_BROKER_RECORD","version":0,"data":{"id":2,"epoch":77}}`},
	{"no-op", "01140000", `{"type":"NO_OP_RECORD","version":0,"data":{}}`},
}

func TestVectors(t *testing.T) {
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			value := unhex(t, v.hex)
			rec, err := DecodeRecord(value)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(rec)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != v.json {
				t.Errorf("got  %s\nwant %s", got, v.json)
			}
			for n := range value {
				if _, err := DecodeRecord(value[:n]); err == nil {
					t.Errorf("cut to %d of %d bytes: no error", n, len(value))
				}
			}
			if _, err := DecodeRecord(append(value, 0)); err == nil {
				t.Error("a byte behind the message: no error")
			}
		})
	}
}

// A FeatureLevelRecord of 3.0 to 3.2 has two levels under the same version.
func TestFeatureLevelRange(t *testing.T) {
	l := read(t, Input{Logs: []File{file("00000000000000000000.log", logOf(records(
		rec(keyFeatureLevel, 0, str("metadata.version"), []byte{0, 1, 0, 5}, tags()),
		rec(keyFeatureLevel, 0, str("metadata.version"), []byte{0, 20}, tags()),
	)))}})
	sound(t, l)
	got := l.Features["metadata.version"]
	if len(got) != 2 || got[0].Level != 5 || got[0].MinLevel != 1 || got[1].Level != 20 || got[1].MinLevel != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		value []byte
		want  error
	}{
		{"empty", nil, nil},
		{"preview framing", []byte{0, 2, 0}, ErrFrameVersion},
		{"unused apiKey", []byte{1, 6, 0, 0}, ErrUnknownType},
		{"array longer than the record", rec(keyPartition, 0, int32be(0), make([]byte, 16), []byte{0xff, 0xff, 0xff, 0xff, 0x0f}), nil},
		{"string longer than the record", rec(keyTopic, 0, []byte{0x80, 0x80, 0x80, 0x80, 0x08}), nil},
		{"null where it must not be", rec(keyTopic, 0, []byte{0}, make([]byte, 16), tags()), nil},
		{"tag longer than the record", rec(keyNoOp, 0, []byte{1, 7, 200, 1}), nil},
		{"size of a known tag is wrong", rec(keyBrokerRegistrationChange, 0, int32be(1), make([]byte, 8), tags(tag(0, []byte{1, 1}))), nil},
		{"version out of range", []byte{1, 20, 0xff, 0xff, 0xff, 0xff, 0x0f, 0}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := DecodeRecord(c.value)
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("got %v", err)
			}
			_, isWire := errors.AsType[*wire.Error](err)
			if c.want != nil && isWire {
				t.Errorf("a sentinel and a position: %v", err)
			}
		})
	}
}

// Tags that are not known are skipped by their size, a newer version is read as the
// newest known one.
func TestNewerRecords(t *testing.T) {
	id := topicA
	for _, value := range [][]byte{
		rec(keyTopic, 0, str("foo"), id[:], tags(tag(9, []byte("later")))),
		rec(keyTopic, 3, str("foo"), id[:], tags(tag(0, []byte{1}))),
	} {
		got, err := DecodeRecord(value)
		if err != nil || got.body.Text("name") != "foo" || len(got.body.Unknown) != 1 {
			t.Errorf("%x: %+v, %v", value, got, err)
		}
	}
	l := read(t, Input{Logs: []File{file("00000000000000000000.log", logOf(
		records(rec(keyTopic, 3, str("foo"), id[:], tags())),
		records(rec(99, 0, str("what"), tags())),
	))}})
	sound(t, l)
	if l.Topics[id] == nil || l.Newer[keyTopic] != 1 || l.Counts[99] != 1 {
		t.Errorf("topics %v, newer %v, counts %v", l.Topics, l.Newer, l.Counts)
	}
	if len(l.Others) != 1 || l.Others[0].Offset != 1 || l.Others[0].APIKey != 99 || len(l.Others[0].Value) == 0 {
		t.Errorf("others %+v", l.Others)
	}
}

func TestSecretsAreNotKept(t *testing.T) {
	value := rec(keyUserScramCredential, 0, str("u"), []byte{1}, str("salt"), str("stored"), str("server"), int32be(4096), tags())
	l := read(t, Input{Logs: []File{file("00000000000000000000.log", logOf(records(value)))}})
	if len(l.Others) != 1 || l.Others[0].Value != nil || l.Others[0].Size != int64(len(value)) {
		t.Errorf("got %+v", l.Others)
	}
}

// Every record type that a release from 3.0 to 4.3 writes has its table
// (org.apache.kafka.common.metadata.MetadataRecordType), and under its own name.
func TestEveryTypeHasATable(t *testing.T) {
	names := map[uint32]string{
		0: "RegisterBrokerRecord", 1: "UnregisterBrokerRecord", 2: "TopicRecord", 3: "PartitionRecord", 4: "ConfigRecord", 5: "PartitionChangeRecord", 7: "FenceBrokerRecord",
		8: "UnfenceBrokerRecord", 9: "RemoveTopicRecord", 10: "DelegationTokenRecord", 11: "UserScramCredentialRecord", 12: "FeatureLevelRecord", 14: "ClientQuotaRecord",
		15: "ProducerIdsRecord", 17: "BrokerRegistrationChangeRecord", 18: "AccessControlEntryRecord", 19: "RemoveAccessControlEntryRecord", 20: "NoOpRecord",
		21: "ZkMigrationStateRecord", 22: "RemoveUserScramCredentialRecord", 23: "BeginTransactionRecord", 24: "EndTransactionRecord", 25: "AbortTransactionRecord",
		26: "RemoveDelegationTokenRecord", 27: "RegisterControllerRecord", 28: "ClearElrRecord",
	}
	for key, name := range names {
		kind := recordTypes[key]
		if kind == nil {
			t.Errorf("no table for %d, %s", key, name)
			continue
		}
		if kind.message.Name != name {
			t.Errorf("%d is %s, want %s", key, kind.message.Name, name)
		}
		tagged := map[uint32]bool{}
		for _, f := range kind.message.Fields {
			if f.Tagged && tagged[f.Tag] {
				t.Errorf("%s: tag %d twice", name, f.Tag)
			}
			tagged[f.Tag] = tagged[f.Tag] || f.Tagged
		}
	}
	if len(recordTypes) != len(names) {
		t.Errorf("%d tables, want %d", len(recordTypes), len(names))
	}
}

// TestHoldsSecret: by the type where the record cannot be decoded, and passwords among the
// configurations by their names, which are those that KafkaConfig of 4.3.1 declares so.
func TestHoldsSecret(t *testing.T) {
	text := func(s string) *string { return &s }
	for name, c := range map[string]struct {
		value []byte
		want  bool
	}{
		"a user":                        {rec(keyUserScramCredential, 0, str("u"), []byte{1}, str("salt"), str("stored"), str("server"), int32be(4096), tags()), true},
		"a user of a later version":     {rec(keyUserScramCredential, 9, str("u"), []byte{1}), true},
		"a user cut short":              {rec(keyUserScramCredential, 0, str("u"))[:5], true},
		"a configuration":               {configRecord(4, "1", "min.insync.replicas", text("2")), false},
		"a password":                    {configRecord(4, "1", "ssl.keystore.password", text("p")), true},
		"a password of a listener":      {configRecord(4, "", "listener.name.internal.ssl.key.password", text("p")), true},
		"a login of a mechanism":        {configRecord(4, "1", "listener.name.x.scram-sha-256.sasl.jaas.config", text("p")), true},
		"a client's secret":             {configRecord(4, "1", "sasl.oauthbearer.client.credentials.client.secret", text("p")), true},
		"a passphrase":                  {configRecord(4, "1", "sasl.oauthbearer.assertion.private.key.passphrase", text("p")), true},
		"the master key of tokens":      {configRecord(4, "1", "delegation.token.secret.key", text("p")), true},
		"a chain":                       {configRecord(4, "1", "ssl.keystore.certificate.chain", text("PEM")), true},
		"trusted ones":                  {configRecord(4, "1", "ssl.truststore.certificates", text("PEM")), true},
		"a password that is taken away": {configRecord(4, "1", "ssl.key.password", nil), false},
		"a key":                         {configRecord(4, "1", "ssl.keystore.key", text("PEM")), true},
		"a place of a key":              {configRecord(4, "1", "ssl.keystore.location", text("/x")), false},
		"a configuration cut short":     {configRecord(4, "1", "ssl.key.password", text("p"))[:8], true},
		"a topic":                       {rec(keyTopic, 0, str("secret"), make([]byte, 16), tags()), false},
		"nothing":                       {nil, false},
		"another framing":               {[]byte{0, 11, 0}, false},
	} {
		if got := HoldsSecret(c.value); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		r, err := DecodeRecord(c.value)
		if err != nil {
			continue
		}
		if shown := !strings.Contains(string(r.AppendData(nil)), `"(redacted)"`); shown == c.want {
			t.Errorf("%s: %s", name, r.AppendData(nil))
		}
		if plain := string(r.AppendKafkaJSON(nil)); strings.Contains(plain, "(redacted)") {
			t.Errorf("%s: kafka-dump-log shows all: %s", name, plain)
		}
	}
}
