package incident

import (
	"fmt"
	"slices"
	"strings"

	"kafsck/finding"
	"kafsck/logdir"
)

// tellMeta adds to findings about a broken meta.properties what the other inputs know of its lines,
// each with its source: an id is never invented.
func (inc *Incident) tellMeta(cl *Cluster, b *logdir.Broker, d *logdir.LogDir, list []finding.Finding) {
	for i := range list {
		f := &list[i]
		if f.Code != "meta-properties-missing" && f.Code != "meta-properties-malformed" {
			continue
		}
		for _, o := range b.Dirs {
			if o != d && wholeMeta(o) {
				return // a plan writes it from there
			}
		}
		var lines []finding.Evidence
		lacks := []string{}
		if b.IDKnown {
			source := b.IDSource
			if source == "folder name" {
				source = "by the folder's name; compare it with server.properties"
			}
			lines = append(lines, says("node.id=%d (%s)", b.ID, source))
		} else {
			lacks = append(lacks, "node.id, which server.properties has")
		}
		cluster, from := inc.otherCluster(d)
		if cluster != "" {
			lines = append(lines, says("cluster.id=%s (%s)", cluster, from))
		} else {
			lacks = append(lacks, "cluster.id, which the other brokers have")
		}
		directory := directoryOf(cl, b, d)
		if directory != "" {
			lines = append(lines, says("directory.id=%s (the broker's registration in the cluster metadata)", directory))
		}
		if len(lines) == 0 {
			f.Next = "Nothing among the inputs tells its ids. Write a new file, version=1, with node.id from server.properties and cluster.id from meta.properties of any other node of the cluster. With another disk of this broker among the PATHs kafsck repair plan writes it, with your word."
			continue
		}
		f.Evidence = append(append(f.Evidence, says("what the other inputs tell of its lines:")), append(lines, says("version=1"))...)
		f.Next = "Write these lines, without the brackets, into a new meta.properties that belongs to the broker's user"
		if d.MetaFile != nil {
			f.Next = "Move what is left of the file aside: while it is there kafka-storage.sh format only says that the directory is formatted. Then write" + strings.TrimPrefix(f.Next, "Write")
		}
		if len(lacks) > 0 {
			f.Next += fmt.Sprintf(", with %s", listed(lacks))
		}
		switch {
		case directory != "":
		case cluster != "":
			f.Next += fmt.Sprintf(". The directory.id is not known here: without the line the broker makes one. Or: kafka-storage.sh format --cluster-id %s --config server.properties", cluster)
		default:
			f.Next += ". The directory.id is not known here: without the line the broker makes one"
		}
		f.Next += "."
	}
}

func wholeMeta(d *logdir.LogDir) bool {
	return d.Meta != nil && d.Meta.Malformed == nil && d.Meta.HasNodeID && d.Meta.ClusterID != ""
}

// otherCluster is the cluster.id in the meta.properties of all other log directories, "" where there is
// none or they differ.
func (inc *Incident) otherCluster(d *logdir.LogDir) (id, from string) {
	var names []string
	for _, b := range inc.Case.Brokers {
		for _, o := range b.Dirs {
			if o == d || !wholeMeta(o) || o.Meta.Version < 1 {
				continue
			}
			if id != "" && id != o.Meta.ClusterID {
				return "", ""
			}
			if id = o.Meta.ClusterID; !slices.Contains(names, b.String()) {
				names = append(names, b.String())
			}
		}
	}
	const most = 3
	if n := len(names); n > most {
		names = append(names[:most], fmt.Sprintf("%d more", n-most))
	}
	return id, "meta.properties of " + onBrokers(names)
}

// directoryOf is the directory.id that is left of those with which the metadata know the broker, when
// those of its other directories are taken out; "" where that is not exactly one.
func directoryOf(cl *Cluster, b *logdir.Broker, d *logdir.LogDir) string {
	if cl.Metadata == nil || !b.IDKnown || cl.Metadata.Brokers[b.ID] == nil {
		return ""
	}
	events := cl.Metadata.Brokers[b.ID].Events
	left := []string{}
	for _, id := range events[len(events)-1].LogDirs {
		left = append(left, id.String())
	}
	for _, o := range b.Dirs {
		if o != d && o.Meta != nil {
			left = slices.DeleteFunc(left, func(id string) bool { return id == o.Meta.DirectoryID })
		}
	}
	if len(left) != 1 {
		return ""
	}
	return left[0]
}
