package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"kafsck/check"
	"kafsck/internal/rofs"
	"kafsck/internaltopic"
)

// remoteListFlag is --remote-segments TOPIC-PARTITION=FILE, repeatable.
type remoteListFlag map[string]string

func (f *remoteListFlag) String() string { return "" }
func (f *remoteListFlag) Type() string   { return "PARTITION=FILE" }

func (f *remoteListFlag) Set(s string) error {
	name, file, ok := strings.Cut(s, "=")
	dash := strings.LastIndexByte(name, '-')
	if !ok || file == "" || dash <= 0 {
		return fmt.Errorf("want PARTITION=FILE, such as orders-0=remote.json")
	}
	if number, err := strconv.ParseInt(name[dash+1:], 10, 32); err != nil || number < 0 {
		return fmt.Errorf("want PARTITION=FILE, such as orders-0=remote.json")
	}
	if *f == nil {
		*f = remoteListFlag{}
	}
	(*f)[name] = file
	return nil
}

// maxRemoteList bounds a list of remote segments: 500,000 of them take some 60 MB.
const maxRemoteList = 64 << 20

// read reads the lists that the flag names.
func (f remoteListFlag) read() (map[string][]check.RemoteSegment, error) {
	out := map[string][]check.RemoteSegment{}
	for name, file := range f {
		info, err := os.Stat(file)
		if err != nil {
			return nil, usagef("--remote-segments: %v", err)
		}
		if info.Size() > maxRemoteList {
			return nil, usagef("--remote-segments: %s: %v", file, rofs.ErrTooLarge)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, usagef("--remote-segments: %v", err)
		}
		list, err := parseRemoteList(data, file)
		if err != nil {
			return nil, usagef("--remote-segments: %s: %v", file, err).hint("the format is described in docs/json.md")
		}
		out[name] = list
	}
	return out, nil
}

// parseRemoteList reads a list of remote segments:
//
//	[{"id":"Q2Fz…","startOffset":0,"endOffset":40,"epochs":{"5":0,"7":15}}]
//
// endOffset is inclusive, as RemoteLogSegmentMetadata has it; epochs maps leader epochs to their
// start offsets in the segment.
func parseRemoteList(data []byte, file string) ([]check.RemoteSegment, error) {
	var lines []struct {
		ID     string           `json:"id"`
		Start  *int64           `json:"startOffset"`
		End    *int64           `json:"endOffset"`
		Epochs map[string]int64 `json:"epochs"`
	}
	if err := json.Unmarshal(data, &lines); err != nil {
		return nil, err
	}
	var out []check.RemoteSegment
	for i, l := range lines {
		if l.Start == nil || l.End == nil || *l.Start < 0 || *l.End < *l.Start || *l.End == 1<<63-1 {
			return nil, fmt.Errorf("segment %d: startOffset and endOffset are missing, or no range", i+1)
		}
		r := check.RemoteSegment{ID: l.ID, From: *l.Start, To: *l.End + 1, Source: file}
		for text, start := range l.Epochs {
			epoch, err := strconv.ParseInt(text, 10, 32)
			if err != nil || epoch < 0 || start < 0 {
				return nil, fmt.Errorf("segment %d: epoch %q from %d: both are numbers from 0 on", i+1, text, start)
			}
			r.Epochs = append(r.Epochs, internaltopic.EpochStart{Epoch: int32(epoch), Start: start})
		}
		out = append(out, r)
	}
	return out, nil
}
