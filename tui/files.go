package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"kafsck/checkpoint"
	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/segment"
)

// openFile opens one file of a partition directory, an index at the entry that holds the
// byte at position. p and c may be nil.
func openFile(w *world, p *incident.Partition, c *incident.Copy, part *logdir.Partition, f *logdir.File, position int64) screen {
	switch f.Kind {
	case logdir.KindLog:
		if l := logOfFile(p, c, part, f); l != nil {
			return newBatches(w, l, target{})
		}
	case logdir.KindMetadataSnapshot:
		seg := &logdir.Segment{BaseOffset: 0, Log: f}
		return newBatches(w, &logFiles{part: part, segs: []*logdir.Segment{seg}, metadata: true, gaps: true}, target{})
	case logdir.KindIndex, logdir.KindTimeIndex, logdir.KindTxnIndex, logdir.KindProducerSnapshot:
		return newEntries(w, p, c, part, f, position)
	case logdir.KindEpochs:
		if i := w.indexOf(part.Name()); i >= 0 || p != nil {
			s := newEpochFile(w, p, c)
			s.part, s.index = part, i
			return s
		}
	}
	return newTextFile(w, part.LogDir, f)
}

// openLogDirFile opens a file of a log directory.
func openLogDirFile(w *world, f *logdir.File) screen {
	if f.Kind == logdir.KindBootstrap {
		seg := &logdir.Segment{Log: f}
		for _, b := range w.src.Incident.Case.Brokers {
			for _, ld := range b.Dirs {
				if ld.Bootstrap == f {
					part := ld.Metadata
					if part == nil {
						part = &logdir.Partition{LogDir: ld, Topic: "__cluster_metadata"}
					}
					return newBatches(w, &logFiles{part: part, segs: []*logdir.Segment{seg}, metadata: true, gaps: true}, target{})
				}
			}
		}
	}
	return newTextFile(w, nil, f)
}

var fileColumns = []column{
	{name: "file", max: 48},
	{name: "size", right: true},
	{name: "modified", min: 19},
	{name: "kind", max: 32},
	{name: "what", grow: true, max: 80},
}

// fileRow is a file of a directory.
type fileRow struct {
	file   *logdir.File
	level  level
	says   string
	around bool // of the log directory around
}

type fileRows struct {
	w    *world
	list []fileRow
}

func (r *fileRows) Len() int               { return len(r.list) }
func (r *fileRows) Severity(row int) level { return r.list[row].level }
func (r *fileRows) Path(row int) string    { return r.w.typed(r.list[row].file.Path) }

func (r *fileRows) Cell(row, col int) string {
	x := &r.list[row]
	switch col {
	case 0:
		if x.around {
			return "../" + x.file.Name
		}
		return x.file.Name
	case 1:
		return humanBytes(x.file.Size)
	case 2:
		if x.file.ModTime.IsZero() {
			return ""
		}
		return x.file.ModTime.UTC().Format("2006-01-02 15:04:05")
	case 3:
		return kindName(x.file)
	}
	return x.says
}

func (r *fileRows) Value(row, col int) any {
	x := &r.list[row]
	switch col {
	case 1:
		return x.file.Size
	case 2:
		if x.file.ModTime.IsZero() {
			return nil
		}
		return x.file.ModTime
	}
	return r.Cell(row, col)
}

// kindName says what a file is to Kafka.
func kindName(f *logdir.File) string {
	name := map[logdir.Kind]string{
		logdir.KindLog: "segment", logdir.KindIndex: "offset index", logdir.KindTimeIndex: "time index", logdir.KindTxnIndex: "aborted transactions",
		logdir.KindProducerSnapshot: "producer snapshot", logdir.KindMetadataSnapshot: "metadata snapshot", logdir.KindEpochs: "leader epochs",
		logdir.KindPartitionMetadata: "topic id", logdir.KindQuorumState: "last quorum election", logdir.KindMetaProperties: "identity of the node",
		logdir.KindHighWatermarks: "high watermarks", logdir.KindRecoveryPoints: "recovery points", logdir.KindLogStarts: "log start offsets",
		logdir.KindCleanerOffsets: "cleaner offsets", logdir.KindCleanShutdown: "clean shutdown marker", logdir.KindLock: "lock",
		logdir.KindBootstrap: "bootstrap records", logdir.KindTemporary: "unfinished write", logdir.KindBadSegmentName: "no base offset in its name",
		logdir.KindRemoteIndexCache: "cache of remote indexes",
	}[f.Kind]
	if name == "" {
		name = "unknown to Kafka"
	}
	if f.Suffix != logdir.NoSuffix {
		name += " (" + strings.TrimPrefix(f.Suffix.String(), ".") + ")"
	}
	return name
}

// textFile is a small file of a broker: what it says as a table, or its bytes with tab.
type textFile struct {
	*table
	w    *world
	dir  *logdir.LogDir // nil: not known
	file *logdir.File

	loaded  bool
	unread  error
	inHex   bool
	hex     hexPane
	bad     *checkpoint.Malformed
	says    string
	version string
}

func newTextFile(w *world, dir *logdir.LogDir, f *logdir.File) *textFile {
	s := &textFile{w: w, dir: dir, file: f}
	s.table = newTable([]column{{name: "name", max: 60}, {name: "value", grow: true, max: 100}}, pairRows{})
	return s
}

func (s *textFile) crumb() string {
	if s.inHex && s.loaded {
		return s.file.Name + " (bytes)"
	}
	return s.file.Name
}

func (s *textFile) tableHidden() bool { return s.inHex }

func (s *textFile) command() string { return shellWords("kafsck", "dump", s.w.typed(s.file.Path)) }

func (s *textFile) bindings() []binding { return nil }

// maxText is how large a text file is read; logdir reads no more either.
const maxText = 64 << 20

// parsedFile is a file that was read.
type parsedFile struct {
	columns []column
	rows    rows
	bad     *checkpoint.Malformed
	version string
	says    string
	bytes   bool // there is nothing but its bytes to show
	size    int64
}

func (s *textFile) start() work {
	file := s.file
	return func(ctx context.Context) any {
		f, err := openWatched(ctx, file, nil)
		if err != nil {
			return err
		}
		defer f.close()
		p := &parsedFile{size: f.size, bytes: true}
		if f.size > maxText || !parseable(file) {
			return p
		}
		b, err := file.ReadAll(maxText)
		if err != nil {
			return fmt.Errorf("%s: %w", file.Path, segment.PlainCause(err))
		}
		p.parse(file, b)
		return p
	}
}

// parseable tells files of which there is more to show than their bytes.
func parseable(f *logdir.File) bool {
	switch f.Kind {
	case logdir.KindLock, logdir.KindRemoteIndexCache:
		return false
	}
	return f.Size < maxText
}

// nameOf is the name that a file will have when its write is finished.
func nameOf(f *logdir.File) string {
	return strings.TrimSuffix(strings.TrimSuffix(f.Name, ".tmp"), ".part")
}

// parse reads what Kafka would read.
func (p *parsedFile) parse(f *logdir.File, b []byte) {
	p.bytes = false
	p.columns = []column{{name: "name", max: 60}, {name: "value", grow: true, max: 100}}
	switch nameOf(f) {
	case "leader-epoch-checkpoint":
		e := checkpoint.ParseEpochs(b)
		var list [][]string
		for _, x := range e.Entries {
			list = append(list, []string{itoa(x.Epoch), itoa(x.StartOffset)})
		}
		p.columns = []column{{name: "epoch", right: true}, {name: "start offset", right: true}}
		p.rows, p.bad, p.version = pairRows(list), e.Malformed, itoa(e.Version)
	case "replication-offset-checkpoint", "recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "cleaner-offset-checkpoint":
		e := checkpoint.ParseOffsets(b)
		meaning := map[string]string{
			"replication-offset-checkpoint": "high watermark", "recovery-point-offset-checkpoint": "recovery point",
			"log-start-offset-checkpoint": "log start offset", "cleaner-offset-checkpoint": "first dirty offset",
		}[nameOf(f)]
		p.columns = []column{{name: "topic", max: 80}, {name: "partition", right: true}, {name: meaning, right: true}}
		p.rows, p.bad, p.version = offsetRows(e.Entries), e.Malformed, itoa(e.Version)
	case "partition.metadata":
		e := checkpoint.ParsePartitionMetadata(b)
		p.rows, p.bad = pairRows{{"version", itoa(e.Version)}, {"topic_id", e.TopicID.String()}}, e.Malformed
	case "meta.properties":
		e := checkpoint.ParseMetaProperties(b)
		var list [][]string
		for k, v := range e.Properties {
			list = append(list, []string{k, v})
		}
		slices.SortFunc(list, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
		p.rows, p.bad = pairRows(list), e.Malformed
		if e.Malformed == nil && !e.HasNodeID {
			p.says = "no node.id or broker.id: a broker does not start with this file"
		}
	case "quorum-state":
		e := checkpoint.ParseQuorumState(b)
		list := pairRows{{"data_version", itoa(int32(e.Version))}, {"clusterId", e.ClusterID}, {"leaderId", none(int64(e.LeaderID))}, {"leaderEpoch", itoa(e.LeaderEpoch)},
			{"votedId", none(int64(e.VotedID))}, {"votedDirectoryId", e.VotedDirectoryID.String()}, {"appliedOffset", itoa(e.AppliedOffset)}}
		if e.Voters != nil {
			list = append(list, []string{"currentVoters", fmt.Sprint(e.Voters)})
		}
		p.rows, p.bad = list, e.Malformed
	case ".kafka_cleanshutdown":
		e := checkpoint.ParseCleanShutdown(b)
		epoch := "none: written before 3.7, or not readable"
		if e.HasBrokerEpoch {
			epoch = itoa(e.BrokerEpoch)
		}
		p.rows, p.says = pairRows{{"brokerEpoch", epoch}}, "that the file is there means a clean shutdown, whatever is in it"
	default:
		p.bytes = true
	}
}

func (s *textFile) deliver(v any, ctl *control) work {
	if w, ok := s.deliverTable(v); ok {
		return w
	}
	switch v := v.(type) {
	case *parsedFile:
		s.loaded, s.unread = true, nil
		s.hex.src = &fileBytes{open: func(ctx context.Context) (*watchedFile, error) { return openWatched(ctx, s.file, nil) }, n: v.size}
		s.bad, s.version, s.says = v.bad, v.version, v.says
		s.inHex = v.bytes
		if !v.bytes {
			s.table.columns, s.table.rows = v.columns, v.rows
			s.widths = make([]int, len(v.columns))
			s.col = min(s.col, len(v.columns)-1)
			s.to(s.cursor)
		}
		return s.hex.load()
	case hexLoaded:
		v.src.take(v)
		return s.hex.load()
	case error:
		s.unread = v
		if f, ok := s.hex.src.(*fileBytes); ok {
			f.loading = false
		}
	}
	return nil
}

func (s *textFile) handle(in intent, ctl *control) work {
	if in == nextPane || in == prevPane {
		if s.loaded && s.table.rows.Len() == 0 && s.bad == nil && s.inHex {
			ctl.say("kafsck does not know this kind of file: its bytes are all there is to show")
			return nil
		}
		s.inHex = !s.inHex
		return s.hex.load()
	}
	if s.inHex {
		if s.hex.src != nil {
			s.hex.handle(in)
		}
		return s.hex.load()
	}
	w, _ := s.handleTable(in, ctl)
	return w
}

func (s *textFile) view(w, h int, st *styles) string {
	if !s.loaded && s.unread != nil {
		return unreadText(s.unread, w, st)
	}
	if !s.loaded {
		return st.dim.Render("reading …")
	}
	head := s.file.Path + "  " + countOf(s.file.Size, "byte", "bytes")
	if s.version != "" {
		head += "  version " + s.version
	}
	lines := append([]string{st.dim.Render(cut(escape(head), w))}, unreadLine(s.unread, w, st)...)
	lines = append(lines, s.problem(w, st)...)
	if s.inHex {
		if s.hex.src.size() == 0 {
			return strings.Join(append(lines, st.dim.Render("The file is empty.")), "\n")
		}
		return strings.Join(append(lines, s.hex.view(w, max(h-len(lines), 0), true, st)...), "\n")
	}
	return strings.Join(append(lines, s.viewTable(w, h-len(lines), st)), "\n")
}

// problem tells why Kafka refuses the file.
func (s *textFile) problem(w int, st *styles) []string {
	var out []string
	if s.bad != nil {
		text := "Kafka refuses the file: line " + itoa(s.bad.Line) + ": " + s.bad.Reason
		if s.bad.Text != "" {
			text += ": " + s.bad.Text
		}
		for i, l := range wrap(escape(text), max(w-2, 1)) {
			mark := "  "
			if i == 0 {
				mark = "D "
			}
			out = append(out, st.level(levelDamage).Render(mark+l))
		}
	}
	if s.says != "" {
		out = append(out, cut(escape(s.says), w))
	}
	return out
}

func (s *textFile) position() string {
	if s.inHex && s.hex.src != nil && s.hex.src.size() > 0 {
		return "byte " + comma(s.hex.cursor) + " of " + comma(s.hex.src.size())
	}
	return s.table.position()
}

func (s *textFile) copyText(kind copyKind) (string, error) {
	if kind == copyPath {
		return shellWords(s.w.typed(s.file.Path)), nil
	}
	if s.inHex || !s.loaded {
		return "", errNothingToCopy
	}
	return s.table.copyText(kind)
}

// pairRows are rows of text.
type pairRows [][]string

func (r pairRows) Len() int                 { return len(r) }
func (r pairRows) Cell(row, col int) string { return r[row][col] }
func (r pairRows) Severity(int) level       { return levelNone }

// offsetRows are the lines of an offset checkpoint.
type offsetRows []checkpoint.OffsetEntry

func (r offsetRows) Len() int { return len(r) }

func (r offsetRows) Severity(row int) level {
	if r[row].Offset < 0 || r[row].Partition < 0 {
		return levelWarning
	}
	return levelNone
}

func (r offsetRows) Cell(row, col int) string {
	switch col {
	case 0:
		return r[row].Topic
	case 1:
		return itoa(r[row].Partition)
	}
	return itoa(r[row].Offset)
}

func (r offsetRows) Value(row, col int) any {
	switch col {
	case 1:
		return int64(r[row].Partition)
	case 2:
		return r[row].Offset
	}
	return r[row].Topic
}
