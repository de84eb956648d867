"""What a fault or a test could have left behind in a guest, as lines to compare."""

from deploy.lab import Lab, Node

# Younger ones belong to a test that the gate runs meanwhile.
OLD_SECONDS = 30
STATE = f"""
ip -o link show dev eth1 | sed 's/^/link: /'
ip -o address show dev eth1 | sed 's/valid_lft.*//; s/^/address: /'
tc qdisc show dev eth1 | cut -d' ' -f1-2,4- | sed 's/^/qdisc: /'
nft list ruleset | sed 's/^/nft: /'
ls -l /dev/infiniband | awk '{{print "device: " $1, $5, $6, $NF}}'
cat /sys/class/infiniband/rxe0/ports/1/gids/[0-3] | sed 's/^/gid: /'
ls -l /usr/bin/ib* | awk '{{print "tool: " $1, $5, $NF}}'
ps -eo etimes=,comm= | awk '$1 > {OLD_SECONDS} && $2 ~ /^(ib_(send|write)_|ibv_|yes$)/ {{print "process: " $2}}'
"""
PEAK = "awk '/VmHWM/ {print $2}' /proc/$(cat /run/lab/program.pid)/status"


def state_of(lab: Lab) -> frozenset[str]:
    """One line for each fact, with its node before it."""
    return frozenset(f"{node.name} {line.strip()}" for node in lab.nodes for line in node.run(STATE).out.splitlines())


def left_behind(before: frozenset[str], after: frozenset[str]) -> str:
    """What came and what went between two states, ``nothing`` where they are the same."""
    came = [f"+{line}" for line in sorted(after - before)]
    went = [f"-{line}" for line in sorted(before - after)]
    return "; ".join(came + went) or "nothing"


def peak_memory_mib(node: Node) -> float:
    """The largest resident memory of the node process so far, in MiB."""
    return int(node.run(PEAK).out or 0) / 1024
