package incident

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"kafsck/kraft"
	"kafsck/logdir"
)

// metadataDir is one copy of the metadata log that could be read.
type metadataDir struct {
	broker BrokerRef
	dir    *logdir.Partition
	log    *kraft.Log // of the live files
}

// readMetadata reads the copies of the metadata log; the newest one counts.
func (inc *Incident) readMetadata(cl *Cluster) {
	for i, b := range cl.Brokers {
		d := &disk{}
		cl.disks[b] = d
		ref := BrokerRef{ID: b.ID, Known: b.IDKnown, Name: b.Name}
		if b.IDKnown {
			ref.Name = fmt.Sprint(b.ID)
		} else {
			ref.ID = int32(-1000 - i) // never equal to a real id
		}
		cl.refs[b] = ref
		for _, ld := range b.Dirs {
			if ld.NewestModTime.After(d.newest) {
				d.newest = ld.NewestModTime
			}
			if ld.Metadata == nil {
				continue
			}
			log, err := readMetadataLog(ld.Metadata)
			if err != nil {
				inc.Errors = append(inc.Errors, logdir.PathError{Path: ld.Metadata.Dir, Err: err})
				continue
			}
			cl.copies = append(cl.copies, metadataDir{ref, ld.Metadata, log})
			if log.Batches == 0 {
				continue
			}
			if d.metadata == nil || newer(log, d.metadata) {
				d.metadata = log
			}
			if cl.Metadata == nil || newer(log, cl.Metadata) {
				cl.Metadata, cl.MetadataFrom = log, cl.copies[len(cl.copies)-1].from()
			}
		}
	}
	cl.joined = sync.OnceValue(cl.join)
}

// newer orders metadata copies: raft epoch, end offset, and of equal ones the
// one with less damage.
func newer(a, b *kraft.Log) bool {
	return cmp.Or(cmp.Compare(a.RaftEpoch, b.RaftEpoch), cmp.Compare(a.EndOffset, b.EndOffset), cmp.Compare(len(b.Damaged), len(a.Damaged))) > 0
}

// readMetadataLog replays the segments and snapshots of a __cluster_metadata
// directory.
func readMetadataLog(p *logdir.Partition) (*kraft.Log, error) {
	var open metadataFiles
	defer open.close()
	in, err := open.input(p, false)
	if err != nil {
		return nil, err
	}
	return kraft.Read(in)
}

// metadataFiles are the open files of metadata logs.
type metadataFiles []io.Closer

func (m *metadataFiles) close() {
	for _, c := range *m {
		c.Close() // nothing was written: a failed close loses nothing
	}
}

// input opens the segments and snapshots of a __cluster_metadata directory; with
// old, those that Kafka has set aside as well.
func (m *metadataFiles) input(p *logdir.Partition, old bool) (kraft.Input, error) {
	var in kraft.Input
	// A replay with a hole in it would end at some older leader.
	if odd := p.OddLogs(); len(odd) > 0 {
		return in, fmt.Errorf("the log is not all there: %s: %w", odd[0].Name, odd[0].Err)
	}
	add := func(list *[]kraft.File, f *logdir.File) error {
		r, err := f.Open()
		if err != nil {
			return err
		}
		*m = append(*m, r)
		*list = append(*list, kraft.File{Name: f.Name, R: r, Size: f.Size})
		return nil
	}
	for _, s := range p.Segments {
		if s.Log != nil && (s.Suffix == logdir.NoSuffix || old && s.Suffix == logdir.Deleted) {
			if err := add(&in.Logs, s.Log); err != nil {
				return in, err
			}
		}
	}
	snapshots := p.Snapshots
	if old {
		snapshots = slices.Concat(p.Snapshots, p.DeletedSnapshots)
	}
	for _, f := range snapshots {
		if strings.HasSuffix(f.Name, ".checkpoint") || old && strings.HasSuffix(f.Name, ".checkpoint.deleted") {
			if err := add(&in.Snapshots, f); err != nil {
				return in, err
			}
		}
	}
	return in, nil
}
