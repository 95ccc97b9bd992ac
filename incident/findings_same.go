package incident

import (
	"fmt"
	"hash/crc32"
	"iter"

	"github.com/dustin/go-humanize"

	"kafsck/finding"
	"kafsck/logdir"
	"kafsck/segment"
)

// maxPastBatches bounds a comparison that only asks whether two directories have one past.
const maxPastBatches = 20_000

// pastBatch is a batch, or a message of formats 0 and 1, as far as two copies of it are equal.
type pastBatch struct {
	from, next int64 // offsets [from, next)
	epoch      int32
	crc        uint32
	records    int64
}

// past yields the sound batches of a live log from an offset on. The error is a failed read.
func past(p *logdir.Partition, from int64) iter.Seq2[pastBatch, error] {
	return func(yield func(pastBatch, error) bool) {
		for i, s := range p.Segments {
			if s.Log == nil || s.Suffix != logdir.NoSuffix || s.Log.Size <= 0 {
				continue
			}
			if i+1 < len(p.Segments) && p.Segments[i+1].Log != nil && p.Segments[i+1].Suffix == logdir.NoSuffix && p.Segments[i+1].BaseOffset <= from {
				continue
			}
			if !pastOf(s.Log, from, yield) {
				return
			}
		}
	}
}

func pastOf(f *logdir.File, from int64, yield func(pastBatch, error) bool) bool {
	r, err := f.Open()
	if err != nil {
		yield(pastBatch{}, err)
		return false
	}
	defer r.Close() // nothing was written: a failed close loses nothing
	for frame, err := range segment.Scan(r, f.Size, segment.ScanOptions{NextOffset: f.BaseOffset}) {
		if err != nil {
			yield(pastBatch{}, err)
			return false
		}
		var b pastBatch
		switch {
		case frame.Damage != nil:
			continue
		case frame.Kind == segment.Batch:
			v := &frame.Batch
			b = pastBatch{v.BaseOffset, v.NextOffset(), v.PartitionLeaderEpoch, v.CRC, int64(v.RecordCount)}
		case frame.Kind == segment.Legacy && frame.Raw != nil:
			b = pastBatch{frame.Legacy.Offset, frame.Legacy.Offset + 1, -1, crc32.ChecksumIEEE(frame.Raw), 1}
		default:
			continue
		}
		if b.next <= from {
			continue
		}
		if !yield(b, nil) {
			return false
		}
	}
	return true
}

// firstOffset is the base offset of the first segment of a live log, -1 without one.
func firstOffset(p *logdir.Partition) int64 {
	for _, s := range p.Segments {
		if s.Log != nil && s.Suffix == logdir.NoSuffix {
			return s.BaseOffset
		}
	}
	return -1
}

// onePast compares two directories of one partition name: batch by batch, epochs included, from the
// first offset that both may hold on, and at most 20,000 batches. fact says in words how far they
// are the same, means what that tells of their topics; the error is a failed read.
func onePast(a, b *logdir.Partition) (fact, means string, err error) {
	const unknown = "no record tells whether they are the same topic"
	from := max(firstOffset(a), firstOffset(b))
	if from < 0 || firstOffset(a) < 0 || firstOffset(b) < 0 {
		return "one of them holds no log", unknown, nil
	}
	nextA, stopA := iter.Pull2(past(a, from))
	defer stopA()
	nextB, stopB := iter.Pull2(past(b, from))
	defer stopB()
	var first, last, records int64 = -1, -1, 0
	for range maxPastBatches {
		x, err, okA := nextA()
		if err != nil {
			return "", "", err
		}
		y, err, okB := nextB()
		if err != nil {
			return "", "", err
		}
		if !okA || !okB {
			if first < 0 {
				return "they hold no common offset", unknown, nil
			}
			return fmt.Sprintf("all %s records that both hold (%s) are the same, epochs included", humanize.Comma(records), offsetsOf(first, last)), oneTopic, nil
		}
		if x != y {
			at := min(x.from, y.from)
			if first < 0 {
				return fmt.Sprintf("they differ from the first offset that both hold, %d, on", max(at, from)), "no common prefix, so the topic was created again", nil
			}
			return fmt.Sprintf("the first %s records (%s) are the same, epochs included, and they differ from offset %d on", humanize.Comma(records), offsetsOf(first, last), at), "one topic whose logs part there", nil
		}
		if first < 0 {
			first = x.from
		}
		last = x.next
		records += x.records
	}
	return fmt.Sprintf("the first %s records that both hold (%s) are the same, epochs included; the rest was not compared", humanize.Comma(records), offsetsOf(first, last)), "most likely one and the same topic", nil
}

// OneTopic reports whether two directories of one partition name, under different topic ids, are one
// topic's for certain: everything that both hold is the same. The error is a failed read.
func OneTopic(a, b *logdir.Partition) (bool, error) {
	_, means, err := onePast(a, b)
	return means == oneTopic, err
}

// oneTopic is what onePast says of logs that are the same in all that both hold.
const oneTopic = "one and the same topic"

// sameTopic compares a live directory with one of the same name under another topic id, nil where
// there is none.
func (inc *Incident) sameTopic(odd *logdir.Partition) *finding.Evidence {
	for p := range inc.Case.AllPartitions() {
		if p == odd || p.State != logdir.Live || p.Topic != odd.Topic || p.Partition != odd.Partition || !p.HasTopicID || p.TopicID == odd.TopicID {
			continue
		}
		if inc.opt.FilesOnly {
			e := says("%s and %s: their records were not compared at --level files", odd.Dir, p.Dir)
			return &e
		}
		fact, means, err := onePast(odd, p)
		text := fact + ": " + means
		if err != nil {
			text = "their records could not be compared: " + err.Error()
			inc.Errors = append(inc.Errors, failedRead(odd.Dir, err))
		}
		e := says("%s and %s: %s", odd.Dir, p.Dir, text)
		return &e
	}
	return nil
}

// tellSameTopic adds to findings about topic ids whether the records are one topic's.
func (inc *Incident) tellSameTopic(list []finding.Finding) {
	for i := range list {
		f := &list[i]
		if f.Code != "topic-id-mismatch" {
			continue
		}
		for p := range inc.Case.AllPartitions() {
			if p.MetaFile != nil && p.MetaFile.Path == f.At.File && p.State == logdir.Live {
				if e := inc.sameTopic(p); e != nil {
					f.Evidence = append(f.Evidence, *e)
				}
				break
			}
		}
	}
}

// compareTwins adds to the finding that was added last how two live directories of one broker stand
// to each other, and which of them to keep: the newest leader epoch first, then the longer log.
func (p *Partition) compareTwins(a, b *Copy, filesOnly bool) {
	f := &p.Findings[len(p.Findings)-1]
	if a == nil || !a.readable() || !b.readable() {
		return
	}
	if filesOnly {
		f.Evidence = append(f.Evidence, says("which one is ahead: not compared at --level files"))
		return
	}
	text, _, err := onePast(a.Log.Partition, b.Log.Partition)
	if err != nil {
		p.Errors = append(p.Errors, failedRead(b.Dir, err))
		return
	}
	f.Evidence = append(f.Evidence, says("%s", text))
	keep, other, why := a, b, ""
	switch ea, eb := a.Log.LatestEpoch(), b.Log.LatestEpoch(); {
	case ea != eb:
		if eb > ea {
			keep, other = b, a
		}
		why = fmt.Sprintf("its newest epoch is %d, the other one's %d", keep.Log.LatestEpoch(), other.Log.LatestEpoch())
	case a.Log.LogEndOffset != b.Log.LogEndOffset:
		if b.Log.LogEndOffset > a.Log.LogEndOffset {
			keep, other = b, a
		}
		why = fmt.Sprintf("both are of epoch %d, and it ends at %d, the other one at %d", ea, keep.Log.LogEndOffset, other.Log.LogEndOffset)
	default:
		f.Next = fmt.Sprintf("Both are of one epoch and end at one offset: keep either of %s and %s, and move the other out of the log directory.", a.Dir, b.Dir)
		return
	}
	f.Next = fmt.Sprintf("Keep %s: %s. Move %s out of the log directory, and do not delete it before the broker runs.", keep.Dir, why, other.Dir)
	if other.Log.LogEndOffset > keep.Log.LogEndOffset {
		f.Next += fmt.Sprintf(" It is the longer one (%d): what it holds beyond, kafsck loss tells.", other.Log.LogEndOffset)
	}
}
