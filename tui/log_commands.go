package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"kafsck/epoch"
)

// logCommands are the commands that go to a place in a log.
func logCommands(l *logFiles, goTo func(*logFiles, target, *control) work) []command {
	number := func(kind targetKind, what string) func(string, *control) (work, error) {
		return func(arg string, ctl *control) (work, error) {
			n, err := strconv.ParseInt(strings.ReplaceAll(arg, ",", ""), 10, 64)
			if err != nil || n < 0 {
				return nil, fmt.Errorf("want %s", what)
			}
			return goTo(l, target{kind, n}, ctl), nil
		}
	}
	return []command{
		{name: "goto", args: "OFFSET", help: "to the batch that holds an offset", run: number(atOffset, "an offset")},
		{name: "position", args: "BYTE", help: "to the byte of this segment", run: number(atPosition, "a position in bytes")},
		{name: "epoch", args: "EPOCH", help: "to the first batch of a leader epoch",
			complete: func(arg string) []string {
				var out []string
				for _, r := range lineageOf(l) {
					if t := itoa(r.Epoch); r.Epoch >= 0 && strings.HasPrefix(t, arg) && !slices.Contains(out, t) && len(out) < 50 {
						out = append(out, t)
					}
				}
				return out
			},
			run: func(arg string, ctl *control) (work, error) {
				n, err := strconv.ParseInt(arg, 10, 32)
				if err != nil || n < 0 {
					return nil, fmt.Errorf("want a leader epoch")
				}
				lineage := lineageOf(l)
				if lineage == nil {
					return goTo(l, target{atEpoch, n}, ctl), nil
				}
				var known []string
				for _, r := range lineage {
					if int64(r.Epoch) == n {
						return goTo(l, target{atOffset, r.From}, ctl), nil
					}
					if t := itoa(r.Epoch); len(known) < 20 && !slices.Contains(known, t) {
						known = append(known, t)
					}
				}
				return nil, fmt.Errorf("no batch has leader epoch %d; there are %s", n, strings.Join(known, ", "))
			}},
		{name: "time", args: "TIME", help: "to the first batch of that time or later (RFC 3339, or ms since 1970)",
			run: func(arg string, ctl *control) (work, error) {
				ms, err := parseTime(arg)
				if err != nil {
					return nil, err
				}
				return goTo(l, target{atTime, ms}, ctl), nil
			}},
	}
}

// lineageOf is the epochs of the batches, if the copy was judged.
func lineageOf(l *logFiles) epoch.Lineage {
	if l.copy == nil || l.copy.Err != nil || l.copy.Log == nil {
		return nil
	}
	return l.copy.Log.Lineage
}

// parseTime reads a time as ms since 1970.
func parseTime(s string) (int64, error) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n >= 0 {
		return n, nil
	}
	s = strings.Replace(s, " ", "T", 1)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UnixMilli(), nil
		}
	}
	return 0, fmt.Errorf("%s is no time; want one like 2026-10-29T12:00Z, or milliseconds", s)
}
