#!/usr/bin/env python3
"""Holds a Parquet file of kafsck export against the JSON lines of the same records, with pyarrow.

usage: parquet.py FILE.parquet FILE.jsonl
"""
import sys, json, base64, pyarrow.parquet as pq
rows = pq.read_table(sys.argv[1]).to_pylist()
want = [json.loads(l) for l in open(sys.argv[2])]
want = [w for w in want if w["type"] == "record"]


def b(s):
    return None if s is None else base64.b64decode(s)


assert len(rows) == len(want), (len(rows), len(want))
for r, w in zip(rows, want):
    assert r["key"] == b(w["key"]) and r["value"] == b(w["value"]), (r, w)
    assert [(h["key"], h["value"]) for h in r["headers"]] == [(b(h["keyBytes"]) if "keyBytes" in h else h["key"].encode(), b(h["value"])) for h in w["headers"]], (r, w)
    for k in "partition topicId broker file offset leaderEpoch timestampMs timestampType producerId producerEpoch sequence transactional control batchPosition transactionState codec".split():
        assert r[k] == w[k], (k, r, w)
print(len(rows), "rows equal", sum(r["value"] is None for r in rows), "null values", sum(r["value"]==b"" for r in rows), "empty")
