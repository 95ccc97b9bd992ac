package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"kafsck/internal/fixture"
	"kafsck/internal/logtest"
	"kafsck/internal/rofs"
	"kafsck/logdir"
)

// groupsOf runs groups over a tree.
func groupsOf(t *testing.T, fsys rofs.FS, json bool, o *groupsOptions) (code int, out, errs string) {
	t.Helper()
	c, err := logdir.DiscoverFS(fsys, "x", logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	a := &app{stdout: &stdout, stderr: &stderr, json: json}
	if o == nil {
		o = &groupsOptions{asOf: asOfFlag{partition: -1}}
	}
	code = a.guard(func() int {
		if err := groupsCase(context.Background(), a, &cobra.Command{}, c, []string{"x"}, o); err != nil {
			return a.explain(err)
		}
		return a.bits
	})
	return code, stdout.String(), stderr.String()
}

// TestGroupsFailedReads lets every operation on every file fail in turn: the exit code has
// bit 2, the path is named, and there is no all-clear.
func TestGroupsFailedReads(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(fixture.Unpack(t, "unclean-three-replicas"), "stage-b")
	names := namesBelow(t, dir)
	failed := 0
	for _, op := range []string{"open", "readdir", "lstat", "stat", "read"} {
		for i, name := range names {
			whole, err := rofs.Dir(dir) // the command closes it
			if err != nil {
				t.Fatal(err)
			}
			asked := false
			code, out, errs := groupsOf(t, rofs.Fault(whole, func(o, n string, pos, length int64) error {
				if o == op && n == name {
					asked = true
					return syscall.EIO
				}
				return nil
			}), i%2 == 0, nil) // JSON and text in turn
			if !asked {
				continue
			}
			failed++
			if code&exitIncomplete == 0 || code > 3 {
				t.Errorf("%s of %s fails: exit code %d\n%s%s", op, name, code, out, errs)
			}
			if !strings.Contains(out+errs, "input/output error") {
				t.Errorf("%s of %s fails, and nothing says so:\n%s%s", op, name, out, errs)
			}
			if strings.HasPrefix(out, "OK ") || strings.Contains(out+errs, "orrupt") {
				t.Errorf("%s of %s fails, and a conclusion is drawn from it:\n%s%s", op, name, out, errs)
			}
		}
	}
	if failed < 50 {
		t.Errorf("only %d reads failed", failed)
	}
}

// commitRecord is an OffsetCommit record, version 3.
func commitRecord(group, topic string, offset byte) logtest.Record {
	key := append([]byte{0, 1, 0, byte(len(group))}, group...)
	key = append(append(key, 0, byte(len(topic))), topic...)
	value := []byte{0, 3, 0, 0, 0, 0, 0, 0, 0, offset, 255, 255, 255, 255, 0, 0, 0, 0, 1, 0x8b, 0xcf, 0xe5, 0x68, 0}
	return logtest.Record{Key: append(key, 0, 0, 0, 0), Value: value}
}

// TestGroupsForeignBytes: names that came from a disk reach the terminal escaped, and JSON
// has their bytes.
func TestGroupsForeignBytes(t *testing.T) {
	evil := "a\x1b[2Jb\n\u202e\xff"
	log := logtest.Batch{Records: []logtest.Record{commitRecord(evil, "t\x07", 7)}}.Encode()
	tree := fstest.MapFS{
		"meta.properties": {Data: []byte("version=1\nnode.id=1\n")},
		"__consumer_offsets-0/" + logtest.LogName(0): {Data: log},
	}
	code, out, errs := groupsOf(t, rofs.FromFS(tree), false, nil)
	if code != 0 || !strings.Contains(out, `a\x1b[2Jb\n\u202e\xff`) || !strings.Contains(out, `t\x07-0`) {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	if i := strings.IndexFunc(out+errs, func(r rune) bool { return r < ' ' && r != '\n' || r == '\u202e' || r == utf8.RuneError }); i >= 0 {
		t.Errorf("byte %d of the output is not escaped: %q", i, out+errs)
	}
	code, out, _ = groupsOf(t, rofs.FromFS(tree), true, nil)
	found := 0
	for line := range strings.Lines(out) {
		var l struct {
			Type, Group string
			GroupBytes  []byte
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Errorf("%v: %s", err, line)
		}
		if l.Type == "group" || l.Type == "group-offset" {
			found++
			if string(l.GroupBytes) != evil {
				t.Errorf("%q", l.GroupBytes)
			}
		}
	}
	if code != 0 || found != 2 {
		t.Errorf("exit code %d, %d lines", code, found)
	}
}

// TestGroupsDamaged: a batch with a wrong CRC is named with its place, and what was
// committed in it is not made up.
func TestGroupsDamaged(t *testing.T) {
	first := logtest.Batch{Records: []logtest.Record{commitRecord("g", "t", 1)}}.Encode()
	second := logtest.Batch{BaseOffset: 1, Records: []logtest.Record{commitRecord("g", "t", 2)}}.Encode()
	third := logtest.Batch{BaseOffset: 2, Records: []logtest.Record{commitRecord("h", "t", 2)}}.Encode()
	second[70] ^= 1
	tree := fstest.MapFS{
		"meta.properties": {Data: []byte("version=1\nnode.id=1\n")},
		"__consumer_offsets-0/" + logtest.LogName(0): {Data: slices.Concat(first, second, third)},
	}
	_, out, _ := groupsOf(t, rofs.FromFS(tree), false, nil)
	want := fmt.Sprintf("Skipped: 1 batch or stretch of __consumer_offsets-0 that cannot be believed, the first at __consumer_offsets-0/%s, position %d:", logtest.LogName(0), len(first))
	if got := strings.Join(strings.Fields(out), " "); !strings.Contains(got, want) {
		t.Errorf("want %q in\n%s", want, out)
	}
}
