package cli

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kafsck/internal/fixture"
)

// TestStartHides: after a clean shutdown a log whose last index entry points at a torn batch ends at the
// base of that segment (LogSegment.readNextOffset), though whole batches stand before the torn one.
func TestStartHides(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(fixture.Unpack(t, "base"), "B1")
	index, err := os.ReadFile(filepath.Join(dir, "orders-0", "00000000000000000200.index"))
	if err != nil {
		t.Fatal(err)
	}
	position := int64(0)
	for ; len(index) >= 8; index = index[8:] {
		position = max(position, int64(binary.BigEndian.Uint32(index[4:])))
	}
	if err := os.Truncate(filepath.Join(dir, "orders-0", "00000000000000000200.log"), position+30); err != nil {
		t.Fatal(err)
	}
	code, out, errs := kafsck("predict", "start", dir)
	if code != exitFindings || !strings.HasPrefix(out, "HIDES  starting broker 1: orders-0 ends at offset 200 then") || strings.Contains(out, "\nOK ") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}
