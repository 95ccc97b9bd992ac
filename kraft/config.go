package kraft

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

type configKey struct {
	resourceType       int8
	resourceName, name string
}

// Config returns a configuration as it was after the record at a metadata offset,
// inclusive; math.MaxInt64 is now. ok is false if it was not set, or not in the part
// of the history that is there. Static configuration is not in the log.
func (l *Log) Config(at int64, resourceType int8, resourceName, name string) (value string, ok bool) {
	changes := l.configs[configKey{resourceType, resourceName, name}]
	for _, i := range slices.Backward(changes) {
		if c := &l.Configs[i]; c.Offset <= at {
			if c.Value == nil {
				return "", false
			}
			return *c.Value, true
		}
	}
	return "", false
}

// Effective returns a topic's configuration as the broker given applied it at a
// metadata offset, and where it came from: "topic config", "broker N config" or
// "cluster default". ok is false if none of them was set: then the broker's own
// properties file decided, or Kafka's default.
func (l *Log) Effective(at int64, topic string, broker int32, name string) (value, source string, ok bool) {
	return l.effective(at, topic, broker, name, func(string) bool { return true })
}

func (l *Log) effective(at int64, topic string, broker int32, name string, usable func(string) bool) (value, source string, ok bool) {
	id := strconv.Itoa(int(broker))
	for _, from := range []struct {
		resourceType   int8
		resource, says string
	}{
		{ResourceTopic, topic, "topic config"},
		{ResourceBroker, id, "broker " + id + " config"},
		{ResourceBroker, "", "cluster default"},
	} {
		if value, set := l.Config(at, from.resourceType, from.resource, name); set && usable(value) {
			return value, from.says, true
		}
	}
	return "", "", false
}

// MinISR is Effective for min.insync.replicas; what is no number is passed over.
func (l *Log) MinISR(at int64, topic string, leader int32) (n int, source string, ok bool) {
	parse := func(value string) bool {
		v, err := strconv.Atoi(strings.TrimSpace(value))
		if err == nil {
			n = v
		}
		return err == nil
	}
	_, source, ok = l.effective(at, topic, leader, "min.insync.replicas", parse)
	return n, source, ok
}

// TopicByName returns all incarnations of a topic, oldest first.
func (l *Log) TopicByName(name string) []*Topic {
	var out []*Topic
	for _, t := range l.Topics {
		if t.Name == name {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b *Topic) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), slices.Compare(a.ID[:], b.ID[:]))
	})
	return out
}
