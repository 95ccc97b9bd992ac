package cli

import (
	"encoding/binary"
	"path/filepath"
	"strconv"
	"strings"

	"kafsck/batch"
	"kafsck/checkpoint"
	"kafsck/internal/rofs"
	"kafsck/internaltopic"
	"kafsck/logdir"
)

// kafkaGaps finds what kafka-dump-log reports as "Non-consecutive offsets": records whose offset
// is not the one of the record before + 1, where the first record of a file is expected to have
// offset 0. It also looks for signs that the log was compacted, which leaves such gaps.
type kafkaGaps struct {
	path string
	last int64 // offset of the last record, -1 before the first
	any  bool

	end     int64 // where the last batch ended, exclusive; of messages: the last offset + 1
	start   int64 // base offset of the batch that is read
	pending int64 // where this batch ends
	known   bool  // start and pending are known
	within  bool  // a record of this batch was read
	cleaned bool  // a batch has fewer records than when it was written
	pairs   kafkaPairs
}

// Why a gap is reported.
const (
	gapReal    = iota // nothing explains it
	gapFirst          // the first record of the file
	gapCleaned        // between records that were in one batch, or at the edges of two that meet
	gapHole           // between batches
)

func newKafkaGaps(path string) *kafkaGaps { return &kafkaGaps{path: path, last: -1} }

// batch begins a batch of magic 2.
func (g *kafkaGaps) batch(h *batch.Header) {
	g.start, g.known, g.within = h.BaseOffset, true, false
	g.cleaned = g.cleaned || int64(h.RecordCount) < int64(h.LastOffsetDelta)+1 || h.Attributes.DeleteHorizon()
	g.pending = h.NextOffset()
}

// emptied takes a batch of which the cleaner left the header.
func (g *kafkaGaps) emptied(h *batch.Header) {
	g.cleaned = true
	if g.end == h.BaseOffset {
		g.end = h.NextOffset()
	}
}

// message begins a message of magic 0 or 1.
func (g *kafkaGaps) message() { g.known, g.within = false, false }

// record takes the offset of the next record.
func (g *kafkaGaps) record(offset int64) {
	if offset != g.last+1 {
		why := gapHole
		switch {
		case !g.any && offset >= 0:
			why = gapFirst
		case offset <= g.last:
			why = gapReal
		case g.within, g.known && g.end == g.start:
			why = gapCleaned
			g.cleaned = true
		}
		g.pairs.add(g.last, offset, byte(why))
	}
	g.last, g.any, g.within = offset, true, true
	g.end = offset + 1
	if g.known {
		g.end = g.pending
	}
}

// run takes the offsets of records in a row.
func (g *kafkaGaps) run(r offsetRun) {
	g.record(r.first)
	g.last = r.last
	if !g.known {
		g.end = r.last + 1
	}
}

// report hands over what was found.
func (g *kafkaGaps) report(to *kafkaReports) {
	if g.pairs.n == 0 {
		return
	}
	to.add(absolute(g.path), &g.pairs, func(why byte) string {
		switch why {
		case gapFirst:
			return "nothing comes before the first record of a segment"
		case gapCleaned:
			return "the log was compacted, the records between are gone for newer ones"
		case gapHole:
			if g.cleaned {
				return "the log was compacted (there are batches with fewer records than they had), whole batches went with it"
			}
			if by := compactedBy(g.path); by != "" {
				return "the log is compacted: " + by
			}
		}
		return ""
	})
}

// compactedBy looks around a log for what says that its topic is compacted.
func compactedBy(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	dir := filepath.Dir(abs)
	name, err := logdir.ParseDirName(filepath.Base(dir))
	if err != nil {
		return ""
	}
	if t, ok := internaltopic.TopicOf(name.Topic); ok && t != internaltopic.RemoteLogMetadata {
		return name.Topic + " always is"
	}
	fsys, err := rofs.Dir(filepath.Dir(dir))
	if err != nil {
		return ""
	}
	defer rofs.Close(fsys)
	b, err := rofs.ReadFile(fsys, "cleaner-offset-checkpoint", 4<<20)
	if err != nil {
		return ""
	}
	for _, e := range checkpoint.ParseOffsets(b).Entries {
		if e.Topic == name.Topic && e.Partition == name.Partition {
			return "cleaner-offset-checkpoint has a line for it"
		}
	}
	return ""
}

// kafkaPairs are two numbers and a reason each, as they were found, in few bytes.
type kafkaPairs struct {
	n        int
	buf      []byte
	last     int64
	unsorted bool
	dropped  int // did not fit
}

// maxPairs bounds kafkaPairs.buf, in bytes: ten million reports of a compacted log. Kafka itself
// runs out of memory before.
const maxPairs = 48 << 20

func (p *kafkaPairs) add(a, b int64, why byte) {
	if len(p.buf) > maxPairs {
		p.dropped++
		return
	}
	if p.n > 0 && a <= p.last {
		p.unsorted = true
	}
	p.buf = binary.AppendVarint(p.buf, a-p.last)
	p.buf = binary.AppendVarint(p.buf, b-a)
	p.buf = append(p.buf, why)
	p.last = a
	p.n++
}

// each hands out the pairs in their order.
func (p *kafkaPairs) each(yield func(a, b int64, why byte)) {
	last := int64(0)
	for buf := p.buf; len(buf) > 0; {
		d, n := binary.Varint(buf)
		e, m := binary.Varint(buf[n:])
		last += d
		yield(last, last+e, buf[n+m])
		buf = buf[n+m+1:]
	}
}

func pairText(first string, a int64, second string, b int64) string {
	return strings.Join([]string{first, strconv.FormatInt(a, 10), second, strconv.FormatInt(b, 10)}, "")
}
