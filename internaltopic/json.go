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
	return append(rec.AppendKeyData(b), '}')
}

// AppendKeyData appends what the key holds as a JSON object, without its type; nothing where
// AppendKeyJSON appends nothing.
func (rec *Record) AppendKeyData(b []byte) []byte {
	if !rec.KeyDecoded || rec.Topic == RemoteLogMetadata {
		return b
	}
	return rec.key.AppendJSON(b)
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
	return append(rec.AppendValueData(b), '}')
}

// AppendValueData appends what the value holds as a JSON object, without its version; nothing
// where AppendValueJSON appends nothing.
func (rec *Record) AppendValueData(b []byte) []byte {
	switch {
	case !rec.hasValue():
		return b
	case rec.is(ConsumerOffsets, typeGroupMetadata):
		return rec.appendGroupJSON(b)
	}
	return rec.value.AppendJSON(b)
}

// State is the name of the state that a value tells of: of a transaction, a remote segment
// or the deletion of a partition's remote log; "" where it tells of none.
func (rec *Record) State() string {
	if t, ok := rec.Transaction(); ok && !t.Deleted {
		return t.Status.String()
	}
	if e, ok := rec.RemoteEvent(); ok {
		return e.StateName()
	}
	return ""
}
