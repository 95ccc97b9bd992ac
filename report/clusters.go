package report

import (
	"cmp"
	"fmt"
	"strings"

	"kafsck/broker"
	"kafsck/incident"
)

// clustersApart is the first line of a verdict over disks of several clusters: each is judged by
// itself, and a broker of the one is absent from the other.
func clustersApart(list []*incident.Cluster) []string {
	if len(list) < 2 {
		return nil
	}
	var words []string
	for _, cl := range list {
		refs := cl.Refs()
		is := "is"
		if len(refs) > 1 {
			is = "are"
		}
		of := "of cluster " + Escape(cl.ID)
		if cl.ID == "" {
			of = "of no known cluster"
		}
		words = append(words, fmt.Sprintf("%s %s %s", brokers(refs), is, of))
	}
	return indented(fmt.Sprintf("%s CLUSTERS  ", cmp.Or(map[int]string{2: "TWO", 3: "THREE"}[len(list)], fmt.Sprint(len(list)))), strings.Join(words, ", ")+": each is judged apart")
}

// releaseHints are lines of a verdict that was asked for without a release, where the inputs speak
// for another one.
func releaseHints(list []*incident.Cluster, assumed broker.Version) []string {
	var out []string
	for _, cl := range list {
		h := cl.OtherRelease(assumed)
		if h == nil {
			continue
		}
		of := ""
		if len(h.Brokers) > 0 {
			of = brokers(h.Brokers) + ": "
		}
		out = append(out, indented("RELEASE? ", fmt.Sprintf("%s%s; this is what Kafka %s does with these files. Name the release that is started, such as %s", of, h.Why, assumed, h.Flag))...)
	}
	return out
}
