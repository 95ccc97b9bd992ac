package incident_test

import (
	"testing"

	"kafsck/finding"
	"kafsck/incident"
	"kafsck/internal/fixture"
)

// TestSoundBytesRaiseNothing: no recorded directory has damaged bytes, whatever
// happened to its records. Kills, swaps under way, compaction, transactions,
// several disks: explained at most, never alarmed.
func TestSoundBytesRaiseNothing(t *testing.T) {
	for _, name := range fixture.Names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := fixture.Tree(t, name)
			for _, stage := range stages(t, tree) {
				for part, p := range stories(t, incident.Options{}, below(tree, stage)) {
					for _, f := range p.Findings {
						if f.Severity >= finding.Warning {
							t.Errorf("%s %s: %s %s: %s %v", stage, part, f.Severity, f.Code, f.Summary, f.Evidence)
						}
					}
				}
			}
		})
	}
}
