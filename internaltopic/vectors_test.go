package internaltopic

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"kafsck/internal/schema"
	"kafsck/internal/wire"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const (
	commitKeyHex = "000100016700017400000003"
	txKeyHex     = "000000027478"
)

// vectors are kafka-format.md §13.5; T0 is 1700000000000. What is expected was made by Kafka.
var vectors = []struct {
	name       string
	topic      Topic
	key, value string
	json       string
}{
	{"offset commit v3", ConsumerOffsets, commitKeyHex, "0003000000000000002a0000000500000000018bcfe56800",
		`{"version":"3","data":{"offset":42,"leaderEpoch":5,"metadata":"","commitTimestamp":1700000000000}}`},
	{"offset commit v1", ConsumerOffsets, commitKeyHex, "0001000000000000002a00000000018bcfe568000000018bcfe56801",
		`{"version":"1","data":{"offset":42,"metadata":"","commitTimestamp":1700000000000,"expireTimestamp":1700000000001}}`},
	{"offset commit v4", ConsumerOffsets, commitKeyHex, "0004000000000000002a00000005010000018bcfe5680000",
		`{"version":"4","data":{"offset":42,"leaderEpoch":5,"metadata":"","commitTimestamp":1700000000000}}`},
	{"transaction v0", TransactionState, txKeyHex, "00000000000000000fa000020000ea6001000000010003666f6f0000000200000000000000010000018bcfe568000000018bcfe56418",
		`{"version":"0","data":{"producerId":4000,"producerEpoch":2,"transactionTimeoutMs":60000,"transactionStatus":1,"transactionPartitions":[{"topic":"foo","partitionIds":[0,1]}],"transactionLastUpdateTimestampMs":1700000000000,"transactionStartTimestampMs":1699999999000}}`},
}

func TestVectors(t *testing.T) {
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			rec := v.topic.Decode(unhex(t, v.key), unhex(t, v.value))
			if rec.Err != nil {
				t.Fatal(rec.Err)
			}
			if got := string(rec.AppendValueJSON(nil)); got != v.json {
				t.Errorf("got  %s\nwant %s", got, v.json)
			}
		})
	}
	rec := ConsumerOffsets.Decode(unhex(t, commitKeyHex), nil)
	if got, want := string(rec.AppendKeyJSON(nil)), `{"type":"1","data":{"group":"g","topic":"t","partition":3}}`; got != want || !rec.Tombstone {
		t.Errorf("got %s, want %s", got, want)
	}
	c, ok := rec.OffsetCommit()
	if !ok || !c.Deleted || c.Group != "g" || c.Topic != "t" || c.Partition != 3 || c.Offset != -1 {
		t.Errorf("tombstone: %+v", c)
	}
}

// TestUndecoded: what no table knows is kept with its reason.
func TestUndecoded(t *testing.T) {
	value := unhex(t, vectors[0].value)
	for _, c := range []struct {
		name       string
		key, value []byte
		topic      Topic
		err        error
		says       string
	}{
		{"no key", nil, value, ConsumerOffsets, ErrNoKey, ""},
		{"empty key", []byte{}, value, ConsumerOffsets, nil, "key: "},
		{"key type", unhex(t, "0063000167"), value, ConsumerOffsets, ErrUnknownType, "key type 99"},
		{"negative key type", unhex(t, "ffff000167"), value, ConsumerOffsets, ErrUnknownType, "key type -1"},
		{"long key", unhex(t, commitKeyHex+"00"), value, ConsumerOffsets, nil, "OffsetCommitKey"},
		{"version", unhex(t, commitKeyHex), append([]byte{0, 5}, value[2:]...), ConsumerOffsets, schema.ErrVersion, "version 5"},
		{"negative version", unhex(t, commitKeyHex), append([]byte{255, 255}, value[2:]...), ConsumerOffsets, schema.ErrVersion, "version -1"},
		{"short value", unhex(t, commitKeyHex), value[:len(value)-1], ConsumerOffsets, nil, "OffsetCommitValue"},
		{"long value", unhex(t, commitKeyHex), append(value[:len(value):len(value)], 0), ConsumerOffsets, nil, "1 bytes behind the message"},
		{"frame", nil, []byte{2, 0, 0}, RemoteLogMetadata, ErrFrameVersion, ""},
		{"api key", nil, []byte{1, 9, 0}, RemoteLogMetadata, ErrUnknownType, "apiKey 9"},
		{"api version", nil, []byte{1, 0, 1}, RemoteLogMetadata, schema.ErrVersion, "version 1"},
		{"no value", nil, nil, RemoteLogMetadata, ErrNoValue, ""},
	} {
		rec := c.topic.Decode(c.key, c.value)
		if rec.Err == nil || c.err != nil && !errors.Is(rec.Err, c.err) || !strings.Contains(rec.Err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, rec.Err)
		}
		if string(rec.RawKey) != string(c.key) || string(rec.RawValue) != string(c.value) {
			t.Errorf("%s: the raw bytes are not kept", c.name)
		}
		if _, ok := rec.OffsetCommit(); ok {
			t.Errorf("%s: is a commit", c.name)
		}
		if b := rec.AppendValueJSON(nil); b != nil {
			t.Errorf("%s: has a value %s", c.name, b)
		}
	}
}

// TestUnknownTag: a tag of a later release is kept and does not disturb.
func TestUnknownTag(t *testing.T) {
	value := unhex(t, "0004000000000000002a00000005010000018bcfe56800"+"01"+"07"+"02"+"beef")
	rec := ConsumerOffsets.Decode(unhex(t, commitKeyHex), value)
	if c, ok := rec.OffsetCommit(); !ok || c.Offset != 42 || c.LeaderEpoch != 5 {
		t.Fatalf("%+v %v", c, rec.Err)
	}
	if u := rec.value.Unknown; len(u) != 1 || u[0].Tag != 7 || string(u[0].Payload) != "\xbe\xef" {
		t.Errorf("unknown tags %v", u)
	}
}

// TestTopicID: as 4.3.1 writes it.
func TestTopicID(t *testing.T) {
	rec := ConsumerOffsets.Decode(unhex(t, commitKeyHex), unhex(t, "0004000000000000002a00000005010000018bcfe56800"+"010010845edb12f2774c49b9c2f1415f99a53f"))
	id, err := wire.ParseUUID("hF7bEvJ3TEm5wvFBX5mlPw")
	if err != nil {
		t.Fatal(err)
	}
	if c, ok := rec.OffsetCommit(); !ok || c.TopicID != id {
		t.Errorf("%+v %v", c, rec.Err)
	}
}

// TestPartitionFor: "Aa".hashCode() is 2112, and "polygenelubricants".hashCode() is
// Integer.MIN_VALUE, by the documentation of java.lang.String and Utils.abs. The others are
// where 4.3.1 wrote them (fixture internal-topics, 5 and 3 partitions).
func TestPartitionFor(t *testing.T) {
	for _, c := range []struct {
		id   string
		n    int32
		want int32
	}{
		{"Aa", 50, 12}, {"", 50, 0}, {"polygenelubricants", 50, 0}, {"\U0001F600", 1 << 30, (31*0xd83d + 0xde00) % (1 << 30)},
		{"grp-simple", 5, 0}, {"grp-gone", 5, 0}, {"grp-classic", 5, 1}, {"grp-regex", 5, 1}, {"shop-1", 3, 2},
	} {
		if got := PartitionFor(c.id, c.n); got != c.want {
			t.Errorf("%q of %d: %d, want %d", c.id, c.n, got, c.want)
		}
	}
}
