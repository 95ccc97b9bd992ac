package cli_test

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"kafsck/cli"
	"kafsck/internal/fixture"
)

var update = flag.Bool("update", false, "write what the scripts' commands print into the scripts")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"kafsck": func() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// TestScripts runs what a user types. Beside testscript's own commands there
// are:
//
//	fixture NAME ...  puts the recording testdata/fixtures/NAME.tar.zst, or a part NAME/SUB of it, at that path, read-only
//	exits N PROG ...  runs a program that must end with exit code N
//	inputs DIR ...    takes directories of the script itself as inputs
//
// After every script all inputs must be as they were: names, modes, sizes,
// times and contents.
func TestScripts(t *testing.T) {
	var mu sync.Mutex
	inputs := map[string]map[string]string{} // tree by directory
	take := func(ts *testscript.TestScript, dir string) {
		tree, err := treeOf(dir)
		ts.Check(err)
		mu.Lock()
		defer mu.Unlock()
		inputs[dir] = tree
	}
	params := testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"fixture": func(ts *testscript.TestScript, neg bool, args []string) {
				for _, name := range args {
					archive, _, _ := strings.Cut(name, "/")
					dir := ts.MkAbs(name)
					ts.Check(copyTree(filepath.Join(recordings.of(t, archive), name), dir))
					take(ts, dir)
				}
			},
			"inputs": func(ts *testscript.TestScript, neg bool, args []string) {
				for _, name := range args {
					take(ts, ts.MkAbs(name))
				}
			},
			"exits": func(ts *testscript.TestScript, neg bool, args []string) {
				want, err := strconv.Atoi(args[0])
				ts.Check(err)
				got := 0
				if err := ts.Exec(args[1], args[2:]...); err != nil {
					exit, ok := errors.AsType[*exec.ExitError](err)
					if !ok {
						ts.Fatalf("%v", err)
					}
					got = exit.ExitCode()
				}
				if got != want {
					ts.Fatalf("exit code %d, want %d", got, want)
				}
			},
		},
		Setup: func(env *testscript.Env) error {
			work := env.WorkDir
			env.Defer(func() {
				mu.Lock()
				defer mu.Unlock()
				for dir, before := range inputs {
					if rel, err := filepath.Rel(work, dir); err != nil || !filepath.IsLocal(rel) {
						continue
					}
					after, err := treeOf(dir)
					if err != nil {
						env.T().Fatal(err)
					}
					if d := cmp.Diff(before, after); d != "" {
						env.T().Fatal("the inputs were changed:\n" + d)
					}
					delete(inputs, dir)
				}
			})
			return nil
		},
	}
	if testing.Short() {
		params.Dir = ""
		for _, name := range raced {
			params.Files = append(params.Files, filepath.Join("testdata/script", name+".txtar"))
		}
	}
	testscript.Run(t, params)
}

// raced are the scripts that the race detector watches: one a verb. The others run the same
// goroutines on other inputs.
var raced = []string{"triage", "loss", "diff", "check", "epochs", "repair-epochs", "history", "predict_leader_epochs", "predict_start", "own_start", "txns_marker", "loss_groups", "dump", "incomplete"}

// treeOf describes every entry below dir.
func treeOf(dir string) (map[string]string, error) {
	tree := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		says := fmt.Sprint(info.Mode(), " ", info.ModTime().UnixNano())
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			says += fmt.Sprintf(" %d %x", info.Size(), sha256.Sum256(data))
		}
		tree[path] = says
		return nil
	})
	return tree, err
}

// recordings holds each archive unpacked once for all scripts.
var recordings = unpacked{dirs: map[string]string{}}

type unpacked struct {
	mu   sync.Mutex
	dirs map[string]string
}

// of returns the directory that holds NAME/ of an archive.
func (u *unpacked) of(t *testing.T, name string) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.dirs[name] == "" {
		dir := t.TempDir()
		fixture.UnpackTo(t, name, dir)
		u.dirs[name] = dir
	}
	return u.dirs[name]
}

// copyTree copies a tree with its times and without write permissions.
func copyTree(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	var dirs []string // their modes are set last
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		dest := filepath.Join(to, rel)
		if d.IsDir() {
			dirs = append(dirs, dest)
			return os.Mkdir(dest, 0o755)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(dest, data, 0o444); err != nil {
			return err
		}
		return os.Chtimes(dest, info.ModTime(), info.ModTime())
	})
	for _, d := range dirs {
		err = errors.Join(err, os.Chmod(d, 0o555))
	}
	return err
}
