package checkpoint

import (
	"bytes"
	"math"
	"strings"
)

// CleanShutdown is a parsed .kafka_cleanshutdown. That the file exists means a
// clean shutdown, whatever it holds.
type CleanShutdown struct {
	BrokerEpoch    int64 // of the broker that wrote it, -1 from ZooKeeper brokers; valid if HasBrokerEpoch
	HasBrokerEpoch bool  // false for an empty file (before 3.7) and one that Kafka cannot read
}

// ParseCleanShutdown reads a .kafka_cleanshutdown (CleanShutdownFileHandler.read):
//
//	{"version":0,"brokerEpoch":7}
//
// Kafka ignores keys it does not know, and a file that does not parse.
func ParseCleanShutdown(b []byte) *CleanShutdown {
	c := &CleanShutdown{}
	object, err := parseObject(b)
	if err != nil {
		return c
	}
	if v, present := object["version"]; present && !v.null() {
		if _, ok := v.coerce(math.MinInt32, math.MaxInt32, true); !ok {
			return c
		}
	}
	c.BrokerEpoch, c.HasBrokerEpoch = object["brokerEpoch"].coerce(math.MinInt64, math.MaxInt64, false)
	return c
}

// coerce is Jackson's binding of a value to an int or Long field: floating point
// is cut, strings are parsed. A blank string is 0 for a primitive and null, hence
// no value, for an object.
func (v jsonValue) coerce(low, high int64, primitive bool) (int64, bool) {
	if s, ok := v.text(); ok {
		s = strings.TrimSpace(s)
		if s == "" {
			return 0, primitive
		}
		n, ok := parseLong([]byte(s))
		return n, ok && n >= low && n <= high
	}
	if n, ok := v.integer(); ok {
		return n, n >= low && n <= high
	}
	if !v.number() || !bytes.ContainsAny(v, ".eE") {
		return 0, false
	}
	f := v.float()
	if f < float64(low) || f > float64(high) {
		return 0, false
	}
	return narrow(f, low, high), true
}
