package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kafsck/finding"
	"kafsck/internal/wire"
	"kafsck/kraft"
	"kafsck/logdir"
)

// MetadataSnapshots judges the snapshots of a metadata log by their names and against the log:
// whether one reaches the log start, whether they are whole, and whether their epochs are the log's.
// differences are what a replay found.
func MetadataSnapshots(p *logdir.Partition, name string, l *kraft.Log, differences []kraft.SnapshotDifference) []finding.Finding {
	s := Subject{Broker: name}
	var out []finding.Finding
	out = append(out, snapshotMissing(p, s, l)...)
	out = append(out, snapshotUnusable(p, s, l)...)
	out = append(out, snapshotConflict(p, s, l, differences)...)
	return out
}

// snapshotMissing: KafkaRaftLog refuses to open a log that begins above 0 when no snapshot reaches
// its start (IllegalStateException: Inconsistent snapshot state). Only names count there.
func snapshotMissing(p *logdir.Partition, s Subject, l *kraft.Log) []finding.Finding {
	start, segments := int64(-1), 0
	for _, seg := range p.Segments {
		if seg.Log != nil && seg.Suffix == logdir.NoSuffix {
			if segments++; start < 0 {
				start = seg.BaseOffset
			}
		}
	}
	if start <= 0 || p.Incomplete {
		return nil
	}
	newest := int64(-1)
	for _, f := range p.Snapshots {
		newest = max(newest, f.BaseOffset)
	}
	if newest >= start {
		return nil
	}
	at := s.At(p.Dir)
	at.From, at.To = max(newest, 0), start
	got := "no snapshot at all"
	if newest >= 0 {
		got = fmt.Sprintf("the newest ends at %d", newest)
	}
	f := raise("metadata-snapshot-missing", damage, at, fmt.Sprintf("the metadata log begins at offset %d and no snapshot reaches it: what %s told is not here", start, span(at.From, at.To)),
		finding.Evidence{Claim: p.Dir, Want: fmt.Sprintf("a snapshot with an end offset of at least %d", start), Got: got})
	return []finding.Finding{f}
}

// snapshotUnusable: RecordsSnapshotReader, and the footer that says that all of it was written.
func snapshotUnusable(p *logdir.Partition, s Subject, l *kraft.Log) []finding.Finding {
	var bad []kraft.Damage
	files := map[string]bool{}
	for _, d := range l.Damaged {
		if isSnapshot(d.File) {
			bad = append(bad, d)
			files[d.File] = true
		}
	}
	if len(bad) == 0 {
		return nil
	}
	at := s.At(p.Dir + "/" + bad[0].File)
	at.Position = bad[0].Pos
	f := raise("metadata-snapshot-unusable", damage, at, count(len(files), "snapshot of the cluster metadata is", "snapshots of the cluster metadata are")+" not whole")
	f.Count = len(files)
	for _, d := range bad[:min(len(bad), maxExamples-1)] {
		f.Evidence = append(f.Evidence, says("%s/%s position %d: %s", p.Dir, d.File, d.Pos, d.Why))
	}
	whole := wholeSnapshot(l)
	switch {
	case whole == nil && l.StartOffset > 0:
		f.Evidence = append(f.Evidence, says("no whole snapshot reaches the log start, %d: the state before it cannot be read from this directory", l.StartOffset))
	case whole == nil:
		f.Evidence = append(f.Evidence, says("the log begins at offset 0: a replay of the log alone gives the whole state"))
	default:
		f.Evidence = append(f.Evidence, says("%s is whole, and the log goes on from there to %d: together they give the whole state", whole.Name, l.EndOffset))
	}
	return []finding.Finding{f}
}

// isSnapshot tells the names of snapshots from those of segments.
func isSnapshot(name string) bool { return strings.Contains(name, ".checkpoint") }

// setAside tells the names of files that wait to be deleted.
func setAside(name string) bool { return strings.HasSuffix(name, ".deleted") }

// metadataTopicID is Uuid.METADATA_TOPIC_ID.
var metadataTopicID = wire.UUID{15: 1}

// snapshotConflict: a snapshot is the state of the log before its end offset, and its epoch that of
// the last record before it (Snapshots, SnapshotWriter).
func snapshotConflict(p *logdir.Partition, s Subject, l *kraft.Log, differences []kraft.SnapshotDifference) []finding.Finding {
	var out []finding.Finding
	for _, x := range l.Snapshots {
		if !x.Complete {
			continue
		}
		epoch, ok := epochBefore(l, x.EndOffset)
		if !ok || epoch == x.Epoch {
			continue
		}
		at := s.At(p.Dir + "/" + x.Name)
		at.Epoch = x.Epoch
		out = append(out, raise("metadata-snapshot-conflict", damage, at, fmt.Sprintf("snapshot %s is of raft epoch %d, the log has epoch %d before offset %d", x.Name, x.Epoch, epoch, x.EndOffset),
			finding.Evidence{Claim: p.Dir + "/" + x.Name, Want: fmt.Sprintf("epoch %d", epoch), Got: fmt.Sprintf("epoch %d", x.Epoch)}))
	}
	for _, d := range differences {
		f := raise("metadata-snapshot-conflict", damage, s.At(p.Dir+"/"+d.Name), fmt.Sprintf("snapshot %s differs from what the log tells before offset %d in %s", d.Name, d.EndOffset, count(d.Count, "place", "places")))
		f.Count = d.Count
		for _, x := range d.Examples {
			f.Evidence = append(f.Evidence, says("%s", x))
		}
		out = append(out, f)
	}
	return out
}

// epochBefore is the raft epoch of the record before an offset where the log surely holds it: an
// election before it is known, and one behind it, or the log goes on.
func epochBefore(l *kraft.Log, offset int64) (int32, bool) {
	epoch, found, beyond := int32(-1), false, false
	for _, e := range l.Leaders {
		if e.Offset < offset {
			epoch, found = e.RaftEpoch, true
		} else {
			beyond = true
		}
	}
	if !beyond {
		ends := slices.ContainsFunc(l.Snapshots, func(x kraft.Snapshot) bool { return x.EndOffset == l.EndOffset })
		beyond = offset < l.EndOffset && !ends
	}
	for _, g := range l.Gaps {
		if g.From < offset {
			return -1, false
		}
	}
	return epoch, found && beyond
}

// BootstrapCheckpoint judges what reading bootstrap.checkpoint found.
func BootstrapCheckpoint(d *logdir.LogDir, name string, bad []kraft.Damage) []finding.Finding {
	if len(bad) == 0 {
		return nil
	}
	at := Subject{Broker: name}.At(d.Bootstrap.Path)
	at.Position = bad[0].Pos
	f := raise("bootstrap-checkpoint-damaged", damage, at, "bootstrap.checkpoint is not whole")
	f.Count = len(bad)
	for _, x := range bad[:min(len(bad), maxExamples)] {
		f.Evidence = append(f.Evidence, says("%s position %d: %s", d.Bootstrap.Path, max(x.Pos, 0), x.Why))
	}
	return []finding.Finding{f}
}

// MetadataNode is what the inputs hold of one node of a quorum.
type MetadataNode struct {
	Name      string
	ID        int32
	Known     bool // ID is known
	Dir       *logdir.LogDir
	Log       *kraft.Log // of Dir, nil without a metadata directory or where it could not be read
	Directory string     // directory.id
}

// Quorum judges the nodes of one cluster against its newest metadata, nil where no copy tells
// anything: voters that lost their state, contradicting memories of an election, and voters whose
// directory is not the one that the quorum knows.
func Quorum(nodes []MetadataNode, newest *kraft.Log) []finding.Finding {
	var out []finding.Finding
	out = append(out, lostState(nodes, newest)...)
	out = append(out, leaderConflict(nodes, newest)...)
	out = append(out, voterDirectories(nodes, newest)...)
	return out
}

// lostState finds nodes whose metadata directory is empty though they were set up, and whose vote
// is therefore forgotten (FileQuorumStateStore: no file, no vote). Formatting leaves no empty
// __cluster_metadata-0, so an empty one was emptied. Where there is none at all the disk that holds
// it may not be among the inputs, or the node was formatted and never started.
func lostState(nodes []MetadataNode, newest *kraft.Log) []finding.Finding {
	var out []finding.Finding
	voters := knownVoters(nodes, newest)
	for _, n := range nodes {
		d := n.Dir
		if d.Incomplete || d.Partial || d.Meta == nil || d.Meta.Malformed != nil || d.Meta.Version < 1 {
			continue
		}
		p := d.Metadata
		if p != nil && (p.Incomplete || len(p.OddLogs()) > 0) {
			continue
		}
		voter := n.Known && slices.Contains(voters, n.ID)
		held := p != nil && holdsState(p)
		switch {
		case held && p.QuorumStateFile == nil && hasLog(p):
			if newest != nil && !voter && newest.Brokers[n.ID] != nil {
				continue // an observer, which never votes
			}
			f := raise("voter-lost-state", warning, Subject{Broker: n.Name}.At(p.Dir), "quorum-state is missing beside a metadata log: this node has forgotten whom it voted for")
			f.Evidence = append(f.Evidence, says("%s holds a log and no quorum-state", p.Dir))
			f.Kafka = "Starts, and takes the epoch of its log; a vote that it gave in that epoch is forgotten."
			out = append(out, f)
			continue
		case held:
			continue
		case p == nil:
			if voter {
				f := raise("voter-lost-state", note, Subject{Broker: n.Name}.At(d.Path), "the inputs hold no metadata directory of this voter: it is gone, or on a disk that was not given",
					says("%s has no __cluster_metadata-0; %s", d.Path, listVoters(voters)))
				f.Next = "Add the directory that metadata.log.dir names, else the first of log.dirs. If it is empty, see kafsck explain voter-lost-state."
				out = append(out, f)
			}
			continue
		}
		severity := warning
		var why finding.Evidence
		switch {
		case newest == nil:
			why = says("no other copy of the metadata among the inputs tells whether this node votes")
		case voter:
			severity, why = loss, says("node %s is a voter: %s", n.Name, listVoters(voters))
		case newest.Brokers[n.ID] != nil:
			severity, why = note, says("by the newest metadata node %s is a broker and no voter: it fetches the metadata anew and never votes", n.Name)
		default:
			severity, why = loss, says("%s, and the metadata know no broker %s: what this node was, and whether controller.quorum.voters names it, they do not tell", listVoters(voters), n.Name)
		}
		f := raise("voter-lost-state", severity, Subject{Broker: n.Name}.At(p.Dir), "the metadata directory is empty, though meta.properties says that this node was set up",
			says("%s: node.id %d, cluster.id %s; no log, no snapshot and no quorum-state below %s", d.MetaFile.Path, d.Meta.NodeID, d.Meta.ClusterID, p.Dir), why)
		if whole := withState(nodes); len(whole) > 0 {
			f.Evidence = append(f.Evidence, says("metadata directories that hold a log: %s", strings.Join(whole, ", ")))
		}
		if severity == note {
			f.Next = "Nothing; let it start and fetch."
		}
		out = append(out, f)
	}
	return out
}

// holdsState reports whether a metadata directory holds anything that a node wrote while it ran.
// A snapshot 0-0 is what formatting leaves.
func holdsState(p *logdir.Partition) bool {
	return hasLog(p) || p.QuorumStateFile != nil ||
		slices.ContainsFunc(p.Snapshots, func(f *logdir.File) bool { return f.BaseOffset > 0 })
}

func hasLog(p *logdir.Partition) bool {
	return slices.ContainsFunc(p.Segments, func(s *logdir.Segment) bool { return s.Log != nil && s.Suffix == logdir.NoSuffix })
}

func withState(nodes []MetadataNode) []string {
	var out []string
	for _, n := range nodes {
		if n.Dir.Metadata != nil && hasLog(n.Dir.Metadata) {
			out = append(out, "node "+n.Name)
		}
	}
	return out
}

// knownVoters are the voters that the newest metadata or, with a static quorum, any quorum-state
// names.
func knownVoters(nodes []MetadataNode, newest *kraft.Log) []int32 {
	var out []int32
	if newest != nil {
		for _, v := range newest.Voters {
			out = append(out, v.ID)
		}
	}
	for _, n := range nodes {
		if p := n.Dir.Metadata; p != nil && p.QuorumState != nil && p.QuorumState.Malformed == nil && (newest == nil || newest.KRaftVersion == 0) {
			out = append(out, p.QuorumState.Voters...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func listVoters(voters []int32) string {
	if len(voters) == 0 {
		return "nothing among the inputs names the voters"
	}
	var list []string
	for _, v := range voters {
		list = append(list, fmt.Sprint(v))
	}
	return "the voters by the metadata and quorum-state are " + strings.Join(list, ", ")
}

// leaderConflict: an epoch has one leader (LeaderState, ElectionState). Two nodes that remember
// different ones, or one that remembers another than the LEADER_CHANGE record of that epoch names,
// show that somebody voted twice or that a file is from elsewhere.
func leaderConflict(nodes []MetadataNode, newest *kraft.Log) []finding.Finding {
	type claim struct {
		leader int32
		where  string
		broker string
	}
	byEpoch := map[int32][]claim{}
	for _, n := range nodes {
		p := n.Dir.Metadata
		if p == nil || p.QuorumState == nil || p.QuorumState.Malformed != nil || p.QuorumState.LeaderID < 0 {
			continue
		}
		q := p.QuorumState
		byEpoch[q.LeaderEpoch] = append(byEpoch[q.LeaderEpoch], claim{q.LeaderID, p.QuorumStateFile.Path, n.Name})
	}
	if newest != nil {
		for _, e := range newest.Leaders {
			if list := byEpoch[e.RaftEpoch]; len(list) > 0 {
				byEpoch[e.RaftEpoch] = append(list, claim{e.LeaderID, fmt.Sprintf("metadata record %d", e.Offset), ""})
			}
		}
	}
	var out []finding.Finding
	for _, epoch := range slices.Sorted(maps.Keys(byEpoch)) {
		list := byEpoch[epoch]
		votes := map[int32]int{}
		for _, c := range list {
			votes[c.leader]++
			if c.broker == "" {
				votes[c.leader] += len(list) // the record is the election
			}
		}
		if len(votes) < 2 {
			continue
		}
		slices.SortStableFunc(list, func(a, b claim) int { return cmp.Compare(votes[a.leader], votes[b.leader]) })
		at := Subject{Broker: list[0].broker}.At(list[0].where)
		at.Epoch = epoch
		f := raise("quorum-leader-conflict", damage, at, fmt.Sprintf("raft epoch %d has %d different leaders", epoch, len(votes)))
		for _, c := range list[:min(len(list), maxExamples)] {
			f.Evidence = append(f.Evidence, says("%s: leader %d in epoch %d", c.where, c.leader, epoch))
		}
		out = append(out, f)
	}
	return out
}

// voterDirectories: with kraft.version 1 a voter is an id and a directory (ReplicaKey): a node whose
// metadata directory has another directory.id is not that voter (KIP-853).
func voterDirectories(nodes []MetadataNode, newest *kraft.Log) []finding.Finding {
	if newest == nil || newest.KRaftVersion < 1 {
		return nil
	}
	var out []finding.Finding
	for _, n := range nodes {
		if n.Dir.Metadata == nil || n.Directory == "" || !n.Known {
			continue
		}
		for _, v := range newest.Voters {
			if v.ID != n.ID || v.DirectoryID.IsZero() || v.DirectoryID.String() == n.Directory {
				continue
			}
			f := raise("voter-directory-mismatch", warning, Subject{Broker: n.Name}.At(n.Dir.MetaFile.Path), fmt.Sprintf("the quorum knows voter %d by another directory than this one", n.ID),
				finding.Evidence{Claim: n.Dir.MetaFile.Path, Want: "directory.id " + v.DirectoryID.String() + ", as the newest metadata name it", Got: "directory.id " + n.Directory})
			out = append(out, f)
		}
	}
	return out
}

// MetadataFork is a place at which copies of one metadata log part.
type MetadataFork struct {
	Offset int64 // base offset of the first batch that differs
	// Record is the first record that differs, -1 where that could not be told.
	Record int64
	Sides  []ForkSide // those of one content are neighbours, the rarest content first
}

// ForkSide is one copy at a fork.
type ForkSide struct {
	Broker   string
	File     string // shown path of the segment
	Position int64  // byte of the batch in it
	Epoch    int32  // raft epoch of the batch
	Says     string // the record, for people
	Content  int    // equal for copies with the same batch
	Snapshot int64  // end of the newest whole snapshot of this copy, -1 none
	Doubt    string // "" or what in this copy itself speaks against it
}

// MetadataForks judges copies of the metadata log that hold different batches at one offset. In one
// raft epoch there is one leader, which writes each offset once; between two epochs the older batch
// is a tail that never was committed, unless a snapshot of its copy reaches beyond: snapshots hold
// committed records alone (KafkaRaftClient, KIP-630).
func MetadataForks(forks []MetadataFork) []finding.Finding {
	var out []finding.Finding
	for _, k := range forks {
		first, last := k.Sides[0], k.Sides[len(k.Sides)-1]
		severity := warning
		odd := first
		for _, x := range k.Sides {
			if x.Epoch == last.Epoch && x.Content != last.Content || x.Snapshot > k.Offset && x.Epoch < last.Epoch {
				severity = damage
			}
		}
		at := Subject{Broker: odd.Broker}.At(odd.File)
		at.Position, at.Epoch = odd.Position, odd.Epoch
		at.From = k.Offset
		where := fmt.Sprintf("offset %d", k.Record)
		if k.Record < 0 {
			where = fmt.Sprintf("the batch at offset %d", k.Offset)
		}
		f := raise("metadata-log-diverges", severity, at, fmt.Sprintf("%s of the metadata log differ from %s on", count(len(k.Sides), "copy", "copies"), where))
		if severity == warning {
			f.Summary += fmt.Sprintf(": the tail of raft epoch %d on node %s was not committed", odd.Epoch, odd.Broker)
			f.Kafka = "The node cuts that tail when it fetches from the leader."
			f.Next = "Nothing, if the quorum is whole; the copy with the newer epoch tells the truth."
		}
		for _, x := range k.Sides[:min(len(k.Sides), maxExamples)] {
			claim := fmt.Sprintf("node %s, %s position %d, raft epoch %d", x.Broker, x.File, x.Position, x.Epoch)
			if x.Doubt != "" {
				claim += ", and " + x.Doubt
			}
			f.Evidence = append(f.Evidence, finding.Evidence{Claim: claim, Got: x.Says})
		}
		out = append(out, f)
	}
	return out
}
