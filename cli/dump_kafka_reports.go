package cli

import (
	"fmt"
	"slices"

	"kafsck/internal/javatext"
)

// kafkaReports are the reports of one kind that kafka-dump-log prints at its end, by file.
type kafkaReports struct {
	files []string // as they came
	of    map[string]*kafkaReport
}

type kafkaReport struct {
	pairs   *kafkaPairs
	isFalse func(why byte) string // why a report is false, "" it is not
}

// add takes the reports about a file; of a file that is named twice the later ones join the
// earlier ones.
func (r *kafkaReports) add(file string, pairs *kafkaPairs, isFalse func(byte) string) {
	if pairs.n == 0 {
		return
	}
	if old := r.of[file]; old != nil {
		pairs.each(old.pairs.add)
		return
	}
	if r.of == nil {
		r.of = map[string]*kafkaReport{}
	}
	r.files = append(r.files, file)
	r.of[file] = &kafkaReport{pairs, isFalse}
}

// reports prints what kafka-dump-log does after all files, on stderr and in its order, and
// behind each report that is false a line that says so.
func (d *kafkaDump) reports() {
	d.flush()
	d.report(&d.mismatches, "Mismatches in :", "  Index offset: ", ", log offset: ", descending)
	d.report(&d.timeMismatches, "Found timestamp mismatch in :", "  Index timestamp: ", ", log timestamp: ", asFound)
	d.report(&d.timeOrder, "Found out of order timestamp in :", "  Index timestamp: ", ", Previously indexed timestamp: ", asFound)
	d.report(&d.notFound, "The following indexed offsets are not found in :", "Indexed offset: ", ", found log offset: ", asFound)
	d.report(&d.nonConsecutive, "Non-consecutive offsets in ", "  ", " is followed by ", ascending)
}

// The orders in which Kafka prints reports about a file: as they were found, or as a TreeMap
// gives them out, where of several with one key the last stays.
const (
	asFound = iota
	ascending
	descending
)

func (d *kafkaDump) report(r *kafkaReports, title, first, second string, order int) {
	for _, file := range javatext.HashOrder(r.files) {
		rep := r.of[file]
		fmt.Fprintln(d.a.stderr, title+file)
		rep.pairs.inOrder(order, func(a, b int64, why byte) {
			fmt.Fprintln(d.a.stderr, pairText(first, a, second, b))
			if not := rep.isFalse(why); not != "" {
				d.a.complain("a false report: %s", not)
			}
		})
		if n := rep.pairs.dropped; n > 0 {
			d.a.complain("%d more such reports about %s do not fit into memory", n, file)
		}
	}
}

// maxSorted bounds the pairs that are sorted in memory.
const maxSorted = 2 << 20

// inOrder hands out the pairs as Kafka prints them.
func (p *kafkaPairs) inOrder(order int, yield func(a, b int64, why byte)) {
	if order == asFound || order == ascending && !p.unsorted || p.n > maxSorted {
		p.each(yield)
		return
	}
	type pair struct {
		a, b int64
		why  byte
	}
	list := make([]pair, 0, p.n)
	p.each(func(a, b int64, why byte) { list = append(list, pair{a, b, why}) })
	slices.SortStableFunc(list, func(x, y pair) int {
		switch {
		case x.a < y.a:
			return -1
		case x.a > y.a:
			return 1
		}
		return 0
	})
	kept := list[:0]
	for i, x := range list {
		if i+1 < len(list) && list[i+1].a == x.a {
			continue
		}
		kept = append(kept, x)
	}
	if order == descending {
		slices.Reverse(kept)
	}
	for _, x := range kept {
		yield(x.a, x.b, x.why)
	}
}
