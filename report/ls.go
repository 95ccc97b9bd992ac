package report

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"kafsck/incident"
	"kafsck/logdir"
)

// Listing gathers what lies where.
type Listing struct {
	Case  *logdir.Case
	Scope *Scope

	rows   map[string][]listed // by shown directory of the partition
	errors []logdir.PathError
}

// listed is one row of a log directory's table, with the lines below it.
type listed struct {
	cells []string
	aside bool
	line  string
}

// Errors takes in what could not be read.
func (t *Listing) Errors(list []logdir.PathError) { t.errors = append(t.errors, list...) }

// Add takes in one partition. Nothing of it is kept but text.
func (t *Listing) Add(x *incident.Partition) {
	if t.rows == nil {
		t.rows = map[string][]listed{}
	}
	t.errors = append(t.errors, x.Errors...)
	for _, c := range x.Copies {
		if isAside(c.State) {
			t.rows[c.Dir] = append(t.rows[c.Dir], listed{aside: true, line: asideProse(c)})
			continue
		}
		t.rows[c.Dir] = append(t.rows[c.Dir], listed{cells: rowOf(x, c)})
	}
}

var listHeader = []string{"PARTITION", "STATE", ">START", ">END", ">HIGH WATERMARK", ">EPOCH", ">SEGMENTS", ">BYTES", "NEWEST RECORD"}

func rowOf(x *incident.Partition, c *incident.Copy) []string {
	cells := []string{Escape(x.Name), string(c.State), "?", "?", "?", "?", "?", "?", "not read"}
	if c.Log == nil {
		return cells
	}
	cells[6], cells[7] = comma(len(c.Log.Segments)), comma(sizeOf(c.Log))
	if c.Err != nil {
		return cells
	}
	cells[2], cells[3] = fmt.Sprint(c.Log.LogStartOffset), fmt.Sprint(c.Log.LogEndOffset)
	cells[4], cells[5], cells[8] = "-", "-", "-"
	if hw := c.Log.HighWatermark; hw != nil {
		cells[4] = fmt.Sprint(*hw)
	}
	if e := c.Log.LatestEpoch(); e >= 0 {
		cells[5] = fmt.Sprint(e)
	}
	if c.Log.MaxTimestamp >= 0 {
		cells[8] = clock(c.Log.MaxTimestamp)
	}
	return cells
}

var asideMeaning = map[string]string{
	"deleted":  "waiting for deletion (.deleted)",
	"swap":     "of an unfinished swap (.swap)",
	"replaced": "to be replaced by a complete swap",
	"cleaned":  "unfinished output of the cleaner (.cleaned)",
}

func asideProse(c *incident.Copy) string {
	s := fmt.Sprintf("set aside: %s %s, %s", count(len(c.Log.Segments), "segment", "segments"), asideMeaning[string(c.State)], count(sizeOf(c.Log), "byte", "bytes"))
	if c.Err == nil && c.Log.LogStartOffset < c.Log.LogEndOffset {
		s += ", " + offsets(c.Log.LogStartOffset, c.Log.LogEndOffset)
	}
	return s
}

// Print writes brokers, their log directories, and what is in those.
func (t *Listing) Print(w io.Writer) error {
	var out []string
	for _, b := range t.Case.Brokers {
		out = append(out, brokerHead(b))
		for _, d := range b.Dirs {
			out = append(out, t.logDir(d)...)
		}
		out = append(out, "")
	}
	for _, f := range t.Case.Unknown {
		out = append(out, unknownProse("", f))
	}
	for _, n := range t.Case.Notes {
		out = append(out, indented("note   ", Escape(n.Text))...)
	}
	for _, e := range t.errors {
		out = append(out, indented("NOT READ  ", Escape(e.Path)+": "+Escape(e.Err.Error()))...)
	}
	if n := len(out); n > 0 && out[n-1] != "" {
		out = append(out, "")
	}
	out = append(out, strings.Replace(t.Scope.checked(), "Checked:", "Listed:", 1))
	_, err := io.WriteString(w, strings.Join(out, "\n")+"\n")
	return err
}

func brokerHead(b *logdir.Broker) string {
	head := "broker " + Escape(b.String())
	if !b.IDKnown {
		head += " (the folder's name; its id is not known, name it with --broker ID=PATH)"
	} else if b.IDSource != "" {
		head += " (id from " + Escape(b.IDSource) + ")"
	}
	if b.ClusterID != "" {
		head += ", cluster " + Escape(b.ClusterID)
	}
	return head
}

func (t *Listing) logDir(d *logdir.LogDir) []string {
	facts := []string{count(len(d.Partitions), "partition directory", "partition directories")}
	switch {
	case d.Bare:
		facts = append(facts, "without the files of a log directory")
	case d.CleanShutdown:
		facts = append(facts, "clean shutdown")
	case !d.Partial:
		facts = append(facts, "no clean shutdown")
	}
	if d.Partial && !d.Bare {
		facts = append(facts, "only the partitions given are listed")
	}
	if d.Live {
		facts = append(facts, "A RUNNING BROKER HOLDS ITS LOCK")
	}
	if d.Incomplete {
		facts = append(facts, "not everything could be listed")
	}
	if !d.NewestModTime.IsZero() {
		facts = append(facts, "newest file "+clock(d.NewestModTime.UnixMilli()))
	}
	out := indented("  "+Escape(d.Path)+"  ", strings.Join(facts, ", "))
	rows := table{header: listHeader}
	for _, p := range d.Partitions {
		list := t.rows[p.Dir]
		slices.SortStableFunc(list, func(a, b listed) int { return cmp.Compare(boolInt(a.aside), boolInt(b.aside)) })
		for _, r := range list {
			if r.aside {
				rows.note(r.line)
				continue
			}
			rows.add(r.cells...)
			if path.Base(p.Dir) != p.Name() {
				rows.note("in " + Escape(p.Dir))
			}
		}
		if len(list) > 0 {
			for _, f := range p.Unknown {
				rows.note(unknownProse("", f))
			}
		}
	}
	if m := d.Metadata; m != nil {
		var n int
		var size int64
		for _, s := range m.Segments {
			if s.Log != nil {
				n, size = n+1, size+max(s.Log.Size, 0)
			}
		}
		rows.add("__cluster_metadata-0", "metadata", "", "", "", "", comma(n), comma(size), count(len(m.Snapshots), "snapshot", "snapshots"))
		for _, f := range m.Unknown {
			rows.note(unknownProse("", f))
		}
	}
	if len(rows.rows) > 0 {
		out = append(out, rows.lines("    ")...)
	}
	for _, f := range d.Unknown {
		out = append(out, unknownProse("    ", f))
	}
	return out
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func unknownProse(indent string, f *logdir.File) string {
	size := ""
	if f.Size >= 0 && !f.Mode.IsDir() {
		size = " (" + humanize.IBytes(uint64(f.Size)) + ")"
	}
	s := indent + "unknown: " + Escape(f.Name) + size
	if f.Why != "" {
		s += ": " + Escape(f.Why)
	}
	return s
}

type logDirLine struct {
	Type              string   `json:"type"`
	Broker            brokerID `json:"broker"`
	Path              string   `json:"path"`
	ClusterID         *string  `json:"clusterId"`
	BrokerSource      *string  `json:"brokerSource"`
	DirectoryID       *string  `json:"directoryId"`
	CleanShutdown     bool     `json:"cleanShutdown"`
	Live              bool     `json:"live"`
	Complete          bool     `json:"complete"`
	Directories       int      `json:"directories"`
	Metadata          *string  `json:"metadata"`
	NewestFile        *string  `json:"newestFile"`
	NewestFileMs      *int64   `json:"newestFileMs"`
	MetadataFiles     int      `json:"metadataFiles"`
	MetadataBytes     int64    `json:"metadataBytes"`
	MetadataSnapshots int      `json:"metadataSnapshots"`
}

type unknownLine struct {
	Type  string  `json:"type"`
	Path  string  `json:"path"`
	Bytes *int64  `json:"bytes"`
	Why   *string `json:"why"`
}

// LogDirs writes a line for each log directory and one for each file that no
// broker gives a meaning to.
func (j *JSON) LogDirs(c *logdir.Case) {
	for _, b := range c.Brokers {
		for _, d := range b.Dirs {
			l := logDirLine{Type: "log-dir", Broker: brokerOf(incident.BrokerRef{ID: b.ID, Known: b.IDKnown, Name: b.Name}), Path: d.Path, ClusterID: text(b.ClusterID),
				BrokerSource: text(b.IDSource), CleanShutdown: d.CleanShutdown, Live: d.Live, Complete: !d.Incomplete && !d.Partial, Directories: len(d.Partitions)}
			if d.Meta != nil {
				l.DirectoryID = text(d.Meta.DirectoryID)
			}
			if !d.NewestModTime.IsZero() {
				l.NewestFile, l.NewestFileMs = timestamp(d.NewestModTime.UnixMilli())
			}
			if m := d.Metadata; m != nil {
				l.Metadata, l.MetadataSnapshots = text(m.Dir), len(m.Snapshots)
				for _, s := range m.Segments {
					if s.Log != nil {
						l.MetadataFiles, l.MetadataBytes = l.MetadataFiles+1, l.MetadataBytes+max(s.Log.Size, 0)
					}
				}
			}
			j.Line(l)
		}
	}
	for _, f := range unknownFiles(c) {
		j.Line(unknownLine{"unknown-file", f.Path, atLeast0(f.Size), text(f.Why)})
	}
}

func unknownFiles(c *logdir.Case) []*logdir.File {
	out := slices.Clone(c.Unknown)
	for _, b := range c.Brokers {
		for _, d := range b.Dirs {
			out = append(out, d.Unknown...)
			for _, p := range d.Partitions {
				out = append(out, p.Unknown...)
			}
			if d.Metadata != nil {
				out = append(out, d.Metadata.Unknown...)
			}
		}
	}
	return out
}
