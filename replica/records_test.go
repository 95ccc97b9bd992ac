package replica_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"kafsck/internal/fixture"
	"kafsck/internal/logtest"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/replica"
)

var recordKinds = []replica.AnomalyKind{
	replica.RecordInvalid, replica.CodecUnknown, replica.LZ4HeaderChecksum, replica.LZ4LegacyChecksum, replica.MaxTimestampMismatch, replica.DecompressionLimit,
}

// recordAnomalies reads all logs of a tree with their records.
func recordAnomalies(t testing.TB, tree fstest.MapFS) []replica.Anomaly {
	t.Helper()
	c, err := logdir.DiscoverFS(rofs.FromFS(tree), "case", logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out []replica.Anomaly
	for p := range c.AllPartitions() {
		sources, err := replica.View(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, src := range sources {
			l, err := replica.Read(context.Background(), src, replica.Options{Records: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range l.Anomalies.Kept {
				for _, k := range recordKinds {
					if a.Kind == k {
						out = append(out, a)
					}
				}
			}
		}
	}
	return out
}

func below(tree fstest.MapFS, dir string) fstest.MapFS {
	out := fstest.MapFS{}
	for path, f := range tree {
		if rest, ok := strings.CutPrefix(path, dir+"/"); ok {
			out[rest] = f
		}
	}
	return out
}

// TestRecordCases: cases made from real logs by kafka-format.md and the field reports.
func TestRecordCases(t *testing.T) {
	cases := fixture.Tree(t, "cases")
	for name, want := range map[string]string{
		"BR-26a": "record-invalid 10-15", // the third wrapper
		"BR-26b": "record-invalid 240-250",
		"BR-85a": "lz4-legacy-checksum 20-22",
		"BR-85b": "",
		"BR-85c": "lz4-header-checksum 0-2",
		"BR-86b": "batch-codec-unknown 240-250",
		"BR-86c": "",
	} {
		got := describe(recordAnomalies(t, below(cases, name)))
		if got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func describe(list []replica.Anomaly) string {
	var out []string
	for _, a := range list {
		out = append(out, fmt.Sprintf("%s %d-%d", a.Kind, a.From, a.To))
	}
	return strings.Join(out, " ")
}

// TestRecordsOfRecordings: what Kafka wrote is in order, in every format and codec.
func TestRecordsOfRecordings(t *testing.T) {
	for _, name := range fixture.Names {
		dirs := map[string]bool{}
		tree := fixture.Tree(t, name)
		for path := range tree {
			dir, _, _ := strings.Cut(path, "/")
			dirs[dir] = true
		}
		for dir := range dirs {
			stage := below(tree, dir)
			if len(stage) == 0 {
				continue
			}
			for _, a := range recordAnomalies(t, stage) {
				t.Errorf("%s/%s: %+v", name, dir, a)
			}
		}
	}
}

func TestRecordFaults(t *testing.T) {
	for spec, want := range map[string]string{
		"batch records=3 ; batch records=3 codec=zstd ; batch records=2 codec=lz4 ; batch codec=gzip ; batch codec=snappy": "",
		"batch records=3 ; damage batch=0 field=count set=2 fixcrc ; batch":                                                "record-invalid 0-3",
		"batch records=3 ; damage batch=0 field=count set=4 fixcrc ; batch":                                                "record-invalid 0-3",
		"batch records=3 codec=zstd ; damage batch=0 field=count set=4 fixcrc":                                             "record-invalid 0-3",
		"batch records=3 ; damage batch=0 field=lastoffsetdelta set=1 fixcrc":                                              "record-invalid 0-2",
		"batch records=3 ; damage batch=0 field=attributes set=5 fixcrc":                                                   "batch-codec-unknown 0-3",
		"batch records=3 codec=gzip ; damage batch=0 field=attributes set=4 fixcrc":                                        "record-invalid 0-3",
		"batch records=3 maxts=17": "",
		"batch records=3 ; damage batch=0 field=maxtimestamp set=1700000000000 fixcrc":                             "max-timestamp-mismatch 0-3",
		"batch records=3 codec=zstd ; batch records=2 codec=zstd ; damage batch=1 field=maxtimestamp set=5 fixcrc": "max-timestamp-mismatch 3-5",
		"batch records=3 appendtime=99":                                                                      "",
		"batch records=3 ; damage batch=0 field=payload flip=3":                                              "", // its CRC tells already
		"message magic=1 count=4 codec=gzip ; message magic=0 value=x ; message magic=1 count=3 codec=lz4":   "",
		"message magic=0 count=4 codec=lz4":                                                                  "lz4-legacy-checksum 0-4",
		"batch records=3 deltas=0,2,5 ; batch records=1 deltas=3 lastdelta=7":                                "",
		"batch records=2 horizon=1600000000000 ; marker commit pid=4 pepoch=0 ; batch records=1 pid=4 seq=0": "",
	} {
		tree := logtest.FS(t, "broker 1 ; topic t-0 ; segment 0 ; "+spec)
		if got := describe(recordAnomalies(t, below(tree, "broker-1"))); got != want {
			t.Errorf("%s:\ngot  %q, want %q", spec, got, want)
		}
	}
}

// TestRecordsInOrder: many batches in many parcels, some of them damaged.
func TestRecordsInOrder(t *testing.T) {
	var log []byte
	var want []string
	for i := range int64(4000) {
		b := logtest.Batch{BaseOffset: i, Codec: logtest.Codec(i % 5), Records: logtest.Values(strings.Repeat("value ", int(i%300)))}.Encode()
		if i%61 == 0 {
			binary.BigEndian.PutUint32(b[57:], 2)
			logtest.SetCRC(b)
			want = append(want, fmt.Sprintf("record-invalid %d-%d", i, i+1))
		}
		log = append(log, b...)
	}
	got := describe(recordAnomalies(t, fstest.MapFS{"t-0/" + logtest.LogName(0): {Data: log}}))
	if got != strings.Join(want, " ") {
		t.Errorf("got %s", got)
	}
}

// TestRecordBombs: a zstd batch of few bytes that holds 1 GiB, many times.
func TestRecordBombs(t *testing.T) {
	// Blocks of one byte, repeated: 4 bytes for 128 KiB.
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58}
	block := uint32(128<<10)<<3 | 1<<1
	for i := range 8192 {
		b := block
		if i == 8191 {
			b |= 1
		}
		frame = append(frame, byte(b), byte(b>>8), byte(b>>16), 'x')
	}
	var log []byte
	for i := range int64(20) {
		b := logtest.Batch{BaseOffset: i, Records: logtest.Values("x")}.Encode()[:61]
		b = append(b, frame...)
		binary.BigEndian.PutUint32(b[8:], uint32(len(b)-12))
		b[22] = byte(logtest.Zstd)
		logtest.SetCRC(b)
		log = append(log, b...)
	}
	got := recordAnomalies(t, fstest.MapFS{"t-0/" + logtest.LogName(0): {Data: log}})
	if len(got) != 20 || got[19].Kind != replica.DecompressionLimit || got[19].From != 19 {
		t.Errorf("%d anomalies: %+v", len(got), got[len(got)-1])
	}
}

// TestRecordsOfLargeBatches: batches beyond what the pass copies, in sequence with small ones.
func TestRecordsOfLargeBatches(t *testing.T) {
	small := logtest.Batch{Records: logtest.Values("x")}
	large := logtest.Batch{Records: logtest.Values(string(bytes.Repeat([]byte("large "), 1<<20)))}
	var log []byte
	for i := range int64(6) {
		b := small
		if i%2 == 1 {
			b = large
		}
		b.BaseOffset = i
		raw := b.Encode()
		binary.BigEndian.PutUint32(raw[57:], 3)
		logtest.SetCRC(raw)
		log = append(log, raw...)
	}
	got := recordAnomalies(t, fstest.MapFS{"t-0/" + logtest.LogName(0): {Data: log}})
	want := "record-invalid 0-1 record-invalid 1-2 record-invalid 2-3 record-invalid 3-4 record-invalid 4-5 record-invalid 5-6"
	if describe(got) != want {
		t.Errorf("got %s", describe(got))
	}
}
