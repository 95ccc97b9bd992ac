package epoch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// rangeIndex answers which epochs the batches of a range of offsets carry.
type rangeIndex struct {
	ranges []Range // by From
	maxTo  []int64 // greatest To of ranges[:i+1]: damaged logs overlap
	first  map[int32]int64
	epochs int // distinct epochs >= 0
}

func indexOf(l Lineage) rangeIndex {
	x := rangeIndex{ranges: slices.Clone(l), first: map[int32]int64{}}
	for _, r := range l {
		if _, seen := x.first[r.Epoch]; !seen && r.Epoch >= 0 {
			x.first[r.Epoch] = r.From
			x.epochs++
		}
	}
	slices.SortStableFunc(x.ranges, func(a, b Range) int { return cmp.Compare(a.From, b.From) })
	x.maxTo = make([]int64, len(x.ranges))
	for i, r := range x.ranges {
		x.maxTo[i] = r.To
		if i > 0 {
			x.maxTo[i] = max(x.maxTo[i], x.maxTo[i-1])
		}
	}
	return x
}

// has reports whether some batch carries epoch e.
func (x *rangeIndex) has(e int32) bool {
	_, ok := x.first[e]
	return ok
}

// other returns the first batches in [from, to) that carry another epoch than e,
// or none (-1), and the first offset of them in there.
func (x *rangeIndex) other(e int32, from, to int64) (epoch int32, at int64, ok bool) {
	i, _ := slices.BinarySearchFunc(x.maxTo, from+1, cmp.Compare[int64])
	for ; i < len(x.ranges) && x.ranges[i].From < to; i++ {
		if r := x.ranges[i]; r.To > from && r.Epoch != e {
			return r.Epoch, max(r.From, from), true
		}
	}
	return 0, 0, false
}

// search finds an epoch in a cache, whose epochs grow.
func search(c Cache, e int32) (int, bool) {
	return slices.BinarySearchFunc(c, e, func(x Entry, e int32) int { return cmp.Compare(x.Epoch, e) })
}

// pair writes an entry as its line in the file.
func pair(e Entry) string { return fmt.Sprintf("%d %d", e.Epoch, e.StartOffset) }

// maxPairs bounds a list of entries in prose.
const maxPairs = 8

func pairs(c Cache) string {
	words := make([]string, 0, maxPairs+1)
	for i, e := range c {
		if i == maxPairs {
			words = append(words, fmt.Sprintf("%d more", len(c)-i))
			break
		}
		words = append(words, pair(e))
	}
	return strings.Join(words, ", ")
}

// span prints the offsets [from, to), inclusively.
func span(from, to int64) string {
	if to <= from+1 {
		return fmt.Sprint(from)
	}
	return fmt.Sprintf("%d–%d", from, to-1)
}
