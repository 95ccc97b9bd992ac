//go:build unix

package apply

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestBrokerRuns: another process holds the lock that a broker takes.
func TestBrokerRuns(t *testing.T) {
	if lock := os.Getenv("KAFSCK_TEST_LOCK"); lock != "" {
		release, err := disk{}.Lock(lock)
		must(t, err)
		defer release()
		fmt.Println("locked")
		time.Sleep(time.Minute)
		return
	}
	root := slim(t)
	must(t, os.WriteFile(filepath.Join(root, ".lock"), nil, 0o644))
	p := handPlan(t, root)
	truncation(t, p, "tx-orders-0", 20)
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self, "-test.run=^TestBrokerRuns$")
	cmd.Env = append(os.Environ(), "KAFSCK_TEST_LOCK="+filepath.Join(root, ".lock"))
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	buf := make([]byte, 64)
	if n, err := out.Read(buf); err != nil || !strings.Contains(string(buf[:n]), "locked") {
		t.Fatal(err, string(buf[:n]))
	}
	before := sumTree(t, root)
	for _, opt := range []Options{{Out: filepath.Join(t.TempDir(), "OUT")}, {InPlace: true}} {
		_, err := Run(t.Context(), p, opt)
		if _, ok := errors.AsType[*Refused](err); !ok || !strings.Contains(err.Error(), "lock") {
			t.Errorf("%T %v", err, err)
		}
	}
	sameTree(t, "the root", sumTree(t, root), before)
	if left, _ := filepath.Glob(root + ".kafsck*"); len(left) > 0 {
		t.Error(left)
	}
	// Gone, and an in-place repair takes it itself; a broker that comes before the last step is met there.
	cmd.Process.Kill()
	cmd.Wait()
	if _, err := Run(t.Context(), p, Options{InPlace: true, sys: quick{}}); err != nil {
		t.Error(err)
	}
}
