package broker

import (
	"io"
	"strconv"

	"kafsck/batch"
	"kafsck/segment"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// offsetsBehind says which offsets [from, to) the bytes of a .log from a position on hold, as far as
// anybody can tell: also those of batches behind damage, of damaged ones whose header is sane, and of
// one that is cut off. Both are 0 where there are none.
func (l *loader) offsetsBehind(f *modelFile, at int64) (from, to int64) {
	if f.src == nil || at >= f.held {
		return 0, 0
	}
	base, err := offsetFromFileName(f.name)
	if err != nil {
		return 0, 0
	}
	h, err := l.reader.handle(f.src)
	if err != nil {
		return 0, 0
	}
	some := false
	add := func(first, last int64) {
		if !inRange(base, first) || !inRange(base, last) || last < first {
			return
		}
		if !some {
			from, to, some = first, last+1, true
			return
		}
		from, to = min(from, first), max(to, last+1)
	}
	r := io.NewSectionReader(h, f.off, f.held)
	for fr, err := range segment.Walk(r, f.held, segment.ScanOptions{From: at}) {
		if err != nil || l.ctx.Err() != nil {
			break // the act is certain, only its range is not
		}
		switch fr.Kind {
		case segment.Batch:
			add(fr.Batch.BaseOffset, fr.Batch.LastOffset())
		case segment.Legacy:
			add(fr.Legacy.Offset, fr.Legacy.Offset)
		case segment.Torn:
			var b [batch.HeaderSize]byte
			if n, _ := r.ReadAt(b[:], fr.Pos); n == len(b) {
				if v, err := batch.ParseHeader(b[:]); err == nil {
					add(v.BaseOffset, v.LastOffset())
				}
			}
		}
	}
	return from, to
}
