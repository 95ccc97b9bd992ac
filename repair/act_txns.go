package repair

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"

	"kafsck/batch"
	"kafsck/replica"
	"kafsck/segment"
)

// A marker that goes takes the end of a transaction with it. What becomes of the records before it is up
// to the next marker of the same producer, since for Kafka a transaction goes on until then:
//
//	offsets     123–131     132–134      135            136–150     151
//	input       data of p   data of q    ABORT of p     data of p   COMMIT of p
//	result      data of p   data of q                   data of p   COMMIT of p    123–131 are committed now
//	result      data of p   data of q                                              p hangs: the last stable offset stays 123
//
// The entry of the .txnindex goes as well: indexes are built from the batches that are there. With an entry
// whose marker is missing, a consumer with read_committed drops every batch of that producer up to the next
// ABORT of it or the end of the fetch response (CompletedFetch.abortedProducerIds), so that which
// committed records behind it are passed over would depend on the size of a response.

// PlanTxn is a transaction that ends otherwise in the result than in the input.
type PlanTxn struct {
	ProducerID    int64 `json:"producerId"`
	ProducerEpoch int16 `json:"producerEpoch"`
	// From and To are the offsets [From, To) of its batches, of which Records stay in the result.
	From    int64 `json:"from"`
	To      int64 `json:"to"`
	Records int64 `json:"records"`
	// Marker is the offset of the marker that goes, nil unknown.
	Marker *int64 `json:"marker"`
	// Was is "aborted", "committed", "open" or "unknown", Now "aborted", "committed" or "open".
	Was string `json:"was"`
	Now string `json:"now"`
	// Proof says what tells how it ended in the input.
	Proof string `json:"proof"`
}

const (
	txnAborted   = string(replica.TransactionAborted)
	txnCommitted = string(replica.TransactionCommitted)
	txnOpen      = string(replica.TransactionOpen)
	txnUnknown   = "unknown"
)

// maxTxns bounds the transactions that an action tells of.
const maxTxns = 1000

// Said is what it means, as a clause.
func (t *PlanTxn) Said() string {
	at := "the transaction of producer " + fmt.Sprint(t.ProducerID) + " at " + offsetsOf(t.From, t.To)
	stay := plural(int(t.Records), "record stays", "records stay")
	if t.Records == 0 {
		stay = "its batches are empty"
	}
	switch {
	case t.Now == txnOpen:
		was := map[string]string{txnAborted: "was aborted", txnCommitted: "was committed", txnOpen: "was open", txnUnknown: "may have been ended"}[t.Was]
		return fmt.Sprintf("%s %s (%s) and stays open (hanging): consumers with read_committed stop at offset %d until its marker comes: a follower gets it from the leader, on the leader kafka-transactions.sh --abort writes one", at, was, t.Proof, t.From)
	case t.Was == txnAborted:
		return fmt.Sprintf("%s was aborted (%s), and its marker goes: %s, and consumers with read_committed see them as committed", at, t.Proof, stay)
	case t.Was == txnCommitted:
		return fmt.Sprintf("%s was committed (%s), and its marker goes: %s, and consumers with read_committed pass them over as aborted", at, t.Proof, stay)
	}
	return fmt.Sprintf("%s may have been aborted (%s): %s, and count as %s in the result", at, t.Proof, stay, t.Now)
}

// transactions tells of the transactions that the actions from index before on end otherwise.
func (w *work) transactions(before int) error {
	at := -1
	for i := before; i < len(w.builder.plan.Actions) && at < 0; i++ {
		a := &w.builder.plan.Actions[i]
		if a.Root == w.t.index && a.Dir == base(w.dir) && slices.ContainsFunc(a.Edits, func(e Edit) bool {
			return path.Ext(e.File) == ".log" && e.Op == Compose || e.Op == Remove && path.Ext(e.File) == ".log"
		}) {
			at = i
		}
	}
	if at < 0 || w.log.Txns == nil || !w.log.Txns.Any() && len(w.log.Txns.Open) == 0 {
		return nil
	}
	after, err := w.ends()
	if err != nil || after == nil {
		return err
	}
	markers, err := w.damagedMarkers()
	if err != nil {
		return err
	}
	a := &w.builder.plan.Actions[at]
	for t, err := range w.log.Transactions(w.ctx) {
		if err != nil {
			return err
		}
		if t.First < 0 || t.Last < t.First || len(a.Transactions) >= maxTxns {
			continue
		}
		x := w.ended(&t, after, markers)
		if x == nil {
			continue
		}
		if x.Records, err = after.stay(x); err != nil {
			return err
		}
		if x.Records > 0 || x.Now == txnOpen {
			a.Transactions = append(a.Transactions, *x)
		}
	}
	for i := range a.Transactions {
		if x := &a.Transactions[i]; x.Now != txnOpen && x.Records > 0 { // records appear, or are hidden
			a.Confirm = true
		}
	}
	return nil
}

// ended holds a transaction of the input against the result, nil where it ends as it did.
func (w *work) ended(t *replica.Transaction, after *txnEnds, markers []damagedMarker) *PlanTxn {
	x := &PlanTxn{ProducerID: t.ProducerID, ProducerEpoch: t.ProducerEpoch, From: t.First, To: t.Last + 1, Was: string(t.State)}
	lost := slices.IndexFunc(markers, func(m damagedMarker) bool {
		return m.producer == t.ProducerID && m.offset >= t.First && (t.Marker < 0 || m.offset <= t.Marker)
	})
	switch {
	case t.State == replica.TransactionAborted && t.FromIndex:
		x.Proof = fmt.Sprintf("the .txnindex says so, and that its marker was at offset %d", t.Marker)
		x.Marker = &t.Marker
	case lost >= 0:
		m := markers[lost]
		x.Was, x.Marker, x.To = m.state, &m.offset, min(x.To, m.offset)
		x.Proof = fmt.Sprintf("the damaged marker at offset %d still says so, which no checksum bears out", m.offset)
	case t.Doubtful():
		x.Was, x.To = txnUnknown, min(x.To, t.DoubtTo)
		x.Proof = "its marker may have stood in the bytes that cannot be read"
	case t.State == replica.TransactionOpen && t.Damaged:
		x.Was, x.Proof = txnUnknown, "its marker may have stood in the bytes that cannot be read"
	case t.State == replica.TransactionOpen:
		return nil // and nothing here ends it
	default:
		x.Proof, x.Marker = fmt.Sprintf("by its marker at offset %d", t.Marker), &t.Marker
	}
	if x.Now = after.of(t.ProducerID, x.From, x.To); x.Now == x.Was || x.From >= x.To {
		return nil
	}
	return x
}

// txnEnds is how transactions end in the promised log.
type txnEnds struct {
	w       *work
	logs    map[string][]stretchOf
	aborted map[int64][]segment.AbortedTxn // by producer
	open    map[int64]int64                // first offset, by producer
	end     int64
}

// ends follows the producers through the log as the actions leave it, nil where bytes stay that are no
// batch.
func (w *work) ends() (*txnEnds, error) {
	e := &txnEnds{w: w, logs: w.promised(), aborted: map[int64][]segment.AbortedTxn{}, open: map[int64]int64{}, end: w.end}
	state, err := replica.NewRebuild(nil, 0)
	if err != nil {
		return nil, err
	}
	state.To = e.end
	var entries bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(e.logs)) {
		j, err := openJoined(e.logs[name])
		if err == nil {
			err = state.Read(w.ctx, j, j.size, &entries)
			j.close()
		}
		if _, ok := errors.AsType[*segment.Unsound](err); ok {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	for t, err := range segment.ScanTxnIndex(bytes.NewReader(entries.Bytes()), int64(entries.Len())) {
		if err != nil {
			return nil, err
		}
		e.aborted[t.ProducerID] = append(e.aborted[t.ProducerID], t)
	}
	b := state.Snapshot()
	snap, err := segment.ReadSnapshot(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	for _, p := range snap.Producers {
		if p.CurrentTxnFirstOffset >= 0 {
			e.open[p.ProducerID] = p.CurrentTxnFirstOffset
		}
	}
	return e, nil
}

// of is what becomes of a producer's transactional records at offsets [from, to).
func (e *txnEnds) of(producer, from, to int64) string {
	if first, ok := e.open[producer]; ok && first < to {
		return txnOpen
	}
	for _, t := range e.aborted[producer] {
		if t.FirstOffset < to && t.LastOffset >= from {
			return txnAborted
		}
	}
	return txnCommitted
}

// stay counts the records of a transaction that are in the promised log.
func (e *txnEnds) stay(x *PlanTxn) (n int64, err error) {
	for _, name := range slices.Sorted(maps.Keys(e.logs)) {
		j, err := openJoined(e.logs[name])
		if err != nil {
			return 0, err
		}
		for f, err := range segment.Walk(j, j.size, segment.ScanOptions{}) {
			if err == nil {
				err = e.w.ctx.Err()
			}
			if err != nil {
				j.close()
				return 0, err
			}
			if f.Kind != segment.Batch || f.Damage != nil {
				continue
			}
			h := &f.Batch.Header
			if h.BaseOffset >= x.To || h.BaseOffset >= e.end {
				break
			}
			if h.ProducerID == x.ProducerID && h.BaseOffset >= x.From && h.Attributes.Transactional() && !h.Attributes.Control() {
				n += int64(max(h.RecordCount, 0))
			}
		}
		j.close()
	}
	return n, nil
}

// damagedMarker is what a control batch with a wrong CRC still says.
type damagedMarker struct {
	producer, offset int64
	state            string
}

// damagedMarkers are those of the log as it lies there whose header and record can still be made out.
//
//	0         21            43         57       61        ≈66       70
//	| base …  | attributes  | producer | count  | record: | key: version, type | …
func (w *work) damagedMarkers() ([]damagedMarker, error) {
	const most = 256
	var out []damagedMarker
	for b, err := range w.log.Blocks(0, w.log.LogEndOffset) {
		switch {
		case err != nil:
			return nil, err
		case b.Flaws&replica.BadCRC == 0 || b.Flaws&replica.Unreadable != 0 || !b.Control() || b.ProducerID < 0 || b.Length > most || b.Legacy:
			continue
		}
		raw := make([]byte, b.Length)
		h, err := w.log.Segments[b.Segment].Log.Open()
		if err != nil {
			return nil, err
		}
		_, err = h.ReadAt(raw, b.Position)
		h.Close()
		if err != nil && err != io.EOF {
			return nil, err
		}
		if state := markerType(raw); state != "" {
			out = append(out, damagedMarker{b.ProducerID, b.Base, state})
		}
	}
	return out, nil
}

// markerType reads the type of the first record's key of a control batch, "" where it is none.
func markerType(raw []byte) string {
	const records = 61
	if len(raw) < records {
		return ""
	}
	rest := raw[records:]
	for i := range 5 { // length, attributes, timestamp delta, offset delta, key length
		if i == 1 {
			if len(rest) == 0 {
				return ""
			}
			rest = rest[1:]
			continue
		}
		v, n := binary.Varint(rest)
		if n <= 0 || i == 4 && v != 4 {
			return ""
		}
		rest = rest[n:]
	}
	if len(rest) < 4 || binary.BigEndian.Uint16(rest) != 0 {
		return ""
	}
	switch batch.ControlType(binary.BigEndian.Uint16(rest[2:])) {
	case batch.ControlAbort:
		return txnAborted
	case batch.ControlCommit:
		return txnCommitted
	}
	return ""
}

// joined reads runs of several files as one.
type joined struct {
	parts []io.ReaderAt
	sizes []int64
	size  int64
	files []io.Closer
}

func openJoined(list []stretchOf) (*joined, error) {
	j := &joined{}
	for _, s := range list {
		if s.file == nil {
			j.close()
			return nil, fmt.Errorf("a piece is of no file that was listed")
		}
		h, err := s.file.Open()
		if err != nil {
			j.close()
			return nil, err
		}
		j.files = append(j.files, h)
		j.parts = append(j.parts, io.NewSectionReader(h, s.from, s.to-s.from))
		j.sizes = append(j.sizes, s.to-s.from)
		j.size += s.to - s.from
	}
	return j, nil
}

func (j *joined) close() {
	for _, f := range j.files {
		f.Close()
	}
}

func (j *joined) ReadAt(b []byte, at int64) (n int, err error) {
	for i, size := range j.sizes {
		if at >= size {
			at -= size
			continue
		}
		k := min(int64(len(b)-n), size-at)
		got, err := j.parts[i].ReadAt(b[n:n+int(k)], at)
		n += got
		if got < int(k) {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return n, err
		}
		if at = 0; n == len(b) {
			return n, nil
		}
	}
	return n, io.EOF
}
