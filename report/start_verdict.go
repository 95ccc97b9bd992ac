package report

import (
	"fmt"
	"slices"
	"strings"

	"kafsck/broker"
	"kafsck/incident"
	"kafsck/logdir"
)

// bareStart begins what is said of partition directories without a log directory around them.
const bareStart = "bare\x01"

// verdicts are those of all brokers; the ones that start with nothing to tell share a line.
func (t *Starts) verdicts() []string {
	var out []string
	fine := map[string][]incident.BrokerRef{}
	var kinds []string
	for _, b := range t.Brokers {
		lines, ok := t.verdict(b)
		out = append(out, lines...)
		if ok == "" {
			continue
		}
		if fine[ok] == nil {
			kinds = append(kinds, ok)
		}
		fine[ok] = append(fine[ok], b.Broker)
	}
	if n := len(t.unled); n > 0 {
		names := t.unled
		if n > 4 {
			names = append(slices.Clone(names[:3]), fmt.Sprintf("%d more", n-3))
		}
		out = append(out, indented("WAIT   ", fmt.Sprintf("before any broker is started: %s no leader (%s), and who is elected decides how many records are lost. Which broker is up first may decide it: kafsck predict leader",
			count(n, "partition has", "partitions have"), list(names)))...)
	}
	for _, k := range kinds {
		refs, verb := fine[k], "starts"
		if len(refs) > 1 {
			verb = "start"
		}
		who := brokers(refs)
		if prose, bare := strings.CutPrefix(k, bareStart); bare {
			verb = map[bool]string{true: "loads", false: "load"}[len(refs) == 1]
			who, k = "what is here of "+who, prose
		}
		if noun, prose, special := strings.Cut(k, "\x00"); special {
			if len(refs) > 1 {
				noun += "s"
			}
			who, k = strings.NewReplacer("brokers", noun, "broker", noun).Replace(who), prose
		}
		out = append(out, indented("OK     ", fmt.Sprintf("%s %s; %s", who, verb, k))...)
	}
	return out
}

// controller reports whether a node is no broker: the metadata have no registration of it, and its
// disks no partition.
func (t *Starts) controller(b *incident.BrokerStart) bool {
	if b.Cluster.Metadata == nil || !b.Broker.Known || t.total(b).dirs > 0 || b.Cluster.Metadata.Brokers[b.Broker.ID] != nil {
		return false
	}
	return slices.ContainsFunc(b.Dirs, func(d *broker.StartedDir) bool { return d.LogDir.Metadata != nil })
}

func (t *Starts) who(b *incident.BrokerStart) string {
	if t.controller(b) {
		return "controller " + Escape(b.Broker.Name)
	}
	return "broker " + Escape(b.Broker.Name)
}

// verdict is a broker in at most a few lines; ok is what is said of one with nothing to tell.
func (t *Starts) verdict(b *incident.BrokerStart) (out []string, ok string) {
	sum, who := t.total(b), t.who(b)
	say := func(word, format string, args ...any) {
		out = append(out, indented(word, fmt.Sprintf(format, args...))...)
	}
	t.failure(b, who, say)
	after := "starting " + who
	if b.BeforeLogs {
		after = "once that is mended, starting " + who
	}
	t.keep(sum, who, b.Outcome == broker.BrokerAborts, say)
	if len(sum.save) > 0 && sum.lost > 0 {
		kind := map[bool]string{true: "lost record", false: "lost records"}[sum.lost == 1]
		if !sum.lostCounted {
			kind = map[bool]string{true: "record", false: "records"}[sum.lost == 1] + " that no other live copy among these inputs holds"
		}
		say("COPY   ", "%s %s %s %s: copy %s first, on the broker's own disk if these inputs are copies", after, actsOn(sum.save), comma(sum.lost), kind, map[bool]string{true: "it", false: "these"}[len(sum.save) == 1])
		out = append(out, savedLines(sum.save)...)
	}
	if n := len(sum.onPurpose); n > 0 {
		say("DELETES ", "%s deletes %s, with %s: copy what was deleted by mistake first", after, count(n, "directory of a deleted topic", "directories of deleted topics"), count(sum.purpose, "record", "records"))
		out = append(out, savedLines(sum.onPurpose)...)
	}
	if sum.cut.Logs > 0 {
		say("CUTS   ", "%s cuts %s: %s (%s)", after, count(sum.cut.Logs, "log", "logs"), cutProse(&sum.cut), sum.cutAt+map[bool]string{true: ", …"}[sum.cut.Logs > 1])
		for i, m := range sum.missing {
			if i == maxStartActions {
				say("       ", "… and %d more partitions", len(sum.missing)-i)
				break
			}
			say("       ", "%s", m)
		}
	}
	for i, h := range sum.hidden {
		if i == maxStartActions {
			say("HIDES  ", "… and records of %d more partitions", len(sum.hidden)-i)
			break
		}
		say("HIDES  ", "%s: %s. Have it repaired first: kafsck repair plan", after, h)
	}
	if sum.stray > 0 {
		say("STRAY  ", "%s takes %s out of service (renamed to -stray)", after, count(sum.stray, "partition directory", "partition directories"))
	}
	if m := metadataTakes(b); m != nil {
		say("CUTS   ", "%s cuts its metadata log %s", after, Escape(m.Partition.Dir))
	}
	if sum.unreadable > 0 {
		say("NOT READ ", "%s of %s: nothing is known of these", count(sum.unreadable, "partition directory", "partition directories"), who)
	}
	if failed := t.failedReads(b); len(failed) > 0 {
		more := ""
		if n := len(failed) - 1; n > 0 {
			more = fmt.Sprintf(", and %d more", n)
		}
		say("NOT READ ", "%s: how %s starts is not known for certain", Escape(failed[0].Path)+more, who)
	}
	if len(out) > 0 {
		return out, ""
	}
	switch {
	case sum.harmless.Logs > 0:
		ok = zerosProse(&sum.harmless)
	case sum.expiredFiles > 0 || sum.replaced > 0:
		ok = "nothing is cut, and what it deletes has expired, was cleaned away, or stands in a live log"
	case sum.empty > 0:
		ok = "nothing is cut, and what it deletes is empty"
	default:
		ok = "nothing is deleted or cut"
	}
	switch {
	case t.controller(b):
		ok = "controller\x00" + ok
	case slices.ContainsFunc(b.Dirs, func(d *broker.StartedDir) bool { return d.LogDir.Bare }):
		ok = bareStart + ok + "; no broker starts on it without a meta.properties, see below"
	case sum.leaderAway > 0 || sum.replicated > 0 && t.alone(b):
		ok += "; what the broker cuts later as a follower takes the leader's disk to tell"
	}
	return nil, ok
}

// failedReads are those below a broker's log directories, but for its partitions.
func (t *Starts) failedReads(b *incident.BrokerStart) []logdir.PathError {
	var out []logdir.PathError
	for _, e := range t.Errors {
		inPartition := false
		of := false
		for _, d := range b.Dirs {
			root := d.LogDir.Path + "/"
			of = of || d.LogDir.Path == "." || d.LogDir.Path == "" || strings.HasPrefix(e.Path, root)
			for _, p := range d.Partitions {
				inPartition = inPartition || e.Path == p.Partition.Dir || strings.HasPrefix(e.Path, p.Partition.Dir+"/")
			}
		}
		if of && !inPartition && !slices.ContainsFunc(out, func(x logdir.PathError) bool { return x.Path == e.Path }) {
			out = append(out, e)
		}
	}
	return out
}

// alone reports whether no other broker of the cluster is among the inputs.
func (t *Starts) alone(b *incident.BrokerStart) bool {
	return !slices.ContainsFunc(t.Brokers, func(o *incident.BrokerStart) bool { return o != b && o.Cluster == b.Cluster })
}

// failure says why a broker does not start, or starts with less.
func (t *Starts) failure(b *incident.BrokerStart, who string, say func(word, format string, args ...any)) {
	reason := Escape(b.Why)
	if b.Where != "" && !strings.HasPrefix(b.Why, b.Where) {
		reason = Escape(b.Where) + ": " + reason
	}
	switch {
	case b.Outcome == broker.BrokerAborts:
		say("FAILS  ", "%s does not start: %s", who, reason)
	case b.LastDir():
		say("FAILS  ", "%s stops unless it has other log directories: %s goes offline: %s", who, everyDir(b), reason)
	case b.Outcome == broker.DirOffline:
		say("FAILS  ", "%s starts without a log directory: %s", who, reason)
	}
	if b.Order != "" {
		say("       ", "Or %s.", Escape(b.Order))
	}
	if b.Outcome != broker.OK && !b.BeforeLogs && slices.ContainsFunc(b.Dirs, func(d *broker.StartedDir) bool { return d.Marker }) {
		say("       ", "The attempt removes .kafka_cleanshutdown: the start after it recovers the logs as after a crash.")
	}
}

// keep warns of a broker that throws lost records away as soon as it follows.
func (t *Starts) keep(sum *startTotals, who string, aborts bool, say func(word, format string, args ...any)) {
	k := &sum.keep
	if k.partitions == 0 {
		return
	}
	where := k.where
	if len(where) > 4 {
		where = append(slices.Clone(where[:3]), fmt.Sprintf("and %d partitions more", len(where)-3))
	}
	begins := "its start cuts nothing, but"
	switch {
	case aborts:
		begins = "it does not start now, but once it does,"
	case sum.cut.Logs > 0 || len(sum.save) > 0 || len(sum.onPurpose) > 0:
		begins = "after its start,"
	}
	maybe := "then truncates"
	if k.guess {
		maybe = "(a guess) it may then truncate"
	} else {
		maybe = "it " + maybe
	}
	say("KEEP STOPPED  ", "%s: %s as follower of %s %s %s (%s)", who, begins, brokers(k.leaders), maybe, lostCounts(k.lost), strings.Join(where, "; "))
}

// actsOn says what a start does to the files that hold something.
func actsOn(save []savedFile) string {
	deletes := 0
	for _, f := range save {
		if f.deletes {
			deletes++
		}
	}
	one, many := things(save)
	switch cuts := len(save) - deletes; {
	case deletes == 0:
		return "cuts " + count(cuts, "file that holds", "files that hold")
	case cuts > 0:
		return fmt.Sprintf("deletes %s and cuts %d that hold", count(deletes, "file", "files"), cuts)
	}
	return "deletes " + count(deletes, one+" that holds", many+" that hold")
}

// savedLines lists files with what they hold.
func savedLines(save []savedFile) []string {
	var out []string
	for i, f := range save {
		if i == maxStartActions {
			return append(out, fmt.Sprintf("         … and %d more", len(save)-i))
		}
		out = append(out, "         "+Escape(f.shown)+"  "+savedProse(&f))
	}
	return out
}

func metadataTakes(b *incident.BrokerStart) *broker.StartedPartition {
	for _, d := range b.Dirs {
		if d.Metadata != nil && d.Metadata.Loaded != nil && Takes(d.Metadata) {
			return d.Metadata
		}
	}
	return nil
}
