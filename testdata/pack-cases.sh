#!/usr/bin/env bash
# Packs the damaged directories into fixtures/cases.tar.zst.
#
#   testdata/pack-cases.sh CASES BASE      CASES: the folder with make.py, kafka_on_start.json
#                                          BASE:  the fixture "base" that the directories are made from
#
# make.py damages healthy directories that Kafka's own storage code wrote, each in one precise way, and
# writes cases.json: what happened, and which findings are expected. Of that file only what the tests read
# is packed. BR-13 names its leader in its story and in no file: "leader" is added for --leader. File modes
# are kept, modification times are not: every file is of 2024-01-01, seven weeks after its newest record.
set -euo pipefail
cases=$1 base=$2
out=$(cd "$(dirname "$0")" && pwd)/fixtures/cases.tar.zst
work=$(mktemp -d "${TMPDIR:-/tmp}/kafsck-cases.XXXXXX")
trap 'chmod -R u+rwX "$work"; rm -rf "$work"' EXIT

python3 "$cases/make.py" "$base" "$work/cases"
python3 - "$work/cases/cases.json" <<'EOF'
import json, sys
keep = ("id", "situation", "roots", "relation", "expected")
all = json.load(open(sys.argv[1]))
cases = [{k: c[k] for k in keep if k in c} for c in all["cases"]]
for c in cases:
    if c["id"] == "BR-13":
        c["leader"] = "orders-0=1"
json.dump({"cases": cases}, open(sys.argv[1], "w"), indent=1)
EOF
tar -C "$work" --sort=name --mtime='2024-01-01 00:00:00Z' --owner=0 --group=0 --numeric-owner -cf - cases | zstd -19 --long=25 -q -f -o "$out"
ls -l "$out"
