#!/usr/bin/env python3
"""An unclean election, and the lost records put back, for putback_live_test.go.

usage: putback.py LAB-DIRECTORY LIBS ROOT PORT

Topic "orders" on brokers 1 and 2: 60 records on both, 100 that only broker 1 gets, acknowledged, and 20
more on broker 2 after its unclean election. It copies the disks to ROOT/stage, prints "stage" and waits
for a line. Then java/PutBack.java puts back what stands in ROOT/lost.jsonl, what a client reads goes to
ROOT/read, the disks to ROOT/after, and "done" is printed.
"""
import os, subprocess, sys

sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
from kafkalab import Cluster  # noqa: E402

LIBS, ROOT, PORT = sys.argv[2], sys.argv[3], int(sys.argv[4])
lab = Cluster(os.path.join(ROOT, "lab"), LIBS, nodes=[1, 2], port=PORT, controller=9, quiet=True,
              config={"replica.high.watermark.checkpoint.interval.ms": 500, "broker.session.timeout.ms": 9000})
PATIENCE = 300


def write(prefix, count, **kw):
    lab.produce("orders", prefix, count, acks="all", group=[1, 7, 3], headers=2, out=os.path.join(ROOT, "acked.jsonl"), **kw)


def elected():
    if lab.part("orders")["leader"] < 0:
        lab.call("elect", check=False, topic="orders", type="unclean")
    return lab.part("orders")["leader"] == 2


def tell(word):
    print(word, flush=True)
    return sys.stdin.readline().strip()


try:
    lab.format()
    for node in lab.all_ids():
        lab.start(node)
    lab.ready(timeout=PATIENCE)
    lab.create("orders", {0: [1, 2]}, min_insync_replicas=1)
    write("base-", 60)
    lab.kill(2)
    lab.wait_isr("orders", [1], timeout=PATIENCE)
    write("lost-", 100, codec="lz4")
    lab.kill(1)
    lab.start(2)
    lab.ready(timeout=PATIENCE)
    lab.until("election", elected, PATIENCE)
    write("after-", 20)
    lab.snapshot(os.path.join(ROOT, "stage"))
    if tell("stage"):
        done = subprocess.run(["java", "-Xmx256m", "-cp", LIBS + "/*", "java/PutBack.java", os.path.join(ROOT, "lost.jsonl"),
                               "--bootstrap-server", lab.bootstrap(), "--superseded", "send"], capture_output=True, text=True)
        with open(os.path.join(ROOT, "putback"), "w") as out:
            out.write(done.stdout + "\n".join(l for l in done.stderr.splitlines() if "SLF4J" not in l and "WARN" not in l) + "\nexit code %d\n" % done.returncode)
        lab.consume("orders", out=os.path.join(ROOT, "read"))
        lab.snapshot(os.path.join(ROOT, "after"))
        tell("done")
finally:
    lab.down()
