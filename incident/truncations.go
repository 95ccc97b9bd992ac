package incident

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"kafsck/serverlog"
)

// truncation is what a broker's log says that the broker cut off its copy.
type truncation struct {
	broker int32
	// to and end bound the offsets cut off, [to, end); end is -1 where no line tells it.
	to, end int64
	// watermark is the broker's high watermark before the cut, -1 unknown: below it the
	// records had been committed.
	watermark int64
	// epoch is the leader epoch that the broker followed when it cut, leader its leader: -1
	// and serverlog.NotSaid unknown.
	epoch  int32
	leader int32
	// The records cut off are of epochs [oldest, newest]: oldest by the leader's answer to the
	// follower or because this broker led that epoch from there on, newest because this broker
	// took part in no later one. -1 unknown.
	oldest, newest int32
	// split: the leader's log and this one part at to, by the line that says so. The others may
	// cut off what the leader has as well.
	split bool
	lines []LogLine // what says so, in order
}

// follower is what the lines so far say of one broker's copy.
type follower struct {
	start     *LogLine // it became a follower
	answer    *LogLine
	below     *LogLine
	reset     *LogLine
	end       int64
	watermark int64
	// truncatedTo is the high watermark that it truncated to on becoming a follower
	// (0.8 to 0.10, later for logs without epochs), -1 none.
	truncatedTo int64
	watermarkAt *LogLine
	epoch       int32
	leader      int32

	// led are the epochs that it led, with the log end at which each began, ascending;
	// newest is the highest epoch that it led or followed before the one at hand.
	led    []span32
	newest int32
}

// span32 is an epoch and the offset at which a broker began to lead it.
type span32 struct {
	epoch int32
	start int64
}

func newFollower() *follower {
	return &follower{end: -1, watermark: -1, truncatedTo: -1, epoch: -1, leader: serverlog.NotSaid, newest: -1}
}

// again forgets what a new term or process makes void.
func (f *follower) again() {
	led, newest := f.led, f.newest
	if f.leader != -1 { // in a term without a leader nothing is written
		newest = max(newest, f.epoch)
	}
	*f = *newFollower()
	f.led, f.newest = led, newest
}

// truncationsOf finds what brokers cut off because their leader's log had gone
// another way. A cut back to the own high watermark (KIP-101 and before) is not among
// them: what was cut is fetched again, and nothing says whether it was the same.
func truncationsOf(lines []LogLine) []truncation {
	brokers := map[int32]*follower{}
	var out []truncation
	for i := range lines {
		l := &lines[i]
		f := brokers[l.Broker]
		if f == nil {
			f = newFollower()
			brokers[l.Broker] = f
		}
		// "Truncating … below high watermark" alone is proof enough: where lines of an excerpt
		// are missing, the cut that it announces may not follow.
		if f.below != nil && f.announces(l) {
			out = append(out, f.announced())
		}
		if t, ok := f.take(l); ok {
			out = append(out, t)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(brokers)) {
		if f := brokers[id]; f.below != nil {
			out = append(out, f.announced())
		}
	}
	return out
}

// announces reports whether a line ends the wait for the cut that f.below announced.
func (f *follower) announces(l *LogLine) bool {
	switch l.Kind {
	case serverlog.Truncated:
		return l.Offset != f.below.Offset
	case serverlog.LogLoaded, serverlog.LeaderStarts, serverlog.FollowerStarts, serverlog.TruncatedBelow:
		return true
	}
	return false
}

// announced makes a truncation of "Truncating … to offset N below high watermark H".
func (f *follower) announced() truncation {
	t := truncation{broker: f.below.Broker, to: f.below.Offset, end: f.end, watermark: f.below.HighWatermark, epoch: f.epoch, leader: f.leader, oldest: -1, newest: f.newest, split: true}
	for _, x := range []*LogLine{f.start, f.answer, f.below} {
		if x != nil {
			t.lines = append(t.lines, *x)
		}
	}
	f.learn(&t)
	f.below = nil
	return t
}

func (f *follower) take(l *LogLine) (t truncation, ok bool) {
	switch l.Kind {
	case serverlog.LogLoaded:
		f.again()
	case serverlog.LeaderStarts:
		f.again()
		f.epoch, f.leader = l.Epoch, l.Leader
		f.led = append(f.led, span32{l.Epoch, l.Offset})
	case serverlog.FollowerStarts:
		f.again()
		f.start, f.end, f.watermark, f.epoch, f.leader = l, l.Offset, l.HighWatermark, l.Epoch, l.Leader
	case serverlog.LeaderKnown:
		if f.start == nil || l.Epoch > f.epoch {
			f.leader, f.epoch = l.Leader, l.Epoch
		}
	case serverlog.TruncationAnswer:
		f.answer = l
		f.know(l.Leader)
		if strings.HasPrefix(l.Detail, "local high watermark") {
			f.truncatedTo, f.watermarkAt = l.Offset, l
		}
	case serverlog.TruncatedBelow:
		f.below = l
	case serverlog.NothingTruncated:
		f.below = nil
	case serverlog.FetchReset:
		f.know(l.Leader)
		f.reset = l
	case serverlog.TruncatedFully:
		f.end = l.Offset
	case serverlog.Truncated:
		t, ok = f.cut(l)
		for len(f.led) > 0 && f.led[len(f.led)-1].start >= l.Offset {
			f.led = f.led[:len(f.led)-1]
		}
		f.answer, f.below, f.reset, f.end = nil, nil, nil, l.Offset
	}
	return t, ok
}

func (f *follower) know(leader int32) {
	if leader >= 0 {
		f.leader = leader
	}
}

// cut makes a truncation of "Truncating to offset N" and the lines before it.
func (f *follower) cut(l *LogLine) (truncation, bool) {
	t := truncation{broker: l.Broker, to: l.Offset, end: f.end, watermark: -1, epoch: f.epoch, leader: f.leader, oldest: -1, newest: f.newest}
	say := func(lines ...*LogLine) {
		for _, x := range lines {
			if x != nil {
				t.lines = append(t.lines, *x)
			}
		}
		t.lines = append(t.lines, *l)
	}
	switch {
	case f.below != nil && f.below.Offset == l.Offset:
		t.watermark, t.split = f.below.HighWatermark, true
		say(f.start, f.answer, f.below)
	case f.reset != nil && f.reset.Offset == l.Offset && f.reset.Detail == "latest":
		// The leader ended below the follower's fetch offset. In that era this offset was the
		// follower's high watermark, to which it had just truncated.
		t.end = f.reset.From
		if f.truncatedTo == f.reset.From {
			t.watermark = f.truncatedTo
		}
		say(f.watermarkAt, f.reset)
	case f.answer != nil && f.answer.Offset == l.Offset && strings.HasPrefix(f.answer.Detail, "local high watermark"):
		return t, false
	case strings.HasPrefix(l.Text, "Truncating log "):
		f.truncatedTo, f.watermarkAt = l.Offset, l
		return t, false
	default:
		t.watermark = f.watermark
		say(f.start, f.answer)
	}
	f.learn(&t)
	return t, t.end < 0 || t.end > t.to
}

// learn tells which epochs the records cut off can be of.
func (f *follower) learn(t *truncation) {
	if f.answer != nil && f.answer.Offset == t.to {
		t.oldest = answeredEpoch(f.answer.Detail)
		if t.oldest >= 0 && strings.Contains(f.answer.Text, "completed=false") {
			t.oldest++ // the follower did not know that epoch: all of its own later ones go
		}
	}
	for _, x := range f.led {
		if x.start <= t.to {
			t.oldest = max(t.oldest, x.epoch)
		}
	}
}

var answered = regexp.MustCompile(`leaderEpoch=(\d+)`)

func answeredEpoch(detail string) int32 {
	if m := answered.FindStringSubmatch(detail); m != nil {
		if n, err := strconv.ParseInt(m[1], 10, 32); err == nil {
			return int32(n)
		}
	}
	return -1
}
