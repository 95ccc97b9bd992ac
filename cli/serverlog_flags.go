package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kafsck/serverlog"
)

// serverLogFlag is --server-log FILE or ID=FILE, repeatable.
type serverLogFlag []serverLogFile

type serverLogFile struct {
	path   string
	broker int32 // -1: its lines tell
}

func (f *serverLogFlag) String() string { return "" }
func (f *serverLogFlag) Type() string   { return "FILE" }

func (f *serverLogFlag) Set(s string) error {
	file := serverLogFile{path: s, broker: -1}
	if id, path, found := strings.Cut(s, "="); found {
		if n, err := strconv.ParseInt(id, 10, 32); err == nil && n >= 0 {
			file = serverLogFile{path: path, broker: int32(n)}
		}
	}
	if file.path == "" {
		return fmt.Errorf("want FILE or ID=FILE, such as 2=logs/server.log")
	}
	*f = append(*f, file)
	return nil
}

// readServerLogs reads the logs that the user named. One that cannot be opened is bad usage:
// the answer would not be the one asked for. A read that fails later, such as that of a .gz that
// is cut, leaves the lines before it; File.Err tells.
func (o *judgeOptions) readServerLogs(cmd *cobra.Command) ([]*serverlog.File, error) {
	zone, err := serverlog.ParseZone(o.serverLogZone)
	if o.serverLogZone == "" {
		zone, err = time.UTC, nil
	}
	if err != nil {
		return nil, usagef("--server-log-zone %s: want UTC, an offset such as +02:00, or a name that this machine knows, such as Europe/Berlin", o.serverLogZone)
	}
	if cmd.Flags().Changed("server-log-zone") && len(o.serverLogs) == 0 {
		return nil, usagef("--server-log-zone needs --server-log FILE")
	}
	bar := serverLogProgress(cmd, o.serverLogs)
	defer bar.finish()
	var out []*serverlog.File
	for _, file := range o.serverLogs {
		f, err := readServerLog(cmd.Context(), file, bar, serverlog.Options{Zone: zone, Broker: file.broker, Match: selectionOf(cmd)})
		switch {
		case cmd.Context().Err() != nil:
			return nil, errInterrupted
		case err != nil && f == nil:
			return nil, usagef("--server-log: %v", err)
		}
		out = append(out, f)
	}
	return out, nil
}

// serverLogProgress is the bar for reading these files.
func serverLogProgress(cmd *cobra.Command, files []serverLogFile) *progress {
	total := int64(0)
	for _, f := range files {
		if info, err := os.Stat(f.path); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
	}
	quiet, _ := cmd.Flags().GetBool("quiet")
	asJSON, _ := cmd.Flags().GetBool("json")
	a := app{stderr: cmd.ErrOrStderr(), rawErr: cmd.ErrOrStderr(), quiet: quiet || asJSON}
	return a.newProgress(total)
}

// counted tells a bar of the bytes that are read of a file.
type counted struct {
	r   io.Reader
	bar *progress
}

// Read implements io.Reader.
func (c counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.bar.add(int64(n))
	return n, err
}

func readServerLog(ctx context.Context, file serverLogFile, bar *progress, opt serverlog.Options) (*serverlog.File, error) {
	f, err := os.Open(file.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if info.IsDir() {
		return nil, fmt.Errorf("%s is a directory", file.path)
	}
	return serverlog.Read(ctx, file.path, counted{f, bar}, opt)
}

// selectionOf is what --topic and --partition of a command select.
func selectionOf(cmd *cobra.Command) func(topic string, partition int32) bool {
	var in inputOptions
	if f := cmd.Flags().Lookup("topic"); f != nil {
		if v, ok := f.Value.(*globFlag); ok {
			in.topics = *v
		}
	}
	if f := cmd.Flags().Lookup("partition"); f != nil {
		if v, ok := f.Value.(*globFlag); ok {
			in.partitions = *v
		}
	}
	return in.selects
}
