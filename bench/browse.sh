#!/usr/bin/env bash
# Measures kafsck tui on a pseudo terminal, beside less on the same machine, and holds
# it against its bars (see browse/main.go for what is measured, and how).
#
#   bench/browse.sh
#
#   BYTES=1073741824     size of the one segment
#   SPARSE=10737418240   size of the sparse log
#   SEGMENTS=20000       segments in the directory of many
#   RUNS=20              runs of each
#
# Needs Go, less, and BYTES + 1 GiB below $TMPDIR. The data are removed at the end. Other
# work on the machine shows in every figure: the load is printed with them.
set -euo pipefail
cd "$(dirname "$0")"

bytes=${BYTES:-$((1 << 30))}
sparse=${SPARSE:-$((10 << 30))}
segments=${SEGMENTS:-20000}
runs=${RUNS:-20}
work=$(mktemp -d "${TMPDIR:-/tmp}/kafsck-browse.XXXXXX")
trap 'rm -rf "$work"' EXIT

echo "building"
CGO_ENABLED=0 go -C .. build -trimpath -o "$work/kafsck" .
for tool in gen browse; do
	CGO_ENABLED=0 go build -o "$work/$tool" "./$tool"
done

echo "writing $bytes bytes, $segments segments and $sparse sparse bytes"
"$work/gen" -out "$work/large" -bytes "$bytes" -brokers 1
mkdir "$work/noindex"
cp -al "$work/large/." "$work/noindex/"
rm "$work"/noindex/broker-1/t-0/*.{index,timeindex}
"$work/gen" -out "$work/many" -bytes 8192 -batch 1024 -segments "$segments" -brokers 1
"$work/gen" -out "$work/small" -bytes 65536 -brokers 1
"$work/gen" -out "$work/sparse" -bytes "$sparse" -batch $((128 << 10)) -brokers 1 -sparse
ls -l "$work/many/broker-1/t-0" >"$work/listing"
log=$work/large/broker-1/t-0/00000000000000000000.log
end=$(sed -n 's/^t 0 //p' "$work/large/broker-1/replication-offset-checkpoint")
cat "$log" >/dev/null # warm

# measure LABEL FLAG... WHAT PROGRAM ARGUMENT...
measure() {
	local label=$1
	shift
	echo "timing $label"
	"$work/browse" -table "$work/table" -label "$label" "$@"
}

kafsck=$work/kafsck
measure "first frame, 1 segment" -runs "$runs" -data t-0 first "$kafsck" tui "$work/large"
measure "less, that segment" -runs "$runs" first less -f "$log"
measure "first frame, many segments" -runs "$runs" -data t-0 first "$kafsck" tui "$work/many"
measure "less, their listing" -runs "$runs" first less "$work/listing"
measure "ls | less, many segments" -runs "$runs" first sh -c "ls -l '$work/many/broker-1/t-0' | less"
measure "jump with index" -runs "$runs" -end "$end" jump "$kafsck" "$work/large"
measure "jump without index" -runs "$runs" -end "$end" jump "$kafsck" "$work/noindex"
measure "key to frame, scanning" -runs 600 keys "$kafsck" "$work/sparse"
measure "scrolled, MiB" scroll "$kafsck" "$work/sparse"
measure "ls, small directory" -runs 30 exit "$kafsck" ls "$work/small"

printf '\n%d cores, load %s\n\n' "$(nproc)" "$(cut -d' ' -f1-3 /proc/loadavg)"
awk -F '\t' '
	function below(name, at, most, what) {
		if (name in best) bars[++n] = sprintf("%-4s %-32s %8.1f, at most %s (%s)", at < most ? "ok" : "MISS", name, at, most, what)
	}
	BEGIN { printf "%-34s %9s %9s %9s %9s %6s\n", "ms", "best", "median", "99th", "largest", "runs" }
	{ printf "%-34s %9.1f %9.1f %9.1f %9.1f %6d\n", $1, $2, $3, $4, $5, $6
	  best[$1] = $2; median[$1] = $3; high[$1] = $4; largest[$1] = $5 }
	END {
		below("first frame, 1 segment", median["first frame, 1 segment"], 100, "median")
		below("first frame, many segments", median["first frame, many segments"], 100, "median")
		below("jump with index", median["jump with index"], 50, "median")
		below("jump without index", largest["jump without index"], 1000, "largest")
		below("key to frame, scanning", high["key to frame, scanning"], 16, "99th")
		below("scrolled, MiB", largest["scrolled, MiB"], 256, "resident")
		below("ls, small directory", median["ls, small directory"], 20, "median")
		printf "\n"
		for (i = 1; i <= n; i++) print bars[i]
	}' "$work/table"
