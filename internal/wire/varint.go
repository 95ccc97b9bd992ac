package wire

// Uvarint reads an unsigned varint of at most 5 bytes. Bits of the fifth byte that
// do not fit 32 bits are dropped, as ByteUtils.readUnsignedVarint does.
func (r *Reader) Uvarint() uint32 {
	if r.err != nil {
		return 0
	}
	// One byte is by far the most common form.
	if r.pos < len(r.b) && r.b[r.pos] < 0x80 {
		v := uint32(r.b[r.pos])
		r.pos++
		return v
	}
	var v uint32
	for i := range 5 {
		if r.pos+i >= len(r.b) {
			r.Fail("varint: bytes end inside")
			return 0
		}
		c := r.b[r.pos+i]
		v |= uint32(c&0x7f) << (7 * i)
		if c < 0x80 {
			r.pos += i + 1
			return v
		}
	}
	r.Fail("varint: longer than 5 bytes")
	return 0
}

// Varint reads a zig-zag coded int32 of at most 5 bytes.
func (r *Reader) Varint() int32 {
	v := r.Uvarint()
	return int32(v>>1) ^ -int32(v&1)
}

// Varlong reads a zig-zag coded int64 of at most 10 bytes. Bits of the tenth byte
// that do not fit 64 bits are dropped, as ByteUtils.readVarlong does.
func (r *Reader) Varlong() int64 {
	if r.err != nil {
		return 0
	}
	var v uint64
	for i := range 10 {
		if r.pos+i >= len(r.b) {
			r.Fail("varlong: bytes end inside")
			return 0
		}
		c := r.b[r.pos+i]
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			r.pos += i + 1
			return int64(v>>1) ^ -int64(v&1)
		}
	}
	r.Fail("varlong: longer than 10 bytes")
	return 0
}
