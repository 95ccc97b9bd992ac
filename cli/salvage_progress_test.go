package cli

import (
	"bytes"
	"testing"
	"time"
)

// TestScanProgress: without a terminal a long search says a line a minute, and a short or quiet one nothing.
func TestScanProgress(t *testing.T) {
	var out bytes.Buffer
	clock := time.Unix(0, 0)
	p := (&app{stderr: &out}).newScanProgress(500 << 30)
	p.now = func() time.Time { return clock }
	p.began, p.told = clock, clock
	for range 130 {
		clock = clock.Add(time.Second)
		p.add(2 << 30)
	}
	p.finish()
	want := "kafsck: searched 120 GiB of 500 GiB, 2.0 GiB/s, about 3m10s left\n" + "kafsck: searched 240 GiB of 500 GiB, 2.0 GiB/s, about 2m10s left\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	out.Reset()
	p.app.quiet = true
	clock = clock.Add(time.Hour)
	p.add(1)
	if out.Len() > 0 {
		t.Errorf("quiet, and yet %q", out.String())
	}
}
