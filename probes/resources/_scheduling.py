"""What the scheduler says when it places a pod nowhere: "0/6 nodes are available: 3 node(s) ..., 6 Insufficient ...".

The causes overlap: one node may be counted under several, so their sum says nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_HEAD = re.compile(r"(\d{1,7})/(\d{1,7}) nodes? are (?:available|unavailable)(?: for preemption)?[:.,]?\s*")
_CAUSE = re.compile(r"(\d{1,7}) (?:node\(s\) )?(.+?)(?=(?:, |,? and )\d{1,7} |[,.]?\s*$|\.\s)", re.DOTALL)
_INSUFFICIENT = re.compile(r"Insufficient (\S+?)[.,]?$")
_PREEMPTION = re.compile(r"\.?\s*(?:preemption|no new claims to deallocate)[:,]", re.IGNORECASE)

CAUSES = (
    ("insufficient_resource", re.compile(r"Insufficient \S")),
    ("dra_claim_unallocatable", re.compile(r"cannot allocate all claims|resourceclaim|ResourceClaim", re.IGNORECASE)),
    ("numa_alignment", re.compile(r"cannot align|NUMA|topology (?:manager|affinity)", re.IGNORECASE)),
    ("node_affinity", re.compile(r"didn't match (?:Pod's |pod's )?node (?:affinity|selector)")),
    ("node_unschedulable", re.compile(r"unschedulable|were not ready|not-ready|unreachable|out of disk")),
    ("taint", re.compile(r"untolerated taint|had taint|taints? that")),
    ("too_many_pods", re.compile(r"Too many pods")),
    ("pod_affinity", re.compile(r"pod (?:anti-)?affinity|anti-affinity")),
    ("topology_spread", re.compile(r"topology spread")),
    ("volume", re.compile(r"volume|PersistentVolume", re.IGNORECASE)),
    ("host_ports", re.compile(r"free ports")),
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """One message of a scheduler. ``causes`` maps each cause, without "node(s)", to its number of nodes.

    ``kinds`` are the codes of these causes, the gravest first. ``whole`` is False where the message may be cut: its
    last cause is then left out.
    """

    nodes_available: int | None = None
    nodes_total: int | None = None
    causes: Mapping[str, int] = field(default_factory=dict)
    kinds: tuple[str, ...] = ()
    insufficient: tuple[str, ...] = ()
    whole: bool = True


def read_refusal(message: str) -> Refusal | None:
    """Read a message; None for one that does not count nodes."""
    head = _HEAD.search(message)
    if head is None:
        return None
    rest = _PREEMPTION.split(message[head.end() :], maxsplit=1)
    text = rest[0].strip()
    whole = len(rest) > 1 or text.endswith(".")
    found = [(match[2].strip(), int(match[1]), match.end()) for match in _CAUSE.finditer(text)]
    if not whole and found and found[-1][2] >= len(text):
        found.pop()
    causes = {name: count for name, count, _ in found}
    return Refusal(
        nodes_available=int(head[1]),
        nodes_total=int(head[2]),
        causes=causes,
        kinds=tuple(code for code, pattern in CAUSES if any(pattern.search(name) for name in causes)),
        insufficient=tuple(dict.fromkeys(match[1] for name in causes if (match := _INSUFFICIENT.search(name)))),
        whole=whole,
    )
