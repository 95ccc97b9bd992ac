//go:build linux

// Command browse measures kafsck tui as a user has it: on a terminal, from the keys to what
// stands on the screen. It appends lines to a table, separated by tabs: label, best,
// median, 99th percentile, largest (milliseconds, or MiB), number of values.
//
//	browse -table FILE -label TEXT first [-data TEXT] PROGRAM [ARGUMENT...]
//	        from exec to the first full frame: text on the first and on the last line; with
//	        -data also to the frame that shows the text (label + " data")
//	browse … exit PROGRAM [ARGUMENT...]         from exec to exit, without a terminal
//	browse … jump -end OFFSET KAFSCK DIR        :goto of random offsets in t-0's first log
//	browse … keys KAFSCK DIR                    keys while all batches of a log are scanned
//	browse … scroll KAFSCK DIR                  memory after a log was scrolled end to end
package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

type bench struct {
	table, label string
	runs         int
	data         string
	end          int64
}

func main() {
	var b bench
	flag.StringVar(&b.table, "table", "", "file to append to")
	flag.StringVar(&b.label, "label", "", "name of the line")
	flag.IntVar(&b.runs, "runs", 20, "how often")
	flag.StringVar(&b.data, "data", "", "text of the frame with data")
	flag.Int64Var(&b.end, "end", 0, "log end offset")
	flag.Parse()
	args := flag.Args()
	if b.table == "" || len(args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: browse -table FILE -label TEXT first|exit|jump|keys|scroll PROGRAM [ARGUMENT...]")
		os.Exit(64)
	}
	run := map[string]func([]string) error{"first": b.first, "exit": b.exit, "jump": b.jump, "keys": b.keys, "scroll": b.scroll}[args[0]]
	err := errors.New("nothing of that name is measured")
	if run != nil {
		err = run(args[1:])
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "browse %s: %v\n", args[0], err)
		os.Exit(1)
	}
}

// put writes a line of values.
func (b *bench) put(label string, values []float64) error {
	if len(values) == 0 {
		return errors.New("nothing was measured")
	}
	slices.Sort(values)
	at := func(share float64) float64 { return values[min(int(share*float64(len(values))), len(values)-1)] }
	f, err := os.OpenFile(b.table, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := fmt.Fprintf(f, "%s\t%.2f\t%.2f\t%.2f\t%.2f\t%d\n", label, values[0], at(0.5), at(0.99), values[len(values)-1], len(values)); err != nil {
		return err
	}
	return f.Close()
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

const patience = 30 * time.Second

func (b *bench) first(command []string) error {
	var frames, data []float64
	for range b.runs {
		t, err := open(80, 24, command...)
		if err != nil {
			return err
		}
		at, err := t.until("a full frame", patience, t.full)
		if err != nil {
			return err
		}
		frames = append(frames, ms(at.Sub(t.begun)))
		if b.data != "" {
			if at, err = t.until("the data", patience, t.shows(b.data)); err != nil {
				return err
			}
			data = append(data, ms(at.Sub(t.begun)))
		}
		t.close("q")
	}
	if err := b.put(b.label, frames); err != nil || b.data == "" {
		return err
	}
	return b.put(b.label+" data", data)
}

func (b *bench) exit(command []string) error {
	var values []float64
	for range b.runs {
		begun := time.Now()
		if err := exec.Command(command[0], command[1:]...).Run(); err != nil {
			return err
		}
		values = append(values, ms(time.Since(begun)))
	}
	return b.put(b.label, values)
}

// batches opens the list of batches of the first log of t-0. If judged, the log has been
// read whole before.
func batches(command []string, judged bool) (*terminal, error) {
	t, err := open(120, 40, append([]string{command[0], "tui"}, command[1:]...)...)
	if err != nil {
		return nil, err
	}
	if _, err := t.until("the partition", patience, t.shows("t-0")); err != nil {
		return nil, err
	}
	if judged {
		if _, err := t.until("the verdict", 5*time.Minute, t.shows("nothing is lost")); err != nil {
			return nil, err
		}
	}
	t.keys(":segments t-0\r")
	if _, err := t.until("the segments", patience, t.shows("00000000000000000000.log")); err != nil {
		return nil, err
	}
	t.keys("\r")
	if _, err := t.until("the batches", patience, func() bool { return t.shows("crc")() && t.selected() != nil }); err != nil {
		return nil, err
	}
	return t, nil
}

// selected is the row under the cursor: position, first and last offset; nil if there is none.
func (t *terminal) selected() []int64 {
	for i := range t.rows {
		rest, ok := strings.CutPrefix(t.line(i), "›")
		if !ok {
			continue
		}
		fields := strings.Fields(rest)
		var out []int64
		for _, f := range fields[:min(3, len(fields))] {
			n, err := strconv.ParseInt(f, 10, 64)
			if err != nil {
				return nil
			}
			out = append(out, n)
		}
		if len(out) == 3 {
			return out
		}
	}
	return nil
}

func (b *bench) jump(command []string) error {
	t, err := batches(command, true)
	if err != nil {
		return err
	}
	defer t.close("q")
	r := rand.New(rand.NewPCG(1, 2))
	var values []float64
	for range b.runs {
		n := r.Int64N(b.end)
		t.keys(":goto " + strconv.FormatInt(n, 10))
		if _, err := t.until("what was typed", patience, t.shows(":goto "+strconv.FormatInt(n, 10))); err != nil {
			return err
		}
		begun := time.Now()
		t.keys("\r")
		at, err := t.until("the batch", patience, func() bool { s := t.selected(); return s != nil && s[1] <= n && n <= s[2] })
		if err != nil {
			return err
		}
		values = append(values, ms(at.Sub(begun)))
		time.Sleep(50 * time.Millisecond)
	}
	return b.put(b.label, values)
}

// keys moves through the batches while the case is judged behind them.
func (b *bench) keys(command []string) error {
	t, err := batches(command, false)
	if err != nil {
		return err
	}
	defer t.close("q")
	running := func() bool { return strings.Contains(t.line(-1), "%") && strings.Contains(t.line(-1), "ctrl+c") }
	var values []float64
	key := "j"
	for i := 0; len(values) < b.runs && i < 4*b.runs; i++ {
		t.mu.Lock()
		before, busy := t.selected(), running()
		t.mu.Unlock()
		if before == nil {
			return fmt.Errorf("no row is selected:\n%s", t.text())
		}
		if !busy { // judge it all again
			t.keys("OR]]")
			if _, err := t.until("a scan", patience, running); err != nil {
				return err
			}
			continue
		}
		switch { // up and down within what a few keys reach
		case before[0] == 0:
			key = "j"
		case len(values)%200 == 199:
			key = map[string]string{"j": "k", "k": "j"}[key]
		}
		begun := time.Now()
		t.keys(key)
		at, err := t.until("the next row", 5*time.Second, func() bool { s := t.selected(); return s != nil && s[0] != before[0] })
		if err != nil {
			return err
		}
		values = append(values, ms(at.Sub(begun)))
		time.Sleep(time.Duration(20+i%13) * time.Millisecond) // as fast as a key repeats
	}
	return b.put(b.label, values)
}

// scroll holds page down until the end of the log, goes up again a little, and jumps.
func (b *bench) scroll(command []string) error {
	t, err := batches(command, false)
	if err != nil {
		return err
	}
	defer t.close("q")
	begun := time.Now()
	for last := int64(-1); ; {
		t.keys("\x06")
		s := []int64(nil)
		_, err := t.until("the next page", 2*time.Second, func() bool { s = t.selected(); return s != nil && s[0] != last })
		if errors.Is(err, errLate) {
			if strings.Contains(t.line(-1), "100%") || strings.Contains(t.text(), "100% of") {
				break
			}
			if time.Since(begun) > 10*time.Minute {
				return err
			}
			continue
		}
		last = s[0]
	}
	took := time.Since(begun)
	t.keys("g")
	time.Sleep(200 * time.Millisecond)
	t.keys("G")
	time.Sleep(200 * time.Millisecond)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", t.cmd.Process.Pid))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmHWM:" {
			kib, err := strconv.ParseFloat(f[1], 64)
			if err != nil {
				return err
			}
			fmt.Printf("scrolled end to end in %.0f s\n", took.Seconds())
			return b.put(b.label, []float64{kib / 1024})
		}
	}
	return errors.New("no VmHWM")
}
