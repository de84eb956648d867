"""A first plan from what the Kubernetes API says, for a person to correct; unreviewed, so it opens nothing.

The API knows nodes and what they can give out. It does not know HCAs, speeds, policies or targets: those are listed as
still to be decided, and stand in the plan as comments.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from exporter.gate.pools_seen import PoolSeen, pools_seen
from exporter.gate.propose import check_lines, path_test_lines, quoted
from exporter.registry import ProbeModule
from probes._cluster import Cluster

COUNTED = ("visibility.allocatable", "resources.allocation")


@dataclass(frozen=True, slots=True)
class Proposal:
    """The text of a plan, and what a person must still decide, a sentence each. ``pools`` is how many it has."""

    text: str
    to_decide: tuple[str, ...]
    pools: int


def propose_from_cluster(name: str, cluster: Cluster, modules: Mapping[str, ProbeModule]) -> Proposal:
    """Return a plan for the cluster of that name; ``modules`` are the probes there are. No pool, no plan."""
    seen = pools_seen(cluster)
    named = list(zip(_names(seen), seen, strict=True))
    lines = [
        "# Proposed from the Kubernetes API. What is here was found, not agreed: correct it, then fill in reviewed.",
        f"cluster: {quoted(name)}",
        "reviewed: {by: , on: , ref: }    # unreviewed: the gate stays closed until all three are there",
        "pools:",
        *(line for one, pool in named for line in _pool(one, pool, modules)),
        "paths: {same_rail: {mode: sampled, peers_per_hca: 2}, cross_rail: {mode: one_per_rail_pair}}",
        "budget: {tests_enabled: false}    # true allows tests, within 10GiB a node and hour",
    ]
    return Proposal("\n".join(lines) + "\n", tuple(_to_decide(named, cluster)), len(seen))


def _to_decide(named: Sequence[tuple[str, PoolSeen]], cluster: Cluster) -> Iterator[str]:
    for one in cluster.unread:
        yield f"not read: {one}"
    for name, pool in named:
        yield f"pool {name}: {len(pool.nodes)} nodes seen; how many must be open (at_least)?"
        yield f"pool {name}: its HCAs; `rdma-gate plan propose --machine` on one of its nodes prints those it has"
        yield from (f"pool {name}: {doubt}" for doubt in pool.doubts)
        if not pool.selector:
            yield f"pool {name}: no label picks these nodes and no others, so they stand by name"
    yield "targets of the tests, each with the source that agreed it"
    yield "reviewed: by, on and ref"


def _pool(name: str, pool: PoolSeen, modules: Mapping[str, ProbeModule]) -> Iterator[str]:
    yield f"  - name: {quoted(name)}"
    yield f"    nodes: {{{_nodes(pool)}, at_least: {len(pool.nodes)}}}    # {len(pool.nodes)} seen"
    yield from (f"    # {sentence}" for sentence in (*pool.sources, *pool.doubts))
    yield "    # hcas: {compute: {match: {...}}}    the API does not know them"
    yield "    checks:"
    resources = ", ".join(f"{quoted(one)}: {count}" for one, count in pool.resources.items())
    yield from check_lines(modules, lambda probe: {"resources": f"{{{resources}}}"} if probe in COUNTED else {})
    yield "    # tests:    they need hcas, and targets with their sources"
    yield from (f"    # {line.strip().removeprefix('# ')}" for line in path_test_lines(modules))


def _nodes(pool: PoolSeen) -> str:
    if pool.selector:
        return f"selector: {quoted(pool.selector)}"
    return f"names: [{', '.join(map(quoted, pool.nodes))}]"


def _names(pools: Sequence[PoolSeen]) -> list[str]:
    """A name for each pool, from its selector; with a number where two would be called the same."""
    names: list[str] = []
    for number, pool in enumerate(pools, 1):
        name = re.sub(r"[^A-Za-z0-9._-]", "-", pool.selector.partition("=")[2])[:50].strip("-._")
        names.append(name if name and name not in names else f"{name or 'pool'}-{number}")
    return names
