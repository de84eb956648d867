"""Which nodes' conditions have to be written now: those that changed at once, words at leisure, heartbeats slowly."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from zlib import crc32

from exporter.outward.standing import Standing
from probes._cluster import KubeNode
from probes._workloads import Condition

TYPE = "rdma-gate.io/RDMAReady"
_WORST_FIRST = {"False": 0, "Unknown": 1, "True": 2}
_HEARTBEAT = 3


@dataclass(frozen=True, slots=True)
class Pace:
    """How often a node is written to.

    A status or reason at once; a message that says something else (a figure) after ``message_seconds``; what is as
    before after ``heartbeat_seconds``. A gate that has only begun to lead knows little: for ``learning_seconds`` it
    takes no condition from True to Unknown. A write is not seen in what is watched before ``echo_seconds``.
    """

    message_seconds: float = 60.0
    heartbeat_seconds: float = 600.0
    learning_seconds: float = 120.0
    echo_seconds: float = 30.0


DEFAULT_PACE = Pace()


@dataclass(frozen=True, slots=True)
class Written:
    """What was written to the node of this uid, and when (monotonic)."""

    uid: str
    standing: Standing
    at: float


@dataclass(frozen=True, slots=True)
class Due:
    """One condition to be written; ``changed`` says that its status is another than before."""

    node: KubeNode
    standing: Standing
    changed: bool
    urgency: int


@dataclass(frozen=True, slots=True)
class Moment:
    """The time (monotonic) and that since which this gate leads, and what it wrote so far."""

    now: float
    led_since: float
    written: Mapping[str, Written]


def due(wanted: Mapping[str, Standing], nodes: Mapping[str, KubeNode], moment: Moment, pace: Pace) -> list[Due]:
    """Return what has to be written now, the worst news first. ``nodes`` are the cluster's, as watched."""
    there = ((standing, nodes[name]) for name, standing in wanted.items() if name in nodes)
    found = (one for standing, node in there for one in _due(standing, node, moment, pace))
    return sorted(found, key=lambda one: (one.urgency, one.node.name))


def _due(standing: Standing, node: KubeNode, moment: Moment, pace: Pace) -> Iterator[Due]:
    last = moment.written.get(node.name)
    last = last if last and last.uid == node.uid else None
    known = _known(node.conditions.get(TYPE), last, moment.now - pace.echo_seconds)
    if _is_learning(standing, known, moment, pace):
        return
    changed = known is None or known.status != standing.status
    if known is None or changed or known.reason != standing.reason:
        yield Due(node, standing, changed, _WORST_FIRST[standing.status])
        return
    wait = pace.message_seconds if known.message != standing.message else pace.heartbeat_seconds
    if moment.now >= _since(node.name, last, moment, pace) + wait:
        yield Due(node, standing, False, _HEARTBEAT)


def _known(seen: Condition | None, last: Written | None, echo: float) -> Standing | None:
    """What the node says as far as is known: what was written a moment ago may not have come back yet."""
    if last and last.at > echo:
        return last.standing
    return Standing(seen.status, seen.reason, seen.message) if seen else None


def _is_learning(standing: Standing, known: Standing | None, moment: Moment, pace: Pace) -> bool:
    new = moment.now < moment.led_since + pace.learning_seconds
    return new and standing.status == "Unknown" and known is not None and known.status == "True"


def _since(name: str, last: Written | None, moment: Moment, pace: Pace) -> float:
    """When it was last written; what another process wrote is taken to be spread evenly over one heartbeat."""
    if last:
        return last.at
    return moment.led_since - crc32(name.encode()) % max(1, int(pace.heartbeat_seconds))
