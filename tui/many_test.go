package tui

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"kafsck/finding"
	"kafsck/incident"
	"kafsck/logdir"
	"kafsck/replica"
)

// manySource is an opened case of n partitions without any files: what the root and the
// overview make of it is what is tested.
func manyWorld(s *sim, n int) {
	w := s.app.world
	cl := &incident.Cluster{}
	var brokers []incident.BrokerRef
	for i := range 100 {
		brokers = append(brokers, incident.BrokerRef{ID: int32(i), Known: true, Name: fmt.Sprint(i)})
	}
	refs := make([]incident.Ref, n)
	for i := range refs {
		refs[i] = incident.Ref{Name: fmt.Sprintf("topic-%d-%d", i/50, i%50), Topic: fmt.Sprintf("topic-%d", i/50), Number: int32(i % 50), TopicID: fmt.Sprintf("%022d", i/50), Cluster: cl,
			Brokers: []incident.BrokerRef{brokers[i%100], brokers[(i+1)%100], brokers[(i+2)%100]}}
	}
	s.send(answer{s.app.top(), s.app.top().gen, s.app.jobs[0], &openedCase{&Source{Incident: incident.Open(&logdir.Case{}, incident.Options{})}, refs, brokers}})
	// The judging of nothing has ended; its place is taken by made up stories.
	s.settle()
	w.complete = false
	for i := 0; i < n; i += 1000 {
		var chunk judgedChunk
		for k := i; k < min(i+1000, n); k++ {
			chunk = append(chunk, madeUp(refs[k], k))
		}
		s.app.launch(s.app.stack[0], func(context.Context) any { return chunk })
		s.push(s.app.commands())
		s.settle()
	}
}

// madeUp is a judged partition: five notes each, every 1000th has lost records.
func madeUp(ref incident.Ref, k int) *judgedSummary {
	sum := &summary{worst: levelNote, judged: true, leader: ref.Brokers[0].Name, from: 0, to: int64(k), bytes: int64(k) << 10, findings: [4]int{5}}
	for _, b := range ref.Brokers {
		sum.cells = append(sum.cells, brokerCell{broker: b.Name, level: levelNote, state: replica.Live, copies: 1})
	}
	if k%1000 == 17 {
		sum.worst, sum.lost, sum.lossRanges = levelLoss, 10, 1
	}
	j := &judgedSummary{index: k, summary: sum}
	for n := range 5 {
		j.findings = append(j.findings, finding.Finding{Code: "index-not-trimmed", Count: 2, Severity: finding.Note,
			Summary: fmt.Sprintf("%s: the index file has its preallocated size, which is what a broker that was killed leaves; nothing is wrong (%d)", ref.Name, n),
			At:      finding.Location{Partition: ref.Name, Broker: ref.Brokers[0].Name, File: fmt.Sprintf("broker-%s/%s/%020d.index", ref.Brokers[0].Name, ref.Name, n), Position: int64(n), Length: -1, From: -1, To: -1, Epoch: -1}})
	}
	return j
}

// TestHundredThousandPartitions: the overview and half a million findings stay quick and
// within bounds, and nothing is left out.
func TestHundredThousandPartitions(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	const n = 100_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s := newSim(t, 120, 40, nil)
	manyWorld(s, n)
	s.sees("LOST: 1,000 committed records in 100 partitions", "1/100,000")
	runtime.GC()
	runtime.ReadMemStats(&after)
	mib := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) >> 20
	t.Logf("%d MiB for %d partitions", mib, n)
	if mib > 150 {
		t.Errorf("%d MiB are kept", mib)
	}
	quick := func(what string, key ...string) {
		t.Helper()
		worst := time.Duration(0)
		for range 20 {
			for _, k := range key {
				begin := time.Now()
				s.send(keyMsg(k))
				s.app.View()
				worst = max(worst, time.Since(begin))
			}
		}
		t.Logf("%s: at most %v for a key and its frame", what, worst)
		if worst > 100*time.Millisecond { // 16 ms on a machine of its own: see bench/
			t.Errorf("%s: a key takes %v", what, worst)
		}
	}
	quick("scrolling", "pgdown", "j", "G", "g", "right")
	s.keys("z").sees("faults only  1/100 of 100,000").keys("z")
	s.keys("/").text("topic-1999-4").keys("enter").sees("of 100,000", "topic-1999-4")
	s.keys("/", "ctrl+u", "enter", "F").sees("500,000", "1,000,000", "100,000", "index-not-trimmed")
	s.keys("enter").sees("1/500,000", "index-not-trimmed")
	quick("findings", "pgdown", "j", "G", "g")
	s.keys("G").sees("not kept in memory")
}
