package demodata

import (
	"archive/zip"
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kafsck/internal/fixture"
)

var update = flag.Bool("update", false, "make recording.zip from testdata/fixtures")

// source lists the files that the archive should hold: name in it to path on disk.
func source(t *testing.T) map[string]string {
	t.Helper()
	folder := fixture.Unpack(t, "unclean-election")
	files := map[string]string{Acks: filepath.Join(folder, "acks.jsonl")}
	stage := filepath.Join(folder, "stage-b")
	err := filepath.WalkDir(stage, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			name, _ := filepath.Rel(stage, path)
			files[filepath.ToSlash(name)] = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func pack(t *testing.T, files map[string]string) {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		data, info := read(t, files[name])
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: info.ModTime().UTC()})
		if err != nil {
			t.Fatal(err)
		}
		f.Write(data)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("recording.zip", buf.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) ([]byte, fs.FileInfo) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return data, info
}

// The embedded files are those of the recording, byte for byte.
func TestRecording(t *testing.T) {
	files := source(t)
	if *update {
		pack(t, files)
		t.Log("recording.zip is new; run the test again without -update")
		return
	}
	recording := Recording()
	seen := 0
	err := fs.WalkDir(recording, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		seen++
		path, known := files[name]
		if !known {
			t.Errorf("%s is not in the recording", name)
			return nil
		}
		want, wantInfo := read(t, path)
		got, err := fs.ReadFile(recording, name)
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs from the recording", name)
		}
		if d := info.ModTime().Sub(wantInfo.ModTime()); d > time.Second || d < -time.Second {
			t.Errorf("%s: modification time %v, want %v", name, info.ModTime(), wantInfo.ModTime())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen != len(files) {
		t.Errorf("%d files, want %d", seen, len(files))
	}
	if acks, err := fs.ReadFile(recording, Acks); err != nil || strings.Count(string(acks), "\n") != 221 {
		t.Errorf("the acknowledgement log: %v", err)
	}
}
