"""What the collective tests of a pool cost: bytes at each node, seconds under test, and seconds of GPUs."""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from exporter.plan import GroupTest, Pool
from exporter.registry import ProbeModule

SECONDS_PER_BURST = 20.0
HOUR_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class GroupShape:
    """How many groups a test has in each interval, and how many nodes there are in them, counted each time."""

    groups: int
    places: int
    largest: int


@dataclass(frozen=True, slots=True)
class GroupCost:
    """One test's share: bytes sent and received by the busiest run at a node, and the rest an hour, for the pool.

    ``run_bytes`` is None where the probe does not say it; ``busy_seconds`` are of one test at once.
    """

    run_bytes: int | None
    bytes_per_node_per_hour: float
    busy_seconds: float
    gpu_seconds: float


def group_shape(test: GroupTest, nodes: int) -> GroupShape:
    """Return the groups that a test makes of so many nodes."""
    groups = test.groups
    if groups.named:
        sizes = [len(one) for one in groups.named.values()]
        return GroupShape(len(sizes), sum(sizes), max(sizes))
    size = groups.nodes_per_group or nodes
    if not size or size > nodes:
        return GroupShape(0, 0, 0)
    count = -(-nodes // size)
    return GroupShape(count, count * size, size)


def group_cost(test: GroupTest, nodes: int, modules: Mapping[str, ProbeModule]) -> GroupCost:
    """Return what the test costs a pool of so many nodes, at SECONDS_PER_BURST a burst."""
    shape, spec = group_shape(test, nodes), test.spec
    runs_per_hour = HOUR_SECONDS / spec.every_seconds
    run_bytes = bytes_of_group_run(test, shape.largest, modules)
    seconds = min(SECONDS_PER_BURST, spec.limit_seconds)
    return GroupCost(
        run_bytes=run_bytes,
        bytes_per_node_per_hour=(run_bytes or 0) * runs_per_hour * shape.places / max(1, nodes),
        busy_seconds=shape.groups * runs_per_hour * seconds,
        gpu_seconds=shape.places * test.groups.ranks_per_node * runs_per_hour * seconds,
    )


def bytes_of_group_run(test: GroupTest, nodes: int, modules: Mapping[str, ProbeModule]) -> int | None:
    """Return what one run sends and receives at each of so many nodes, by the probe's ``node_bytes``; None unknown."""
    module = modules.get(test.spec.probe)
    if module is None:
        return None
    probe = msgspec.convert(test.spec.settings, module.probe, strict=True)
    node_bytes = getattr(probe, "node_bytes", None)
    return None if node_bytes is None else int(node_bytes(nodes, test.groups.ranks_per_node))


def group_costs(pool: Pool, nodes: int, modules: Mapping[str, ProbeModule]) -> Mapping[str, GroupCost]:
    """Return the cost of each collective test of a pool, by its id."""
    return {test.spec.id: group_cost(test, nodes, modules) for test in pool.group_tests}
