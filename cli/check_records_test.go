package cli

import (
	"encoding/binary"
	"path/filepath"
	"strings"
	"testing"

	"kafsck/internal/logtest"
)

// TestRecordsNotDecoded: a batch that decompresses to more than is decoded. Nothing is known of its
// records, so that only a check that does not ask for them is complete.
func TestRecordsNotDecoded(t *testing.T) {
	t.Parallel()
	// RFC 8878: blocks of 128 KiB of one byte each, 80 MiB in all.
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0x58}
	const blocks = 80 << 20 / (128 << 10)
	for i := range blocks {
		b := uint32(128<<10)<<3 | 1<<1
		if i == blocks-1 {
			b |= 1
		}
		frame = append(frame, byte(b), byte(b>>8), byte(b>>16), 'x')
	}
	log := append(logtest.Batch{Records: logtest.Values("x")}.Encode()[:61], frame...)
	binary.BigEndian.PutUint32(log[8:], uint32(len(log)-12))
	log[22] = byte(logtest.Zstd)
	logtest.SetCRC(log)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "b1", "t-0", logtest.LogName(0)), string(log))
	for _, c := range []struct {
		code int
		args []string
		says string
	}{
		{0, []string{"check"}, "nothing is damaged"},
		{2, []string{"check", "--level", "records"}, "nothing was found in what could be decoded"},
		{2, []string{"check", "--level", "records", "--quiet"}, ""},
		{2, []string{"check", "--level", "records", "--json"}, `"exitCode":2`},
		{3, []string{"check", "--level", "records", "--fail-on", "note"}, "records-not-decoded"},
	} {
		code, stdout, stderr := kafsck(append(c.args, dir)...)
		if code != c.code || !strings.Contains(stdout, c.says) {
			t.Errorf("%v: exit %d, %s%s", c.args, code, stdout, stderr)
		}
	}
}
