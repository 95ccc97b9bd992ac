package internaltopic

import "strconv"

// AppendKeyJSON appends the key as kafka-dump-log writes it with the topic's decoder:
//
//	{"type":"1","data":{"group":"g","topic":"t","partition":0}}
//
// It appends nothing if the key is not decoded, or the topic has none.
func (rec *Record) AppendKeyJSON(b []byte) []byte {
	if !rec.KeyDecoded || rec.Topic == RemoteLogMetadata {
		return b
	}
	b = append(b, `{"type":"`...)
	b = strconv.AppendInt(b, int64(rec.Type), 10)
	b = append(b, `","data":`...)
	b = rec.key.AppendJSON(b)
	return append(b, '}')
}

// AppendValueJSON appends the value as kafka-dump-log writes it with the topic's decoder:
//
//	{"version":"3","data":{"offset":42,"leaderEpoch":5,"metadata":"","commitTimestamp":1700000000000}}
//
// The subscriptions and assignments of a classic group of consumers are decoded as well. It
// appends nothing if there is no value or it is not decoded.
func (rec *Record) AppendValueJSON(b []byte) []byte {
	if !rec.hasValue() {
		return b
	}
	b = append(b, `{"version":"`...)
	b = strconv.AppendInt(b, int64(rec.Version), 10)
	b = append(b, `","data":`...)
	if rec.is(ConsumerOffsets, typeGroupMetadata) {
		b = rec.appendGroupJSON(b)
	} else {
		b = rec.value.AppendJSON(b)
	}
	return append(b, '}')
}
