#!/bin/sh
# Packs the seeds of the fuzz targets: every small file that a broker wrote in any recording, each
# content once, by kind of file.
#
#   testdata/pack-seeds.sh FIXTURES...      the folders of recordings, unpacked
#
# Files above 4 KiB are left out, and all beyond the 300 smallest of a kind: seeds are run with every
# go test.
set -eu
out=$(cd "$(dirname "$0")" && pwd)/fixtures/seeds.tar.zst
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
find "$@" -type f -size -9 \( -path '*/broker-*' -o -path '*/node-*' -o -path '*/tiered/*' -o -path '*/base/*' \) |
grep -v -e /dump -e /consumer -e '\.jsonl' -e '\.txt$' -e '\.gz$' -e '\.json$' -e '\.md$' | LC_ALL=C sort |
while read -r f; do
	name=${f##*/}
	name=${name%.deleted} name=${name%.swap} name=${name%.cleaned} name=${name%.tmp}
	case $name in
	*.leader_epoch_checkpoint) kind=leader-epoch-checkpoint ;;
	*.log | *.index | *.timeindex | *.txnindex | *.snapshot | *.checkpoint) kind=${name##*.} ;;
	*) kind=$name ;;
	esac
	[ "$(wc -c <"$f")" -le 4096 ] || continue
	mkdir -p "$work/seeds/$kind"
	cp "$f" "$work/seeds/$kind/$(sha256sum "$f" | cut -c1-16)"
done
for kind in "$work"/seeds/* "$work"/seeds/.[a-z]*; do
	[ -d "$kind" ] || continue
	ls -Sr "$kind" | tail -n +301 | while read -r f; do rm "$kind/$f"; done
done
chmod -R u=rwX,go=rX "$work/seeds"
tar -C "$work" --sort=name --mtime=2024-01-01 --owner=0 --group=0 --numeric-owner -cf - seeds | zstd -19 --long=25 -q -f -o "$out"
