// Command gen writes the data that the benchmark reads: a folder with broker-1
// and broker-2, each a log directory with one partition t-0, byte for byte the
// same, as two brokers leave it after a clean stop. One segment of magic 2 batches,
// or several of -bytes each, with its indexes.
//
// It shares no code with the decoders that are measured.
//
//	gen -out DIR [-bytes 1073741824] [-batch 16384] [-record 256] [-codec none|lz4|zstd]
//	    [-brokers 2] [-segments 1] [-sparse]
//
// With -cluster it writes three brokers with many partitions of -bytes each and the
// cluster's metadata instead, see writeCluster.
//
//	gen -out DIR -cluster 1000 [-metadata 0] [-bytes 65536] [-batch 16384] [-record 256] [-codec none]
package main

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
)

func main() {
	var o options
	flag.StringVar(&o.dir, "out", "", "folder to make; must not exist")
	flag.Int64Var(&o.bytes, "bytes", 1<<30, "size of the .log file: the whole batches that fit")
	flag.IntVar(&o.batchBytes, "batch", 16<<10, "size of a batch before compression; below -record: one record each")
	flag.IntVar(&o.recordBytes, "record", 256, "size of a record's value")
	flag.StringVar(&o.codec, "codec", "none", "none, lz4 or zstd")
	flag.IntVar(&o.brokers, "brokers", 2, "1 or 2")
	flag.IntVar(&o.segments, "segments", 1, "number of segments")
	flag.BoolVar(&o.sparse, "sparse", false, "one record of zeros in each batch, as a hole, and no index")
	flag.IntVar(&o.cluster, "cluster", 0, "write a cluster of three brokers with so many partitions, at most 10,000")
	flag.IntVar(&o.metadata, "metadata", 0, "of a cluster: at least so many metadata records")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

type options struct {
	dir                     string
	bytes                   int64
	batchBytes, recordBytes int
	codec                   string
	brokers, segments       int
	sparse                  bool
	cluster, metadata       int
}

func run(o options) error {
	if o.dir == "" || flag.NArg() > 0 {
		return errors.New("usage: gen -out DIR [-bytes N] [-batch N] [-record N] [-codec none|lz4|zstd] [-brokers N] [-segments N]")
	}
	if err := os.Mkdir(o.dir, 0o755); err != nil {
		return err
	}
	if o.cluster > 0 {
		if o.cluster > 10_000 {
			return errors.New("-cluster: at most 10000")
		}
		return writeCluster(o)
	}
	first := filepath.Join(o.dir, "broker-1")
	end, err := writePartition(filepath.Join(first, "t-0"), o)
	if err != nil {
		return err
	}
	if err := writeBroker(first, 1, end); err != nil {
		return err
	}
	if o.brokers == 1 {
		return nil
	}
	second := filepath.Join(o.dir, "broker-2")
	if err := os.MkdirAll(filepath.Join(second, "t-0"), 0o755); err != nil {
		return err
	}
	if err := copyFiles(filepath.Join(first, "t-0"), filepath.Join(second, "t-0")); err != nil {
		return err
	}
	return writeBroker(second, 2, end)
}

const (
	topicID   = "kafsck-bench-tid"
	clusterID = "kafsck-bench-cid"
)

// uuid is Kafka's text form of 16 bytes.
func uuid(bytes string) string { return base64.RawURLEncoding.EncodeToString([]byte(bytes)) }

// writePartition returns the log end offset.
func writePartition(dir string, o options) (int64, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	for name, text := range map[string]string{
		"partition.metadata":      "version: 0\ntopic_id: " + uuid(topicID),
		"leader-epoch-checkpoint": "0\n1\n0 0\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return 0, err
		}
	}
	if o.sparse {
		return writeSparse(filepath.Join(dir, fmt.Sprintf("%020d.log", 0)), o)
	}
	l := log{random: rand.New(rand.NewPCG(1, 2)), timestamp: 1700000000000}
	for range o.segments {
		if err := l.writeSegment(dir, o); err != nil {
			return 0, err
		}
	}
	return l.offset, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%020d.snapshot", l.offset)), emptySnapshot(), 0o644)
}

// emptySnapshot is the producer snapshot of a clean stop, without producers: version,
// CRC-32C of what follows, count.
func emptySnapshot() []byte {
	noProducers := make([]byte, 4)
	b := binary.BigEndian.AppendUint16(nil, 1)
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(noProducers, castagnoli))
	return append(b, noProducers...)
}

// log is where the partition has come to.
type log struct {
	random            *rand.Rand
	offset, timestamp int64
}

// indexInterval is index.interval.bytes: an entry before the first batch that follows
// more than so many bytes after the last entry (LogSegment.append).
const indexInterval = 4096

func (l *log) writeSegment(dir string, o options) error {
	base := l.offset
	name := filepath.Join(dir, fmt.Sprintf("%020d", base))
	file, err := os.Create(name + ".log")
	if err != nil {
		return err
	}
	defer file.Close()
	w := bufio.NewWriterSize(file, 1<<20)
	var index, timeIndex []byte
	var position, since, indexedTime int64
	for {
		b, err := makeBatch(o, l.random, l.offset, l.timestamp)
		if err != nil {
			return err
		}
		if position+int64(len(b.bytes)) > o.bytes {
			break
		}
		if _, err := w.Write(b.bytes); err != nil {
			return err
		}
		l.offset += int64(b.records)
		l.timestamp = b.maxTimestamp + 1
		last := uint32(l.offset - 1 - base)
		if since > indexInterval {
			index = binary.BigEndian.AppendUint32(index, last)
			index = binary.BigEndian.AppendUint32(index, uint32(position))
			timeIndex = binary.BigEndian.AppendUint64(timeIndex, uint64(b.maxTimestamp))
			timeIndex = binary.BigEndian.AppendUint32(timeIndex, last)
			indexedTime = b.maxTimestamp
			since = 0
		}
		position += int64(len(b.bytes))
		since += int64(len(b.bytes))
	}
	if last := l.timestamp - 1; last > indexedTime { // the entry of a roll or a clean stop
		timeIndex = binary.BigEndian.AppendUint64(timeIndex, uint64(last))
		timeIndex = binary.BigEndian.AppendUint32(timeIndex, uint32(l.offset-1-base))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	if err := os.WriteFile(name+".index", index, 0o644); err != nil {
		return err
	}
	return os.WriteFile(name+".timeindex", timeIndex, 0o644)
}

func writeBroker(dir string, id int, end int64) error {
	checkpoint := fmt.Sprintf("0\n1\nt 0 %d\n", end)
	for name, text := range map[string]string{
		"meta.properties":                  fmt.Sprintf("version=1\ncluster.id=%s\nnode.id=%d\ndirectory.id=%s\n", uuid(clusterID), id, uuid(fmt.Sprintf("kafsck-bench-%03d", id))),
		"replication-offset-checkpoint":    checkpoint,
		"recovery-point-offset-checkpoint": checkpoint,
		"log-start-offset-checkpoint":      "0\n0\n",
		"cleaner-offset-checkpoint":        "0\n0\n",
		".kafka_cleanshutdown":             `{"version":0,"brokerEpoch":1}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func copyFiles(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := copyFile(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.Create(to)
	if err != nil {
		return err
	}
	defer w.Close()
	if _, err := io.Copy(w, r); err != nil {
		return err
	}
	return w.Close()
}
