package cli

import (
	"fmt"
	"strconv"

	"kafsck/batch"
	"kafsck/segment"
)

// snapshot prints the producers of a .snapshot. Of one that it does not read Kafka prints
// nothing but the reason, and goes on.
func (d *kafkaDump) snapshot(path string) {
	f, size, err := d.open(path)
	if err != nil {
		d.unread(path, err)
		return
	}
	defer f.Close()
	s, err := segment.ReadSnapshot(f, size)
	if err != nil {
		d.unread(path, err)
		return
	}
	if p := s.Problem; p != nil {
		short := int64(s.Count) > int64(len(s.Producers)) // Kafka reads the producers before it checks the CRC
		switch {
		case p.Kind == "short", p.Kind != "version" && !p.Limit() && short:
			d.stderr("Snapshot failed schema validation: null")
		case p.Kind == "version":
			d.stderr("Snapshot contained an unknown file version " + strconv.Itoa(int(s.Version)))
		case p.Kind == "crc":
			d.stderr(fmt.Sprintf("Snapshot is corrupt (CRC is no longer valid). Stored crc: %d. Computed crc: %d", s.StoredCRC, s.ComputedCRC))
		default:
			d.say("%s: %s", path, p)
			d.a.fail(exitIncomplete)
		}
		return
	}
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	for i := range s.Producers {
		e := &s.Producers[i]
		open := "OptionalLong.empty"
		if e.CurrentTxnFirstOffset >= 0 {
			open = "OptionalLong[" + number(e.CurrentTxnFirstOffset) + "]"
		}
		last := ""
		if e.HasBatch() {
			last = " firstSequence: " + number(int64(batch.DecrementSequence(e.LastSequence, e.OffsetDelta))) + " lastSequence: " + number(int64(e.LastSequence)) +
				" lastOffset: " + number(e.LastOffset) + " offsetDelta: " + number(int64(e.OffsetDelta)) + " timestamp: " + number(e.Timestamp)
		}
		d.out.Line("producerId: ", number(e.ProducerID), " producerEpoch: ", number(int64(e.ProducerEpoch)), " coordinatorEpoch: ", number(int64(e.CoordinatorEpoch)),
			" currentTxnFirstOffset: ", open, " lastTimestamp: ", number(e.Timestamp), last)
	}
}

// txnIndex prints the aborted transactions of a .txnindex. Kafka reads them all before it prints
// the first, and throws for one whose version it does not know.
func (d *kafkaDump) txnIndex(path string) {
	f, size, err := d.open(path)
	if err != nil {
		d.unread(path, err)
		return
	}
	defer f.Close()
	print := func(yield func(*segment.AbortedTxn)) {
		for e, err := range segment.ScanTxnIndex(f, size) {
			if err != nil {
				d.unread(path, err)
				return
			}
			yield(&e)
		}
	}
	print(func(e *segment.AbortedTxn) {
		if e.Refused() {
			d.threw(path, "entry %d has version %d", e.Number, e.Version)
		}
	})
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	print(func(e *segment.AbortedTxn) {
		d.out.Line("version: ", number(int64(e.Version)), " producerId: ", number(e.ProducerID), " firstOffset: ", number(e.FirstOffset),
			" lastOffset: ", number(e.LastOffset), " lastStableOffset: ", number(e.LastStableOffset))
	})
}
