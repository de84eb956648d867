"""What a plan costs: paths, bytes for each node and hour, the share of time under test, hours until all was seen.

An estimate for the day on which all is well, made before anything is sent. A plan that its own budget cannot satisfy
is refused: it would stay closed, or be open by old results.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import msgspec

from exporter.assignment import ProbeSpec
from exporter.plan import PathMode, Plan, Pool
from exporter.plan.group_cost import HOUR_SECONDS, GroupCost
from exporter.plan.hcas import planned_hcas
from exporter.plan.membership import pool_nodes
from exporter.registry import ProbeModule
from exporter.settings import KnownMember

SECONDS_PER_TEST = 5.0


@dataclass(frozen=True, slots=True)
class PoolCost:
    """One pool's share. ``paths`` are ordered paths of one cycle, ``cycles`` how many of them until every pair was met.

    ``busy_share`` is the time under test over all time, for one test at once, at SECONDS_PER_TEST a test of a path.
    ``gpu_seconds_per_hour`` is what collectives take of all GPUs of the pool.
    """

    pool: str
    nodes: int
    paths: int
    cycles: int
    bytes_per_node_per_hour: float
    busy_share: float
    hours_to_full_coverage: float
    unpriced: tuple[str, ...] = ()
    gpu_seconds_per_hour: float = 0.0


@dataclass(frozen=True, slots=True)
class PlanCost:
    """All pools, and why the plan's own budget cannot satisfy it (empty: it can)."""

    pools: tuple[PoolCost, ...]
    problems: tuple[str, ...]


def plan_cost(
    plan: Plan,
    members: Iterable[KnownMember],
    price: Callable[[ProbeSpec], int | None],
    groups: Callable[[Pool, int], Mapping[str, GroupCost]] = lambda pool, nodes: {},
) -> PlanCost:
    """Price the plan for the nodes it has now, or must have.

    ``price`` gives the bytes that one run of a test sends, None unknown. ``groups`` gives the cost of each collective
    test of a pool of so many nodes, by its id.
    """
    known = tuple(members)
    nodes, racks = pool_nodes(plan, known), {one.name: one.labels.get(plan.rack_label, "") for one in known}
    racks_of = {pool.name: _racks(pool, [racks.get(node, "") for node in nodes[pool.name]]) for pool in plan.pools}
    collective = {pool.name: groups(pool, len(racks_of[pool.name])) for pool in plan.pools}
    pools = tuple(
        _with_groups(_pool_cost(plan, pool, racks_of[pool.name], price), pool, collective[pool.name])
        for pool in plan.pools
    )
    of_groups = {name: cost.run_bytes for costs in collective.values() for name, cost in costs.items()}
    return PlanCost(pools, tuple(_problems(plan, pools, price, of_groups)))


def _racks(pool: Pool, found: list[str]) -> list[str]:
    """A rack for each node; before a selector's nodes are known, ``at_least`` says how many there will be."""
    unknown = pool.nodes.at_least - len(found) if pool.nodes.selector else 0
    return [*found, *([""] * unknown)]


def _with_groups(cost: PoolCost, pool: Pool, groups: Mapping[str, GroupCost]) -> PoolCost:
    rarest_seconds = max((test.spec.every_seconds for test in pool.group_tests), default=0.0)
    return replace(
        cost,
        bytes_per_node_per_hour=cost.bytes_per_node_per_hour + sum(g.bytes_per_node_per_hour for g in groups.values()),
        busy_share=cost.busy_share + sum(group.busy_seconds for group in groups.values()) / HOUR_SECONDS,
        hours_to_full_coverage=max(cost.hours_to_full_coverage, rarest_seconds / HOUR_SECONDS),
        unpriced=(*cost.unpriced, *(name for name, group in groups.items() if group.run_bytes is None)),
        gpu_seconds_per_hour=sum(group.gpu_seconds for group in groups.values()),
    )


def bytes_of_run(modules: Mapping[str, ProbeModule], spec: ProbeSpec) -> int | None:
    """Return what one run of the spec's probe sends over its path, as the probe's ``run_bytes`` says; None unknown."""
    if spec.probe not in modules:
        return None
    probe = msgspec.convert(spec.settings, modules[spec.probe].probe, strict=True)
    run_bytes = getattr(probe, "run_bytes", None)
    return None if run_bytes is None else int(run_bytes)


@dataclass(frozen=True, slots=True)
class _Paths:
    """Ordered paths of one cycle, and how many cycles show them all."""

    count: int
    cycles: int


def _pool_cost(plan: Plan, pool: Pool, racks: list[str], price: Callable[[ProbeSpec], int | None]) -> PoolCost:
    nodes = len(racks)
    bytes_per_hour, busy_seconds = 0.0, 0.0
    most = _Paths(0, 0)
    for spec in pool.tests:
        paths = _paths(plan.paths, racks, _rails(pool, spec))
        runs_per_hour = paths.count * HOUR_SECONDS / spec.every_seconds
        # Each run keeps two nodes busy and counts at both.
        bytes_per_hour += 2 * runs_per_hour * (price(spec) or 0) / max(1, nodes)
        busy_seconds += runs_per_hour * min(SECONDS_PER_TEST, spec.limit_seconds)
        most = max(most, paths, key=lambda one: (one.count * one.cycles, one.cycles))
    return PoolCost(
        pool=pool.name,
        nodes=nodes,
        paths=most.count,
        cycles=most.cycles,
        bytes_per_node_per_hour=bytes_per_hour,
        busy_share=busy_seconds / HOUR_SECONDS,
        hours_to_full_coverage=most.cycles * max((s.every_seconds for s in pool.tests), default=0.0) / HOUR_SECONDS,
        unpriced=tuple(spec.id for spec in pool.tests if price(spec) is None),
    )


def _problems(
    plan: Plan,
    pools: Iterable[PoolCost],
    price: Callable[[ProbeSpec], int | None],
    of_groups: Mapping[str, int | None],
) -> Iterator[str]:
    budget, busy = plan.budget, sum(pool.busy_share for pool in pools)
    for pool in pools:
        if pool.bytes_per_node_per_hour > budget.bytes_per_node_per_hour:
            found = f"{pool.bytes_per_node_per_hour:.3g} bytes a node and hour needed by the tests of {pool.pool}"
            yield f"budget.bytes_per_node_per_hour: {budget.bytes_per_node_per_hour} found, {found}"
    if busy > budget.tests_at_once:
        yield f"budget.tests_at_once: {budget.tests_at_once} found, {math.ceil(busy)} needed: tests would never end"
    runs = {spec.id: price(spec) for pool in plan.pools for spec in pool.tests}
    for name, run_bytes in {**runs, **of_groups}.items():
        if (run_bytes or 0) > budget.bytes_per_node_per_hour:
            yield f"{name}: one run sends {run_bytes} bytes, more than the whole budget of an hour"


def _rails(pool: Pool, spec: ProbeSpec) -> int:
    hca_class = pool.hcas.get(spec.settings.get("hcas", {}).get("name", ""))
    return planned_hcas(hca_class) if hca_class else 0


def _paths(modes: Mapping[str, PathMode], racks: list[str], rails: int) -> _Paths:
    nodes = len(racks)
    pairs = nodes * (nodes - 1)
    parts = []
    if mode := modes.get("same_rail"):
        one = _sampled(nodes, mode) if mode.mode == "sampled" else _Paths(pairs, 1)
        parts.append(_Paths(one.count * rails, one.cycles))
    if mode := modes.get("cross_rail"):
        parts.append(_between(mode, [pairs] * (rails * (rails - 1))))
    if mode := modes.get("cross_rack"):
        sizes = Counter(rack for rack in racks if rack)
        groups = [sizes[one] * sizes[other] for one in sizes for other in sizes if one != other]
        parts.append(_between(mode, groups * rails))
    return _Paths(sum(part.count for part in parts), max((part.cycles for part in parts if part.count), default=0))


def _sampled(nodes: int, mode: PathMode) -> _Paths:
    """One rail as a ring: each distance along it gives two ordered paths a node, but one at half an even ring."""
    distances = nodes // 2
    taken = min(distances, max(1, (mode.peers_per_hca + 1) // 2))
    if not taken:
        return _Paths(0, 0)
    opposite = nodes if nodes % 2 == 0 and taken == distances else 0
    return _Paths(2 * nodes * taken - opposite, math.ceil(distances / taken))


def _between(mode: PathMode, groups: list[int]) -> _Paths:
    """Ordered pairs from group to group: all of them, or some samples a cycle."""
    if mode.mode == "every_pair":
        return _Paths(sum(groups), 1)
    taken = [min(size, mode.samples) for size in groups if size]
    return _Paths(sum(taken), max((math.ceil(size / mode.samples) for size in groups if size), default=0))
