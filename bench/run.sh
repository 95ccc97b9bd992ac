#!/usr/bin/env bash
# Compares kafsck with a bare Go loop over the same bytes and with
# kafka-dump-log, all in one run on one machine: the ratios are the result, the
# times are only their witness.
#
#   bench/run.sh [BYTES]     size of one replica's log, default 1 GiB
#
# Needs Go, JDK 17, Maven, and twice BYTES below $TMPDIR (and as much memory to
# keep it cached). The data are removed at the end.
set -euo pipefail
cd "$(dirname "$0")"

bytes=${1:-$((1 << 30))}
runs=${RUNS:-3}
work=$(mktemp -d "${TMPDIR:-/tmp}/kafsck-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT

echo "building"
CGO_ENABLED=0 go -C .. build -trimpath -o "$work/kafsck" .
for tool in gen bare timed; do
	go build -o "$work/$tool" "./$tool"
done
if [[ ! -e ../conformance/target/.jars ]]; then
	../conformance/run.sh -run '^$'
fi

echo "writing two replicas of $bytes bytes"
"$work/gen" -out "$work/data" -bytes "$bytes"
cd "$work/data"
logs=(broker-1/t-0/00000000000000000000.log broker-2/t-0/00000000000000000000.log)
size=$(stat -c %s "${logs[0]}")
cat "${logs[@]}" >/dev/null # warm

# measure LABEL BYTES COMMAND...
measure() {
	local label=$1 read=$2
	shift 2
	echo "timing $label"
	"$work/timed" -table "$work/table" -runs "$runs" -label "$label" -bytes "$read" "$@"
}

both=$((2 * size))
measure "bare loop, 1 core" "$both" "$work/bare" "${logs[@]}"
for verb in diff loss triage; do
	command=("$work/kafsck" "$verb")
	[[ $verb == triage ]] && command=("$work/kafsck")
	measure "kafsck $verb, 1 core" "$both" env GOMAXPROCS=1 "${command[@]}" .
	measure "kafsck $verb" "$both" "${command[@]}" .
done
dump=(java -Xmx256M -cp "$OLDPWD/../conformance/target/classes:$OLDPWD/../conformance/target/lib/*" org.apache.kafka.tools.DumpLogSegments)
measure "kafka-dump-log" "$size" "${dump[@]}" --files "${logs[0]}"

# Speeds in decimal GB/s. dump-log/kafsck is how many times longer Kafka's tool
# takes for as many bytes.
awk -F '\t' -v cores="$(nproc)" '
	{ label[NR] = $1; bytes[NR] = $2; wall[NR] = $3; cpu[NR] = $4; rss[NR] = $5; speed[NR] = $2 / $3 / 1e9 }
	$1 ~ /^bare/ { bare = speed[NR] }
	$1 ~ /^kafka/ { dump = speed[NR] }
	END {
		printf "\n%d cores, warm page cache, best of the runs\n\n", cores
		printf "%-22s %8s %8s %8s %8s %10s %10s\n", "", "wall s", "cpu s", "GB/s", "RSS MiB", "of bare", "x dump-log"
		for (i = 1; i <= NR; i++)
			printf "%-22s %8.3f %8.3f %8.2f %8.0f %9.0f%% %10.1f\n", label[i], wall[i], cpu[i], speed[i], rss[i] / 1024, 100 * speed[i] / bare, speed[i] / dump
	}' "$work/table"
