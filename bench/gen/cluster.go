package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// topicPartitions is how many partitions a topic of a generated cluster has.
const topicPartitions = 10

// writeCluster writes three brokers with o.cluster partitions, each with a log of
// about o.bytes on every broker, and the cluster's metadata. Partition p is led by
// broker p%3+1 since epoch 1, and by the next one before. What is not the same
// everywhere:
//
//	every 4th partition   the broker after the leader lacks the last quarter
//	every 10th partition  the leader of epoch 0 has two batches that nobody else has
func writeCluster(o options) error {
	o.segments = 1
	ends := [3]map[string]int64{{}, {}, {}}
	for p := range o.cluster {
		name := fmt.Sprintf("%s-%d", topicName(p/topicPartitions), p%topicPartitions)
		for b := range 3 {
			dir := filepath.Join(o.dir, fmt.Sprintf("broker-%d", b+1), name)
			end, err := writeReplica(dir, p, (b-p%3+3)%3, o)
			if err != nil {
				return err
			}
			ends[b][name] = end
		}
	}
	metadata := clusterMetadata(o)
	for b := range 3 {
		dir := filepath.Join(o.dir, fmt.Sprintf("broker-%d", b+1))
		if err := writeBroker(dir, b+1, 0); err != nil {
			return err
		}
		var lines strings.Builder
		fmt.Fprintf(&lines, "0\n%d\n", len(ends[b]))
		for name, end := range ends[b] {
			dash := strings.LastIndexByte(name, '-')
			fmt.Fprintf(&lines, "%s %s %d\n", name[:dash], name[dash+1:], end)
		}
		for _, file := range []string{"replication-offset-checkpoint", "recovery-point-offset-checkpoint"} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(lines.String()), 0o644); err != nil {
				return err
			}
		}
		if err := writeMetadata(filepath.Join(dir, "__cluster_metadata-0"), metadata); err != nil {
			return err
		}
	}
	return nil
}

func topicName(t int) string { return fmt.Sprintf("topic-%03d", t) }

// topicUUID is the 16 bytes of a topic's id.
func topicUUID(t int) string { return fmt.Sprintf("kafsck-topic-%03d", t) }

// writeReplica writes one replica of partition p; place is 0 for the leader, 1 for the
// broker after it, 2 for the one before. It returns the log end offset.
func writeReplica(dir string, p, place int, o options) (int64, error) {
	l := log{random: rand.New(rand.NewPCG(1, uint64(p))), timestamp: 1700000000000}
	var data []byte
	fork := int64(-1)
	add := func(epoch uint32) error {
		b, err := makeBatch(o, l.random, l.offset, l.timestamp)
		if err != nil {
			return err
		}
		binary.BigEndian.PutUint32(b.bytes[12:], epoch) // outside the CRC
		data = append(data, b.bytes...)
		l.offset += int64(b.records)
		l.timestamp = b.maxTimestamp + 1
		return nil
	}
	full := int(max(o.bytes/int64(o.batchBytes), 4))
	end := full
	if p%4 == 0 && place == 1 {
		end -= full / 4
	}
	for i := range end {
		epoch := uint32(0)
		if i >= full/2 {
			if epoch = 1; fork < 0 {
				fork = l.offset
			}
			if p%10 == 0 && place == 1 { // its own two batches instead, never truncated
				epoch = 0
				if i == full/2+2 {
					break
				}
				l.timestamp += 1000
			}
		}
		if err := add(epoch); err != nil {
			return 0, err
		}
	}
	epochs := fmt.Sprintf("0\n2\n0 0\n1 %d\n", fork)
	if p%10 == 0 && place == 1 {
		epochs = "0\n1\n0 0\n"
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	return l.offset, errors.Join(
		os.WriteFile(filepath.Join(dir, fmt.Sprintf("%020d.log", 0)), data, 0o644),
		os.WriteFile(filepath.Join(dir, fmt.Sprintf("%020d.index", 0)), nil, 0o644),
		os.WriteFile(filepath.Join(dir, fmt.Sprintf("%020d.timeindex", 0)), timeIndexEntry(l.timestamp-1, l.offset-1), 0o644),
		os.WriteFile(filepath.Join(dir, fmt.Sprintf("%020d.snapshot", l.offset)), emptySnapshot(), 0o644),
		os.WriteFile(filepath.Join(dir, "partition.metadata"), []byte("version: 0\ntopic_id: "+uuid(topicUUID(p/topicPartitions))), 0o644),
		os.WriteFile(filepath.Join(dir, "leader-epoch-checkpoint"), []byte(epochs), 0o644))
}

// timeIndexEntry is the entry of a clean stop.
func timeIndexEntry(timestamp, last int64) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(timestamp))
	return binary.BigEndian.AppendUint32(b, uint32(last))
}

func writeMetadata(dir string, log []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, data := range map[string][]byte{
		fmt.Sprintf("%020d.log", 0): log,
		"leader-epoch-checkpoint":   []byte("0\n1\n1 0\n"),
		"partition.metadata":        []byte("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"),
		"quorum-state":              []byte(`{"clusterId":"","leaderId":1,"leaderEpoch":1,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1},{"voterId":2},{"voterId":3}],"data_version":0}`),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, fs.FileMode(0o644)); err != nil {
			return err
		}
	}
	return nil
}
