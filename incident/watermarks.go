package incident

// disownWatermarks leaves out the high watermark of a live replica that is older than the
// topic it has now. replication-offset-checkpoint knows topics by name and is written every
// five seconds: after a topic was deleted and made anew under its name, with another id, the
// line of the old one can still be there.
func (j *judgement) disownWatermarks() {
	for _, c := range j.p.Live() {
		if c.readable() && c.Log.HighWatermark != nil && c.Log.HighWatermarkFile != nil && j.olderThanTopic(c) {
			c.Log.HighWatermark = nil
		}
	}
}

// olderThanTopic reports whether the file with the high watermarks was certainly written
// before the topic of this id was created, by the metadata, or before partition.metadata was
// written, which a broker does when it makes the directory. That file's own time counts only
// if the copy kept it: then it is no later than the newest record and the end of the disk's
// metadata.
func (j *judgement) olderThanTopic(c *Copy) bool {
	file := c.Log.HighWatermarkFile.ModTime
	if file.IsZero() {
		return false
	}
	written := file.UnixMilli()
	if k := j.known.part; k != nil && len(k.Changes) > 0 && !k.Changes[0].FromSnapshot && !k.Changes[0].Uncertain && written < k.Changes[0].TimeMs-clockMargin.Milliseconds() {
		return true
	}
	meta := c.Log.Partition.MetaFile
	if meta == nil || meta.ModTime.IsZero() || !file.Before(meta.ModTime) {
		return false
	}
	made := meta.ModTime.UnixMilli()
	m := c.disk.metadata
	return c.Log.MaxTimestamp >= made && (m == nil || made <= m.EndTimeMs)
}
