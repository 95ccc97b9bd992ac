// Command bare is the least that any check of a log must do: read every byte of
// the files, step from header to header, compute each batch's CRC-32C. On one
// core, without tests of anything else. It is the yardstick of the benchmark.
//
//	bare FILE...
package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"runtime"
)

func main() {
	runtime.GOMAXPROCS(1)
	var batches, bytes int64
	for _, name := range os.Args[1:] {
		n, size, err := walk(name)
		if err != nil {
			fmt.Fprintln(os.Stderr, "bare:", err)
			os.Exit(1)
		}
		batches += n
		bytes += size
	}
	fmt.Println(batches, "batches,", bytes, "bytes")
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// walk reads one file of whole, undamaged batches.
func walk(name string) (batches, size int64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	buf := make([]byte, 1<<20)
	have := 0
	for {
		n, err := f.Read(buf[have:])
		have += n
		size += int64(n)
		rest := buf[:have]
		for len(rest) >= 61 {
			length := 12 + int(binary.BigEndian.Uint32(rest[8:]))
			if length < 61 || length > len(buf) {
				return 0, 0, fmt.Errorf("%s: a batch of %d bytes", name, length)
			}
			if length > len(rest) {
				break
			}
			if crc32.Checksum(rest[21:length], castagnoli) != binary.BigEndian.Uint32(rest[17:]) {
				return 0, 0, fmt.Errorf("%s: batch %d has a wrong CRC", name, batches)
			}
			batches++
			rest = rest[length:]
		}
		have = copy(buf, rest)
		if errors.Is(err, io.EOF) {
			if have > 0 {
				return 0, 0, fmt.Errorf("%s: ends inside a batch", name)
			}
			return batches, size, nil
		}
		if err != nil {
			return 0, 0, err
		}
	}
}
