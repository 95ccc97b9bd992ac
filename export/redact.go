package export

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

// ErrRedacted says that a file has sizes and hashes in place of keys and values: the records
// themselves cannot be had from it.
var ErrRedacted = errors.New("redacted: keys, values and header values were left out when it was exported, so the records cannot be had from it")

// hashOf is the SHA-256 of bytes that are left out, in hexadecimal: that of dump's
// --value-format redacted.
func hashOf(v []byte) string {
	sum := sha256.Sum256(v)
	return hex.EncodeToString(sum[:])
}

// redactedRow is a row of a redacted Parquet file: as row, with sizes and hashes in place of key and
// value. Where they are null, so was what they stand for.
type redactedRow struct {
	Partition        string              `parquet:"partition,dict"`
	TopicID          *string             `parquet:"topicId,optional,dict"`
	Broker           *int32              `parquet:"broker,optional"`
	BrokerName       *string             `parquet:"brokerName,optional,dict"`
	File             string              `parquet:"file,dict"`
	BatchPosition    int64               `parquet:"batchPosition"`
	Magic            int32               `parquet:"magic"`
	Codec            string              `parquet:"codec,dict"`
	Offset           int64               `parquet:"offset"`
	LeaderEpoch      int32               `parquet:"leaderEpoch"`
	TimestampMs      int64               `parquet:"timestampMs"`
	TimestampType    string              `parquet:"timestampType,dict"`
	KeySize          *int64              `parquet:"keySize,optional"`
	KeySHA256        *string             `parquet:"keySha256,optional"`
	ValueSize        *int64              `parquet:"valueSize,optional"`
	ValueSHA256      *string             `parquet:"valueSha256,optional"`
	Headers          []redactedHeaderRow `parquet:"headers,list"`
	ProducerID       int64               `parquet:"producerId"`
	ProducerEpoch    int32               `parquet:"producerEpoch"`
	Sequence         int32               `parquet:"sequence"`
	Transactional    bool                `parquet:"transactional"`
	TransactionState string              `parquet:"transactionState,dict"`
	Control          bool                `parquet:"control"`
	ControlType      *string             `parquet:"controlType,optional,dict"`
	CoordinatorEpoch *int32              `parquet:"coordinatorEpoch,optional"`
	WrittenOffset    *int64              `parquet:"writtenOffset,optional"`
	WrittenEpoch     *int32              `parquet:"writtenLeaderEpoch,optional"`
	Lost             *lostRow            `parquet:"lost,optional"`
}

type redactedHeaderRow struct {
	Key         []byte  `parquet:"key"`
	ValueSize   *int64  `parquet:"valueSize,optional"`
	ValueSHA256 *string `parquet:"valueSha256,optional"`
}

// take is x without its payload.
func (y *redactedRow) take(x *row) {
	*y = redactedRow{Partition: x.Partition, TopicID: x.TopicID, Broker: x.Broker, BrokerName: x.BrokerName, File: x.File, BatchPosition: x.BatchPosition, Magic: x.Magic, Codec: x.Codec,
		Offset: x.Offset, LeaderEpoch: x.LeaderEpoch, TimestampMs: x.TimestampMs, TimestampType: x.TimestampType, Headers: y.Headers[:0],
		ProducerID: x.ProducerID, ProducerEpoch: x.ProducerEpoch, Sequence: x.Sequence, Transactional: x.Transactional, TransactionState: x.TransactionState,
		Control: x.Control, ControlType: x.ControlType, CoordinatorEpoch: x.CoordinatorEpoch, WrittenOffset: x.WrittenOffset, WrittenEpoch: x.WrittenEpoch, Lost: x.Lost}
	y.KeySize, y.KeySHA256 = sized(x.Key)
	y.ValueSize, y.ValueSHA256 = sized(x.Value)
	for i := range x.Headers {
		h := redactedHeaderRow{Key: x.Headers[i].Key}
		h.ValueSize, h.ValueSHA256 = sized(x.Headers[i].Value)
		y.Headers = append(y.Headers, h)
	}
}

// sized is null for null.
func sized(v *[]byte) (*int64, *string) {
	if v == nil {
		return nil, nil
	}
	n, sum := int64(len(*v)), hashOf(*v)
	return &n, &sum
}
