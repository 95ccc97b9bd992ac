package tui

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
)

// tableWriter saves rows one by one, as writeTable does those of a table in memory.
type tableWriter struct {
	columns []column
	out     *bufio.Writer
	csv     *csv.Writer // nil: JSON
	err     error
}

func newTableWriter(w io.Writer, format string, columns []column) (*tableWriter, error) {
	t := &tableWriter{columns: columns, out: bufio.NewWriterSize(w, 64<<10)}
	if format == "csv" {
		t.csv = csv.NewWriter(t.out)
		head := make([]string, len(columns))
		for i, c := range columns {
			head[i] = c.name
		}
		t.err = t.csv.Write(head)
	}
	return t, t.err
}

func (t *tableWriter) write(r rows, row int) {
	if t.err != nil {
		return
	}
	if t.csv == nil {
		_, t.err = fmt.Fprintf(t.out, "%s\n", jsonLine(rowJSON(t.columns, r, row)))
		return
	}
	cells := make([]string, len(t.columns))
	for k := range cells {
		cells[k] = escape(r.Cell(row, k))
	}
	t.err = t.csv.Write(cells)
}

func (t *tableWriter) finish() error {
	if t.csv != nil {
		t.csv.Flush()
		if t.err == nil {
			t.err = t.csv.Error()
		}
	}
	if err := t.out.Flush(); t.err == nil {
		t.err = err
	}
	return t.err
}
