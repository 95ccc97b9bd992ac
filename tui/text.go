package tui

import (
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/dustin/go-humanize"

	"kafsck/internal/visible"
)

// escape makes foreign text safe for the terminal: control characters, escape
// sequences, bidi marks and invalid UTF-8 become visible. Everything that comes from
// disks goes through it before it reaches a view.
func escape(s string) string { return visible.Escape(s) }

// width is the number of cells of s; escape sequences of our own count nothing.
func width(s string) int { return ansi.StringWidth(s) }

// fit cuts or pads s to exactly w cells; what is cut ends with "…".
func fit(s string, w int) string {
	n := width(s)
	if n > w {
		s = cut(s, w)
		n = width(s)
	}
	return s + strings.Repeat(" ", max(w-n, 0))
}

// fitRight is fit, aligned to the right. A number loses its beginning, which is told.
func fitRight(s string, w int) string {
	n := width(s)
	if n > w {
		return fit(s, w)
	}
	return strings.Repeat(" ", w-n) + s
}

// cut shortens s to at most w cells.
func cut(s string, w int) string {
	if w <= 0 {
		return ""
	}
	if width(s) <= w {
		return s
	}
	return ansi.Truncate(s, w, "…")
}

// cutPath is text and the path behind it in at most w cells: of a path, the end matters more
// than the beginning.
func cutPath(text, path string, w int) string {
	const least = 24 // cells of a path that say something
	over := width(text) + width(path) - w
	if over <= 0 {
		return text + path
	}
	if width(path)-over < least {
		return cut(text+path, w)
	}
	return text + cutLeft(path, over+1)
}

// wrap breaks prose into lines of at most w cells, between words where it can.
func wrap(s string, w int) []string {
	w = max(w, 1)
	return strings.Split(ansi.Wrap(s, w, ""), "\n")
}

// box makes h lines of w cells: what is too much is cut, what is missing is blank.
func box(lines []string, w, h int) []string {
	out := make([]string, h)
	for i := range out {
		if i < len(lines) {
			out[i] = fit(lines[i], w)
		} else {
			out[i] = strings.Repeat(" ", w)
		}
	}
	return out
}

// humanBytes is a size for people: exact below 1 KiB.
func humanBytes(n int64) string {
	if n < 0 {
		return "?"
	}
	return humanize.IBytes(uint64(n))
}

// comma is a number with thousands separators. Offsets have none: they are pasted.
func comma(n int64) string { return humanize.Comma(n) }

// countOf is a number with its noun.
func countOf(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return comma(n) + " " + many
}

// humanDuration is a span of time, short: "40s", "3m10s", "2h5m".
func humanDuration(d time.Duration) string {
	switch {
	case d < time.Minute:
		return max(d.Round(time.Second), time.Second).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}

// clock is a timestamp in UTC; "" for none.
func clock(ms int64) string {
	if ms < 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05.000Z")
}

// span shows the half-open range [from, to) inclusively, as all text output does.
func span(from, to int64) string {
	if to <= from+1 {
		return itoa(from)
	}
	return itoa(from) + "–" + itoa(to-1)
}

func itoa[N int | int32 | int64](n N) string { return strconv.FormatInt(int64(n), 10) }

// cutLeft takes the first n cells of s away.
func cutLeft(s string, n int) string { return ansi.TruncateLeft(s, n, "…") }
