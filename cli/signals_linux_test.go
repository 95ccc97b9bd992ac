package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"kafsck/internal/fixture"
)

// signalled runs the program, waits until it has something below a folder open, and sends it signals,
// the next one when the one before counts no longer.
func signalled(t *testing.T, program, folder string, signals []syscall.Signal, args ...string) (*os.ProcessState, string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer cmd.Process.Kill()
	for begin := time.Now(); !hasOpen(cmd.Process.Pid, folder); time.Sleep(2 * time.Millisecond) {
		if time.Since(begin) > 20*time.Second {
			t.Fatalf("%q does not get to work: %s", args, errs.String())
		}
	}
	for i, s := range signals {
		if i > 0 {
			time.Sleep(2 * oneStop)
		}
		if err := cmd.Process.Signal(s); err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
	select {
	case err := <-ended:
		if _, exit := errors.AsType[*exec.ExitError](err); err != nil && !exit {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("%q goes on after %v: %s", args, signals, errs.String())
	}
	return cmd.ProcessState, errs.String()
}

func hasOpen(pid int, folder string) bool {
	list, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, fd := range list {
		if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, folder) {
			return true
		}
	}
	return false
}

// stoppedBySignals: each signal that asks a program to end ends every verb cleanly, with what is
// left and how to go on, and the exit code that shells use for it.
func stoppedBySignals(t *testing.T, program string) {
	dir := t.TempDir()
	copies := filepath.Join(dir, "copies")
	if err := os.CopyFS(copies, os.DirFS(filepath.Join(fixture.Unpack(t, "base"), "B1"))); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(copies, "orders-0", "leader-epoch-checkpoint"), "half a block")
	plan := filepath.Join(dir, "plan.json")
	if code, _, errs := kafsck("repair", "plan", copies, "--out", plan); code != exitFindings {
		t.Fatal(code, errs)
	}
	// A file that takes longer to read than this test lasts, and that takes no room.
	huge := filepath.Join(copies, "orders-0", "huge.bin")
	const size = 1 << 40
	write(t, huge, "")
	if err := os.Truncate(huge, size); err != nil {
		t.Fatal(err)
	}
	forged := forgeInput(t, plan, "orders-0/huge.bin", size)

	backups := func() []string { list, _ := filepath.Glob(copies + ".kafsck-*"); return list }
	staged := func() []string { list, _ := filepath.Glob(filepath.Join(dir, ".repaired.kafsck-*", "*")); return list }
	for _, c := range []struct {
		signal syscall.Signal
		opens  string
		args   []string
		code   int
		says   string
		stays  bool // a stage
	}{
		{syscall.SIGTERM, huge, []string{"repair", "apply", forged, "--in-place"}, 143, `terminated \(SIGTERM\); nothing was changed\n`, false},
		{syscall.SIGHUP, huge, []string{"repair", "apply", forged, "--in-place"}, 129, `hung up \(SIGHUP\); nothing was changed\n`, false},
		{syscall.SIGTERM, huge, []string{"repair", "apply", forged, "--out", filepath.Join(dir, "repaired")}, 143,
			`terminated \(SIGTERM\); what was made lies in \S+/\.repaired\.kafsck-\w+: the same command with --resume goes on with it \(or remove it\)\n`, true},
		{syscall.SIGTERM, huge, []string{"manifest", copies, "--out", filepath.Join(dir, "sums")}, 143, `terminated \(SIGTERM\); nothing was written\n`, false},
		{syscall.SIGINT, huge, []string{"manifest", copies}, 130, `interrupted; the result is not complete\n`, false},
	} {
		state, errs := signalled(t, program, c.opens, []syscall.Signal{c.signal}, c.args...)
		if state.ExitCode() != c.code || !regexp.MustCompile(`^kafsck: `+c.says+`$`).MatchString(errs) {
			t.Errorf("%q, %v: %v, want exit code %d: %s", c.args, c.signal, state, c.code, errs)
		}
		if len(backups()) > 0 || (len(staged()) > 0) != c.stays {
			t.Errorf("%q, %v left %q", c.args, c.signal, append(backups(), staged()...))
		}
		left, err := filepath.Glob(filepath.Join(dir, ".repaired.kafsck-*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, stage := range left {
			if err := os.RemoveAll(stage); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, err := os.ReadFile(filepath.Join(copies, "orders-0", "leader-epoch-checkpoint")); string(got) != "half a block" {
		t.Error("an input was changed", err)
	}

	// One that waits where nothing wakes it ends with the second signal; one that comes at once
	// after the first is the first.
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	writer, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	state, _ := signalled(t, program, fifo, []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}, "history", copies, "--server-log", fifo)
	if status := state.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGTERM {
		t.Errorf("a second signal: %v", state)
	}
}

// forgeInput adds an unchanged file to the inputs of a plan, so that apply reads it.
func forgeInput(t *testing.T, plan, file string, size int64) string {
	t.Helper()
	b, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	doc["inputs"] = append(doc["inputs"].([]any), map[string]any{"root": 0, "file": file, "size": size, "sha256": strings.Repeat("0", 64)})
	if b, err = json.Marshal(doc); err != nil {
		t.Fatal(err)
	}
	forged := filepath.Join(filepath.Dir(plan), "forged.json")
	write(t, forged, string(b))
	return forged
}
