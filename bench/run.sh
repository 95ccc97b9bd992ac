#!/usr/bin/env bash
# Compares kafsck with a bare Go loop over the same bytes and with
# kafka-dump-log, all in one run on one machine: the ratios are the result, the
# times are only their witness. At the end each is held against its bar.
#
#   bench/run.sh [BYTES]     size of one log, default 1 GiB
#
#   LOGS="large single lz4 zstd files diff"   what to measure, default all
#   RUNS=5                                    runs of each, the best one counts
#
# Needs Go, JDK 17, Maven, and twice BYTES below $TMPDIR (and as much memory to
# keep it cached). The data are removed at the end.
set -euo pipefail
cd "$(dirname "$0")"

bytes=${1:-$((1 << 30))}
runs=${RUNS:-5}
logs=${LOGS:-large single lz4 zstd files diff}
work=$(mktemp -d "${TMPDIR:-/tmp}/kafsck-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT

echo "building"
CGO_ENABLED=0 go -C .. build -trimpath -o "$work/kafsck" .
for tool in gen bare timed; do
	CGO_ENABLED=0 go build -o "$work/$tool" "./$tool"
done
if [[ ! -e ../conformance/target/.jars ]]; then
	../conformance/run.sh -run '^$'
fi
target=$PWD/../conformance/target
kafka=(java -Xmx256M -cp "$target/classes:$target/lib/*" org.apache.kafka.tools.DumpLogSegments)

# measure LOG WHAT BYTES RUNS COMMAND...
measure() {
	local label="$1/$2" read=$3 times=$4
	shift 4
	echo "timing $label"
	"$work/timed" -table "$work/table" -runs "$times" -label "$label" -bytes "$read" "$@"
}

# one LOG GEN-ARGUMENT...: one broker's log by both levels, one core and all, beside the others.
one() {
	local name=$1 dir=$work/$1
	shift
	echo "writing $name: $bytes bytes"
	"$work/gen" -out "$dir" -bytes "$bytes" -brokers 1 "$@"
	local log=$dir/broker-1/t-0/00000000000000000000.log
	local size
	size=$(stat -c %s "$log")
	cat "$log" >/dev/null # warm
	measure "$name" bare "$size" "$runs" "$work/bare" "$log"
	measure "$name" batches-1 "$size" "$runs" env GOMAXPROCS=1 "$work/kafsck" check --quiet "$dir"
	measure "$name" batches "$size" "$runs" "$work/kafsck" check --quiet "$dir"
	measure "$name" records "$size" "$runs" "$work/kafsck" check --quiet --level records "$dir"
	# Kafka's times vary less, and are long.
	measure "$name" dump-log "$size" 2 "${kafka[@]}" --files "$log"
	measure "$name" deep "$size" 1 "${kafka[@]}" --deep-iteration --files "$log"
	rm -r "$dir"
}

for log in $logs; do
	case $log in
	large) one large ;;
	single) one single -batch 1 -record 252 ;;
	lz4) one lz4 -codec lz4 -batch 32768 ;;
	zstd) one zstd -codec zstd -batch 57344 ;;
	files)
		echo "writing 20,000 segments"
		"$work/gen" -out "$work/files" -bytes 8192 -batch 1024 -segments 20000 -brokers 1
		measure files files 0 2 "$work/kafsck" check --quiet --level files "$work/files"
		rm -r "$work/files"
		;;
	diff)
		"$work/gen" -out "$work/diff" -bytes "$bytes"
		pair=("$work"/diff/broker-[12]/t-0/*.log)
		cat "${pair[@]}" >/dev/null
		size=$((2 * $(stat -c %s "${pair[0]}")))
		measure diff bare "$size" "$runs" "$work/bare" "${pair[@]}"
		for verb in diff loss; do
			measure diff "$verb-1" "$size" "$runs" env GOMAXPROCS=1 "$work/kafsck" "$verb" "$work/diff"
			measure diff "$verb" "$size" "$runs" "$work/kafsck" "$verb" "$work/diff"
		done
		rm -r "$work/diff"
		;;
	*)
		echo "run.sh: unknown log $log" >&2
		exit 64
		;;
	esac
done

# Speeds in decimal GB/s. "x dump-log" is how many times longer Kafka's tool takes for as
# many bytes, with --deep-iteration for records.
awk -F '\t' -v cores="$(nproc)" '
	function bar(name, value, least) {
		bars[++n] = sprintf("%-4s %-34s %7.2f, at least %s", value >= least ? "ok" : "MISS", name, value, least)
	}
	{ label[NR] = $1; split($1, part, "/"); log_[NR] = part[1]; what[NR] = part[2]
	  wall[NR] = $3; cpu[NR] = $4; rss[NR] = $5; speed[NR] = $2 / $3 / 1e9; at[$1] = speed[NR]; took[$1] = $3
	  if (part[2] != "dump-log" && part[2] != "deep" && $5 > most) most = $5 }
	END {
		printf "\n%d cores, warm page cache, best of the runs\n\n", cores
		printf "%-20s %8s %8s %8s %8s %8s %11s\n", "", "wall s", "cpu s", "GB/s", "RSS MiB", "of bare", "x dump-log"
		for (i = 1; i <= NR; i++) {
			bare = at[log_[i] "/bare"]; dump = at[log_[i] (what[i] == "records" ? "/deep" : "/dump-log")]
			printf "%-20s %8.3f %8.3f %8.2f %8.0f %7s%% %11s\n", label[i], wall[i], cpu[i], speed[i], rss[i] / 1024,
				bare ? sprintf("%.0f", 100 * speed[i] / bare) : "-", dump ? sprintf("%.1f", speed[i] / dump) : "-"
		}
		for (i = 1; i <= NR; i++) if (what[i] == "bare" && log_[i] != "diff") {
			l = log_[i]
			bar(l ": batches, of bare, 1 core", at[l "/batches-1"] / at[l "/bare"], 0.75)
			if (l == "large" || l == "single") {
				bar(l ": batches, x dump-log, 1 core", at[l "/batches-1"] / at[l "/dump-log"], 12)
				bar(l ": batches, x dump-log, all cores", at[l "/batches"] / at[l "/dump-log"], 18)
			}
			bar(l ": records, x deep, all cores", at[l "/records"] / at[l "/deep"], l == "zstd" ? 5 : 8)
		}
		printf "\n"
		for (i = 1; i <= n; i++) print bars[i]
		if ("files/files" in took) printf "%-4s %-34s %7.2f, less than 30\n", took["files/files"] < 30 ? "ok" : "MISS", "files: 20,000 segments, s", took["files/files"]
		printf "%-4s %-34s %7.0f, less than 256\n", most < 262144 ? "ok" : "MISS", "largest RSS of kafsck, MiB", most / 1024
	}' "$work/table"
