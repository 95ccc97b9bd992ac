package incident

import (
	"context"
	"slices"

	"kafsck/broker"
	"kafsck/commitment"
	"kafsck/diff"
	"kafsck/epoch"
	"kafsck/replica"
)

// LeaderOptions ask what would happen with each replica as leader.
type LeaderOptions struct {
	Version broker.Version
	// VersionGiven: somebody named the release; else it is an assumption, and the metadata or
	// the directories may know better.
	VersionGiven bool
	// Regenerate returns the leader epochs that a repair would write for a copy. An
	// error is a failed read.
	Regenerate func(ctx context.Context, p *Partition, c *Copy) (epoch.Cache, error)
	// Repaired predicts with the regenerated epochs in place of the files as they are.
	Repaired bool
}

// Leadership is what would happen with each live replica of a partition as leader.
type Leadership struct {
	Version  broker.Version
	Repaired bool // predicted with regenerated epochs
	// Hint is what speaks for another release than Version, which nobody named; nil: nothing.
	Hint *ReleaseHint
	// EraMatters: nobody named the release, and followers of an older one of those that it may
	// be cut their logs elsewhere.
	EraMatters bool
	// Epoch is the newest leader epoch that anybody saw, -1 without epochs.
	Epoch int32
	// Candidates are the live replicas that could be read, best first.
	Candidates []Candidacy
	// Best counts the candidates that are equally good, from the first on; 0: none can
	// lead. The first of them is the recommended one.
	Best int
	// Known: the metadata are there and not stale. Then the rest is what they say:
	// Replicas in the order of the assignment, Leader -1 for none.
	Known        bool
	Replicas     []int32
	Leader       int32
	ISR, ELR     []int32
	LastKnownELR []int32
	// Unclean is unclean.leader.election.enable for the partition, by the metadata.
	Unclean UncleanSetting
	// Absent are the replicas by the metadata, stale or not, that are not among the
	// candidates.
	Absent []AbsentReplica
	// OldFormat: the newest batches of some replica are of message format 0 or 1.
	OldFormat bool
}

// LeaderAbsent reports whether the metadata's leader is not among the inputs: whether it should go on
// to lead cannot be told, and nobody must take over from it for what is here.
func (l *Leadership) LeaderAbsent() bool {
	return slices.ContainsFunc(l.Absent, func(a AbsentReplica) bool { return a.Leads })
}

// AbsentReplica is a replica by the metadata of which no live directory is among the
// inputs, or none that could be read.
type AbsentReplica struct {
	Broker   int32
	Leads    bool
	Eligible bool // in the ISR, else in the ELR
	Unread   bool // it is among the inputs, and could not be read
	HasDisk  bool // other directories of its broker are among the inputs
	// Holds: it led, or was in the ISR or ELR, when another was elected uncleanly, and has not
	// followed since. LastKnown: nobody leads, and it was the last leader known.
	Holds, LastKnown bool
	// Foreign: a broker of that id is among the inputs, of another cluster.
	Foreign bool
}

// Better reports whether the absent replica may hold committed records that no other has.
func (a *AbsentReplica) Better() bool { return a.Leads || a.Eligible || a.Holds || a.LastKnown }

// UncleanSetting is unclean.leader.election.enable as the controller applies it.
type UncleanSetting struct {
	Enabled bool
	// Source is where it is set: "topic config", "broker N config" or "cluster default"; "":
	// nowhere in the metadata, so that the controllers' own properties decide, by default false.
	Source string
}

// CutShort is a replica that ends below its own high watermark: what lies between was
// committed, and somebody or something took it off the log.
type CutShort struct {
	Broker                BrokerRef
	LogEnd, HighWatermark int64 // the missing offsets, [LogEnd, HighWatermark)
	File                  string
}

// Candidacy is one live replica as leader.
type Candidacy struct {
	Copy *Copy
	// State is what the broker holds of it after its start; CannotLead says why it holds
	// nothing, "" if it does.
	State      broker.State
	CannotLead string
	// RepairFirst: it is its leader-epoch-checkpoint alone that keeps it from leading, and
	// everything here is said of it with regenerated epochs.
	RepairFirst bool
	// Epoch is the one in which it leads; where it leads already, the present one.
	Epoch    int32
	Eligible bool // may be elected cleanly by the newest metadata
	Leads    bool // leads by the newest metadata
	// CutByStart is the range of offsets that its own start takes off its log's end.
	CutByStart replica.Span
	// Losses are the records that some copy holds and this one does not; Lost counts
	// their records by grade.
	Losses []Loss
	Lost   map[commitment.Grade]int64
	// CopiedLater are offsets above its end, in its own newest epoch, that only disks copied
	// later hold: if its broker ran on, it may have them by now. They are counted as lost,
	// but for who leads already.
	CopiedLater int64
	// Followers are the other live replicas that could be read, in their order.
	Followers []FollowerFate
	// Broken are the transactions that have an end in another copy and none here, by
	// first offset; at most maxBroken, BrokenCount counts all.
	Broken      []BrokenTransaction
	BrokenCount int
	Groups      []StrandedGroup
	// CutShort are replicas below whose high watermark records are missing that this one
	// does not have either. They are not counted in Lost.
	CutShort []CutShort
}

// FollowerFate is what a replica does when it meets the leader.
type FollowerFate struct {
	Copy  *Copy
	State broker.State // before
	// Offline says why the replica does not start, "" if it does; then nothing else is set.
	Offline string
	broker.Truncation
	// ThrownAway are records and bytes that it drops; Again of these records stand in the
	// leader's log as well and are fetched again.
	ThrownAway, Again, ThrownAwayBytes int64
	BelowHighWatermark                 bool // it drops offsets below its own high watermark
	// Base is the first offset of the batch that To lies inside of, -1 if it lies inside of
	// none. A truncation drops that batch of its own log whole; after a rebuild it is the
	// leader's, and the new log begins with it, below its own log start.
	Base int64
	// Kept are the ranges in which it goes on to hold other records than the leader.
	Kept []KeptRange
	// FetchBytes is what it fetches to reach the leader's end as it is now.
	FetchBytes int64
	// Otherwise is what it would do with the other epochs: regenerated ones or, with
	// LeaderOptions.Repaired, the files as they are. nil: the same.
	Otherwise *Alternative
}

// KeptRange is a range [From, To) in which follower and leader stay different.
type KeptRange struct {
	From, To int64
	Kind     diff.Kind
	// MendedBy are the brokers from which a repair takes what is damaged or missing there.
	MendedBy []BrokerRef
}

// Alternative is a follower's fate with other epoch caches.
type Alternative struct {
	broker.Truncation
	Kept []KeptRange
	// Offline: with these epochs the follower or the leader does not start.
	Offline string
}

// BrokenTransaction is a transaction whose end the candidate does not have: it stays open
// there from First on, and read_committed consumers get nothing behind it.
type BrokenTransaction struct {
	ProducerID    int64
	ProducerEpoch int16
	First, Marker int64 // offsets; the marker's in the copy that has it
	State         replica.TransactionState
	HeldBy        BrokerRef
}

// StrandedGroup is a consumer group whose committed position the candidate's log does
// not bear out.
type StrandedGroup struct {
	Group    string
	Position int64 // the next offset that it would read
	TimeMs   int64 // when it was committed, -1 unknown
	// Beyond: above the log end. Otherwise the group has read records below its position
	// that the candidate does not have.
	Beyond bool
	// Guess: when and in which epoch it read them is not known, so it may have read others.
	Guess bool
}

// LostAll counts the records that are lost or may be.
func (c *Candidacy) LostAll() int64 { return c.Lost[commitment.Yes] + c.Lost[commitment.Unknown] }

// FetchBytes is what all followers fetch together.
func (c *Candidacy) FetchBytes() int64 {
	var n int64
	for i := range c.Followers {
		n += c.Followers[i].FetchBytes
	}
	return n
}

// Forks counts the followers that stay different from the leader, or stuck.
func (c *Candidacy) Forks() int {
	n := 0
	for i := range c.Followers {
		if f := &c.Followers[i]; len(f.Kept) > 0 || f.Stuck {
			n++
		}
	}
	return n
}
