package broker

import (
	"fmt"
	"strings"
	"testing"
)

// FuzzSnapshotID: any name gives an id or an error, never a panic; an id that is no negative
// number is written back as the first 31 characters of the name (Snapshots.filenameFromSnapshotId).
func FuzzSnapshotID(f *testing.F) {
	for _, name := range []string{
		"00000000000000000534-0000000002.checkpoint", "00000000000000000611-0000000002.checkpoint.deleted", "00000000000000000000-0000000000.checkpoint.part", // base/M1, and a part
		"bootstrap.checkpoint", "0000000000000000053x-0000000002.checkpoint", "00000000000000000534-000000000x.checkpoint", "99999999999999999999-0000000002.checkpoint", "-0000000000000000001-00000000-1.checkpoint", "",
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		x, err := snapshotID(name)
		if err != nil || x.offset < 0 || x.epoch < 0 || strings.Contains(name[:31], "+") || strings.Count(name[:31], "-") > 1 || name[20] != '-' {
			return
		}
		if back := fmt.Sprintf("%020d-%010d", x.offset, x.epoch); back != name[:31] {
			t.Errorf("%q: %q", name, back)
		}
	})
}
