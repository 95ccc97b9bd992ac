package incident

import (
	"hash/maphash"
	"strings"
)

// nameChunk is how many bytes of names stand together. Names that share a chunk cost the
// garbage collector nothing each.
const nameChunk = 256 << 10

// nameTable numbers the names of groups and topics in the order in which they came.
type nameTable struct {
	index  hashIndex
	seed   maphash.Seed
	chunks []*strings.Builder // none ever grows beyond what it began with
	spans  []nameSpan
}

type nameSpan struct{ chunk, from, len uint32 }

func newNameTable() *nameTable { return &nameTable{seed: maphash.MakeSeed()} }

func (t *nameTable) text(i uint32) string {
	s := t.spans[i]
	return t.chunks[s.chunk].String()[s.from : s.from+s.len]
}

func (t *nameTable) number(name string) uint32 {
	hash := maphash.String(t.seed, name)
	if i, ok := t.index.find(hash, func(i uint32) bool { return t.text(i) == name }); ok {
		return i
	}
	if n := len(t.chunks); n == 0 || t.chunks[n-1].Cap()-t.chunks[n-1].Len() < len(name) {
		b := &strings.Builder{}
		b.Grow(max(nameChunk, len(name)))
		t.chunks = append(t.chunks, b)
	}
	last := len(t.chunks) - 1
	b := t.chunks[last]
	i := uint32(len(t.spans))
	t.spans = append(t.spans, nameSpan{uint32(last), uint32(b.Len()), uint32(len(name))})
	b.WriteString(name)
	t.index.add(hash, i, func(i uint32) uint64 { return maphash.String(t.seed, t.text(i)) })
	return i
}

// hashIndex finds a number by the hash of what it stands for, in four to eight bytes each.
type hashIndex struct {
	slots []uint32 // the number + 1; 0 free. As many as a power of two, at most half in use
	used  int
}

func (h *hashIndex) find(hash uint64, same func(i uint32) bool) (uint32, bool) {
	if len(h.slots) == 0 {
		return 0, false
	}
	mask := uint64(len(h.slots) - 1)
	for at := hash & mask; h.slots[at] != 0; at = (at + 1) & mask {
		if i := h.slots[at] - 1; same(i) {
			return i, true
		}
	}
	return 0, false
}

// add takes a number that is not there; hashOf tells the hash of those that are.
func (h *hashIndex) add(hash uint64, i uint32, hashOf func(i uint32) uint64) {
	if 2*(h.used+1) > len(h.slots) {
		old := h.slots
		h.slots = make([]uint32, max(2*len(old), 64))
		for _, s := range old {
			if s != 0 {
				h.put(hashOf(s-1), s)
			}
		}
	}
	h.put(hash, i+1)
	h.used++
}

func (h *hashIndex) put(hash uint64, slot uint32) {
	mask := uint64(len(h.slots) - 1)
	at := hash & mask
	for h.slots[at] != 0 {
		at = (at + 1) & mask
	}
	h.slots[at] = slot
}
