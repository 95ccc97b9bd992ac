package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// Demo prints the told incident: a story, then commands with their real output.
type Demo struct{ b bytes.Buffer }

// Story prints prose, wrapped by its author.
func (d *Demo) Story(text string) {
	if d.b.Len() > 0 {
		d.b.WriteByte('\n')
	}
	d.b.WriteString(strings.Trim(text, "\n") + "\n")
}

// Command prints what a command's answer says as a shell comment, the command as it
// would be typed, and its output.
func (d *Demo) Command(says, command string, output []byte) {
	d.b.WriteString("\n")
	for _, line := range indented("# ", says) {
		d.b.WriteString("# " + strings.TrimLeft(line, "# ") + "\n")
	}
	d.b.WriteString("$ " + command + "\n")
	d.b.Write(bytes.Trim(output, "\n"))
	d.b.WriteByte('\n')
}

// Lesson ends the story: of told records that producers were told are safe, gone are
// not in the leader's log.
func (d *Demo) Lesson(told, gone int64, extract string) {
	d.Story(fmt.Sprintf(`
Of %s that producers were told are safe, %s are not in the leader's log. Had somebody just started broker 1,
it would have deleted their last copy. Try these commands yourself on the directories that this one writes:
$ %s`, count(told, "record", "records"), comma(gone), extract))
}

// Print writes everything.
func (d *Demo) Print(w io.Writer) error {
	_, err := w.Write(d.b.Bytes())
	return err
}
