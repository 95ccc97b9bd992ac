package replica_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"testing"
	"testing/fstest"

	"kafsck/internal/logtest"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/replica"
)

// build makes the live log of t-0 from named files.
func build(t *testing.T, files map[string][]byte) *replica.Log {
	t.Helper()
	fsys := fstest.MapFS{"meta.properties": {Data: []byte("version=1\nnode.id=1\n")}}
	for name, data := range files {
		fsys["t-0/"+name] = &fstest.MapFile{Data: data}
	}
	c, err := logdir.DiscoverFS(rofs.FromFS(fsys), "case", logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for p := range c.AllPartitions() {
		sources, err := replica.View(p)
		if err != nil {
			t.Fatal(err)
		}
		l, err := replica.Read(context.Background(), sources[0], replica.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	t.Fatal("no partition")
	return nil
}

// run is five batches of two records, epoch 4, from offset 0.
func run() [][]byte {
	var out [][]byte
	for i := range 5 {
		b := logtest.Batch{BaseOffset: int64(2 * i), Epoch: 4}
		for k := range 2 {
			b.Records = append(b.Records, logtest.Record{Timestamp: int64(1000*i + k), Value: fmt.Appendf(nil, "value %d %d", i, k)})
		}
		out = append(out, b.Encode())
	}
	return out
}

func flags(t *testing.T, l *replica.Log) string {
	t.Helper()
	out := ""
	for b, err := range l.Blocks(math.MinInt64, math.MaxInt64) {
		if err != nil {
			t.Fatal(err)
		}
		out += fmt.Sprintf("[%d-%d e%d f%d]", b.Base, b.Last, b.Epoch, b.Flaws)
	}
	return out
}

func TestSound(t *testing.T) {
	bs := run()
	l := build(t, map[string][]byte{
		"00000000000000000000.log": bytes.Join(bs[:3], nil), "00000000000000000006.log": bytes.Join(bs[3:], nil), "leader-epoch-checkpoint": []byte("0\n1\n4 0\n"),
	})
	if got, want := flags(t, l), "[0-1 e4 f0][2-3 e4 f0][4-5 e4 f0][6-7 e4 f0][8-9 e4 f0]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if l.LogStartOffset != 0 || l.LogEndOffset != 10 || len(l.Anomalies.Kept) > 0 || !l.Ascending || l.Sparse {
		t.Errorf("start %d, end %d, anomalies %v", l.LogStartOffset, l.LogEndOffset, l.Anomalies)
	}
}

// The fields outside the CRC are believed only as far as the neighbours agree.
func TestFieldsOutsideTheCRC(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(bs [][]byte)
		want   string
		kind   replica.AnomalyKind
	}{
		{"base offset", func(bs [][]byte) { binary.BigEndian.PutUint64(bs[2], 4100) }, "[0-1 e4 f0][2-3 e4 f0][4-5 e4 f4][6-7 e4 f0][8-9 e4 f0]", replica.BaseOutOfLine},
		{"base offset to below", func(bs [][]byte) { binary.BigEndian.PutUint64(bs[2], 0) }, "[0-1 e4 f0][2-3 e4 f0][4-5 e4 f4][6-7 e4 f0][8-9 e4 f0]", replica.BaseOutOfLine},
		{"epoch", func(bs [][]byte) { bs[2][15] = 9 }, "[0-1 e4 f0][2-3 e4 f0][4-5 e4 f8][6-7 e4 f0][8-9 e4 f0]", replica.EpochOutOfLine},
		{"payload", func(bs [][]byte) { bs[2][70] ^= 1 }, "[0-1 e4 f0][2-3 e4 f0][4-5 e4 f1][6-7 e4 f0][8-9 e4 f0]", replica.BadChecksum},
		{"length", func(bs [][]byte) { bs[2][11] -= 7 }, "[0-1 e4 f0][2-3 e4 f0]", ""},
	} {
		bs := run()
		tc.change(bs)
		l := build(t, map[string][]byte{"00000000000000000000.log": bytes.Join(bs, nil)})
		got := flags(t, l)
		if tc.kind == "" { // what exactly stands for the batch is the framing's affair; the rest must survive
			if len(got) < len(tc.want) || got[:len(tc.want)] != tc.want || l.LogEndOffset != 10 {
				t.Errorf("%s: got %s, end %d", tc.name, got, l.LogEndOffset)
			}
			if suffix := "[6-7 e4 f0][8-9 e4 f0]"; len(got) < len(suffix) || got[len(got)-len(suffix):] != suffix {
				t.Errorf("%s: got %s", tc.name, got)
			}
			continue
		}
		if got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.name, got, tc.want)
		}
		if l.Anomalies.Counts[tc.kind] != 1 || len(l.Anomalies.Counts) != 1 {
			t.Errorf("%s: anomalies %v", tc.name, l.Anomalies.Counts)
		}
		if l.LogEndOffset != 10 {
			t.Errorf("%s: log end %d", tc.name, l.LogEndOffset)
		}
	}
}

// A lone epoch that the checkpoint knows is no flaw: logs written before Kafka
// 2.0 may go 0, 3, 1, 5.
func TestEpochWithWitness(t *testing.T) {
	bs := run()
	bs[2][15] = 9
	l := build(t, map[string][]byte{"00000000000000000000.log": bytes.Join(bs, nil), "leader-epoch-checkpoint": []byte("0\n2\n4 0\n9 4\n")})
	if got, want := flags(t, l), "[0-1 e4 f0][2-3 e4 f0][4-5 e9 f0][6-7 e4 f0][8-9 e4 f0]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTailsAndHoles(t *testing.T) {
	bs := run()
	whole := bytes.Join(bs, nil)
	for _, tc := range []struct {
		name string
		data []byte
		kind replica.AnomalyKind
		end  int64
	}{
		{"zero tail", append(bytes.Clone(whole), make([]byte, 4096)...), replica.ZeroTail, 10},
		{"torn tail", whole[:len(whole)-5], replica.TornTail, 8},
		{"gap", bytes.Join([][]byte{bs[0], bs[1], bs[3], bs[4]}, nil), replica.Gap, 10},
		{"backwards", bytes.Join([][]byte{bs[0], bs[1], bs[2], bs[1], bs[3]}, nil), replica.BaseOutOfLine, 0},
		{"zero hole", bytes.Join([][]byte{bs[0], bs[1], make([]byte, len(bs[2])), bs[3], bs[4]}, nil), replica.ZeroHole, 10},
	} {
		l := build(t, map[string][]byte{"00000000000000000000.log": tc.data})
		if tc.name == "backwards" {
			if l.Anomalies.Counts[replica.Backwards] == 0 && l.Anomalies.Counts[replica.BaseOutOfLine] == 0 {
				t.Errorf("%s: %v", tc.name, l.Anomalies.Counts)
			}
			continue
		}
		if l.Anomalies.Counts[tc.kind] != 1 || l.LogEndOffset != tc.end {
			t.Errorf("%s: anomalies %v, end %d, want %s, %d", tc.name, l.Anomalies.Counts, l.LogEndOffset, tc.kind, tc.end)
		}
	}
}

func TestEmptyLogs(t *testing.T) {
	l := build(t, map[string][]byte{"00000000000000000042.log": {}})
	if l.LogStartOffset != 42 || l.LogEndOffset != 42 || !l.Empty() {
		t.Errorf("start %d, end %d", l.LogStartOffset, l.LogEndOffset)
	}
	l = build(t, map[string][]byte{"00000000000000000000.log": bytes.Join(run(), nil), "00000000000000000010.log": {}})
	if l.LogEndOffset != 10 {
		t.Errorf("end %d", l.LogEndOffset)
	}
}

// Blocks reads any part as the whole pass saw it.
func TestBlocksOfAPart(t *testing.T) {
	var data []byte
	for i := range 3000 {
		data = append(data, logtest.Batch{BaseOffset: int64(3 * i), Epoch: 1, Records: logtest.Values("a", "b", "c")}.Encode()...)
	}
	l := build(t, map[string][]byte{"00000000000000000000.log": data})
	for _, r := range [][2]int64{{0, 1}, {1, 2}, {2999, 3001}, {4501, 4502}, {8998, 9000}, {8999, 20000}} {
		first, n := int64(-1), int64(0)
		for b, err := range l.Blocks(r[0], r[1]) {
			if err != nil {
				t.Fatal(err)
			}
			if first < 0 {
				first = b.Base
			}
			n++
		}
		wantFirst, wantN := r[0]/3*3, (min(r[1], 9000)-1)/3-r[0]/3+1
		if first != wantFirst || n != wantN {
			t.Errorf("[%d,%d): %d blocks from %d, want %d from %d", r[0], r[1], n, first, wantN, wantFirst)
		}
	}
}
