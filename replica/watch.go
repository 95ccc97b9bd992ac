package replica

import (
	"kafsck/batch"
	"kafsck/segment"
)

// watcher is told what the pass meets in the .log files, in file order: begin,
// then batches, then end, for one segment after the other. A watcher adds its
// anomalies to the log; an error is a failed read and ends the pass.
//
// Every batch that a broker could read is told of as it is written, not as its
// neighbours correct it: magic 2 with a CRC that verifies, and messages of format
// 0 and 1 the same. What is damaged is left out, so that the next position is
// higher than the end of the batch before.
type watcher interface {
	begin(seg int) error
	// batch: position is the first byte in the .log. h and raw are borrowed until
	// the call returns; raw is nil above segment.MaxRaw.
	batch(position int64, h *batch.Header, raw []byte) error
	// message is one message of format 0 or 1, a compressed wrapper is one message.
	message(position, size int64, h *batch.LegacyHeader) error
	end(seg int) error
}

// watchers makes those that opt asks for.
func (l *Log) watchers(opt Options) []watcher {
	var out []watcher
	if opt.Files {
		out = append(out, newIndexWatch(l), newProducerWatch(l))
	}
	if opt.Transactions {
		l.Txns = &TransactionTally{}
		out = append(out, newTransactionWatch(l, l.Txns))
	}
	return out
}

// watched tells every watcher of a frame.
func watched(list []watcher, f *segment.Frame) error {
	for _, w := range list {
		var err error
		switch {
		case f.Damage != nil:
		case f.Kind == segment.Batch:
			err = w.batch(f.Pos, &f.Batch.Header, f.Raw)
		case f.Kind == segment.Legacy:
			err = w.message(f.Pos, f.Len, &f.Legacy)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
