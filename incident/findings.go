package incident

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"kafsck/check"
	"kafsck/epoch"
	"kafsck/finding"
	"kafsck/logdir"
	"kafsck/replica"
)

// check judges what is wrong with the copies of a partition, each for itself and
// side by side.
func (j *judgement) check(ctx context.Context) {
	p := j.p
	j.remark()
	differences := j.epochDifferences()
	for _, c := range p.Copies {
		if !c.readable() {
			continue
		}
		s := check.Subject{Partition: p.Name, TopicID: p.TopicID, Broker: c.Broker.Name, Compacted: p.Ruling.Policy == compactPolicy,
			PolicyKnown: p.Ruling.PolicySource == "metadata", RetentionMs: j.retention()}
		if err := explainChecksums(ctx, c.Log); err != nil {
			if ctx.Err() == nil {
				c.Err = err
				p.Errors = append(p.Errors, failedRead(c.Dir, err))
			}
			continue
		}
		p.Findings = append(p.Findings, check.Log(c.Log, s)...)
		p.Findings = append(p.Findings, check.Directory(c.Log, s, kraftBroker(c.Log.Partition.LogDir))...)
		p.Findings = append(p.Findings, j.interruptedSwap(ctx, c, s)...)
		p.Findings = append(p.Findings, check.Offsets(c.Log, s)...)
		p.Findings = append(p.Findings, check.Epochs(c.Log, s, differences[c])...)
	}
	if j.inc.opt.Transactions {
		p.Findings = append(p.Findings, j.inc.txns.Findings(ctx, p)...)
	}
	if j.inc.opt.Files {
		j.remoteLineage()
		j.inc.noteSpace(p)
	}
	j.salvaged()
	p.whoHolds()
}

// whoHolds adds to the damage of batches what the other replicas have there.
func (p *Partition) whoHolds() {
	if len(p.Live()) < 2 {
		return
	}
	for i := range p.Findings {
		f := &p.Findings[i]
		gap := f.Code == "segment-gap" || f.Code == "offset-gap"
		switch f.Code {
		case "batch-crc-mismatch", "batch-magic-unknown", "log-bytes-unreadable", "log-bytes-zeroed":
		default:
			if !gap {
				continue
			}
		}
		for _, said := range p.saidOf(f, map[bool]string{true: "missing", false: "damaged"}[gap]) {
			f.Evidence = append(f.Evidence, finding.Evidence{Claim: said})
		}
		if !gap && f.At.From >= 0 && f.At.To > f.At.From && !p.anyWhole(f) {
			f.Next = "No replica among the inputs holds this whole, so none can repair it: save the records around it (kafsck dump --records), and look for replicas or backups that are not among the inputs. Do not restart a broker uncleanly before they are saved. kafsck repair plan says what can be cut out."
		}
	}
}

// saidOf tells of the places of a finding who else has them, those with the same answer at once.
func (p *Partition) saidOf(f *finding.Finding, state string) []string {
	const most = 6 // ranges on a line
	var answers []string
	ranges := map[string][]finding.Range{}
	for _, r := range f.Ranges {
		whole, same, others := p.holders(f.At.Broker, r.From, r.To)
		said := "no other replica among the inputs holds them"
		switch {
		case len(whole) > 0:
			said = "whole on " + onBrokers(whole)
		case same == others && others > 0:
			said = fmt.Sprintf("%s on all %d replicas among the inputs, so no replica can repair it", state, others+1)
		}
		if ranges[said] == nil {
			answers = append(answers, said)
		}
		ranges[said] = append(ranges[said], r)
	}
	var out []string
	for _, said := range answers {
		list := ranges[said]
		slices.SortFunc(list, func(a, b finding.Range) int { return cmp.Compare(a.From, b.From) })
		words := []string{}
		for _, r := range list[:min(len(list), most)] {
			words = append(words, strings.TrimPrefix(strings.TrimPrefix(offsetsOf(r.From, r.To), "offsets "), "offset "))
		}
		if n := len(list) - most; n > 0 {
			words = append(words, fmt.Sprintf("%s more ranges", humanize.Comma(int64(n))))
		}
		what := offsetsOf(list[0].From, list[0].To)
		if len(list) > 1 {
			what = "offsets " + listed(words)
		}
		out = append(out, what+": "+said)
	}
	return out
}

// holders names the live replicas on other brokers that hold all of [from, to), and
// counts those that are damaged there, and all that could be read.
func (p *Partition) holders(broker string, from, to int64) (whole []string, damaged, others int) {
	for _, c := range p.Live() {
		if c.Broker.Name == broker || !c.readable() {
			continue
		}
		others++
		switch {
		case c.damagedAt(from, to):
			damaged++
		case c.Log.LogStartOffset <= from && to <= c.Log.LogEndOffset:
			whole = append(whole, c.Broker.Name)
		}
	}
	return whole, damaged, others
}

// anyWhole reports whether another replica holds anything of what a finding speaks of.
func (p *Partition) anyWhole(f *finding.Finding) bool {
	return slices.ContainsFunc(f.Ranges, func(r finding.Range) bool {
		whole, _, _ := p.holders(f.At.Broker, r.From, r.To)
		return len(whole) > 0
	})
}

// damagedAt reports whether something in [from, to) of the copy cannot be read.
func (c *Copy) damagedAt(from, to int64) bool {
	return slices.ContainsFunc(c.Log.Anomalies.Kept, func(a replica.Anomaly) bool {
		switch a.Kind {
		case replica.BadChecksum, check.UnknownMagic, replica.JunkBytes, replica.ZeroHole, replica.Gap, replica.SegmentGap:
			return a.From < to && from < a.To
		}
		return false
	})
}

func onBrokers(names []string) string {
	if len(names) == 1 {
		return "broker " + names[0]
	}
	return "brokers " + listed(names)
}

// epochDifferences compares leader-epoch-checkpoint with the batches of each copy.
// Without batches only what the file says by itself can be told.
func (j *judgement) epochDifferences() map[*Copy][]epoch.Difference {
	out := map[*Copy][]epoch.Difference{}
	if !j.inc.opt.FilesOnly {
		e := j.p.Epochs()
		for i := range e.Copies {
			out[e.Copies[i].Copy] = e.Copies[i].Differences
		}
		j.p.Errors = append(j.p.Errors, e.Errors...)
		return out
	}
	for _, c := range j.p.Copies {
		if !c.readable() || c.Log.Partition.EpochsFile == nil || c.Log.Partition.Epochs == nil || c.Log.Partition.Epochs.Malformed != nil {
			continue
		}
		for _, d := range epoch.Compare(epoch.Comparison{File: c.Log.Checkpoint, Loaded: c.Log.Loaded, LogStart: c.Log.LogStartOffset, LogEnd: c.Log.LogEndOffset, FirstBatch: -1, FirstBatchLast: -1, Live: true}) {
			if d.Kind == epoch.NotMonotonic || d.Kind == epoch.BeyondEnd || d.Kind == epoch.AtEnd {
				out[c] = append(out[c], d)
			}
		}
	}
	return out
}

// kraftBroker reports whether the owner of a log directory belongs to a cluster
// without ZooKeeper: it has a metadata log, or meta.properties of version 1.
func kraftBroker(d *logdir.LogDir) bool {
	if d.Broker == nil {
		return d.Meta != nil && d.Meta.Version >= 1
	}
	return slices.ContainsFunc(d.Broker.Dirs, func(o *logdir.LogDir) bool {
		return o.Metadata != nil || o.Meta != nil && o.Meta.Malformed == nil && o.Meta.Version >= 1
	})
}

// remark adds findings about the partition as a whole.
func (j *judgement) remark() {
	p := j.p
	live := map[BrokerRef]*Copy{}
	for _, c := range p.Copies {
		if c.State == replica.Live && !c.Extra {
			live[c.Broker] = c
		}
	}
	for _, c := range p.Copies {
		switch {
		case c.Extra:
			p.addFinding("duplicate-partition-dirs", finding.Damage, c.Broker.Name, c.Dir,
				fmt.Sprintf("broker %s has a second live directory of %s; a broker does not start with both", c.Broker.Name, p.Name), "")
			p.lastEvidence(describeCopy(live[c.Broker]), describeCopy(c))
			p.compareTwins(live[c.Broker], c, j.inc.opt.FilesOnly)
		case c.State == replica.Future && live[c.Broker] != nil:
			p.addFinding("duplicate-partition-dirs", finding.Note, c.Broker.Name, c.Dir,
				fmt.Sprintf("broker %s is moving %s to another disk", c.Broker.Name, p.Name), "nothing: the broker goes on copying and swaps the directories when it is done")
			p.lastEvidence(describeCopy(live[c.Broker]), describeCopy(c))
		case c.State == replica.Stray || c.State == replica.Delete:
			j.leftover(c, live[c.Broker])
		}
	}
	switch {
	case j.known.owner != "":
		p.addFinding("topic-id-mismatch", finding.Damage, "", "",
			fmt.Sprintf("by the metadata %s is the topic id of %s: partition.metadata was copied or edited", p.TopicID, j.known.owner), copiedIDNext)
		p.Findings[len(p.Findings)-1].Kafka = copiedIDKafka
		for _, c := range p.Copies {
			p.lastEvidence(says("broker %s: %s", c.Broker.Name, c.Dir))
		}
	case j.known.foreign:
		p.addFinding("topic-id-mismatch", finding.Warning, "", "",
			fmt.Sprintf("the metadata know %s under another topic id than %s: these directories belong to another topic of the same name, and a broker sets them aside as -stray", p.Topic, p.TopicID), "")
		for _, c := range p.Copies {
			p.lastEvidence(says("broker %s: %s", c.Broker.Name, c.Dir))
		}
	}
	if p.Stale {
		p.addFinding("metadata-stale", finding.Warning, "", "",
			fmt.Sprintf("%s: %s (newest epoch in the logs: %d); who rules is a guess", p.Name, j.whyStale(), j.latestEpoch()), "")
	}
	if !p.Ruling.Judged && p.Ruling.Reason != "" && p.Ruling.Leader != nil {
		severity := finding.Warning
		if j.inc.brokersWithData() <= 1 {
			severity = finding.Note // one broker's disk alone is normal use
		}
		p.addFinding("leader-not-among-inputs", severity, p.Ruling.Leader.Name, "", p.Ruling.Reason,
			fmt.Sprintf("copy broker %s's log directory and add it", p.Ruling.Leader.Name))
	}
}

// leftover judges a directory that was set aside whole.
func (j *judgement) leftover(c, live *Copy) {
	p := j.p
	if !c.readable() {
		return
	}
	end := c.Log.LogEndOffset
	if c.State == replica.Stray && live != nil && live.readable() && end > live.Log.LogEndOffset && p.TopicID != "" && !j.inc.opt.FilesOnly {
		p.addFinding("leftover-directory", finding.Loss, c.Broker.Name, c.Dir,
			fmt.Sprintf("the -stray directory is of the same topic and reaches %d, the live one ends at %d: no broker serves what lies between", end, live.Log.LogEndOffset),
			fmt.Sprintf("Copy this directory, and save %s, which the live one lacks (kafsck dump --records), before anybody deletes it. No plan takes it out.", offsetsOf(live.Log.LogEndOffset, end)))
		p.lastEvidence(describeCopy(live), describeCopy(c))
		return
	}
	if c.State == replica.Delete && live != nil && live.readable() && p.TopicID != "" && !j.inc.opt.FilesOnly && j.reachesFurthest(end) {
		p.addFinding("leftover-directory", finding.Loss, c.Broker.Name, c.Dir,
			fmt.Sprintf("the -delete directory is of the same topic and reaches %d, which no live copy among the inputs does: the next start deletes it", end), "Copy the directory away before the broker starts: kafsck dump --records shows what it holds beyond the live ones.")
		p.lastEvidence(describeCopy(live), describeCopy(c))
		return
	}
	if live == nil && j.assigned(c) {
		p.addFinding("leftover-directory", finding.Warning, c.Broker.Name, c.Dir,
			fmt.Sprintf("by the cluster metadata the topic exists and broker %s has a replica of it, and the only directory of it there is a %s one", c.Broker.Name, c.State),
			"It is all that this broker has of the partition: a start makes an empty directory and fetches anew. Where no other replica reaches as far (kafsck ls, kafsck diff), save what it holds first (kafsck dump --records).")
		p.lastEvidence(describeCopy(c))
		return
	}
	what := "keeps it for ever"
	if c.State == replica.Delete {
		what = "deletes it soon after its start"
	}
	p.addFinding("leftover-directory", finding.Note, c.Broker.Name, c.Dir, fmt.Sprintf("a %s directory is left; a broker %s", c.State, what), "")
	p.lastEvidence(describeCopy(c))
}

// reachesFurthest reports whether every live copy ends below an offset.
func (j *judgement) reachesFurthest(end int64) bool {
	for _, c := range j.p.Live() {
		if !c.readable() || c.Log.LogEndOffset >= end {
			return false
		}
	}
	return true
}

// assigned reports whether the newest metadata give a broker a replica of the partition, under the
// topic id that the directory has.
func (j *judgement) assigned(c *Copy) bool {
	last := j.known.last()
	return last != nil && j.known.topic != nil && !j.known.removed && c.Broker.Known && j.p.TopicID != "" && slices.Contains(last.Replicas, c.Broker.ID)
}

// describeCopy says what a directory holds.
func describeCopy(c *Copy) finding.Evidence {
	if c == nil {
		return says("no live directory")
	}
	if !c.readable() {
		return says("%s could not be read", c.Dir)
	}
	l := c.Log
	return says("%s: offsets from %d, log end %d, newest epoch %d, %s bytes", c.Dir, l.LogStartOffset, l.LogEndOffset, l.LatestEpoch(), humanize.Comma(l.Bytes))
}

func says(format string, args ...any) finding.Evidence {
	return finding.Evidence{Claim: fmt.Sprintf(format, args...)}
}

// lastEvidence adds evidence to the finding that was added last.
func (p *Partition) lastEvidence(list ...finding.Evidence) {
	f := &p.Findings[len(p.Findings)-1]
	f.Evidence = append(f.Evidence, list...)
}

// brokersWithData counts the brokers with a partition among those selected.
func (inc *Incident) brokersWithData() int {
	have := map[*logdir.Broker]bool{}
	for p := range inc.Case.AllPartitions() {
		if inc.opt.Match == nil || inc.opt.Match(p.Topic, p.Partition) {
			have[p.LogDir.Broker] = true
		}
	}
	return len(have)
}

// Findings judges what belongs to no single partition: the files of each log
// directory, the directories of each broker, and the inputs as a whole. No log is
// read for it.
func (inc *Incident) Findings() []finding.Finding {
	var out []finding.Finding
	for _, cl := range inc.Clusters {
		for _, b := range cl.Brokers {
			name := cl.refs[b].Name
			for _, d := range b.Dirs {
				own := check.LogDir(d, name, inc.opt.Match)
				inc.tellMeta(cl, b, d, own)
				out = append(out, own...)
				if d.Metadata != nil {
					out = append(out, check.MetadataFiles(d.Metadata, name)...)
				}
				if m := cl.disks[b].metadata; m != nil && d.Metadata != nil {
					out = append(out, check.StaleQuorumState(d.Metadata, name, m.RaftEpoch)...)
					out = append(out, check.MetadataLog(d.Metadata, name, m)...)
				}
				if !inc.opt.FilesOnly {
					out = append(out, inc.remoteIndexCache(d, name)...)
				}
			}
			out = append(out, check.Broker(b, name, inc.opt.Match)...)
		}
		out = append(out, inc.metadataFindings(cl)...)
		out = append(out, inc.copiedIDs(cl)...)
	}
	known := func(topic string) bool {
		return slices.ContainsFunc(inc.Clusters, func(c *Cluster) bool { return c.Metadata != nil && len(c.Metadata.TopicByName(topic)) > 0 })
	}
	whole := check.Case(inc.Case, inc.opt.Match, known)
	inc.tellSameTopic(whole)
	return append(out, whole...)
}

// listed joins words as a sentence does.
func listed(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
