//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"
	"unsafe"
)

// terminal is a pseudo terminal with a program on it, and what its screen shows. It
// understands what kafsck and less write: text, CR, LF, BS, and of the escape sequences
// those that move the cursor or erase; colours and modes are passed over.
type terminal struct {
	cmd   *exec.Cmd
	other *os.File
	begun time.Time
	ended chan error

	mu       sync.Mutex
	changed  *sync.Cond
	rows     [][]rune
	row, col int
	rest     []byte // an escape sequence or character that is not complete yet
	last     time.Time
	closed   bool
}

// open starts a program on a terminal of w × h cells.
func open(w, h int, command ...string) (*terminal, error) {
	other, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	var unlock, number int32
	size := struct{ rows, cols, x, y uint16 }{uint16(h), uint16(w), 0, 0}
	err = errors.Join(
		ioctl(other, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock)),
		ioctl(other, syscall.TIOCGPTN, unsafe.Pointer(&number)),
		ioctl(other, syscall.TIOCSWINSZ, unsafe.Pointer(&size)))
	if err != nil {
		return nil, err
	}
	side, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	t := &terminal{other: other, ended: make(chan error, 1)}
	t.changed = sync.NewCond(&t.mu)
	t.rows = make([][]rune, h)
	for i := range t.rows {
		t.rows[i] = []rune(strings.Repeat(" ", w))
	}
	t.cmd = exec.Command(command[0], command[1:]...)
	t.cmd.Stdin, t.cmd.Stdout, t.cmd.Stderr = side, side, side
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	for _, e := range os.Environ() {
		switch name, _, _ := strings.Cut(e, "="); name {
		case "TERM", "CI", "NO_COLOR", "COLORFGBG", "TMUX", "STY", "LESS", "LESSOPEN":
		default:
			t.cmd.Env = append(t.cmd.Env, e)
		}
	}
	t.cmd.Env = append(t.cmd.Env, "TERM=xterm-256color")
	t.begun = time.Now()
	if err := t.cmd.Start(); err != nil {
		return nil, err
	}
	side.Close()
	go t.read()
	go func() { t.ended <- t.cmd.Wait() }()
	return t, nil
}

func ioctl(f *os.File, request uintptr, arg unsafe.Pointer) error {
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(arg)); errno != 0 {
		return os.NewSyscallError("ioctl", errno)
	}
	return nil
}

func (t *terminal) read() {
	buf := make([]byte, 64<<10)
	for {
		n, err := t.other.Read(buf)
		now := time.Now()
		t.mu.Lock()
		t.rest = append(t.rest, buf[:max(n, 0)]...)
		t.last = now
		t.draw()
		t.closed = err != nil
		t.changed.Broadcast()
		t.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// draw takes what is complete off rest.
func (t *terminal) draw() {
	b := t.rest
	w := len(t.rows[0])
	for len(b) > 0 {
		switch c := b[0]; {
		case c == 0x1b:
			n := t.escape(b)
			if n == 0 {
				t.rest = append(t.rest[:0], b...)
				return
			}
			b = b[n:]
			continue
		case c == '\r':
			t.col = 0
		case c == '\n':
			t.down()
		case c == '\b':
			t.col = max(t.col-1, 0)
		case c >= 0x80 && !utf8.FullRune(b):
			t.rest = append(t.rest[:0], b...)
			return
		case c >= ' ':
			r, n := utf8.DecodeRune(b)
			if t.col >= w {
				t.col = 0
				t.down()
			}
			t.rows[t.row][t.col] = r
			t.col++
			b = b[n:]
			continue
		}
		b = b[1:]
	}
	t.rest = t.rest[:0]
}

// down goes to the next line, and scrolls at the last one.
func (t *terminal) down() {
	if t.row++; t.row == len(t.rows) {
		t.row--
		t.rows = append(t.rows[1:], []rune(strings.Repeat(" ", len(t.rows[0]))))
	}
}

// escape takes one escape sequence and gives its length, 0 if it is not complete.
func (t *terminal) escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	if b[1] == ']' { // up to BEL or ESC \
		for i := 2; i < len(b); i++ {
			if b[i] == 7 {
				return i + 1
			}
			if b[i] == 0x1b && i+1 < len(b) {
				return i + 2
			}
		}
		return 0
	}
	if b[1] != '[' {
		return 2
	}
	var args []int
	n, has, i := 0, false, 2
	for ; i < len(b) && b[i] < 0x40; i++ {
		switch c := b[i]; {
		case c >= '0' && c <= '9':
			n, has = n*10+int(c-'0'), true
		case c == ';':
			args, n, has = append(args, n), 0, false
		}
	}
	if i == len(b) {
		return 0
	}
	if has {
		args = append(args, n)
	}
	arg := func(k, otherwise int) int {
		if k < len(args) && args[k] > 0 {
			return args[k]
		}
		return otherwise
	}
	h, w := len(t.rows), len(t.rows[0])
	erase := func(row, from int) {
		for k := from; row >= 0 && row < h && k < w; k++ {
			t.rows[row][k] = ' '
		}
	}
	switch b[i] {
	case 'A':
		t.row = max(t.row-arg(0, 1), 0)
	case 'B':
		t.row = min(t.row+arg(0, 1), h-1)
	case 'C':
		t.col = min(t.col+arg(0, 1), w-1)
	case 'D':
		t.col = max(t.col-arg(0, 1), 0)
	case 'G':
		t.col = arg(0, 1) - 1
	case 'H':
		t.row, t.col = min(arg(0, 1), h)-1, arg(1, 1)-1
	case 'K':
		if arg(0, 0) == 2 {
			erase(t.row, 0)
		} else if arg(0, 0) == 0 {
			erase(t.row, t.col)
		}
	case 'J':
		if arg(0, 0) == 2 {
			for k := range h {
				erase(k, 0)
			}
		} else {
			erase(t.row, t.col)
			for k := t.row + 1; k < h; k++ {
				erase(k, 0)
			}
		}
	}
	return i + 1
}

// text is the screen.
func (t *terminal) text() string {
	var b strings.Builder
	for _, r := range t.rows {
		b.WriteString(strings.TrimRight(string(r), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

func (t *terminal) line(i int) string {
	if i < 0 {
		i += len(t.rows)
	}
	return strings.TrimSpace(string(t.rows[i]))
}

var errLate = errors.New("the screen does not come")

// until waits for a screen and returns when its last bytes came.
func (t *terminal) until(what string, most time.Duration, shows func() bool) (time.Time, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	timer := time.AfterFunc(most, func() { t.mu.Lock(); t.changed.Broadcast(); t.mu.Unlock() })
	defer timer.Stop()
	for end := time.Now().Add(most); !shows(); t.changed.Wait() {
		if t.closed || !time.Now().Before(end) {
			return t.last, fmt.Errorf("%w: %s:\n%s", errLate, what, t.text())
		}
	}
	return t.last, nil
}

// full says that a frame is there: its first and its last line have text.
func (t *terminal) full() bool { return t.line(0) != "" && t.line(-1) != "" }

func (t *terminal) shows(text string) func() bool {
	return func() bool { return strings.Contains(t.text(), text) }
}

func (t *terminal) keys(keys string) error {
	_, err := t.other.WriteString(keys)
	return err
}

// close ends the program.
func (t *terminal) close(keys string) {
	t.keys(keys)
	select {
	case <-t.ended:
	case <-time.After(3 * time.Second):
		t.cmd.Process.Kill()
		<-t.ended
	}
	t.other.Close()
}
