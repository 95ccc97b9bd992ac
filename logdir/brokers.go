package logdir

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"kafsck/internal/wire"
)

// identity is what is known about the broker of one log directory.
type identity struct {
	id        int32
	known     bool
	source    string
	name      string
	clusterID string
	dirID     string
	disk      bool // the folder's name only says which disk it is
}

// diskName matches folder names that tell disks of one broker apart, not brokers.
var diskName = regexp.MustCompile(`(?i)^(d|data|disks?|dir|log-?dirs?|logs?|kafka-(data|logs)|vol(ume)?|mount|mnt|ssd|nvme)[-_.]?[0-9]*$`)

// numberAtEnd finds the number that a broker's folder ends in: broker-3, b3, node_3, 3. Not the last
// part of a version or a date (kafka-3.9.2, 2026-11-30).
var numberAtEnd = regexp.MustCompile(`^(?:|.*[^0-9.])([0-9]{1,10})$`)

var dateAtEnd = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}$`)

func idFromName(name string) (int32, bool) {
	m := numberAtEnd.FindStringSubmatch(name)
	if m == nil || dateAtEnd.MatchString(name) {
		return 0, false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil || n > math.MaxInt32 {
		return 0, false
	}
	return int32(n), true
}

// identify follows meta.properties, then Options.BrokerIDs, then the folder's name. Only names of
// folders above a PATH are looked at, never what is in them.
func (d *discovery) identify(fd *found) identity {
	var is identity
	is.name, is.disk = folderName(fd.name)
	asked := d.askedID(fd)
	if meta := fd.ld.Meta; meta != nil {
		is.clusterID, is.dirID = meta.ClusterID, meta.DirectoryID
		if meta.HasNodeID {
			is.id, is.known, is.source = meta.NodeID, true, "meta.properties"
			if asked != nil && asked.ID != meta.NodeID {
				d.note(NoteBroker, []string{fd.ld.Path}, fmt.Sprintf("%q is broker %d by its meta.properties; --broker %d=%q was not followed", fd.ld.Path, meta.NodeID, asked.ID, asked.Path))
			}
			return is
		}
	}
	if asked != nil {
		is.id, is.known, is.source = asked.ID, true, "--broker"
	} else if id, ok := idFromName(is.name); ok {
		is.id, is.known, is.source = id, true, "folder name"
	}
	return is
}

// folderName is the nearest folder name that does not only name a disk. Without one it is the
// nearest, which then tells nothing about a broker.
func folderName(full string) (name string, disk bool) {
	parts := strings.FieldsFunc(full, func(r rune) bool { return r == '/' })
	slices.Reverse(parts)
	for i, p := range parts {
		if !diskName.MatchString(p) {
			return p, i > 0
		}
	}
	if len(parts) == 0 {
		return "root", false
	}
	return parts[0], true
}

// askedID returns the entry of Options.BrokerIDs with the longest path that is or contains the log
// directory.
func (d *discovery) askedID(fd *found) *BrokerID {
	var best *BrokerID
	length := -1
	for i := range d.opt.BrokerIDs {
		b := &d.opt.BrokerIDs[i]
		shown := path.Clean(filepath.ToSlash(b.Path))
		full := ""
		if fd.ld.HostPath != "" || fd.in.host != "" {
			if abs, err := filepath.Abs(b.Path); err == nil {
				full = filepath.ToSlash(abs)
			}
		}
		n := -1
		if contains(shown, fd.ld.Path) {
			n = len(shown)
		}
		for _, p := range fd.ld.Partitions {
			if contains(shown, p.Dir) && fd.ld.Partial {
				n = max(n, len(shown))
			}
		}
		for _, p := range fd.paths {
			if full != "" && p != "" && contains(full, p) {
				n = max(n, len(full))
			}
		}
		if n < 0 {
			continue
		}
		d.used[i] = true
		if n > length {
			best, length = b, n
		}
	}
	return best
}

// contains tells whether p is dir or lies below it.
func contains(dir, p string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}

// assignBrokers joins log directories into brokers. Directories of one id and cluster are disks of
// one broker
//
//   - if their directory.id differ, wherever they lie;
//   - if one has none (before 3.7), when they lie side by side in one folder, or when each is a PATH
//     of its own and no live partition is on both.
//
// Otherwise they are copies of the same disk, such as of two moments, and stay apart as two brokers
// of one id. Two directories with the same directory.id are always that.
func (d *discovery) assignBrokers() {
	members := map[*Broker][]member{}
	all := make([]member, 0, len(d.dirs))
	for _, fd := range d.dirs {
		fd.ld.sort()
		all = append(all, member{fd, d.identify(fd)})
	}
	d.identifyDisks(all)
	for _, m := range all {
		fd := m.fd
		var home *Broker
		noted := false // a directory copied many times is told once for each copy
		for _, b := range d.c.Brokers {
			if !sameNode(b, m.is) {
				continue
			}
			why := ""
			for _, other := range members[b] {
				if why = apart(m, other); why != "" {
					break
				}
			}
			if why == "" {
				home = b
				break
			}
			if m.is.known && !noted {
				noted = true
				other := members[b][0].fd.ld
				d.note(NoteDuplicate, []string{other.Path, fd.ld.Path}, fmt.Sprintf("%q and %q both are broker %d and are kept apart: %s", other.Path, fd.ld.Path, m.is.id, why))
			}
		}
		if home == nil {
			home = &Broker{ID: m.is.id, IDKnown: m.is.known, IDSource: m.is.source, Name: m.is.name, ClusterID: m.is.clusterID}
			d.c.Brokers = append(d.c.Brokers, home)
		}
		home.ClusterID = cmp.Or(home.ClusterID, m.is.clusterID)
		home.Dirs = append(home.Dirs, fd.ld)
		fd.ld.Broker = home
		members[home] = append(members[home], m)
	}
	d.noteClusters()
	slices.SortStableFunc(d.c.Brokers, func(a, b *Broker) int {
		switch {
		case a.IDKnown != b.IDKnown:
			if a.IDKnown {
				return -1
			}
			return 1
		case a.IDKnown:
			return cmp.Compare(a.ID, b.ID)
		}
		return cmp.Compare(a.Name, b.Name)
	})
}

// sameNode tells whether an identity may be that of the broker: the same id, or both unknown under
// one name, and not of two clusters.
func sameNode(b *Broker, is identity) bool {
	if !sameCluster(identity{clusterID: b.ClusterID}, is) {
		return false
	}
	if b.IDKnown != is.known {
		return false
	}
	if is.known {
		return b.ID == is.id
	}
	return b.Name == is.name
}

// member is a log directory with its identity.
type member struct {
	fd *found
	is identity
}

// identifyDisks gives a directory about which nothing is known the id of the broker whose disks lie
// beside it: with meta.properties lost or unreadable on one of kafka/d0 and kafka/d1, both are still one
// broker's, and a start meets both. Only where both names are a disk's, the disks that are known are
// all of one broker, and none of them holds a partition that the other holds too: replicas of one
// partition are never on one broker.
func (d *discovery) identifyDisks(all []member) {
	beside := map[string][]member{}
	for _, m := range all {
		if m.is.disk && m.is.source == "meta.properties" {
			folder := path.Dir(m.fd.name)
			beside[folder] = append(beside[folder], m)
		}
	}
	for i, m := range all {
		known := beside[path.Dir(m.fd.name)]
		if m.is.known || !m.is.disk || len(known) == 0 {
			continue
		}
		one := known[0].is
		if !slices.ContainsFunc(known, func(o member) bool { return o.is.id != one.id || !sameCluster(o.is, one) || shared(m, o) != "" }) && sameCluster(m.is, one) {
			all[i].is.id, all[i].is.known, all[i].is.source = one.id, true, "the disk beside it"
		}
	}
}

func sameCluster(a, b identity) bool {
	return a.clusterID == "" || b.clusterID == "" || a.clusterID == b.clusterID
}

// apart says why two directories of one node are not two disks of it, "" if they are.
func apart(a, b member) string {
	if a.is.dirID != "" && b.is.dirID != "" {
		if a.is.dirID == b.is.dirID {
			return fmt.Sprintf("they have the same directory.id %q, so they are copies of one directory", a.is.dirID)
		}
		return ""
	}
	if a.fd.alone && b.fd.alone && a.fd.name == b.fd.name {
		return "" // partitions of one folder, given one by one
	}
	// A number in a folder's name is weaker than meta.properties: then both names must be a disk's.
	named := a.is.source == "meta.properties" && b.is.source == "meta.properties"
	if path.Dir(a.fd.name) == path.Dir(b.fd.name) && (named || a.is.disk && b.is.disk) {
		return ""
	}
	if !a.is.known {
		return "nothing says that they belong together"
	}
	if !a.fd.whole || !b.fd.whole {
		return "they lie in different folders"
	}
	return shared(a, b)
}

// shared says what two directories both hold that no broker has on two of its disks, "" if nothing.
func shared(a, b member) string {
	live := map[string]bool{}
	for _, p := range a.fd.ld.Partitions {
		if p.State == Live {
			live[p.Name()] = true
		}
	}
	for _, p := range b.fd.ld.Partitions {
		if p.State == Live && live[p.Name()] {
			return fmt.Sprintf("both hold %q", p.Name())
		}
	}
	if a.fd.ld.Metadata != nil && b.fd.ld.Metadata != nil {
		return "both hold " + metadataDir
	}
	return ""
}

func (d *discovery) noteClusters() {
	where := map[string][]string{}
	var ids []string
	for _, fd := range d.dirs {
		if m := fd.ld.Meta; m != nil && m.ClusterID != "" {
			if len(where[m.ClusterID]) == 0 {
				ids = append(ids, m.ClusterID)
			}
			where[m.ClusterID] = append(where[m.ClusterID], fd.ld.Path)
		}
	}
	if len(ids) < 2 {
		return
	}
	var paths, parts []string
	for _, id := range ids {
		paths = append(paths, where[id]...)
		parts = append(parts, fmt.Sprintf("%q (%s)", id, quoted(where[id])))
	}
	d.note(NoteClusters, paths, fmt.Sprintf("directories of %d clusters: %s", len(ids), strings.Join(parts, ", ")))
}

// quoted names the first few of many paths.
func quoted(paths []string) string {
	const most = 4
	var words []string
	for _, p := range paths[:min(len(paths), most)] {
		words = append(words, strconv.Quote(p))
	}
	if n := len(paths) - most; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(words, ", "), n)
	}
	return strings.Join(words, ", ")
}

func (d *LogDir) sort() {
	slices.SortFunc(d.Partitions, func(a, b *Partition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.State, b.State), cmp.Compare(a.Dir, b.Dir))
	})
	byName := func(a, b *File) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortFunc(d.Unknown, byName)
	slices.SortFunc(d.files, byName)
}

// nameCutTopics completes topic names that the length limit may have cut, from another directory
// with the same topic id.
func (d *discovery) nameCutTopics() {
	full := map[wire.UUID]string{}
	ambiguous := map[wire.UUID]bool{}
	for p := range d.c.AllPartitions() {
		if p.TopicCut || !p.HasTopicID || p.Partition < 0 {
			continue
		}
		if name, ok := full[p.TopicID]; ok && name != p.Topic {
			ambiguous[p.TopicID] = true
		}
		full[p.TopicID] = p.Topic
	}
	for p := range d.c.AllPartitions() {
		if name := full[p.TopicID]; p.TopicCut && p.HasTopicID && !ambiguous[p.TopicID] && strings.HasPrefix(name, p.Topic) {
			p.Topic, p.TopicCut = name, false
		}
	}
	for _, fd := range d.dirs {
		fd.ld.sort()
	}
}
