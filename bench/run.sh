#!/usr/bin/env bash
# Compares kafsck with a bare Go loop over the same bytes and with
# kafka-dump-log, all in one run on one machine: the ratios are the result, the
# times are only their witness. At the end each is held against its bar.
#
#   bench/run.sh [BYTES]     size of one log, default 1 GiB
#
#   LOGS="large single lz4 zstd files diff metadata cluster start"   what to measure, default all
#   RUNS=5                                                     runs of each, the best one counts
#
# Needs Go, JDK 17, Maven, and twice BYTES below $TMPDIR (and as much memory to
# keep it cached). The data are removed at the end.
set -euo pipefail
cd "$(dirname "$0")"

bytes=${1:-$((1 << 30))}
runs=${RUNS:-5}
logs=${LOGS:-large single lz4 zstd files diff metadata cluster start}
work=$(mktemp -d "${TMPDIR:-/tmp}/kafsck-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT

echo "building"
CGO_ENABLED=0 go -C .. build -trimpath -o "$work/kafsck" .
for tool in gen bare timed; do
	CGO_ENABLED=0 go build -o "$work/$tool" "./$tool"
done
if [[ $logs =~ large|single|lz4|zstd && ! -e ../conformance/target/.jars ]]; then
	../conformance/run.sh -run '^$'
fi
target=$PWD/../conformance/target
kafka=(java -Xmx256M -cp "$target/classes:$target/lib/*" org.apache.kafka.tools.DumpLogSegments)

# measure LOG WHAT BYTES RUNS COMMAND...   exit codes other than 0 are allowed by ok=0,1
measure() {
	local label="$1/$2" read=$3 times=$4
	shift 4
	echo "timing $label"
	"$work/timed" -table "$work/table" -runs "$times" -label "$label" -bytes "$read" -ok "${ok:-0}" "$@"
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
	measure "$name" printed "$size" 1 "${kafka[@]}" --print-data-log --files "$log"
	measure "$name" print "$size" 2 "$work/kafsck" dump --format kafka --print-data-log --files "$log"
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
	metadata)
		echo "writing 1,000,000 metadata records"
		"$work/gen" -out "$work/metadata" -cluster 200 -metadata 1000000 -bytes 4096 -batch 1024
		size=$(stat -c %s "$work"/metadata/broker-1/__cluster_metadata-0/*.log)
		measure metadata history "$size" 2 "$work/kafsck" history --quiet "$work/metadata/broker-1"
		rm -r "$work/metadata"
		;;
	cluster)
		echo "writing 1,000 partitions on three brokers"
		"$work/gen" -out "$work/cluster" -cluster 1000 -bytes 65536
		for verb in start leader catchup; do # the first run warms
			ok=0,1 measure cluster "$verb" 0 2 "$work/kafsck" predict "$verb" --quiet "$work/cluster"
		done
		rm -r "$work/cluster"
		;;
	start)
		# Everything that is linked in is initialised before the first line of main.
		"$work/gen" -out "$work/start" -bytes 65536 -brokers 1
		measure start ls 0 20 "$work/kafsck" ls --quiet "$work/start"
		rm -r "$work/start"
		;;
	*)
		echo "run.sh: unknown log $log" >&2
		exit 64
		;;
	esac
done

# Speeds in decimal GB/s. "x dump-log" is how many times longer Kafka's tool takes for as
# many bytes, with --deep-iteration for records, with --print-data-log for print.
awk -F '\t' -v cores="$(nproc)" '
	function below(name, value, most) { printf "%-4s %-34s %7.2f, less than %s\n", value < most ? "ok" : "MISS", name, value, most }
	BEGIN { predicted["start"]; predicted["leader"]; predicted["catchup"] }
	function bar(name, value, least) {
		bars[++n] = sprintf("%-4s %-34s %7.2f, at least %s", value >= least ? "ok" : "MISS", name, value, least)
	}
	{ label[NR] = $1; split($1, part, "/"); log_[NR] = part[1]; what[NR] = part[2]
	  wall[NR] = $3; cpu[NR] = $4; rss[NR] = $5; speed[NR] = $2 / $3 / 1e9; at[$1] = speed[NR]; took[$1] = $3
	  if (part[1] == "metadata") replay = $5
	  else if (part[2] != "dump-log" && part[2] != "deep" && part[2] != "printed" && $5 > most) most = $5 }
	END {
		printf "\n%d cores, warm page cache, best of the runs\n\n", cores
		printf "%-20s %8s %8s %8s %8s %8s %11s\n", "", "wall s", "cpu s", "GB/s", "RSS MiB", "of bare", "x dump-log"
		for (i = 1; i <= NR; i++) {
			bare = at[log_[i] "/bare"]; dump = at[log_[i] (what[i] == "records" ? "/deep" : what[i] == "print" ? "/printed" : "/dump-log")]
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
			bar(l ": dump --format kafka, x printed", at[l "/print"] / at[l "/printed"], 5)
		}
		printf "\n"
		for (i = 1; i <= n; i++) print bars[i]
		if ("files/files" in took) below("files: 20,000 segments, s", took["files/files"], 30)
		if ("start/ls" in took) below("start: ls on a small directory, ms", took["start/ls"] * 1000, 20)
		if ("metadata/history" in took) {
			below("metadata: 1,000,000 records, s", took["metadata/history"], 10)
			below("metadata: RSS, MiB", replay / 1024, 512)
		}
		for (verb in predicted) if (("cluster/" verb) in took) below("cluster: predict " verb ", s", took["cluster/" verb], 60)
		printf "%-4s %-34s %7.0f, less than 256\n", most < 262144 ? "ok" : "MISS", "largest RSS of kafsck, MiB", most / 1024
	}' "$work/table"
