package conformance

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Where run.sh puts what Maven fetched and what it compiled.
const (
	jars          = "target/lib/*"
	ourClasses    = "target/classes"
	oracleClasses = "target/oracle"
)

// dumpTool is one JVM that runs kafka-dump-log again and again
// (java/DumpServer.java).
type dumpTool struct {
	mu  sync.Mutex
	in  io.Writer
	out *bufio.Reader
}

// dumped is what one run of kafka-dump-log did.
type dumped struct {
	stdout, stderr string
	threw          string // the exception that left main, or ""
}

var (
	startDump  sync.Once
	sharedDump *dumpTool
	dumpErr    error
)

// kafkaDumpLog returns the tool, started on first use and kept to the end of
// the process.
func kafkaDumpLog(t *testing.T) *dumpTool {
	t.Helper()
	startDump.Do(func() { sharedDump, dumpErr = startDumpTool() })
	if dumpErr != nil {
		t.Fatal(dumpErr)
	}
	return sharedDump
}

func startDumpTool() (*dumpTool, error) {
	if err := needJars(); err != nil {
		return nil, err
	}
	cmd := exec.Command("java", "-Xmx512M", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", classPath(ourClasses), "DumpServer")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	// It ends by itself: its standard input closes with this process.
	return &dumpTool{in: in, out: bufio.NewReaderSize(out, 1<<20)}, nil
}

// needJars says what to do when run.sh did not run.
func needJars() error {
	for _, dir := range []string{"target/lib", ourClasses} {
		if _, err := os.Stat(dir); err != nil {
			return fmt.Errorf("%w: run conformance/run.sh, which fetches Kafka and compiles what is needed", err)
		}
	}
	if _, err := exec.LookPath("java"); err != nil {
		return fmt.Errorf("%w: a JDK of version 17 or later is needed", err)
	}
	return nil
}

func classPath(elements ...string) string {
	return strings.Join(append(elements, jars), string(filepath.ListSeparator))
}

// run calls the tool with arguments that hold no tab or newline.
func (d *dumpTool) run(t *testing.T, args ...string) dumped {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := fmt.Fprintln(d.in, strings.Join(args, "\t")); err != nil {
		t.Fatalf("kafka-dump-log %v: %v", args, err)
	}
	var parts [3]string
	for i := range parts {
		var size [4]byte
		if _, err := io.ReadFull(d.out, size[:]); err != nil {
			t.Fatalf("kafka-dump-log %v: %v", args, err)
		}
		part := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(d.out, part); err != nil {
			t.Fatalf("kafka-dump-log %v: %v", args, err)
		}
		parts[i] = string(part)
	}
	return dumped{stdout: parts[0], stderr: parts[1], threw: parts[2]}
}
