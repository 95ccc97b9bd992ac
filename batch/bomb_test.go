package batch

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"runtime"
	"testing"
)

// bombs hold 64 MiB each, in a small part of that.
func bombs(t testing.TB) map[Codec][]byte {
	const total = 64 << 20
	var gz bytes.Buffer
	w := gzip.NewWriter(&gz)
	chunk := make([]byte, 1<<20)
	for range total / len(chunk) {
		if _, err := w.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	// One literal byte, then copies of 64 bytes from distance 1.
	sn := binary.AppendUvarint(nil, 1+64*(total/64))
	sn = append(sn, 0, 'a')
	sn = append(sn, bytes.Repeat([]byte{63<<2 | 2, 1, 0}, total/64)...)
	// Blocks of nearly 4 MiB: one literal, one long match, five literals.
	block := append([]byte{0x1f, 'a', 1, 0}, bytes.Repeat([]byte{255}, 4<<20/255-1)...)
	block = append(block, 0, 0x50, 'a', 'a', 'a', 'a', 'a')
	lz := lz4Head(0x60, 0x70, nil)
	for range total>>22 + 1 {
		lz = lz4Block(lz, block, 0)
	}
	lz = append(lz, 0, 0, 0, 0)
	// Blocks of one byte repeated 128 Ki times.
	zs := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0x58}
	for range total / zstdMaxBlock {
		zs = append(zs, byte(zstdMaxBlock<<3&0xff|1<<1), byte(zstdMaxBlock<<3>>8&0xff), byte(zstdMaxBlock<<3>>16), 'a')
	}
	zs = append(zs, 1, 0, 0)
	return map[Codec][]byte{Gzip: gz.Bytes(), Snappy: sn, LZ4: lz, Zstd: zs}
}

// allocated is the number of bytes that f allocates, garbage included.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestBombs(t *testing.T) {
	all := bombs(t)
	for codec, payload := range all {
		if got, err := NewDecompressor(70<<20).Decompress(codec, payload); err != nil || len(got) < 64<<20 {
			t.Fatalf("%v: the bomb is a dud: %d bytes, %v", codec, len(got), err)
		}
		for _, limit := range []int64{1, 1000, 1 << 20, 5 << 20} {
			d := NewDecompressor(limit)
			var got []byte
			var err error
			n := allocated(func() { got, err = d.Decompress(codec, payload) })
			wantError(t, err, ErrTooLarge, codec.String())
			if int64(len(got)) > limit {
				t.Errorf("%v, limit %d: %d bytes came out", codec, limit, len(got))
			}
			if int64(cap(d.buf)) > limit+zstdSpare {
				t.Errorf("%v, limit %d: a buffer of %d bytes", codec, limit, cap(d.buf))
			}
			// Growing leaves smaller buffers behind, which double up to the limit: together
			// less than twice the last. 1 MiB is for the tables of the codecs.
			if n > uint64(3*limit+1<<20) {
				t.Errorf("%v, limit %d: %d bytes allocated", codec, limit, n)
			}
			// As the records of a batch.
			v := mustView(t, wrap(codec, 1, payload))
			for _, err := range v.Records(d) {
				if !errors.Is(err, ErrTooLarge) && err != nil && !errors.Is(err, ErrRecord) {
					t.Errorf("%v as records: %v", codec, err)
				}
			}
		}
	}
}

// A few bytes that claim much must not make us allocate much.
func TestClaims(t *testing.T) {
	for _, c := range []struct {
		name  string
		codec Codec
		hex   string
	}{
		{"snappy declares 60 MiB", Snappy, "80808020 00 61"},
		{"snappy declares 4 GiB", Snappy, "ffffffff0f 00 61"},
		{"snappy chunk of 2 GiB", Snappy, "82534e41505059000000000100000001 7fffffff 00"},
		{"lz4 blocks of 4 MiB", LZ4, "04224d18 6070 73 05000000 506161616161"},
		{"zstd content of 60 MiB", Zstd, "28b52ffd a0 0000c003 190000 616161"},
		{"zstd window of 128 MiB", Zstd, "28b52ffd 00 88 190000 616161"},
		{"zstd compressed block", Zstd, "28b52ffd 00 88 150000 6161"},
	} {
		d := NewDecompressor(0)
		if _, err := d.Decompress(Zstd, vector(t, "v2_zstd")[HeaderSize:]); err != nil { // creates the tables
			t.Fatal(err)
		}
		n := allocated(func() {
			if _, err := d.Decompress(c.codec, unhex(t, c.hex)); err == nil && c.name != "zstd window of 128 MiB" {
				t.Errorf("%s: no error", c.name)
			}
		})
		if n > 256<<10 {
			t.Errorf("%s: %d bytes allocated", c.name, n)
		}
	}
}
