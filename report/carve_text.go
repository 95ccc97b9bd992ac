package report

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"kafsck/repair"
)

// Carving prints what raw bytes hold.
type Carving struct {
	*repair.Carving
	Plan *repair.Plan // nil: none was made
	Done *repair.Done // nil: nothing was carried out
	// PlanFile is what the plan was written to, "" none.
	PlanFile string
	// WithOut is the command line with --out.
	WithOut string
	// NotWritten says why --out or --plan was not done, "" otherwise.
	NotWritten string
	// Typed are the PATHs.
	Typed []string
	// Join is the command line that salvages a partition out of the PATHs and a directory.
	Join func(partition string, dirs []string) string
}

// How much of it is printed; all is in --json.
const (
	maxCarvedLogs    = 20
	maxCarvedDetails = 10
	maxCarvedHoles   = 4
	maxCarvedReasons = 3
)

// Print writes the verdict, the logs, what is said of each, what is no data, and the next command.
func (t *Carving) Print(w io.Writer) error {
	out := t.verdict()
	if len(t.Logs) > 0 {
		out = append(append(out, ""), t.table()...)
		out = append(out, t.details()...)
	}
	if rest := t.rest(); len(rest) > 0 {
		out = append(append(out, ""), rest...)
	}
	out = append(append(out, ""), t.next()...)
	out = append(out, t.searched()...)
	_, err := io.WriteString(w, strings.Join(out, "\n")+"\n")
	return err
}

func (t *Carving) verdict() []string {
	var size, holes, missing int64
	named := 0
	for i := range t.Logs {
		size += t.Logs[i].Bytes
		holes += int64(len(t.Logs[i].Holes))
		for _, h := range t.Logs[i].Holes {
			missing += h.To - h.From
		}
		if t.Logs[i].Partition != "" {
			named++
		}
	}
	if len(t.Logs) == 0 {
		head := "no record batch with a CRC that verifies in " + Escape(t.File)
		if n := t.Embedded + t.Lone + t.Loose + t.Amid; n > 0 {
			head = fmt.Sprintf("no log in %s; %s found that may be none of one, see below", Escape(t.File), count(n, "batch was", "batches were"))
		}
		if t.Stats.Unread > 0 {
			head += ", as far as it could be read"
		}
		return indented("NOTHING FOUND  ", head)
	}
	label := "FOUND  "
	head := fmt.Sprintf("%s of %s in %s (%s)", count(len(t.Logs), "likely log", "likely logs"), count(t.inLogs(), "batch", "batches"), Escape(t.File), bytesText(size))
	switch {
	case named == len(t.Logs) && named == 1:
		head += ", its partition is known"
	case named == len(t.Logs):
		head += ", all of known partitions"
	case named == 1:
		head += ", 1 of a known partition"
	case named > 0:
		head += fmt.Sprintf(", %s of known partitions", comma(named))
	default:
		head += "; of which partitions they are is not known"
	}
	if holes > 0 {
		head += fmt.Sprintf("; %s between pieces (%s missing)", count(holes, "hole", "holes"), count(missing, "offset", "offsets"))
	}
	if t.Done != nil {
		label = "SALVAGED  "
		head += "; written to " + Escape(path.Join(t.Done.Out, "salvaged"))
		if t.Done.Complete() {
			head += ", a start on it finds them so, nothing truncated"
		} else {
			head += ", but a start on it fails, see below"
		}
	}
	return indented(label, head)
}

func (t *Carving) inLogs() int64 {
	var n int64
	for i := range t.Logs {
		n += t.Logs[i].Batches
	}
	return n
}

func (t *Carving) table() []string {
	var times []int64
	for i := range t.Logs {
		times = append(times, t.Logs[i].First, t.Logs[i].Last)
	}
	title, cell := clockColumn(times)
	rows := &table{header: []string{">LOG", "PARTITION", ">OFFSETS", ">EPOCHS", ">BATCHES", ">RECORDS", ">BYTES", ">PIECES", title, "", "CODEC"}}
	if t.Done != nil || t.Plan != nil {
		rows.header[1] = "DIRECTORY"
	}
	for i := range t.Logs {
		if i == maxCarvedLogs {
			break
		}
		l := &t.Logs[i]
		name := l.Partition
		if t.Done != nil || t.Plan != nil {
			if name = l.Dir; l.Place > 0 {
				name = l.PlaceName() + "/" + name
			}
		} else if name == "" {
			name = "not known"
		}
		epochs := "-"
		if n := len(l.Epochs); n > 0 {
			if epochs = comma(l.Epochs[0].Epoch); n > 1 {
				epochs += "–" + comma(l.Epochs[n-1].Epoch)
			}
		}
		codec := strings.Join(l.Codecs, ",")
		if l.Magic[0] < 2 {
			codec += fmt.Sprintf(" (format %d)", l.Magic[0])
		}
		rows.add(comma(l.Number), Escape(name), span(l.From, l.To), epochs, comma(l.Batches), comma(l.Records), comma(l.Bytes), comma(len(l.Pieces)), cell(l.First), cell(l.Last), codec)
	}
	out := rows.lines("")
	if more := len(t.Logs) - maxCarvedLogs; more > 0 {
		out = append(out, fmt.Sprintf("… and %s more, all in --json", count(more, "log", "logs")))
	}
	return out
}

// details says what puts a log together, what it lacks, and what to doubt.
func (t *Carving) details() []string {
	var out []string
	shown, hidden := 0, 0
	for i := range t.Logs {
		l := &t.Logs[i]
		lines := t.detail(l)
		if len(lines) == 0 {
			continue
		}
		if shown++; shown > maxCarvedDetails {
			hidden++
			continue
		}
		head := fmt.Sprintf("log %d", l.Number)
		if l.Partition != "" {
			head += "  " + Escape(l.Partition)
		}
		out = append(append(out, "", head), lines...)
	}
	if hidden > 0 {
		out = append(out, "", fmt.Sprintf("… and %s more with something to tell, all in --json", count(hidden, "log", "logs")))
	}
	return out
}

func (t *Carving) detail(l *repair.CarvedLog) []string {
	var out []string
	if l.Named != "" {
		out = append(out, labelled(2, "named", Escape(l.Named))...)
	}
	for k, h := range l.Holes {
		label := ""
		if k == 0 {
			label = "holes"
		}
		if k == maxCarvedHoles {
			out = append(out, labelled(2, "", fmt.Sprintf("… and %s more", count(len(l.Holes)-k, "hole", "holes")))...)
			break
		}
		s := offsets(h.From, h.To) + " not found"
		if h.Damaged >= 0 {
			s = fmt.Sprintf("%s: a damaged batch stands there, position %d, %s", offsets(h.From, h.To), h.Damaged, count(h.Length, "byte", "bytes"))
		}
		out = append(out, labelled(2, label, s)...)
	}
	if l.Cleaned > 0 {
		out = append(out, labelled(2, "holes", fmt.Sprintf("%s between batches that lie one behind the other: of compaction, or the border of two logs", count(l.Cleaned, "hole", "holes")))...)
	}
	if l.Again > 0 {
		out = append(out, labelled(2, "again", "of its batches "+count(l.Again, "more copy was", "more copies were")+" found")...)
	}
	out = append(out, reasons("assumed", l.Assumed)...)
	return append(out, reasons("doubt", l.Doubts)...)
}

func reasons(label string, list []string) []string {
	var out []string
	for i, s := range list {
		if i == maxCarvedReasons {
			return append(out, labelled(2, "", fmt.Sprintf("… and %s more", count(len(list)-i, "reason", "reasons")))...)
		}
		out = append(out, labelled(2, label, Escape(s))...)
		label = ""
	}
	return out
}

// rest is what was found and is in no log, and what was not searched.
func (t *Carving) rest() []string {
	var out []string
	where := ""
	if len(t.Apart) > 0 {
		where = fmt.Sprintf(", the first at position %d", t.Apart[0].Pos)
	}
	kept := "not in the result; --json lists them"
	if t.Done != nil {
		kept = "byte for byte in " + path.Join(Escape(t.Done.Out), "lost+found")
	}
	if t.Embedded > 0 {
		out = append(out, indented("Embedded  ", fmt.Sprintf("%s in the bytes of damaged batches%s: images in a value, no data of a log here; %s.", count(t.Embedded, "batch lies", "batches lie"), where, kept))...)
	}
	if t.Lone > 0 {
		out = append(out, indented("Lone      ", fmt.Sprintf("%s of the old formats with nothing before or behind: a CRC over few bytes proves little; %s.", count(t.Lone, "message stands", "messages stand"), kept))...)
	}
	if t.Amid > 0 {
		out = append(out, indented("Amid      ", fmt.Sprintf("%s amid bytes that belong to no batch, and no offset is missing before or behind: it may be the content of a value; %s.", count(t.Amid, "batch lies", "batches lie"), kept))...)
	}
	if t.Loose > 0 {
		out = append(out, indented("Loose     ", fmt.Sprintf("%s a header across the border of two blocks, and none before or behind bears its offset out: it may be that of another file; %s.", count(t.Loose, "batch has", "batches have"), kept))...)
	}
	if t.Snapshots > 0 {
		out = append(out, indented("Metadata  ", fmt.Sprintf("%s of the cluster metadata in %s: no log; %s.", count(t.Snapshots, "snapshot", "snapshots"), count(t.SnapshotBatches, "batch", "batches"), kept))...)
	}
	if t.Damaged > 0 {
		out = append(out, indented("Damaged   ", fmt.Sprintf("%s between sound ones, with a CRC that does not verify: not taken.", count(t.Damaged, "batch stands", "batches stand")))...)
	}
	for i, e := range t.Unread {
		if i == 3 {
			out = append(out, fmt.Sprintf("          … and %s more, all in --json", count(len(t.Unread)-i, "place", "places")))
			break
		}
		out = append(out, indented("Unread    ", fmt.Sprintf("%s at position %d: %s.", count(e.Len, "byte", "bytes"), e.Pos, Escape(e.Err.Error())))...)
	}
	if t.Stats.Untested > 0 {
		out = append(out, indented("Untested  ", fmt.Sprintf("%s, from position %d on, that look like headers of batches above 4 MiB: their CRCs would have read the file more than four times.", count(t.Stats.Untested, "place", "places"), t.Stats.FirstUntested))...)
	}
	if t.Unsorted > 0 {
		out = append(out, indented("Unsorted  ", fmt.Sprintf("%s: there are too many pieces to sort. --json lists all batches; cut the image into parts and scan each.", count(t.Unsorted, "batch", "batches")))...)
	}
	return out
}

func (t *Carving) next() []string {
	switch {
	case t.NotWritten != "":
		return indented("Not written: ", Escape(t.NotWritten))
	case len(t.Logs) == 0:
		if t.Stats.Unread > 0 {
			return indented("Next: ", "copy what can be read with GNU ddrescue, and scan the copy.")
		}
		return indented("Next: ", "records in a compressed or encrypted file, or in a file system that compresses, cannot be found this way: read the files through the file system, and scan those.")
	case t.PlanFile != "":
		return []string{"Written: " + Escape(t.PlanFile) + ", and nothing else.", "Next: " + Command("kafsck", "repair", "apply", t.PlanFile, "--out", "carved")}
	case t.Done == nil:
		return append(t.unnamed(), "Nothing was written. Next: "+t.WithOut)
	}
	at := path.Join(t.Done.Out, "salvaged")
	places := t.places("")
	all := func(words ...string) string { return "  " + Command(append(words, places...)...) }
	out := []string{"Look at it, and read the records out, of all logs or of one:", all("kafsck", "check"), "  " + Command("kafsck", "export", at, "--out", "records.jsonl"),
		"  " + Command("kafsck", "export", path.Join(at, t.Logs[0].Dir), "--out", "records.jsonl")}
	out = append(t.unnamed(), out...)
	if len(t.Typed) > 0 {
		for i := range t.Logs {
			if t.Logs[i].Partition == t.Logs[i].Dir {
				return append(append(out, "Or join it to the copies, which proves each batch again:"), "  "+t.Join(t.Logs[i].Dir, t.places(t.Logs[i].Dir)))
			}
		}
	}
	return out
}

// places are the directories of the result, or those that have a log of this partition.
func (t *Carving) places(partition string) []string {
	var list []string
	for i := range t.Logs {
		at := path.Join(t.Done.Out, t.Logs[i].PlaceName())
		if (partition == "" || t.Logs[i].Dir == partition) && !slices.Contains(list, at) {
			list = append(list, at)
		}
	}
	slices.Sort(list)
	return list
}

// unnamed says how to learn of which partitions logs are.
func (t *Carving) unnamed() []string {
	n, example := 0, 0
	for i := range t.Logs {
		if t.Logs[i].Partition == "" {
			if n++; n == 1 {
				example = i
			}
		}
	}
	if n == 0 {
		return nil
	}
	which := "Batches do not say of which partition they are. "
	if n < len(t.Logs) {
		which = fmt.Sprintf("Of which partition %s, nothing says. ", count(n, "log is", "logs are"))
	}
	if t.Done != nil {
		return indented("", which+fmt.Sprintf("The records may tell, such as those of %s.", path.Join(t.Done.Out, t.Logs[example].PlaceName(), t.Logs[example].Dir)))
	}
	if len(t.Typed) > 0 {
		return indented("", which+"None of the PATHs has these batches: another replica, or a backup, may tell. With --out each log is written under a name of its own, and its records may tell.")
	}
	return indented("", which+"Another replica, a backup, or what is left of the log directory tells it, given as a PATH. With --out each log is written under a name of its own, and its records may tell.")
}

func (t *Carving) searched() []string {
	s := &t.Stats
	line := fmt.Sprintf("Searched: %s of %s", count(s.Bytes, "byte", "bytes"), Escape(t.File))
	switch {
	case s.Holes > 0:
		line += fmt.Sprintf(" (%s of zeros, %s of them in holes of the file)", bytesText(s.Zeros), bytesText(s.Holes))
	case s.Zeros > 0:
		line += fmt.Sprintf(" (%s of zeros)", bytesText(s.Zeros))
	}
	line += fmt.Sprintf(", %s with a CRC that verifies", count(t.Batches, "batch", "batches"))
	if t.Again > 0 {
		line += fmt.Sprintf(", %s", count(t.Again, "of them is a further copy", "of them are further copies"))
	}
	if t.Known > 0 {
		line += fmt.Sprintf("; compared with %s of the PATHs", count(t.Known, "batch", "batches"))
	}
	return indented("", line)
}
