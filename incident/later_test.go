package incident_test

import (
	"slices"
	"testing"
)

// TestLinesLaterThanTheCopies: the text logs of a recording run over all of its stages. What the
// brokers cut off after the first one was copied is no evidence there, and that is said, once for
// each file. The truth is the lines "Truncating to offset" in the logs of brokers 1 and 2 that
// follow leaders of epochs which began after stage-a: one, and three, the first at these times.
func TestLinesLaterThanTheCopies(t *testing.T) {
	logs := serverLogs(t, "divergence")
	for stage, want := range map[string][]string{
		"stage-a": {
			`server log "logs/broker-1.log" tells of 1 truncation after these directories were copied, from 2026-11-30 01:56:46.566Z on by its own clock: what was cut off then is not counted here`,
			`server log "logs/broker-2.log" tells of 3 truncations after these directories were copied, from 2026-11-30 01:56:47.081Z on by its own clock: what was cut off then is not counted here`,
		},
		"stage-c": nil,
	} {
		inc, _ := opened(t, "divergence", stage, logs...)
		var said []string
		for _, n := range inc.LaterNotes() {
			said = append(said, n.Text)
		}
		if !slices.Equal(said, want) {
			t.Errorf("%s: %q", stage, said)
		}
	}
}
