package repair

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
)

// nameByContent gives a plan an ID that follows from its content: what it would write, for which
// release, and from which bytes. A salvage makes its plan anew in each run. By this the one that was
// stopped and the one that goes on with it are the same plan, and name the same folder. Where the
// inputs lie, when the plan was made and what it says to people do not count.
func (p *Plan) nameByContent() error {
	type action struct {
		Kind  Kind
		Root  int
		Dir   string
		Edits []Edit
	}
	content := struct {
		Version int
		Kafka   string
		Roots   []Root
		Inputs  []PlanInput
		Actions []action
	}{Version: p.Version, Kafka: p.Kafka, Inputs: p.Inputs}
	for _, r := range p.Roots {
		r.Path = ""
		content.Roots = append(content.Roots, r)
	}
	for i := range p.Actions {
		a := &p.Actions[i]
		content.Actions = append(content.Actions, action{a.Kind, a.Root, a.Dir, a.Edits})
	}
	h := sha256.New()
	if err := json.NewEncoder(h).Encode(&content); err != nil {
		return err
	}
	p.ID = hex.EncodeToString(h.Sum(nil)[:8])
	return nil
}

// madeUpID is a topic id that no topic has, of the form that Kafka's Uuid.randomUuid makes: its text
// begins with no dash. It follows from the file and the topic's name, so that the same logs get the
// same one again.
func madeUpID(sum, topic string) string {
	for id := sha256.Sum256([]byte("topic id\x00" + sum + "\x00" + topic)); ; id = sha256.Sum256(id[:]) {
		u := id[:16:16]
		u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
		if s := base64.RawURLEncoding.EncodeToString(u); s[0] != '-' {
			return s
		}
	}
}
