package conformance

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

var (
	troubled  = regexp.MustCompile(`\] (ERROR|FATAL) `)
	truncated = regexp.MustCompile(`Truncating partition (\S+)-0 with TruncationState\(offset=(\d+)|Log partition=(\S+)-0, dir=\S+\] Truncating to offset (\d+)|\[UnifiedLog partition=(\S+)-0, dir=\S+\] Truncating to (?:offset )?(\d+)`)
	noIndex   = regexp.MustCompile(`Could not find offset index file corresponding to log file (\S+\.log),`)
)

// When compareLogs looks.
const (
	atFirst     = "first start"
	atTheChange = "change of roles"
	atTheEnd    = "shutdown"
)

// toleratedLines are lines at level ERROR of a slow machine, or of how these clusters begin and end: no
// directory is named in them, and none of them comes of what lies in one.
var toleratedLines = []struct {
	when string // "" always
	line *regexp.Regexp
	why  string
}{
	{"", regexp.MustCompile(`ERROR \[QuorumController id=\d+\] Exceptionally slow controller event \S+ took \d+ ms\. \(org\.apache\.kafka\.controller\.EventPerformanceMonitor\)`),
		"the controller tells how long an event took that it has done"},
	{"", regexp.MustCompile(`ERROR \[QuorumController id=\d+\] processExpiredBrokerHeartbeat: controller event queue overloaded\. Timed out heartbeat from broker \d+\. \(`),
		"the controller was late, the broker's next heartbeat comes in half a second"},
	{"", regexp.MustCompile(`ERROR \[ControllerRegistrationManager id=\d+ incarnation=\S+\] RegistrationResponseHandler: channel manager timed out before sending the request\. \(`),
		"the controller was not up yet when it was to be asked, it is asked again"},
	{"", regexp.MustCompile(`ERROR \[ControllerApis nodeId=\d+\] Unexpected error handling request RequestHeader\(apiKey=ASSIGN_REPLICAS_TO_DIRS, .* -- AssignReplicasToDirsRequestData\(brokerId=\d+, brokerEpoch=-1, `),
		"a broker tells where its replicas lie before it is registered, the controller refuses, and it tells it again"},
	{"", regexp.MustCompile(`ERROR \[AssignmentsManager id=\d+\] handleResponse: \d+ assignments failed; global error: (Timeout|Disconnected(\[Timeout\])?|Response-level error: STALE_BROKER_EPOCH)\. Retrying\. \(`),
		"the other side of that: the broker heard nothing, or no, and asks again"},
	// With ZooKeeper:
	{atFirst, regexp.MustCompile(`ERROR \[Broker id=\d+\] Received LeaderAndIsrRequest with .* but cannot become follower since the new leader -1 is unavailable\. \(state\.change\.logger\)`),
		"topics begin without a leader here, the broker hears that before one is elected"},
	{atFirst, regexp.MustCompile(`ERROR \[Controller id=\d+ epoch=\d+\] Controller \d+ epoch \d+ failed to change state for partition \S+ from OfflinePartition to OnlinePartition \(state\.change\.logger\)`),
		"the only replica in sync is on a broker that the controller does not see yet"},
	{atTheEnd, regexp.MustCompile(`ERROR \[Controller id=\d+ epoch=\d+\] Controller \d+ epoch \d+ failed to change state for partition \S+ from OnlinePartition to OnlinePartition \(state\.change\.logger\)`),
		"the last broker goes, no other is left to lead"},
}

// tolerated says why a line is no error of a result, "" where it may be one.
func tolerated(line, when string) string {
	for _, x := range toleratedLines {
		if (x.when == "" || x.when == when) && x.line.MatchString(line) {
			return x.why
		}
	}
	// The broker makes the index of a segment without a record, and says so as an error.
	if m := noIndex.FindStringSubmatch(line); m != nil {
		if info, err := os.Stat(m[1]); err == nil && info.Size() == 0 {
			return "an active segment without a record has no index, the broker makes one"
		}
	}
	return ""
}

// openIn is the topic that a line is about, if the plan leaves something of it.
func (r *liveRun) openIn(line string) string {
	for name := range r.open {
		if regexp.MustCompile(`[^\w-]` + regexp.QuoteMeta(name) + `-0\b`).MatchString(line) {
			return name
		}
	}
	return ""
}

// compareLogs looks at what the brokers logged since the last look: no error, and no replica was cut.
func (r *liveRun) compareLogs(when string) {
	t := r.t
	t.Helper()
	for _, n := range r.cluster.nodes {
		since := r.cluster.read(n.id)[r.seen[n.id]:]
		since = since[:strings.LastIndexByte(since, '\n')+1]
		r.seen[n.id] += len(since)
		for line := range strings.Lines(since) {
			if troubled.MatchString(line) {
				if why := tolerated(line, when); why != "" {
					r.ignored[why]++
				} else {
					r.wrong(r.openIn(line), "%s: broker %d logs %.400s", when, n.id, line)
				}
			}
			m := truncated.FindStringSubmatch(line)
			if m == nil || strings.Contains(line, "has no effect") || strings.Contains(line, "ReplicaAlterLogDirsThread") { // that writes a -future directory
				continue
			}
			for i := 1; i < len(m); i += 2 {
				f, ok := r.at[m[i]][n.id]
				if m[i] == "" || !ok || fmt.Sprint(f.end) == m[i+1] {
					continue
				}
				r.wrong(m[i], "%s: broker %d cuts %s, which ends at %d: %s", when, n.id, m[i], f.end, line)
			}
		}
	}
}
