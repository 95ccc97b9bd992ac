#!/usr/bin/env bash
# Measures kafsck repair apply beside cp -a on the same files, all in one run on one machine, and
# the rebuilding of indexes; each is held against its bar at the end.
#
#   bench/apply.sh
#
#   BYTES=1073741824   bytes of .log files
#   RUNS=5             runs of each, in turn; the median counts
#
# apply does not return before everything is on the disk, so the bar is cp -a followed by sync;
# cp -a alone, which leaves the writing to later, is shown beside it. Nothing may be cached of what was
# written before: each run begins with a sync. Other work on the machine shows in every figure: the
# load is printed with them, and CPU time beside each.
#
# Needs Go, and four times BYTES below $TMPDIR. The data are removed at the end.
set -euo pipefail
cd "$(dirname "$0")"

bytes=${BYTES:-$((1 << 30))}
runs=${RUNS:-5}
work=$(mktemp -d "${TMPDIR:-/tmp}/kafsck-apply.XXXXXX")
trap 'rm -rf "$work"' EXIT

echo "building"
CGO_ENABLED=0 go -C .. build -trimpath -o "$work/kafsck" .
for tool in gen timed; do
	CGO_ENABLED=0 go build -o "$work/$tool" "./$tool"
done

echo "writing $bytes bytes in 8 segments of one partition, and again in 200 partitions"
"$work/gen" -out "$work/segments" -bytes $((bytes / 8)) -segments 8 -brokers 1
"$work/gen" -out "$work/partitions" -bytes $((bytes / 200)) -cluster 200
rm -r "$work"/partitions/broker-[23]
"$work/gen" -out "$work/index" -bytes "$bytes" -brokers 1

# What is broken calls for one action each; the indexes for two.
printf '0\n1\nx' >"$work/segments/broker-1/t-0/leader-epoch-checkpoint"
printf '0\n1\nx' >"$work/partitions/broker-1/topic-000-0/leader-epoch-checkpoint"
head -c 1003 /dev/zero | tr '\0' x >"$work/index/broker-1/t-0/00000000000000000000.index"
head -c 1003 /dev/zero | tr '\0' x >"$work/index/broker-1/t-0/00000000000000000000.timeindex"

# once LABEL COMMAND... appends one run to the table.
once() {
	local label=$1
	shift
	sync
	"$work/timed" -table "$work/table" -runs 1 -label "$label" -bytes "$bytes" "$@"
	rm -rf "$work/out" # outside of the time
	sync
}

for data in segments partitions; do
	code=0
	"$work/kafsck" repair plan --quiet --kafka 4.3 "$work/$data" --out "$work/$data.json" || code=$?
	((code == 1)) || { echo "apply.sh: repair plan ended with $code" >&2; exit 1; }
	find "$work/$data" -type f -exec cat {} + >/dev/null # warm
	for ((i = 0; i < runs; i++)); do
		echo "timing $data, run $((i + 1)) of $runs"
		once "$data/cp" cp -a "$work/$data" "$work/out"
		once "$data/cp+sync" sh -c "cp -a '$work/$data' '$work/out' && sync"
		once "$data/apply" "$work/kafsck" repair apply --quiet "$work/$data.json" --out "$work/out"
	done
done

# In place only the two new files are made; the time is that of the whole repair all the same: the log
# hashed against the plan, read for the indexes, checked, and its start predicted.
echo "timing both indexes of one segment of $bytes bytes, on one core"
for ((i = 0; i < runs; i++)); do
	rm -f "$work/index.json"
	code=0
	"$work/kafsck" repair plan --quiet --kafka 4.3 "$work/index" --out "$work/index.json" || code=$?
	((code == 1)) || { echo "apply.sh: repair plan ended with $code" >&2; exit 1; }
	once "index/in-place" env GOMAXPROCS=1 "$work/kafsck" repair apply --quiet "$work/index.json" --in-place
	"$work/kafsck" repair undo --quiet "$work/index/broker-1"
	rm -rf "$work"/index/broker-1.kafsck-*
done

printf '\n%d cores, load %s, %s\n\n' "$(nproc)" "$(cut -d' ' -f1-3 /proc/loadavg)" "$(df --output=fstype "$work" | tail -1)"
sort -t $'\t' -k1,1 -k3,3n "$work/table" | awk -F '\t' '
	{ if (!($1 in n)) order[++labels] = $1
	  wall[$1, ++n[$1]] = $3; if (!($1 in cpu) || $4 < cpu[$1]) cpu[$1] = $4; if ($5 > rss[$1]) rss[$1] = $5 }
	function median(l) { return wall[l, int((n[l] + 1) / 2)] }
	function bar(name, value, least) { bars[++k] = sprintf("%-4s %-40s %6.2f, at least %s", value >= least ? "ok" : "MISS", name, value, least) }
	END {
		printf "%-20s %9s %9s %9s %9s\n", "", "median s", "best s", "cpu s", "RSS MiB"
		for (i = 1; i <= labels; i++) { l = order[i]; printf "%-20s %9.3f %9.3f %9.3f %9.0f\n", l, median(l), wall[l, 1], cpu[l], rss[l] / 1024 }
		printf "\n"
		split("segments partitions", data, " ")
		for (i = 1; i <= 2; i++) {
			d = data[i]
			bar(d ": apply, of cp -a and sync", median(d "/cp+sync") / median(d "/apply"), 0.8)
			printf "     %-40s %6.2f\n", d ": apply, of cp -a without sync", median(d "/cp") / median(d "/apply")
		}
		m = cpu["index/in-place"] # on one core; the wait for the disk, and for other work, is in the table
		bars[++k] = sprintf("%-4s %-40s %6.2f, less than 2", m < 2 ? "ok" : "MISS", "indexes of one log rebuilt, CPU s", m)
		most = rss["segments/apply"] > rss["partitions/apply"] ? rss["segments/apply"] : rss["partitions/apply"]
		bars[++k] = sprintf("%-4s %-40s %6.0f, less than 256", most < 262144 ? "ok" : "MISS", "largest RSS of apply, MiB", most / 1024)
		for (i = 1; i <= k; i++) print bars[i]
	}'
