//go:build broker

package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLiveAdvice follows the advice of predict leader for one topic after the other against a
// leader that would lose more: stop it, start the recommended broker alone, run the command.
// The controller must elect that broker, and what follows must be what was predicted.
func TestLiveAdvice(t *testing.T) {
	kafsck := buildKafsck(t)
	s := startScenario(t, 19450, "kill")
	lines := runJSON(t, kafsck, 1, "predict", "leader", "--json", filepath.Join(s.root, "stage"))
	var commands []string
	for _, f := range forks {
		// Where broker 2 is the better leader the command is the same but for the topic.
		commands = append(commands, "kafka-leader-election.sh --bootstrap-server HOST:9092 --election-type unclean --topic "+f.topic+" --partition 0")
	}
	for _, line := range lines {
		if line["type"] != "leader-recommendation" || line["leader"] != float64(1) {
			continue
		}
		if line["election"] != "unclean" {
			t.Errorf("%v: election %v", line["partition"], line["election"])
		}
		advised := line["commands"].([]any)[0].(string)
		found := false
		for _, c := range commands {
			found = found || c == advised
		}
		if !found {
			t.Errorf("%v: %s", line["partition"], advised)
		}
	}
	if err := os.WriteFile(filepath.Join(s.root, "commands"), []byte(strings.Join(commands, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.goOn("swap")
	s.compare(lines, 1, 2)
}
