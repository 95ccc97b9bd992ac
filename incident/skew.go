package incident

import "time"

// copySlack is how far apart two disks of one snapshot may end: a follower of
// the metadata log lags a little, and its log grows by a record every half
// second.
const copySlack = 2 * time.Second

// copiedLater reports whether the records [from, to) that holder has beyond the
// end of the ruling log were written after the ruling leader's disk had been
// copied: the holder's own metadata reach further, the records are of the ruling
// log's newest epoch, and they were written after its copy ended.
func (j *judgement) copiedLater(ruler, holder *Copy, from, to int64) (bool, error) {
	r, h := ruler.disk.metadata, holder.disk.metadata
	if r == nil || h == nil || from < ruler.Log.LogEndOffset {
		return false, nil
	}
	if h.EndOffset <= r.EndOffset || h.EndTimeMs-r.EndTimeMs <= copySlack.Milliseconds() {
		return false, nil
	}
	newest := ruler.Log.LatestEpoch()
	for b, err := range holder.Log.Blocks(from, to) {
		if err != nil {
			return false, err
		}
		if newest >= 0 && b.Epoch != newest || b.MaxTimestamp < r.EndTimeMs-copySlack.Milliseconds() {
			return false, nil
		}
	}
	return true, nil
}
