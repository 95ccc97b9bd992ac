package apply

import (
	"context"
	"os"
	"path"
	"slices"

	"kafsck/checkpoint"
	"kafsck/logdir"
	"kafsck/repair"
	"kafsck/replica"
	"kafsck/segment"
)

const logStartFile = "log-start-offset-checkpoint"

// verifyLogStarts looks at the lines that say where the logs of a root begin: what lies below is deleted.
func (x *run) verifyLogStarts(ctx context.Context, r *root) error {
	i := slices.IndexFunc(x.l.files, func(t *target) bool { return t.root == r && t.file == logStartFile })
	if i < 0 && r.inputs[logStartFile] == nil || i >= 0 && x.l.files[i].edit == nil {
		return nil
	}
	before, after, err := x.logStarts(r, i)
	if err != nil {
		return err
	}
	for _, g := range x.l.logs(r) {
		d, err := logdir.ParseDirName(g.dir)
		if err != nil || len(g.out) == 0 {
			continue
		}
		from, _ := baseOf(g.out[0].file)
		to, ok := after.Lookup(d.Topic, d.Partition)
		if old, ok := before.Lookup(d.Topic, d.Partition); ok && before.Malformed == nil {
			from = max(from, old)
		}
		loses := x.l.loses(r, g.dir)
		if !ok || after.Malformed != nil || to <= from || covers(loses, from, to) {
			continue
		}
		for _, t := range g.out {
			if base, err := baseOf(t.file); err == nil && base >= to {
				break
			}
			err := x.walkOutput(ctx, t, func(f *segment.Frame) error {
				base, next, ok := frameOffsets(f)
				if base, next = max(base, from), min(next, to); !ok || base >= next || covers(loses, base, next) {
					return nil
				}
				return x.fail(path.Join(r.Name, logStartFile), "the line of %s becomes %d: the records at offsets %d–%d go with it, and no action says that it loses these", g.dir, to, base, next-1)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// logStarts reads the file as it is in the input and in the result. i is its target, -1 none.
func (x *run) logStarts(r *root, i int) (before, after *checkpoint.OffsetFile, err error) {
	var old, now []byte
	if in := r.inputs[logStartFile]; in != nil {
		src, err := r.fsys.Open(r.inside(logStartFile))
		if err != nil {
			return nil, nil, err
		}
		defer src.Close()
		old = make([]byte, in.Size)
		if err := readFull(src, old, 0); err != nil {
			return nil, nil, err
		}
	}
	if i >= 0 {
		if now, err = os.ReadFile(x.staged(x.l.files[i])); err != nil {
			return nil, nil, err
		}
	}
	return checkpoint.ParseOffsets(old), checkpoint.ParseOffsets(now), nil
}

// verifyRecords holds the records of a log that was repaired against the promise, counted as the plan
// counts them: by the headers that the check of the result has read, of what lies above the log start.
func (x *run) verifyRecords(r *root, log *replica.Log) error {
	i := slices.IndexFunc(x.l.plan.Promises, func(p repair.Promise) bool {
		return x.l.roots[p.Root] == r && p.Dir == dirOf(r, log.Partition)
	})
	if i < 0 || log.HasLegacy || len(log.Segments) == 0 {
		return nil
	}
	p, got := &x.l.plan.Promises[i], log.Records
	if p.Records == nil || x.waits(p) {
		return nil
	}
	if first := log.Segments[0].BaseOffset; first < p.LogStartOffset {
		for b, err := range log.Blocks(first, p.LogStartOffset) {
			switch {
			case err != nil:
				return err
			case b.Control() || b.Records < 0:
			case b.Next() <= p.LogStartOffset:
				got -= int64(b.Records)
			case int64(b.Records) == b.Next()-b.Base:
				got -= p.LogStartOffset - b.Base
			default:
				return nil // a batch with fewer records than offsets reaches over the log start
			}
		}
	}
	if got != *p.Records {
		return x.fail(path.Join(r.Name, p.Dir), "the records that it has are %d, the plan promises %d", got, *p.Records)
	}
	return nil
}
