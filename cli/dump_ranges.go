package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"kafsck/internal/visible"
	"kafsck/segment"
)

// A range has both ends included. The zero value of those below is everything.

// byteRange is the value of --positions: bytes in a .log.
type byteRange struct {
	set         bool
	first, last int64
}

func (r *byteRange) String() string { return rangeText(r.set, r.first, r.last, number) }
func (r *byteRange) Type() string   { return "range" }

// Set parses A..B, A.., ..B and N.
func (r *byteRange) Set(s string) error {
	first, last, err := parseRange(s, func(text string, _ bool) (int64, error) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return 0, fmt.Errorf("%q is no position; want A..B (both included), A.., ..B or N", text)
		}
		return n, nil
	})
	if err == nil {
		*r = byteRange{true, first, last}
	}
	return err
}

// meets reports whether any position of first … last, both included, is in the range.
func (r *byteRange) meets(first, last int64) bool {
	return !r.set || first <= r.last && last >= r.first
}

// timeRange is the value of --times, in ms since 1970.
type timeRange struct {
	set         bool
	first, last int64
}

func (r *timeRange) String() string {
	return rangeText(r.set, r.first, r.last, func(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") })
}

func (r *timeRange) Type() string { return "range" }

// Set parses A..B, A.., ..B and one time; each RFC 3339 or milliseconds.
func (r *timeRange) Set(s string) error {
	first, last, err := parseRange(s, parseTime)
	if err == nil {
		*r = timeRange{true, first, last}
	}
	return err
}

// parseTime reads a time to the millisecond. One that is written to the second means all of
// it: what was written at 10:00:00.250 is among ..10:00:00.
func parseTime(text string, last bool) (int64, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
		return n, nil
	}
	// kafsck's own text has a blank where RFC 3339 has a T.
	t, err := time.Parse(time.RFC3339Nano, strings.Replace(text, " ", "T", 1))
	if err != nil || t.UnixMilli() < 0 {
		return 0, fmt.Errorf("%q is no time; want RFC 3339, such as 2026-11-30T01:52:09Z, or milliseconds since 1970", text)
	}
	if last && !strings.Contains(text, ".") {
		t = t.Add(time.Second - time.Millisecond)
	}
	return t.UnixMilli(), nil
}

// meets reports whether any time of first … last, both included, is in the range.
func (r *timeRange) meets(first, last int64) bool {
	return !r.set || first <= r.last && last >= r.first
}

// parseRange reads A..B, A.., ..B and N; bound reads an end of it.
func parseRange(s string, bound func(text string, last bool) (int64, error)) (first, last int64, err error) {
	from, to, isRange := strings.Cut(s, "..")
	from, to = strings.TrimSpace(from), strings.TrimSpace(to)
	first, last = math.MinInt64, math.MaxInt64
	if from != "" || !isRange {
		if first, err = bound(from, false); err != nil {
			return 0, 0, err
		}
	}
	if !isRange {
		to = from
	}
	if to != "" {
		if last, err = bound(to, true); err != nil {
			return 0, 0, err
		}
	}
	if first > last {
		return 0, 0, fmt.Errorf("%s comes after %s", from, to)
	}
	return first, last, nil
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func rangeText(set bool, first, last int64, show func(int64) string) string {
	if !set {
		return ""
	}
	if first == last {
		return show(first)
	}
	text := ".."
	if first != math.MinInt64 {
		text = show(first) + text
	}
	if last != math.MaxInt64 {
		text += show(last)
	}
	return text
}

// epochRange is the value of --epochs: leader epochs of batches.
type epochRange struct {
	set         bool
	first, last int64
}

func (r *epochRange) String() string { return rangeText(r.set, r.first, r.last, number) }
func (r *epochRange) Type() string   { return "range" }

// Set parses A..B, A.., ..B and N.
func (r *epochRange) Set(s string) error {
	first, last, err := parseRange(s, func(text string, _ bool) (int64, error) {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 0 {
			return 0, fmt.Errorf("%q is no leader epoch; want A..B (both included), A.., ..B or N", text)
		}
		return n, nil
	})
	if err == nil {
		*r = epochRange{true, max(first, 0), last}
	}
	return err
}

// meets reports whether an epoch is in the range; -1, which says that it is not known, is in none.
func (r *epochRange) meets(epoch int32) bool {
	return !r.set || r.first <= int64(epoch) && int64(epoch) <= r.last
}

// inEpochs reports whether a batch has an epoch that was asked for. Messages of the old formats
// have none.
func (l *logDump) inEpochs(f *segment.Frame) bool {
	if f.Kind == segment.Legacy {
		return !l.d.opt.epochs.set
	}
	return l.d.opt.epochs.meets(f.Batch.PartitionLeaderEpoch)
}

// ranged tells that only a part of a file was asked for by a range.
func (o *dumpOptions) ranged() bool {
	return o.offsets != everyOffset || o.positions.set || o.times.set || o.epochs.set
}

// partial tells that only a part of a file was asked for.
func (o *dumpOptions) partial() bool { return o.ranged() || o.where != "" }

// ranges are the ranges asked for, as they are typed.
func (o *dumpOptions) ranges() string {
	var list []string
	if o.offsets != everyOffset {
		list = append(list, "--offsets "+o.offsets.String())
	}
	if o.positions.set {
		list = append(list, "--positions "+o.positions.String())
	}
	if o.times.set {
		list = append(list, "--times "+o.times.String())
	}
	if o.epochs.set {
		list = append(list, "--epochs "+o.epochs.String())
	}
	if o.where != "" {
		list = append(list, "--where "+visible.Word(string(o.where)))
	}
	return strings.Join(list, " ")
}

// hasValues tells whether what a file of a kind holds has what the ranges ask for: an
// offset, a position in the .log, a time, a leader epoch. Where not, nothing of it can be in them.
func (o *dumpOptions) hasValues(k dumpKind) bool {
	if k.isLog() {
		return true
	}
	if k.isIndex() && o.epochs.set {
		return false
	}
	switch k {
	case dumpIndex:
		return !o.times.set
	case dumpTimeIndex, dumpSnapshot:
		return !o.positions.set
	case dumpTxnIndex:
		return !o.positions.set && !o.times.set
	}
	return !o.ranged() // text
}
