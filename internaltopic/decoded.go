package internaltopic

import "encoding/json"

// kinds are the topics in the words of "dump --as".
var kinds = map[Topic]string{
	ConsumerOffsets:   "consumer-offsets",
	TransactionState:  "transaction-state",
	ShareGroupState:   "share-group-state",
	RemoteLogMetadata: "remote-log-metadata",
}

// Kind is what the topic's records are read as, in the words of "dump --as".
func (t Topic) Kind() string { return kinds[t] }

// Decoded is the shape in which a record of Kafka's own is shown: one of an internal topic,
// and, filled in elsewhere, one of the metadata log or a control record. In JSON it stands
// under "decoded":
//
//	{"kind":"consumer-offsets","type":"OffsetCommit","typeId":1,"version":3,"tombstone":false,
//	 "state":null,"key":{"group":"g","topic":"t","partition":0},"value":{"offset":42,…}}
type Decoded struct {
	// Kind is what the record was read as, in the words of --as, or "control".
	Kind string
	// Type is Kafka's name, such as OffsetCommit, TOPIC_RECORD or COMMIT; "" unknown. TypeID is
	// the number as written; -1 none.
	Type   string
	TypeID int64
	// Version is that of the value, or of a control record's value; -1 none.
	Version   int64
	Tombstone bool   // the key is there, and the value is null: it deletes
	State     string // the name of the state that Value tells of as a number; "" none
	// Key and Value are the fields by Kafka's names, a JSON object each; nil where there is
	// none or it is not decoded.
	Key, Value json.RawMessage
}

// Decoded is the record as it is shown. It borrows nothing from r.
func (r *Record) Decoded() *Decoded {
	return &Decoded{
		Kind: r.Topic.Kind(), Type: r.Name, TypeID: int64(r.Type), Version: int64(r.Version), Tombstone: r.Tombstone, State: r.State(),
		Key: r.AppendKeyData(nil), Value: r.AppendValueData(nil),
	}
}

// MarshalJSON writes every field, null where there is nothing.
func (d *Decoded) MarshalJSON() ([]byte, error) {
	type line struct {
		Kind      string          `json:"kind"`
		Type      *string         `json:"type"`
		TypeID    *int64          `json:"typeId"`
		Version   *int64          `json:"version"`
		Tombstone bool            `json:"tombstone"`
		State     *string         `json:"state"`
		Key       json.RawMessage `json:"key"`
		Value     json.RawMessage `json:"value"`
	}
	text := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	known := func(n int64) *int64 {
		if n < 0 {
			return nil
		}
		return &n
	}
	return json.Marshal(&line{d.Kind, text(d.Type), known(d.TypeID), known(d.Version), d.Tombstone, text(d.State), d.Key, d.Value})
}
