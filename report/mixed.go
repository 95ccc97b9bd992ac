package report

import (
	"strings"

	"kafsck/logdir"
)

// MixedClusters says which brokers are of which cluster where the inputs are of several,
// "" for one.
func MixedClusters(all []*logdir.Broker) string {
	var order []string
	of := map[string][]string{}
	for _, b := range all {
		if b.ClusterID == "" {
			continue
		}
		if of[b.ClusterID] == nil {
			order = append(order, b.ClusterID)
		}
		of[b.ClusterID] = append(of[b.ClusterID], Escape(b.String()))
	}
	if len(order) < 2 {
		return ""
	}
	var parts []string
	for _, id := range order {
		noun, verb := "broker ", " is"
		if len(of[id]) > 1 {
			noun, verb = "brokers ", " are"
		}
		parts = append(parts, noun+list(of[id])+verb+" of cluster "+Escape(id))
	}
	return strings.Join(parts, "; ") + ": each cluster is judged by itself"
}

// mixed is the first lines of an answer about several clusters.
func (p *Paths) mixed() []string {
	if p == nil || p.Mixed == "" {
		return nil
	}
	return indented("MIXED  ", p.Mixed)
}
