package incident

import (
	"cmp"
	"context"
	"slices"

	"kafsck/broker"
	"kafsck/checkpoint"
	"kafsck/epoch"
	"kafsck/logdir"
)

// loadedCopy is a replica after its broker's start, with the epochs as they are and as a
// repair would write them; offline says why it does not come up with them.
type loadedCopy struct {
	copy    *Copy
	asIs    broker.State
	offline string
	// repaired has the same log with other epochs; same: they make no difference.
	repaired broker.State
	same     bool
	// repairs: it is the epoch file that keeps it offline, and a regenerated one ends that.
	repairs bool
}

// start loads a replica as its broker would, and plans the repair of its epochs.
func (w *whatIf) start(ctx context.Context, c *Copy) (s loadedCopy, err error) {
	s = loadedCopy{copy: c, same: true}
	if s.asIs, s.offline, err = afterStart(ctx, c, w.version); err != nil {
		return s, err
	}
	s.repaired = s.asIs
	if w.opt.Regenerate == nil || s.asIs.Legacy {
		return s, nil
	}
	quick := c.Log.Lineage.Rebuild().TruncateFromEnd(s.asIs.LogEnd).TruncateFromStart(s.asIs.LogStart)
	if s.offline == "" && slices.Equal(quick, s.asIs.Epochs.TruncateFromStart(s.asIs.LogStart)) {
		return s, nil
	}
	cache, err := w.opt.Regenerate(ctx, w.j.p, c)
	if err != nil {
		return s, err
	}
	if f := c.Log.Partition.Epochs; s.offline != "" && f != nil && f.Malformed != nil {
		dir := *c.Log.Partition
		dir.Epochs = &checkpoint.EpochFile{Entries: cache}
		repaired, offline, err := afterStartOf(ctx, c, &dir, w.version)
		if err != nil {
			return s, err
		}
		if offline == "" {
			s.repaired, s.repairs = repaired, true
		}
	}
	s.repaired.Epochs = epoch.Load(cache).TruncateFromEnd(s.repaired.LogEnd)
	s.same = s.offline == "" && slices.Equal(s.repaired.Epochs, s.asIs.Epochs)
	return s, nil
}

// afterStart is what a broker holds of a replica after its next start. offline says why
// the start refuses it, with the state as it stands on disk. A directory without
// partition.metadata is taken for a member: predict start tells of strays.
func afterStart(ctx context.Context, c *Copy, v broker.Version) (s broker.State, offline string, err error) {
	return afterStartOf(ctx, c, c.Log.Partition, v)
}

// afterStartOf is afterStart of a directory that may differ from the copy's in its epochs.
func afterStartOf(ctx context.Context, c *Copy, dir *logdir.Partition, v broker.Version) (s broker.State, offline string, err error) {
	loaded, err := loadCopy(ctx, dir, v)
	if err != nil {
		return s, "", err
	}
	if loaded.Outcome != broker.OK && loaded.Outcome != broker.BecomesStray {
		s, _ = stateOf(c, v)
		return s, cmp.Or(loaded.Why, string(loaded.Outcome)), nil
	}
	s = loaded.State(c.Broker.ID)
	s.Legacy = legacy(c, v)
	return s, "", nil
}

// loadCopy predicts the load of a directory, with its lines in the checkpoint files.
func loadCopy(ctx context.Context, dir *logdir.Partition, v broker.Version) (*broker.Loaded, error) {
	in := broker.LoadInput{Version: v, KeepStray: true, Clean: dir.LogDir.CleanShutdown}
	for _, line := range []struct {
		to   *int64
		file *logdir.CheckpointFile
	}{{&in.RecoveryPoint, dir.LogDir.RecoveryPoints}, {&in.LogStart, dir.LogDir.LogStarts}, {&in.HighWatermark, dir.LogDir.HighWatermarks}} {
		if line.file != nil && line.file.Malformed == nil {
			*line.to, _ = line.file.Line(dir)
		}
	}
	return broker.Load(ctx, dir, in)
}

// stateOf is a replica as it stands on disk: what a broker holds of it after a start that
// leaves it as it is. offline says why the start refuses it.
func stateOf(c *Copy, v broker.Version) (s broker.State, offline string) {
	l := c.Log
	s = broker.State{Broker: c.Broker.ID, LogStart: l.LogStartOffset, LogEnd: l.LogEndOffset, Epochs: l.Loaded.TruncateFromEnd(l.LogEndOffset), Legacy: legacy(c, v)}
	if l.HighWatermark != nil {
		s.HighWatermark = *l.HighWatermark
	}
	s.HighWatermark = min(max(s.HighWatermark, s.LogStart), s.LogEnd)
	if f := l.Partition.Epochs; f != nil && f.Malformed != nil {
		offline = "Kafka refuses its leader-epoch-checkpoint: " + f.Malformed.String()
	}
	return s, offline
}

// legacy: since 3.0 every topic is of format 2, whatever its old segments hold.
func legacy(c *Copy, v broker.Version) bool {
	return c.Log.HasLegacy && len(c.Log.Loaded) == 0 && v.Before(3, 0)
}
