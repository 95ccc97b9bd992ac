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
	rowHead
	KeySize     *int64              `parquet:"keySize,optional"`
	KeySHA256   *string             `parquet:"keySha256,optional"`
	ValueSize   *int64              `parquet:"valueSize,optional"`
	ValueSHA256 *string             `parquet:"valueSha256,optional"`
	Headers     []redactedHeaderRow `parquet:"headers,list"`
	rowTail
}

type redactedHeaderRow struct {
	Key         []byte  `parquet:"key"`
	ValueSize   *int64  `parquet:"valueSize,optional"`
	ValueSHA256 *string `parquet:"valueSha256,optional"`
}

// take is x without its payload.
func (y *redactedRow) take(x *row) {
	*y = redactedRow{rowHead: x.rowHead, Headers: y.Headers[:0], rowTail: x.rowTail}
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
