#!/usr/bin/env bash
# Fetches Kafka's jars, compiles what stands in java/ (and the load oracle, when
# it is laid beside the clone), and runs the conformance tests. Everything that
# is built lands in target/.
#
#   run.sh [--brokers] [GO-TEST-FLAG...]
#
# Two tests always start brokers, on forks and on repaired directories; --brokers also runs the long
# ones, and brokers of older releases. These need Python 3 and the lab beside the clone.
set -euo pipefail
cd "$(dirname "$0")"

for tool in java javac mvn go tmux; do
	if ! command -v "$tool" >/dev/null; then
		echo "conformance: $tool is missing (JDK 17 or later, Maven, Go and tmux are needed)" >&2
		exit 1
	fi
done

# newer_than STAMP FILE...: is any of the files newer than the stamp?
newer_than() {
	local stamp=$1
	shift
	[[ ! -e $stamp ]] || [[ -n $(find "$@" -newer "$stamp" -print -quit) ]]
}

start=$SECONDS
if newer_than target/.jars pom.xml java resources; then
	mvn -q -B -Dstyle.color=never package
	touch target/.jars
fi
echo "conformance: jars after $((SECONDS - start))s"

oracle=../../shared/oracle/Oracle.java
if [[ -e $oracle ]] && newer_than target/.oracle "$oracle" pom.xml; then
	mkdir -p target/oracle
	javac -XDsuppressNotes -d target/oracle -cp 'target/lib/*' "$oracle"
	touch target/.oracle
fi
echo "conformance: classes after $((SECONDS - start))s"

lab=../../shared/lab/pom.xml
if [[ -e $lab ]] && newer_than target/.lab "$lab"; then
	mvn -q -B -Dstyle.color=never -f "$lab" dependency:copy-dependencies -DoutputDirectory="$PWD/target/lab"
	touch target/.lab
fi

flags=()
if [[ ${1:-} == --brokers ]]; then
	shift
	if [[ ! -e $lab ]]; then
		echo "conformance: the tests with brokers need $lab" >&2
		exit 1
	fi
	for version in 3.9.1 2.8.2; do
		if newer_than "target/.lab-$version" "$lab"; then
			mvn -q -B -Dstyle.color=never -f "$lab" -Dkafka.version="$version" dependency:copy-dependencies -DoutputDirectory="$PWD/target/lab-$version"
			touch "target/.lab-$version"
		fi
	done
	flags=(-tags broker -timeout 90m)
fi

go test -count=1 -timeout 25m ${flags[@]+"${flags[@]}"} "$@" ./...
