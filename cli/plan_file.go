package cli

import (
	"errors"
	"fmt"

	"kafsck/internal/outfile"
	"kafsck/repair"
)

// planFile is the document that a plan is written to; nil: none was asked for.
type planFile struct {
	name string
	file *outfile.File
}

// newPlanFile begins the document name, "" none: before anything is read, so that a refusal costs
// nothing. Close it whatever happens; without write it then never was there.
func newPlanFile(name string, inputs []string) (*planFile, error) {
	if name == "" {
		return nil, nil
	}
	for _, p := range inputs {
		if inside(name, p) {
			return nil, &failure{exitRefused, fmt.Errorf("%s lies below the input %s, which is never changed; nothing was written", name, p)}
		}
	}
	f := &planFile{name: name}
	file, err := outfile.Create(name)
	f.file = file
	return f, f.refused(err)
}

// write writes the plan.
func (f *planFile) write(plan *repair.Plan) error {
	if f == nil {
		return nil
	}
	b, err := plan.Encode()
	if err != nil {
		return err
	}
	if _, err := f.file.Write(b); err != nil {
		return err
	}
	return f.refused(f.file.Commit())
}

func (f *planFile) refused(err error) error {
	if errors.Is(err, outfile.ErrExists) {
		return &failure{exitRefused, fmt.Errorf("%s exists; nothing was written", f.name)}
	}
	return err
}

func (f *planFile) close() {
	if f != nil && f.file != nil {
		f.file.Discard()
	}
}
