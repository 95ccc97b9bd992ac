package incident_test

import (
	"path/filepath"
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
			dir := fixture.Unpack(t, name)
			for _, stage := range stages(t, dir) {
				for part, p := range stories(t, incident.Options{}, stage) {
					for _, f := range p.Findings {
						if f.Severity >= finding.Warning {
							t.Errorf("%s %s: %s %s: %s %v", filepath.Base(stage), part, f.Severity, f.Code, f.Summary, f.Evidence)
						}
					}
				}
			}
		})
	}
}
