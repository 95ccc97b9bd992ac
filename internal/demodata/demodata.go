// Package demodata embeds the recorded incident that "kafsck demo" tells: the log
// directories of three brokers after an unclean leader election, as an operator
// would copy them, and the producers' acknowledgement log.
//
//	recording.zip
//	  broker-1/  old leader, down; holds the acknowledged records 100–199
//	  broker-2/  leader after the unclean election; has new records at 100–119
//	  broker-3/  keeps the cluster metadata, hosts no replica
//	  acks.jsonl what the producers were told
//
// README.md says where the files come from. Nothing here is generated or edited:
// a real cluster wrote every byte.
//
// This package knows nothing of Kafka's formats and never touches the disk.
package demodata

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"io/fs"
)

//go:embed recording.zip
var archive []byte

// Acks is the name of the acknowledgement log in Recording.
const Acks = "acks.jsonl"

// Recording returns the files, with their modification times.
func Recording() fs.FS {
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		panic("demodata: the embedded archive: " + err.Error())
	}
	return r
}
