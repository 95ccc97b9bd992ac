// Command timed runs a program several times and appends one line to a table:
// label, bytes read, best wall time in seconds, CPU time of that run, largest
// resident set of all runs in KiB, exit code. Separated by tabs. What the
// program prints on stdout is thrown away.
//
//	timed -table FILE -label TEXT -bytes N [-runs 3] [-ok 0,1] PROGRAM ARGUMENT...
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	table := flag.String("table", "", "file to append to")
	label := flag.String("label", "", "name of the line")
	bytes := flag.Int64("bytes", 0, "bytes that the program reads")
	runs := flag.Int("runs", 3, "how often to run it")
	ok := flag.String("ok", "0", "exit codes that are no failure")
	flag.Parse()
	if err := run(*table, *label, *bytes, *runs, strings.Split(*ok, ","), flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "timed:", err)
		os.Exit(1)
	}
}

func run(table, label string, bytes int64, runs int, ok, command []string) error {
	if table == "" || runs < 1 || len(command) == 0 {
		return errors.New("usage: timed -table FILE -label TEXT -bytes N [-runs N] [-ok CODES] PROGRAM [ARGUMENT]")
	}
	best := time.Duration(1<<63 - 1)
	var cpu time.Duration
	var rss int64
	code := 0
	for range runs {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Stderr = os.Stderr
		start := time.Now()
		err := cmd.Run()
		wall := time.Since(start)
		if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
			return err
		}
		code = cmd.ProcessState.ExitCode()
		if !slices.Contains(ok, strconv.Itoa(code)) {
			return fmt.Errorf("%s: exit code %d", label, code)
		}
		if usage, is := cmd.ProcessState.SysUsage().(*syscall.Rusage); is {
			rss = max(rss, int64(usage.Maxrss))
		}
		if wall < best {
			best = wall
			cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		}
	}
	f, err := os.OpenFile(table, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := fmt.Fprintf(f, "%s\t%d\t%.3f\t%.3f\t%d\t%d\n", label, bytes, best.Seconds(), cpu.Seconds(), rss, code); err != nil {
		return err
	}
	return f.Close()
}
