package manifest

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Entry is a line of a manifest.
type Entry struct {
	Path   string // as it stands there
	SHA256 string // 64 hexadecimal digits, lower case; "" of what has none
	Other  Other  // what it is that has none
}

// Line is the entry as sha256sum prints it, without the newline:
//
//	9b74…04d  t-0/00000000000000000000.log
//	\9b74…04d  odd\nname                      a name with a newline, carriage return or backslash
//
// Source: the GNU coreutils manual, "md5sum invocation".
//
// What has no checksum stands in a comment; see Other.
func (e Entry) Line() string {
	if e.Other != "" {
		return otherPrefix + strconv.Quote(e.Path) + " " + string(e.Other)
	}
	if !strings.ContainsAny(e.Path, "\\\n\r") {
		return e.SHA256 + "  " + e.Path
	}
	return `\` + e.SHA256 + "  " + strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`).Replace(e.Path)
}

// maxLine bounds a line of a manifest: the longest path that a system takes and the longest text of
// a symbolic link, four characters for each byte.
const maxLine = 40 << 10

// maxEntries bounds what is kept of a manifest: a broker has some hundred thousand files.
const maxEntries = 20_000_000

// Bad is a line that is no entry.
type Bad struct {
	Number int // of the line, from 1
	Why    string
}

func (b *Bad) Error() string { return fmt.Sprintf("line %d: %s", b.Number, b.Why) }

// Parse reads a manifest. Lines that begin with # and empty ones are no entries, as for
// sha256sum, but for those that Other describes; "sha256sum --binary" marks names with a star, which is not part of them.
//
// The error is a *Bad for the first line that is no entry, or a failed read.
func Parse(r io.Reader) ([]Entry, error) {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 4096), maxLine)
	var out []Entry
	number := 0
	for s.Scan() {
		number++
		line := s.Text()
		rest, other := strings.CutPrefix(line, otherPrefix)
		if line == "" || line[0] == '#' && !other {
			continue
		}
		e, why := Entry{}, ""
		if other {
			e, why = parseOther(rest)
		} else {
			e, why = parseLine(line)
		}
		if why != "" {
			return nil, &Bad{number, why}
		}
		if len(out) == maxEntries {
			return nil, &Bad{number, fmt.Sprintf("more than %d files", maxEntries)}
		}
		out = append(out, e)
	}
	if err := s.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, &Bad{number + 1, fmt.Sprintf("it is longer than %d bytes", maxLine)}
	} else if err != nil {
		return nil, err
	}
	return out, nil
}

func parseLine(line string) (e Entry, why string) {
	rest, escaped := strings.CutPrefix(line, `\`)
	if len(rest) < 67 || rest[64] != ' ' || rest[65] != ' ' && rest[65] != '*' {
		return e, "it is not a SHA-256, two spaces and a name"
	}
	e.SHA256 = strings.ToLower(rest[:64])
	if _, err := hex.DecodeString(e.SHA256); err != nil {
		return e, "it does not begin with the 64 hexadecimal digits of a SHA-256"
	}
	e.Path = rest[66:]
	if !escaped {
		return e, ""
	}
	var b strings.Builder
	for i := 0; i < len(e.Path); i++ {
		c := e.Path[i]
		if c == '\\' {
			i++
			at := -1
			if i < len(e.Path) {
				at = strings.IndexByte(`\nr`, e.Path[i])
			}
			if at < 0 {
				return e, `a backslash in the name is not \\, \n or \r`
			}
			c = "\\\n\r"[at]
		}
		b.WriteByte(c)
	}
	e.Path = b.String()
	return e, ""
}
