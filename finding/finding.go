package finding

import "fmt"

// Code names one kind of finding: stable, kebab-case, documented in
// docs/findings.md.
type Code string

// Severity orders findings by what they mean to the owner of the data.
type Severity uint8

// The severities, from harmless to worst.
const (
	Note    Severity = iota // explained, harmless
	Warning                 // worth a look; nothing is wrong yet
	Damage                  // bytes or metadata are wrong; clients may get wrong answers or a broker will not start
	Loss                    // records are gone, or the next start will drop them
)

var severityNames = [...]string{"note", "warning", "damage", "loss"}

// String returns the name used in text, JSON and --fail-on.
func (s Severity) String() string {
	if int(s) < len(severityNames) {
		return severityNames[s]
	}
	return fmt.Sprintf("severity(%d)", uint8(s))
}

// ParseSeverity is the inverse of String.
func ParseSeverity(name string) (Severity, bool) {
	for i, n := range severityNames {
		if n == name {
			return Severity(i), true
		}
	}
	return 0, false
}

// Location says where a finding lies. Unknown numbers are -1, unknown names are
// empty.
type Location struct {
	Partition string // "t-0"
	TopicID   string // Kafka's text form
	Broker    string // "1", or a folder's name when the id is unknown
	File      string // relative to the PATH given
	Position  int64  // byte
	Length    int64  // bytes
	From, To  int64  // offsets [From, To)
	Epoch     int32
}

// Evidence supports a finding.
type Evidence struct {
	Claim string
	Want  string
	Got   string
}

// Range is the offsets [From, To).
type Range struct{ From, To int64 }

// Place is where a fact is. Unknown numbers are -1.
type Place struct {
	File     string // relative to the PATH given
	Position int64  // byte
	Length   int64  // bytes
	From, To int64  // offsets [From, To)
}

// Finding is one judged fact, possibly standing for many of one cause.
type Finding struct {
	Code     Code
	Severity Severity
	At       Location
	Count    int // how many facts of this cause; at least 1
	Summary  string
	Evidence []Evidence
	// Ranges are the offsets of the facts that are known, in the order of the evidence; it may be cut
	// short, and is empty where the facts have none.
	Ranges []Range
	// Places are where the facts are, those that are known, where they are more than the evidence tells
	// of; else empty.
	Places []Place
	Kafka  string // what Kafka does here, where that is more exact than what the code's entry says; else ""
	Next   string // the next command or act
	// Listed: the gap list of the salvage that made this log names it, so that no plan mends it.
	Listed bool
}
