"""What has changed at the gate, as a few notes: one for each pool, and for nodes only where they are few.

When a switch dies, 200 nodes close within seconds; that is one note with their number, reasons and first names.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from exporter.gate.verdict import NodeVerdict, PoolVerdict, Verdict
from exporter.outward.standing import Standing, cut, pool_sentence, reason_counts, standings

FEW_NODES = 5
NAMES_AT_MOST = 8

REASONS: Mapping[str, str] = {
    "RDMAPoolOpened": "a pool has as many open nodes as its plan wants",
    "RDMAPoolClosed": "a pool has fewer open nodes than its plan wants",
    "RDMANodeOpened": "all seven checks of a node are open",
    "RDMANodeClosed": "a check of a node is no longer open",
    "RDMANodesOpened": "the same of several nodes at once",
    "RDMANodesClosed": "the same of several nodes at once",
}


@dataclass(frozen=True, slots=True)
class Note:
    """One Event to be: of REASONS, about the node of that name or (empty) the gate's own object."""

    reason: str
    message: str
    pool: str
    node: str = ""

    @property
    def type(self) -> str:
        """Normal for good news, Warning for bad."""
        return "Normal" if self.reason.endswith("Opened") else "Warning"


def notes(before: Verdict, after: Verdict) -> tuple[Note, ...]:
    """Return what changed between two verdicts, pools first. A pool or node that is new to the plan is no change."""
    pools = {pool.name: pool for pool in before.pools}
    same = [(pools[pool.name], pool) for pool in after.pools if pool.name in pools]
    return (*_pool_notes(same, after), *_node_notes(same, standings(after)))


def _pool_notes(pairs: Iterable[tuple[PoolVerdict, PoolVerdict]], after: Verdict) -> Iterator[Note]:
    for old, new in pairs:
        if old.is_open is not new.is_open:
            yield Note(f"RDMAPool{_word(new.is_open)}", pool_sentence(new, after), new.name)


def _node_notes(pairs: Iterable[tuple[PoolVerdict, PoolVerdict]], standing: Mapping[str, Standing]) -> Iterator[Note]:
    for old, new in pairs:
        was = {node.node: node.is_open for node in old.nodes}
        moved = [node for node in new.nodes if was.get(node.node, node.is_open) is not node.is_open]
        for is_open in (False, True):
            yield from _moved(new.name, [one for one in moved if one.is_open is is_open], standing)


def _moved(pool: str, nodes: Sequence[NodeVerdict], standing: Mapping[str, Standing]) -> Iterator[Note]:
    if not nodes:
        return
    word = _word(nodes[0].is_open)
    if len(nodes) > FEW_NODES:
        yield Note(f"RDMANodes{word}", _many(pool, nodes, standing), pool)
        return
    for node in nodes:
        said = standing[node.node]
        yield Note(f"RDMANode{word}", cut(f"{said.reason}: {said.message}"), pool, node.node)


def _many(pool: str, nodes: Sequence[NodeVerdict], standing: Mapping[str, Standing]) -> str:
    reasons = ", ".join(reason_counts(Counter(standing[node.node].reason for node in nodes)))
    more = ", ..." if len(nodes) > NAMES_AT_MOST else ""
    names = ", ".join(node.node for node in nodes[:NAMES_AT_MOST]) + more
    return cut(f"pool {pool}: {len(nodes)} nodes {_word(nodes[0].is_open).lower()}; {reasons}; {names}")


def _word(is_open: bool) -> str:
    return "Opened" if is_open else "Closed"
