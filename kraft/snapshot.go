package kraft

import (
	"errors"
	"fmt"
	"slices"

	"kafsck/batch"
	"kafsck/segment"
)

// walkSnapshot reads a snapshot's batches and records in order. damage is called for
// what is not sound, record for each control and data record of a sound batch. The
// error is a failed read.
func (rd *reader) walkSnapshot(f snapshotFile, damage func(Damage), record func(v *batch.View, rec batch.Record)) error {
	next := int64(0)
	for frame, err := range segment.Scan(f.R, f.Size, segment.ScanOptions{NextOffset: 0}) {
		if err != nil {
			return named(err, f.Name)
		}
		if d, bad := frameDamage(f.Name, &frame); bad {
			damage(d)
			continue
		}
		v := frame.Batch
		if v.BaseOffset != next {
			damage(Damage{f.Name, frame.Pos, v.BaseOffset, fmt.Sprintf("base offset is %d, expected %d", v.BaseOffset, next)})
		}
		next = v.NextOffset()
		for rec, err := range v.Records(rd.decompressor) {
			if err != nil {
				damage(Damage{f.Name, frame.Pos, v.BaseOffset, err.Error()})
				break
			}
			record(&v, rec)
		}
	}
	return nil
}

// verify reads a whole snapshot for its soundness: header first, footer last, nothing
// damaged (RecordsSnapshotReader, and Kafka's check for the footer on load).
func (rd *reader) verify(f snapshotFile) error {
	l := rd.log
	sound := true
	damage := func(d Damage) {
		l.damage(d)
		sound = false
	}
	first, last := true, batch.ControlType(-1)
	err := rd.walkSnapshot(f, damage, func(v *batch.View, rec batch.Record) {
		last = -1
		if v.Attributes.Control() {
			c, err := batch.ParseControl(rec.Key, rec.Value)
			if err != nil {
				damage(Damage{f.Name, -1, rec.Offset, err.Error()})
				return
			}
			last = c.Type
			if first && c.Type == batch.ControlSnapshotHeader {
				f.info.TimeMs = c.LastContainedLogTimestamp
			}
		}
		if first && last != batch.ControlSnapshotHeader {
			damage(Damage{f.Name, 0, rec.Offset, "the snapshot does not begin with a header"})
		}
		first = false
	})
	l.Bytes += f.Size
	if err != nil {
		return err
	}
	if last != batch.ControlSnapshotFooter {
		damage(Damage{f.Name, f.Size, -1, "the snapshot does not end with a footer: it is incomplete"})
	}
	f.info.Complete = sound
	return nil
}

// load makes the state that of a complete snapshot.
func (rd *reader) load(f snapshotFile) error {
	l, p := rd.log, rd.replayer
	at := origin{f.info.EndOffset - 1, f.info.TimeMs, f.info.Epoch, true}
	into := p
	if rd.started {
		into = newReplayer(&Log{})
	}
	sound := true
	err := rd.walkSnapshot(f, func(Damage) {}, func(v *batch.View, rec batch.Record) {
		if v.Attributes.Control() {
			if c, err := batch.ParseControl(rec.Key, rec.Value); err == nil {
				l.control(at, c)
			}
			return
		}
		if err := into.record(at, rec.Value); err != nil {
			l.damage(Damage{f.Name, -1, rec.Offset, err.Error()})
			sound = false
		}
	})
	if err != nil {
		return err
	}
	if into != p {
		p.reconcile(at, into.log)
	}
	f.info.Used = true
	if l.SnapshotEnd < 0 && !rd.fromZero {
		l.SnapshotEnd, l.SnapshotName = f.info.EndOffset, f.info.Name
	}
	if !sound {
		p.doubt++ // a record that cannot be read: the rest is only almost the state
	}
	rd.started, rd.certain = true, sound
	return nil
}

// control keeps what control records say about the quorum.
func (l *Log) control(at origin, c batch.Control) {
	voters := func() []Voter {
		out := make([]Voter, len(c.Voters))
		for i, v := range c.Voters {
			out[i] = Voter{v.ID, v.DirectoryID}
		}
		return out
	}
	switch c.Type {
	case batch.ControlLeaderChange:
		e := RaftLeader{at.offset, at.timeMs, at.raftEpoch, c.LeaderID, voters()}
		l.Leaders = append(l.Leaders, e)
		// A dynamic quorum's voters are stated with their directories in a record of
		// their own, which stays in force.
		if l.KRaftVersion == 0 {
			l.Voters = slices.Clone(e.Voters)
		}
	case batch.ControlKRaftVersion:
		l.KRaftVersion = c.KRaftVersion
	case batch.ControlKRaftVoters:
		l.Voters = voters()
	}
}

// named puts the file's name into a failed read.
func named(err error, name string) error {
	if e, ok := errors.AsType[*segment.ReadError](err); ok && e.Path == "" {
		c := *e
		c.Path = name
		return &c
	}
	return err
}

// frameDamage tells whether a frame is anything but a sound batch of magic 2, and why.
func frameDamage(file string, frame *segment.Frame) (Damage, bool) {
	d := Damage{File: file, Pos: frame.Pos, Offset: -1}
	switch frame.Kind {
	case segment.Batch:
		d.Offset = frame.Batch.BaseOffset
		switch {
		case frame.Damage != nil:
			d.Why = frame.Damage.Error()
		case frame.Raw == nil:
			d.Why = fmt.Sprintf("the batch is larger than any in a metadata log: %d bytes", frame.Len)
		case frame.Batch.BaseOffset < 0 || frame.Batch.NextOffset() <= frame.Batch.BaseOffset:
			d.Why = fmt.Sprintf("impossible offsets: base offset %d, last offset delta %d", frame.Batch.BaseOffset, frame.Batch.LastOffsetDelta)
		default:
			return d, false
		}
		return d, true
	case segment.Legacy:
		d.Offset = frame.Legacy.Offset
		d.Why = "a message of an old format, which a metadata log never holds"
	case segment.Embedded:
		d.Offset = frame.Batch.BaseOffset
		d.Why = "a batch that is not part of the log"
	default:
		d.Why = fmt.Sprintf("%d bytes of %s", frame.Len, frame.Kind)
	}
	if frame.Damage != nil {
		d.Why += ": " + frame.Damage.Error()
	}
	return d, true
}
