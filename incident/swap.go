package incident

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"kafsck/broker"
	"kafsck/check"
	"kafsck/diff"
	"kafsck/finding"
	"kafsck/logdir"
	"kafsck/replica"
)

// maxSwapFiles bounds the files that are named in one finding.
const maxSwapFiles = 12

// leftBySwap sorts what a replacement of segments leaves in a directory:
//
//	phase                           .cleaned  .swap  .log of the range  .log.deleted
//	1  being written                    x               x
//	2  renamed to .swap, one by one     x       x       x
//	3  complete                                 x       x
//	4  originals renamed                        x      (x)                  x
//	5  done                                                                 x
type leftBySwap struct {
	cleaned, swaps []*logdir.File // all kinds of files
	deleted        []*logdir.Segment
}

func swapFiles(p *logdir.Partition) (l leftBySwap) {
	for _, s := range p.Segments {
		for _, f := range []*logdir.File{s.Log, s.Index, s.TimeIndex, s.TxnIndex, s.Snapshot} {
			if f == nil {
				continue
			}
			switch logdir.SuffixOf(f.Name) {
			case logdir.Cleaned:
				l.cleaned = append(l.cleaned, f)
			case logdir.Swap:
				l.swaps = append(l.swaps, f)
			}
		}
		if s.Suffix == logdir.Deleted && s.Log != nil && s.Log.Size > 0 {
			l.deleted = append(l.deleted, s)
		}
	}
	return l
}

// interruptedSwap judges a replacement of segments that did not end: how far it came, what the next
// start makes of it, and whether that takes records away.
func (j *judgement) interruptedSwap(ctx context.Context, c *Copy, s check.Subject) []finding.Finding {
	if c.State != replica.Live && c.State != replica.Future {
		return nil
	}
	left := swapFiles(c.Log.Partition)
	switch {
	case len(left.cleaned) > 0:
		return []finding.Finding{j.swapIncomplete(c, s, left)}
	case len(left.swaps) > 0:
		return j.swapComplete(ctx, c, s, left)
	case s.Compacted:
		return swapDone(c, s, left)
	}
	return nil
}

func swapFinding(s check.Subject, severity finding.Severity, f *logdir.File, summary string) finding.Finding {
	return finding.Finding{Code: "interrupted-swap", Severity: severity, At: s.At(f.Path), Count: 1, Summary: summary, Next: check.Next("interrupted-swap")}
}

// swapIncomplete: LogLoader.removeTempFilesAndCollectSwapFiles.
func (j *judgement) swapIncomplete(c *Copy, s check.Subject, left leftBySwap) finding.Finding {
	lowest := left.cleaned[0].BaseOffset
	for _, f := range left.cleaned {
		lowest = min(lowest, f.BaseOffset)
	}
	gone := slices.Clone(left.cleaned)
	for _, f := range left.swaps {
		if f.BaseOffset >= lowest {
			gone = append(gone, f)
		}
	}
	what := "its files were still being written (.cleaned)"
	if len(left.swaps) > 0 {
		what = "its files were being renamed from .cleaned to .swap"
	}
	f := swapFinding(s, finding.Note, left.cleaned[0], fmt.Sprintf("a replacement of segments was interrupted while %s: the next start drops it, and the originals stay", what))
	f.At.From = lowest
	f.Count = len(gone)
	f.Evidence = append(f.Evidence, says("the next start deletes %s", fileNames(gone)))
	f.Next = "Nothing: no record is in these files alone. kafsck predict start shows every deletion."
	return f
}

// swapComplete: LogLoader, passes 2 and 3. Model and view agree on what stays; what the log then lacks
// is told by comparing its records with those of the originals.
func (j *judgement) swapComplete(ctx context.Context, c *Copy, s check.Subject, left leftBySwap) []finding.Finding {
	severity, why := finding.Note, "a kill in the middle of it leaves that"
	if c.Log.Partition.LogDir.CleanShutdown {
		severity, why = finding.Warning, "a broker that stops cleanly leaves no such files: they were renamed or copied by somebody else"
	}
	version, _ := j.g.cluster.ReleaseFor(broker.Latest, false)
	loaded, err := loadCopy(ctx, c.Log.Partition, version)
	if err != nil {
		if ctx.Err() == nil {
			j.p.Errors = append(j.p.Errors, failedRead(c.Dir, err))
		}
		return nil
	}
	var originals []string
	var others, renamed int
	for _, a := range loaded.Actions {
		switch {
		case a.Action == broker.ActRename:
			renamed++
		case a.Action != broker.ActDelete && a.Action != broker.ActDeleteSnapshot:
		case strings.HasSuffix(a.File, ".log"):
			text := a.File
			if a.ToOffset > a.From {
				text += fmt.Sprintf(" (%s)", offsetsOf(a.From, a.ToOffset))
			}
			originals = append(originals, text)
		default:
			others++
		}
	}
	state := "the originals are renamed to .deleted already"
	switch {
	case len(originals) > 0:
		state = "the originals are still there"
	case len(left.deleted) == 0:
		state = "no original is left"
	}
	f := swapFinding(s, severity, left.swaps[0], fmt.Sprintf("a replacement of segments was interrupted with its .swap files complete by their names; %s, and the next start puts the .swap files in their place", state))
	f.At.From = left.swaps[0].BaseOffset
	f.Count = len(left.swaps)
	f.Evidence = append(f.Evidence, says("the next start renames %s to their final names", fileNames(left.swaps)))
	if len(originals) > 0 {
		beside := ""
		if others > 0 {
			beside = fmt.Sprintf(", and %s beside them", counted(others, "file"))
		}
		f.Evidence = append(f.Evidence, says("it deletes %s%s", named(originals), beside))
	} else if others > 0 {
		f.Evidence = append(f.Evidence, says("it deletes %s", counted(others, "other file")))
	}
	f.Evidence = append(f.Evidence, says("%s", why))
	if loaded.Outcome != broker.OK && loaded.Outcome != broker.BecomesStray {
		f.Evidence = append(f.Evidence, says("that start fails: %s", loaded.Why))
	}
	if !j.inc.opt.FilesOnly {
		j.swapCovers(c, &f)
	}
	return []finding.Finding{f}
}

// swapCovers makes a loss of it if the swap is less than what it replaces.
func (j *judgement) swapCovers(c *Copy, f *finding.Finding) {
	for i, seg := range c.Log.Segments {
		if seg.Suffix != logdir.Swap {
			continue
		}
		for _, a := range c.Log.Anomalies.Kept {
			if a.Segment != i {
				continue
			}
			switch a.Kind {
			case replica.TornTail, replica.JunkBytes, replica.ZeroTail, replica.ZeroHole, replica.BadChecksum, check.UnknownMagic, replica.IndexPointsNowhere:
			default:
				continue
			}
			where := seg.Log
			if a.File != nil {
				where = a.File
			}
			f.Severity = finding.Loss
			f.Summary = "a replacement of segments was interrupted, and its .swap file is cut short or damaged: the next start puts it in the place of the original all the same"
			f.Evidence = append(f.Evidence, says("%s, position %d: %s; when that segment is recovered, Kafka cuts the log there and drops every later segment", where.Path, a.Position, strings.ReplaceAll(string(a.Kind), "-", " ")))
			break
		}
	}
	var lost []string
	n := 0
	for _, o := range j.p.Copies {
		if o.Log == nil || !o.readable() || o.Dir != c.Dir || o.Broker != c.Broker || o.State != replica.Replaced && o.State != replica.Deleted {
			continue
		}
		gone, err := diff.Missing(c.Content(), o.Content(), c.Log.LogStartOffset, j.p.Ruling.Policy == compactPolicy)
		if err != nil {
			j.p.Errors = append(j.p.Errors, failedRead(o.Dir, err))
			return
		}
		if o.State == replica.Deleted && !j.swapReplaces(c, o) {
			continue
		}
		for _, g := range gone {
			if n++; n == 1 {
				f.At.From, f.At.To = g.From, g.To
			}
			if n <= maxSwapFiles {
				lost = append(lost, offsetsOf(g.From, g.To))
			}
		}
	}
	if n == 0 {
		return
	}
	more := ""
	if n > len(lost) {
		more = fmt.Sprintf(" and %d more ranges", n-len(lost))
	}
	if f.Severity != finding.Loss {
		f.Severity = finding.Loss
		f.Summary = "a replacement of segments was interrupted, and its .swap files do not hold all that they replace: the next start deletes the originals all the same"
	}
	f.Evidence = append(f.Evidence, says("only the originals hold %s%s: the newest record of its key, or one that no later record replaces", strings.Join(lost, ", "), more))
}

// swapReplaces reports whether a .deleted file lies in the place of a swap.
func (j *judgement) swapReplaces(c, o *Copy) bool {
	for _, s := range c.Log.Segments {
		if s.Suffix == logdir.Swap && len(o.Log.Segments) > 0 && s.BaseOffset <= o.Log.Segments[0].BaseOffset {
			return true
		}
	}
	return false
}

// swapDone: the originals of a finished swap wait for file.delete.delay.ms. Retention deletes from
// the front, and a truncation from the end: what lies inside the log was replaced.
func swapDone(c *Copy, s check.Subject, left leftBySwap) []finding.Finding {
	var inside []*logdir.File
	for _, d := range left.deleted {
		if len(c.Log.Segments) > 0 && d.BaseOffset >= c.Log.Segments[0].BaseOffset && d.BaseOffset < c.Log.Segments[len(c.Log.Segments)-1].BaseOffset {
			inside = append(inside, d.Log)
		}
	}
	if len(inside) == 0 {
		return nil
	}
	f := swapFinding(s, finding.Note, inside[0], fmt.Sprintf("a replacement of segments is finished; %s of what it replaced wait to be deleted", counted(len(inside), ".log.deleted file")))
	f.At.From = inside[0].BaseOffset
	f.Count = len(inside)
	f.Evidence = append(f.Evidence, says("the next start deletes %s", fileNames(inside)))
	f.Next = "Nothing. Copy them before the broker is started if a record that was cleaned is still wanted."
	return []finding.Finding{f}
}

func fileNames(list []*logdir.File) string {
	var names []string
	for _, f := range list {
		names = append(names, f.Name)
	}
	return named(names)
}

func named(names []string) string {
	if n := len(names); n > maxSwapFiles {
		return fmt.Sprintf("%s and %d more files", strings.Join(names[:maxSwapFiles], ", "), n-maxSwapFiles)
	}
	return strings.Join(names, ", ")
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%s %ss", humanize.Comma(int64(n)), what)
}
