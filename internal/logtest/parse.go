package logtest

import (
	"fmt"
	"os"
	"path"
	"strings"
	"testing"
	"testing/fstest"
)

// T0 is the timestamp of offset 0 where none is given, in ms: 2023-11-14 22:13:20 UTC.
const T0 = 1700000000000

// FS builds the directories that spec describes in memory.
func FS(t testing.TB, spec string) fstest.MapFS {
	t.Helper()
	fsys, err := Parse(spec)
	if err != nil {
		t.Fatalf("logtest: %v", err)
	}
	return fsys
}

// Dir builds them in a temporary directory, which it returns.
func Dir(t testing.TB, spec string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, FS(t, spec)); err != nil {
		t.Fatalf("logtest: %v", err)
	}
	return dir
}

// Log builds one segment file from the facts behind "segment", and returns its bytes.
func Log(t testing.TB, spec string) []byte {
	t.Helper()
	return FS(t, "topic log-0 ; segment 0\n"+spec)["log-0/"+LogName(0)].Data
}

// LogName is the name of the .log file of a segment.
func LogName(base int64) string { return fmt.Sprintf("%020d.log", base) }

// Parse builds the directories that spec describes. Paths of the result have slashes and
// no leading dot. Facts stand one a line, or between " ; ":
//
//	broker ID [clusterid=C] [directoryid=U] [version=1] [dir=PATH]
//	      A log directory, broker-ID if no dir is given, with meta.properties. A broker may
//	      have several, with different dirs. Before the first, topics lie in the root.
//	clean [brokerepoch=N]
//	      The log directory has a .kafka_cleanshutdown.
//	topic NAME-PARTITION [id=U] [dir=NAME]
//	      A partition directory; partition.metadata if there is an id.
//	segment BASE [suffix=.swap]
//	      A .log file, empty at first; what follows goes into it.
//	batch [base=N] [records=N] [epoch=N] [codec=none|gzip|snappy|lz4|zstd] [key=K] [value=V]
//	      [size=N] [ts=N] [step=N] [pid=N pepoch=N seq=N] [txn] [appendtime=N] [horizon=N]
//	      [deltas=0,2,5] [lastdelta=N] [maxts=N]
//	      A batch. base and epoch default to what follows the batch before (of the partition),
//	      records to 1. key and value may be null and may hold %d, the offset; the defaults
//	      are k%d and v%d. size pads values with dots up to N bytes. ts is the first
//	      timestamp, T0 + offset by default, and grows by step, 1, with each record.
//	marker commit|abort pid=N pepoch=N [base=N] [epoch=N] [coordinator=N] [ts=N]
//	      A transaction marker.
//	message magic=0|1 [base=N] [count=N] [codec=…] [key=K] [value=V] [ts=N]
//	      A message of the old formats; with a codec a wrapper of count messages, without
//	      one count messages.
//	raw hex=… | text=… | zeros=N
//	      Bytes as they are. "tail zeros=N" is the same, and reads better at the end.
//	torn bytes=N
//	      The last N bytes of the file are cut off.
//	damage batch=K field=F flip=N | set=N [fixcrc]
//	damage pos=N flip=N
//	      Changes batch K (from 0, in this file; markers count, messages and wrappers too):
//	      flips bit N of the field, 0 being the least significant, or stores N in it.
//	      Fields: baseoffset length epoch magic crc attributes lastoffsetdelta
//	      basetimestamp maxtimestamp producerid producerepoch basesequence count;
//	      of messages: baseoffset length crc magic attributes. In "payload", all behind
//	      these, and with pos, bit N is bit N%8 of byte N/8. fixcrc stores the right CRC
//	      afterwards (batches only).
//	epochs [E:O …]
//	      leader-epoch-checkpoint of the partition.
//	hw N, recovery N, logstart N, cleaner N
//	      Its lines in replication-, recovery-point-, log-start- and cleaner-offset-checkpoint
//	      of the log directory.
//	file NAME hex=… | text=… | zeros=N
//	      Any file, in the partition directory, else the log directory. The last one wins.
func Parse(spec string) (fstest.MapFS, error) {
	list, err := statements(spec)
	if err != nil {
		return nil, err
	}
	b := builder{files: fstest.MapFS{}, dir: "."}
	for _, s := range list {
		v := &values{s: s}
		switch s.word {
		case "broker":
			b.broker(v)
		case "clean":
			b.clean(v)
		case "topic":
			b.topic(v)
		case "segment":
			b.segment(v)
		case "batch":
			b.batch(v)
		case "marker":
			b.marker(v)
		case "message":
			b.message(v)
		case "raw", "tail":
			b.raw(v)
		case "torn":
			b.torn(v)
		case "damage":
			b.damage(v)
		case "epochs":
			b.epochs(v)
		case "hw":
			b.offset(v, "replication-offset-checkpoint")
		case "recovery":
			b.offset(v, "recovery-point-offset-checkpoint")
		case "logstart":
			b.offset(v, "log-start-offset-checkpoint")
		case "cleaner":
			b.offset(v, "cleaner-offset-checkpoint")
		case "file":
			b.file(v)
		default:
			v.fail("no such fact")
		}
		if err := v.done(); err != nil {
			return nil, err
		}
	}
	return b.files, nil
}

// builder is the state between facts: where the next one belongs.
type builder struct {
	files fstest.MapFS
	dir   string // log directory, "." at first

	partition string // directory of the partition, "" outside
	name      string // topic-partition, for the checkpoint files
	next      int64  // what follows in the partition
	epoch     int32

	log    *fstest.MapFile // the segment, nil outside
	places []place         // of the batches in it
}

// place is where a batch or message lies in the file.
type place struct {
	pos, end int
	legacy   bool
}

func (b *builder) put(name string, data []byte) *fstest.MapFile {
	f := &fstest.MapFile{Data: data, Mode: 0o644}
	b.files[path.Clean(name)] = f
	return f
}

func (b *builder) broker(v *values) {
	id := v.number("id", v.arg("id"))
	b.dir = v.text("dir", fmt.Sprintf("broker-%d", id))
	*b = builder{files: b.files, dir: b.dir}
	version := v.int("version", 1)
	key := "node.id"
	if version == 0 {
		key = "broker.id"
	}
	// As java.util.Properties stores it, date included.
	lines := []string{"#", "#Tue Nov 14 22:13:20 UTC 2023"}
	lines = append(lines, "cluster.id="+v.text("clusterid", "logtest"), fmt.Sprintf("version=%d", version), fmt.Sprintf("%s=%d", key, id))
	if u := v.text("directoryid", ""); u != "" {
		lines = append(lines, "directory.id="+u)
	}
	b.put(b.dir+"/meta.properties", []byte(strings.Join(lines, "\n")+"\n"))
}

func (b *builder) clean(v *values) {
	b.put(b.dir+"/.kafka_cleanshutdown", fmt.Appendf(nil, `{"version":0,"brokerEpoch":%d}`, v.int("brokerepoch", -1)))
}

func (b *builder) topic(v *values) {
	name := v.arg("name")
	if i := strings.LastIndexByte(name, '-'); i <= 0 || i == len(name)-1 {
		v.fail("%q is not NAME-PARTITION", name)
	}
	*b = builder{files: b.files, dir: b.dir, name: name, partition: path.Join(b.dir, v.text("dir", name))}
	if id := v.text("id", ""); id != "" {
		b.put(b.partition+"/partition.metadata", []byte("version: 0\ntopic_id: "+id)) // no newline at the end
		return
	}
	b.files[b.partition] = &fstest.MapFile{Mode: 0o755 | os.ModeDir}
}

func (b *builder) segment(v *values) {
	base := v.number("base offset", v.arg("base offset"))
	suffix := v.text("suffix", "")
	if b.partition == "" {
		v.fail("no topic yet")
		return
	}
	b.log = b.put(b.partition+"/"+LogName(base)+suffix, nil)
	b.places = nil
	b.next = base
}

func (b *builder) file(v *values) {
	name := v.arg("name")
	if b.partition != "" {
		name = b.partition + "/" + name
	} else {
		name = b.dir + "/" + name
	}
	b.put(name, v.content())
}

func (b *builder) epochs(v *values) {
	if b.partition == "" {
		v.fail("no topic yet")
		return
	}
	lines := make([]string, 0, len(v.s.args))
	for len(v.s.args) > 0 {
		epoch, offset, ok := strings.Cut(v.arg("entry"), ":")
		if !ok {
			v.fail("entries are EPOCH:OFFSET")
		}
		lines = append(lines, epoch+" "+offset)
	}
	b.put(b.partition+"/leader-epoch-checkpoint", checkpoint(lines))
}

// offset adds a line to, or replaces it in, one of the offset checkpoints.
func (b *builder) offset(v *values, file string) {
	offset := v.arg("offset")
	v.number("offset", offset)
	i := strings.LastIndexByte(b.name, '-')
	if i < 0 {
		v.fail("no topic yet")
		return
	}
	key := b.name[:i] + " " + b.name[i+1:] + " "
	name := path.Join(b.dir, file)
	var lines []string
	if old := b.files[name]; old != nil {
		for _, line := range strings.Split(strings.TrimSpace(string(old.Data)), "\n")[2:] {
			if !strings.HasPrefix(line, key) {
				lines = append(lines, line)
			}
		}
	}
	b.put(name, checkpoint(append(lines, key+offset)))
}

// checkpoint is the form of all checkpoint files: version, number of lines, lines.
func checkpoint(lines []string) []byte {
	out := fmt.Appendf(nil, "0\n%d\n", len(lines))
	for _, line := range lines {
		out = append(append(out, line...), '\n')
	}
	return out
}
