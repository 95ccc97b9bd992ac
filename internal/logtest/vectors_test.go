package logtest

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// vectors are bytes that Kafka wrote; see testdata/README.md.
func vectors(t *testing.T) map[string][]byte {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, line := range strings.Split(string(text), "\n") {
		name, digits, ok := strings.Cut(line, " ")
		if !ok || name == "#" {
			continue
		}
		b, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(name, err)
		}
		out[name] = b
	}
	return out
}

func TestBatchesAsKafkaWritesThem(t *testing.T) {
	producer := &Producer{ID: 4000, Epoch: 2, Sequence: 7}
	marker := Marker{Offset: 103, Epoch: 5, Timestamp: T0 + 10, ProducerID: 4000, ProducerEpoch: 2, CoordinatorEpoch: 9}
	commit := marker
	commit.Commit = true
	messages := func(magic int8) []Message {
		return []Message{
			{Magic: magic, Offset: 20, Timestamp: T0, Key: []byte("k"), Value: []byte("v")},
			{Magic: magic, Offset: 21, Timestamp: T0 + 1, Key: []byte("k"), Value: []byte("w")},
		}
	}
	exact := map[string][]byte{
		"v2_plain": Batch{BaseOffset: 100, Epoch: 5, Producer: producer, Records: []Record{
			{Timestamp: T0, Key: []byte("k1"), Value: []byte("v1"), Headers: []Header{{Key: "h", Value: []byte("x")}, {Key: "n"}}},
			{Timestamp: T0 + 5, Key: []byte("k2")},
			{Timestamp: T0 - 1, Value: []byte{}},
		}}.Encode(),
		"v2_min":    Batch{Records: []Record{{Timestamp: 1, Value: []byte("a")}}}.Encode(),
		"v2_abort":  marker.Batch().Encode(),
		"v2_commit": commit.Batch().Encode(),
		"v2_empty":  Batch{BaseOffset: 100, Epoch: 5, Producer: producer, LastDelta: 2, MaxTimestamp: T0 + 5}.Encode(),
		"v2_lat": Batch{BaseOffset: 10, Epoch: 1, AppendTime: T0 + 100, Records: []Record{
			{Timestamp: 5, Key: []byte("k"), Value: []byte("v")}, {Timestamp: 9, Key: []byte("k"), Value: []byte("w")}}}.Encode(),
		"v2_horizon": Batch{BaseOffset: 100, Epoch: 5, Producer: producer, DeleteHorizon: 1700086400000, LastDelta: 2,
			Deltas: []int32{1}, Records: []Record{{Timestamp: T0 + 5, Key: []byte("k2")}}}.Encode(),
		"v0_plain": messages(0)[0].Encode(),
		"v1_plain": messages(1)[0].Encode(),
	}
	// Compressors differ in the bytes they choose: the payload is compared decompressed.
	two := []Record{{Timestamp: 1, Value: bytes.Repeat([]byte("a"), 32)}, {Timestamp: 1, Value: bytes.Repeat([]byte("a"), 32)}}
	compressed := map[string][]byte{
		"v2_gzip":   Batch{Codec: Gzip, Records: two}.Encode(),
		"v2_snappy": Batch{Codec: Snappy, Records: two}.Encode(),
		"v2_lz4":    Batch{Codec: LZ4, Records: two}.Encode(),
		"v2_zstd":   Batch{Codec: Zstd, Records: two}.Encode(),
		"v0_lz4":    Wrapper(LZ4, messages(0)...).Encode(),
		"v0_snappy": Wrapper(Snappy, messages(0)...).Encode(),
		"v1_lz4":    Wrapper(LZ4, messages(1)...).Encode(),
		"v1_snappy": Wrapper(Snappy, messages(1)...).Encode(),
	}
	want := vectors(t)
	if len(want) != len(exact)+len(compressed) {
		t.Errorf("%d vectors, %d compared", len(want), len(exact)+len(compressed))
	}
	for name, got := range exact {
		if diff := cmp.Diff(hex.Dump(want[name]), hex.Dump(got)); diff != "" {
			t.Errorf("%s (-Kafka +logtest):\n%s", name, diff)
		}
	}
	for name, got := range compressed {
		wantHead, wantPayload := split(t, want[name])
		gotHead, gotPayload := split(t, got)
		if diff := cmp.Diff(hex.Dump(wantHead), hex.Dump(gotHead)); diff != "" {
			t.Errorf("%s, header (-Kafka +logtest):\n%s", name, diff)
		}
		if diff := cmp.Diff(hex.Dump(wantPayload), hex.Dump(gotPayload)); diff != "" {
			t.Errorf("%s, decompressed (-Kafka +logtest):\n%s", name, diff)
		}
	}
}

// split returns a compressed batch's or wrapper's head, with the fields that depend on the
// compressor zeroed, and the decompressed rest.
func split(t *testing.T, b []byte) (head, payload []byte) {
	t.Helper()
	var codec Codec
	blank := func(from, to int) { clear(head[from:to]) }
	switch b[16] {
	case 2:
		head, payload, codec = bytes.Clone(b[:61]), b[61:], Codec(b[22]&7)
		blank(17, 21)
		stored := binary.BigEndian.Uint32(b[17:])
		if SetCRC(b); binary.BigEndian.Uint32(b[17:]) != stored {
			t.Fatal("wrong CRC")
		}
	case 1:
		head, payload, codec = bytes.Clone(b[:34]), b[34:], Codec(b[17]&7)
		blank(30, 34)
		blank(12, 16)
	case 0:
		head, payload, codec = bytes.Clone(b[:26]), b[26:], Codec(b[17]&7)
		blank(22, 26)
		blank(12, 16)
	}
	blank(8, 12)
	return head, decompress(t, codec, payload, b[16] == 0)
}

func decompress(t *testing.T, c Codec, p []byte, magic0 bool) []byte {
	t.Helper()
	var r io.Reader
	var err error
	switch c {
	case Gzip:
		r, err = gzip.NewReader(bytes.NewReader(p))
	case Snappy:
		out := []byte{}
		for p = p[16:]; len(p) > 0; {
			n := binary.BigEndian.Uint32(p)
			block, err := snappy.Decode(nil, p[4:4+n])
			if err != nil {
				t.Fatal(err)
			}
			out, p = append(out, block...), p[4+n:]
		}
		return out
	case LZ4:
		if want := map[bool]byte{true: 0x1a, false: 0x82}[magic0]; p[4] != 0x60 || p[5] != 0x40 || p[6] != want {
			t.Fatalf("lz4 frame header %x", p[:7])
		}
		p = bytes.Clone(p)
		p[6] = 0x82
		r = lz4.NewReader(bytes.NewReader(p))
	case Zstd:
		var d *zstd.Decoder
		d, err = zstd.NewReader(bytes.NewReader(p))
		r = d
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
