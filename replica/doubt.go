package replica

import "context"

// Doubt says that batches carry a wrong leader epoch: those whose base offset lies
// in [From, To) and whose headers claim Written. Epoch is the right one: that of the
// batches on one side of them, or Written, which lays the doubt of the neighbours to
// rest.
type Doubt struct {
	From, To       int64
	Written, Epoch int32
}

// Doubt reads the log again with doubts in force: each of these batches gets the
// flaw SuspectEpoch and the epoch that the doubt gives it. The caller has asked
// witnesses outside of the log. Doubts of an earlier call are dropped.
func (l *Log) Doubt(ctx context.Context, doubts []Doubt) error {
	l.doubts = doubts
	again := l.opt // what the first pass said of the files beside the .log is said anew
	again.Progress = nil
	if err := l.pass(ctx, again); err != nil {
		return err
	}
	if err := l.future(again.NowMs); err != nil {
		return err
	}
	return l.settleStart()
}

// doubted returns the epoch that a doubt gives a block.
func (l *Log) doubted(b *Block) (int32, bool) {
	for _, d := range l.doubts {
		if b.WrittenEpoch == d.Written && d.From <= b.Base && b.Base < d.To {
			return d.Epoch, true
		}
	}
	return 0, false
}
