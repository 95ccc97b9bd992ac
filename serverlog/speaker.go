package serverlog

import (
	"strconv"
	"strings"
)

// speaker is what the bracket before a text says.
type speaker struct {
	class     string
	broker    int32 // -1 unknown
	leader    int32 // NotSaid unknown
	topic     string
	partition int32
	dir       string
}

// parseContext reads the forms of all releases:
//
//	UnifiedLog partition=t-0, dir=/d/1     Partition t-0 broker=1      Broker id=1
//	ReplicaFetcher replicaId=1, leaderId=3, fetcherId=0                ReplicaFetcherThread-0-3 (0.10)
//	Kafka Server 1    Controller 1 (0.10)  KafkaServer id=1            Controller id=1 epoch=3
//	ReplicaFetcherManager on broker 1      QuorumController id=9       KafkaRaftServer nodeId=1
func parseContext(s string) speaker {
	c := speaker{broker: -1, leader: NotSaid, partition: -1}
	var rest string
	c.class, rest, _ = strings.Cut(s, " ")
	if before, dir, found := strings.Cut(rest, "dir="); found && (before == "" || strings.HasSuffix(before, ", ") || strings.HasSuffix(before, " ")) {
		c.dir, rest = dir, before
	}
	if thread, found := strings.CutPrefix(c.class, "ReplicaFetcherThread-"); found {
		c.class = "ReplicaFetcher"
		if i := strings.LastIndexByte(thread, '-'); i >= 0 {
			c.leader = number32(thread[i+1:], NotSaid)
		}
		return c
	}
	words := strings.FieldsFunc(rest, func(r rune) bool { return r == ' ' || r == ',' || r == ':' })
	for i, w := range words {
		key, value, found := strings.Cut(w, "=")
		if !found {
			switch {
			case i == 0 && c.class == "Partition", i == 0 && strings.HasSuffix(c.class, "Log"):
				c.topic, c.partition, _ = ParsePartition(w)
			case w == "broker" && i+1 < len(words), c.class == "Kafka" && w == "Server" && i+1 < len(words):
				c.broker = number32(words[i+1], -1)
			case i == 0 && (c.class == "Controller" || c.class == "Broker"):
				c.broker = number32(w, -1)
			}
			continue
		}
		switch key {
		case "id", "broker", "brokerId", "nodeId", "replicaId", "controllerId":
			if c.broker < 0 {
				c.broker = number32(value, -1)
			}
		case "leaderId":
			c.leader = number32(value, NotSaid)
		case "partition":
			c.topic, c.partition, _ = ParsePartition(value)
		}
	}
	return c
}

func number32(s string, otherwise int32) int32 {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 0 {
		return otherwise
	}
	return int32(n)
}

// maxTopic is the longest topic name (Topic.MAX_NAME_LENGTH).
const maxTopic = 249

// ParsePartition reads "t-0" and the older "[t,0]". A trailing comma, dot or bracket
// of the sentence is left to the caller.
func ParsePartition(s string) (topic string, partition int32, ok bool) {
	if inner, found := strings.CutPrefix(s, "["); found {
		inner, found = strings.CutSuffix(inner, "]")
		t, n, comma := strings.Cut(inner, ",")
		if !found || !comma {
			return "", -1, false
		}
		topic, partition = t, number32(n, -1)
	} else {
		i := strings.LastIndexByte(s, '-')
		if i < 0 {
			return "", -1, false
		}
		topic, partition = s[:i], number32(s[i+1:], -1)
	}
	if partition < 0 || topic == "" || len(topic) > maxTopic {
		return "", -1, false
	}
	for i := range len(topic) {
		if c := topic[i]; !isLetter(c) && !isDigit(c) && c != '.' && c != '_' && c != '-' {
			return "", -1, false
		}
	}
	return topic, partition, true
}
