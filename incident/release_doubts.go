package incident

import (
	"fmt"

	"kafsck/broker"
)

// Contradicts says why the directories of a cluster cannot be those of a broker of a release, each a
// sentence without its full stop: nothing that a start of it would do is to be expected then. None where
// nothing speaks against it.
//
//	what is there                     releases
//	meta.properties of version 0      before 4.0   (ZooKeeper)
//	a metadata log, or version 1      from 2.8 on  (KIP-500)
//	a metadata.version                from the one on that begins with it, or with one below
//	partition.metadata                from 2.8 on  (KIP-516)
func (cl *Cluster) Contradicts(v broker.Version) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	kraft, ids := false, 0
	var old []BrokerRef
	for _, b := range cl.Brokers {
		if knowsZooKeeper(b) {
			old = append(old, cl.refs[b])
		}
		for _, d := range b.Dirs {
			kraft = kraft || d.Metadata != nil || d.Meta != nil && d.Meta.Malformed == nil && d.Meta.Version == 1
			for _, p := range d.Partitions {
				if p.HasTopicID {
					ids++
				}
			}
		}
	}
	if len(old) > 0 && !v.Before(4, 0) {
		say("a meta.properties of version 0 is that of a broker with ZooKeeper, which Kafka 4 no longer has")
	}
	if kraft && v.Before(2, 8) {
		say("there is a metadata log, or a meta.properties of version 1: that is KRaft, which no release before 2.8 has")
	}
	if cl.Metadata != nil {
		if level, ok := metadataVersion(cl.Metadata); ok {
			for _, x := range metadataReleases {
				if level < x.level {
					continue
				}
				if v.Before(x.release.Major, x.release.Minor) && !(kraft && v.Before(2, 8)) {
					say("the cluster's metadata.version is %d, which no release before %s knows", level, x.release)
				}
				break
			}
		}
	}
	if ids > 0 && v.Before(2, 8) {
		say("there are topic ids in partition.metadata, which no release before 2.8 writes")
	}
	return out
}
