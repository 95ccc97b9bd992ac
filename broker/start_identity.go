package broker

import (
	"cmp"
	"fmt"
	"strings"

	"kafsck/internal/wire"
	"kafsck/logdir"
)

// identity checks the meta.properties of all log directories against each other
// (MetaPropertiesEnsemble.verify, KafkaRaftServer.initializeLogDirs; before 3.7
// BrokerMetadataCheckpoint.getBrokerMetadataAndOfflineDirs; with ZooKeeper KafkaServer.startup).
//
//	                          KRaft 4.x, 3.7+     KRaft 3.x              ZooKeeper
//	file missing              abort               abort                  written anew
//	file does not parse       directory offline   directory offline      directory offline
//	… where the metadata lie  abort               abort                  there is none
//	none that parses          abort               abort                  written anew
//	no node.id, cluster.id    abort               abort                  taken from the configuration
//	ids differ                abort               abort                  abort
//	directory.id twice        abort               not looked at          not looked at
//
// The ids in server.properties are not among the inputs: they are taken for right.
func (s *starter) identity() {
	var ids []metaIn
	parsed := 0
	zk := s.out.ZooKeeper
	for _, d := range s.out.Dirs {
		ld := d.LogDir
		switch {
		case ld.Bare:
			continue // only partition directories were copied: nothing to judge
		case ld.MetaFile == nil:
			if !zk && !ld.Partial {
				s.abort(joined(ld, "meta.properties"), "it is missing (RuntimeException: No `meta.properties` found)")
			}
			continue
		case ld.Meta == nil:
			continue // a failed read; told by the discovery
		case refusedMeta(ld):
			d.Reached, d.Marker = false, false // for LogManager it is offline from the beginning (initialOfflineDirs)
			d.offline(ld.MetaFile.Path, "meta.properties is refused: %s", ld.Meta.Malformed)
			continue
		}
		parsed++
		ids = append(ids, metaIn{ld, ld.Meta.ClusterID, ld.Meta.DirectoryID})
	}
	if parsed == 0 {
		for _, d := range s.out.Dirs {
			if d.Outcome != OK && !zk {
				s.abort(d.Where, "%s, and no log directory has a meta.properties that can be read (RuntimeException: No readable meta.properties files found)", d.Why)
			}
		}
	}
	s.compareIDs(ids, zk)
	if !zk {
		s.metadataIdentity()
	}
	s.out.BeforeLogs = s.out.Outcome == BrokerAborts
}

// refusedMeta reports whether a log directory has a meta.properties that does not parse.
func refusedMeta(ld *logdir.LogDir) bool {
	return ld.MetaFile != nil && ld.Meta != nil && ld.Meta.Malformed != nil
}

// metadataDir is the metadata log directory: metadata.log.dir, and without that the first of
// log.dirs. The configuration is not among the inputs: the directory with __cluster_metadata-0 tells,
// and where none has one the first is taken, which is not sure.
func (s *starter) metadataDir() (dir *StartedDir, sure bool) {
	for _, d := range s.out.Dirs {
		if d.LogDir.Metadata != nil {
			return d, true
		}
	}
	if len(s.out.Dirs) == 0 {
		return nil, false
	}
	return s.out.Dirs[0], len(s.out.Dirs) == 1
}

// metadataIdentity ends the start where the meta.properties of the metadata log directory does not
// parse: that directory alone cannot be gone without.
func (s *starter) metadataIdentity() {
	home, sure := s.metadataDir()
	for _, d := range s.out.Dirs {
		switch {
		case !refusedMeta(d.LogDir):
		case d == home:
			s.abort(d.LogDir.MetaFile.Path, "it is refused (%s), and lies in the metadata log directory (RuntimeException: Encountered I/O error in metadata log directory)", d.LogDir.Meta.Malformed)
			if !sure {
				s.out.Order = fmt.Sprintf("the broker starts without %s, if its metadata.log.dir is another directory: there is no __cluster_metadata-0 in any", d.LogDir.Path)
			}
		case !sure:
			s.out.Order = fmt.Sprintf("the broker aborts if %s is its metadata log directory (metadata.log.dir, or else the first of log.dirs): there is no __cluster_metadata-0 in any", d.LogDir.Path)
		}
	}
}

type metaIn struct {
	ld            *logdir.LogDir
	cluster, uuid string
}

func (s *starter) compareIDs(ids []metaIn, zk bool) {
	seen := map[string]*logdir.LogDir{}
	for i, x := range ids {
		m, first := x.ld.Meta, ids[0].ld.Meta
		at := x.ld.MetaFile.Path
		_, named := m.Properties["cluster.id"] // an empty id is one, too
		hasNode := m.HasNodeID
		if m.Version < 1 { // version 0, also where none is given, calls it broker.id (MetaPropertiesVersion.hasBrokerId)
			_, hasNode = m.Properties["broker.id"]
		}
		_, firstNamed := first.Properties["cluster.id"]
		switch {
		case !hasNode && !zk:
			s.abort(at, "it names no node.id (RuntimeException: node ID not found)")
		case !named && !zk:
			s.abort(at, "it names no cluster.id (RuntimeException: cluster ID not found)")
		case i > 0 && named && firstNamed && m.ClusterID != first.ClusterID:
			s.abort(at, "its cluster.id %s is not that of %s, %s (Invalid cluster.id)", m.ClusterID, ids[0].ld.MetaFile.Path, first.ClusterID)
		case i > 0 && m.HasNodeID && first.HasNodeID && m.NodeID != first.NodeID:
			s.abort(at, "its node.id %d is not that of %s, %d (Stored node id doesn't match)", m.NodeID, ids[0].ld.MetaFile.Path, first.NodeID)
		}
		if x.uuid == "" || s.opt.Version.Before(3, 7) {
			continue
		}
		id := strings.TrimRight(x.uuid, "=")
		if u, err := wire.ParseUUID(id); err == nil && reservedDirectory(u) {
			s.abort(at, "its directory.id %s is reserved (Invalid reserved directory ID)", x.uuid)
		}
		if other := seen[id]; other != nil {
			s.abort(at, "it has the directory.id of %s, %s (Duplicate directory ID)", other.MetaFile.Path, x.uuid)
		}
		seen[id] = cmp.Or(seen[id], x.ld)
	}
}

// reservedDirectory reports whether Kafka keeps an id for itself: the 100 lowest
// (DirectoryId.reserved; MIGRATING, UNASSIGNED and LOST are 2, 0 and 1).
func reservedDirectory(u wire.UUID) bool {
	for _, b := range u[:15] {
		if b != 0 {
			return false
		}
	}
	return u[15] < 100
}

// zooKeeper reports whether the broker belongs to a cluster with ZooKeeper: its meta.properties have
// the version 0, there is no metadata log, and the release still knows that mode.
func (s *starter) zooKeeper() bool {
	if !s.opt.Version.Before(4, 0) {
		return false
	}
	if s.opt.Version.Before(2, 8) {
		return true
	}
	for _, d := range s.out.Dirs {
		if d.LogDir.Metadata != nil || d.LogDir.Meta != nil && d.LogDir.Meta.Malformed == nil && d.LogDir.Meta.Version >= 1 {
			return false
		}
	}
	return true
}

// joined is the shown path of a name in a log directory.
func joined(ld *logdir.LogDir, name string) string {
	if ld.Path == "." || ld.Path == "" {
		return name
	}
	return ld.Path + "/" + name
}
