package report

import (
	"cmp"

	"kafsck/check"
	"kafsck/finding"
	"kafsck/incident"
	"kafsck/logdir"
)

type claimLine struct {
	Claim string  `json:"claim"`
	Want  *string `json:"want"`
	Got   *string `json:"got"`
}

type placeLine struct {
	File     string `json:"file"`
	Position *int64 `json:"position"`
	Length   *int64 `json:"length"`
	From     *int64 `json:"from"`
	To       *int64 `json:"to"`
}

type findingLine struct {
	Type      string       `json:"type"`
	Code      finding.Code `json:"code"`
	Severity  string       `json:"severity"`
	Partition *string      `json:"partition"`
	TopicID   *string      `json:"topicId"`
	Broker    brokerID     `json:"broker"`
	File      *string      `json:"file"`
	Position  *int64       `json:"position"`
	Length    *int64       `json:"length"`
	From      *int64       `json:"from"`
	To        *int64       `json:"to"`
	Epoch     *int32       `json:"epoch"`
	Count     int          `json:"count"`
	Summary   string       `json:"summary"`
	Evidence  []claimLine  `json:"evidence"`
	Places    []placeLine  `json:"places,omitempty"`
	Kafka     string       `json:"kafka"`
	Next      string       `json:"next"`
}

// Findings writes the findings of a partition.
func (j *JSON) Findings(p *incident.Partition) {
	for i := range p.Findings {
		j.finding(&p.Findings[i], func(name string) brokerID { return brokerNamed(p, name) })
	}
}

// CaseFindings writes the findings that belong to no partition.
func (j *JSON) CaseFindings(c *logdir.Case, list []finding.Finding) {
	for i := range list {
		j.finding(&list[i], func(name string) brokerID {
			for _, b := range c.Brokers {
				if b.IDKnown && b.String() == name {
					return b.ID
				}
			}
			return name
		})
	}
}

func (j *JSON) finding(f *finding.Finding, broker func(name string) brokerID) {
	l := findingLine{Type: "finding", Code: f.Code, Severity: f.Severity.String(), Partition: text(f.At.Partition), TopicID: text(f.At.TopicID), File: text(f.At.File),
		Position: atLeast0(f.At.Position), Length: atLeast0(f.At.Length), From: atLeast0(f.At.From), To: atLeast0(f.At.To), Epoch: atLeast0(f.At.Epoch),
		Count: f.Count, Summary: f.Summary, Evidence: []claimLine{}, Kafka: kafkaDoes(f), Next: f.Next}
	if f.At.Broker != "" {
		l.Broker = broker(f.At.Broker)
	}
	for _, e := range f.Evidence {
		l.Evidence = append(l.Evidence, claimLine{e.Claim, text(e.Want), text(e.Got)})
	}
	for _, p := range f.Places {
		l.Places = append(l.Places, placeLine{p.File, atLeast0(p.Position), atLeast0(p.Length), atLeast0(p.From), atLeast0(p.To)})
	}
	j.Line(l)
}

// kafkaDoes says what Kafka does about a finding.
func kafkaDoes(f *finding.Finding) string {
	c, _ := check.Lookup(f.Code)
	return cmp.Or(f.Kafka, c.Kafka)
}

// brokerNamed finds the id behind a name of this partition's story.
func brokerNamed(p *incident.Partition, name string) brokerID {
	if p.Ruling.Leader != nil && p.Ruling.Leader.Name == name {
		return brokerOf(*p.Ruling.Leader)
	}
	for _, c := range p.Copies {
		if c.Broker.Name == name {
			return brokerOf(c.Broker)
		}
	}
	return name
}

type codeLine struct {
	Type       string       `json:"type"`
	Code       finding.Code `json:"code"`
	Scope      check.Scope  `json:"scope"`
	Severities []string     `json:"severities"`
	When       *string      `json:"when"`
	Meaning    string       `json:"meaning"`
	How        string       `json:"how"`
	Kafka      string       `json:"kafka"`
	Do         string       `json:"do"`
}

// Codes writes what there is to say about each code.
func (j *JSON) Codes(list []check.Code) {
	for _, c := range list {
		l := codeLine{"code", c.Code, c.Scope, []string{}, text(c.When), c.Meaning, c.How, c.Kafka, c.Do}
		for _, s := range c.Severities {
			l.Severities = append(l.Severities, s.String())
		}
		j.Line(l)
	}
	j.Line(summaryLine{Type: "summary"})
}
