package logdir

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"unicode"
)

const (
	metadataTopic = "__cluster_metadata"
	metadataDir   = "__cluster_metadata-0"
	indexCacheDir = "remote-log-index-cache"

	// maxDirName is where LocalLog.logDirNameWithSuffixCappedLength cuts the topic.
	maxDirName = 255
)

// DirName is a parsed name of a partition directory.
type DirName struct {
	Topic     string
	Partition int32 // ≥ 0
	State     DirState
	TopicCut  bool // the name is as long as a name may be: Topic may be only a beginning
}

// javaNonSpace is Java's \S: any character but space, \t, \n, \x0B, \f, \r.
const javaNonSpace = `([^ \t\n\x0b\f\r]+)`

var suffixed = []struct {
	suffix  string
	state   DirState
	pattern *regexp.Regexp
}{
	{"-delete", Delete, regexp.MustCompile(`^` + javaNonSpace + `-` + javaNonSpace + `\.` + javaNonSpace + `-delete$`)},
	{"-future", Future, regexp.MustCompile(`^` + javaNonSpace + `-` + javaNonSpace + `\.` + javaNonSpace + `-future$`)},
	{"-stray", Stray, regexp.MustCompile(`^` + javaNonSpace + `-` + javaNonSpace + `\.` + javaNonSpace + `-stray$`)},
}

// ParseDirName parses the name of a partition directory as LocalLog.parseTopicPartitionName does: a
// broker refuses to start with a directory for which this gives an error. The characters of the
// topic are not checked, nor is the random part of a suffixed name.
//
//	orders-3                                             orders, 3, live
//	a.b-c-0.9f2c4d1e8a7b4c60b1d2e3f405162738-future      a.b-c, 0, future
//	x-delete-0                                           x-delete, 0, live
//	foo-future                                           error: the ending, but not the form
func ParseDirName(name string) (DirName, error) {
	if name == "" || !strings.Contains(name, "-") {
		return DirName{}, errors.New("no \"-\" between topic and partition")
	}
	var d DirName
	rest := name
	for _, s := range suffixed {
		if !strings.HasSuffix(name, s.suffix) {
			continue
		}
		if !s.pattern.MatchString(name) {
			return DirName{}, fmt.Errorf("ends in %q but is not TOPIC-PARTITION.ID%s", s.suffix, s.suffix)
		}
		d.State = s.state
		d.TopicCut = len(name) == maxDirName && s.state != Future
		rest = name[:strings.LastIndexByte(name, '.')]
		break
	}
	// The last dot may lie behind a "-" of the random part, then this is where Kafka finds no
	// separator and refuses.
	i := strings.LastIndexByte(rest, '-')
	if i < 0 {
		return DirName{}, errors.New("no \"-\" between topic and partition")
	}
	topic, number := rest[:i], rest[i+1:]
	if topic == "" {
		return DirName{}, errors.New("no topic before the last \"-\"")
	}
	if number == "" {
		return DirName{}, errors.New("no partition behind the last \"-\"")
	}
	p, ok := parseJavaInt(number)
	if !ok {
		return DirName{}, fmt.Errorf("partition %q is not a number", number)
	}
	d.Topic, d.Partition = topic, p
	return d, nil
}

// parseJavaInt is Integer.parseInt for text that cannot begin with "-": an optional "+", then
// decimal digits of any script in the Basic Multilingual Plane, without overflow.
func parseJavaInt(s string) (int32, bool) {
	s = strings.TrimPrefix(s, "+")
	if s == "" {
		return 0, false
	}
	var n int64
	for _, r := range s {
		digit, ok := digitValue(r)
		if !ok {
			return 0, false
		}
		n = n*10 + digit
		if n > math.MaxInt32 {
			return 0, false
		}
	}
	return int32(n), true
}

// digitValue is Character.digit(r, 10). Unicode keeps the ten digits of a script together, from zero
// on, so the distance from the start of a range tells the value.
func digitValue(r rune) (int64, bool) {
	if '0' <= r && r <= '9' {
		return int64(r - '0'), true
	}
	if r > math.MaxUint16 {
		return 0, false
	}
	for _, rg := range unicode.Nd.R16 {
		if rune(rg.Lo) <= r && r <= rune(rg.Hi) && rg.Stride == 1 {
			return int64(r-rune(rg.Lo)) % 10, true
		}
	}
	return 0, false
}
