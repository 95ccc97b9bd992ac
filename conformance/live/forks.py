#!/usr/bin/env python3
"""Forks on real brokers, for leader_live_test.go.

usage: forks.py LAB-DIRECTORY LIBS ROOT PORT kill|stop

Brokers 1 and 2 and the controller 9. Each topic gets records on both brokers, then on broker 1
alone, then, after broker 1 was killed or stopped and an unclean election, on broker 2 alone.
Acknowledged records go to ROOT/acked, what the brokers hold then to ROOT/stage. It prints "stage"
and waits for a line. Then broker 1 comes back: its log from there on goes to ROOT/follower.log,
what a client reads to ROOT/read-TOPIC, and "done" is printed. With a line "swap" the roles change
once more: broker 2 is killed, broker 1 elected by the command that stands in ROOT/commands.
"""
import os, shlex, subprocess, sys

sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
from kafkalab import Cluster  # noqa: E402

LIBS, ROOT, PORT = sys.argv[2], sys.argv[3], int(sys.argv[4])
# topic: records on both, by broker 1 alone, by broker 2 alone
FORKS = {"longer": (40, 60, 15), "shorter": (55, 10, 35), "even": (20, 25, 25), "silent": (30, 20, 0), "behind": (35, 0, 0), "regenerated": (30, 25, 10), "emptied": (30, 25, 10)}

lab = Cluster(os.path.join(ROOT, "lab"), LIBS, nodes=[1, 2], port=PORT, controller=9, quiet=True,
              config={"replica.high.watermark.checkpoint.interval.ms": 500, "broker.session.timeout.ms": 9000})
PATIENCE = 300  # seconds; the machine may be busy


def write(part):
    for topic, counts in FORKS.items():
        if counts[part]:
            lab.produce(topic, "part%d-" % part, counts[part], acks="all", group=[1, 7, 3], out=os.path.join(ROOT, "acked", topic + ".jsonl"))
    lab.until("high watermarks on disk", lambda: all(high_watermark(topic, n) == end(topic) for topic in FORKS for n in (1, 2) if lab.alive(n)), PATIENCE)


def end(topic):
    return lab.call("offsets", topic=topic)["latest"]


def high_watermark(topic, node):
    for line in open(os.path.join(lab.node_dir(node), "replication-offset-checkpoint")):
        words = line.split()
        if words[:2] == [topic, "0"]:
            return int(words[2])
    return -1


def elect(topic):
    """Elects broker 2. As long as the killed leader is not fenced the controller answers that no election is needed."""

    def elected():
        if lab.part(topic)["leader"] < 0:
            lab.call("elect", check=False, topic=topic, type="unclean")
        return lab.part(topic)["leader"] == 2

    lab.until("election of " + topic, elected, PATIENCE)


def follow(node):
    """Starts a node, waits until it is in sync, and keeps its log lines and what can be read."""
    since = os.path.getsize(lab.log_file(node))
    lab.start(node)
    for topic in FORKS:
        lab.wait_isr(topic, [1, 2], timeout=PATIENCE)
    with open(lab.log_file(node), "rb") as log, open(os.path.join(ROOT, "follower.log"), "wb") as out:
        log.seek(since)
        out.write(log.read())
    for topic in FORKS:
        name = os.path.join(ROOT, "read-" + topic)
        if os.path.exists(name):
            os.remove(name)
        lab.consume(topic, out=name)


def tell(word):
    print(word, flush=True)
    line = sys.stdin.readline()
    if not line:
        sys.exit()  # the test is over
    return line.strip()


os.makedirs(os.path.join(ROOT, "acked"))
try:
    lab.format()
    for node in lab.all_ids():
        lab.start(node)
    lab.ready(timeout=PATIENCE)
    for topic in FORKS:
        lab.create(topic, {0: [1, 2]}, min_insync_replicas=1)
    write(0)
    lab.kill(2)
    for topic in FORKS:
        lab.wait_isr(topic, [1], timeout=PATIENCE)
    write(1)
    lab.kill(1) if sys.argv[5] == "kill" else lab.stop(1)
    lab.start(2)
    lab.ready(timeout=PATIENCE)
    for topic in FORKS:
        elect(topic)
    write(2)
    lab.snapshot(os.path.join(ROOT, "stage"))
    if tell("stage") == "swap":
        # As predict leader advises: stop who leads, start the other alone, run the command.
        lab.kill(2)
        lab.start(1)
        lab.ready(timeout=PATIENCE)
        for line in open(os.path.join(ROOT, "commands")):
            words = [w.replace("HOST:9092", lab.bootstrap()) for w in shlex.split(line)]
            if words[0] == "kafka-leader-election.sh":
                topic = words[words.index("--topic") + 1]
                lab.until("no leader of " + topic, lambda: lab.part(topic)["leader"] < 0, PATIENCE)
                subprocess.run(["java", "-Xmx256m", "-cp", LIBS + "/*", "org.apache.kafka.tools.LeaderElectionCommand"] + words[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                lab.wait_leader(topic, 1, timeout=PATIENCE)
        follow(2)
    else:
        follow(1)
    tell("done")
finally:
    lab.down()
