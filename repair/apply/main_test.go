package apply

import (
	"os"
	"testing"
)

// TestMain puts the temporary folders into memory where the system has such a place: most of these
// tests wait for a disk to flush, and none of them can tell whether it did.
func TestMain(m *testing.M) {
	const memory = "/dev/shm"
	if info, err := os.Stat(memory); err == nil && info.IsDir() && os.Getenv("TMPDIR") == "" {
		if dir, err := os.MkdirTemp(memory, "kafsck-apply-"); err == nil {
			os.Setenv("TMPDIR", dir)
			code := m.Run()
			os.RemoveAll(dir)
			os.Exit(code)
		}
	}
	os.Exit(m.Run())
}
