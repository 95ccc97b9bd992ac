package cli

import (
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress draws a bar on a terminal while a lot is read; elsewhere, and for
// what is read in a moment, it is nothing. It writes no escape sequence.
type progress struct {
	mu  sync.Mutex
	bar *progressbar.ProgressBar // nil: nothing is drawn
}

// worthwhile is how many bytes take long enough to look at a bar.
const worthwhile = 256 << 20

func (a *app) newProgress(total int64) *progress {
	p := &progress{}
	// JSON lines on the same terminal would run through the bar.
	if total < worthwhile || a.quiet || !isTerminal(a.rawErr) || a.json && isTerminal(a.rawOut) {
		return p
	}
	p.bar = progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(a.stderr),
		progressbar.OptionSetDescription("reading"),
		progressbar.OptionShowBytes(true),
		progressbar.OptionSetWidth(30),
		progressbar.OptionThrottle(200*time.Millisecond),
		progressbar.OptionUseANSICodes(false),
		progressbar.OptionClearOnFinish(),
	)
	return p
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// add tells of bytes read; several goroutines may call it.
func (p *progress) add(bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		p.bar.Add64(bytes)
	}
}

// finish removes the bar, so that the result stands alone. Later calls of add do
// nothing.
func (p *progress) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		p.bar.Clear()
		p.bar = nil
	}
}
