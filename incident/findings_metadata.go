package incident

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"kafsck/batch"
	"kafsck/check"
	"kafsck/finding"
	"kafsck/kraft"
	"kafsck/logdir"
	"kafsck/segment"
)

// metadataFindings judges the copies of a cluster's metadata log: each for itself, and against each
// other. Without FilesOnly they are read once more for it.
func (inc *Incident) metadataFindings(cl *Cluster) []finding.Finding {
	var out []finding.Finding
	doubts := map[*kraft.Log]string{}
	for i := range cl.copies {
		c := &cl.copies[i]
		var differences []kraft.SnapshotDifference
		if !inc.opt.FilesOnly && worthComparing(c.log) {
			var err error
			if differences, err = compareSnapshots(c.dir); err != nil {
				inc.Errors = append(inc.Errors, failedRead(c.dir.Dir, err))
			} else if len(differences) > 0 {
				doubts[c.log] = fmt.Sprintf("its own snapshot %s says otherwise", differences[0].Name)
			}
		}
		out = append(out, check.MetadataSnapshots(c.dir, c.broker.Name, c.log, differences)...)
	}
	for _, b := range cl.Brokers {
		for _, d := range b.Dirs {
			out = append(out, inc.bootstrap(d, cl.refs[b].Name)...)
		}
	}
	newest := cl.Metadata
	if newest != nil && newest.EndOffset <= 0 {
		newest = nil
	}
	out = append(out, check.Quorum(cl.quorumNodes(), newest)...)
	if !inc.opt.FilesOnly {
		out = append(out, check.MetadataForks(inc.metadataForks(cl, doubts))...)
	}
	return out
}

// worthComparing reports whether a snapshot lies where a replay of the log comes by with a known state.
func worthComparing(l *kraft.Log) bool {
	return slices.ContainsFunc(l.Snapshots, func(s kraft.Snapshot) bool {
		return s.Complete && s.EndOffset > max(l.SnapshotEnd, l.StartOffset, 0) && s.EndOffset <= l.EndOffset
	})
}

func compareSnapshots(p *logdir.Partition) ([]kraft.SnapshotDifference, error) {
	var open metadataFiles
	defer open.close()
	in, err := open.input(p, false)
	if err != nil {
		return nil, err
	}
	return kraft.CompareSnapshots(in)
}

// bootstrap reads bootstrap.checkpoint.
func (inc *Incident) bootstrap(d *logdir.LogDir, name string) []finding.Finding {
	f := d.Bootstrap
	if f == nil || f.Err != nil {
		return nil
	}
	r, err := f.Open()
	if err != nil {
		inc.Errors = append(inc.Errors, logdir.PathError{Path: f.Path, Err: err})
		return nil
	}
	defer r.Close() // nothing was written: a failed close loses nothing
	bad, err := kraft.VerifySnapshot(kraft.File{Name: f.Name, R: r, Size: f.Size})
	if err != nil {
		inc.Errors = append(inc.Errors, logdir.PathError{Path: f.Path, Err: err})
		return nil
	}
	return check.BootstrapCheckpoint(d, name, bad)
}

// quorumNodes are the log directories in which the nodes keep their metadata logs, of a node without
// one the first.
func (cl *Cluster) quorumNodes() []check.MetadataNode {
	var out []check.MetadataNode
	for _, b := range cl.Brokers {
		ref := cl.refs[b]
		with := slices.ContainsFunc(b.Dirs, func(d *logdir.LogDir) bool { return d.Metadata != nil })
		for i, d := range b.Dirs {
			if d.Metadata == nil && (with || i > 0) {
				continue
			}
			n := check.MetadataNode{Name: ref.Name, ID: ref.ID, Known: ref.Known, Dir: d}
			if d.Meta != nil && d.Meta.Malformed == nil {
				n.Directory = d.Meta.DirectoryID
			}
			out = append(out, n)
		}
	}
	return out
}

// metadataForks finds where copies of the metadata log part.
func (inc *Incident) metadataForks(cl *Cluster, doubts map[*kraft.Log]string) []check.MetadataFork {
	told := 0
	for _, c := range cl.copies {
		if c.log.Batches > 0 {
			told++
		}
	}
	if told < 2 {
		return nil
	}
	j := cl.joined()
	if !cl.joinTold {
		inc.Errors, cl.joinTold = append(inc.Errors, j.errors...), true
	}
	var offsets []int64
	for i := range j.copies {
		if at := j.copies[i].line.ForkAt; at >= 0 && !slices.Contains(offsets, at) {
			offsets = append(offsets, at)
		}
	}
	slices.Sort(offsets)
	var out []check.MetadataFork
	for _, at := range offsets {
		k, err := forkAt(j.copies, at, doubts)
		if err != nil {
			inc.Errors = append(inc.Errors, logdir.PathError{Path: j.copies[0].dir.Dir, Err: err})
			continue
		}
		if k != nil {
			out = append(out, *k)
		}
	}
	return out
}

// metadataBatch is a batch of one copy with its records.
type metadataBatch struct {
	file    *logdir.File
	pos     int64
	view    batch.View
	records []batch.Record
}

// forkAt describes the copies at the base offset of a batch in which some of them differ; those that
// had parted before are not asked.
func forkAt(copies []joinedCopy, at int64, doubts map[*kraft.Log]string) (*check.MetadataFork, error) {
	k := &check.MetadataFork{Offset: at, Record: -1}
	var found []*metadataBatch
	for i := range copies {
		c := &copies[i]
		if c.line.ForkAt >= 0 && c.line.ForkAt < at {
			continue
		}
		b, err := batchAt(c.dir, at)
		if err != nil {
			return nil, err
		}
		if b == nil {
			continue
		}
		content := slices.IndexFunc(found, func(o *metadataBatch) bool { return bytes.Equal(o.view.Raw, b.view.Raw) })
		if content < 0 {
			content = len(found)
			found = append(found, b)
		}
		snapshot := int64(-1)
		for _, s := range c.log.Snapshots {
			if s.Complete {
				snapshot = max(snapshot, s.EndOffset)
			}
		}
		k.Sides = append(k.Sides, check.ForkSide{Broker: c.broker.Name, File: b.file.Path, Position: b.pos, Epoch: b.view.PartitionLeaderEpoch, Content: content, Snapshot: snapshot, Doubt: doubts[c.log]})
	}
	if len(found) < 2 {
		return nil, nil // cut into other batches; the records are told by history
	}
	k.Record = firstOther(found)
	for i := range k.Sides {
		k.Sides[i].Says = found[k.Sides[i].Content].says(found, k.Record)
	}
	count := map[int]int{}
	for _, s := range k.Sides {
		count[s.Content]++
	}
	slices.SortStableFunc(k.Sides, func(a, b check.ForkSide) int {
		if (a.Doubt != "") != (b.Doubt != "") {
			if a.Doubt != "" {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(count[a.Content], count[b.Content]), cmp.Compare(a.Content, b.Content))
	})
	return k, nil
}

// batchAt reads the batch that begins at an offset, nil if none does.
func batchAt(p *logdir.Partition, at int64) (*metadataBatch, error) {
	var in *logdir.File
	for _, s := range p.Segments {
		if s.Log != nil && (s.Suffix == logdir.NoSuffix || s.Suffix == logdir.Deleted) && s.BaseOffset <= at {
			in = s.Log // live ones follow those set aside of the same base
		}
	}
	if in == nil {
		return nil, nil
	}
	r, err := in.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close() // nothing was written: a failed close loses nothing
	for frame, err := range segment.Scan(r, in.Size, segment.ScanOptions{NextOffset: in.BaseOffset}) {
		if err != nil {
			return nil, err
		}
		if frame.Kind != segment.Batch || frame.Damage != nil || frame.Raw == nil {
			continue
		}
		if frame.Batch.BaseOffset > at {
			return nil, nil
		}
		if frame.Batch.BaseOffset < at {
			continue
		}
		b := &metadataBatch{file: in, pos: frame.Pos, view: frame.Batch.Clone()}
		for rec, err := range b.view.Records(batch.NewDecompressor(batch.DefaultLimit)) {
			if err != nil {
				break // said of the record that the other side has there
			}
			b.records = append(b.records, batch.Record{Offset: rec.Offset, Timestamp: rec.Timestamp, Key: bytes.Clone(rec.Key), Value: bytes.Clone(rec.Value)})
		}
		return b, nil
	}
	return nil, nil
}

// firstOther is the offset of the first record that is not the same in all batches, -1 if only
// their headers differ.
func firstOther(list []*metadataBatch) int64 {
	first := list[0].records
	for i := range first {
		for _, o := range list[1:] {
			if i >= len(o.records) || !sameRecord(&first[i], &o.records[i]) {
				return first[i].Offset
			}
		}
	}
	for _, o := range list[1:] {
		if len(o.records) > len(first) {
			return o.records[len(first)].Offset
		}
	}
	return -1
}

func sameRecord(a, b *batch.Record) bool {
	return a.Offset == b.Offset && a.Timestamp == b.Timestamp && bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Value, b.Value)
}

// says shows a record: its type and time, and those of its fields that are not the same in all batches.
func (b *metadataBatch) says(all []*metadataBatch, offset int64) string {
	if offset < 0 {
		return fmt.Sprintf("the same records, another header (CRC 0x%08x)", b.view.CRC)
	}
	mine := b.record(offset)
	var others []metadataRecord
	for _, o := range all {
		if o != b {
			others = append(others, o.record(offset))
		}
	}
	return mine.beside(others)
}

// metadataRecord is a record in words, and its fields, as kafka-dump-log shows them.
type metadataRecord struct {
	words string // "PARTITION_CHANGE_RECORD", or why there are no fields
	time  string // "" there is no record
	// version and data of the record; nil where it cannot be decoded
	fields map[string]json.RawMessage
}

func (b *metadataBatch) record(offset int64) metadataRecord {
	i := slices.IndexFunc(b.records, func(r batch.Record) bool { return r.Offset == offset })
	if i < 0 {
		return metadataRecord{words: "no record that can be read"}
	}
	r := &b.records[i]
	m := metadataRecord{time: strconv.FormatInt(r.Timestamp, 10) + " ms"}
	if t := time.UnixMilli(r.Timestamp).UTC(); t.Year() >= 0 && t.Year() <= 9999 {
		m.time = t.Format("2006-01-02T15:04:05.000Z")
	}
	if b.view.Attributes.Control() {
		if c, err := batch.ParseControl(r.Key, r.Value); err == nil {
			m.words = fmt.Sprintf("a %s record", c.Type)
			return m
		}
	}
	var parts struct {
		Version json.RawMessage            `json:"version"`
		Data    map[string]json.RawMessage `json:"data"`
	}
	rec, err := kraft.DecodeRecord(r.Value)
	text, failed := json.Marshal(rec)
	if err := errors.Join(err, failed); err != nil || json.Unmarshal(text, &parts) != nil {
		m.words = fmt.Sprintf("a record of %s bytes that cannot be decoded", humanize.Comma(int64(len(r.Value))))
		return m
	}
	m.words, m.fields = fmt.Sprint(rec.Type()), parts.Data
	if m.fields == nil {
		m.fields = map[string]json.RawMessage{}
	}
	m.fields["version"] = parts.Version
	return m
}

// maxFields bounds how many fields that differ are shown.
const maxFields = 2

// beside shows a record beside those that others have in its place.
func (m *metadataRecord) beside(others []metadataRecord) string {
	var b strings.Builder
	b.WriteString(m.words)
	if m.time != "" {
		b.WriteString(" at " + m.time)
	}
	if m.fields == nil {
		return b.String()
	}
	var names []string // of fields that another one of the same type has otherwise, or has not
	alone := true
	for i := range others {
		o := &others[i]
		if o.words != m.words || o.fields == nil {
			continue
		}
		alone = false
		for name := range o.fields {
			if !bytes.Equal(m.fields[name], o.fields[name]) {
				names = append(names, name)
			}
		}
		for name := range m.fields {
			if _, has := o.fields[name]; !has {
				names = append(names, name)
			}
		}
	}
	if alone {
		for name := range m.fields {
			if name != "version" {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for i, name := range names {
		if i == maxFields {
			fmt.Fprintf(&b, ", … %d more of its fields", len(names)-i)
			break
		}
		at := 0
		for j := range others {
			at = max(at, common(m.fields[name], others[j].fields[name]))
		}
		value := "no " + name
		if v, has := m.fields[name]; has {
			value = name + " " + around(string(v), at)
		}
		b.WriteString([]string{": ", ", "}[min(i, 1)] + value)
	}
	return b.String()
}

// common is how many bytes two texts that are not the same begin with in common.
func common(a, b []byte) int {
	if bytes.Equal(a, b) {
		return 0
	}
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// around cuts a text to what stands around a position.
func around(s string, at int) string {
	const before, after = 16, 32
	from, to := 0, len(s)
	if at > 2*before {
		from = at - before
	}
	if to > at+after {
		to = at + after
	}
	out := strings.ToValidUTF8(s[from:to], "")
	if from > 0 {
		out = "…" + out
	}
	if to < len(s) {
		out += "…"
	}
	return out
}
