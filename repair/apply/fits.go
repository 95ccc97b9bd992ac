package apply

import (
	"encoding/json"

	"kafsck/repair"
)

// Fits reports whether Run would take a plan, without a look at any file: as it is, and with each of its
// actions confirmed alone. It returns the first action that does not fit, and why; "" where the plan as a
// whole does not.
func Fits(p *repair.Plan) (action string, err error) {
	try := func(id string) error {
		b, err := json.Marshal(p)
		if err != nil {
			return err
		}
		q := new(repair.Plan)
		if err := json.Unmarshal(b, q); err != nil {
			return err
		}
		if id != "" {
			q.Select([]string{id}, nil)
		}
		_, err = newLayout(q)
		return err
	}
	if len(p.Actions) == 0 {
		return "", nil
	}
	if err := try(""); err == nil {
		for i := range p.Actions {
			a := &p.Actions[i]
			if !a.Confirm || a.Confirmed {
				continue
			}
			if err := try(a.ID); err != nil {
				return a.ID, err
			}
		}
		return "", nil
	}
	for i := range p.Actions {
		if err := try(p.Actions[i].ID); err != nil {
			return p.Actions[i].ID, err
		}
	}
	return "", try("")
}
