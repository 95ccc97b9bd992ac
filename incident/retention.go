package incident

import (
	"math"
	"strconv"
	"time"

	"kafsck/kraft"
)

// retention is the topic's retention.ms by the cluster metadata: -1 for ever, 0 unknown. The broker's
// log.retention.ms goes before .minutes and .hours (KafkaConfig.logRetentionTimeMillis).
func (j *judgement) retention() int64 {
	m := j.g.cluster.Metadata
	if m == nil || j.known == nil || j.known.topic == nil {
		return 0
	}
	number := func(kind int8, resource, name string, unit time.Duration) (int64, bool) {
		text, ok := m.Config(math.MaxInt64, kind, resource, name)
		n, err := strconv.ParseInt(text, 10, 64)
		if !ok || err != nil {
			return 0, false
		}
		if ms := unit.Milliseconds(); n > 0 && n <= math.MaxInt64/ms {
			return n * ms, true
		}
		return -1, true
	}
	for _, c := range []struct {
		kind           int8
		resource, name string
		unit           time.Duration
	}{
		{kraft.ResourceTopic, j.known.topic.Name, "retention.ms", time.Millisecond},
		{kraft.ResourceBroker, "", "log.retention.ms", time.Millisecond},
		{kraft.ResourceBroker, "", "log.retention.minutes", time.Minute},
		{kraft.ResourceBroker, "", "log.retention.hours", time.Hour},
	} {
		if n, ok := number(c.kind, c.resource, c.name, c.unit); ok {
			return n
		}
	}
	return 0
}
