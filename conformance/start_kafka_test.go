package conformance

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"kafsck/broker"
	"kafsck/logdir"
)

// startRequest asks the oracle to load the disks of one broker.
type startRequest struct {
	Path  string   `json:"path,omitempty"`
	Roots []string `json:"roots,omitempty"`
	Clean string   `json:"clean"`
	Now   int64    `json:"now"`
}

// exception is a Java exception as the oracle prints it.
type exception struct{ Class, Message string }

// startAnswer is the part of the oracle's answer that is compared.
type startAnswer struct {
	Outcome    string
	AbortedBy  string
	Exception  *exception
	Partitions map[string]struct {
		Outcome                                                    string
		Exception                                                  *exception
		DirNameAfter                                               string
		LogStartOffset, LogEndOffset, RecoveryPoint, HighWatermark int64
		LastStableOffset                                           int64
		HighWatermarkError                                         *exception
		Segments                                                   []struct{ Base, Size int64 }
		EpochCache                                                 entries
		EpochFile                                                  *string
	}
	ClusterMetadata *struct {
		Outcome                      string
		LogStartOffset, LogEndOffset int64
	}
	MetaProperties *struct {
		Outcome   string
		EmptyDirs int
		ErrorDirs int
		Exception *exception
	}
	FilesAfter map[string]int64
	Log        []string
}

// startCase is one start: disks of one broker, and how it was stopped.
type startCase struct {
	name  string
	roots []string
	clean string
	now   int64
	// recipe made the disks, if they are not recorded ones.
	recipe recipe
}

// request is the case in the oracle's terms.
func (c *startCase) request() startRequest {
	q := startRequest{Clean: c.clean, Now: c.now}
	if len(c.roots) == 1 {
		q.Path = c.roots[0]
	} else {
		q.Roots = c.roots
	}
	return q
}

// inKafka has two JVMs load all cases.
func inKafka(t *testing.T, cases []startCase) []startAnswer {
	t.Helper()
	var distinct []startCase
	at := map[int]int{}
	for i := range cases {
		if sameStart(cases, i) == i {
			at[i] = len(distinct)
			distinct = append(distinct, cases[i])
		}
	}
	answers := askKafka(t, distinct)
	out := make([]startAnswer, len(cases))
	for i := range cases {
		out[i] = answers[at[sameStart(cases, i)]]
	}
	return out
}

// askKafka asks for every case.
func askKafka(t *testing.T, cases []startCase) []startAnswer {
	t.Helper()
	halves := make([][]json.RawMessage, 2)
	middle := (len(cases) + 1) / 2
	t.Run("in Kafka", func(t *testing.T) {
		for i := range halves {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				var requests []any
				for _, c := range cases[i*middle : min(len(cases), (i+1)*middle)] {
					requests = append(requests, c.request())
				}
				halves[i] = oracle(t, []string{"load", "-"}, requests)
			})
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	var answers []startAnswer
	var again []int
	for i, raw := range slices.Concat(halves...) {
		answers = append(answers, parseAnswer(t, raw))
		if answers[i].Outcome == "oracle error" {
			again = append(again, i)
		}
	}
	// After a start that aborted, loads of other directories may still be under way when the oracle
	// lists the files, and one can vanish under it.
	for range 5 {
		var requests []any
		for _, i := range again {
			requests = append(requests, cases[i].request())
		}
		if len(requests) == 0 {
			break
		}
		var rest []int
		for k, raw := range oracle(t, []string{"load", "-"}, requests) {
			answers[again[k]] = parseAnswer(t, raw)
			if answers[again[k]].Outcome == "oracle error" {
				rest = append(rest, again[k])
			}
		}
		again = rest
	}
	return answers
}

func parseAnswer(t *testing.T, raw json.RawMessage) startAnswer {
	t.Helper()
	var a startAnswer
	if err := json.Unmarshal(raw, &a); err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	return a
}

// predicted is what kafsck says about a case.
func predicted(t *testing.T, c *startCase) *broker.Started {
	t.Helper()
	found, err := logdir.Discover(c.roots, logdir.Options{})
	if err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	defer found.Close()
	one := &logdir.Broker{}
	for _, root := range c.roots { // in the order of the request
		for _, b := range found.Brokers {
			for _, d := range b.Dirs {
				if real, err := filepath.EvalSymlinks(root); err == nil && (d.HostPath == root || d.HostPath == real) {
					one.Dirs = append(one.Dirs, d)
				}
			}
		}
	}
	if len(one.Dirs) != len(c.roots) {
		t.Fatalf("%s: %d of %d log directories found", c.name, len(one.Dirs), len(c.roots))
	}
	opt := broker.StartOptions{NowMs: c.now}
	if c.clean != "as-is" {
		clean := c.clean == "present"
		opt.Clean = &clean
	}
	s, err := broker.Start(t.Context(), one, opt)
	if err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	return s
}
