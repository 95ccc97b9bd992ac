package incident_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"kafsck/finding"
	"kafsck/incident"
	"kafsck/internal/fixture"
)

// flip changes a byte of a file.
func flip(name string, at int) change {
	return func(t *testing.T, tree fstest.MapFS) {
		f := *tree[name]
		f.Data = bytes.Clone(f.Data)
		f.Data[at] ^= 0x10
		tree[name] = &f
	}
}

// TestManyPlaces: of two damaged batches the one at which the next start cuts the log comes first, and who
// has them whole is said of both.
func TestManyPlaces(t *testing.T) {
	tree := below(fixture.Tree(t, "cases"), "BR-25b") // broker 1: offsets 190–199, brokers 2 and 3 whole
	const closed, active = "b1/orders-0/00000000000000000000.log", "b1/orders-0/00000000000000000200.log"
	tree = with(with(tree, flip(closed, 100), t), flip(active, 200), t)
	marked := tree
	tree = with(tree, func(_ *testing.T, tree fstest.MapFS) { delete(tree, "b1/.kafka_cleanshutdown") }, t)
	f := only(t, checked(t, incident.Options{}, tree), "batch-crc-mismatch")
	if f.Count != 3 || len(f.Ranges) != 3 {
		t.Fatalf("%+v", f)
	}
	said := claims(f)
	if !strings.HasPrefix(said, active) || strings.Count(said, "the next start reads this segment and cuts the log here") != 1 || !strings.Contains(f.Evidence[0].Claim, "cuts the log here") {
		t.Errorf("%s", said)
	}
	if last := f.Evidence[len(f.Evidence)-1].Claim; !strings.HasSuffix(last, ": whole on brokers 2 and 3") || strings.Count(last, "–") != 3 {
		t.Errorf("who has them: %s", last)
	}
	// With a clean shutdown marker no start reads the segments.
	if f := only(t, checked(t, incident.Options{}, marked), "batch-crc-mismatch"); strings.Contains(claims(f), "cuts the log here") {
		t.Errorf("behind a marker: %s", claims(f))
	}
}

// TestMended: a loss is mended by those that have what the leader's log lacks between the same two batches;
// damage on all of them, and a log that goes another way, are not.
func TestMended(t *testing.T) {
	pairs := fixture.Tree(t, "pairs")
	for name, want := range map[string][]string{"damage-leader": {"2", "3"}, "missing-middle-leader": {"2", "3"}, "damage-everywhere": nil, "watermark-beyond-end": nil} {
		tree := below(pairs, name)
		if len(tree) == 0 {
			t.Errorf("no pair %s", name)
			continue
		}
		lost := 0
		for _, p := range stories(t, incident.Options{}, tree) {
			for i := range p.Losses {
				l := &p.Losses[i]
				if !l.Counts() {
					continue
				}
				lost++
				var got []string
				for _, b := range l.MendedBy {
					got = append(got, b.Name)
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s %s: mended by %v, want %v", name, p.Name, got, want)
				}
			}
		}
		if lost == 0 {
			t.Errorf("%s: nothing is lost", name)
		}
	}
}

// TestMetaLines: of a broken meta.properties the other inputs tell the lines, with their sources.
func TestMetaLines(t *testing.T) {
	tree := fixture.Tree(t, "unclean-election")
	tree = below(tree, "stage-b")
	broken := func(t *testing.T, tree fstest.MapFS) {
		f := *tree["broker-1/meta.properties"]
		f.Data = make([]byte, len(f.Data))
		tree["broker-1/meta.properties"] = &f
	}
	before := string(tree["broker-1/meta.properties"].Data)
	f := only(t, checked(t, incident.Options{}, with(tree, broken, t)), finding.Code("meta-properties-missing"))
	said := claims(f)
	for line := range strings.Lines(before) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") || line == "" {
			continue
		}
		if !strings.Contains(said, line) {
			t.Errorf("%q is not told:\n%s", line, said)
		}
	}
	if !strings.HasPrefix(f.Next, "Move what is left of the file aside") {
		t.Errorf("%s", f.Next)
	}
}
