package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"kafsck/diff"
	"kafsck/incident"
	"kafsck/replica"
)

// choose picks the pair: as asked for, else the one with the worst difference, else the
// first two live ones. It says why there is none.
func (s *diffScreen) choose() string {
	usable := func(c *incident.Copy) bool { return c.Err == nil && c.Log != nil }
	if s.brokers[0] != "" {
		for i, name := range s.brokers {
			k := slices.IndexFunc(s.p.Copies, func(c *incident.Copy) bool { return c.Broker.Name == name && usable(c) && c.State == replica.Live })
			if k < 0 {
				k = slices.IndexFunc(s.p.Copies, func(c *incident.Copy) bool { return c.Broker.Name == name && usable(c) })
			}
			if k < 0 {
				s.pair = [2]int{-1, -1}
				return "Broker " + name + " has no copy of it that could be read."
			}
			s.pair[i] = k
		}
		return ""
	}
	if s.pair[0] >= 0 {
		return ""
	}
	best := levelNone
	for i := range s.p.Divergences {
		d := &s.p.Divergences[i]
		a, b := slices.Index(s.p.Copies, d.A), slices.Index(s.p.Copies, d.B)
		if l := hunkLevel(d.Kind); a >= 0 && b >= 0 && l > best {
			best, s.pair = l, [2]int{a, b}
		}
	}
	if best > levelNone {
		return ""
	}
	var live []int
	for i, c := range s.p.Copies {
		if usable(c) && c.State == replica.Live && !c.Extra {
			live = append(live, i)
		}
	}
	for i, c := range s.p.Copies {
		if usable(c) && !slices.Contains(live, i) {
			live = append(live, i)
		}
	}
	if len(live) < 2 {
		return "There is nothing to compare: fewer than two copies could be read."
	}
	s.pair = [2]int{live[0], live[1]}
	for i, a := range live { // compacted logs may hold other batches without a difference of value
		for _, b := range live[i+1:] {
			if !s.p.Copies[a].Log.SameBlocks(s.p.Copies[b].Log) {
				s.pair = [2]int{a, b}
				return ""
			}
		}
	}
	return ""
}

func hunkLevel(k diff.Kind) level {
	switch k {
	case diff.Behind, diff.Compaction:
		return levelNote
	case diff.Damaged:
		return levelDamage
	}
	return levelWarning
}

// compared is delivered: the differences of the pair.
type compared struct {
	gen int
	src *diffSource
}

// compare finds the differences of the pair: those that were judged, else it compares.
func (s *diffScreen) compare() work {
	s.gen++
	s.window, s.src, s.told, s.none = nil, nil, nil, ""
	if why := s.choose(); why != "" {
		s.none = why
		return nil
	}
	a, b := s.p.Copies[s.pair[0]], s.p.Copies[s.pair[1]]
	src := &diffSource{logs: [2]*replica.Log{a.Log, b.Log}, context: 3,
		from: min(a.Log.LogStartOffset, b.Log.LogStartOffset), to: max(a.Log.LogEndOffset, b.Log.LogEndOffset)}
	judged := false
	for i := range s.p.Divergences {
		d := &s.p.Divergences[i]
		switch {
		case d.A == a && d.B == b:
			src.hunks = append(src.hunks, hunkOf(&d.Divergence, a, b))
			judged = true
		case d.A == b && d.B == a:
			x := d.Divergence
			x.Sides[0], x.Sides[1] = x.Sides[1], x.Sides[0]
			src.hunks = append(src.hunks, hunkOf(&x, a, b))
			judged = true
		}
	}
	gen, compacted := s.gen, strings.Contains(s.p.Ruling.Policy, "compact")
	return func(ctx context.Context) any {
		if !judged && !a.Log.SameBlocks(b.Log) {
			progress(ctx, "comparing", 0, false)
			list, err := diff.Pair(a.Content(), b.Content(), diff.Options{Ruler: -1, Compacted: compacted})
			if err != nil {
				return err
			}
			for i := range list {
				src.hunks = append(src.hunks, hunkOf(&list[i], a, b))
			}
		}
		slices.SortStableFunc(src.hunks, func(x, y diffHunk) int {
			return int(min(max(x.from-y.from, -1), 1))
		})
		return compared{gen, src}
	}
}

func hunkOf(d *diff.Divergence, a, b *incident.Copy) diffHunk {
	text := fmt.Sprintf("%s: broker %s has %s, broker %s has %s", d.Kind, a.Broker.Name, sideText(&d.Sides[0]), b.Broker.Name, sideText(&d.Sides[1]))
	if d.EqualFrom != nil {
		text += fmt.Sprintf("; equal again from %d on", *d.EqualFrom)
	}
	if d.CopiedLater {
		text += "; only in the copy that was taken later"
	}
	return diffHunk{d.From, d.To, d.Kind, hunkLevel(d.Kind), text}
}
