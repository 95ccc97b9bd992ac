package conformance

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// dataRoots are searched for files that real brokers wrote: the copies in this
// repository, and the full set when it is laid beside the clone.
var dataRoots = []string{"..", "../../shared/fixtures"}

// segmentName matches what kafka-dump-log reads as batches: segments, and the
// snapshots of the metadata log.
var segmentName = regexp.MustCompile(`^[0-9]{20}(\.log|-[0-9]{10}\.checkpoint)$`)

// findFiles returns the files below dataRoots whose name matches, each content
// once.
func findFiles(t *testing.T, name *regexp.Regexp) []string {
	t.Helper()
	var paths []string
	seen := map[[sha256.Size]byte]bool{}
	for _, root := range dataRoots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && (d.Name() == ".git" || d.Name() == ".build" || d.Name() == "target") {
				return filepath.SkipDir
			}
			if d.IsDir() || !name.MatchString(d.Name()) {
				return nil
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if sum := sha256.Sum256(b); !seen[sum] {
				seen[sum] = true
				paths = append(paths, path)
			}
			return nil
		})
		if err != nil && !(root != ".." && errors.Is(err, fs.ErrNotExist)) {
			t.Fatal(err)
		}
	}
	if len(paths) == 0 {
		t.Fatalf("no file matches %v below %q", name, dataRoots)
	}
	return paths
}
