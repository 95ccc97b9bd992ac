package logtest

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const example = `
# two disks of one broker
broker 1 clusterid=abc directoryid=hF7bEvJ3TEm5wvFBX5mlPw dir=broker-1/d1
topic orders-0 id=hF7bEvJ3TEm5wvFBX5mlPw ; segment 0
batch base=0 records=3 epoch=4 codec=zstd ; batch ; batch base=10 records=2 epoch=5 value="v %d"
segment 12 suffix=.deleted ; batch
hw 12 ; recovery 12 ; logstart 1 ; cleaner 0 ; epochs 4:0 5:10
topic orders-1 dir=orders-1.0123456789abcdef0123456789abcdef-future
hw 3 ; hw 4
clean brokerepoch=9
broker 1 dir=broker-1/d2
broker 7 version=0
topic a-b-0 ; file note.txt text="x\ny" ; file empty
`

func TestFilesOfAnExample(t *testing.T) {
	fsys := FS(t, example)
	got := map[string]string{}
	for name, f := range fsys {
		if strings.Contains(name, ".log") {
			got[name] = "log"
			continue
		}
		if f.Mode.IsDir() {
			got[name] = "dir"
			continue
		}
		got[name] = string(f.Data)
	}
	head := "#\n#Tue Nov 14 22:13:20 UTC 2023\n"
	want := map[string]string{
		"broker-1/d1/meta.properties":                                  head + "cluster.id=abc\nversion=1\nnode.id=1\ndirectory.id=hF7bEvJ3TEm5wvFBX5mlPw\n",
		"broker-1/d1/orders-0/partition.metadata":                      "version: 0\ntopic_id: hF7bEvJ3TEm5wvFBX5mlPw",
		"broker-1/d1/orders-0/00000000000000000000.log":                "log",
		"broker-1/d1/orders-0/00000000000000000012.log.deleted":        "log",
		"broker-1/d1/orders-0/leader-epoch-checkpoint":                 "0\n2\n4 0\n5 10\n",
		"broker-1/d1/replication-offset-checkpoint":                    "0\n2\norders 0 12\norders 1 4\n",
		"broker-1/d1/recovery-point-offset-checkpoint":                 "0\n1\norders 0 12\n",
		"broker-1/d1/log-start-offset-checkpoint":                      "0\n1\norders 0 1\n",
		"broker-1/d1/cleaner-offset-checkpoint":                        "0\n1\norders 0 0\n",
		"broker-1/d1/orders-1.0123456789abcdef0123456789abcdef-future": "dir",
		"broker-1/d1/.kafka_cleanshutdown":                             `{"version":0,"brokerEpoch":9}`,
		"broker-1/d2/meta.properties":                                  head + "cluster.id=logtest\nversion=1\nnode.id=1\n",
		"broker-7/meta.properties":                                     head + "cluster.id=logtest\nversion=0\nbroker.id=7\n",
		"broker-7/a-b-0":                                               "dir",
		"broker-7/a-b-0/note.txt":                                      "x\ny",
		"broker-7/a-b-0/empty":                                         "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	wantLog := Batch{Epoch: 4, Codec: Zstd, Records: []Record{
		{Timestamp: T0, Key: []byte("k0"), Value: []byte("v0")}, {Timestamp: T0 + 1, Key: []byte("k1"), Value: []byte("v1")}, {Timestamp: T0 + 2, Key: []byte("k2"), Value: []byte("v2")}}}.Encode()
	wantLog = append(wantLog, Batch{BaseOffset: 3, Epoch: 4, Records: []Record{{Timestamp: T0 + 3, Key: []byte("k3"), Value: []byte("v3")}}}.Encode()...)
	wantLog = append(wantLog, Batch{BaseOffset: 10, Epoch: 5, Records: []Record{
		{Timestamp: T0 + 10, Key: []byte("k10"), Value: []byte("v 10")}, {Timestamp: T0 + 11, Key: []byte("k11"), Value: []byte("v 11")}}}.Encode()...)
	if !bytes.Equal(wantLog, fsys["broker-1/d1/orders-0/00000000000000000000.log"].Data) {
		t.Error("segment 0 differs")
	}

	// The same on disk.
	dir := Dir(t, example)
	files := 0
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(name)
		if f := fsys[filepath.ToSlash(rel)]; f == nil || !bytes.Equal(f.Data, b) {
			t.Errorf("%s differs", rel)
		}
		return err
	})
	if err != nil || files != len(want)-2 {
		t.Error(files, "files,", err)
	}
}

func TestDamage(t *testing.T) {
	const two = "batch records=2 ; batch records=1 value=xy\n"
	sound := Log(t, two)
	second := len(Log(t, "batch records=2"))
	differs := func(spec string) (at []int) {
		b := Log(t, two+spec)
		for i := range sound {
			if i >= len(b) || b[i] != sound[i] {
				at = append(at, i)
			}
		}
		return at
	}
	for _, c := range []struct {
		spec string
		at   []int // positions in the second batch
	}{
		{"damage batch=1 field=crc flip=0", []int{20}},
		{"damage batch=1 field=crc flip=31", []int{17}},
		{"damage batch=1 field=length flip=8", []int{10}},
		{"damage batch=1 field=baseoffset flip=0", []int{7}},
		{"damage batch=1 field=epoch set=9", []int{15}},
		{"damage batch=1 field=magic flip=7", []int{16}},
		{"damage batch=1 field=payload flip=9", []int{62}},
		{"damage batch=1 flip=0", []int{61}},
	} {
		got := differs(c.spec)
		for i := range got {
			got[i] -= second
		}
		if diff := cmp.Diff(c.at, got); diff != "" {
			t.Errorf("%s: %s", c.spec, diff)
		}
	}
	if got := differs("damage pos=5 flip=17"); len(got) != 1 || got[0] != 7 {
		t.Error("pos:", got)
	}
	if got := Log(t, two+"tail zeros=10 ; raw hex=01ff"); !bytes.Equal(got, append(append(bytes.Clone(sound), make([]byte, 10)...), 1, 255)) {
		t.Error("tail")
	}
	if got := Log(t, two+"torn bytes=3"); !bytes.Equal(got, sound[:len(sound)-3]) {
		t.Error("torn")
	}
	fixed := Log(t, "batch value=ab ; damage field=attributes set=0x20 fixcrc")
	again := bytes.Clone(fixed)
	if SetCRC(again); !bytes.Equal(fixed, again) || fixed[22] != 0x20 {
		t.Error("fixcrc")
	}
	if b := Log(t, "message magic=0 count=2 ; damage batch=1 field=crc set=1"); binary.BigEndian.Uint32(b[len(b)/2+12:]) != 1 {
		t.Error("message crc")
	}
}

func TestOptionsOfBatches(t *testing.T) {
	got := Log(t, "batch base=5 epoch=2 txn pid=9 pepoch=1 seq=4 deltas=1,3 lastdelta=6 ts=100 step=0 key=null value=null ; batch size=5 ; marker abort pid=9 pepoch=1 coordinator=8 ; batch records=0 lastdelta=1 maxts=3 appendtime=77")
	var want []byte
	for _, b := range []Batch{
		{BaseOffset: 5, Epoch: 2, Transactional: true, Producer: &Producer{9, 1, 4}, Deltas: []int32{1, 3}, LastDelta: 6, Records: []Record{{Timestamp: 100}, {Timestamp: 100}}},
		{BaseOffset: 12, Epoch: 2, Records: []Record{{Timestamp: T0 + 12, Key: []byte("k12"), Value: []byte("v12..")}}},
		Marker{Offset: 13, Epoch: 2, Timestamp: T0 + 13, ProducerID: 9, ProducerEpoch: 1, CoordinatorEpoch: 8}.Batch(),
		{BaseOffset: 14, Epoch: 2, LastDelta: 1, AppendTime: 77},
	} {
		want = append(want, b.Encode()...)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got %x\nwant %x", got, want)
	}
}

func TestMistakesAreNamed(t *testing.T) {
	const in = "topic t-0 ; segment 0\n"
	for spec, want := range map[string]string{
		"nonsense":                          "line 1: nonsense: no such fact",
		"batch":                             "line 1: batch: no segment yet",
		"segment 0":                         "line 1: segment: no topic yet",
		"topic t":                           `line 1: topic: "t" is not NAME-PARTITION`,
		in + "batch bse=1":                  `line 2: batch: option "bse" is not known`,
		in + "batch 7":                      `line 2: batch: argument "7" is not known`,
		in + "batch base=x":                 `line 2: batch: base: "x" is no number`,
		in + "batch codec=zip":              `line 2: batch: codec "zip"`,
		in + "batch base=1 base=2":          "line 2: base given twice",
		in + "batch value=\"x":              "line 2: quote not closed",
		in + "batch records=-1":             "line 2: batch: records=-1",
		in + "marker pid=1":                 "line 2: marker: commit or abort",
		in + "damage batch=0":               "line 2: damage: the file has 0 batches",
		in + "batch\ndamage field=x":        `line 3: damage: no field "x"`,
		in + "batch\ndamage flip=9999":      "line 3: damage: flip=9999",
		in + "batch\ntorn bytes=999":        "line 3: torn: the file has",
		in + "batch\ntorn bytes=1 ; damage": "line 3: damage: batch 0 is torn",
		in + "epochs 4":                     "line 2: epochs: entries are EPOCH:OFFSET",
		"hw 4":                              "line 1: hw: no topic yet",
		in + "hw":                           "line 2: hw: offset is missing",
		in + "raw hex=0":                    "line 2: raw: encoding/hex",
	} {
		_, err := Parse(spec)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", spec, err, want)
		}
	}
}
