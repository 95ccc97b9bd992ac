package tui

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"kafsck/replica"
)

// Reading by windows, in both directions and from anywhere, gives what reading all at
// once does.
func TestDiffWindows(t *testing.T) {
	s := newSim(t, 80, 24, openFixture(t, "divergence/stage-b")).settle()
	ctx := context.Background()
	for _, name := range []string{"div-multi-0", "div-unclean-longer-0", "div-tail-longer-0"} {
		p := s.app.world.story(s.app.world.indexOf(name))
		d := &diffSource{logs: [2]*replica.Log{p.Copies[0].Log, p.Copies[1].Log}, context: -1}
		d.to = max(d.logs[0].LogEndOffset, d.logs[1].LogEndOffset)
		for i := range p.Divergences {
			if x := &p.Divergences[i]; x.A == p.Copies[0] && x.B == p.Copies[1] {
				d.hunks = append(d.hunks, hunkOf(&x.Divergence, x.A, x.B))
			}
		}
		for _, records := range []bool{false, true} {
			d.records, d.context = records, -1
			var all []string
			var at []int64
			for r, err := range d.rows(ctx, diffPlace{}) {
				if err != nil {
					t.Fatal(err)
				}
				all, at = append(all, rowText(r)), append(at, r.at)
			}
			for _, n := range []int{1, 3, 50} {
				var got []string
				place := diffPlace{}
				for {
					rows, done, err := d.forward(ctx, place, 0, n)
					if err != nil {
						t.Fatal(err)
					}
					for _, r := range rows {
						got = append(got, rowText(r))
					}
					if done {
						break
					}
					place = rows[len(rows)-1].next
				}
				if !slices.Equal(got, all) {
					t.Fatalf("%s forwards by %d: %d rows, want %d\n%v\n%v", name, n, len(got), len(all), got, all)
				}
				got = nil
				from := at[len(at)-1]
				for {
					rows, done, err := d.backward(ctx, from, 0, n)
					if err != nil {
						t.Fatal(err)
					}
					var list []string
					for _, r := range rows {
						list = append(list, rowText(r))
					}
					got = append(list, got...)
					if done || len(rows) == 0 {
						break
					}
					from = rows[0].at
				}
				if !slices.Equal(got, all[:len(all)-1]) {
					t.Fatalf("%s backwards by %d: %d rows, want %d", name, n, len(got), len(all)-1)
				}
			}
			// With little context the differences are all there, and what is left out is
			// told by its offsets.
			if len(d.hunks) == 0 {
				continue
			}
			d.context = 2
			rows, done, err := d.forward(ctx, diffPlace{}, 2, 1<<20)
			if err != nil || !done {
				t.Fatal(done, err)
			}
			next, differing := int64(0), 0
			for _, r := range rows {
				if r.at > next {
					t.Errorf("%s: nothing is said of offsets %d–%d", name, next, r.at-1)
				}
				if r.fold() {
					next = r.to
					continue
				}
				next = max(next, r.side[0].last+1, r.side[1].last+1)
				if r.hunk >= 0 {
					differing++
				}
			}
			if next < d.to || differing == 0 {
				t.Errorf("%s: %d rows differ, told up to %d of %d", name, differing, next, d.to)
			}
		}
	}
}

func rowText(r diffRow) string {
	return fmt.Sprintf("%d %v %v %d", r.at, r.side[0], r.side[1], r.same)
}
