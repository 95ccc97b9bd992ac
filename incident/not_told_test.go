package incident_test

import (
	"strings"
	"syscall"
	"testing"

	"kafsck/internal/fixture"
	"kafsck/internal/rofs"
)

// TestUnreadLogIsNamed: a .log that cannot be opened is told once, under its path as the user knows it,
// and what can be read of the log beside it is counted.
func TestUnreadLogIsNamed(t *testing.T) {
	const file = "orders-0/00000000000000000100.log"
	p := checkedCopies(t, rofs.Fault(rofs.FromFS(below(fixture.Tree(t, "cases"), "BR-32")), func(op, name string, _, _ int64) error {
		if op == "open" && strings.HasSuffix(name, file) {
			return syscall.EACCES
		}
		return nil
	}), "orders-0")
	if len(p.Errors) != 1 || !strings.HasSuffix(p.Errors[0].Path, file) || strings.Contains(p.Errors[0].Err.Error(), ".log") {
		t.Errorf("%v", p.Errors)
	}
	if x := p.Copies[0].Fragments; x.Segments != 2 || x.Batches == 0 || x.Bytes == 0 {
		t.Errorf("%+v", x)
	}
}
