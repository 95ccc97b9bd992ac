package segment

import "hash/crc32"

// SmallCarve has a search take batches of n bytes for the largest that are looked at in memory, and read
// a fourth of that at once, so that small files have all that large ones do.
func SmallCarve(opt CarveOptions, n int) CarveOptions {
	opt.reach = n
	return opt
}

// Plain is a find of PlainCarve.
type Plain struct {
	Pos, Len int64
	Magic    int8
}

// PlainCarve is what Carve is to find: every position is asked, one after the other.
func PlainCarve(b []byte) []Plain {
	var out []Plain
	for p := int64(0); p+overhead < int64(len(b)); {
		h := readHead(b[p:])
		if !plainlySound(b[p:], &h) {
			p++
			continue
		}
		out = append(out, Plain{p, h.total(), h.magic})
		p += h.total()
	}
	return out
}

func plainlySound(b []byte, h *head) bool {
	n := h.total()
	if !h.sane || n < h.minTotal() || n > int64(len(b)) {
		return false
	}
	if h.legacy() {
		at, key, _ := keyLength(h.magic, b)
		value := at + 4 + max(key, 0)
		if key < -1 || value+4 > n {
			return false
		}
		if v := int64(int32(be32(b[value:]))); v < -1 || value+4+max(v, 0) != n {
			return false
		}
	}
	return crc32.Checksum(b[h.covered():n], h.table()) == h.crc
}

// MayBegin is mayBegin, and what it must not rule out.
func MayBegin(b []byte, reach int) (i int, may bool) { return mayBegin(b, reach) }

// CouldBegin reports whether all that b tells of a header at its front is as a writer could have written it.
func CouldBegin(b []byte, reach int) bool {
	h := readHead(b)
	if !h.sane || h.total() < h.minTotal() {
		return false
	}
	if !h.legacy() {
		return true
	}
	at, key, _ := keyLength(h.magic, b)
	value, end := at+4+max(key, 0), h.total()
	if key < -1 || key > int64(reach) || value > end-4 {
		return false
	}
	if value+4 > int64(len(b)) {
		return true
	}
	v := int64(int32(be32(b[value:])))
	return v >= -1 && value+4+max(v, 0) == end
}
