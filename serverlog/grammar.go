package serverlog

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// rule is one sentence of a broker. literal is looked for first, since most lines
// are none of these; pattern then matches from the beginning of the text. A group
// is named for the field that it fills.
type rule struct {
	literal string
	pattern pattern
	kind    Kind
	// finish fills what no group says, and may reject the line.
	finish func(e *Event, c *speaker, group func(name string) string) bool
}

// The groups: offset, from, end, hw, epoch, previous, leader, isr, tp (partition as
// "t-0" or "[t,0]"), topic and number, id (topic id), dir, detail, broker.
var rules = []rule{
	{"below high watermark", re(`Truncating (?P<tp>\S+) to offset (?P<offset>\d+) below high watermark (?P<hw>\d+)`), TruncatedBelow, nil},
	{"Truncating to offset", re(`Truncating to offset (?P<offset>\d+)`), Truncated, ofLog},
	{"has no effect as", re(`Truncating to (?P<offset>\d+) has no effect as the largest offset in the log is (?P<end>-?\d+)`), NothingTruncated, func(e *Event, c *speaker, _ func(string) string) bool {
		e.End++ // the line names the last offset
		return ofLog(e, c, nil)
	}},
	{"Truncating log ", re(`Truncating log (?P<tp>\S+) to offset (?P<offset>\d+)`), Truncated, nil},
	{"Truncate and start", re(`Truncate and start (?:at offset|log '?(?P<tp>[^\s']+)'? to) (?P<offset>\d+)`), TruncatedFully, nil},
	{"Truncate fully and reset", re(`Truncate fully and reset fetch offset for partition (?P<tp>\S+) from (?P<from>\d+) to the current leader's (?P<detail>start) offset (?P<offset>\d+)`), TruncatedFully, nil},
	{"Truncating partition", re(`Truncating partition (?P<tp>\S+) (?:with TruncationState\(offset=(?P<offset>\d+), completed=\w+\) due to (?P<detail>local high watermark \d+|leader epoch and offset EpochEndOffset\([^)]*\))|to (?P<hw>local high watermark \d+))`), TruncationAnswer,
		func(e *Event, c *speaker, group func(string) string) bool {
			if own := group("hw"); own != "" {
				e.Detail = own
				e.Offset = number64(own[strings.LastIndexByte(own, ' ')+1:])
				e.HighWatermark = e.Offset
			}
			return e.Offset >= 0
		}},
	{"will be used for truncation", re(`Based on (?:the )?(?:follower|replica)'s leader epoch, leader replied with an unknown offset in (?P<tp>\S+?)\. The initial fetch offset (?P<offset>\d+) will be used`), TruncationAnswer,
		func(e *Event, _ *speaker, _ func(string) string) bool {
			e.HighWatermark, e.Detail = e.Offset, "local high watermark "+strconv.FormatInt(e.Offset, 10)
			return true
		}},
	{"reset its fetch offset", re(`Replica (?P<broker>\d+) for partition (?P<tp>\S+) reset its fetch offset from (?P<from>\d+) to current leader (?P<leader>\d+)'s (?P<detail>latest|start) offset (?P<offset>\d+)`), FetchReset, nil},
	{"Reset fetch offset", re(`Reset fetch offset for partition (?P<tp>\S+) from (?P<from>\d+) to current leader's (?P<detail>latest|start) offset (?P<offset>\d+)`), FetchReset, nil},

	{"starts at leader epoch", re(`Leader (?P<tp>\S+) (?:with topic id Some\((?P<id>[^)\s]+)\) )?starts at leader epoch (?P<epoch>\d+) from offset (?P<offset>\d+) with (?:partition epoch \d+, )?high watermark (?P<hw>\d+),? ISR \[(?P<isr>[\d,]*)\](?:.{0,200}?[Pp]revious leader epoch was (?P<previous>-?\d+))?`), LeaderStarts,
		ownLeader},
	{"starts at leader epoch", re(`Follower (?P<tp>\S+) starts at leader epoch (?P<epoch>\d+) from offset (?P<offset>\d+) with (?:partition epoch \d+ and )?high watermark (?P<hw>\d+)(?:\. Current leader is (?P<leader>-?\d+))?(?:.{0,200}?[Pp]revious leader epoch was (?P<previous>-?\d+))?`), FollowerStarts, nil},
	{" starts at ", re(`(?P<tp>\S+) starts at [Ll]eader [Ee]poch (?P<epoch>\d+) from offset (?P<offset>\d+)(?: with high watermark (?P<hw>\d+))?\. Previous [Ll]eader [Ee]poch was:? (?P<previous>-?\d+)`), LeaderStarts,
		ownLeader},

	{"eceived LeaderAndIsr request", re(`(?:Broker (?P<broker>\d+) r|R)eceived LeaderAndIsr request (?:LeaderAndIsr)?PartitionState\((?:topicName='(?P<topic>[^']*)', partitionIndex=(?P<number>\d+), )?controllerEpoch=-?\d+, leader=(?P<leader>-?\d+), leaderEpoch=(?P<epoch>\d+), isr=\[?(?P<isr>(?:\d+(?:, ?)?)*)\]?, (?:.{0,400}? for partition (?P<tp>\S+))?`), LeaderKnown, hasPartition},
	{"with state LeaderAndIsr(", re(`Changed partition (?P<tp>\S+) from \w+ to \w+ with state LeaderAndIsr\(leader=(?P<leader>-?\d+), leaderEpoch=(?P<epoch>\d+), isr=List\((?P<isr>[\d, ]*)\)(?P<detail>(?:, leaderRecoveryState=\w+)?)`), LeaderKnown,
		func(e *Event, _ *speaker, _ func(string) string) bool {
			if strings.HasSuffix(e.Detail, "=RECOVERING") {
				e.Kind = UncleanElection
			}
			return true
		}},
	{"partition change for ", re(`(?:UNCLEAN )?partition change for (?P<tp>\S+) with topic ID (?P<id>[^\s:]+): (?P<detail>.*)`), LeaderKnown, quorumChange},
	{"using an unclean election", re(`Setting new leader for topicId (?P<id>[^\s,]+), partition (?P<number>\d+) to (?P<leader>\d+) using an unclean election`), UncleanElection,
		func(e *Event, _ *speaker, _ func(string) string) bool { return e.TopicID != "" }},
	{"potential data loss", re(`No broker in ISR (?:is alive )?for (?:partition )?(?P<tp>\S+?)(?: is alive)?\. Elect leader (?P<leader>\d+) from live brokers`), UncleanElection, nil},
	{"nclean leader election.", re(`Unclean leader election\. Partition (?P<tp>\S+) has been assigned leader (?P<leader>\d+)`), UncleanElection, nil},

	{"ISR updated to", re(`ISR updated to \[?(?P<isr>[\d,]+)\]? `), ISRChanged, ofLog},
	{"ing ISR ", re(`(?:Shrinking|Expanding) ISR (?:for partition (?P<tp>\S+) )?from [\d,]+ to (?P<isr>[\d,]*)`), ISRChanged, hasPartition},

	{"with initial high watermark", re(`(?:Log|Replica) loaded for partition (?P<tp>\S+) with initial high watermark (?P<hw>\d+)`), WatermarkLoaded, nil},
	{"Non-monotonic update", re(`Non-monotonic update of high watermark from \(offset=(?P<from>\d+)[, ][^)]*\) to \(offset=(?P<offset>\d+)[, ]`), WatermarkBack, ofLog},

	{"Completed load of log", re(`Completed load of log (?P<tp>\S+) with \d+ log segments and log end offset (?P<end>\d+)`), LogLoaded, nil},
	{"Completed load of log", re(`Completed load of log with \d+ segments, (?:log start offset (?P<from>\d+) and )?log end offset (?P<end>\d+)`), LogLoaded, ofLog},
	{"Completed load of Log(", re(`Completed load of Log\(dir=(?P<dir>.*?), (?:topicId=(?P<id>[^,\s]+), )?topic=(?P<topic>[^,\s]+), partition=(?P<number>\d+), highWatermark=(?P<hw>\d+), lastStableOffset=\d+, logStartOffset=(?P<from>\d+), logEndOffset=(?P<end>\d+)`), LogLoaded, nil},
	{"Recovering unflushed segment", re(`Recovering unflushed segment (?P<offset>\d+)(?: in log (?P<tp>\S+?)\.)?`), SegmentRecovered, hasPartition},
	{"eleting segment", re(`Deleting segments? (?:files? )?(?P<detail>(?:due to|as part of) [^:]{1,120})`), SegmentsDeleted, ofLog},
	{"Found deletable segments", re(`Found deletable segments (?P<detail>with base offsets \[[\d,]*\].*)`), SegmentsDeleted, ofLog},
	{"log start offset", re(`Increment(?:ed|ing) (?:partition (?P<tp>\S+) )?log start offset to (?P<offset>\d+)(?: due to (?P<detail>[^(]{1,80}))?`), LogStartMoved, hasPartition},
	{"is scheduled for deletion", re(`Log for partition (?P<tp>\S+) is renamed to (?P<dir>.*?) and is scheduled for deletion`), DirRenamed, func(e *Event, _ *speaker, _ func(string) string) bool { e.Detail = "for deletion"; return true }},
	{"marked stray", re(`Log in (?P<detail>.*?) marked stray and renamed to (?P<dir>\S+)`), DirRenamed, strayDir},
	{"Updated PartitionLeaderEpoch", re(`Updated PartitionLeaderEpoch\. New: \{epoch:(?P<epoch>\d+), offset:(?P<offset>\d+)\}.{0,120}? for Partition: (?P<tp>\S+?)\. `), EpochAssigned, nil},

	{"Creating new partition", re(`Creating new partition (?P<tp>\S+) with topic id (?P<id>[^\s.]+)`), PartitionCreated, nil},
	{"started", re(`(?:Kafka Server )?started`), Started, ofServer},
	{"hutting down", re(`[Ss]hutting down`), Stopping, ofServer},
	{"hut down completed", re(`[Ss]hut down completed`), Stopped, ofServer},
	{"clean shutdown file was found", re(`Skipping recovery (?:of \d+ logs from|for all logs in) (?P<dir>.*?) since clean shutdown file was found`), CleanStart, nil},
	{"no clean shutdown file", re(`(?:Recovering \d+ logs from|Attempting recovery for all logs in) (?P<dir>.*?) since no clean shutdown file was found`), UncleanStart, nil},
}

// pattern is a regular expression that is compiled when the first line asks for it: most
// runs of the program read no server log.
type pattern func() *regexp.Regexp

// re matches from the beginning of the text.
func re(s string) pattern { return lazy(`^(?s:` + s + `)`) }

func lazy(s string) pattern {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(s) })
}

// ofLog accepts a line whose context names the partition.
func ofLog(e *Event, c *speaker, _ func(string) string) bool { return c.topic != "" }

// ownLeader: the writer itself leads.
func ownLeader(e *Event, c *speaker, _ func(string) string) bool {
	if c.broker >= 0 {
		e.Leader = c.broker
	}
	return true
}

// hasPartition accepts a line that names its partition in either place.
func hasPartition(e *Event, c *speaker, _ func(string) string) bool {
	return e.Topic != "" || c.topic != ""
}

// ofServer accepts a line of the broker's own process.
func ofServer(_ *Event, c *speaker, _ func(string) string) bool {
	switch c.class {
	case "KafkaServer", "Kafka", "BrokerServer", "KafkaRaftServer":
		return true
	}
	return false
}

// strayDir takes the partition from the directory that was renamed.
func strayDir(e *Event, _ *speaker, _ func(string) string) bool {
	var ok bool
	e.Topic, e.Partition, ok = ParsePartition(e.Detail[strings.LastIndexByte(e.Detail, '/')+1:])
	e.Detail = "as stray"
	return ok
}

var (
	changedLeader = lazy(`(?:^|, )leader: -?\d+ -> (-?\d+)(?:,|$| )`)
	changedEpoch  = lazy(`(?:^|, )leaderEpoch: (-?\d+) -> (\d+)(?:,|$| )`)
	changedISR    = lazy(`(?:^|, )isr: \[[\d, ]*\] -> \[([\d, ]*)\]`)
)

// quorumChange reads a line of ReplicationControlManager. UNCLEAN also stands on
// lines that only tell of an unclean shutdown: an unclean election is one to a
// leader, with its recovery state going to RECOVERING.
func quorumChange(e *Event, _ *speaker, _ func(string) string) bool {
	m := changedLeader().FindStringSubmatch(e.Detail)
	n := changedEpoch().FindStringSubmatch(e.Detail)
	if m == nil || n == nil {
		return false
	}
	leader, err := strconv.ParseInt(m[1], 10, 32)
	if err != nil {
		return false
	}
	e.Leader = int32(leader)
	e.PreviousEpoch, e.Epoch = number32(n[1], -1), number32(n[2], -1)
	if isr := changedISR().FindStringSubmatch(e.Detail); isr != nil {
		e.ISR = brokerList(isr[1])
	}
	if e.Leader >= 0 && strings.Contains(e.Detail, "leaderRecoveryState: RECOVERED -> RECOVERING") {
		e.Kind = UncleanElection
	}
	return true
}

func number64(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// brokerList reads "1, 2, 3".
func brokerList(s string) []int32 {
	var out []int32
	for w := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ',' || r == ' ' }) {
		n := number32(w, -1)
		if n < 0 {
			return nil
		}
		out = append(out, n)
	}
	return out
}

// parse makes an event of a message; ok is false when it tells nothing of interest.
func parse(h *head, cut bool) (e Event, c speaker, ok bool) {
	c = parseContext(h.context)
	text := h.text
	// 0.8 to 0.11: "Partition [t,0] on broker 1: Expanding ISR …".
	if rest, found := strings.CutPrefix(text, "Partition "); found && c.class == "" {
		if words := strings.SplitN(rest, " ", 5); len(words) == 5 && words[1] == "on" && words[2] == "broker" {
			if topic, partition, ok := ParsePartition(words[0]); ok {
				c.topic, c.partition = topic, partition
				c.broker = number32(strings.TrimSuffix(words[3], ":"), -1)
				text = words[4]
			}
		}
	}
	for i := range rules {
		r := &rules[i]
		if !strings.Contains(text, r.literal) {
			continue
		}
		m := r.pattern().FindStringSubmatchIndex(text)
		if m == nil || cut && m[1] == len(text) {
			continue
		}
		if e, ok = r.event(text, m, &c); ok {
			e.Text = h.message[:min(len(h.message), MaxText)]
			return e, c, true
		}
	}
	return Event{}, c, false
}

func (r *rule) event(text string, m []int, c *speaker) (Event, bool) {
	e := newEvent(r.kind)
	e.Broker, e.Dir = c.broker, c.dir
	names := r.pattern().SubexpNames()
	group := func(name string) string {
		for i, n := range names {
			if n == name && m[2*i] >= 0 {
				return text[m[2*i]:m[2*i+1]]
			}
		}
		return ""
	}
	fine := true
	number := func(name string, to *int64) {
		if s := group(name); s != "" {
			n, err := strconv.ParseInt(s, 10, 64)
			fine = fine && err == nil
			*to = n
		}
	}
	small := func(name string, to *int32) {
		if s := group(name); s != "" {
			n, err := strconv.ParseInt(s, 10, 32)
			if err != nil && (name == "previous" || name == "leader" && r.kind == FollowerStarts) {
				return // beside the point: what the line tells stands without it
			}
			fine = fine && err == nil
			*to = int32(n)
		}
	}
	number("offset", &e.Offset)
	number("from", &e.From)
	number("end", &e.End)
	if !strings.HasPrefix(group("hw"), "local") {
		number("hw", &e.HighWatermark)
	}
	small("epoch", &e.Epoch)
	small("previous", &e.PreviousEpoch)
	small("leader", &e.Leader)
	small("broker", &e.Broker)
	small("number", &e.Partition)
	e.Topic, e.TopicID, e.Detail = group("topic"), group("id"), group("detail")
	if d := group("dir"); d != "" {
		e.Dir = d
	}
	if s := group("isr"); s != "" {
		e.ISR = brokerList(s)
	}
	if tp := group("tp"); tp != "" {
		var ok bool
		if e.Topic, e.Partition, ok = ParsePartition(strings.TrimRight(tp, ".,")); !ok {
			return e, false
		}
	}
	if e.Leader == NotSaid {
		e.Leader = c.leader
	}
	if r.finish != nil && !r.finish(&e, c, group) {
		return e, false
	}
	if e.Topic == "" && c.topic != "" {
		e.Topic, e.Partition = c.topic, c.partition
	}
	return e, fine
}
