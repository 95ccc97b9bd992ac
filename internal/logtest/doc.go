// Package logtest builds log directories for tests, and damages them.
//
// From Go, one batch at a time:
//
//	logtest.Batch{BaseOffset: 7, Epoch: 2, Codec: logtest.Zstd, Records: logtest.Values("a", "b")}.Encode()
//
// From text, whole directories, one line (or one part between " ; ") a fact:
//
//	broker 1 clusterid=x
//	topic orders-0 id=hF7bEvJ3TEm5wvFBX5mlPw ; segment 0
//	batch base=0 records=3 epoch=4 codec=zstd value=v%d ; batch base=3 records=1 epoch=5
//	damage batch=1 field=crc flip=7
//	tail zeros=4096
//	epochs 4:0 5:3 ; hw 4 ; recovery 4
//
// becomes broker-1/meta.properties, broker-1/orders-0/00000000000000000000.log and so on,
// in memory ([FS]) or on disk ([Dir]). The language is described at [Parse].
//
// The encoders here are written from the format, not from the decoders of this module,
// of which none is imported: a misreading would have to happen twice. They are checked
// against bytes that Kafka wrote (vectors_test.go).
//
// For tests only; by convention no other file imports it.
package logtest
