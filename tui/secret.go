package tui

import (
	"crypto/sha256"
	"encoding/hex"

	"kafsck/batch"
	"kafsck/kraft"
)

// secret reports whether the value of a record is not to be shown: a password, a key or a token
// of the cluster's metadata. The hex panel shows the bytes of the file all the same.
func (d *batchData) secret(r *batch.Record) bool {
	return d.log != nil && d.log.metadata && r.Value != nil && kraft.HoldsSecret(r.Value)
}

// previewValue is the value of a record on one line.
func (d *batchData) previewValue(r *batch.Record) string {
	if d.secret(r) {
		return notShown(r.Value)
	}
	return preview(r.Value)
}

func notShown(v []byte) string {
	return countOf(int64(len(v)), "byte", "bytes") + ", not shown: it holds a secret"
}

// hideSecret takes the value out of the fields of a record.
func (d *batchData) hideSecret(i int, list []field) []field {
	r, ok := d.record(i)
	if !ok || !d.secret(&r) {
		return list
	}
	for k := range list {
		if list[k].name == "value" {
			list[k].value = notShown(r.Value)
			break
		}
	}
	return list
}

// sizeAndHash take the place of a secret in a line of JSON, as in dump's.
func sizeAndHash(line map[string]any, v []byte) {
	sum := sha256.Sum256(v)
	delete(line, "value")
	line["valueSize"], line["valueSha256"] = len(v), hex.EncodeToString(sum[:])
}
