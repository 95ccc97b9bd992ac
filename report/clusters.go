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
// for another one than the newest: it is the one that is predicted.
func releaseHints(list []*incident.Cluster) []string {
	var out []string
	for _, cl := range list {
		switch _, h := cl.ReleaseFor(broker.Latest, false); {
		case h == nil:
		case len(h.Brokers) == 0:
			out = append(out, indented("RELEASE  ", fmt.Sprintf("%s. Predicted for %s; another one with --kafka", h.Why, h.Release))...)
		default:
			out = append(out, indented("RELEASE? ", releaseProse(h))...)
		}
	}
	return out
}

// releaseDoubts is a line of a verdict for a release that the directories cannot be of.
func releaseDoubts(release string, doubts []string) []string {
	if len(doubts) == 0 {
		return nil
	}
	return indented("WARNING  ", fmt.Sprintf("Kafka %s cannot be the release of these directories: %s. What is said of its start will not come true: name the right release with --kafka, or leave that out.",
		release, strings.Join(doubts, "; ")))
}

// releaseProse says that the directories leave the release open, and which one is taken.
func releaseProse(h *incident.ReleaseHint) string {
	return fmt.Sprintf("%s: %s. Predicted for %s; name the release, such as %s.", brokers(h.Brokers), h.Why, h.Release, h.Flag)
}
