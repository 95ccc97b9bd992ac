package incident_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"kafsck/commitment"
	"kafsck/incident"
	"kafsck/internal/fixture"
	"kafsck/internal/rofs"
	"kafsck/logdir"
	"kafsck/serverlog"
)

// serverLogs reads the logs that the brokers of a recording wrote, over all of its
// stages.
func serverLogs(t *testing.T, name string) []*serverlog.File {
	t.Helper()
	var out []*serverlog.File
	tree := below(fixture.Tree(t, "server-logs"), name)
	for _, path := range slices.Sorted(maps.Keys(tree)) {
		out = append(out, serverLog(t, "logs/"+path, string(tree[path].Data), -1))
	}
	return out
}

func serverLog(t *testing.T, name, text string, broker int32) *serverlog.File {
	t.Helper()
	f, err := serverlog.Read(context.Background(), name, strings.NewReader(text), serverlog.Options{Broker: broker})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestServerLogs: what the brokers' logs add is what the recording says was lost, and
// they never make a loss of what was not.
func TestServerLogs(t *testing.T) {
	for _, name := range fixture.Names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			logs := serverLogs(t, name)
			if len(logs) == 0 {
				return
			}
			tree := fixture.Tree(t, name)
			for stage, s := range readExpected(t, tree).Stages {
				plain := stories(t, incident.Options{}, below(tree, stage))
				with := stories(t, incident.Options{ServerLogs: logs}, below(tree, stage))
				for part, want := range s.Partitions {
					p := with[part]
					if w := want.WithServerLog; w != nil {
						cause := slices.ContainsFunc(w.Losses, func(l expectedLoss) bool { return l.Cause != "" })
						if g, w := lossLines(p.Losses, cause), wantedLosses(w.Losses, cause); g != w {
							t.Errorf("%s %s: got %s\nwant %s", stage, part, g, w)
						}
						continue
					}
					before := plain[part].Losses
					for i := range p.Losses {
						l := &p.Losses[i]
						if slices.ContainsFunc(before, func(b incident.Loss) bool {
							return lossLines([]incident.Loss{b}, true) == lossLines(p.Losses[i:i+1], true)
						}) {
							continue
						}
						if r := &p.Ruling; r.Guess && plain[part].Ruling.Leader == nil && candidateLoses(plain[part], *r.Leader, l) {
							continue // the logs name the leader, and so what it lacks is lost
						}
						acked := inRanges(l, want.Truth.AckedAll.Ranges)
						switch {
						case l.Basis != "trace" || !hasKind(l, commitment.ServerLogKind):
							t.Errorf("%s %s: changed: %s", stage, part, lossLines(p.Losses[i:i+1], true))
						case l.Committed == commitment.Yes && acked == 0:
							t.Errorf("%s %s: called committed, and nobody was told so: %s", stage, part, lossLines(p.Losses[i:i+1], true))
						case l.Committed == commitment.No && acked > 0:
							t.Errorf("%s %s: called never committed, and %d records were acknowledged to acks=all: %s", stage, part, acked, lossLines(p.Losses[i:i+1], true))
						case l.Committed == commitment.Unknown && len(before) == 0:
							t.Errorf("%s %s: an alarm that the recording does not bear out: %s", stage, part, lossLines(p.Losses[i:i+1], true))
						}
					}
				}
			}
		})
	}
}

// candidateLoses reports whether a loss is what was foretold if this broker led.
func candidateLoses(p *incident.Partition, leader incident.BrokerRef, l *incident.Loss) bool {
	for i := range p.Candidates {
		c := &p.Candidates[i]
		if c.Leader == leader && slices.ContainsFunc(c.Losses, func(x incident.Loss) bool {
			return lossLines([]incident.Loss{x}, true) == lossLines([]incident.Loss{*l}, true)
		}) {
			return true
		}
	}
	return false
}

func hasKind(l *incident.Loss, k commitment.Kind) bool {
	return slices.ContainsFunc(l.Evidence, func(e commitment.Evidence) bool { return e.Kind == k })
}

// inRanges counts the offsets of a loss that lie in ranges.
func inRanges(l *incident.Loss, ranges [][2]int64) int64 {
	n := int64(0)
	for _, r := range ranges {
		if l.From != nil && l.To != nil {
			n += max(min(*l.To, r[1])-max(*l.From, r[0]), 0)
		}
	}
	return n
}

// opened judges a tree with options and returns the notes as well.
func opened(t *testing.T, fixtureName, stage string, logs ...*serverlog.File) (*incident.Incident, map[string]*incident.Partition) {
	t.Helper()
	c, err := logdir.DiscoverFS(rofs.FromFS(below(fixture.Tree(t, fixtureName), stage)), "case", logdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	inc := incident.Open(c, incident.Options{Compare: true, ServerLogs: logs})
	out := map[string]*incident.Partition{}
	for p := range inc.Partitions(context.Background()) {
		out[p.Name] = p
	}
	return inc, out
}

// TestServerLogOfOthers: a log of another broker or cluster is left out, and that is said.
func TestServerLogOfOthers(t *testing.T) {
	tree := fixture.Tree(t, "server-logs")
	truncating := string(tree["kraft39-unclean-election/broker-1.log"].Data)
	for _, tc := range []struct {
		name string
		log  *serverlog.File
		says string // "" the log counts
	}{
		{"its own", serverLog(t, "a", truncating, -1), ""},
		{"its own, and so told", serverLog(t, "a", truncating, 1), ""},
		{"told to be another broker's", serverLog(t, "a", truncating, 2), "its lines are broker 1's, not broker 2's"},
		{"a cluster with the same topic names", serverLog(t, "a", strings.NewReplacer("JJkHSCgmQEyFrIK0JLMpTXQ", "AAAAAAAAAAAAAAAAAAAAAQ").Replace(otherTopics(truncating)), -1), "its topics have the names of these, and other ids"},
		{"another cluster by its id", serverLog(t, "a", "[2026-11-30 03:24:08,941] INFO Cluster ID = AAAAAAAAAAAAAAAAAAAAAA (kafka.server.KafkaServer)\n"+truncating, -1), "it is of cluster"},
		{"a broker that nobody knows", serverLog(t, "a", "[2026-11-30 03:25:20,719] INFO [Broker id=77] Leader other-0 starts at leader epoch 3 from offset 0 with high watermark 0 ISR [77] addingReplicas [] removingReplicas []. Previous leader epoch was 2. (state.change.logger)\n", -1), "know no such broker"},
		{"no log at all", serverLog(t, "a", "#!/bin/sh\necho hello\n", -1), "no line of it is one of a Kafka broker"},
		{"empty", serverLog(t, "a", "", -1), "it is empty"},
	} {
		inc, stories := opened(t, "kraft39-unclean-election", "stage-c", tc.log)
		told := hasKind(&stories["k39-unclean-0"].Losses[0], commitment.ServerLogKind)
		var notes []string
		for _, n := range inc.Notes {
			notes = append(notes, n.Text)
		}
		ignored := slices.ContainsFunc(notes, func(s string) bool { return strings.Contains(s, "ignored: ") && strings.Contains(s, tc.says) })
		if tc.says == "" && (!told || len(notes) > 0) || tc.says != "" && (told || !ignored) {
			t.Errorf("%s: counts %v, notes %q", tc.name, told, notes)
		}
	}
}

// otherTopics gives every topic id in a log another value.
func otherTopics(text string) string {
	var out strings.Builder
	rest := text
	for {
		before, after, found := strings.Cut(rest, "topic id Some(")
		out.WriteString(before)
		if !found {
			return strings.ReplaceAll(strings.ReplaceAll(out.String(), "topicId=", "topicId=x"), "with topic id ", "with topic id x")
		}
		out.WriteString("topic id Some(x")
		rest = after
	}
}

// TestTruncationOnlyTold: the shapes of what a broker's log tells when it cut off
// records, on the recording of which all bytes are gone (kraft39-unclean-election
// stage-c, broker 1: log end and high watermark 200, cut to 100, leader epoch 2).
func TestTruncationOnlyTold(t *testing.T) {
	const (
		follower = "[2026-11-30 03:25:20,676] INFO [Broker id=1] Follower k39-unclean-0 starts at leader epoch 2 from offset %d with partition epoch 3 and high watermark %d. Current leader is 2. Previous leader None and previous leader epoch was -1. (logger)\n"
		below    = "[2026-11-30 03:25:20,718] WARN [UnifiedLog partition=k39-unclean-0, dir=/d] Truncating k39-unclean-0 to offset 100 below high watermark %d (UnifiedLog)\n"
		cut      = "[2026-11-30 03:25:20,719] INFO [UnifiedLog partition=k39-unclean-0, dir=/d] Truncating to offset 100 (UnifiedLog)\n"
		back     = "[2026-11-30 03:25:20,720] WARN [UnifiedLog partition=k39-unclean-0, dir=/d] Non-monotonic update of high watermark from (offset=200, segment=[0:3858]) to (offset=100, segment=[0:2995]) (UnifiedLog)\n"
		answer   = "[2026-11-30 03:25:20,718] INFO [ReplicaFetcher replicaId=1, leaderId=2, fetcherId=0] Truncating partition k39-unclean-0 with TruncationState(offset=100, completed=true) due to local high watermark 100 (ReplicaFetcherThread)\n"
	)
	open := "trace [100,none) records none epochs [0] committed unknown by [unclean-election] held by [] unclean-election exact false"
	for _, tc := range []struct {
		name, log string
		want      []string
	}{
		{"high watermark at the log end", fmt.Sprintf(follower, 200, 200) + cut, []string{
			"trace [100,200) records 100 epochs [0] committed yes by [server-log unclean-election] held by [] unclean-election exact true"}},
		{"high watermark below the log end", fmt.Sprintf(follower, 200, 150) + cut, []string{
			"trace [100,150) records 50 epochs [0] committed yes by [server-log unclean-election] held by [] unclean-election exact true",
			"trace [150,200) records 50 epochs [0] committed unknown by [server-log unclean-election] held by [] unclean-election exact true"}},
		{"high watermark beyond the log end", fmt.Sprintf(follower, 150, 200) + cut, []string{
			"trace [100,150) records 50 epochs [0] committed yes by [server-log unclean-election] held by [] unclean-election exact true"}},
		{"said below the high watermark", fmt.Sprintf(follower, 200, 0) + fmt.Sprintf(below, 180) + cut, []string{
			"trace [100,180) records 80 epochs [0] committed yes by [server-log unclean-election] held by [] unclean-election exact true",
			"trace [180,200) records 20 epochs [0] committed unknown by [server-log unclean-election] held by [] unclean-election exact true"}},
		// An excerpt, such as what grep found: the line is a proof alone. Without a line that
		// says where the log had ended, more may have been cut.
		{"nothing but that it was below the high watermark", fmt.Sprintf(below, 200), []string{
			"trace [100,200) records 100 epochs [0] committed yes by [server-log unclean-election] held by [] unclean-election exact false"}},
		{"that, and the cut", fmt.Sprintf(below, 200) + cut, []string{
			"trace [100,200) records 100 epochs [0] committed yes by [server-log unclean-election] held by [] unclean-election exact false"}},
		{"twice, and the first cut is missing", fmt.Sprintf(below, 200) + fmt.Sprintf(below, 180) + cut, []string{
			"trace [100,180) records 80 epochs [0] committed yes by [server-log unclean-election] held by [] unclean-election exact true",
			"trace [180,200) records 20 epochs [0] committed yes by [server-log unclean-election] held by [] unclean-election exact false"}},
		{"nothing cut", fmt.Sprintf(follower, 100, 100) + cut, []string{open}},
		{"a watermark that went back proves nothing", fmt.Sprintf(follower, 100, 100) + back, []string{open}},
		{"cut to the own high watermark and fetched again", fmt.Sprintf(follower, 200, 100) + answer + cut, []string{open}},
		{"only the cut, the file begins there", cut, []string{open}},
		{"the line before the cut is lost in the middle", fmt.Sprintf(follower, 200, 200)[:90] + "\n" + cut, []string{open}},
	} {
		_, stories := opened(t, "kraft39-unclean-election", "stage-c", serverLog(t, "a", tc.log, 1))
		want := "\n" + strings.Join(tc.want, "\n")
		if got := lossLines(stories["k39-unclean-0"].Losses, true); got != want {
			t.Errorf("%s: got %s\nwant %s", tc.name, got, want)
		}
	}
}

// TestServerLogAsItComes: clocks that run backwards, rotated files given in any order,
// gzip: the story is the same.
func TestServerLogAsItComes(t *testing.T) {
	tree := fixture.Tree(t, "server-logs")
	text := tree["kraft39-unclean-election/broker-1.log"].Data
	_, want := opened(t, "kraft39-unclean-election", "stage-c", serverLog(t, "a", string(text), -1))
	lines := bytes.SplitAfter(text, []byte("\n"))
	half := len(lines) / 2
	first, second := string(bytes.Join(lines[:half], nil)), string(bytes.Join(lines[half:], nil))
	slices.Reverse(lines)
	newestFirst := string(bytes.Join(lines, nil))
	backwards := strings.ReplaceAll(string(text), "[2026-11-30 03:25:20,7", "[2026-11-30 02:25:20,7")
	for name, logs := range map[string][]*serverlog.File{
		"in two files":      {serverLog(t, "a", first, 1), serverLog(t, "b", second, 1)},
		"newest first":      {serverLog(t, "b", second, 1), serverLog(t, "a", first, 1)},
		"twice":             {serverLog(t, "a", string(text), -1), serverLog(t, "copy", string(text), -1)},
		"newest line first": {serverLog(t, "a", newestFirst, -1)},
		"a clock set back":  {serverLog(t, "a", backwards, -1)},
	} {
		_, got := opened(t, "kraft39-unclean-election", "stage-c", logs...)
		for _, part := range []string{"k39-unclean-0", "k39-tail-0"} {
			if g, w := lossLines(got[part].Losses, true), lossLines(want[part].Losses, true); g != w {
				t.Errorf("%s: %s: got %s\nwant %s", name, part, g, w)
			}
		}
	}
}
