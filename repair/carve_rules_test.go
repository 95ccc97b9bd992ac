package repair_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kafsck/internal/fixture"
	"kafsck/logdir"
	"kafsck/repair"
)

// TestCarveRules: of two histories of a partition the one that the metadata follow gets its name. In the
// recording broker 1 led epoch 0, and broker 2 was elected uncleanly for epoch 2 (truth.json).
func TestCarveRules(t *testing.T) {
	stage := filepath.Join(fixture.Unpack(t, "unclean-election"), "stage-b")
	var old, ruling []byte
	for broker, b := range map[string]*[]byte{"broker-1": &old, "broker-2": &ruling} {
		var err error
		if *b, err = os.ReadFile(filepath.Join(stage, broker, "unclean-demo-0", "00000000000000000000.log")); err != nil {
			t.Fatal(err)
		}
	}
	gap := make([]byte, 8192)
	data := append(append(append(append([]byte{}, gap...), old...), gap...), ruling...)
	for _, x := range []struct {
		name  string
		dirs  []string // of the PATHs
		end   int64
		named string
	}{
		{"with the metadata", []string{"broker-1", "broker-2"}, 120, "batches of leader epoch 2, the newest by the metadata"},
		{"the old leader's copy alone", []string{"broker-1"}, 200, "all of its batches stand in logs of the PATHs"},
	} {
		t.Run(x.name, func(t *testing.T) {
			var paths []string
			for _, d := range x.dirs {
				paths = append(paths, filepath.Join(stage, d))
			}
			known, err := logdir.Discover(paths, logdir.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer known.Close()
			c, _, _ := carveImage(t, data, repair.CarveOptions{Known: known})
			if len(c.Logs) != 2 {
				t.Fatalf("%d logs:%s", len(c.Logs), summaryOf(c))
			}
			if l := &c.Logs[0]; l.Dir != "unclean-demo-0" || l.To != x.end || !strings.Contains(l.Named, x.named) {
				t.Errorf("%s: offsets to %d, named %q", l.Dir, l.To, l.Named)
			}
			if l := &c.Logs[1]; l.Dir != "unclean-demo-0" || l.PlaceName() != "salvaged-b" {
				t.Error(l.PlaceName(), l.Dir)
			}
		})
	}
}
