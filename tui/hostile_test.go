package tui

import (
	"os"
	"path/filepath"
	"testing"
)

// TestHostileNames: no byte of a name of a topic, a folder or a cluster reaches the
// terminal as it is, on any screen that can be opened from the overview.
func TestHostileNames(t *testing.T) {
	dir := t.TempDir()
	evil := "\x1b]0;owned\x07\u202e\u009b31m\n\r\x7f\xff"
	put := func(content string, path ...string) {
		name := filepath.Join(append([]string{dir}, path...)...)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	log := evil + "-0"
	put("junk that is no batch at all, but long enough for a header of sixty-one bytes and more", "broker\x1b[2J", log, "00000000000000000000.log")
	put("0\n1\n3 500\n", "broker\x1b[2J", log, "leader-epoch-checkpoint")
	put("x", "broker\x1b[2J", log, evil)
	put("x", "broker\x1b[2J", evil+".txt")
	put("version=1\nnode.id=1\ncluster.id=\x1b[31mevil\n", "broker\x1b[2J", "meta.properties")
	put("", "other\u202e", log, "00000000000000000000.log")
	for _, size := range [][2]int{{40, 10}, {80, 24}, {120, 40}} {
		s := newSim(t, size[0], size[1], openDir(dir)).settle()
		s.sees(`\x1b]0;owned`)
		for _, keys := range [][]string{{}, {"F"}, {"enter"}, {"j"}, {"enter"}, {"x"}, {"esc"}, {"?"}, {"esc"}, {"esc"}, {"e"}, {"esc"}, {"O"}, {"enter"}, {"enter"}, {"enter"}, {"x"}, {"esc"}, {"esc"}, {"y", "j"}, {"y", "p"}, {"y", "r"}} {
			s.keys(keys...)
			checkFrame(t, s)
		}
		s.text(":findings ").keys("tab")
		checkFrame(t, s)
	}
}
