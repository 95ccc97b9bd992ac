package cli

import (
	"fmt"
	"time"

	"github.com/dustin/go-humanize"
)

// scanProgress is a bar on a terminal; elsewhere, as a disk takes hours and nobody may be there, a line a
// minute.
//
//	kafsck: searched 118 GiB of 500 GiB, 1.9 GiB/s, about 3m20s left
type scanProgress struct {
	*progress
	app         *app
	size, at    int64 // bytes; size below 0: not known
	began, told time.Time
	now         func() time.Time
}

// tellScan is how long a search says nothing.
const tellScan = time.Minute

func (a *app) newScanProgress(size int64) *scanProgress {
	p := &scanProgress{progress: a.newProgress(size), app: a, size: size, now: time.Now}
	p.began = p.now()
	p.told = p.began
	return p
}

// add tells of bytes searched; one goroutine calls it.
func (p *scanProgress) add(bytes int64) {
	p.at += bytes
	if p.progress.bar != nil {
		p.progress.add(bytes)
		return
	}
	now := p.now()
	if now.Sub(p.told) < tellScan || p.app.quiet {
		return
	}
	p.told = now
	p.app.complain("%s", p.line(now.Sub(p.began)))
}

func (p *scanProgress) line(since time.Duration) string {
	line := "searched " + humanize.IBytes(uint64(p.at))
	if p.size > 0 {
		line += " of " + humanize.IBytes(uint64(p.size))
	}
	each := float64(p.at) / since.Seconds()
	line += ", " + humanize.IBytes(uint64(each)) + "/s"
	if p.size > p.at && each > 0 {
		line += fmt.Sprintf(", about %v left", time.Duration(float64(p.size-p.at)/each*float64(time.Second)).Round(10*time.Second))
	}
	return line
}
