package cli

import (
	"kafsck/export"
	"kafsck/query"
	"kafsck/report"
)

// exportWhere is --where of export: it is asked of records. nil keeps all.
type exportWhere struct {
	filter *whereFilter
	topics map[string]*logDump // decoders by partition
}

func newExportWhere(expr whereText) (*exportWhere, error) {
	f, err := newWhereFilter(&dumpOptions{where: expr, records: true})
	if f == nil || err != nil {
		return nil, err
	}
	if !f.cond.Asks(query.Record) && !f.cond.Asks(query.LegacyRecord) {
		return nil, usagef("--where asks for what records do not have: %s", f.cond.Lacks(query.Record)).hint("all names, with examples: kafsck export --help")
	}
	return &exportWhere{filter: f, topics: map[string]*logDump{}}, nil
}

func (w *exportWhere) keeps(r *export.Record) bool {
	if w == nil {
		return true
	}
	w.filter.at = query.Place{Partition: r.Partition, TopicID: r.TopicID, Broker: r.Broker, BrokerKnown: r.Broker >= 0, File: r.File}
	l := w.topics[r.Partition]
	if l == nil {
		l = &logDump{decoder: decoderOf(topicOf(r.Partition))}
		w.topics[r.Partition] = l
	}
	rec := report.DumpRecord{Frame: r.Origin.Frame, Record: r.Origin.Record, TimestampType: r.TimestampType, Legacy: r.Origin.Legacy}
	if r.Control {
		l.control(&rec)
	} else {
		l.decode(&rec)
	}
	return w.filter.record(&rec)
}

// topicOf is the topic in a partition's name.
func topicOf(partition string) string {
	for i := len(partition) - 1; i >= 0; i-- {
		if partition[i] == '-' {
			return partition[:i]
		}
	}
	return partition
}
