package incident

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kafsck/broker"
	"kafsck/kraft"
	"kafsck/logdir"
)

// metadataReleases are the levels of the feature metadata.version with which a release
// begins (MetadataVersion of Kafka 4.3.1), newest first.
var metadataReleases = []struct {
	level   int16
	release broker.Version
}{
	{31, broker.Version{Major: 4, Minor: 4}}, {30, broker.Version{Major: 4, Minor: 3}}, {28, broker.Version{Major: 4, Minor: 2}},
	{26, broker.Version{Major: 4, Minor: 1}}, {22, broker.Version{Major: 4, Minor: 0}}, {21, broker.Version{Major: 3, Minor: 9}},
	{20, broker.Version{Major: 3, Minor: 8}}, {15, broker.Version{Major: 3, Minor: 7}}, {12, broker.Version{Major: 3, Minor: 6}},
	{9, broker.Version{Major: 3, Minor: 5}}, {8, broker.Version{Major: 3, Minor: 4}}, {4, broker.Version{Major: 3, Minor: 3}},
}

// ReleaseHint is what the directories or the metadata of a cluster say of the release.
type ReleaseHint struct {
	Brokers []BrokerRef // whose directories say so; empty: the metadata do
	// Why is a sentence without its full stop; Flag is the flag that follows it.
	Why, Flag string
	Release   broker.Version // of the metadata; the newest that it can be where the directories say so
}

// OtherRelease reports what speaks for another release than the one that is assumed
// because nobody has named one: directories of brokers with ZooKeeper, which Kafka 4 no
// longer has, or a metadata.version of an older release. nil where nothing does.
func (cl *Cluster) OtherRelease(assumed broker.Version) *ReleaseHint {
	if !assumed.Before(4, 0) {
		var old []BrokerRef
		for _, b := range cl.Brokers {
			if knowsZooKeeper(b) {
				old = append(old, cl.refs[b])
			}
		}
		if len(old) > 0 {
			slices.SortFunc(old, func(a, b BrokerRef) int { return strings.Compare(a.Name, b.Name) })
			return &ReleaseHint{Brokers: old, Why: "a meta.properties of version 0 is that of a broker with ZooKeeper, which Kafka 4 no longer has", Flag: "--kafka 2.8", Release: broker.Version{Major: 3, Minor: 9}}
		}
	}
	if cl.Metadata == nil {
		return nil
	}
	level, ok := metadataVersion(cl.Metadata)
	for _, x := range metadataReleases {
		if !ok || level < x.level {
			continue
		}
		if x.release.Major >= assumed.Major {
			return nil // what is predicted is the same in all releases of Kafka 4
		}
		return &ReleaseHint{Why: fmt.Sprintf("the cluster's metadata.version is %d, that of Kafka %s", level, x.release), Flag: "--kafka " + x.release.String(), Release: x.release}
	}
	return nil
}

// ReleaseFor is the release for which all predictions of a cluster are made: the one that somebody
// has named, else that of its directories or metadata, else the assumed one. hint says what decided
// where it is not the one that was asked for; nil: nothing.
func (cl *Cluster) ReleaseFor(asked broker.Version, named bool) (v broker.Version, hint *ReleaseHint) {
	v = cmp.Or(asked, broker.Latest)
	if named {
		return v, nil
	}
	if hint = cl.OtherRelease(v); hint != nil {
		v = hint.Release
	}
	return v, hint
}

// Refs are the brokers of a cluster, by id.
func (cl *Cluster) Refs() []BrokerRef {
	var out []BrokerRef
	for _, b := range cl.Brokers {
		out = append(out, cl.refs[b])
	}
	slices.SortFunc(out, func(a, b BrokerRef) int { return cmp.Or(cmp.Compare(a.ID, b.ID), strings.Compare(a.Name, b.Name)) })
	return out
}

// metadataVersion is the last level of the feature; ok is false without one.
func metadataVersion(m *kraft.Log) (level int16, ok bool) {
	list := m.Features["metadata.version"]
	if len(list) == 0 {
		return 0, false
	}
	return list[len(list)-1].Level, true
}

// knowsZooKeeper reports whether a broker's directories are those of one with ZooKeeper.
func knowsZooKeeper(b *logdir.Broker) bool {
	return slices.ContainsFunc(b.Dirs, func(d *logdir.LogDir) bool {
		return d.Meta != nil && d.Meta.Malformed == nil && len(d.Meta.Properties) > 0 && d.Meta.Version == 0 && d.Metadata == nil
	})
}
