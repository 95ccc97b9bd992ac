package tui

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// openSave asks for a name and saves the table. Nothing that exists is overwritten, and
// nothing is written into an input: Options.Save sees to both.
func (a *app) openSave(e *entry) {
	s, ok := e.screen.(saver)
	if !ok || a.opt.Save == nil {
		a.say(levelOK, "this view has no table to save")
		return
	}
	ctl := &control{a, e}
	ctl.ask("save as (.csv or .json): ", "", func(name string, ctl *control) work {
		format := ""
		switch {
		case strings.HasSuffix(name, ".csv"):
			format = "csv"
		case strings.HasSuffix(name, ".json"), strings.HasSuffix(name, ".jsonl"):
			format = "json"
		case name == "":
			ctl.say("nothing was saved")
			return nil
		default:
			ctl.warn("nothing was saved: the name must end with .csv or .json")
			return nil
		}
		write, err := s.save(format)
		if err != nil {
			ctl.warn("nothing was saved: %v", err)
			return nil
		}
		a.side(e, func(context.Context) any {
			if err := a.opt.Save(name, write); err != nil {
				return notice{levelWarning, "nothing was saved: " + err.Error()}
			}
			return notice{levelOK, "saved " + name}
		})
		return nil
	})
}

// writeTable writes rows as CSV with a header, or as JSON Lines, one object a row.
func writeTable(w io.Writer, format string, columns []column, r rows, order []int32) error {
	n := r.Len()
	if order != nil {
		n = len(order)
	}
	at := func(i int) int {
		if order != nil {
			return int(order[i])
		}
		return i
	}
	out := bufio.NewWriterSize(w, 64<<10)
	if format == "csv" {
		c := csv.NewWriter(out)
		head := make([]string, len(columns))
		for i, col := range columns {
			head[i] = col.name
		}
		if err := c.Write(head); err != nil {
			return err
		}
		row := make([]string, len(columns))
		for i := range n {
			for k := range columns {
				row[k] = escape(r.Cell(at(i), k))
			}
			if err := c.Write(row); err != nil {
				return err
			}
		}
		c.Flush()
		if err := c.Error(); err != nil {
			return err
		}
		return out.Flush()
	}
	for i := range n {
		data, err := json.Marshal(rowJSON(columns, r, at(i)))
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s\n", visibleJSON(data)); err != nil {
			return err
		}
	}
	return out.Flush()
}

// rowJSON is a row as an object: what the rows give, else the cells by column name.
func rowJSON(columns []column, r rows, row int) any {
	if j, ok := r.(jsonRows); ok {
		return j.JSON(row)
	}
	m := map[string]any{}
	v, valued := r.(valuedRows)
	for i, c := range columns {
		if valued {
			if x := v.Value(row, i); x != nil {
				m[c.name] = x
				continue
			}
		}
		m[c.name] = r.Cell(row, i)
	}
	return m
}
