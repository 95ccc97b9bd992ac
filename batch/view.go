package batch

import "hash/crc32"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// View is one batch: its decoded header and its bytes. Raw is borrowed from whoever
// read the bytes and is valid as long as they say; Clone to keep it.
type View struct {
	Header
	Raw []byte // the whole batch, Header.Size() bytes
}

// ParseView reads the batch that fills raw exactly.
//
// Errors are those of ParseHeader, and ErrLength if raw is shorter or longer than the
// header says; the View is filled in as far as ParseHeader fills in the Header.
func ParseView(raw []byte) (View, error) {
	h, err := ParseHeader(raw)
	v := View{Header: h, Raw: raw}
	if err == nil && h.Size() != int64(len(raw)) {
		err = &Error{Pos: 8, Field: "batchLength", Want: itoa(len(raw) - LogOverhead), Got: itoa(h.Length), Err: ErrLength}
	}
	return v, err
}

// Clone returns a View that shares no memory with v.
func (v View) Clone() View {
	v.Raw = append([]byte(nil), v.Raw...)
	return v
}

// ComputedCRC is the CRC-32C of bytes 21 … end of Raw.
func (v View) ComputedCRC() uint32 {
	if len(v.Raw) < 21 {
		return 0
	}
	return crc32.Checksum(v.Raw[21:], castagnoli)
}

// CheckCRC returns nil or an *Error wrapping ErrCRC, with both values in hex.
func (v View) CheckCRC() error {
	if crc := v.ComputedCRC(); crc != v.CRC {
		return &Error{Pos: 17, Field: "crc", Want: hex32(crc), Got: hex32(v.CRC), Err: ErrCRC}
	}
	return nil
}

// Payload is what follows the header: the records, compressed if the codec says so.
// It is borrowed from Raw.
func (v View) Payload() []byte {
	if len(v.Raw) < HeaderSize {
		return nil
	}
	return v.Raw[HeaderSize:]
}
