package incident

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"kafsck/broker"
	"kafsck/replica"
)

// extentsOf describes a log for broker.PlanCatchup. Zeros and torn bytes behind the
// last batch are not counted: the start of the broker cuts them off.
func extentsOf(l *replica.Log, obstacles bool) (broker.Extents, error) {
	var e broker.Extents
	for _, s := range l.Segments {
		e.Segments = append(e.Segments, broker.Extent{Base: s.BaseOffset, Bytes: s.Log.Size})
	}
	for _, a := range l.Anomalies.Kept {
		if a.Segment < 0 || a.Segment >= len(e.Segments) {
			continue
		}
		what := ""
		switch a.Kind {
		case replica.ZeroTail, replica.TornTail:
			e.Segments[a.Segment].Bytes -= min(max(a.Length, 0), e.Segments[a.Segment].Bytes)
		case replica.BadChecksum:
			what = "a batch with a wrong CRC"
		case replica.JunkBytes:
			what = "bytes that are no batch"
		case replica.ZeroHole:
			what = "zeros between batches"
		}
		if obstacles && what != "" {
			e.Obstacles = append(e.Obstacles, broker.Obstacle{Segment: a.Segment, Position: a.Position, Offset: a.From,
				Why: fmt.Sprintf("%s at position %d of %s", what, a.Position, l.Segments[a.Segment].Log.Name)})
		}
	}
	slices.SortStableFunc(e.Obstacles, func(a, b broker.Obstacle) int {
		return cmp.Or(cmp.Compare(a.Segment, b.Segment), cmp.Compare(a.Position, b.Position))
	})
	e.Find = func(offset int64) (broker.Place, bool, error) {
		for b, err := range l.Blocks(offset, math.MaxInt64) {
			if err != nil {
				return broker.Place{}, false, err
			}
			if b.Last >= offset {
				return broker.Place{Segment: b.Segment, Position: b.Position, Base: b.Base, Last: b.Last}, true, nil
			}
		}
		return broker.Place{}, false, nil
	}
	return e, nil
}
