package query

import (
	"cmp"
	"slices"
	"strings"
)

// nearest are the names of kinds, those that look most like name first.
func nearest(name string, kinds []*Kind) []string {
	seen := map[string]int{}
	var list []string
	for _, k := range kinds {
		for _, f := range k.Fields {
			if _, known := seen[f.Name]; !known {
				seen[f.Name] = distance(strings.ToLower(name), strings.ToLower(f.Name))
				list = append(list, f.Name)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b string) int { return cmp.Or(cmp.Compare(seen[a], seen[b]), cmp.Compare(a, b)) })
	return list
}

// distance is how many letters must change to make b of a, less where one is a part of
// the other. Names are short; of long ones the beginning counts.
func distance(a, b string) int {
	a, b = a[:min(len(a), 64)], b[:min(len(b), 64)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j * 2
	}
	for i := range len(a) {
		before := row[0]
		row[0] = (i + 1) * 2
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change += 2
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+2, row[j+1]+2)
		}
	}
	d := row[len(b)]
	if len(a) > 2 && (strings.Contains(b, a) || strings.Contains(a, b)) {
		d /= 2
	}
	return d
}
